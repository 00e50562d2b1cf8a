//! Careful Resume: a jump to half of the window of an earlier connection,
//! draft-ietf-tsvwg-careful-resume, working copy of -22 (2025, commit 076850c3).
//!
//! ```text
//! FS = bytes in flight, PS = PipeSize, bytes; acked: bytes of packets sent since the jump; loss: also a mark or a delay event
//! Reconnaissance   normal growth until the initial window is acknowledged and the window is used        (section 4.2)
//!   loss: Normal.  saved_rtt / 2 < smallest RTT <= 10 saved_rtt: Unvalidated, otherwise Normal
//! Unvalidated      PS = FS;  cwnd = min(max_jump, saved_cwnd / 2);  PS += acked; no growth              (section 4.3)
//!   loss: Safe Retreat
//!   FS = cwnd, an ACK of a packet sent in it, or an RTT:
//!     FS < IW or FS <= PS:  cwnd = max(PS, IW), Normal;  otherwise cwnd = FS, Validating
//! Validating       normal growth;  PS += acked                                                          (section 4.4)
//!   loss: Safe Retreat.  ACK of the last packet sent in Unvalidated, or a later one: Normal
//! Safe Retreat     cwnd = PS / 2, at least the smallest window;  PS += acked; no growth                 (section 4.5)
//!   ACK of the last unvalidated packet, or a later one:  ssthresh = PS beta, Normal
//! timeout, persistent congestion: Normal                                                                (section 4.6)
//! ```
//!
//! The loss itself first meets the rule's own response, which sets `ssthresh` and the rule's memory.
//! The jump needs a pacer: without one, Normal.
//!
//! `acked` follows the examples of the draft's appendix: 29 packets in flight at the jump and 34
//! packets acknowledged since are a PipeSize of 63. By the letter of section 4.3, every ACK counts.
//!
//! Deviations: lifetime, endpoint and use by one connection only are the experiment's matter. The
//! upper limit of the RTT is the draft's guidance (its section 5.2), not a rule. The example in its
//! appendix keeps the window at IW in Safe Retreat; its rule does not. A spurious loss restores the
//! window as always, and resuming is over.

use crate::{Ack, Cause, Range, Sent, params};
use units::{Bytes, Duration, Time};

params! {
    /// saved_cwnd, capacity of the earlier connection, or `"off"`: no Careful Resume. Section 4.1.
    #[serde(with = "units::or_off")]
    saved_cwnd: Option<Bytes> = None,
    /// saved_rtt, smallest RTT of the earlier connection. Section 4.1.
    saved_rtt: Duration = Duration::from_millis(100),
    /// max_jump, largest window to jump to, or `"off"`. Section 4.3.
    #[serde(with = "units::or_off")]
    max_jump: Option<Bytes> = None,
    /// Beta, factor on the PipeSize for `ssthresh` after a retreat, 0.5..1. Section 4.5.
    beta: f64 = 0.5 => Range::from(0.5).to(1.0),
}

impl Params {
    /// Returns what is known of the earlier connection, if anything.
    pub(crate) fn saved(&self) -> Option<Saved> {
        let half = self.saved_cwnd?.0 / 2;
        let jump = self.max_jump.map_or(half, |most| most.0.min(half));
        Some(Saved { jump, rtt: self.saved_rtt, beta: self.beta })
    }
}

/// An earlier connection.
#[derive(Clone, Copy, Debug)]
pub struct Saved {
    /// Window to jump to, bytes.
    pub(crate) jump: u64,
    rtt: Duration,
    beta: f64,
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    /// Bytes acknowledged so far.
    Reconnaissance(u64),
    /// Time at which it has lasted an RTT.
    Unvalidated(Time),
    /// Packet number of the last unvalidated packet.
    Validating(u64),
    Retreat(u64),
    Normal,
}

/// Window and sizes of the connection, in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    pub(crate) cwnd: u64,
    pub(crate) initial: u64,
    pub(crate) mds: u64,
}

/// A change that a phase demands, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    Cwnd(u64),
    /// The window after a loss of unvalidated packets, at most the one that the rule leaves.
    Retreat(u64),
    Ssthresh(u64),
}

/// The resumption of one connection.
#[derive(Clone, Debug)]
pub(crate) struct CarefulResume {
    saved: Saved,
    phase: Phase,
    /// PipeSize.
    pipe: u64,
    /// First packet number of Unvalidated.
    first: u64,
    next_pn: u64,
}

impl CarefulResume {
    pub(crate) fn new(saved: Saved) -> Self {
        Self { saved, phase: Phase::Reconnaissance(0), pipe: 0, first: u64::MAX, next_pn: 0 }
    }

    /// Reports whether ACKs must not grow the window.
    pub(crate) fn holds(&self) -> bool {
        matches!(self.phase, Phase::Unvalidated(_) | Phase::Retreat(_))
    }

    pub(crate) fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Normal)
    }

    pub(crate) fn on_sent(&mut self, sent: &Sent, sizes: Sizes) -> Option<Change> {
        self.next_pn = sent.pn + 1;
        let Phase::Unvalidated(end) = self.phase else { return None };
        let full = sent.bytes_in_flight + sizes.mds > sizes.cwnd;
        (full || sent.now > end).then(|| self.leave_unvalidated(sent.bytes_in_flight, sizes.initial))
    }

    pub(crate) fn on_ack(&mut self, ack: &Ack, sizes: Sizes) -> Option<Change> {
        let unvalidated = ack.packets.iter().filter(|packet| packet.pn >= self.first);
        self.pipe += unvalidated.map(|packet| packet.bytes).sum::<u64>();
        let reached = |pn| ack.packets.last().is_some_and(|newest| newest.pn >= pn);
        match self.phase {
            Phase::Reconnaissance(acked) => {
                let acked = acked + ack.acked;
                self.phase = Phase::Reconnaissance(acked);
                return if acked >= sizes.initial && ack.growth > 0 { self.jump(ack, sizes) } else { None };
            }
            Phase::Unvalidated(end) if reached(self.first) || ack.now > end => {
                return Some(self.leave_unvalidated(ack.bytes_in_flight, sizes.initial));
            }
            Phase::Validating(last) if reached(last) => self.phase = Phase::Normal,
            Phase::Retreat(last) if reached(last) => {
                self.phase = Phase::Normal;
                return Some(Change::Ssthresh((self.pipe as f64 * self.saved.beta) as u64));
            }
            _ => {}
        }
        None
    }

    /// Reports an event, after the rule's response.
    pub(crate) fn on_congestion(&mut self, cause: Cause) -> Option<Change> {
        let ends = matches!(cause, Cause::Timeout | Cause::PersistentCongestion);
        let last = match self.phase {
            Phase::Unvalidated(_) if !ends => self.next_pn.saturating_sub(1),
            Phase::Validating(last) if !ends => last,
            Phase::Retreat(_) if !ends => return None,
            _ => {
                self.phase = Phase::Normal;
                return None;
            }
        };
        self.phase = Phase::Retreat(last);
        Some(Change::Retreat(self.pipe / 2))
    }

    /// Enters Unvalidated if the path is confirmed and the jump is one.
    fn jump(&mut self, ack: &Ack, sizes: Sizes) -> Option<Change> {
        let Saved { jump, rtt, .. } = self.saved;
        let confirmed = ack.min_rtt > rtt / 2 && ack.min_rtt <= rtt * 10;
        if !confirmed || jump <= sizes.cwnd {
            self.phase = Phase::Normal;
            return None;
        }
        self.pipe = ack.bytes_in_flight;
        (self.first, self.phase) = (self.next_pn, Phase::Unvalidated(ack.now + ack.smoothed_rtt));
        Some(Change::Cwnd(jump))
    }

    fn leave_unvalidated(&mut self, flight: u64, initial: u64) -> Change {
        if flight < initial || flight <= self.pipe {
            self.phase = Phase::Normal;
            return Change::Cwnd(self.pipe.max(initial));
        }
        self.phase = Phase::Validating(self.next_pn.saturating_sub(1));
        Change::Cwnd(flight)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithms::reno::new_reno::{self, NewReno};
    use crate::testing::closed_loop::{Flow, Loop};
    use crate::testing::fixtures::{acked, congestion, path};
    use crate::{AckedPacket, Congestion, Controller, PathInfo};
    use units::Rate;

    const MDS: u64 = 1000;
    const RTT: Duration = Duration::from_millis(100);

    fn params(saved: u64, rtt: u64) -> new_reno::Params {
        let saved_cwnd = Some(Bytes(saved * MDS));
        let careful_resume =
            Params { saved_cwnd, saved_rtt: Duration::from_millis(rtt), ..Params::default() };
        new_reno::Params { careful_resume, ..new_reno::Params::default() }
    }

    /// A sender of numbered packets with NewReno.
    struct Sender {
        cc: NewReno,
        now: Time,
        sent: u64,
        acked: u64,
    }

    impl Sender {
        fn new(params: new_reno::Params) -> Self {
            Self { cc: NewReno::new(params, path(MDS)), now: Time::ZERO, sent: 0, acked: 0 }
        }

        fn send(&mut self, packets: u64) {
            for _ in 0..packets {
                let (pn, now) = (self.sent, self.now);
                self.sent += 1;
                let bytes_in_flight = (self.sent - self.acked) * MDS;
                self.cc.on_sent(&Sent { now, pn, bytes: MDS, bytes_in_flight, app_limited: false });
            }
        }

        fn ack(&mut self, packets: u64) {
            for _ in 0..packets {
                let packet = AckedPacket {
                    pn: self.acked,
                    bytes: MDS,
                    sent: self.now,
                    received: None,
                    before_reduction: false,
                };
                self.acked += 1;
                let (now, bytes_in_flight) = (self.now, (self.sent - self.acked) * MDS);
                self.cc.on_ack(&Ack { now, packets: &[packet], bytes_in_flight, ..acked(MDS) });
            }
        }

        fn lose(&mut self, cause: Cause) {
            self.cc.on_congestion(&Congestion { now: self.now, ..congestion(cause, 0) });
        }

        fn window(&self) -> u64 {
            self.cc.control().cwnd / MDS
        }

        fn is_over(&self) -> bool {
            self.cc.frame.resume.is_none()
        }

        /// The draft's example: 300 packets saved, 29 in flight when the path is confirmed.
        fn jumped() -> Self {
            let mut sender = Self::new(params(300, 100));
            sender.send(10);
            sender.ack(9);
            sender.send(28);
            assert_eq!(sender.window(), 19, "normal growth");
            sender.ack(1);
            assert_eq!((sender.window(), sender.sent - sender.acked), (150, 28));
            sender
        }
    }

    /// Half of 300 packets, filled and acknowledged: slow start continues from there.
    #[test]
    fn no_loss() {
        let mut sender = Sender::jumped();
        sender.send(121);
        assert_eq!(sender.window(), 150);
        sender.send(1);
        sender.ack(28);
        assert_eq!((sender.window(), sender.is_over()), (178, false), "validating: slow start");
        sender.ack(121);
        assert!(!sender.is_over());
        sender.ack(1);
        assert_eq!((sender.window(), sender.is_over()), (300, true));
        assert!(sender.cc.control().in_slow_start());
    }

    /// 50 unvalidated packets within an RTT: the window falls to the flight.
    #[test]
    fn rate_limited() {
        let mut sender = Sender::jumped();
        sender.send(50);
        sender.ack(28);
        assert_eq!((sender.window(), sender.is_over()), (150, false), "not before the first unvalidated one");
        sender.ack(1);
        assert_eq!((sender.window(), sender.is_over()), (49, false));
        let mut sender = Sender::jumped();
        sender.send(2);
        sender.now += RTT + Duration(1);
        sender.send(1);
        assert_eq!((sender.window(), sender.is_over()), (31, false), "an RTT is over");
        let mut sender = Sender::jumped();
        sender.ack(20);
        sender.now += RTT + Duration(1);
        sender.send(1);
        assert_eq!((sender.window(), sender.is_over()), (28, true), "no more in flight than before");
    }

    /// A loss after 34 of the unvalidated packets, found three packets later: half of 28 + 37.
    /// Nothing grows until the last of them is acknowledged, then ssthresh is half of what arrived.
    #[test]
    fn safe_retreat() {
        for cause in [Cause::Loss, Cause::Ecn] {
            let mut sender = Sender::jumped();
            sender.send(122);
            sender.ack(28 + 37);
            sender.lose(cause);
            assert_eq!(sender.cc.control().cwnd, (28 + 37) * MDS / 2);
            sender.ack(84);
            assert_eq!((sender.window(), sender.is_over()), (32, false));
            sender.ack(1);
            assert!(sender.is_over() && sender.cc.control().in_slow_start());
            assert_eq!(sender.cc.control().ssthresh, (28 + 122) * MDS / 2);
        }
    }

    /// A loss before the jump, a timeout after it, and an event that was spurious.
    #[test]
    fn normal_again() {
        let mut sender = Sender::new(params(300, 100));
        sender.send(10);
        sender.lose(Cause::Loss);
        sender.ack(10);
        assert!(sender.is_over() && sender.window() < 10);
        for cause in [Cause::Timeout, Cause::PersistentCongestion] {
            let mut sender = Sender::jumped();
            sender.send(122);
            sender.lose(cause);
            assert!(sender.is_over() && sender.window() <= 2, "{cause:?}");
        }
        let mut sender = Sender::jumped();
        sender.send(122);
        sender.lose(Cause::Loss);
        sender.cc.on_spurious();
        assert!(sender.is_over() && sender.window() == 150);
    }

    /// Half of the saved RTT is too short, ten times it is not too long. The window must grow by
    /// the jump, which `max-jump` limits, and a pacer is needed.
    #[test]
    fn conditions() {
        let window = |params: new_reno::Params, paced| {
            let mut sender = Sender::new(params.clone());
            sender.cc = NewReno::new(params, PathInfo { paced, ..path(MDS) });
            sender.send(10);
            sender.ack(10);
            (sender.window(), sender.is_over())
        };
        for (saved_rtt, jumps) in [(200, false), (199, true), (100, true), (10, true), (9, false)] {
            let expected = if jumps { (150, false) } else { (20, true) };
            assert_eq!(window(params(300, saved_rtt), true), expected, "{saved_rtt} ms");
        }
        assert_eq!(window(params(40, 100), true), (20, true));
        assert_eq!(window(params(300, 100), false), (20, true));
        let mut limited = params(300, 100);
        limited.careful_resume.max_jump = Some(Bytes(50 * MDS));
        assert_eq!(window(limited, true), (50, false));
    }

    /// A link that carries 500 packets per RTT of 600 ms: half of it after two round trips, not
    /// after five.
    #[test]
    fn long_path() {
        let delivered = |params| {
            let cc = Box::new(NewReno::new(params, path(MDS)));
            let rtt = Duration::from_millis(600);
            let mut link =
                Loop::new(vec![Flow::new(cc, rtt, Time::ZERO)], MDS, Rate::from_bytes_per_sec(833_333.0));
            link.run_to(Time::from_millis(3000));
            (link.flow().delivered / MDS, link.flow().lost)
        };
        let (resumed, normal) = (delivered(params(500, 600)), delivered(new_reno::Params::default()));
        assert!(resumed.0 > 3 * normal.0 && resumed.1 == 0, "{resumed:?} {normal:?}");
    }
}
