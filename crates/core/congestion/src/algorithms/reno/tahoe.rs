//! Tahoe: Jacobson, SIGCOMM (August 1988), as compared with Reno by Fall and Floyd, ACM CCR (July
//! 1996): slow start after every loss.
//!
//! ```text
//! slow start            cwnd += 1 packet per ACK
//! congestion avoidance  cwnd += 1 / cwnd packets per ACK                  (RFC 5681 equation 3)
//! loss, timeout         ssthresh = max(FlightSize / 2, 2 packets),  cwnd = 1 packet
//! mark                  ssthresh likewise,  cwnd = ssthresh               (RFC 3168 section 6.1.2)
//! ```
//!
//! Jacobson's appendix halves the window, which RFC 5681 replaces by FlightSize. Tahoe is older
//! than marks. A mark has nothing to repeat, so it halves the window. Neither paper could be read.
//! The rules are those of the RFCs that cite them.
//!
//! Deviations: the sender repeats lost packets only. Tahoe also sends again what follows the first
//! of them. A repeated timeout keeps ssthresh (RFC 5681 section 3.1). Persistent congestion, which
//! TCP lacks, follows RFC 9002 section 7.6.2.

pub use crate::algorithms::reno::window::VARIABLES;
use crate::algorithms::reno::window::{Growth, Progress, Reno};
use crate::components::count::Count;
use crate::components::window_rule::{Options, WindowController, WindowRule};
use crate::{Ack, Cause, Congestion, Range, params};

params! {
    /// Initial window, packets. Jacobson 1988.
    initial_window: u64 = 1 => Range::PACKETS,
    /// Smallest ssthresh, packets. RFC 5681 equation 4.
    min_window: u64 = 2 => Range::PACKETS,
    /// Quantity that grows the window: `acks`, each as one packet (Jacobson), `bytes` acknowledged
    /// (RFC 3465), `packets` (Linux), `always`: bytes, even if the window was not fully used (mvfst), or
    /// `rate-limited`: the same up to a limit.
    count: Count = Count::Acks,
    /// Growth of the window in congestion avoidance: a fraction of a packet per `ack` (RFC 5681
    /// equation 3), a packet per `window` (RFC 3465 section 2.1), or a fraction of 1232 bytes per
    /// `packet`, rounded down (mvfst).
    growth: Growth = Growth::Ack,
}

/// The controller. Windows are in bytes.
pub type Tahoe = WindowController<Params>;

impl WindowRule for Params {
    type Unit = u64;
    type Memory = Progress;

    fn begin(&self) -> (Options, Progress) {
        let Self { initial_window, min_window, count, .. } = *self;
        let initial_window = Some(initial_window);
        (Options { initial_window, min_window, count, ..Options::default() }, Progress::default())
    }

    fn grow(&mut self, reno: &mut Reno, ack: &Ack) {
        reno.grow(ack, self.growth);
    }

    fn reduce(&mut self, reno: &mut Reno, event: &Congestion) -> u64 {
        (event.prior_in_flight / 2).max(reno.min_window())
    }

    fn on_congestion(&mut self, reno: &mut Reno, event: &Congestion, repeated: bool) {
        let (half, kept) = (self.reduce(reno, event), reno.window.ssthresh);
        let (cwnd, ssthresh) = match event.cause {
            Cause::Loss | Cause::Timeout => (reno.loss_window(), if repeated { kept } else { half }),
            Cause::PersistentCongestion => (reno.min_window(), kept),
            Cause::Ecn | Cause::Delay => (half, half),
        };
        reno.window.shrink(cwnd, ssthresh);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Controller;
    use crate::testing::fixtures::{MDS, acked, congestion, path};

    fn with(packets: u64) -> Tahoe {
        let mut cc = Tahoe::new(Params::default(), path(MDS));
        cc.frame.window.cwnd = packets * MDS;
        cc
    }

    fn packets(cc: &Tahoe) -> u64 {
        cc.control().cwnd / MDS
    }

    /// `vectors/tahoe.py`: windows at the begin of the round trips after a loss.
    #[test]
    fn round_trips() {
        for (flight, windows) in WINDOWS {
            let mut cc = with(flight);
            cc.on_congestion(&congestion(Cause::Loss, flight * MDS));
            for (round, expected) in windows.into_iter().enumerate() {
                let before = packets(&cc);
                assert_eq!(before, expected, "{flight}: round trip {round}");
                (0..before).for_each(|_| _ = cc.on_ack(&acked(MDS)));
            }
        }
    }

    /// Output of `vectors/tahoe.py`.
    const WINDOWS: [(u64, [u64; 12]); 4] = [
        (3, [1, 2, 2, 3, 4, 5, 6, 7, 7, 8, 9, 10]),
        (20, [1, 2, 4, 8, 10, 11, 12, 13, 14, 15, 16, 17]),
        (64, [1, 2, 4, 8, 16, 32, 32, 33, 34, 35, 36, 37]),
        (101, [1, 2, 4, 8, 16, 32, 51, 52, 53, 54, 55, 56]),
    ];

    /// One packet after a loss, half of the flight after a mark. A repeated timeout keeps ssthresh.
    #[test]
    fn events() {
        assert_eq!(packets(&Tahoe::new(Params::default(), path(MDS))), 1);
        for (cause, cwnd) in [(Cause::Loss, 1), (Cause::Timeout, 1), (Cause::Ecn, 15)] {
            let mut cc = with(40);
            cc.on_congestion(&congestion(cause, 30 * MDS));
            assert_eq!((packets(&cc), cc.frame.window.ssthresh), (cwnd, 15 * MDS));
        }
        let mut cc = with(40);
        cc.on_congestion(&congestion(Cause::Timeout, 40 * MDS));
        cc.on_congestion(&congestion(Cause::Timeout, MDS));
        assert_eq!((packets(&cc), cc.frame.window.ssthresh), (1, 20 * MDS));
        cc.on_spurious();
        assert_eq!(packets(&cc), 40);
        cc.frame.window.ssthresh = 7 * MDS;
        cc.on_congestion(&congestion(Cause::PersistentCongestion, 40 * MDS));
        assert_eq!((packets(&cc), cc.frame.window.ssthresh), (2, 7 * MDS));
    }
}
