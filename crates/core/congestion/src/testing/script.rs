//! A sender that plays a script of signals. Loss recovery could send each of them.

use alloc::vec::Vec;

use proptest::prelude::*;
use units::{Duration, Rate, Time};

use super::fixtures::acked;
use crate::{
    Ack, AckedPacket, Cause, Congestion, Controller, Detection, Idle, Lost, LostPacket, RateSample, Sent,
};

/// Congestion events that occur with QUIC.
pub const QUIC: &[Cause] = &[Cause::Loss, Cause::Ecn, Cause::Delay, Cause::PersistentCongestion];
/// Congestion events that occur with TCP.
pub const TCP: &[Cause] = &[Cause::Loss, Cause::Ecn, Cause::Timeout];

/// A step of a script.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// Packets are acknowledged together, one round trip after they were sent.
    Ack {
        /// Number of packets.
        packets: u64,
        /// Whether they may grow the window. If not, the application limits the sender.
        grow: bool,
        /// Time they waited in the queue.
        queue: Duration,
    },
    /// A congestion event and its losses.
    Event(Cause),
    /// An ACK only of packets that had been declared lost.
    Late {
        /// Number of packets.
        packets: u64,
        /// Whether the sender is in a recovery period.
        in_recovery: bool,
    },
    /// The last event was spurious.
    Spurious,
    /// The sender was idle, and its window must be restarted.
    Idle {
        /// Idle time, in retransmission timeouts.
        rtos: u64,
    },
}

/// Generates scripts with these events. Each step starts the given number of milliseconds after the
/// previous one.
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

/// The sender, which follows the contract of [`Controller`].
#[derive(Clone, Debug)]
pub struct Sender {
    /// Time of the last signal.
    pub now: Time,
    /// Packet size in bytes.
    pub mds: u64,
    pn: u64,
    delivered: u64,
    lost: u64,
    min_rtt: Duration,
    /// Whether an event reported a mark that the next ACK must count.
    marked: bool,
    /// Whether ACKs carry delivery-rate samples.
    rate_samples: bool,
    /// The window just before the last congestion event, in bytes.
    pub(crate) window_before_event: u64,
}

/// Propagation delay of the round trip. Half of it is on the way to the receiver.
const RTT: Duration = Duration::from_millis(50);
/// Smoothed RTT of signals other than ACKs.
const SMOOTHED_RTT: Duration = Duration::from_millis(60);

impl Sender {
    /// Creates a sender before its first packet.
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
            window_before_event: 0,
        }
    }

    /// Turns off delivery-rate samples.
    pub fn without_rate_samples(self) -> Self {
        Self { rate_samples: false, ..self }
    }

    /// Plays a step, and the congestion event that the controller asks for in response. Returns the
    /// event.
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

    /// Plays a congestion event. Its losses come in a burst of four, enough for a controller that
    /// ignores isolated losses.
    pub fn congestion(&mut self, cc: &mut dyn Controller, cause: Cause) {
        match cause {
            Cause::Loss | Cause::PersistentCongestion => self.lose(cc, Detection::PacketThreshold),
            Cause::Timeout => self.lose(cc, Detection::Timeout),
            Cause::Ecn => self.marked = true,
            Cause::Delay => {}
        }
        let (now, min_rtt, smoothed_rtt) = (self.now, self.min_rtt, SMOOTHED_RTT);
        let prior_in_flight = cc.control().cwnd;
        self.window_before_event = prior_in_flight;
        cc.on_congestion(&Congestion { now, cause, prior_in_flight, min_rtt, smoothed_rtt });
    }

    /// Sends packets that are acknowledged together one RTT later. Returns the event that the
    /// controller asks for.
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

    /// Sends the `nth` packet in flight, counted from 1. Returns its packet number.
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

    /// Sends four packets now and loses them.
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

    /// Sends eight packets and loses four of them in an event, then the other four without a second
    /// event.
    ///
    /// Returns the window between the two batches.
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
