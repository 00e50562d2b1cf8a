//! ACK aggregation (`extra_acked`): the bytes acknowledged beyond what the bandwidth predicts.
//!
//! ```text
//! expected    = bw * time since the interval began
//! interval    restarts when no more than expected has arrived
//! extra       = min(arrived - expected, cwnd)
//! extra_acked = max(extra) over the last `len` ticks
//! ```

use super::filters::WindowedMax;
use units::{Rate, Time};

#[derive(Clone, Debug)]
pub(crate) struct Aggregation {
    filter: WindowedMax,
    interval_start: Time,
    delivered: u64,
}

/// Data of one ACK.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub(crate) now: Time,
    /// Bytes newly acknowledged.
    pub(crate) acked: u64,
    /// Bandwidth, from which the expected bytes are computed.
    pub(crate) bw: Rate,
    pub(crate) cwnd: u64,
    /// Clock of the filter: a round trip, or several of them.
    pub(crate) tick: u64,
}

impl Aggregation {
    /// Creates a filter over `len` ticks.
    pub(crate) fn new(len: u64) -> Self {
        Self { filter: WindowedMax::new(len), interval_start: Time::ZERO, delivered: 0 }
    }

    /// Changes the length of the filter to `len` ticks.
    pub(crate) fn set_len(&mut self, len: u64) {
        self.filter.set_len(len);
    }

    /// Implements `UpdateACKAggregation`.
    pub(crate) fn update(&mut self, ack: &Arrival) {
        let mut expected = ack.bw.bytes_in(ack.now - self.interval_start);
        if self.delivered <= expected {
            self.restart(ack.now);
            expected = 0;
        }
        self.delivered = self.delivered.saturating_add(ack.acked);
        self.filter.update(ack.tick, (self.delivered - expected).min(ack.cwnd));
    }

    /// Restarts the interval. After an idle time nothing is expected.
    pub(crate) fn restart(&mut self, now: Time) {
        self.interval_start = now;
        self.delivered = 0;
    }

    pub(crate) fn extra_acked(&self) -> u64 {
        self.filter.max()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 8 Mbit/s are 1000 bytes per ms: 5000 bytes at once after a pause of 1 ms exceed this by
    /// 4000.
    #[test]
    fn aggregation_is_what_exceeds_the_bandwidth() {
        let mut a = Aggregation::new(10);
        let mut ack = |ms, acked| {
            let (now, bw) = (Time::from_millis(ms), Rate(8_000_000));
            a.update(&Arrival { now, acked, bw, cwnd: 50_000, tick: 0 });
            a.extra_acked()
        };
        assert_eq!(ack(100, 2000), 2000, "an interval begins: everything is extra");
        assert_eq!(ack(101, 5000), 6000, "7000 delivered, 1000 expected");
        assert_eq!(ack(102, 90_000), 50_000, "at most the window");
    }

    #[test]
    fn idle_time_owes_nothing() {
        let mut a = Aggregation::new(10);
        let (bw, cwnd, tick) = (Rate(8_000_000), 50_000, 0);
        a.update(&Arrival { now: Time::from_millis(1), acked: 9000, bw, cwnd, tick });
        a.restart(Time::from_millis(1000));
        a.update(&Arrival { now: Time::from_millis(1001), acked: 3000, bw, cwnd, tick: 10 });
        assert_eq!(a.extra_acked(), 3000);
    }
}
