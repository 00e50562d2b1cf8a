//! Windowed minimum of the RTT, as in Linux (`lib/win_minmax.c`, after Kathleen Nichols).
//!
//! It keeps the best, second-best and third-best sample, each from a later part of the window. So
//! the best has a successor when it expires.

use units::{Duration, Time};

#[derive(Clone, Copy, Debug)]
pub(crate) struct MinRtt {
    /// `None`: unlimited.
    window: Option<Duration>,
    /// Time and RTT of the samples, ascending in both.
    best: [(Time, Duration); 3],
}

impl MinRtt {
    pub(crate) fn new(window: Option<Duration>) -> Self {
        Self { window, best: [(Time::ZERO, Duration::MAX); 3] }
    }

    /// Returns the minimum, or [`Duration::MAX`] before the first sample.
    pub(crate) fn get(&self) -> Duration {
        self.best[0].1
    }

    /// Forgets everything but this sample.
    pub(crate) fn reset(&mut self, now: Time, rtt: Duration) {
        self.best = [(now, rtt); 3];
    }

    pub(crate) fn update(&mut self, now: Time, rtt: Duration) {
        let Some(window) = self.window else {
            self.best[0].1 = self.best[0].1.min(rtt);
            return;
        };
        let sample = (now, rtt);
        if rtt <= self.best[0].1 || now - self.best[2].0 > window {
            return self.reset(now, rtt);
        }
        if rtt <= self.best[1].1 {
            (self.best[1], self.best[2]) = (sample, sample);
        } else if rtt <= self.best[2].1 {
            self.best[2] = sample;
        }
        self.age(sample, window);
    }

    /// Expires the best sample, and takes a later sample into each quarter and half of the window.
    fn age(&mut self, sample: (Time, Duration), window: Duration) {
        let [first, second, third] = self.best;
        let age = sample.0 - first.0;
        if age > window {
            self.best = [second, third, sample];
            if sample.0 - self.best[0].0 > window {
                self.best = [third, sample, sample];
            }
        } else if second.0 == first.0 && age > window / 4 {
            (self.best[1], self.best[2]) = (sample, sample);
        } else if third.0 == second.0 && age > window / 2 {
            self.best[2] = sample;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    /// A path that becomes longer for good is noticed within a window, and never without one.
    #[test]
    fn forgets_a_shorter_path() {
        for (window, expected) in [(Some(Duration::from_secs(10)), ms(50)), (None, ms(20))] {
            let mut min = MinRtt::new(window);
            assert_eq!(min.get(), Duration::MAX);
            for n in 0..100 {
                min.update(Time::from_millis(10 * n), ms(20));
            }
            for n in 100..1200 {
                min.update(Time::from_millis(10 * n), ms(50));
            }
            assert_eq!(min.get(), expected);
        }
    }

    /// Never above the true minimum of the window, and never below that of twice the window.
    #[test]
    fn between_the_true_minima() {
        let mut samples: Vec<(u64, u64)> = Vec::new();
        let mut min = MinRtt::new(Some(ms(1000)));
        let mut noise = 12345u64;
        for n in 0..5000 {
            noise = noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let rtt = 20 + (noise >> 33) % 50 + n / 100;
            samples.push((7 * n, rtt));
            min.update(Time::from_millis(7 * n), ms(rtt));
            let minimum = |span: u64| {
                let recent = samples.iter().filter(|s| s.0 + span >= 7 * n);
                ms(recent.map(|s| s.1).min().unwrap())
            };
            assert!(minimum(2000) <= min.get(), "{n}");
            assert!(min.get() <= minimum(250), "{n}");
        }
    }

    #[test]
    fn reset_takes_the_newest() {
        let mut min = MinRtt::new(None);
        min.update(Time::ZERO, ms(10));
        min.reset(Time::ZERO, ms(30));
        assert_eq!(min.get(), ms(30));
    }
}
