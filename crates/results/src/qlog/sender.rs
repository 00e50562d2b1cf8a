//! The sender's side of a flow: packets, ACKs that arrive, losses, the controller's variables and states.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::io;

use congestion::{Cause, STATE};
use scenario::trace::{Ack, Event, Metrics, trigger};
use units::Time;

use super::events::{Frame, Packet, Record, State, StateChange, ms, ranges};
use super::metrics::{Known, SSTHRESH};
use super::text::Out;
use super::{Meta, Transport};

/// Packets behind the newest of which a late acknowledgement is expected: more than any path holds.
const REMEMBERED: u64 = 1 << 22;

/// Packets on their way. Packet numbers are in the order of sending.
#[derive(Debug, Default)]
struct Sent {
    next_pn: u64,
    highest: u64,
    /// Packet number to size and end of its stream data, until acknowledged; lost ones too.
    packets: BTreeMap<u64, (u32, u64)>,
    /// End of stream data and packet number: neither lost nor acknowledged. Only for TCP.
    by_end: BTreeSet<(u64, u64)>,
}

impl Sent {
    fn add(&mut self, transport: Transport, pn: u64, bytes: u32, end: u64) {
        self.next_pn = self.next_pn.max(pn.saturating_add(1));
        self.highest = self.highest.max(end);
        self.packets.insert(pn, (bytes, end));
        // What was lost and never comes late.
        while self.packets.first_key_value().is_some_and(|(first, _)| pn.saturating_sub(*first) > REMEMBERED)
        {
            self.packets.pop_first();
        }
        if transport == Transport::Tcp {
            self.by_end.insert((end, pn));
        }
    }

    /// Returns the packet's size. It may still be acknowledged.
    fn lose(&mut self, pn: u64) -> Option<u32> {
        let &(bytes, end) = self.packets.get(&pn)?;
        self.by_end.remove(&(end, pn));
        Some(bytes)
    }

    /// The first packet from this one on that is not acknowledged.
    fn pending_from(&self, pn: u64) -> Option<u64> {
        self.packets.range(pn..).next().map(|(&pn, _)| pn)
    }

    /// Cuts off what each range repeats; its last packet remains.
    fn acknowledge(&mut self, ranges: &[(u64, u64)]) -> Vec<(u64, u64)> {
        let mut news = Vec::with_capacity(ranges.len());
        for &(first, last) in ranges {
            let pending = self.pending_from(first);
            news.push((pending.map_or(last, |pn| pn.min(last)), last));
            while let Some(pn) = self.pending_from(first).filter(|&pn| pn <= last) {
                self.packets.remove(&pn);
            }
        }
        news
    }

    /// Ranges of packet numbers that a cumulative ACK covers for the first time.
    fn cover(&mut self, cumulative: u64) -> Vec<(u64, u64)> {
        let mut pns = BTreeSet::new();
        while let Some(&(end, pn)) = self.by_end.first()
            && end <= cumulative
        {
            self.by_end.pop_first();
            self.packets.remove(&pn);
            pns.insert(pn);
        }
        ranges(pns)
    }
}

/// What the log remembers of the events before.
#[derive(Debug)]
pub(super) struct Sender {
    transport: Transport,
    states: &'static [&'static str],
    sent: Sent,
    metrics: Known,
    state: Option<State>,
    /// The recovery period ends with this packet number (QUIC) or byte (TCP).
    recovery: Option<u64>,
}

impl Sender {
    pub(super) fn new(meta: &Meta) -> Self {
        Self {
            transport: meta.transport,
            states: meta.states,
            sent: Sent::default(),
            metrics: Known::new(),
            state: None,
            recovery: None,
        }
    }

    pub(super) fn event(&mut self, out: &mut Out, time: Time, event: &Event) -> io::Result<()> {
        match event {
            Event::Sent { pn, bytes, offset, len } => {
                self.sent.add(self.transport, *pn, *bytes, offset.saturating_add(u64::from(*len)));
                let frame = Frame::Stream { offset: *offset, length: *len };
                out.entry(time, &Record::Sent(Packet::with(frame, *pn, Some(*bytes))))
            }
            Event::Acked(ack) => self.on_ack(out, time, ack),
            Event::Lost { pn, detection } => {
                let mut packet = Packet::new(*pn, self.sent.lose(*pn));
                packet.trigger = Some(trigger(*detection));
                out.entry(time, &Record::Lost(packet))
            }
            Event::Reduced(cause) => {
                self.recovery = Some(match self.transport {
                    Transport::Quic => self.sent.next_pn,
                    Transport::Tcp => self.sent.highest,
                });
                self.change(out, time, State::Recovery, Some(*cause))
            }
            Event::Metrics(metrics) => self.on_metrics(out, time, metrics),
            Event::Opens(packet) => out.entry(time, &Record::Sent(Packet::of_handshake(packet))),
            Event::Opened(packet) => out.entry(time, &Record::Received(Packet::of_handshake(packet))),
            // Of the other end.
            Event::Received { .. } | Event::Acks(_) => Ok(()),
        }
    }

    fn on_ack(&mut self, out: &mut Out, time: Time, Ack { number, ranges, delay }: &Ack) -> io::Result<()> {
        let newest = ranges.iter().map(|r| r.1).max();
        if self.recovery.is_some_and(|end| newest.is_some_and(|newest| newest >= end)) {
            self.recovery = None;
        }
        let frame = match self.transport {
            Transport::Quic => Frame::Ack {
                delay: Some(ms(*delay)),
                ranges: Cow::Owned(self.sent.acknowledge(ranges)),
                cumulative: None,
            },
            Transport::Tcp => {
                let ranges = self.sent.cover(newest.unwrap_or(0));
                Frame::Ack { delay: None, ranges: Cow::Owned(ranges), cumulative: newest }
            }
        };
        out.entry(time, &Record::Received(Packet::with(frame, *number, None)))
    }

    fn on_metrics(&mut self, out: &mut Out, time: Time, metrics: &Metrics) -> io::Result<()> {
        let changed = self.metrics.update(metrics);
        if !changed.is_empty() {
            out.entry(time, &Record::Metrics(changed))?;
        }
        let own = |wanted: &str| {
            metrics.inner.iter().rev().find(|(name, _)| *name == wanted).map(|(_, value)| *value)
        };
        let threshold = own(SSTHRESH).filter(|s| !s.is_nan());
        let state = own(STATE).and_then(|number| self.states.get(number as usize));
        match (state, threshold) {
            _ if self.recovery.is_some() => Ok(()),
            (Some(name), _) => self.change(out, time, State::Own(name), None),
            // The window is a whole number of bytes, the threshold need not be one.
            (None, Some(threshold)) if (metrics.cwnd as f64) < threshold.floor() => {
                self.change(out, time, State::SlowStart, None)
            }
            (None, None) if self.state.is_none() => Ok(()),
            _ => self.change(out, time, State::CongestionAvoidance, None),
        }
    }

    fn change(&mut self, out: &mut Out, time: Time, new: State, cause: Option<Cause>) -> io::Result<()> {
        if self.state == Some(new) && cause.is_none() {
            return Ok(());
        }
        let old = self.state.replace(new);
        out.entry(time, &Record::State(StateChange { old, new, cause }))
    }
}
