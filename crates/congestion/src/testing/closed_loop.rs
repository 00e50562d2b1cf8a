//! A closed loop for the controllers' own tests: flows that share one FIFO link without end of buffer, an ACK for each
//! packet, pacing where the controller names a rate. The round trip of a packet is its wait, its time on the link, and
//! the flow's propagation delay, half of which lies before the receiver.

use alloc::collections::VecDeque;

use crate::testing::fixtures::acked;
use crate::{Ack, AckedPacket, Controller, Sent};
use units::{Duration, Time};

pub(crate) const MDS: u64 = 1000;

/// A flow with always something to send.
#[derive(Clone, Debug)]
pub(crate) struct Flow<C> {
    pub(crate) cc: C,
    propagation: Duration,
    /// The pacer lets nothing go before.
    next_send: Time,
    pn: u64,
    flying: VecDeque<Flying>,
    min_rtt: Duration,
    pub(crate) latest_rtt: Duration,
    /// Packets.
    pub(crate) delivered: u64,
}

#[derive(Clone, Debug)]
struct Flying {
    pn: u64,
    sent: Time,
    received: Time,
    back: Time,
}

impl<C: Controller> Flow<C> {
    pub(crate) fn new(cc: C, propagation: Duration, start: Time) -> Self {
        let (latest_rtt, min_rtt) = (Duration::ZERO, Duration::MAX);
        Self {
            cc,
            propagation,
            next_send: start,
            pn: 0,
            flying: VecDeque::new(),
            min_rtt,
            latest_rtt,
            delivered: 0,
        }
    }

    /// When something happens to this flow.
    fn next(&self) -> Time {
        let ack = self.flying.front().map_or(Time::NEVER, |f| f.back);
        if self.in_flight() + MDS <= self.cc.control().cwnd { ack.min(self.next_send) } else { ack }
    }

    fn in_flight(&self) -> u64 {
        self.flying.len() as u64 * MDS
    }

    fn ack(&mut self, now: Time) {
        let prior_in_flight = self.in_flight();
        if self.flying.front().is_none_or(|f| f.back > now) {
            return;
        }
        let Some(Flying { pn, sent, received, .. }) = self.flying.pop_front() else { return };
        self.delivered += 1;
        self.latest_rtt = now - sent;
        self.min_rtt = self.min_rtt.min(self.latest_rtt);
        let received = i64::try_from(received.0).ok();
        let packet = AckedPacket { pn, bytes: MDS, sent, received, before_reduction: false };
        self.cc.on_ack(&Ack {
            now,
            packets: &[packet],
            prior_in_flight,
            bytes_in_flight: self.in_flight(),
            latest_rtt: Some(self.latest_rtt),
            min_rtt: self.min_rtt,
            smoothed_rtt: self.latest_rtt,
            delivered: self.delivered * MDS,
            ..acked(MDS)
        });
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Link<C> {
    pub(crate) flows: Vec<Flow<C>>,
    /// Of one packet. May change at any time.
    pub(crate) packet_time: Duration,
    free: Time,
    pub(crate) now: Time,
}

impl<C: Controller> Link<C> {
    pub(crate) fn new(flows: Vec<Flow<C>>, packet_time: Duration) -> Self {
        Self { flows, packet_time, free: Time::ZERO, now: Time::ZERO }
    }

    /// One ACK or one tick of a pacer, and what it lets go. Answers which flow it was.
    pub(crate) fn step(&mut self) -> usize {
        let next = self.flows.iter().enumerate().min_by_key(|(_, f)| f.next()).map_or(0, |(i, _)| i);
        let flow = &mut self.flows[next];
        // A pacer may have been ready while the window was full.
        self.now = self.now.max(flow.next());
        flow.ack(self.now);
        while flow.next_send <= self.now && flow.in_flight() + MDS <= flow.cc.control().cwnd {
            let gap = flow.cc.control().pacing_rate.map_or(Duration::ZERO, |rate| rate.time_for(MDS));
            flow.next_send = self.now + gap;
            self.free = self.free.max(self.now) + self.packet_time;
            let (received, back) = (self.free + flow.propagation / 2, self.free + flow.propagation);
            flow.flying.push_back(Flying { pn: flow.pn, sent: self.now, received, back });
            let (pn, bytes_in_flight) = (flow.pn, flow.in_flight());
            flow.pn += 1;
            flow.cc.on_sent(&Sent { now: self.now, pn, bytes: MDS, bytes_in_flight, app_limited: false });
        }
        next
    }

    /// Until this many milliseconds after the start.
    pub(crate) fn run(&mut self, ms: u64) {
        while self.now < Time::from_millis(ms) {
            self.step();
        }
    }
}
