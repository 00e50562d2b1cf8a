//! Westwood+'s measurements: the connection's bandwidth, and the smallest RTT.

use crate::Ack;
use units::{Duration, Time};

/// Low-pass filter of the bandwidth samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Filter {
    /// Two cascaded poles at 7/8. Linux tcp_westwood.c.
    TwoPole,
    /// One pole at 0.2. QUIC-DC, equation 7.
    OnePole,
}

impl Filter {
    /// Returns the weight of the past in each pole.
    const fn pole(self) -> f64 {
        match self {
            Self::TwoPole => 7.0 / 8.0,
            Self::OnePole => 0.2,
        }
    }
}

/// Outputs of the filter, in bytes per second.
#[derive(Clone, Copy, Debug)]
struct Filtered {
    /// Linux `bw_ns_est`, after the first pole.
    bw_ns: f64,
    /// Linux `bw_est`.
    bwe: f64,
}

/// Estimator of a connection's bandwidth from acknowledged bytes, with one sample per round trip.
#[derive(Clone, Debug)]
pub struct Bandwidth {
    filter: Filter,
    sample_window: Duration,
    /// Start of the current sample: the first packet sent, then the end of the previous sample.
    start: Option<Time>,
    /// Bytes acknowledged since then.
    acked: u64,
    /// Whether the application has limited the sender since then.
    app_limited: bool,
    latest_rtt: Option<Duration>,
    estimate: Option<Filtered>,
}

impl Bandwidth {
    /// Creates an estimator without a sample. `sample_window` is the shortest duration of a sample.
    pub fn new(filter: Filter, sample_window: Duration) -> Self {
        let (start, latest_rtt, estimate) = (None, None, None);
        Self { filter, sample_window, start, acked: 0, app_limited: false, latest_rtt, estimate }
    }

    /// Reports that a packet was sent.
    pub fn on_sent(&mut self, now: Time) {
        self.start.get_or_insert(now);
    }

    /// Reports acknowledged bytes.
    pub fn on_ack(&mut self, ack: &Ack) {
        let window = ack.now - *self.start.get_or_insert(ack.now);
        self.acked += ack.acked + ack.late;
        self.app_limited |= ack.app_limited;
        self.latest_rtt = ack.latest_rtt.or(self.latest_rtt);
        if self.latest_rtt.is_none_or(|rtt| window <= rtt.max(self.sample_window)) {
            return;
        }
        if !self.app_limited {
            self.sample(self.acked as f64 / window.as_secs_f64());
        }
        self.start = Some(ack.now);
        self.acked = 0;
        self.app_limited = ack.app_limited;
    }

    fn sample(&mut self, sample: f64) {
        let mix = |past: f64, new: f64| self.filter.pole() * past + (1.0 - self.filter.pole()) * new;
        self.estimate = Some(match (self.estimate, self.filter) {
            (None, _) => Filtered { bw_ns: sample, bwe: sample },
            (Some(e), Filter::OnePole) => Filtered { bw_ns: sample, bwe: mix(e.bwe, sample) },
            (Some(e), Filter::TwoPole) => {
                let bw_ns = mix(e.bw_ns, sample);
                Filtered { bw_ns, bwe: mix(e.bwe, bw_ns) }
            }
        });
    }

    /// Returns BWE in bytes per second, once there has been a sample.
    pub fn estimate(&self) -> Option<f64> {
        self.estimate.map(|e| e.bwe)
    }
}

/// RTTmin. A timeout resets it, but it keeps its value until the next sample.
#[derive(Clone, Debug)]
pub(super) struct MinRtt {
    pub(super) value: Duration,
    reset: bool,
}

impl MinRtt {
    pub(super) fn new() -> Self {
        Self { value: Duration::MAX, reset: true }
    }

    /// Replaces the minimum by the next sample.
    pub(super) fn forget(&mut self) {
        self.reset = true;
    }

    pub(super) fn on_ack(&mut self, ack: &Ack) {
        if let Some(rtt) = ack.latest_rtt {
            self.value = if self.reset { rtt } else { self.value.min(rtt) };
            self.reset = false;
        }
    }
}
