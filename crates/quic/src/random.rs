//! Bytes that nobody else can guess, the same in every run.
//!
//! Connection IDs, path challenges and nonces go over the wire, and from what [`units::Rng`] has given anybody can compute what it gives
//! next. Here every block is HMAC-SHA-256 of a counter under a key, so that who lacks the key learns nothing from what was seen.

use ring::hmac;
use units::Rng;

/// What a block of HMAC-SHA-256 has.
const BLOCK: usize = 32;

/// A generator of unpredictable bytes.
#[derive(Clone, Debug)]
pub struct Random {
    key: hmac::Key,
    counter: u64,
}

impl Random {
    /// From a key that an operating system has drawn: for networks that others are on.
    pub fn new(key: &[u8; 32]) -> Self {
        Self { key: hmac::Key::new(hmac::HMAC_SHA256, key), counter: 0 }
    }

    /// The stream of one element of one run, as [`Rng::stream`]: as good as the seed is secret.
    pub fn stream(seed: u64, name: &str) -> Self {
        let mut rng = Rng::stream(seed, name);
        let mut key = [0; 32];
        key.chunks_exact_mut(8).for_each(|eight| eight.copy_from_slice(&rng.next_u64().to_be_bytes()));
        Self::new(&key)
    }

    /// Fills `out`.
    pub fn fill(&mut self, out: &mut [u8]) {
        for piece in out.chunks_mut(BLOCK) {
            let block = hmac::sign(&self.key, &self.counter.to_be_bytes());
            self.counter += 1;
            piece.copy_from_slice(&block.as_ref()[..piece.len()]);
        }
    }

    /// `N` bytes.
    pub fn bytes<const N: usize>(&mut self) -> [u8; N] {
        let mut out = [0; N];
        self.fill(&mut out);
        out
    }

    /// Uniform in 0..n, for small n (the bias is below n/2^64); 0 when n is 0.
    pub fn below(&mut self, n: usize) -> usize {
        ((u128::from(u64::from_be_bytes(self.bytes())) * n as u128) >> 64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeatable_and_apart() {
        let take = |seed, name| Random::stream(seed, name).bytes::<40>();
        assert_eq!(take(1, "ids"), take(1, "ids"));
        assert_ne!(take(1, "ids"), take(2, "ids"));
        assert_ne!(take(1, "ids"), take(1, "tokens"));
        let mut random = Random::stream(1, "ids");
        assert_ne!(random.bytes::<8>(), random.bytes::<8>());
        assert!((0..1000).all(|_| random.below(6) < 6) && random.below(0) == 0);
        assert!((0..6).all(|side| (0..1000).any(|_| random.below(6) == side)));
    }
}
