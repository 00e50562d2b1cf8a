//! A pattern of bytes that need not be stored: each byte follows from its offset in the stream.

/// 2^64 divided by the golden ratio: odd, with bits spread out, so that neighbouring words differ
/// in every byte.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// Fills `out` with the pattern from `offset` on. Each word of eight bytes is the number of the
/// word times a constant.
pub fn fill(offset: u64, out: &mut [u8]) {
    let (mut number, within) = (offset / 8, (offset % 8) as usize);
    let head = if within == 0 { 0 } else { (8 - within).min(out.len()) };
    let (head, rest) = out.split_at_mut(head);
    if !head.is_empty() {
        head.copy_from_slice(&word(number)[within..within + head.len()]);
        number += 1;
    }
    // Whole words of constant length, which are most of what a simulated transfer sends.
    let (words, tail) = rest.as_chunks_mut();
    for out in words {
        *out = word(number);
        number += 1;
    }
    tail.copy_from_slice(&word(number)[..tail.len()]);
}

/// Returns the word with this number.
const fn word(number: u64) -> [u8; 8] {
    (number + 1).wrapping_mul(STEP).to_le_bytes()
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
