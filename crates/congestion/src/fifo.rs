//! A closed loop for the controllers' own tests: flows that share one FIFO link without end of buffer, an ACK for each
//! packet, no pacing. The round trip of a packet is its wait, its time on the link, and the flow's propagation delay.

use std::collections::VecDeque;

use crate::script::acked;
use crate::{Ack, AckedPacket, Controller, Duration, Sent, Time};

pub(crate) const MDS: u64 = 1000;

/// A flow with always something to send.
#[derive(Debug)]
pub(crate) struct Flow<C> {
    pub(crate) cc: C,
    propagation: Duration,
    start: Time,
    pn: u64,
    flying: VecDeque<Flying>,
    min_rtt: Duration,
    pub(crate) latest_rtt: Duration,
    /// Packets.
    pub(crate) delivered: u64,
}

#[derive(Debug)]
struct Flying {
    pn: u64,
    sent: Time,
    back: Time,
}

impl<C: Controller> Flow<C> {
    pub(crate) fn new(cc: C, propagation: Duration, start: Time) -> Self {
        let (latest_rtt, min_rtt) = (Duration::ZERO, Duration::MAX);
        Self { cc, propagation, start, pn: 0, flying: VecDeque::new(), min_rtt, latest_rtt, delivered: 0 }
    }

    /// When something happens to this flow.
    fn next(&self) -> Time {
        self.flying.front().map_or(self.start, |f| f.back)
    }

    fn in_flight(&self) -> u64 {
        self.flying.len() as u64 * MDS
    }

    fn ack(&mut self) {
        let prior_in_flight = self.in_flight();
        let Some(Flying { pn, sent, back: now }) = self.flying.pop_front() else { return };
        self.delivered += 1;
        self.latest_rtt = now - sent;
        self.min_rtt = self.min_rtt.min(self.latest_rtt);
        let packet = AckedPacket { pn, bytes: MDS, sent, received: None, before_reduction: false };
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

#[derive(Debug)]
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

    /// One ACK or one start, and what it lets go. Answers which flow it was.
    pub(crate) fn step(&mut self) -> usize {
        let next = self.flows.iter().enumerate().min_by_key(|(_, f)| f.next()).map_or(0, |(i, _)| i);
        let flow = &mut self.flows[next];
        self.now = flow.next();
        flow.ack();
        while flow.in_flight() + MDS <= flow.cc.control().cwnd {
            self.free = self.free.max(self.now) + self.packet_time;
            let back = self.free + flow.propagation;
            flow.flying.push_back(Flying { pn: flow.pn, sent: self.now, back });
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
