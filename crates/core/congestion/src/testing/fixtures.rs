//! Signals for tests of controllers, with default values for fields that a test does not set.

use crate::{Ack, AckedPacket, Cause, Congestion, PathInfo};
use units::{Duration, Time};

/// Packet size in bytes for tests in which it does not matter.
pub const MDS: u64 = 1000;

/// Returns a paced path with datagrams of `mds` bytes.
pub fn path(mds: u64) -> PathInfo {
    PathInfo { max_datagram_size: mds, paced: true, seed: 1 }
}

/// Returns an ACK of `bytes` newly acknowledged bytes at time 0 with an RTT of 100 ms. All of them
/// may grow the window.
pub fn acked(bytes: u64) -> Ack<'static> {
    let rtt = Duration::from_millis(100);
    Ack {
        acked: bytes,
        growth: bytes,
        prior_in_flight: bytes,
        latest_rtt: Some(rtt),
        min_rtt: rtt,
        smoothed_rtt: rtt,
        delivered: bytes,
        cwnd_limited: true,
        ..Ack::default()
    }
}

/// Returns an acknowledged packet with the peer's receive time.
pub fn stamped(pn: u64, sent: Time, received: i64) -> AckedPacket {
    AckedPacket { pn, bytes: 1200, sent, received: Some(received), before_reduction: false }
}

/// Returns a congestion event at time 0 with an RTT of 100 ms.
pub fn congestion(cause: Cause, prior_in_flight: u64) -> Congestion {
    let rtt = Duration::from_millis(100);
    Congestion { now: Time::ZERO, cause, prior_in_flight, min_rtt: rtt, smoothed_rtt: rtt }
}
