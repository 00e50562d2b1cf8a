//! The sender's side of a flow: packets, ACKs that arrive, losses, the controller's variables and states.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use congestion::{Cause, STATE};
use scenario::trace::{Ack, Event, Metrics, Trace, trigger};
use serde_json::Number;
use units::{Duration, Time};

use super::events::{Frame, Key, Metrics as Changed, OWN, Packet, Record, State, StateChange, ms, ranges};
use super::meta::VantagePoint;
use super::text::Out;
use super::{Meta, Transport};

/// The one variable of controllers that is a standard field.
const SSTHRESH: &str = "ssthresh";

pub(super) fn write(out: Out<impl Write>, meta: &Meta, trace: &Trace) -> io::Result<()> {
    let mut log = Log {
        out,
        transport: meta.transport,
        states: meta.states,
        sent: Sent::default(),
        metrics: BTreeMap::new(),
        state: None,
        recovery: None,
    };
    // The peer that sends the data, as in a download.
    log.out.header(meta, &VantagePoint { name: &meta.flow, r#type: "server" })?;
    for (time, event) in trace {
        log.event(*time, event)?;
    }
    log.out.flush()
}

/// Packets on their way. Packet numbers are in the order of sending.
#[derive(Default)]
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

struct Log<W: Write> {
    out: Out<W>,
    transport: Transport,
    states: &'static [&'static str],
    sent: Sent,
    /// As last written.
    metrics: BTreeMap<Key, Number>,
    state: Option<State>,
    /// The recovery period ends with this packet number (QUIC) or byte (TCP).
    recovery: Option<u64>,
}

impl<W: Write> Log<W> {
    fn event(&mut self, time: Time, event: &Event) -> io::Result<()> {
        match event {
            Event::Sent { pn, bytes, offset, len } => {
                self.sent.add(self.transport, *pn, *bytes, offset.saturating_add(u64::from(*len)));
                let frame = Frame::Stream { offset: *offset, length: *len };
                self.out.entry(time, &Record::Sent(Packet::with(frame, *pn, Some(*bytes))))
            }
            Event::Acked(ack) => self.on_ack(time, ack),
            Event::Lost { pn, detection } => {
                let mut packet = Packet::new(*pn, self.sent.lose(*pn));
                packet.trigger = Some(trigger(*detection));
                self.out.entry(time, &Record::Lost(packet))
            }
            Event::Reduced(cause) => {
                self.recovery = Some(match self.transport {
                    Transport::Quic => self.sent.next_pn,
                    Transport::Tcp => self.sent.highest,
                });
                self.change(time, State::Recovery, Some(*cause))
            }
            Event::Metrics(metrics) => self.on_metrics(time, metrics),
            Event::Opens(packet) => self.out.entry(time, &Record::Sent(Packet::of_handshake(packet))),
            Event::Opened(packet) => self.out.entry(time, &Record::Received(Packet::of_handshake(packet))),
            // Of the other end.
            Event::Received { .. } | Event::Acks(_) => Ok(()),
        }
    }

    fn on_ack(&mut self, time: Time, Ack { number, ranges, delay }: &Ack) -> io::Result<()> {
        let newest = ranges.iter().map(|r| r.1).max();
        if self.recovery.is_some_and(|end| newest.is_some_and(|newest| newest >= end)) {
            self.recovery = None;
        }
        let frame = match self.transport {
            Transport::Quic => Frame::Ack {
                delay: Some(ms(*delay)),
                ranges: self.sent.acknowledge(ranges),
                cumulative: None,
            },
            Transport::Tcp => {
                let ranges = self.sent.cover(newest.unwrap_or(0));
                Frame::Ack { delay: None, ranges, cumulative: newest }
            }
        };
        self.out.entry(time, &Record::Received(Packet::with(frame, *number, None)))
    }

    fn on_metrics(&mut self, time: Time, metrics: &Metrics) -> io::Result<()> {
        let mut changed = Vec::new();
        let mut put = |key: Key, value: Option<Number>| {
            if let Some(value) = value
                && self.metrics.get(&key) != Some(&value)
            {
                self.metrics.insert(key, value.clone());
                changed.push((key, value));
            }
        };
        let real = |d: Duration| if d == Duration::MAX { None } else { Number::from_f64(ms(d)) };
        put(("", "congestion_window"), Some(metrics.cwnd.into()));
        put(("", "bytes_in_flight"), Some(metrics.bytes_in_flight.into()));
        put(("", "smoothed_rtt"), real(metrics.smoothed_rtt));
        put(("", "min_rtt"), real(metrics.min_rtt));
        put(("", "latest_rtt"), metrics.latest_rtt.and_then(real));
        put(("", "rtt_variance"), real(metrics.rttvar));
        put(("", "pacing_rate"), metrics.pacing_rate.map(Number::from));
        let own: BTreeMap<&'static str, f64> = metrics.inner.iter().copied().collect();
        for (&name, &value) in &own {
            if name != SSTHRESH {
                put((OWN, name), Number::from_f64(value));
            } else if value.is_finite() {
                put(("", name), Some((value as u64).into()));
            }
        }
        if !changed.is_empty() {
            self.out.entry(time, &Record::Metrics(Changed(changed)))?;
        }
        let threshold = own.get(SSTHRESH).copied().filter(|s| !s.is_nan());
        let state = own.get(STATE).and_then(|number| self.states.get(*number as usize));
        match (state, threshold) {
            _ if self.recovery.is_some() => Ok(()),
            (Some(name), _) => self.change(time, State::Own(name), None),
            // The window is a whole number of bytes, the threshold need not be one.
            (None, Some(threshold)) if (metrics.cwnd as f64) < threshold.floor() => {
                self.change(time, State::SlowStart, None)
            }
            (None, None) if self.state.is_none() => Ok(()),
            _ => self.change(time, State::CongestionAvoidance, None),
        }
    }

    fn change(&mut self, time: Time, new: State, cause: Option<Cause>) -> io::Result<()> {
        if self.state == Some(new) && cause.is_none() {
            return Ok(());
        }
        let old = self.state.replace(new);
        self.out.entry(time, &Record::State(StateChange { old, new, cause }))
    }
}
