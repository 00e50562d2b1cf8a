//! Measurements of the round trip, and the timeouts derived from them.

use units::{Duration, Time};

use crate::sender::config::{Config, Rto};
use crate::sender::rto::LinuxVariance;
use crate::sender::rtt::Rtt;

/// Time that a tail loss probe waits in addition to two RTTs (Linux `TCP_TIMEOUT_MIN_US`).
const TAIL_PROBE_MARGIN: Duration = Duration::from_millis(2);

/// Round-trip times of one path.
#[derive(Clone, Debug)]
pub(super) struct RoundTrip {
    rtt: Rtt,
    /// RTT of the newest packet in the last ACK (RACK.rtt).
    newest: Duration,
    first_sample: Option<Time>,
    variance: LinuxVariance,
}

impl RoundTrip {
    /// Creates the state of a path without samples.
    pub(super) fn new(config: &Config) -> Self {
        Self {
            rtt: Rtt::new(config.initial_rtt, config.min_rtt_window),
            newest: config.initial_rtt,
            first_sample: None,
            variance: LinuxVariance::new(config.min_rto),
        }
    }

    /// Returns the RTT estimator.
    #[inline]
    pub(super) fn rtt(&self) -> &Rtt {
        &self.rtt
    }

    /// Returns the RTT of the newest packet in the last ACK (RACK.rtt).
    #[inline]
    pub(super) fn newest(&self) -> Duration {
        self.newest
    }

    /// Returns the time of the first sample.
    pub(super) fn first_sample(&self) -> Option<Time> {
        self.first_sample
    }

    /// Records the RTT of the newest packet in an ACK, which need not be a sample.
    #[inline]
    pub(super) fn on_newest(&mut self, latest: Duration) {
        self.newest = latest;
    }

    /// Takes a sample from the handshake.
    pub(super) fn sample_handshake(&mut self, now: Time, rtt: Duration) {
        self.newest = rtt;
        self.sample_variance(rtt, (0, 0));
        self.sample(now, rtt, Duration::ZERO);
    }

    /// Takes a sample of QUIC. `ack_delay` is limited to the peer's `max_ack_delay`.
    #[inline]
    pub(super) fn sample(&mut self, now: Time, latest: Duration, ack_delay: Duration) {
        self.rtt.sample(now, latest, ack_delay);
        self.first_sample.get_or_insert(now);
    }

    /// Takes a sample of TCP, whose mean is measured on the `oldest` packet (RFC 7323 section 4).
    /// The stream is acknowledged up to the first byte of `progress` and sent up to the second.
    #[inline]
    pub(super) fn sample_tcp(&mut self, now: Time, latest: Duration, oldest: Duration, progress: (u64, u64)) {
        self.sample_variance(oldest, progress);
        self.rtt.sample_apart(now, latest, oldest);
        self.first_sample.get_or_insert(now);
    }

    #[inline]
    fn sample_variance(&mut self, rtt: Duration, (unacknowledged, edge): (u64, u64)) {
        self.variance.sample(rtt, self.rtt.smoothed(), unacknowledged, edge);
    }

    /// Replaces the minimum by the newest sample, after persistent congestion.
    pub(super) fn reset_min(&mut self, now: Time) {
        self.rtt.reset_min(now);
    }

    /// Returns the PTO without backoff (RFC 9002 section 6.2.1).
    #[inline]
    pub(super) fn probe_timeout(&self, config: &Config) -> Duration {
        config.probe_timeout(&self.rtt)
    }

    /// Returns the RTO without backoff.
    #[inline]
    pub(super) fn retransmission_timeout(&self, config: &Config) -> Duration {
        let margin = self.variance.margin().filter(|_| config.rto == Rto::Linux);
        match margin {
            Some(margin) => self.rtt.smoothed() + margin,
            None => self.rtt.timeout(config.granularity).max(config.min_rto),
        }
    }

    /// Returns the delay of a tail loss probe with more than one packet in flight: two RTTs and a
    /// margin.
    #[inline]
    pub(super) fn tail_probe_delay(&self) -> Duration {
        self.rtt.smoothed() * 2 + TAIL_PROBE_MARGIN
    }
}
