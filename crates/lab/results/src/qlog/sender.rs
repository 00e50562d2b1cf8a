//! The sender's log: packets, incoming ACKs, losses, the controller's variables and states.

use congestion::{Cause, Detection};
use scenario::trace::{Ack, Event, Metrics, trigger};
use units::Time;

use super::events::{Frame, Packet, Record, State, StateChange};
use super::metrics::Known;
use super::sent::Sent;
use super::text::Out;
use super::{Meta, Transport};

/// State of the log from earlier events.
#[derive(Debug)]
pub(super) struct Sender {
    transport: Transport,
    states: &'static [&'static str],
    sent: Sent,
    /// Further stream data of the next packet.
    more: Box<[(u64, u32)]>,
    /// Packets that an ACK covers for the first time.
    news: Vec<(u64, u64)>,
    metrics: Known,
    state: Option<State>,
    /// Packet number (QUIC) or byte (TCP) at which the recovery period ends.
    recovery: Option<u64>,
}

impl Sender {
    pub(super) fn new(meta: &Meta) -> Self {
        Self {
            transport: meta.transport,
            states: meta.states,
            sent: Sent::default(),
            more: Box::default(),
            news: Vec::new(),
            metrics: Known::new(),
            state: None,
            recovery: None,
        }
    }

    pub(super) fn event(&mut self, out: &mut Out, time: Time, event: &Event) {
        match event {
            Event::Sent { pn, bytes, offset, len } => {
                let more = std::mem::take(&mut self.more);
                let ends = more.iter().copied().chain([(*offset, *len)]);
                let end = ends.map(|(offset, len)| offset.saturating_add(len.into())).max().unwrap_or(0);
                self.sent.add(self.transport, *pn, *bytes, end);
                let frame = Frame::Stream { offset: *offset, length: *len, more: &more };
                out.entry(time, &Record::Sent(Packet::with_frame(frame, *pn, Some(*bytes))));
            }
            Event::Acked(ack) => self.on_ack(out, time, ack),
            Event::Lost { pn, detection } => {
                let lost = self.lost(*pn, *detection);
                out.entry(time, &Record::Lost(lost));
            }
            Event::LostObserved { pn: Some(pn), detection, basis } => {
                let lost = Packet { basis: Some(basis), ..self.lost(*pn, *detection) };
                out.entry(time, &Record::Lost(lost));
            }
            Event::LostObserved { pn: None, detection, basis } => {
                out.entry(time, &Record::Unnumbered { trigger: trigger(*detection), basis });
            }
            Event::Recovered => self.recovery = None,
            Event::Remark(text) => out.entry(time, &Record::Remark(text)),
            Event::Reduced(cause) => {
                self.recovery = Some(match self.transport {
                    Transport::Quic => self.sent.next_pn,
                    Transport::Tcp => self.sent.highest,
                });
                self.change(out, time, State::Recovery, Some(*cause));
            }
            Event::Metrics(metrics) => self.on_metrics(out, time, metrics),
            Event::Call(call) => out.call(call),
            Event::More(pieces) => self.more.clone_from(pieces),
            Event::Opens(packet) => out.entry(time, &Record::Sent(Packet::handshake(packet))),
            Event::Opened(packet) => out.entry(time, &Record::Received(Packet::handshake(packet))),
            // Events of the other end.
            Event::Received { .. } | Event::Acks(_) => {}
        }
    }

    /// Notes a packet without stream data.
    pub(super) fn add_sent(&mut self, pn: u64, bytes: u32) {
        self.sent.add(self.transport, pn, bytes, 0);
    }

    fn lost(&mut self, pn: u64, detection: Detection) -> Packet<'static> {
        Packet { trigger: Some(trigger(detection)), ..Packet::new(pn, self.sent.lose(pn)) }
    }

    fn on_ack(&mut self, out: &mut Out, time: Time, Ack { number, ranges, delay }: &Ack) {
        let newest = ranges.iter().map(|r| r.1).max();
        if self.recovery.is_some_and(|end| newest.is_some_and(|newest| newest >= end)) {
            self.recovery = None;
        }
        let frame = match self.transport {
            Transport::Quic => {
                self.sent.acknowledge(ranges, &mut self.news);
                Frame::Ack { delay: Some(*delay), ranges: &self.news, cumulative: None }
            }
            Transport::Tcp => {
                self.sent.cover(newest.unwrap_or(0), &mut self.news);
                Frame::Ack { delay: None, ranges: &self.news, cumulative: newest }
            }
        };
        out.entry(time, &Record::Received(Packet::with_frame(frame, *number, None)));
    }

    fn on_metrics(&mut self, out: &mut Out, time: Time, metrics: &Metrics) {
        let changed = self.metrics.update(metrics);
        if !changed.is_empty() {
            out.entry(time, &Record::Metrics(changed));
        }
        let [threshold, state] = self.metrics.threshold_and_state(metrics);
        let threshold = threshold.filter(|s| !s.is_nan());
        let state = state.and_then(|number| self.states.get(number as usize));
        match (state, threshold) {
            _ if self.recovery.is_some() => {}
            (Some(name), _) => self.change(out, time, State::Own(name), None),
            // The window is a whole number of bytes; the threshold may be a fraction.
            (None, Some(threshold)) if (metrics.cwnd as f64) < threshold.floor() => {
                self.change(out, time, State::SlowStart, None);
            }
            (None, None) if self.state.is_none() => {}
            _ => self.change(out, time, State::CongestionAvoidance, None),
        }
    }

    fn change(&mut self, out: &mut Out, time: Time, new: State, cause: Option<Cause>) {
        if self.state == Some(new) && cause.is_none() {
            return;
        }
        let old = self.state.replace(new);
        out.entry(time, &Record::State(StateChange { old, new, cause }));
    }
}
