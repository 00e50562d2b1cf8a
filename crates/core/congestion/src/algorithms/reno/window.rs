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

use crate::Ack;
use crate::components::window::{Memory, Window};
use crate::components::window_rule::Frame;

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

/// Memory of Reno's growth.
#[derive(Clone, Copy, Debug, Default)]
pub struct Progress {
    /// Bytes acknowledged towards the next growth by one packet.
    pub(crate) bytes_acked: u64,
    /// Whether the current slow start follows a timeout.
    pub(crate) timed_out: bool,
}

impl Memory for Progress {
    fn forget(&mut self) {
        self.bytes_acked = 0;
    }
}

/// A window in bytes that grows like Reno.
pub(crate) type Reno = Frame<u64, Progress>;

impl Reno {
    pub(crate) fn grow(&mut self, ack: &Ack, growth: Growth) {
        let counted = self.counting.in_avoidance(ack);
        match growth {
            Growth::Ack => self.window.cwnd += self.mds() * counted / self.window.cwnd,
            Growth::Packet => self.grow_by_packet(ack, counted),
            Growth::Window => self.grow_by_window(counted),
        }
    }

    /// Grows by packets, for at most `counted` bytes of the packets that may grow the window.
    fn grow_by_packet(&mut self, ack: &Ack, mut counted: u64) {
        for packet in ack.packets.iter().filter(|packet| !packet.before_reduction) {
            let size = packet.bytes.min(counted);
            counted -= size;
            self.window.cwnd += MVFST_PACKET * size / self.window.cwnd;
        }
    }

    fn grow_by_window(&mut self, counted: u64) {
        let mds = self.mds();
        let Window { cwnd, memory: Progress { bytes_acked, .. }, .. } = &mut self.window;
        *bytes_acked += counted;
        // An ACK larger than the window leaves a remainder, which an ACK without growth must not
        // use.
        if counted > 0 && *bytes_acked >= *cwnd {
            *bytes_acked -= *cwnd;
            *cwnd += mds;
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::components::count::Count;
    use crate::components::slow_start::Kind;
    use crate::components::window_rule::Options;
    use crate::testing::fixtures::path;

    /// A window in congestion avoidance.
    pub(crate) fn avoiding(cwnd: u64) -> Window<u64, Progress> {
        let mut window = Window::new(cwnd, Kind::Standard, Progress::default(), path(1200));
        window.ssthresh = cwnd;
        window
    }

    /// The same with its rule for counting.
    fn counting(cwnd: u64, count: Count, mds: u64) -> Reno {
        let mut reno = Reno::new(Options { count, ..Options::default() }, Progress::default(), path(mds));
        reno.window = avoiding(cwnd);
        reno
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
            let mut reno = counting(61_600, Count::Always, size);
            let ack = Ack { packets: &packets, ..crate::testing::fixtures::acked(10 * size) };
            reno.grow(&ack, Growth::Packet);
            assert_eq!(reno.window.cwnd - 61_600, grown, "{size} {before}");
        }
    }

    /// A window of packets is acknowledged. 100 packets of 1232 bytes grow 123 200 bytes by 12
    /// each, 1200 of 1232. 300 packets grow 369 600 bytes by floor(4.107) = 4 each.
    #[test]
    fn rounding_down_costs() {
        for (packets, grown) in [(100, 1200), (300, 1200)] {
            let mut reno = counting(packets * 1232, Count::Bytes, 1232);
            for _ in 0..packets {
                let packet = [crate::AckedPacket {
                    bytes: 1232,
                    ..crate::testing::fixtures::stamped(0, units::Time::ZERO, 0)
                }];
                let ack = Ack { packets: &packet, ..crate::testing::fixtures::acked(1232) };
                reno.grow(&ack, Growth::Packet);
            }
            assert_eq!(reno.window.cwnd - packets * 1232, grown);
        }
    }
}
