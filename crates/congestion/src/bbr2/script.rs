//! A controller in a known condition, and signals for it, for this folder's tests.

use super::{Bbr2, Params};
use crate::script::path;
use crate::{Detection, Duration, Lost, LostPacket, Rate, RateSample, Time};

pub(super) const MDS: u64 = 1200;

pub(super) fn bbr() -> Bbr2 {
    bbr_with(Params::default())
}

pub(super) fn bbr_with(params: Params) -> Bbr2 {
    Bbr2::new(params, path(MDS))
}

/// A sample of one packet at this rate, in Mbit/s.
pub(super) fn sample(mbit: u64, prior_delivered: u64) -> RateSample {
    RateSample {
        prior_delivered,
        delivered: MDS,
        interval: Duration::from_millis(100),
        delivery_rate: Some(Rate(mbit * 1_000_000)),
        app_limited: false,
        tx_in_flight: MDS,
        lost: 0,
    }
}

/// The pipe has been full, at this rate (Mbit/s) and RTT (ms).
pub(super) fn known(mbit: u64, rtt: u64) -> Bbr2 {
    let mut cc = bbr();
    cc.full_pipe.filled_pipe = true;
    cc.model.update_max_bw(&sample(mbit, 0));
    cc.model.bound_bw();
    let (p, rtt) = (&cc.params, Duration::from_millis(rtt));
    cc.model.min_rtt.update(Time::ZERO, Some(rtt), p.probe_rtt_interval, p.min_rtt_filter_len);
    cc
}

pub(super) struct Batch(Vec<LostPacket>);

impl Batch {
    pub(super) fn batch(&self) -> Lost<'_> {
        let total_lost = self.0.iter().map(|p| p.bytes).sum();
        Lost { now: Time::ZERO, packets: &self.0, total_lost, delivered: 0, bytes_in_flight: 0 }
    }
}

/// The first losses of the connection, each of a packet that left with so much in flight.
pub(super) fn lost(numbers: &[u64], tx_in_flight: u64) -> Batch {
    let packet = |&pn| LostPacket {
        pn,
        bytes: MDS,
        sent: Time::ZERO,
        detection: Detection::PacketThreshold,
        tx_in_flight,
        lost_at_send: 0,
        app_limited: false,
    };
    Batch(numbers.iter().map(packet).collect())
}
