//! A sender that plays a script: every signal that it sends is one that loss recovery could send.

use alloc::vec::Vec;

use proptest::prelude::*;
use units::{Duration, Rate, Time};

use super::fixtures::acked;
use crate::{
    Ack, AckedPacket, Cause, Congestion, Controller, Detection, Idle, Lost, LostPacket, RateSample, Sent,
};

/// What QUIC may tell a controller.
pub const QUIC: &[Cause] = &[Cause::Loss, Cause::Ecn, Cause::Delay, Cause::PersistentCongestion];
/// What TCP may tell it.
pub const TCP: &[Cause] = &[Cause::Loss, Cause::Ecn, Cause::Timeout];

/// One step of a script.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// Packets are acknowledged together, a round trip after they left.
    Ack {
        /// How many.
        packets: u64,
        /// Whether they may open the window; if not, the application limits the sender.
        grow: bool,
        /// How long they waited on the way.
        queue: Duration,
    },
    /// A congestion event, with the losses that belong to it.
    Event(Cause),
    /// An ACK of nothing but packets that had been declared lost.
    Late {
        /// How many.
        packets: u64,
        /// Whether a recovery period runs.
        in_recovery: bool,
    },
    /// The last event was spurious.
    Spurious,
    /// The sender was idle, and its window is to be restarted.
    Idle {
        /// For how many retransmission timeouts.
        rtos: u64,
    },
}

/// Steps with these events, each so many milliseconds after the one before.
pub fn steps(causes: &'static [Cause]) -> impl Strategy<Value = Vec<(u64, Step)>> {
    let queue = (0u64..60).prop_map(Duration::from_millis);
    let ack = (1u64..=10, prop::bool::weighted(0.8), queue).prop_map(|(packets, grow, queue)| Step::Ack {
        packets,
        grow,
        queue,
    });
    let event = prop::sample::select(causes).prop_map(Step::Event);
    let late =
        (1u64..=10, any::<bool>()).prop_map(|(packets, in_recovery)| Step::Late { packets, in_recovery });
    let idle = (1u64..20).prop_map(|rtos| Step::Idle { rtos });
    let step = prop_oneof![16 => ack, 3 => event, 2 => late, 1 => Just(Step::Spurious), 1 => idle];
    prop::collection::vec((0u64..300, step), 1..300)
}

/// The sender's side of the contract.
#[derive(Clone, Debug)]
pub struct Sender {
    /// Time of the last signal.
    pub now: Time,
    /// Bytes of each packet.
    pub mds: u64,
    pn: u64,
    delivered: u64,
    lost: u64,
    min_rtt: Duration,
    /// An event told of a mark: the next ACK counts it.
    marked: bool,
    /// ACKs bring delivery-rate samples.
    rate_samples: bool,
}

/// The propagation delay there and back; half of it lies before the receiver.
const RTT: Duration = Duration::from_millis(50);
/// Of what is no ACK's sample.
const SMOOTHED_RTT: Duration = Duration::from_millis(60);

impl Sender {
    /// Before the first packet.
    pub fn new(mds: u64) -> Self {
        Self {
            now: Time::ZERO,
            mds,
            pn: 0,
            delivered: 0,
            lost: 0,
            min_rtt: Duration::MAX,
            marked: false,
            rate_samples: true,
        }
    }

    /// One that takes no delivery-rate samples.
    pub fn without_rate_samples(self) -> Self {
        Self { rate_samples: false, ..self }
    }

    /// One step of a script, and the congestion event that the controller asks for, if it does. Answers the event.
    pub fn play(&mut self, cc: &mut dyn Controller, ms: u64, step: Step) -> Option<Cause> {
        self.now += Duration::from_millis(ms);
        let event = match step {
            Step::Ack { packets, grow, queue } => self.ack(cc, packets, grow, queue),
            Step::Event(cause) => Some(cause),
            Step::Late { packets, in_recovery } => self.late(cc, packets, in_recovery),
            Step::Spurious => {
                cc.on_spurious();
                None
            }
            Step::Idle { rtos } => {
                self.idle(cc, rtos);
                None
            }
        };
        if let Some(cause) = event {
            self.congestion(cc, cause);
        }
        event
    }

    /// An event. Losses come with it in a burst of four, enough for a controller that ignores single ones.
    pub fn congestion(&mut self, cc: &mut dyn Controller, cause: Cause) {
        match cause {
            Cause::Loss | Cause::PersistentCongestion => self.lose(cc, Detection::PacketThreshold),
            Cause::Timeout => self.lose(cc, Detection::Timeout),
            Cause::Ecn => self.marked = true,
            Cause::Delay => {}
        }
        let (now, min_rtt, smoothed_rtt) = (self.now, self.min_rtt, SMOOTHED_RTT);
        let prior_in_flight = cc.control().cwnd;
        cc.on_congestion(&Congestion { now, cause, prior_in_flight, min_rtt, smoothed_rtt });
    }

    /// So many packets leave, and are acknowledged together one RTT later.
    pub fn ack(
        &mut self,
        cc: &mut dyn Controller,
        packets: u64,
        grow: bool,
        queue: Duration,
    ) -> Option<Cause> {
        let rtt = RTT + queue;
        self.min_rtt = self.min_rtt.min(rtt);
        let sent = self.now;
        self.now += rtt;
        let packets: Vec<_> = (0..packets).map(|i| self.packet(cc, sent, queue, i + 1)).collect();
        let bytes = self.mds * packets.len() as u64;
        let prior_delivered = self.delivered;
        self.delivered += bytes;
        let rate = RateSample {
            prior_delivered,
            delivered: bytes,
            interval: rtt,
            delivery_rate: Some(Rate::from_delivery(bytes, rtt)),
            app_limited: !grow,
            tx_in_flight: bytes,
            lost: 0,
        };
        cc.on_ack(&Ack {
            now: self.now,
            packets: &packets,
            growth: if grow { bytes } else { 0 },
            latest_rtt: Some(rtt),
            min_rtt: self.min_rtt,
            smoothed_rtt: rtt,
            ce: u64::from(core::mem::take(&mut self.marked)),
            delivered: self.delivered,
            rate: self.rate_samples.then_some(rate),
            round: self.pn,
            round_start: true,
            app_limited: !grow,
            cwnd_limited: grow,
            ..acked(bytes)
        })
    }

    fn late(&mut self, cc: &mut dyn Controller, packets: u64, in_recovery: bool) -> Option<Cause> {
        let late = packets * self.mds;
        self.delivered += late;
        cc.on_ack(&Ack {
            now: self.now,
            late,
            latest_rtt: None,
            min_rtt: self.min_rtt,
            smoothed_rtt: SMOOTHED_RTT,
            delivered: self.delivered,
            round: self.pn,
            in_recovery,
            ..acked(0)
        })
    }

    fn idle(&mut self, cc: &mut dyn Controller, rtos: u64) {
        let rto = Duration::from_millis(260);
        let idle = rto * rtos + Duration::from_millis(1);
        self.now += idle;
        cc.on_idle(&Idle { now: self.now, idle, rto });
        self.send(cc, self.now, 1);
    }

    /// The `nth` packet in flight, the first being 1.
    fn send(&mut self, cc: &mut dyn Controller, sent: Time, nth: u64) -> u64 {
        let pn = self.pn;
        self.pn += 1;
        let bytes_in_flight = nth * self.mds;
        cc.on_sent(&Sent { now: sent, pn, bytes: self.mds, bytes_in_flight, app_limited: false });
        pn
    }

    fn packet(&mut self, cc: &mut dyn Controller, sent: Time, queue: Duration, nth: u64) -> AckedPacket {
        let pn = self.send(cc, sent, nth);
        let received = Some((sent + RTT / 2 + queue).0 as i64);
        AckedPacket { pn, bytes: self.mds, sent, received, before_reduction: false }
    }

    /// Four packets that leave now.
    fn lose(&mut self, cc: &mut dyn Controller, detection: Detection) {
        let numbers = [1, 2, 3, 4].map(|nth| self.send(cc, self.now, nth));
        self.lose_these(cc, numbers, detection);
    }

    fn lose_these(&mut self, cc: &mut dyn Controller, numbers: [u64; 4], detection: Detection) {
        let mut nth = 0;
        let lost = numbers.map(|pn| {
            nth += 1;
            LostPacket {
                pn,
                bytes: self.mds,
                sent: self.now,
                detection,
                tx_in_flight: nth * self.mds,
                lost_at_send: self.lost,
                app_limited: false,
            }
        });
        self.lost += 4 * self.mds;
        let (now, total_lost, delivered) = (self.now, self.lost, self.delivered);
        cc.on_lost(&Lost { now, packets: &lost, total_lost, delivered, bytes_in_flight: 0 });
    }

    /// Eight packets leave, and four of them are lost in an event; then the other four, for which there is no second one.
    /// Answers the window between the two.
    pub(crate) fn lose_in_two(&mut self, cc: &mut dyn Controller) -> u64 {
        let first = [1, 2, 3, 4].map(|nth| self.send(cc, self.now, nth));
        let second = [5, 6, 7, 8].map(|nth| self.send(cc, self.now, nth));
        self.lose_these(cc, first, Detection::PacketThreshold);
        let (now, min_rtt, smoothed_rtt) = (self.now, self.min_rtt, SMOOTHED_RTT);
        let (cause, prior_in_flight) = (Cause::Loss, cc.control().cwnd);
        cc.on_congestion(&Congestion { now, cause, prior_in_flight, min_rtt, smoothed_rtt });
        let between = cc.control().cwnd;
        self.lose_these(cc, second, Detection::PacketThreshold);
        between
    }
}
