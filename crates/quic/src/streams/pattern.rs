//! Bytes that nobody has to hold: each is known from its place in the stream.

/// Odd, and with bits all over, so that neighbouring words differ in every byte (2^64 divided by the golden ratio).
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// Fills `out` with the bytes of the pattern from `offset` on: words of eight bytes, the number of the word times a constant.
pub fn fill(offset: u64, out: &mut [u8]) {
    let (mut word, within) = (offset / 8, (offset % 8) as usize);
    let mut put = |to: &mut [u8], from: usize| {
        let bytes = (word + 1).wrapping_mul(STEP).to_le_bytes();
        to.copy_from_slice(&bytes[from..from + to.len()]);
        word += 1;
    };
    let head = if within == 0 { 0 } else { (8 - within).min(out.len()) };
    let (head, rest) = out.split_at_mut(head);
    if !head.is_empty() {
        put(head, within);
    }
    rest.chunks_mut(8).for_each(|word| put(word, 0));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_from_every_offset() {
        let mut all = [0; 64];
        fill(0, &mut all);
        for from in 0..64 {
            for to in from..64 {
                let mut part = vec![0; to - from];
                fill(from as u64, &mut part);
                assert_eq!(part, all[from..to]);
            }
        }
    }
}
