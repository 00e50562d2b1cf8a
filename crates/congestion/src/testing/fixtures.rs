//! Signals for tests of controllers, each with the fields that a test does not care for filled in.

use crate::{Ack, AckedPacket, Cause, Congestion, PathInfo};
use units::{Duration, Time};

/// Bytes of a packet, where a test does not care.
pub const MDS: u64 = 1000;

/// A paced path with datagrams of this size.
pub fn path(mds: u64) -> PathInfo {
    PathInfo { max_datagram_size: mds, paced: true, seed: 1 }
}

/// `bytes` newly acknowledged, all of which may open the window, at time 0 with an RTT of 100 ms.
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

/// One acknowledged packet that carries the peer's receive time.
pub fn stamped(pn: u64, sent: Time, received: i64) -> AckedPacket {
    AckedPacket { pn, bytes: 1200, sent, received: Some(received), before_reduction: false }
}

/// An event at time 0 with an RTT of 100 ms.
pub fn congestion(cause: Cause, prior_in_flight: u64) -> Congestion {
    let rtt = Duration::from_millis(100);
    Congestion { now: Time::ZERO, cause, prior_in_flight, min_rtt: rtt, smoothed_rtt: rtt }
}
