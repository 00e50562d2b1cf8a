//! From the emulator's packet log to the simulator's records.
//!
//! ```text
//! sent        a segment arrives at the emulator; received: it is handed over to the server
//! repeat      a segment of which all bytes were sent before; spurious: one of which the server had all bytes before
//! rtt         per acknowledgement: from the sending of the newest segment that the server had when the acknowledgement left,
//!             to its handing over to the client; with the receiver's delay in it, as in the simulator
//! queue       between a packet's arrival and its departure
//! ```
//!
//! Times are the emulator's: the host's own time between its TCP and the TUN device is not in them.

use std::collections::{BTreeMap, VecDeque};

use congestion::Detection;
use emu::capture::row::{End, Row};
use emu::{Report, SYN};
use link::{Backlog, Stay};
use recovery::reassembly::Reassembly;
use scenario::trace::{Ack, Event};
use scenario::{FlowConfig, Outcome, ProbeRecord, Record, Scenario, UdpRecord};
use units::Ecn;
use units::{Duration, Time};

use super::fit::{FLOW_PORT, PING_PORT, UDP_PORT};
use super::samples::{self, Samples};
use super::series;
use super::traffic::Seen;

const TCP: u8 = 6;
const UDP: u8 = 17;

/// The outcome of a run whose time zero was at `origin` of the emulator's.
pub(super) fn outcome(scenario: &Scenario, report: &Report, seen: &Seen, origin: Time) -> Outcome {
    let end = seen.end.min(Time::ZERO + scenario.duration);
    let mut packets = run_packets(&report.packets, origin, end);
    packets.sort_by_key(|packet| packet.sent);
    let flows: Vec<FlowLog> = scenario
        .flows
        .iter()
        .zip(&seen.samples)
        .zip(FLOW_PORT..)
        .map(|((config, samples), port)| FlowLog::read(scenario, config, samples, &packets, port, end))
        .collect();
    let udp: Vec<UdpLog> = (UDP_PORT..)
        .take(scenario.udp.len())
        .map(|port| UdpLog::read(scenario, &packets, port, end))
        .collect();
    let mut link = report.last.sides[0].counters;
    link.delivered = delivered(&packets, end);
    let mut reverse = Vec::new();
    reverse.extend((!scenario.reverse.is_empty()).then_some(report.last.sides[1].counters));
    Outcome {
        series: series::of(scenario, seen, &packets, &flows, &udp, end),
        flows: flows.into_iter().map(|flow| flow.record).collect(),
        probe: seen.pings.as_ref().map(|pings| probe(scenario, &packets, pings, end)),
        udp: udp.into_iter().map(|source| source.record).collect(),
        link,
        beyond: Vec::new(),
        reverse,
        windows: Vec::new(),
        end,
        events: packets.len() as u64,
    }
}

/// A packet in the run's time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packet {
    pub(super) row: Row,
    pub(super) sent: Time,
    pub(super) departed: Option<Time>,
    /// When it was handed over or dropped.
    pub(super) end: Time,
    pub(super) dropped: bool,
}

/// Those of the run itself: neither handshakes before it nor farewells behind it.
fn run_packets(rows: &[Row], origin: Time, end: Time) -> Vec<Packet> {
    let of_run = |time: Time| Time((time - origin).0);
    let within = rows.iter().filter(|row| row.arrival >= origin && of_run(row.arrival) <= end);
    within
        .map(|row| {
            let (at, dropped) = match row.end {
                End::Delivered { at, .. } => (at, false),
                End::Held { .. } => (Time::NEVER, false),
                End::Dropped { at, .. } | End::Overflow { at } => (at, true),
            };
            Packet {
                row: *row,
                sent: of_run(row.arrival),
                departed: row.departure.map(of_run),
                end: if at == Time::NEVER { at } else { of_run(at) },
                dropped,
            }
        })
        .collect()
}

/// What left the bottleneck during the run.
fn delivered(packets: &[Packet], end: Time) -> Backlog {
    let gone = packets.iter().filter(|p| p.row.from == 0 && !p.dropped && p.end <= end);
    gone.fold(Backlog::default(), |sum, packet| Backlog {
        packets: sum.packets + 1,
        bytes: sum.bytes + u64::from(packet.row.size),
    })
}

/// What happens to a flow's packets, in order of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Moment {
    Received,
    Dropped,
    AckReceived,
    AckDropped,
    Sent,
    AckSent,
}

/// A flow's packets, read.
#[derive(Debug)]
pub(super) struct FlowLog {
    pub(super) record: Record,
    /// RTT samples.
    pub(super) rtts: Vec<(Time, Duration)>,
    /// New bytes and one-way delays.
    pub(super) arrivals: Vec<(Time, u64, Duration)>,
}

/// The reader's state.
struct Reader<'a> {
    scenario: &'a Scenario,
    config: &'a FlowConfig,
    samples: &'a Samples,
    log: FlowLog,
    sequence: Option<Sequence>,
    sent_until: u64,
    /// The newest transmission of the bytes from here on.
    newest: BTreeMap<u64, u64>,
    received: Reassembly,
    /// When the newest segment that the server has was sent.
    last_received: Option<Time>,
    /// What acknowledgements on their way answer to: when they left, and when that segment was sent.
    answers: VecDeque<(Time, Time)>,
    pn: u64,
    /// Number of the next acknowledgement that arrives.
    acks: u64,
}

impl FlowLog {
    fn read(
        scenario: &Scenario,
        config: &FlowConfig,
        samples: &Samples,
        packets: &[Packet],
        port: u16,
        end: Time,
    ) -> Self {
        let until = config.stop.unwrap_or(end).min(end);
        let mine: Vec<&Packet> = packets.iter().filter(|p| belongs(p, port) && p.sent <= until).collect();
        let mut moments = Vec::with_capacity(mine.len() * 2);
        for (i, packet) in mine.iter().enumerate() {
            let data = packet.row.from == 0;
            let at_end = match (data, packet.dropped) {
                (true, false) => Moment::Received,
                (true, true) => Moment::Dropped,
                (false, false) => Moment::AckReceived,
                (false, true) => Moment::AckDropped,
            };
            moments.push((packet.sent, if data { Moment::Sent } else { Moment::AckSent }, i));
            if packet.end <= until {
                moments.push((packet.end, at_end, i));
            }
        }
        moments.sort_unstable();
        let log = Self {
            record: Record::new(&config.application, scenario),
            rtts: Vec::new(),
            arrivals: Vec::new(),
        };
        let mut reader = Reader {
            scenario,
            config,
            samples,
            log,
            sequence: None,
            sent_until: 0,
            newest: BTreeMap::new(),
            received: Reassembly::default(),
            last_received: None,
            answers: VecDeque::new(),
            pn: 0,
            acks: 0,
        };
        for (at, moment, i) in moments {
            reader.step(at, moment, mine[i]);
        }
        reader.finish(until, end)
    }
}

/// Whether it is of the connection with this port of the server, and none of its handshake.
fn belongs(packet: &Packet, port: u16) -> bool {
    let of_port =
        |s: &emu::Segment| if packet.row.from == 0 { s.destination == port } else { s.source == port };
    packet.row.segment.is_some_and(|s| s.protocol == TCP && s.flags & SYN == 0 && of_port(&s))
}

/// Sequence numbers wrap; offsets in the stream do not.
#[derive(Clone, Copy, Debug)]
struct Sequence {
    last: u32,
    offset: u64,
}

impl Sequence {
    fn offset(&mut self, number: u32) -> u64 {
        let ahead = number.wrapping_sub(self.last).cast_signed();
        let offset = self.offset.saturating_add_signed(i64::from(ahead));
        if ahead > 0 {
            *self = Self { last: number, offset };
        }
        offset
    }
}

impl Reader<'_> {
    fn step(&mut self, now: Time, moment: Moment, packet: &Packet) {
        let segment = packet.row.segment.unwrap_or_default();
        if packet.row.from == 0 && segment.payload == 0 {
            return; // the end of the handshake, or a window's update
        }
        match moment {
            Moment::Sent => self.on_sent(now, packet, &segment),
            Moment::Received => self.on_received(now, packet, &segment),
            Moment::Dropped => self.log.record.totals.dropped += u64::from(self.counts(now)),
            Moment::AckSent => self.on_ack_sent(now),
            Moment::AckReceived => self.on_ack_received(now, packet, &segment),
            Moment::AckDropped => self.on_ack_dropped(now, packet),
        }
    }

    fn counts(&self, now: Time) -> bool {
        let (from, to) = self.scenario.measure.unwrap_or((Time::ZERO, Time::NEVER));
        (from..=to).contains(&now)
    }

    fn event(&mut self, now: Time, event: impl FnOnce() -> Event) {
        if let Some(trace) = &mut self.log.record.trace {
            trace.push((now, event()));
        }
    }

    fn offset(&mut self, number: u32) -> u64 {
        self.sequence.get_or_insert(Sequence { last: number, offset: 0 }).offset(number)
    }

    fn on_sent(&mut self, now: Time, packet: &Packet, segment: &emu::Segment) {
        let offset = self.offset(segment.sequence);
        let record = &mut self.log.record;
        record.started = record.started.min(now);
        let end = offset + u64::from(segment.payload);
        record.stats.sent += 1;
        record.stats.sent_bytes += u64::from(segment.payload);
        let counts = self.counts(now);
        let record = &mut self.log.record;
        if counts {
            record.totals.packets += 1;
            record.totals.sent += u64::from(segment.payload);
            record.totals.wire += u64::from(packet.row.size);
            if let Some(departed) = packet.departed {
                record.totals.queue_delay.add(0, stay(departed - packet.sent));
            }
        }
        if end <= self.sent_until {
            self.on_repeat(now, offset, end);
        }
        self.sent_until = self.sent_until.max(end);
        let pn = self.pn;
        self.pn += 1;
        if self.log.record.trace.is_some() {
            self.newest.insert(offset, pn);
        }
        self.event(now, || Event::Sent { pn, bytes: segment.payload, offset, len: segment.payload });
    }

    /// The kernel took the bytes for lost.
    fn on_repeat(&mut self, now: Time, offset: u64, end: u64) {
        let redundant = self.counts(now) && self.received.holds(offset, end);
        self.log.record.totals.redundant += u64::from(redundant);
        self.log.record.stats.retransmissions += 1;
        self.log.record.stats.lost_by_time_threshold += 1;
        let timeout = self.samples.at(now).is_some_and(|info| info.state == emu::tcp::CaState::Loss);
        let detection = if timeout { Detection::Timeout } else { Detection::TimeThreshold };
        if let Some(&pn) = self.newest.get(&offset) {
            self.event(now, || Event::Lost { pn, detection });
        }
    }

    fn on_received(&mut self, now: Time, packet: &Packet, segment: &emu::Segment) {
        let offset = self.offset(segment.sequence);
        let fresh = self.received.insert(offset, offset + u64::from(segment.payload));
        self.last_received = Some(packet.sent);
        let owd = now - packet.sent;
        let counts = self.counts(now);
        let record = &mut self.log.record;
        record.stats.spurious += u64::from(fresh == 0);
        let ecn = if packet.row.marked { Ecn::Ce } else { self.config.recovery.ecn };
        record.ecn.add(ecn);
        record.delivered += fresh;
        if counts {
            record.totals.delivered += fresh;
            record.totals.owd.add(owd);
        }
        self.log.arrivals.push((now, fresh, owd));
        if self.config.transfer.is_some_and(|transfer| self.received.contiguous() >= transfer) {
            self.log.record.finished.get_or_insert(now);
        }
    }

    fn on_ack_sent(&mut self, now: Time) {
        if let Some(sent) = self.last_received {
            self.answers.push_back((now, sent));
        }
        let counts = self.counts(now) && self.config.back.is_some();
        self.log.record.totals.feedback += u64::from(counts);
    }

    fn on_ack_dropped(&mut self, now: Time, packet: &Packet) {
        self.answers.retain(|(left, _)| *left != packet.sent);
        self.log.record.totals.feedback_dropped += u64::from(self.counts(now));
    }

    fn on_ack_received(&mut self, now: Time, packet: &Packet, segment: &emu::Segment) {
        while self.answers.front().is_some_and(|(left, _)| *left < packet.sent) {
            self.answers.pop_front();
        }
        let answers = self.answers.front().filter(|(left, _)| *left == packet.sent).copied();
        if let Some((_, sent)) = answers {
            self.answers.pop_front();
            self.log.rtts.push((now, now - sent));
            if self.counts(now) {
                self.log.record.totals.rtt.add(now - sent);
            }
        }
        if self.log.record.trace.is_some() {
            let cumulative = self.sequence.as_mut().map_or(0, |s| s.offset(segment.acknowledgement));
            let number = self.acks;
            self.acks += 1;
            let (ranges, delay) = (vec![(0, cumulative)], Duration::ZERO);
            self.event(now, || Event::Acked(Ack { number, ranges, delay }));
        }
    }

    /// What the kernel says of the whole.
    fn finish(mut self, until: Time, end: Time) -> FlowLog {
        let record = &mut self.log.record;
        if self.config.transfer.is_none() && until < end {
            record.finished = Some(until);
        }
        record.slow_start_window = self.samples.slow_start_window();
        for (at, cause, left) in self.samples.reductions() {
            match cause {
                congestion::Cause::Ecn => record.stats.ecn_events += 1,
                congestion::Cause::Timeout => record.stats.collapses += 1,
                _ => record.stats.loss_events += 1,
            }
            record.least_window = Some(record.least_window.map_or(left, |least| least.min(left)));
            if let Some(trace) = &mut record.trace {
                trace.push((at, Event::Reduced(cause)));
            }
        }
        if let Some(trace) = &mut record.trace {
            let metrics = |s: &samples::Sample| (s.at, Event::Metrics(samples::metrics(&s.info)));
            trace.extend(self.samples.all().iter().filter(|s| s.at <= until).map(metrics));
            trace.sort_by_key(|(at, _)| *at);
        }
        self.log
    }
}

/// The log does not say when a transmission began.
fn stay(total: Duration) -> Stay {
    Stay { wait: Duration::ZERO, total }
}

/// The ping: what became of it and its answers by the packets, and the round trips that it saw itself.
fn probe(scenario: &Scenario, packets: &[Packet], pings: &[(Time, Duration)], end: Time) -> ProbeRecord {
    let (from, to) = scenario.measure.unwrap_or((Time::ZERO, Time::NEVER));
    let counts = |at: Time| (from..=to.min(end)).contains(&at);
    let mut record = ProbeRecord::default();
    let mine = |p: &&Packet| p.row.segment.is_some_and(|s| s.protocol == UDP && s.source == PING_PORT);
    for packet in packets.iter().filter(mine) {
        record.sent += u64::from(packet.row.from == 0 && counts(packet.sent));
        record.dropped += u64::from(packet.dropped && counts(packet.end));
    }
    pings.iter().filter(|(at, _)| counts(*at)).for_each(|(_, rtt)| record.rtt.add(*rtt));
    record
}

/// A source of UDP, read.
#[derive(Debug)]
pub(super) struct UdpLog {
    pub(super) record: UdpRecord,
    pub(super) arrivals: Vec<(Time, u64)>,
}

impl UdpLog {
    fn read(scenario: &Scenario, packets: &[Packet], port: u16, end: Time) -> Self {
        let (from, to) = scenario.measure.unwrap_or((Time::ZERO, Time::NEVER));
        let counts = |at: Time| (from..=to.min(end)).contains(&at);
        let mut log = Self { record: UdpRecord::default(), arrivals: Vec::new() };
        let is_mine = |p: &&Packet| {
            let of_source = |s: emu::Segment| s.protocol == UDP && s.source == port;
            p.row.from == 0 && p.row.segment.is_some_and(of_source)
        };
        for packet in packets.iter().filter(is_mine) {
            let bytes = u64::from(packet.row.size);
            log.record.sent += u64::from(counts(packet.sent));
            if let Some(departed) = packet.departed.filter(|_| counts(packet.sent)) {
                log.record.queue_delay.add(0, stay(departed - packet.sent));
            }
            match packet.dropped {
                true => log.record.dropped += u64::from(counts(packet.end)),
                false => {
                    log.record.delivered += if counts(packet.end) { bytes } else { 0 };
                    log.arrivals.push((packet.end, bytes));
                }
            }
        }
        log
    }
}

#[cfg(test)]
mod tests;
