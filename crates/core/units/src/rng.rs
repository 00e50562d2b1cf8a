//! Reproducible random numbers: a seed per run and a named stream per element.
//!
//! Adding an element does not change the random numbers of the others.

/// A random number generator: xoshiro256++ (Blackman and Vigna 2019), seeded by SplitMix64 from a
/// seed and a name.
///
/// ```
/// use ackclock_units::Rng;
///
/// let mut loss = Rng::stream(1, "loss");
/// let mut jitter = Rng::stream(1, "jitter");
/// assert_ne!(loss.next_u64(), jitter.next_u64(), "streams are independent");
/// assert_eq!(Rng::stream(1, "loss").next_u64(), Rng::stream(1, "loss").next_u64());
/// assert!((0.0..1.0).contains(&loss.unit()));
/// ```
#[derive(Clone, Debug)]
pub struct Rng {
    state: [u64; 4],
}

fn split_mix(x: &mut u64) -> u64 {
    *x = x.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = *x;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

impl Rng {
    /// Creates the stream of the element `name` in the run with this seed.
    pub fn stream(seed: u64, name: &str) -> Self {
        // FNV-1a over the name, then SplitMix64 as its authors recommend for seeding.
        let hash = name
            .bytes()
            .fold(0xCBF2_9CE4_8422_2325_u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01B3));
        let mut x = seed ^ hash;
        Self { state: [split_mix(&mut x), split_mix(&mut x), split_mix(&mut x), split_mix(&mut x)] }
    }

    /// Returns 64 random bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        let s = &mut self.state;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// Returns a number distributed uniformly over `0.0..1.0`.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / 9_007_199_254_740_992.0)
    }

    /// Returns an integer distributed uniformly over `0..n` (Lemire's multiply-shift; bias below
    /// n/2^64).
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(n)) >> 64) as u64
    }

    /// Returns an exponentially distributed number with mean 1.
    pub fn exponential(&mut self) -> f64 {
        -libm::log(1.0 - self.unit())
    }

    /// Returns a normally distributed number with mean 0 and standard deviation 1 (Box and Muller
    /// 1958).
    pub fn normal(&mut self) -> f64 {
        let radius = libm::sqrt(-2.0 * libm::log(1.0 - self.unit()));
        radius * libm::cos(2.0 * core::f64::consts::PI * self.unit())
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    #[test]
    fn streams_are_repeatable_and_apart() {
        let take = |seed, name| Rng::stream(seed, name).next_u64();
        assert_eq!(take(1, "loss"), take(1, "loss"));
        assert_ne!(take(1, "loss"), take(2, "loss"));
        assert_ne!(take(1, "loss"), take(1, "jitter"));
    }

    /// Published results depend on these numbers: seed and name alone determine a stream, in every
    /// release.
    #[test]
    fn streams_are_those_of_earlier_releases() {
        let take = |name| Rng::stream(1, name).next_u64();
        assert_eq!(
            ["flow.0.media", "start-jitter", "skips"].map(take),
            [8_772_881_212_517_210_685, 12_222_056_407_781_861_925, 7_018_853_739_278_237_378]
        );
    }

    #[test]
    fn moments() {
        let mut rng = Rng::stream(7, "test");
        let n = 200_000;
        let mean = (0..n).map(|_| rng.unit()).sum::<f64>() / f64::from(n);
        assert!((mean - 0.5).abs() < 0.003, "{mean}");
        let normals: Vec<f64> = (0..n).map(|_| rng.normal()).collect();
        let variance = normals.iter().map(|x| x * x).sum::<f64>() / f64::from(n);
        assert!((variance - 1.0).abs() < 0.02, "{variance}");
        let exponential = (0..n).map(|_| rng.exponential()).sum::<f64>() / f64::from(n);
        assert!((exponential - 1.0).abs() < 0.01, "{exponential}");
        assert!((0..1000).all(|_| rng.below(6) < 6));
    }
}
