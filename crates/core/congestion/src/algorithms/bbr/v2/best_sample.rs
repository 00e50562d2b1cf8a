//! Best bandwidth sample among an ACK's packets (mvfst Bbr2.cpp:1009-1045).
//!
//! ```text
//! per packet:      P.delivered, P.last_sent, P.last_acked:  delivered bytes, send time and ACK time of the newest packet
//!                  that had been acknowledged when P was sent
//! ACK              now - ACK delay
//! interval         max(P.sent - P.last_sent, ACK - P.last_acked)
//! rate             (delivered - P.delivered) / interval;  the highest one counts, however short its interval
//! delivered        largest value of all packets
//! ```

use alloc::collections::BTreeMap;

use crate::{Ack, Lost, RateSample, Sent};
use units::{Duration, Rate, Time};

/// The newest acknowledged packet at some time.
#[derive(Clone, Copy, Debug)]
struct Acked {
    delivered: u64,
    sent: Time,
    at: Time,
}

#[derive(Clone, Debug, Default)]
pub(super) struct BestSample {
    /// The newest acknowledged packet. `None` before the first packet, with which the connection
    /// starts.
    last: Option<Acked>,
    flying: BTreeMap<u64, Acked>,
}

impl BestSample {
    pub(super) fn on_sent(&mut self, sent: &Sent) {
        let begin = Acked { delivered: 0, sent: sent.now, at: sent.now };
        self.flying.insert(sent.pn, *self.last.get_or_insert(begin));
    }

    pub(super) fn on_lost(&mut self, lost: &Lost) {
        lost.packets.iter().for_each(|packet| _ = self.flying.remove(&packet.pn));
    }

    /// Returns the sender's sample with the highest rate and the most bytes. It has no rate if no
    /// packet gives one.
    pub(super) fn select(&mut self, ack: &Ack, rs: RateSample) -> RateSample {
        let at = ack.now - ack.ack_delay;
        let (mut best, mut most) = (None, 0);
        for packet in ack.packets {
            let Some(before) = self.flying.remove(&packet.pn) else { continue };
            let interval = (packet.sent - before.sent).max(at - before.at);
            let delivered = ack.delivered.saturating_sub(before.delivered);
            if interval > Duration::ZERO {
                best = best.max(Some(Rate::from_delivery(delivered, interval)));
                most = most.max(delivered);
            }
        }
        if let Some(newest) = ack.packets.last() {
            self.last = Some(Acked { delivered: ack.delivered, sent: newest.sent, at });
        }
        let delivered = if best.is_some() { most } else { rs.delivered };
        RateSample { delivery_rate: best, delivered, ..rs }
    }
}

#[cfg(test)]
mod tests {
    use super::super::script::{MDS, lost, sample};
    use super::*;
    use crate::AckedPacket;
    use crate::testing::fixtures::acked;

    fn send(best: &mut BestSample, pn: u64, ms: u64) {
        best.on_sent(&Sent {
            now: Time::from_millis(ms),
            pn,
            bytes: MDS,
            bytes_in_flight: MDS,
            app_limited: false,
        });
    }

    /// Plays an ACK of these packets, each with its send time. Returns the sample's rate in kbit/s
    /// and its bytes.
    fn ack(best: &mut BestSample, ms: u64, delay: u64, delivered: u64, packets: &[(u64, u64)]) -> (u64, u64) {
        let packet = |&(pn, sent)| AckedPacket {
            pn,
            bytes: MDS,
            sent: Time::from_millis(sent),
            received: None,
            before_reduction: false,
        };
        let packets: Vec<_> = packets.iter().map(packet).collect();
        let (now, ack_delay) = (Time::from_millis(ms), Duration::from_millis(delay));
        let ack = Ack { now, ack_delay, delivered, packets: &packets, ..acked(MDS) };
        let rs = best.select(&ack, sample(1, 0));
        (rs.delivery_rate.map_or(0, |rate| rate.0 / 1000), rs.delivered)
    }

    /// Packet 0 is sent at 1000 ms and acknowledged at 1100 ms with an ACK delay of 20 ms: 1200
    /// bytes in 80 ms, 120 kbit/s. Packets 1 (sent at 1050 ms, before that ACK) and 2 (at 1100 ms,
    /// after it) are acknowledged at 1200 ms without delay. Packet 1 gives 3600 bytes in max(50,
    /// 200) ms, 144 kbit/s. Packet 2 gives 2400 bytes since 1080 ms, in 120 ms: 160 kbit/s. Packet
    /// 1 has the most bytes.
    #[test]
    fn best_of_two() {
        let mut best = BestSample::default();
        send(&mut best, 0, 1000);
        send(&mut best, 1, 1050);
        assert_eq!(ack(&mut best, 1100, 20, 1200, &[(0, 1000)]), (120, 1200));
        send(&mut best, 2, 1100);
        assert_eq!(ack(&mut best, 1200, 0, 3600, &[(1, 1050), (2, 1100)]), (160, 3600));
    }

    /// Sent over 400 ms since the last acknowledged packet, acknowledged within 100 ms: the send
    /// interval counts. 1200 bytes in 400 ms.
    #[test]
    fn send_interval() {
        let mut best = BestSample::default();
        send(&mut best, 0, 1000);
        ack(&mut best, 1350, 0, 1200, &[(0, 1000)]);
        send(&mut best, 1, 1400);
        assert_eq!(ack(&mut best, 1450, 0, 2400, &[(1, 1400)]), (24, 1200));
    }

    /// Lost packets and packets whose sending was not reported give no sample, and are not kept.
    #[test]
    fn unknown_packets() {
        let mut best = BestSample::default();
        send(&mut best, 5, 0);
        best.on_lost(&lost(&[5], MDS).batch());
        assert_eq!(ack(&mut best, 100, 0, 1200, &[(5, 0), (6, 0)]), (0, 1200));
        assert!(best.flying.is_empty());
    }
}
