//! GCC's over-use detector with its adaptive threshold: draft-ietf-rmcat-gcc-02 section 5.4. All
//! times are in milliseconds.
//!
//! ```text
//! M(i)  = min(i, deltas) m(i)                                   the draft has M = m, see `gcc`
//! over  M(i) > del_var_th(i-1) for overuse_time_th, and m(i) >= m(i-1)
//! under M(i) < -del_var_th(i-1)
//! del_var_th(i) = del_var_th(i-1) + (t(i) - t(i-1)) K(i) (|M(i)| - del_var_th(i-1)), kept in [6, 600]
//!         K = K_u if |M| is above the threshold, K_d otherwise;  unchanged if |M| - del_var_th > 15
//! ```
//!
//! While M is above the threshold and over-use is not (or no longer) to be signaled, an earlier
//! over-use signal is kept. The draft returns to normal only when over-use is not detected.

use super::groups::Variation;
use super::params::Params;
use super::state::Signal;

#[derive(Clone, Debug)]
pub(super) struct Detector {
    params: Params,
    pub(super) threshold: f64,
    pub(super) signal: Signal,
    /// Time for which M has been above the threshold.
    over: Option<f64>,
    m_prev: f64,
}

fn millis(duration: units::Duration) -> f64 {
    duration.as_millis_f64()
}

impl Detector {
    pub(super) fn new(params: Params) -> Self {
        let threshold = millis(params.del_var_th);
        Self { params, threshold, signal: Signal::Normal, over: None, m_prev: 0.0 }
    }

    /// Updates the detector after group `i` has moved the estimate to `m`.
    pub(super) fn update(&mut self, m: f64, i: u64, variation: &Variation) {
        let amplified = i.min(self.params.deltas.max(1)) as f64 * m;
        let rising = m >= self.m_prev;
        self.m_prev = m;
        if amplified > self.threshold {
            let over = self.over.map_or(0.0, |over| over + variation.arrival.max(0.0));
            self.over = Some(over);
            let definite = over >= millis(self.params.overuse_time_th) && rising;
            self.signal = if definite || self.signal == Signal::Over { Signal::Over } else { Signal::Normal };
        } else {
            self.over = None;
            self.signal = if amplified < -self.threshold { Signal::Under } else { Signal::Normal };
        }
        self.adapt(amplified.abs(), variation.arrival);
    }

    fn adapt(&mut self, size: f64, arrival: f64) {
        if size - self.threshold > millis(self.params.spike) {
            return;
        }
        let k = if size < self.threshold { self.params.k_d } else { self.params.k_u };
        let step = arrival.clamp(0.0, millis(self.params.max_step));
        let (min, max) = (millis(self.params.del_var_th_min), millis(self.params.del_var_th_max));
        self.threshold = (self.threshold + step * k * (size - self.threshold)).min(max).max(min);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Duration;

    fn variation(arrival: f64) -> Variation {
        Variation { delay: 0.0, departure: arrival, arrival }
    }

    /// The draft's detector, with M = m.
    fn draft() -> Detector {
        Detector::new(Params { deltas: 1, ..Params::default() })
    }

    /// Groups 5 ms apart: the first one above the threshold counts 0 ms, the third 10 ms.
    #[test]
    fn over_use_takes_its_time() {
        let mut d = draft();
        for (m, signal) in [(13.0, Signal::Normal), (13.5, Signal::Normal), (14.0, Signal::Over)] {
            d.update(m, 1, &variation(5.0));
            assert_eq!(d.signal, signal, "{m}");
        }
        d.update(13.9, 1, &variation(5.0));
        assert_eq!(d.signal, Signal::Over, "stands");
        d.update(1.0, 1, &variation(5.0));
        assert_eq!(d.signal, Signal::Normal);
        d.update(-14.0, 1, &variation(5.0));
        assert_eq!(d.signal, Signal::Under);
    }

    /// No over-use while m falls, however long it is above the threshold.
    #[test]
    fn no_over_use_while_it_falls() {
        let mut d = draft();
        for m in [16.0, 15.8, 15.6, 15.4] {
            d.update(m, 1, &variation(8.0));
            assert_eq!(d.signal, Signal::Normal, "{m}");
        }
    }

    /// By hand. Above: 12.5 + 20 * 0.01 * (20 - 12.5) = 14. Below: 12.5 + 20 * 0.00018 * (2.5 -
    /// 12.5) = 12.464. More than 15 above: no change. Steps cover at most 100 ms.
    #[test]
    fn threshold_adapts() {
        for (m, arrival, expected) in [
            (20.0, 20.0, 14.0),
            (-20.0, 20.0, 14.0),
            (2.5, 20.0, 12.464),
            (27.5, 20.0, 12.5 + 0.2 * 15.0),
            (27.6, 20.0, 12.5),
            (-27.6, 20.0, 12.5),
            (2.5, 1000.0, 12.5 - 0.018 * 10.0),
        ] {
            let mut d = draft();
            d.update(m, 1, &variation(arrival));
            assert!((d.threshold - expected).abs() < 1e-12, "{m}: {}", d.threshold);
        }
    }

    #[test]
    fn threshold_stays_in_range() {
        let mut d = draft();
        (0..100_000).for_each(|_| d.update(0.0, 1, &variation(20.0)));
        assert_eq!(d.threshold, 6.0);
        for _ in 0..10_000 {
            let m = d.threshold + 14.0;
            d.update(m, 1, &variation(100.0));
        }
        assert_eq!(d.threshold, 600.0);
    }

    /// `deltas`: M grows with the number of groups, up to 60 times m.
    #[test]
    fn amplified() {
        for (i, signal) in [(10, Signal::Normal), (60, Signal::Over), (1000, Signal::Over)] {
            let mut d = Detector::new(Params { overuse_time_th: Duration::ZERO, ..Params::default() });
            d.update(0.3, i, &variation(5.0));
            assert_eq!(d.signal, signal);
            assert_eq!(d.threshold > 12.5, i >= 60, "{}", d.threshold);
        }
    }
}
