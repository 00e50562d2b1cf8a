//! One direction of a connection: the data that one end sends, and its acknowledgements.

use std::collections::BTreeMap;

use congestion::{Cause, Detection};
use quic::Space;
use recovery::Reassembly;
use scenario::trace::{self, Handshake};
use scenario::{Record, SentPacket};
use units::{Duration, Ecn, Time};

use super::course::{Course, Moment};
use super::excerpt::Excerpt;
use super::findings::{Checks, State};
use super::flight::{Flight, MOST_STREAMS};
use super::table::{Entry, Table};
use crate::event::{Ack, Control, Interval, Metrics, Packet, Protocol, Source, Trigger};

/// Mark of the keys of TCP's bare acknowledgements, which have no data.
const BARE: u64 = 1 << 63;

/// Losses by rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Losses {
    pub(super) packet_threshold: u64,
    pub(super) time_threshold: u64,
    pub(super) timeout: u64,
    /// The log does not name the rule.
    pub(super) unnamed: u64,
}

impl Losses {
    fn add(&mut self, trigger: Option<Trigger>) {
        *match trigger {
            Some(Trigger::PacketThreshold) => &mut self.packet_threshold,
            Some(Trigger::TimeThreshold) => &mut self.time_threshold,
            Some(Trigger::Timeout) => &mut self.timeout,
            None => &mut self.unnamed,
        } += 1;
    }

    pub(super) fn all(&self) -> u64 {
        self.packet_threshold + self.time_threshold + self.timeout + self.unnamed
    }
}

/// One direction of a connection, seen at one point. What the sender and what the receiver can
/// know is counted apart, because the point may become known only later.
#[derive(Debug)]
pub(super) struct Way {
    pub(super) is_tcp: bool,
    is_encrypted: bool,
    /// Packets at both ends are matched by stream offset: a capture of TCP has no packet numbers.
    pub(super) by_offset: bool,
    /// Counts at the sender, and at the receiver.
    pub(super) sent: Record,
    pub(super) received: Record,
    pub(super) flight: Flight,
    arrivals: BTreeMap<u64, Reassembly>,
    pub(super) now: Moment,
    /// Values over time at the sender, and what arrives at the receiver.
    pub(super) course: Course,
    pub(super) arrivals_course: Course,
    pub(super) departures: Table,
    pub(super) excerpt: Excerpt,
    pub(super) checks: Checks,
    /// Losses that the log reports, and those that repeats show.
    pub(super) told: Losses,
    pub(super) shown: Losses,
    pub(super) spurious: u64,
    pub(super) repeated_in_vain: u64,
    pub(super) first_spurious: Option<Time>,
    /// Stream bytes acknowledged.
    pub(super) acknowledged: u64,
    /// RTT samples: computed from packets, and as the log tells them.
    pub(super) samples: u64,
    pub(super) told_samples: u64,
    pub(super) told_rtt: Record,
    /// Events of each kind, so that what was not told is unknown.
    pub(super) states: u64,
    pub(super) windows: u64,
    /// Falls of the window, if no state tells them.
    pub(super) falls: u64,
    /// Reduction whose window the next metrics tell: its cause, and the window before.
    reduced: Option<(Cause, u64)>,
    window_before: Option<(Time, u64)>,
    in_slow_start: bool,
    pub(super) largest_window: u64,
    pub(super) rttvar: Option<Duration>,
    /// Largest stream offset that the receiver allows.
    limit: Option<u64>,
    /// Largest packet, in bytes of the window.
    pub(super) full: u64,
    pub(super) full_payload: u64,
    pub(super) wires: u64,
    pub(super) packets: u64,
    handshakes: u64,
    pub(super) stream_bytes: u64,
    pub(super) marks: u64,
    /// Some packet has an ECN codepoint.
    pub(super) has_ecn: bool,
    /// Spin bit of the newest packet, and the time at which it last changed.
    spin: Option<(bool, Option<Time>)>,
    pub(super) spins: u64,
    /// Time at which new data last arrived.
    pub(super) last_fresh: Option<Time>,
    pub(super) intervals: u64,
    pub(super) interval_rtt: u64,
    pub(super) interval_repeats: u64,
}

impl Way {
    pub(super) fn new(protocol: Protocol, source: Source, record: &Record) -> Self {
        let is_tcp = protocol == Protocol::Tcp;
        Self {
            is_tcp,
            is_encrypted: source == Source::Encrypted,
            by_offset: is_tcp && source == Source::Capture,
            sent: record.clone(),
            received: record.clone(),
            told_rtt: record.clone(),
            flight: Flight::new(is_tcp),
            arrivals: BTreeMap::new(),
            now: Moment::default(),
            course: Course::default(),
            arrivals_course: Course::default(),
            departures: Table::default(),
            excerpt: Excerpt::default(),
            checks: Checks::new(is_tcp),
            told: Losses::default(),
            shown: Losses::default(),
            spurious: 0,
            repeated_in_vain: 0,
            first_spurious: None,
            acknowledged: 0,
            samples: 0,
            told_samples: 0,
            states: 0,
            windows: 0,
            falls: 0,
            reduced: None,
            window_before: None,
            in_slow_start: true,
            largest_window: 0,
            rttvar: None,
            limit: None,
            full: 0,
            full_payload: 0,
            wires: 0,
            packets: 0,
            handshakes: 0,
            stream_bytes: 0,
            marks: 0,
            has_ecn: false,
            spin: None,
            spins: 0,
            last_fresh: None,
            intervals: 0,
            interval_rtt: 0,
            interval_repeats: 0,
        }
    }

    fn state(&self) -> State {
        State {
            cwnd: self.now.cwnd,
            bytes_in_flight: self.flight.bytes_in_flight(),
            full: self.full,
            smoothed_rtt: self.now.smoothed_rtt.or(self.now.latest_rtt),
            min_rtt: self.flight.min_rtt,
            rttvar: self.rttvar,
        }
    }

    /// Returns the bytes that the receiver still allows.
    fn room(&self) -> Option<u64> {
        self.limit.map(|limit| limit.saturating_sub(self.flight.sent_bytes()))
    }

    fn note(&mut self, now: Time) {
        self.now.at = now;
        self.course.add(self.now);
    }

    /// Records a packet of this direction's sender.
    pub(super) fn on_packet(&mut self, now: Time, packet: &Packet<'_>) {
        if packet.space != Space::Application || packet.control == Control::Opens && packet.pieces.is_empty()
        {
            return self.on_handshake(now, packet);
        }
        let len: u64 = packet.pieces.iter().fold(0, |sum, piece| sum.saturating_add(piece.len));
        let number = packet.number.unwrap_or(self.packets);
        let is_bare = !packet.in_flight && !packet.ack_eliciting;
        let wire = packet.wire.unwrap_or(packet.bytes);
        self.wires += u64::from(packet.wire.is_some());
        if is_bare {
            self.note_spin(now, packet);
            self.sent.on_ack_sent(now, wire);
            return self.note_bare(now, number, packet);
        }
        self.packets += 1;
        self.stream_bytes = self.stream_bytes.saturating_add(len);
        self.full = self.full.max(packet.bytes.into());
        self.full_payload = self.full_payload.max(len);
        let (offset, len) = (packet.pieces.first().map_or(0, |piece| piece.offset), len as u32);
        self.sent.started = self.sent.started.min(now);
        self.sent.on_sent(now, SentPacket { pn: number, bytes: packet.bytes, wire, offset, len });
        self.excerpt.add(now, trace::Event::Sent { pn: number, bytes: packet.bytes, offset, len });
        let departed = self.flight.on_sent(now, number, packet);
        self.arrive(now, packet);
        let key = if self.by_offset { offset } else { number };
        let stream = packet.pieces.first().map_or(0, |piece| piece.stream as u32);
        let is_repeat = departed.repeats;
        let first = if packet.pieces.len() > 1 { packet.pieces[0].len as u32 } else { len };
        let entry = Entry { key, at: now, stream, offset, len: first, is_repeat, is_bare: false };
        self.departures.add_pieces(entry, packet.pieces);
        self.sent.stats.sent += 1;
        self.sent.stats.sent_bytes += u64::from(packet.bytes);
        if departed.repeats {
            self.sent.stats.retransmissions += 1;
        }
        for (lost, trigger) in departed.lost {
            self.shown.add(Some(trigger));
            self.excerpt
                .on_decision(now, trace::Event::Lost { pn: lost, detection: detection(Some(trigger)) });
        }
        self.now.repeated = Some(self.sent.stats.retransmissions);
        self.now.bytes_in_flight = Some(self.flight.bytes_in_flight());
        self.checks.on_sent(now, departed.repeats, &self.state(), self.room());
        self.note(now);
    }

    /// Takes an RTT sample from the spin bit of an encrypted packet: it changes once per round
    /// trip (RFC 9000 section 17.4).
    fn note_spin(&mut self, now: Time, packet: &Packet<'_>) {
        let Some(bit) = packet.spin.filter(|_| self.is_encrypted) else { return };
        let (known, changed) = self.spin.unwrap_or((bit, None));
        if known == bit {
            self.spin = Some((bit, changed));
            return;
        }
        if let Some(changed) = changed {
            self.spins += 1;
            self.sent.on_rtt_sample(now, now - changed);
            self.now.latest_rtt = Some(now - changed);
            self.note(now);
        }
        self.spin = Some((bit, Some(now)));
    }

    /// Keeps a packet with only an acknowledgement, so that the clocks of both ends can be
    /// compared.
    fn note_bare(&mut self, now: Time, number: u64, packet: &Packet<'_>) {
        let cumulative = packet.acks.last().and_then(|ack| ack.cumulative).filter(|_| self.by_offset);
        let key = cumulative.map_or(number, |byte| byte | BARE);
        let (stream, offset, len, is_repeat) = (0, 0, 0, false);
        self.departures.add(Entry { key, at: now, stream, offset, len, is_repeat, is_bare: true });
    }

    fn on_handshake(&mut self, now: Time, packet: &Packet<'_>) {
        let number = packet.number.unwrap_or(self.handshakes);
        self.handshakes += 1;
        let opens = Handshake { number, bytes: packet.bytes };
        self.sent.started = self.sent.started.min(now);
        self.sent.on_handshake_sent(now, opens, packet.wire.unwrap_or(packet.bytes));
        self.excerpt.add(now, trace::Event::Opens(opens));
        if !self.is_tcp {
            self.flight.on_sent(now, number, packet);
        }
    }

    /// Records the same packet as one that arrives here.
    fn arrive(&mut self, now: Time, packet: &Packet<'_>) {
        let (mut fresh, mut ordered) = (0, None);
        for piece in packet.pieces.iter().filter(|piece| piece.len > 0) {
            if self.arrivals.len() >= MOST_STREAMS && !self.arrivals.contains_key(&piece.stream) {
                continue;
            }
            let stream = self.arrivals.entry(piece.stream).or_default();
            fresh += stream.insert(piece.offset, piece.end());
            ordered = Some((piece.end(), stream.contiguous()));
        }
        if fresh > 0 {
            self.last_fresh = Some(now);
        }
        self.has_ecn |= packet.ecn.is_some();
        let ecn = packet.ecn.unwrap_or_default();
        self.marks += u64::from(ecn == Ecn::Ce);
        if ordered.is_some() || !packet.pieces.is_empty() {
            self.received.on_received(now, Duration::ZERO, fresh, ecn, ordered);
        }
        self.received.started = self.received.started.min(now);
        let (delivered, ce) = (self.received.delivered, Some(self.marks));
        self.arrivals_course.add(Moment { at: now, delivered, ce, ..Moment::default() });
    }

    /// Records a packet of the receiver, whose acknowledgements are of this direction.
    pub(super) fn on_reply(&mut self, now: Time, packet: &Packet<'_>) {
        self.limit = self.limit.max(packet.limit);
        if packet.acks.is_empty() {
            return;
        }
        self.received.on_feedback_sent(now);
        for ack in packet.acks {
            self.on_ack(now, packet, ack);
        }
    }

    fn on_ack(&mut self, now: Time, packet: &Packet<'_>, ack: &Ack) {
        let acked = self.flight.on_ack(now, packet.space, ack);
        let stats = &mut self.sent.stats;
        stats.acked += acked.packets;
        self.spurious += acked.spurious;
        self.repeated_in_vain += acked.repeated;
        self.acknowledged += acked.fresh;
        if acked.fresh > 0 {
            // What the sender knows of the arrivals. Its delay is not known.
            self.sent.on_received(now, Duration::ZERO, acked.fresh, Ecn::NotEct, None);
        }
        if acked.spurious + acked.repeated > 0 {
            self.first_spurious.get_or_insert(now);
        }
        if acked.wrong.contains(&Trigger::Timeout) {
            self.checks.on_spurious_timeout(now);
        }
        self.checks.on_acked(&acked.sent_at);
        if let Some(rtt) = acked.rtt {
            self.samples += 1;
            self.sent.on_rtt_sample(now, rtt);
            self.now.latest_rtt = Some(rtt);
            self.checks.on_delay(now, ack.delay);
        }
        self.now.delivered = self.acknowledged;
        self.now.bytes_in_flight = Some(self.flight.bytes_in_flight());
        let ranges = match ack.cumulative {
            Some(byte) => [(0, byte)].into_iter().collect(),
            None => ack.ranges.iter().copied().collect(),
        };
        let delay = ack.delay.unwrap_or(Duration::ZERO);
        // Both ends must give it the same number.
        let number = packet.number.or(ack.cumulative).unwrap_or(0);
        self.excerpt.add(now, trace::Event::Acked(trace::Ack { number, ranges, delay }));
        let state = self.state();
        self.checks.settle(now, &state);
        self.checks.look(now, &state, self.room());
        self.note(now);
    }

    /// Records a loss that the log reports.
    pub(super) fn on_lost(&mut self, now: Time, space: Space, number: Option<u64>, trigger: Option<Trigger>) {
        self.told.add(trigger);
        self.now.lost = Some(self.told.all());
        if let Some(number) = number {
            let sent = self.flight.on_lost(space, number, trigger.unwrap_or(Trigger::TimeThreshold));
            self.excerpt.on_decision(now, trace::Event::Lost { pn: number, detection: detection(trigger) });
            if let Some(sent) = sent {
                self.checks.on_lost(now, sent, &self.state());
            }
        }
        self.now.bytes_in_flight = Some(self.flight.bytes_in_flight());
        self.note(now);
    }

    /// Records values that the log reports.
    pub(super) fn on_metrics(&mut self, now: Time, metrics: &Metrics<'_>) {
        if let Some(rtt) = metrics.latest_rtt {
            self.told_samples += 1;
            self.told_rtt.on_rtt_sample(now, rtt);
            self.now.latest_rtt = Some(rtt);
        }
        self.now.smoothed_rtt = metrics.smoothed_rtt.or(self.now.smoothed_rtt);
        self.rttvar = metrics.rttvar.or(self.rttvar);
        self.now.pacing_rate = metrics.pacing_rate.or(self.now.pacing_rate);
        if let Some(cwnd) = metrics.cwnd {
            self.on_window(now, cwnd);
        }
        // Metrics without a window say that it has not changed.
        self.reduced = None;
        self.note(now);
    }

    fn on_window(&mut self, now: Time, cwnd: u64) {
        self.windows += 1;
        let before = self.now.cwnd.replace(cwnd);
        self.largest_window = self.largest_window.max(cwnd);
        let Some(before) = before else { return };
        if let Some((cause, old)) = self.reduced.take() {
            self.sent.on_congestion(now, cause, [old, cwnd]);
        } else if cwnd < before {
            self.window_before = Some((now, before));
            self.falls += 1;
        }
        if cwnd < before {
            self.end_slow_start();
            let state = self.state();
            self.checks.on_window(now, before, &state);
        }
        if self.in_slow_start {
            self.sent.slow_start_window = self.sent.slow_start_window.max(cwnd);
        }
    }

    fn end_slow_start(&mut self) {
        self.in_slow_start = false;
    }

    /// Records a state of the controller that the log reports.
    pub(super) fn on_state(&mut self, now: Time, new: &str, trigger: Option<&str>) {
        self.states += 1;
        let new = new.to_ascii_lowercase();
        if !new.contains("slow_start") && !new.contains("startup") {
            self.end_slow_start();
        }
        if !new.contains("recovery") {
            return;
        }
        let cause = match trigger.unwrap_or_default() {
            "ecn" => Cause::Ecn,
            "persistent_congestion" => Cause::PersistentCongestion,
            _ => Cause::Loss,
        };
        self.excerpt.on_decision(now, trace::Event::Reduced(cause));
        match self.window_before.take() {
            // The window was logged before the state.
            Some((at, before)) if at == now => {
                self.sent.on_congestion(now, cause, [before, self.now.cwnd.unwrap_or(before)]);
            }
            _ => self.reduced = self.now.cwnd.map(|cwnd| (cause, cwnd)),
        }
    }

    /// Records a measurement over an interval.
    pub(super) fn on_interval(&mut self, now: Time, interval: &Interval) {
        self.intervals += 1;
        let begin = Time(now.0.saturating_sub(interval.length.0));
        self.sent.started = self.sent.started.min(begin);
        let bytes = interval.bytes.unwrap_or(0);
        if interval.is_sent {
            self.send_in_interval(now, bytes);
        } else {
            self.sent.on_received(now, Duration::ZERO, bytes, Ecn::NotEct, None);
            self.acknowledged += bytes;
            self.now.delivered += bytes;
        }
        self.stream_bytes = self.stream_bytes.saturating_add(bytes);
        if let Some(rtt) = interval.rtt {
            self.interval_rtt += 1;
            self.sent.on_rtt_sample(now, rtt);
            self.now.latest_rtt = Some(rtt);
        }
        self.rttvar = interval.rttvar.or(self.rttvar);
        if let Some(repeats) = interval.retransmissions {
            self.interval_repeats += 1;
            self.sent.stats.retransmissions += repeats;
            self.now.repeated = Some(self.sent.stats.retransmissions);
        }
        if let Some(cwnd) = interval.cwnd {
            self.on_window(now, cwnd);
        }
        self.note(now);
    }

    /// Counts bytes that were sent in an interval.
    fn send_in_interval(&mut self, now: Time, bytes: u64) {
        let mut left = bytes;
        while left > 0 {
            let len = u32::try_from(left).unwrap_or(u32::MAX);
            self.sent.on_sent(now, SentPacket { pn: self.intervals, bytes: 0, wire: 0, offset: 0, len });
            left -= u64::from(len);
        }
    }

    /// Sets the ACK delay that the receiver promises.
    pub(super) fn set_promised_delay(&mut self, delay: Option<Duration>) {
        if let Some(delay) = delay {
            self.checks.set_promised(delay);
        }
    }

    /// Records an initial limit of the receiver.
    pub(super) fn set_limit(&mut self, limit: Option<u64>) {
        self.limit = self.limit.max(limit);
    }

    /// Returns the state for the last checks.
    pub(super) fn last_state(&self) -> State {
        self.state()
    }
}

fn detection(trigger: Option<Trigger>) -> Detection {
    match trigger {
        Some(Trigger::PacketThreshold) => Detection::PacketThreshold,
        Some(Trigger::Timeout) => Detection::Timeout,
        _ => Detection::TimeThreshold,
    }
}
