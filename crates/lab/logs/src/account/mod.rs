//! Accounting: computes the metrics of connections from the events of their logs.
//!
//! Every connection is followed at each point where it was logged. Two points of one connection,
//! one at each end, are joined when all files are read.
//!
//! ```text
//! mod.rs        the points, as a sink of the readers
//! way.rs        one direction at one point
//! flight.rs     packets until they are acknowledged: RTT, losses, repeats
//! table.rs      times at both ends: one-way delay, drops, clocks
//! course.rs     values over time
//! excerpt.rs    packets for sequence diagrams
//! findings.rs   the problem list
//! unknown.rs    what the logs do not tell, and why
//! connection.rs the result
//! ```

mod connection;
mod course;
mod excerpt;
mod findings;
mod flight;
mod table;
#[cfg(test)]
mod tests;
mod unknown;
mod way;

use std::collections::BTreeMap;

use link::LinkConfig;
use quic::{Side, Space};
use scenario::{Record, Scenario};
use units::{Duration, Rate, Time};

pub use self::connection::Connection;
pub use self::findings::{Check, Finding};
pub use self::table::Clock;
pub use self::unknown::{Seen, Unknown};
use self::way::Way;
use crate::event::{About, Event, Gap, Parameters, Sink, Source};

/// Latest time at which the first connection of a run begins.
const LATEST_BEGIN: Time = Time::from_millis(100_000);
/// Packet numbers whose second use begins another connection, and the time after which a second
/// use is no copy.
const LOWEST: usize = 4;
const COPIES: Duration = Duration::from_millis(10);
/// Largest number of connections that are followed. Each takes some 20 kB.
const MOST_POINTS: usize = 4096;
/// Largest number of gaps that are kept for a connection.
const MOST_GAPS: usize = 20;

/// One connection at one point.
#[derive(Debug)]
pub(crate) struct Point {
    about: About,
    /// Number of the file.
    file: usize,
    vantage: Option<Side>,
    /// Data that the client sends, and that the server sends.
    ways: [Way; 2],
    parameters: [Parameters; 2],
    gaps: Vec<Gap>,
    /// Times at which each end used the lowest packet numbers.
    first_numbers: [[Option<Time>; LOWEST]; 2],
    /// Start of its log, in the log's clock.
    origin: Time,
    first: Option<Time>,
    last: Time,
}

/// All connections of the files read so far.
#[derive(Debug)]
pub struct Accounts {
    scenario: Scenario,
    /// Points by their numbers; `None` for those that were dropped.
    points: Vec<Option<Box<Point>>>,
    /// Points that are kept, and those dropped because there were too many.
    kept: usize,
    dropped: usize,
    files: Vec<String>,
    /// Newest connection of a trace that has several.
    successors: BTreeMap<usize, usize>,
    /// Start of the current file, in its clock.
    origin: Option<Time>,
}

impl Accounts {
    /// Creates accounts that count metrics between these times after the start of each log, and in
    /// another window with a name.
    pub fn new(window: Option<(Duration, Duration)>, named: Option<&(String, Duration, Duration)>) -> Self {
        let mut scenario = Scenario::new(LinkConfig::plain(Rate(u64::MAX)), [], Duration::MAX);
        scenario.measure = window.map(|(from, to)| (Time::ZERO + from, Time::ZERO + to));
        let at = |time: Duration| Time::ZERO + time;
        let named = named.map(|(name, from, to)| (name.clone(), at(*from), at(*to)));
        scenario.windows = named.into_iter().collect();
        Self {
            scenario,
            points: Vec::new(),
            kept: 0,
            dropped: 0,
            files: Vec::new(),
            successors: BTreeMap::new(),
            origin: None,
        }
    }

    /// Begins the next file.
    pub fn begin(&mut self, file: &str) {
        self.files.push(file.to_owned());
        self.origin = None;
    }

    /// Returns the number of connections that are not followed, because there are too many. Those
    /// with least data are left out.
    pub fn left_out(&self) -> usize {
        self.dropped
    }

    /// Returns the connections of all files. Two logs of one connection become one.
    pub fn finish(self) -> Vec<Connection> {
        let points = self.points.into_iter().flatten().map(|point| *point).collect();
        connection::join(points, (&self.files, self.scenario.window()))
    }

    /// Returns the point of an event. A low packet number that an end uses again begins another
    /// connection: logs of our own runs have all connections of a flow in one trace. A copy that
    /// the path made arrives sooner.
    fn current(&mut self, connection: usize, now: Time, event: &Event<'_>) -> usize {
        let at = self.successors.get(&connection).copied().unwrap_or(connection);
        let (Event::Packet(packet), Some(point)) = (event, self.point(at)) else { return at };
        let is_data = packet.space == Space::Application && !packet.pieces.is_empty();
        let number = packet.number.filter(|_| is_data && point.about.source == Source::Qlog);
        let known = &mut point.first_numbers[packet.from as usize];
        let Some(known) = number.and_then(|number| known.get_mut(usize::try_from(number).ok()?)) else {
            return at;
        };
        if known.replace(now).is_none_or(|before| now - before < COPIES) {
            return at;
        }
        let (mut about, origin, from) = (point.about.clone(), point.origin, packet.from);
        about.vantage = point.vantage;
        // The identity counts them, so that both ends agree.
        about.identity += "+";
        let next = self.open(about);
        let Some(point) = self.point(next) else { return next };
        point.origin = origin;
        if let Some(known) = number.and_then(|number| usize::try_from(number).ok()) {
            point.first_numbers[from as usize][known] = Some(now);
        }
        self.successors.insert(connection, next);
        next
    }

    fn point(&mut self, number: usize) -> Option<&mut Point> {
        self.points.get_mut(number)?.as_deref_mut()
    }

    /// Drops a quarter of the points: those with least data, except for the newest quarter.
    fn drop_smallest(&mut self) {
        let bytes = |point: &Point| point.ways.iter().map(|way| way.stream_bytes).sum::<u64>();
        let kept = self.points.iter().enumerate();
        let mut all: Vec<(u64, usize)> =
            kept.filter_map(|(number, point)| Some((bytes(point.as_ref()?), number))).collect();
        all.truncate(all.len() - MOST_POINTS / 4);
        all.sort_unstable();
        for (_, number) in all.into_iter().take(MOST_POINTS / 4) {
            self.points[number] = None;
            self.kept -= 1;
            self.dropped += 1;
        }
    }

    /// Converts a time of a log to the time since its start. Logs of this program's runs begin
    /// with the run.
    fn since_start(&mut self, connection: usize, at: Time) -> Time {
        let is_run = self.point(connection).is_some_and(|point| connection::is_own(&point.about));
        let begin = if is_run && at < LATEST_BEGIN { Time::ZERO } else { at };
        let origin = *self.origin.get_or_insert(begin);
        if let Some(point) = self.point(connection) {
            point.origin = origin;
        }
        Time((at - origin).0)
    }
}

impl Sink for Accounts {
    fn open(&mut self, about: About) -> usize {
        let record = Record::new(&scenario::Application::default(), &self.scenario);
        let ways = [(); 2].map(|()| Way::new(about.protocol, about.source, &record));
        if self.kept == MOST_POINTS {
            self.drop_smallest();
        }
        self.kept += 1;
        self.points.push(Some(Box::new(Point {
            vantage: about.vantage,
            file: self.files.len().saturating_sub(1),
            about,
            ways,
            parameters: Default::default(),
            gaps: Vec::new(),
            first: None,
            origin: Time::ZERO,
            first_numbers: [[None; LOWEST]; 2],
            last: Time::ZERO,
        })));
        self.points.len() - 1
    }

    fn event(&mut self, connection: usize, at: Time, event: &Event<'_>) {
        if let Event::Interval(interval) = event {
            // The log begins with its first interval.
            self.since_start(connection, Time(at.0.saturating_sub(interval.length.0)));
        }
        let now = self.since_start(connection, at);
        let connection = self.current(connection, now, event);
        let Some(point) = self.point(connection) else { return };
        point.take(now, event);
    }
}

impl Point {
    fn take(&mut self, now: Time, event: &Event<'_>) {
        if !matches!(event, Event::Gap(_) | Event::Vantage(_)) {
            let begin = match event {
                Event::Interval(interval) => Time(now.0.saturating_sub(interval.length.0)),
                _ => now,
            };
            self.first = Some(self.first.map_or(begin, |first| first.min(begin)));
            self.last = self.last.max(now);
        }
        match event {
            Event::Packet(packet) => {
                let [own, other] = [packet.from, packet.from.peer()].map(|side| side as usize);
                self.ways[own].on_packet(now, packet);
                self.ways[other].on_reply(now, packet);
            }
            Event::Lost { space, number, trigger } => {
                if let Some(way) = self.own() {
                    way.on_lost(now, *space, *number, *trigger);
                }
            }
            Event::Metrics(metrics) => {
                if let Some(way) = self.own() {
                    way.on_metrics(now, metrics);
                }
            }
            Event::State { new, trigger } => {
                if let Some(way) = self.own() {
                    way.on_state(now, new, *trigger);
                }
            }
            Event::AppLimited(is_limited) => {
                if let Some(way) = self.own() {
                    way.checks.on_app_limited(now, *is_limited);
                }
            }
            Event::Parameters { from, parameters } => self.on_parameters(*from, *parameters),
            Event::Vantage(side) => self.vantage = Some(*side),
            Event::Interval(interval) => {
                let from = interval.from.or(self.vantage).unwrap_or(Side::Server);
                self.ways[from as usize].on_interval(now, interval);
            }
            Event::Gap(gap) if self.gaps.len() < MOST_GAPS => self.gaps.push(gap.clone()),
            Event::Gap(_) | Event::Timer { .. } | Event::Call(_) => {}
        }
    }

    /// Returns the direction whose sender wrote the log. Without a known end it is the server,
    /// which sends most data nearly everywhere.
    fn own(&mut self) -> Option<&mut Way> {
        let side = self.vantage.unwrap_or(Side::Server);
        self.ways.get_mut(side as usize)
    }

    fn on_parameters(&mut self, from: Side, parameters: Parameters) {
        self.parameters[from as usize] = parameters;
        // What an end promises concerns the data that its peer sends.
        let way = &mut self.ways[from.peer() as usize];
        way.set_promised_delay(parameters.max_ack_delay);
        way.set_limit(parameters.initial_max_data);
    }
}
