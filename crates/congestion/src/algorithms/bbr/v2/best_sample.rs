//! The best bandwidth sample of an ACK's packets (mvfst.md section 8; mvfst Bbr2.cpp:1009-1045).
//!
//! ```text
//! of each packet:  P.delivered, P.last_sent, P.last_acked:  delivered bytes, departure and ACK of the newest packet that
//!                  had been acknowledged when P left
//! ACK              at now - ACK delay
//! interval         max(P.sent - P.last_sent, ACK - P.last_acked)
//! rate             (delivered - P.delivered) / interval;  the highest counts, however short its interval
//! delivered        the most that any of them shows
//! ```

use alloc::collections::BTreeMap;

use crate::{Ack, Lost, RateSample, Sent};
use units::{Duration, Rate, Time};

/// The newest packet acknowledged at some time.
#[derive(Clone, Copy, Debug)]
struct Acked {
    delivered: u64,
    sent: Time,
    at: Time,
}

#[derive(Clone, Debug, Default)]
pub(super) struct BestSample {
    /// Nothing before the first departure, with which the connection begins.
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

    /// The sender's sample with the highest rate and the most bytes; without a rate where no packet gives one.
    pub(super) fn of(&mut self, ack: &Ack, rs: RateSample) -> RateSample {
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

    /// An ACK of these packets, each with its departure; the rate in kbit/s and the bytes of the sample.
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
        let rs = best.of(&ack, sample(1, 0));
        (rs.delivery_rate.map_or(0, |rate| rate.0 / 1000), rs.delivered)
    }

    /// Packet 0 leaves at 1000 ms and is acknowledged at 1100 ms, 20 ms of which are the ACK's delay: 1200 bytes in 80 ms, 120
    /// kbit/s. Packets 1 (1050 ms, before that ACK) and 2 (1100 ms, after it) are acknowledged at 1200 ms without delay:
    /// 1 gives 3600 bytes in max(50, 200) ms, 144 kbit/s; 2 gives 2400 bytes since 1080 ms, in 120 ms: 160 kbit/s. The most
    /// bytes are those of packet 1.
    #[test]
    fn best_of_two() {
        let mut best = BestSample::default();
        send(&mut best, 0, 1000);
        send(&mut best, 1, 1050);
        assert_eq!(ack(&mut best, 1100, 20, 1200, &[(0, 1000)]), (120, 1200));
        send(&mut best, 2, 1100);
        assert_eq!(ack(&mut best, 1200, 0, 3600, &[(1, 1050), (2, 1100)]), (160, 3600));
    }

    /// Sent over 400 ms since the last acknowledged one, acknowledged within 100 ms: the sending counts. 1200 bytes in 400 ms.
    #[test]
    fn send_interval() {
        let mut best = BestSample::default();
        send(&mut best, 0, 1000);
        ack(&mut best, 1350, 0, 1200, &[(0, 1000)]);
        send(&mut best, 1, 1400);
        assert_eq!(ack(&mut best, 1450, 0, 2400, &[(1, 1400)]), (24, 1200));
    }

    /// Neither lost packets nor those that it never saw leave give a sample, nor do they stay.
    #[test]
    fn unknown_packets() {
        let mut best = BestSample::default();
        send(&mut best, 5, 0);
        best.on_lost(&lost(&[5], MDS).batch());
        assert_eq!(ack(&mut best, 100, 0, 1200, &[(5, 0), (6, 0)]), (0, 1200));
        assert!(best.flying.is_empty());
    }
}
