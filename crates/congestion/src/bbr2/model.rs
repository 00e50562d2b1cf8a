//! The path model, draft section 4.5: round trips, bandwidth, minimum RTT, ACK aggregation, and the bounds.

use super::Params;
use super::filters::{MinRtt, WindowedMax};
use crate::{Ack, Duration, Rate, RateSample, Time};

/// No bound.
pub(super) const INFINITE: u64 = u64::MAX;

/// An ACK that gave no sample: it begins no round, shows no rate and no loss, and proves nothing about the pipe.
pub(super) const NO_SAMPLE: RateSample = RateSample {
    prior_delivered: 0,
    delivered: 0,
    interval: Duration::ZERO,
    delivery_rate: None,
    app_limited: true,
    tx_in_flight: 0,
    lost: 0,
};

/// What loss says the path bears. One struct, because a spurious loss takes all of it back.
#[derive(Clone, Debug)]
pub(super) struct Bounds {
    /// Short-term: this probing cycle's losses. Bits per second.
    pub(super) bw_lo: u64,
    /// Short-term: this probing cycle's losses. Bytes.
    pub(super) inflight_lo: u64,
    /// Long-term: what the last probe found out. Bytes.
    pub(super) inflight_hi: u64,
}

impl Bounds {
    pub(super) const NONE: Self = Self { bw_lo: INFINITE, inflight_lo: INFINITE, inflight_hi: INFINITE };

    /// `BBRResetLowerBounds`.
    pub(super) fn reset_lower(&mut self) {
        self.bw_lo = INFINITE;
        self.inflight_lo = INFINITE;
    }

    /// The looser of the two, bound by bound.
    pub(super) fn loosen(&mut self, other: &Self) {
        self.bw_lo = self.bw_lo.max(other.bw_lo);
        self.inflight_lo = self.inflight_lo.max(other.inflight_lo);
        self.inflight_hi = self.inflight_hi.max(other.inflight_hi);
    }
}

/// Section 4.5.1. The draft begins a round of its own at each change of state, so the ledger's count would not do.
#[derive(Clone, Debug, Default)]
pub(super) struct Rounds {
    /// `C.delivered`.
    pub(super) delivered: u64,
    next_round_delivered: u64,
    pub(super) count: u64,
    pub(super) start: bool,
}

impl Rounds {
    /// `BBRUpdateRound`.
    pub(super) fn update(&mut self, delivered: u64, rs: &RateSample) {
        self.delivered = delivered;
        self.start = rs.delivered > 0 && rs.prior_delivered >= self.next_round_delivered;
        if self.start {
            self.begin();
            self.count += 1;
        }
    }

    /// `BBRStartRound`.
    pub(super) fn begin(&mut self) {
        self.next_round_delivered = self.delivered;
    }
}

#[derive(Debug)]
pub(super) struct Model {
    pub(super) rounds: Rounds,
    max_bw_filter: WindowedMax,
    /// Ticks of `max_bw_filter`: ProbeBW cycles.
    pub(super) cycle_count: u64,
    /// What to pace by: `min(max_bw, bw_lo)`.
    pub(super) bw: Rate,
    pub(super) min_rtt: MinRtt,
    extra_acked_filter: WindowedMax,
    extra_acked_interval_start: Time,
    extra_acked_delivered: u64,
    pub(super) bounds: Bounds,
}

impl Model {
    pub(super) fn new(params: &Params) -> Self {
        Self {
            rounds: Rounds::default(),
            max_bw_filter: WindowedMax::new(params.max_bw_filter_len),
            cycle_count: 0,
            bw: Rate(0),
            min_rtt: MinRtt::new(),
            extra_acked_filter: WindowedMax::new(params.extra_acked_filter_len),
            extra_acked_interval_start: Time::ZERO,
            extra_acked_delivered: 0,
            bounds: Bounds::NONE,
        }
    }

    pub(super) fn max_bw(&self) -> Rate {
        Rate(self.max_bw_filter.max())
    }

    pub(super) fn extra_acked(&self) -> u64 {
        self.extra_acked_filter.max()
    }

    /// `BBRUpdateMaxBw`, section 4.5.2.3: a sample that the application limited says what the application did, not
    /// what the path can; it counts only when it is a new maximum all the same.
    pub(super) fn update_max_bw(&mut self, rs: &RateSample) {
        if let Some(rate) = rs.delivery_rate.filter(|&r| r >= self.max_bw() || !rs.app_limited) {
            self.max_bw_filter.update(self.cycle_count, rate.0);
        }
    }

    /// `BBRUpdateACKAggregation`, section 4.5.5: how much more than `bw` promises ever arrives at once.
    pub(super) fn update_ack_aggregation(&mut self, ack: &Ack, cwnd: u64) {
        let interval = ack.now - self.extra_acked_interval_start;
        let mut expected_delivered = self.bw.bytes_in(interval);
        if self.extra_acked_delivered <= expected_delivered {
            self.restart_ack_aggregation(ack.now);
            expected_delivered = 0;
        }
        self.extra_acked_delivered += ack.acked;
        let extra = (self.extra_acked_delivered - expected_delivered).min(cwnd);
        self.extra_acked_filter.update(self.rounds.count, extra);
    }

    pub(super) fn restart_ack_aggregation(&mut self, now: Time) {
        self.extra_acked_interval_start = now;
        self.extra_acked_delivered = 0;
    }

    /// `BBRBoundBWForModel`.
    pub(super) fn bound_bw(&mut self) {
        self.bw = Rate(self.max_bw().0.min(self.bounds.bw_lo));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::acked;

    fn model() -> Model {
        Model::new(&Params::default())
    }

    fn rate(mbit: u64, app_limited: bool) -> RateSample {
        RateSample { delivery_rate: Some(Rate(mbit * 1_000_000)), app_limited, ..NO_SAMPLE }
    }

    #[test]
    fn application_limited_samples_never_lower_the_filter() {
        let mut m = model();
        for (mbit, app_limited, expected) in [(10, false, 10), (4, true, 10), (12, true, 12), (11, true, 12)]
        {
            m.update_max_bw(&rate(mbit, app_limited));
            assert_eq!(m.max_bw(), Rate(expected * 1_000_000));
        }
        m.cycle_count += 5;
        m.update_max_bw(&rate(4, true));
        assert_eq!(m.max_bw(), Rate(12_000_000), "nor does time alone");
    }

    /// The maximum of the last two cycles: a lower rate holds after the second advance.
    #[test]
    fn bandwidth_is_forgotten_after_two_cycles() {
        let mut m = model();
        m.update_max_bw(&rate(10, false));
        m.cycle_count += 1;
        m.update_max_bw(&rate(1, false));
        assert_eq!(m.max_bw(), Rate(10_000_000));
        m.cycle_count += 1;
        m.update_max_bw(&rate(1, false));
        assert_eq!(m.max_bw(), Rate(1_000_000));
    }

    /// A round ends when a packet sent after its begin is acknowledged.
    #[test]
    fn packet_timed_rounds() {
        let mut r = Rounds::default();
        let mut ack = |delivered, prior_delivered| {
            r.update(delivered, &RateSample { prior_delivered, delivered: 1, ..NO_SAMPLE });
            (r.start, r.count)
        };
        assert_eq!(ack(1000, 0), (true, 1));
        assert_eq!(ack(2000, 0), (false, 1));
        assert_eq!(ack(3000, 1000), (true, 2));
        assert_eq!(ack(4000, 2000), (false, 2));
        r.update(4500, &NO_SAMPLE);
        assert!(!r.start, "no sample, no round");
        r.begin();
        r.update(5000, &RateSample { prior_delivered: 4000, delivered: 1, ..NO_SAMPLE });
        assert!(!r.start, "begun anew at 4500");
    }

    /// 8 Mbit/s are 1000 bytes per ms: 5000 bytes at once after a pause of 1 ms exceed them by 4000.
    #[test]
    fn aggregation_is_what_exceeds_the_bandwidth() {
        let mut m = model();
        m.bw = Rate(8_000_000);
        let ack = |ms, bytes| Ack { now: Time::from_millis(ms), ..acked(bytes) };
        m.update_ack_aggregation(&ack(100, 2000), 50_000);
        assert_eq!(m.extra_acked(), 2000, "an interval begins: everything is extra");
        m.update_ack_aggregation(&ack(101, 5000), 50_000);
        assert_eq!(m.extra_acked(), 6000, "7000 delivered, 1000 expected");
        m.update_ack_aggregation(&ack(102, 90_000), 50_000);
        assert_eq!(m.extra_acked(), 50_000, "at most the window");
    }

    #[test]
    fn bandwidth_is_bounded_by_recent_loss() {
        let mut m = model();
        m.update_max_bw(&rate(10, false));
        m.bounds.bw_lo = 7_000_000;
        m.bound_bw();
        assert_eq!(m.bw, Rate(7_000_000));
        m.bounds.reset_lower();
        m.bound_bw();
        assert_eq!(m.bw, Rate(10_000_000));
    }
}
