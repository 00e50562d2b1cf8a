//! Damaged input for tests.

use units::Rng;

/// Calls `read` with 2000 damaged variants of the texts: bytes flipped, cut out, inserted or
/// repeated.
pub(crate) fn damaged(name: &str, texts: &[Vec<u8>], mut read: impl FnMut(&[u8])) {
    let mut rng = Rng::stream(1, name);
    for i in 0..2000 {
        let mut text = texts[i % texts.len()].clone();
        for _ in 0..=rng.below(4) {
            mutate(&mut text, &mut rng);
        }
        read(&text);
    }
}

fn mutate(text: &mut Vec<u8>, rng: &mut Rng) {
    let mut place = |length: usize| rng.below(length.max(1) as u64) as usize;
    let (from, length) = (place(text.len()), place(40));
    let to = (from + length).min(text.len());
    match place(6) {
        0 if !text.is_empty() => text[from] ^= 1 << place(8),
        1 => drop(text.drain(from..to)),
        2 => text.truncate(from),
        3 => {
            let words: [&[u8]; 9] =
                [b"\"", b"{", b"}", b"]", b"\\", b"\n", b"1e999", b"null,", b"-9223372036854775809"];
            text.splice(from..from, words[place(words.len())].iter().copied());
        }
        4 => {
            let copy = text[from..to].to_vec();
            text.splice(from..from, copy);
        }
        _ => {
            let at = place(text.len());
            let copy = text[from..to].to_vec();
            text.splice(at..at, copy);
        }
    }
}
