//! Unpredictable bytes that are the same in every run.
//!
//! Connection IDs, path challenges and nonces are visible on the wire. An observer of
//! [`units::Rng`] could compute its next output from earlier output. Here every block is the
//! HMAC-SHA-256 of a counter under a key, so output reveals nothing to those without the key.

use ring::hmac;
use units::Rng;

/// Length of an HMAC-SHA-256 block, in bytes.
const BLOCK: usize = 32;

/// Generator of unpredictable bytes.
#[derive(Clone, Debug)]
pub struct Random {
    key: hmac::Key,
    counter: u64,
}

impl Random {
    /// Creates a generator from a key that the operating system has drawn. Use this on real
    /// networks.
    pub fn new(key: &[u8; 32]) -> Self {
        Self { key: hmac::Key::new(hmac::HMAC_SHA256, key), counter: 0 }
    }

    /// Creates the named stream of one run, as [`Rng::stream`] does. It is only as secret as the
    /// seed.
    pub fn stream(seed: u64, name: &str) -> Self {
        let mut rng = Rng::stream(seed, name);
        let mut key = [0; 32];
        key.chunks_exact_mut(8).for_each(|eight| eight.copy_from_slice(&rng.next_u64().to_be_bytes()));
        Self::new(&key)
    }

    /// Fills `out` with random bytes.
    pub fn fill(&mut self, out: &mut [u8]) {
        for piece in out.chunks_mut(BLOCK) {
            let block = hmac::sign(&self.key, &self.counter.to_be_bytes());
            self.counter += 1;
            piece.copy_from_slice(&block.as_ref()[..piece.len()]);
        }
    }

    /// Returns `N` random bytes.
    pub fn bytes<const N: usize>(&mut self) -> [u8; N] {
        let mut out = [0; N];
        self.fill(&mut out);
        out
    }

    /// Returns a uniform number in 0..n, or 0 if n is 0. The bias is below n/2^64, negligible for
    /// small n.
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
