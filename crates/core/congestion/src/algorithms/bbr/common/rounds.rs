//! Packet-timed round trips. A round ends when a packet sent after its start is acknowledged.

use crate::RateSample;
use units::Duration;

/// Sample of an ACK that gave none. It starts no round, shows neither rate nor loss, and says
/// nothing about the pipe.
pub(crate) const NO_SAMPLE: RateSample = RateSample {
    prior_delivered: 0,
    delivered: 0,
    interval: Duration::ZERO,
    delivery_rate: None,
    app_limited: true,
    tx_in_flight: 0,
    lost: 0,
};

/// Round counter. BBR starts a new round at each change of state, so it cannot use the sender's
/// count.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rounds {
    /// `C.delivered`.
    pub(crate) delivered: u64,
    next_round_delivered: u64,
    pub(crate) count: u64,
    pub(crate) start: bool,
}

impl Rounds {
    /// Implements `UpdateRound`.
    pub(crate) fn update(&mut self, delivered: u64, rs: &RateSample) {
        self.delivered = delivered;
        self.start = rs.delivered > 0 && rs.prior_delivered >= self.next_round_delivered;
        if self.start {
            self.begin();
            self.count += 1;
        }
    }

    /// Implements `StartRound`.
    pub(crate) fn begin(&mut self) {
        self.next_round_delivered = self.delivered;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
