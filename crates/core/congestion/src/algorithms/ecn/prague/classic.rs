//! Linux's detection of a classic ECN queue: prague_classic_ecn_detection of tcp_prague.c.
//!
//! ```text
//! each RTT      srtt += 2^-s (RTT - srtt),  mdev += 2^-(s + 1) (|RTT - srtt| - mdev);  mdev first 1 us
//! reduction     s = min(1.5 log2(ssthresh) + 1, 18) in whole numbers, first 18
//! alpha update  C += log2(mdev / 750 us) / 2 + max(log2((srtt - RTT_min) / 2 ms), 0) / 2,  0 <= C <= 17
//! c             min(C - 8, 1);  no fall-back where C <= 8
//! ```
//!
//! A queue of L4S varies by less than 0.75 ms, so C stays 0. Linux takes whole logarithms and
//! carries the rest, this code takes exact ones.

use units::Duration;

/// Largest evidence, C_STICKY.
const MOST: f64 = 17.0;
/// Evidence up to which marks are those of L4S, L_STICKY.
const L4S: f64 = 8.0;
/// Share of a classic response at full evidence: 1/2 + 1/8.
const SHARE: f64 = 0.625;
/// Largest exponent of the gains, PRAGUE_MAX_SRTT_BITS.
const MAX_BITS: i32 = 18;

/// Evidence of a classic queue. Times are in microseconds.
#[derive(Clone, Debug)]
pub(super) struct Classic {
    pub(super) evidence: f64,
    pub(super) srtt: Option<f64>,
    pub(super) mdev: f64,
    /// Exponent of the gain of `srtt`.
    pub(super) bits: i32,
}

impl Default for Classic {
    fn default() -> Self {
        Self { evidence: 0.0, srtt: None, mdev: 1.0, bits: MAX_BITS }
    }
}

impl Classic {
    pub(super) fn sample(&mut self, rtt: Duration) {
        let rtt = rtt.as_secs_f64() * 1e6;
        let Some(srtt) = &mut self.srtt else {
            self.srtt = Some(rtt);
            return;
        };
        let error = rtt - *srtt;
        *srtt += libm::ldexp(error, -self.bits);
        self.mdev += libm::ldexp(error.abs() - self.mdev, -self.bits - 1);
    }

    /// Adapts the gains to `ssthresh`, in packets.
    pub(super) fn adapt(&mut self, ssthresh: f64) {
        let log = libm::log2(ssthresh.clamp(1.0, 1e9)) as i32;
        self.bits = (log + log / 2 + 1).min(MAX_BITS);
    }

    /// Weighs the evidence of a round trip.
    pub(super) fn update(&mut self, min_rtt: Duration) {
        let Some(srtt) = self.srtt else { return };
        let depth = srtt - min_rtt.as_secs_f64() * 1e6;
        let varies = libm::log2(self.mdev.max(1.0) / 750.0) / 2.0;
        let deep = libm::log2((depth / 2000.0).max(1.0)) / 2.0;
        self.evidence = (self.evidence + varies + deep).clamp(0.0, MOST);
    }

    /// Returns the smallest alpha.
    pub(super) fn least_alpha(&self) -> f64 {
        SHARE * (self.evidence - L4S).clamp(0.0, 1.0)
    }
}
