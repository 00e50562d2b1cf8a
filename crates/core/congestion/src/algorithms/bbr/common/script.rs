//! Signals for the tests of all versions.

use super::frame::Frame;
use super::rounds::NO_SAMPLE;
use crate::testing::fixtures::acked;
use crate::{Ack, Detection, Lost, LostPacket, RateSample};
use units::{Duration, Rate, Time};

pub(crate) const MDS: u64 = 1200;

/// Returns a sample of one packet at this rate, in Mbit/s.
pub(crate) fn sample(mbit: u64, prior_delivered: u64) -> RateSample {
    RateSample {
        prior_delivered,
        delivered: MDS,
        interval: Duration::from_millis(100),
        delivery_rate: Some(Rate(mbit * 1_000_000)),
        app_limited: false,
        tx_in_flight: MDS,
        ..NO_SAMPLE
    }
}

/// Prepares a flow that has filled the pipe, at this rate (Mbit/s) and RTT (ms).
pub(crate) fn know(bbr: &mut Frame, mbit: u64, rtt: u64) {
    bbr.filled_pipe = true;
    bbr.model.update_max_bw(&sample(mbit, 0));
    bbr.model.bound_bw();
    bbr.update_min_rtt(&Ack { now: Time::ZERO, latest_rtt: Some(Duration::from_millis(rtt)), ..acked(0) });
}

pub(crate) struct Batch(Vec<LostPacket>);

impl Batch {
    pub(crate) fn batch(&self) -> Lost<'_> {
        let total_lost = self.0.iter().map(|p| p.bytes).sum();
        Lost { now: Time::ZERO, packets: &self.0, total_lost, delivered: 0, bytes_in_flight: 0 }
    }
}

/// Returns the connection's first losses. Each packet was sent with `tx_in_flight` bytes in flight.
pub(crate) fn lost(numbers: &[u64], tx_in_flight: u64) -> Batch {
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
