//! The window of all controllers that grow like Reno: `new-reno`, `tcp-reno`, `westwood-plus` and
//! those built on them.
//!
//! ```text
//! slow start            cwnd += n                     n bytes of an ACK count: see `count`; exit: see `slow_start`
//! congestion avoidance  cwnd += mds once cwnd bytes have counted          (RFC 3465 section 2.1: growth = "window")
//!                       cwnd += mds * n / cwnd at each ACK                (RFC 9002 appendix B.5: growth = "ack")
//!                       cwnd += floor(1232 B * size / cwnd) for each acknowledged packet in turn
//!                                                                         (mvfst: growth = "packet")
//! ```
//!
//! mvfst: NewReno.cpp:79-102 at commit b48045620d4a: 1232 bytes (kDefaultUDPSendPacketLen) for any
//! packet size, rounded down each time. Windows of 60 to 300 kB therefore grow by 1 to 5 % less
//! than a packet per round trip.

use crate::components::count::Counting;
use crate::components::datagram_size::resized;
use crate::components::idle;
use crate::components::slow_start::SlowStart;
use crate::{Ack, Control, Idle, PathInfo};

crate::variables! {
    /// Slow-start threshold, infinite until slow start has ended. RFC 5681 section 3.1; RFC 9002
    /// appendix B.2.
    ssthresh: "bytes",
}

/// Growth of the window in congestion avoidance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Growth {
    /// By a packet once a window has been acknowledged.
    Window,
    /// By a fraction of a packet at each acknowledgement.
    Ack,
    /// By a fraction of 1232 bytes for each acknowledged packet.
    Packet,
}

/// kDefaultUDPSendPacketLen, bytes, mvfst QuicConstants.h:60.
const MVFST_PACKET: u64 = 1232;

/// A window in bytes, which an undo can restore.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    pub(crate) cwnd: u64,
    pub(crate) ssthresh: u64,
    /// Bytes acknowledged towards the next growth by one packet.
    pub(crate) bytes_acked: u64,
    /// Whether the current slow start follows a timeout.
    pub(crate) timed_out: bool,
    slow_start: SlowStart,
}

impl Window {
    /// Creates a window in slow start.
    pub(crate) fn new(cwnd: u64, slow_start: SlowStart) -> Self {
        Self { cwnd, ssthresh: u64::MAX, bytes_acked: 0, timed_out: false, slow_start }
    }

    pub(crate) fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    pub(crate) fn grow(&mut self, ack: &Ack, counting: &Counting, growth: Growth) {
        if !self.in_slow_start() {
            return self.congestion_avoidance(ack, counting, growth);
        }
        self.cwnd += self.slow_start.growth(counting.in_slow_start(ack));
        if self.slow_start.ended(ack, self.cwnd) {
            self.ssthresh = self.cwnd;
        }
    }

    fn congestion_avoidance(&mut self, ack: &Ack, counting: &Counting, growth: Growth) {
        let (counted, mds) = (counting.in_avoidance(ack), counting.mds);
        match growth {
            Growth::Ack => self.cwnd += mds * counted / self.cwnd,
            Growth::Packet => self.grow_by_packet(ack, counted),
            Growth::Window => self.grow_by_window(counted, mds),
        }
    }

    /// Grows by packets, for at most `counted` bytes of the packets that may grow the window.
    fn grow_by_packet(&mut self, ack: &Ack, mut counted: u64) {
        for packet in ack.packets.iter().filter(|packet| !packet.before_reduction) {
            let size = packet.bytes.min(counted);
            counted -= size;
            self.cwnd += MVFST_PACKET * size / self.cwnd;
        }
    }

    fn grow_by_window(&mut self, counted: u64, mds: u64) {
        self.bytes_acked += counted;
        // An ACK larger than the window leaves a remainder, which an ACK without growth must not
        // use.
        if counted > 0 && self.bytes_acked >= self.cwnd {
            self.bytes_acked -= self.cwnd;
            self.cwnd += mds;
        }
    }

    /// Reduces the window at a congestion event. Never enlarges it: after a timeout `cwnd` may be
    /// below every minimum.
    pub(crate) fn shrink(&mut self, cwnd: u64, ssthresh: u64) {
        self.set(cwnd.min(self.cwnd), ssthresh);
    }

    /// Sets the window at a congestion event, also to a larger value.
    pub(crate) fn set(&mut self, cwnd: u64, ssthresh: u64) {
        self.slow_start.leave();
        (self.cwnd, self.ssthresh, self.bytes_acked) = (cwnd, ssthresh, 0);
    }

    /// Reports a change of the datagram size from `before` bytes. `min` is the smallest window in
    /// packets.
    pub(crate) fn on_path_change(&mut self, before: u64, path: PathInfo, min: u64) {
        self.cwnd = resized(self.cwnd, min, before, path.max_datagram_size);
        self.slow_start.on_path_change(path);
    }

    /// Restarts the window after an idle time, see `idle`.
    pub(crate) fn restart(&mut self, event: &Idle, initial: u64) {
        let (cwnd, ssthresh) = idle::restart(event, self.cwnd as f64, self.ssthresh as f64, initial as f64);
        (self.cwnd, self.ssthresh, self.bytes_acked) = (cwnd as u64, ssthresh as u64, 0);
        self.timed_out = false;
    }

    pub(crate) fn control(&self) -> Control {
        Control { ssthresh: self.ssthresh, ..Control::window(self.cwnd) }
    }

    pub(crate) fn trace(&self, put: &mut dyn FnMut(&'static str, f64)) {
        put("ssthresh", if self.ssthresh == u64::MAX { f64::INFINITY } else { self.ssthresh as f64 });
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::components::slow_start::Kind;
    use crate::testing::fixtures::path;

    /// A window in congestion avoidance.
    pub(crate) fn avoiding(cwnd: u64) -> Window {
        let slow_start = SlowStart::new(Kind::Standard, path(1200));
        Window { ssthresh: cwnd, ..Window::new(cwnd, slow_start) }
    }

    /// 10 packets of 1232 bytes at 61 600 bytes: floor(1232 * 1232 / 61 600) = floor(24.64) = 24
    /// each, and still 24 at 61 816 (24.55). A single sum for the ACK would give 246. Two packets
    /// sent before the reduction do not count. Packets of 1452 bytes give floor(1232 * 1452 / 61
    /// 600) = 29.
    #[test]
    fn growth_by_packet() {
        let packet = |bytes, before_reduction| crate::AckedPacket {
            bytes,
            before_reduction,
            ..crate::testing::fixtures::stamped(0, units::Time::ZERO, 0)
        };
        for (size, before, grown) in [(1232, 0, 240), (1232, 2, 192), (1452, 9, 29)] {
            let packets: Vec<_> = (0..10).map(|i| packet(size, i < before)).collect();
            let (acked, mds) = (10 * size, size);
            let counting = Counting { count: crate::components::count::Count::Always, limit: None, mds };
            let mut window = avoiding(61_600);
            let ack = Ack { packets: &packets, ..crate::testing::fixtures::acked(acked) };
            window.grow(&ack, &counting, Growth::Packet);
            assert_eq!(window.cwnd - 61_600, grown, "{size} {before}");
        }
    }

    /// A window of packets is acknowledged. 100 packets of 1232 bytes grow 123 200 bytes by 12
    /// each, 1200 of 1232. 300 packets grow 369 600 bytes by floor(4.107) = 4 each.
    #[test]
    fn rounding_down_costs() {
        for (packets, grown) in [(100, 1200), (300, 1200)] {
            let mut window = avoiding(packets * 1232);
            let counting = Counting { count: crate::components::count::Count::Bytes, limit: None, mds: 1232 };
            for _ in 0..packets {
                let packet = [crate::AckedPacket {
                    bytes: 1232,
                    ..crate::testing::fixtures::stamped(0, units::Time::ZERO, 0)
                }];
                let ack = Ack { packets: &packet, ..crate::testing::fixtures::acked(1232) };
                window.grow(&ack, &counting, Growth::Packet);
            }
            assert_eq!(window.cwnd - packets * 1232, grown);
        }
    }
}
