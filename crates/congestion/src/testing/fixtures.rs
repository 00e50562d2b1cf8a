//! Signals for the controllers' own tests, each with the fields that a test does not care for filled in.

use crate::{Ack, AckedPacket, Cause, Congestion, PathInfo};
use units::{Duration, Time};

pub(crate) fn path(mds: u64) -> PathInfo {
    PathInfo { max_datagram_size: mds, paced: true, seed: 1 }
}

/// `bytes` newly acknowledged, all of which may open the window, at time 0 with an RTT of 100 ms.
pub(crate) fn acked(bytes: u64) -> Ack<'static> {
    Ack {
        now: Time::ZERO,
        packets: &[],
        acked: bytes,
        late: 0,
        growth: bytes,
        lost: 0,
        prior_in_flight: bytes,
        bytes_in_flight: 0,
        latest_rtt: Some(Duration::from_millis(100)),
        min_rtt: Duration::from_millis(100),
        smoothed_rtt: Duration::from_millis(100),
        ack_delay: Duration::ZERO,
        ce: 0,
        delivered: bytes,
        rate: None,
        round: 0,
        round_start: false,
        in_recovery: false,
        app_limited: false,
        cwnd_limited: true,
    }
}

/// One acknowledged packet that carries the peer's receive time.
pub(crate) fn stamped(pn: u64, sent: Time, received: i64) -> AckedPacket {
    AckedPacket { pn, bytes: 1200, sent, received: Some(received), before_reduction: false }
}

pub(crate) fn congestion(cause: Cause, prior_in_flight: u64) -> Congestion {
    let rtt = Duration::from_millis(100);
    Congestion { now: Time::ZERO, cause, prior_in_flight, min_rtt: rtt, smoothed_rtt: rtt }
}
