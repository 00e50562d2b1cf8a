//! A connection: its metrics from one log or from those of both ends, and what is not known.

use std::collections::{BTreeMap, BTreeSet};

use quic::Side;
use scenario::trace::{Event, Trace};
use scenario::{FlowSeries, Histogram, Record, Window};
use units::{Duration, Time};

use super::findings::{Finding, Totals};
use super::table::{Clock, Entry, Fate, fates, redundant};
use super::unknown::{self, Seen, Unknown};
use super::way::{Losses, Way};
use super::{Parameters, Point};
use crate::event::{About, Gap, Protocol, Source};

/// A connection with its metrics.
#[derive(Debug)]
pub struct Connection {
    /// Name for people.
    pub name: String,
    /// Files that it was logged in.
    pub files: Vec<String>,
    /// Protocol.
    pub protocol: Protocol,
    /// Origin of its events.
    pub source: Source,
    /// Controller and program, if a log names them.
    pub controller: Option<String>,
    /// Program that wrote the log.
    pub program: Option<String>,
    /// End that sent most data.
    pub from: Side,
    /// Ends at which it was logged.
    pub seen: Seen,
    /// Counts, in the form of a run.
    pub record: Record,
    /// Metrics that are not known.
    pub unknown: Unknown,
    /// Packets declared lost for which the log names no rule.
    pub unnamed_losses: u64,
    /// The losses are inferred from repeats, not reported.
    pub losses_are_inferred: bool,
    /// Parameters of sender and receiver.
    pub parameters: [Parameters; 2],
    /// Time of the first and of the last event.
    pub span: (Time, Time),
    /// Bytes of a full packet in the window, its payload, and the smallest RTT.
    pub full: (u64, u64),
    /// Smallest RTT sample.
    pub min_rtt: Option<Duration>,
    /// Difference of the clocks, if there are two logs.
    pub clock: Option<Clock>,
    /// Gaps of its logs.
    pub gaps: Vec<(String, Gap)>,
    /// Problems.
    pub findings: Vec<Finding>,
    /// Events for sequence diagrams at the sender and at the receiver, in two parts: from the
    /// beginning, and around the first loss.
    pub excerpts: [[Trace; 2]; 2],
    /// Stream bytes that the other end sent.
    pub other_bytes: u64,
    course: super::course::Course,
}

impl Connection {
    /// Returns the stream bytes that arrived, or were acknowledged, or were sent, whichever is
    /// known first.
    pub fn bytes(&self) -> u64 {
        let acknowledged = self.record.delivered;
        if acknowledged > 0 { acknowledged } else { self.record.totals.sent }
    }

    /// Reports whether a log has its congestion window.
    pub fn has_window(&self) -> bool {
        self.course.has_window()
    }

    /// Returns its time series at the end of each interval.
    pub fn series(&self, interval: Duration, ticks: u64) -> FlowSeries {
        self.course.columns(interval, ticks, self.span)
    }
}

/// Largest number of logs without an identity whose packets are compared with each other.
const FEW: usize = 16;

/// Joins the two logs of each connection, and finishes all.
pub(super) fn join(mut points: Vec<Point>, context: (&[String], Window)) -> Vec<Connection> {
    infer_vantages(&mut points);
    let unnamed = points.iter().filter(|point| point.about.identity.is_empty()).count();
    let mut waiting: Vec<Option<Point>> = points.into_iter().map(Some).collect();
    let mut all = Vec::new();
    for at in 0..waiting.len() {
        let Some(point) = waiting[at].take() else { continue };
        let partner = waiting
            .iter()
            .skip(at + 1)
            .position(|other| other.as_ref().is_some_and(|other| are_two_ends(&point, other, unnamed)));
        let partner = partner.and_then(|distance| waiting[at + 1 + distance].take());
        all.extend(finish(point, partner, context));
    }
    all
}

/// Gives a point without a known end the opposite end of another one in the same capture: two
/// interfaces that saw the same connection.
fn infer_vantages(points: &mut [Point]) {
    let known: Vec<_> = points
        .iter()
        .filter(|point| !point.about.identity.is_empty())
        .filter_map(|point| Some((point.file, point.about.identity.clone(), point.vantage?)))
        .collect();
    for point in points.iter_mut().filter(|point| point.vantage.is_none()) {
        let is_same = |(file, identity, _): &&(usize, String, Side)| {
            *file == point.file && *identity == point.about.identity
        };
        point.vantage = known.iter().find(is_same).map(|(.., side)| side.peer());
    }
}

/// Reports whether two points are the ends of one connection: the same protocol and identity, and
/// opposite ends. `unnamed` is the number of points without an identity: if they are few, their
/// packets are compared.
fn are_two_ends(one: &Point, other: &Point, unnamed: usize) -> bool {
    let (Some(a), Some(b)) = (one.vantage, other.vantage) else { return false };
    if a == b || one.about.protocol != other.about.protocol {
        return false;
    }
    match (one.about.identity.as_str(), other.about.identity.as_str()) {
        ("", "") => unnamed <= FEW && one.file != other.file && overlaps(one, other),
        (a, b) => a == b,
    }
}

/// Reports whether the packets of one log are in the other: nearly all that arrived were sent, by
/// number and length.
fn overlaps(one: &Point, other: &Point) -> bool {
    if one.about.controller != other.about.controller {
        return false;
    }
    let pairs = one.ways.iter().zip(&other.ways);
    pairs.map(|(a, b)| [a.departures.entries(), b.departures.entries()]).all(|[a, b]| {
        let [fewer, more] = if a.len() < b.len() { [a, b] } else { [b, a] };
        let keys: BTreeSet<(u64, u64, u32)> = more.iter().map(|e| (e.key, e.offset, e.len)).collect();
        let known = fewer.iter().filter(|e| keys.contains(&(e.key, e.offset, e.len))).count();
        // The last packets of each log may be missing in the other.
        20 * known >= 19 * fewer.len()
    })
}

fn finish(point: Point, partner: Option<Point>, context: (&[String], Window)) -> Option<Connection> {
    let from = larger(&point, partner.as_ref());
    let seen = match (&partner, point.vantage) {
        (Some(_), _) => Seen::Both,
        (None, Some(side)) if side == from => Seen::Sender,
        (None, Some(_)) => Seen::Receiver,
        (None, None) => Seen::Between,
    };
    point.first?;
    let (near, far) = match (seen, partner) {
        (Seen::Both, Some(partner)) if point.vantage != Some(from) => (partner, Some(point)),
        (_, partner) => (point, partner),
    };
    Some(build(near, far, (from, seen), context))
}

/// Returns the end that sent most stream bytes, as far as any log tells.
fn larger(point: &Point, partner: Option<&Point>) -> Side {
    let bytes = |side: Side| {
        let of = |point: &Point| {
            let way = &point.ways[side as usize];
            (way.stream_bytes, way.intervals, way.sent.totals.wire)
        };
        of(point).max(partner.map_or((0, 0, 0), of))
    };
    if bytes(Side::Client) > bytes(Side::Server) { Side::Client } else { Side::Server }
}

fn build(
    near: Point,
    far: Option<Point>,
    (from, seen): (Side, Seen),
    (files, window): (&[String], Window),
) -> Connection {
    let name_of = |point: &Point| files.get(point.file).cloned().unwrap_or_default();
    let mut names = vec![name_of(&near)];
    let mut gaps: Vec<(String, Gap)> = near.gaps.iter().map(|gap| (name_of(&near), gap.clone())).collect();
    if let Some(far) = &far {
        names.push(name_of(far));
        gaps.extend(far.gaps.iter().map(|gap| (name_of(far), gap.clone())));
    }
    names.dedup();
    let clock = far.as_ref().and_then(|far| clock(&near, far, from));
    // Each log counts from its own start.
    let starts = far.as_ref().map_or(0, |far| far.origin.0.cast_signed() - near.origin.0.cast_signed());
    let start = near.first.unwrap_or(Time::ZERO);
    let span = (start, near.last.max(start));
    let other_bytes = near.ways[from.peer() as usize].stream_bytes;
    let parameters = [from, from.peer()].map(|side| near.parameters[side as usize]);
    let about = near.about.clone();
    let is_own = is_own(&about);
    let far_way = far.map(|far| pick(far.ways, from));
    let mut way = pick(near.ways, from);
    let half = way.flight.min_rtt.unwrap_or(Duration::ZERO) / 2;
    let excerpts = excerpts(&way, far_way.as_ref(), (seen, half, clock));
    let mut unknown = Unknown::new();
    let losses_are_inferred = way.told.all() == 0 && about.source == Source::Capture;
    let losses = if losses_are_inferred { way.shown } else { way.told };
    let mut record = match seen {
        Seen::Receiver if about.source != Source::Intervals => {
            way.course = way.arrivals_course.clone();
            std::mem::replace(&mut way.received, way.told_rtt.clone())
        }
        _ => std::mem::replace(&mut way.sent, way.told_rtt.clone()),
    };
    count_losses(&mut record, &way, losses, losses_are_inferred);
    // The log of a tracer has windows and RTTs without packets.
    if record.started == Time::NEVER && way.windows > 0 {
        record.started = start;
    }
    choose_rtt(&mut record, &way, is_own);
    match &far_way {
        Some(far) => at_both_ends(&mut record, &mut way, far, (clock, window, span.1), &mut unknown),
        None => unknown::at_one_end(seen, &mut unknown),
    }
    unknown::not_told(&mut unknown, &way, (is_own, about.source), losses_are_inferred, losses);
    if way.states == 0 {
        record.reductions = way.falls;
    }
    let arrived = far_way.as_ref().and_then(|far| Some((clock?, far.last_fresh?)));
    let arrived = arrived.map(|(clock, at)| clock.at_sender(at)).filter(|at| *at > span.0);
    // A sender that goes on much longer had more to send.
    let arrived = arrived.filter(|at| *at + patience(&way) >= span.1);
    record.finished = Some(arrived.unwrap_or(span.1));
    let totals = Totals {
        lost: losses.all(),
        spurious: record.stats.spurious,
        first_spurious: way.first_spurious,
        median_rtt: quantile(&record),
        min_rtt: way.flight.min_rtt,
    };
    let state = way.last_state();
    let findings = match seen {
        Seen::Receiver | Seen::Between => Vec::new(),
        _ => std::mem::take(&mut way.checks).findings(span.1, span.1 - span.0, &totals, &state),
    };
    Connection {
        name: about.name,
        files: names,
        protocol: about.protocol,
        source: about.source,
        controller: about.controller,
        program: about.program,
        from,
        seen,
        record,
        unknown,
        unnamed_losses: losses.unnamed,
        losses_are_inferred,
        parameters,
        span,
        full: (way.full, way.full_payload),
        min_rtt: way.flight.min_rtt,
        clock: clock.map(|clock| Clock { offset: clock.offset.saturating_add(starts), ..clock }),
        gaps,
        findings,
        excerpts,
        other_bytes,
        course: way.course,
    }
}

fn quantile(record: &Record) -> Option<Duration> {
    let median = record.totals.rtt.quantile_ms(0.5);
    median.is_finite().then_some(Duration((median * 1e6) as u64))
}

/// Returns the packets at both ends. With one log, the other end is half of the smallest RTT away.
fn excerpts(
    way: &Way,
    far: Option<&Way>,
    (seen, half, clock): (Seen, Duration, Option<Clock>),
) -> [[Trace; 2]; 2] {
    let near = way.excerpt.parts();
    if seen == Seen::Receiver {
        return [near.map(|part| moved(part, false, half)), near.map(at_receiver)];
    }
    let there = near.map(|part| match (far, clock) {
        (Some(far), Some(clock)) => arrivals(part, far, (clock, half)),
        _ => at_receiver(&moved(part, true, half)),
    });
    [near.map(Trace::clone), there]
}

/// Moves data by this time to later, or earlier, and acknowledgements the other way. Lost packets
/// do not arrive.
fn moved(part: &Trace, later: bool, half: Duration) -> Trace {
    let lost: BTreeSet<u64> = part
        .iter()
        .filter_map(|(_, event)| match event {
            Event::Lost { pn, .. } => Some(*pn),
            _ => None,
        })
        .collect();
    let at = |at: Time, is_later: bool| if is_later { at + half } else { at - half };
    let packet = |(time, event): &(Time, Event)| match event {
        Event::Sent { pn, .. } if later && lost.contains(pn) => None,
        Event::Sent { .. } => Some((at(*time, later), event.clone())),
        Event::Acked(_) => Some((at(*time, !later), event.clone())),
        _ => None,
    };
    part.iter().filter_map(packet).collect()
}

/// Returns the arrivals of these packets by the receiver's log. The departures of acknowledgements
/// are half of the smallest RTT before their arrival.
fn arrivals(part: &Trace, far: &Way, (clock, half): (Clock, Duration)) -> Trace {
    let (Some(first), Some(last)) = (part.first(), part.last()) else { return Trace::new() };
    let [from, to] = [first.0, last.0 + half * 8].map(|at| clock.at_receiver(at));
    let entries = far.departures.entries();
    let begin = entries.partition_point(|entry| entry.at.0.cast_signed() < from);
    let inside = entries[begin..].iter().take_while(|entry| entry.at.0.cast_signed() <= to);
    // Captures of TCP have no packet numbers in common.
    let number = |event: &Event| match event {
        Event::Sent { pn, offset, .. } if far.by_offset => Some((*offset, *pn)),
        _ => None,
    };
    let numbers: BTreeMap<u64, u64> = part.iter().filter_map(|(_, event)| number(event)).collect();
    let data = inside.filter(|entry| !entry.is_bare).map(|entry| {
        let Entry { key, offset, len, .. } = *entry;
        let pn = numbers.get(&key).copied().unwrap_or(key);
        (clock.at_sender(entry.at), Event::Received { pn, bytes: len, offset, len, marked: false })
    });
    let acks = moved(part, true, half).into_iter().filter(|(_, event)| matches!(event, Event::Acked(_)));
    let mut all: Trace = data.chain(at_receiver(&acks.collect())).collect();
    all.sort_by_key(|(at, _)| *at);
    all
}

/// Turns packets that leave into packets that arrive, and acknowledgements likewise.
fn at_receiver(part: &Trace) -> Trace {
    let turned = |event: &Event| match event {
        Event::Sent { pn, bytes, offset, len } => {
            Some(Event::Received { pn: *pn, bytes: *bytes, offset: *offset, len: *len, marked: false })
        }
        Event::Acked(ack) => Some(Event::Acks(ack.clone())),
        Event::Opens(packet) => Some(Event::Opened(*packet)),
        _ => None,
    };
    part.iter().filter_map(|(at, event)| Some((*at, turned(event)?))).collect()
}

fn pick([client, server]: [Way; 2], from: Side) -> Way {
    if from == Side::Client { client } else { server }
}

/// Reports whether a log was written by this program in a run of its own.
pub(super) fn is_own(about: &About) -> bool {
    about.program.as_deref().is_some_and(|program| program.eq_ignore_ascii_case("ackclock"))
}

/// Returns the difference of the clocks. Logs of one file, and those of this program's runs, have
/// one clock.
fn clock(near: &Point, far: &Point, from: Side) -> Option<Clock> {
    let is_run = is_own(&near.about) && is_own(&far.about) && !near.about.identity.is_empty();
    if near.file == far.file || is_run {
        return Some(Clock::default());
    }
    let [there, back] = [from, from.peer()].map(|side| side as usize);
    let table = |point: usize, way: usize| &[near, far][point].ways[way].departures;
    Clock::estimate([table(0, there), table(1, there)], [table(1, back), table(0, back)])
}

fn count_losses(record: &mut Record, way: &Way, losses: Losses, are_inferred: bool) {
    let stats = &mut record.stats;
    stats.lost_by_packet_threshold = losses.packet_threshold;
    stats.lost_by_time_threshold = losses.time_threshold;
    // Without a rule a loss counts in the total alone: the counts by rule are then not told.
    stats.lost_by_timeout = losses.timeout + losses.unnamed;
    // TCP's receiver tells it by a DSACK.
    let repeats = are_inferred && !way.is_tcp;
    stats.spurious = if repeats { way.repeated_in_vain } else { way.spurious };
}

/// Chooses the RTT samples: those of this program's logs are all told; others repeat old values,
/// so packets are better.
fn choose_rtt(record: &mut Record, way: &Way, is_own: bool) {
    if is_own && way.told_samples > 0 || way.samples == 0 && way.interval_rtt == 0 && way.told_samples > 0 {
        record.totals.rtt = way.told_rtt.totals.rtt.clone();
    }
}

/// Takes over what the receiver knows, and what only both together show.
fn at_both_ends(
    record: &mut Record,
    way: &mut Way,
    far: &Way,
    (clock, window, end): (Option<Clock>, Window, Time),
    unknown: &mut Unknown,
) {
    let totals = &far.received.totals;
    record.delivered = far.received.delivered;
    record.totals.delivered = totals.delivered;
    record.totals.owd = Histogram::default();
    record.totals.delivery = totals.delivery.clone();
    record.totals.ce = totals.ce;
    record.totals.feedback = totals.feedback;
    way.course.take_arrivals(&far.arrivals_course, clock.unwrap_or_default());
    let (Some(clock), false) = (clock, way.departures.is_cut || far.departures.is_cut) else {
        let why = match clock {
            None => "no packet is in both logs",
            Some(_) => "the logs have more packets than can be compared",
        };
        for word in ["owd_mean", "owd_std", "owd_p95", "loss", "loss_flow_std", "spurious_retransmissions"] {
            unknown.insert(word, why.to_owned());
        }
        return;
    };
    let fates = fates(&way.departures, &far.departures, clock);
    // What was sent after the last packet that arrived may still be under way.
    let last = fates.iter().rposition(|fate| fate.owd.is_some()).map_or(0, |last| last + 1);
    let patience = patience(way);
    for (number, Fate { sent, owd }) in fates.iter().enumerate() {
        match owd {
            Some(owd) if window.holds(sent.at + *owd) => record.totals.owd.add(*owd),
            None if number < last || sent.at + patience < end => record.on_dropped(sent.at),
            _ => {}
        }
    }
    for at in redundant(&way.departures, &far.departures, clock) {
        record.on_redundant(at);
    }
}

/// Returns the time after which a packet that did not arrive is lost: four RTTs, at least 200 ms.
fn patience(way: &Way) -> Duration {
    let rtt = way.flight.latest_rtt.or(way.flight.min_rtt).unwrap_or(Duration::ZERO);
    (rtt * 4).max(Duration::from_millis(200))
}
