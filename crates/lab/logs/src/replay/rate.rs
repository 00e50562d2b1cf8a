//! Delivery-rate samples for a controller whose log has none.

use std::collections::BTreeMap;

use congestion::{Ack, AckedPacket, LostPacket, RateSample, Sent};
use recovery::feed::{Sampler, Snapshot};
use units::Time;

/// Largest number of packets that are followed.
const MOST: usize = 1 << 20;

/// Sampler with the packets in flight.
#[derive(Debug, Default)]
pub(super) struct Rates {
    sampler: Sampler,
    in_flight: BTreeMap<u64, Snapshot>,
}

impl Rates {
    pub(super) fn on_sent(&mut self, sent: &Sent) {
        let before = sent.bytes_in_flight.saturating_sub(sent.bytes);
        let snapshot = self.sampler.on_sent(sent.now, sent.bytes, before);
        self.in_flight.insert(sent.pn, Snapshot { app_limited: sent.app_limited, ..snapshot });
        if self.in_flight.len() > MOST {
            self.in_flight.pop_first();
        }
    }

    /// Returns the sample of an ACK, if it gives one.
    pub(super) fn on_ack(&mut self, ack: &Ack) -> Option<RateSample> {
        if ack.late > 0 {
            // Packets that were declared lost count as delivered.
            self.sampler.on_acked(ack.now, 0, Time::ZERO, ack.late, None);
        }
        for &AckedPacket { pn, bytes, sent, .. } in ack.packets {
            let snapshot = self.in_flight.remove(&pn);
            self.sampler.on_acked(ack.now, pn, sent, bytes, snapshot.as_ref());
        }
        self.sampler.sample(ack.min_rtt)
    }

    /// Completes lost packets.
    pub(super) fn on_lost(&mut self, packets: &mut [LostPacket]) {
        for packet in packets {
            self.sampler.on_lost(packet.bytes);
            if let Some(snapshot) = self.in_flight.remove(&packet.pn) {
                packet.tx_in_flight = snapshot.tx_in_flight;
                packet.lost_at_send = snapshot.lost;
            }
        }
    }
}
