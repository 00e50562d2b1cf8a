//! Reads qlog: draft-00 to draft-02, 0.3, 0.4 and the current drafts, as one document or as a
//! sequence of records.
//!
//! The file is read once. Memory is bounded, and so are times: an event is parsed on its own.
//!
//! - A document may have a trace's vantage point after its events. Until the first Initial packet
//!   shows the end that wrote the log, up to 8 MiB of events wait. If there is none, the vantage
//!   point is used that comes then, or the server is assumed, and a [`Gap`] says so.
//! - Times in milliseconds from the log's zero are assumed if `common_fields` or `configuration`
//!   come after the events. If they say otherwise, a [`Gap`] says so.
//! - RTTs of quinn 0.11, which writes seconds, are converted. So are ACK delays of noq 1, which
//!   writes the field of the frame.

mod clock;
mod connection;
mod packet;
mod record;
mod recovery;
#[cfg(test)]
mod tests;
mod trace;
mod value;
mod walk;

use std::collections::BTreeMap;
use std::io::{self, Read};

use quic::{Side, Space};

use self::connection::Connection;
use self::packet::{Packet, Type};
use self::record::{Kind, Record};
use self::trace::{Description, Document, Members, Vantage};
use self::walk::{Part, Walk};
use crate::Error;
use crate::error::At;
use crate::event::{Event, Gap, Sink};
use crate::json::Broken;

/// Largest size of events that wait for the vantage point, in bytes.
const MOST_HELD: usize = 8 << 20;
/// Memory that each of them takes besides its text, in bytes.
const HELD_EACH: usize = 64;
/// Largest number of connections of a trace.
const MOST_CONNECTIONS: usize = 1 << 16;
/// Largest size of a group ID, in bytes.
const LONGEST_GROUP: usize = 256;
/// Bytes between two questions whether reading should stop.
const STEP: u64 = 1 << 20;

/// Reports whether a file whose first bytes these are is qlog.
pub fn looks_like(first: &[u8]) -> bool {
    let text = String::from_utf8_lossy(first);
    let text = text.trim_start_matches(['\u{feff}', '\u{1e}', ' ', '\t', '\r', '\n']);
    let has = |parts: &[&str]| parts.iter().all(|part| text.contains(part));
    text.starts_with('{')
        && (has(&["\"qlog_version\""])
            || has(&["\"qlog_format\""])
            || has(&["\"file_schema\""])
            || has(&["\"traces\""])
            || has(&["\"time\"", "\"name\"", "\"data\""]))
}

/// Reads a qlog file.
///
/// # Errors
/// Fails if it cannot be read, or holds no event of a connection.
pub fn read(input: impl Read, name: &str, sink: &mut dyn Sink) -> Result<(), Error> {
    let mut walk = Walk::new(input);
    let mut reader = Reader { name, sink, document: Document::default(), trace: None, seen: Seen::default() };
    let mut next_question = STEP;
    while let Some((at, part)) = walk.next() {
        reader.part(at, part);
        if at >= next_question {
            next_question = at + STEP;
            if reader.sink.is_stopped() {
                reader.end();
                return Ok(());
            }
        }
    }
    let failed = walk.failed();
    if let (Some(error), Some(trace)) = (&failed, &mut reader.trace) {
        trace.is_cut = true;
        trace.note(&format!("the file cannot be read to its end: {error}"));
    }
    reader.end();
    reader.seen.result(name, failed)
}

/// Parts of the file that were found.
#[derive(Debug, Default)]
struct Seen {
    has_trace: bool,
    has_connection: bool,
    /// First part that cannot be read.
    problem: Option<(u64, String)>,
}

impl Seen {
    fn result(self, name: &str, failed: Option<io::Error>) -> Result<(), Error> {
        if self.has_connection {
            return Ok(());
        }
        let (at, message) = match (failed, self.has_trace, self.problem) {
            (Some(error), ..) => (None, error.to_string()),
            (None, true, Some((at, problem))) => {
                (Some(At::Byte(at)), format!("its qlog traces have no event that can be read: {problem}"))
            }
            (None, true, None) => {
                (None, "its qlog traces have no packets, losses or metrics of a connection".to_owned())
            }
            (None, false, _) => (None, "it is not qlog: it has neither `traces` nor a `trace`".to_owned()),
        };
        Err(Error { file: name.to_owned(), at, message })
    }
}

struct Reader<'s> {
    name: &'s str,
    sink: &'s mut dyn Sink,
    document: Document,
    trace: Option<Trace>,
    seen: Seen,
}

/// Trace that is being read.
#[derive(Debug, Default)]
struct Trace {
    description: Description,
    /// End that "sent" packets leave, once it is settled. `None` in it if it is not known.
    side: Option<Option<Side>>,
    /// Events that wait for it, with their positions.
    held: Vec<(u64, Vec<u8>)>,
    held_bytes: usize,
    connections: Vec<Connection>,
    /// Indices of connections by group.
    groups: BTreeMap<String, usize>,
    /// Group of the newest event, as JSON.
    newest: Option<(String, usize)>,
    /// Number of parts that cannot be read, and the first reason.
    unreadable: (u64, String),
    is_cut: bool,
    begins_later: bool,
    notes: Vec<String>,
}

impl Reader<'_> {
    fn part(&mut self, at: u64, part: Part<&[u8]>) {
        match part {
            Part::Member(name, json) => self.document.set(&name, json),
            Part::Begin => self.begin(),
            Part::Setting(name, json) => self.setting(&name, json),
            Part::Event(json) => self.event(at, json),
            Part::Record(json, has_end) => self.record(at, json, has_end),
            Part::End => self.end(),
            Part::Broken(Broken::Ends) => self.cut(),
            Part::Broken(broken) => self.unreadable(at, broken.reason()),
        }
    }

    fn begin(&mut self) {
        self.end();
        self.seen.has_trace = true;
        self.trace = Some(Trace::default());
    }

    /// Ends the trace: what waits is read, and what is missing is reported.
    fn end(&mut self) {
        if self.trace.as_ref().is_some_and(|trace| trace.side.is_none()) {
            self.settle(None);
        }
        let Some(mut trace) = self.trace.take() else { return };
        for connection in &mut trace.connections {
            for note in &trace.notes {
                connection.gap(self.sink, Gap::Other(note.clone()));
            }
            connection.finish(self.sink);
            if trace.unreadable.0 > 0 {
                let (count, reason) = trace.unreadable.clone();
                connection.gap(self.sink, Gap::Unreadable(count, reason));
            }
            if trace.is_cut {
                connection.gap(self.sink, Gap::Truncated);
            }
        }
    }

    /// Counts a part that cannot be read.
    fn unreadable(&mut self, at: u64, reason: &str) {
        // serde_json counts from the record's first byte, in one line.
        let (reason, column) = reason.rsplit_once(" at line 1 column ").unwrap_or((reason, "0"));
        let at = at + column.parse().unwrap_or(0);
        if self.seen.problem.is_none() {
            self.seen.problem = Some((at, reason.to_owned()));
        }
        if let Some(trace) = &mut self.trace {
            trace.unreadable.0 += 1;
            if trace.unreadable.0 == 1 {
                trace.unreadable.1 = format!("byte {at}: {reason}");
            }
        }
    }

    /// Takes a member of the trace, which may come after its events.
    fn setting(&mut self, name: &str, json: &[u8]) {
        let Some(trace) = &mut self.trace else { return };
        let clock = trace.description.clock.clone();
        trace.description.set(name, json);
        if trace.connections.is_empty() {
            return;
        }
        if !trace.description.clock.is_like(&clock) {
            trace.note(&format!(
                "`{name}` comes after the events: their times are read as milliseconds from the log's zero"
            ));
        }
        if let (Vantage::Endpoint(side), Some(Some(guess))) = (trace.description.vantage, trace.side)
            && side != guess
        {
            trace.note("the vantage point after the events contradicts them");
            for connection in &trace.connections {
                connection.emit(self.sink, &Event::Vantage(side));
            }
        }
    }

    /// Reads a record of a sequence. One without a name is a header.
    fn record(&mut self, at: u64, json: &[u8], has_end: bool) {
        let fields = self.trace.as_ref().map(|trace| trace.description.fields.as_slice());
        match Record::parse(json, fields.unwrap_or_default()) {
            Ok(record) if record.is_event() => {
                if self.trace.is_none() {
                    self.begin();
                    self.trace = Some(Trace { begins_later: true, ..Trace::default() });
                }
                self.take(at, json, &record);
            }
            Ok(_) => self.header(at, json),
            Err(_) if !has_end => self.cut(),
            Err(reason) => self.unreadable(at, &reason),
        }
    }

    /// Takes note that the file ends too early.
    fn cut(&mut self) {
        if let Some(trace) = &mut self.trace {
            trace.is_cut = true;
        }
    }

    fn header(&mut self, at: u64, json: &[u8]) {
        let members: Members<'_> = serde_json::from_slice(json).unwrap_or_default();
        let names = ["trace", "qlog_version", "qlog_format", "file_schema"];
        if !names.iter().any(|name| members.contains_key(*name)) {
            return self.unreadable(at, "a record has neither a name nor a trace");
        }
        self.begin();
        for (name, value) in members {
            if name != "trace" {
                self.document.set(&name, value.get().as_bytes());
                continue;
            }
            let settings: Members<'_> = serde_json::from_str(value.get()).unwrap_or_default();
            for (name, value) in settings {
                self.setting(&name, value.get().as_bytes());
            }
        }
    }

    fn event(&mut self, at: u64, json: &[u8]) {
        let Some(trace) = &self.trace else { return };
        match Record::parse(json, &trace.description.fields) {
            Ok(record) => self.take(at, json, &record),
            Err(reason) => self.unreadable(at, &reason),
        }
    }

    /// Takes an event, which may have to wait.
    fn take(&mut self, at: u64, json: &[u8], record: &Record<'_>) {
        let Some(trace) = &mut self.trace else { return };
        if trace.side.is_none() {
            let side = match trace.description.vantage {
                Vantage::Endpoint(side) => Some(Some(side)),
                Vantage::Network(side) => Some(side),
                Vantage::Unknown if trace.held_bytes > MOST_HELD => Some(None),
                Vantage::Unknown => writer(record).map(Some),
            };
            match side {
                Some(side) => self.settle(side),
                None => {
                    // With what keeping it takes.
                    trace.held_bytes += json.len() + HELD_EACH;
                    return trace.held.push((at, json.to_vec()));
                }
            }
        }
        self.read(at, record);
    }

    /// Settles the end that wrote the trace, and reads the events that waited for it.
    fn settle(&mut self, side: Option<Side>) {
        let Some(trace) = &mut self.trace else { return };
        let side = match trace.description.vantage {
            Vantage::Endpoint(side) | Vantage::Network(Some(side)) => Some(side),
            _ => side,
        };
        if side.is_none() {
            trace.note("the log does not say which end wrote it: the server is assumed");
        }
        trace.side = Some(side);
        for (at, json) in std::mem::take(&mut trace.held) {
            self.event(at, &json);
        }
    }

    fn read(&mut self, at: u64, record: &Record<'_>) {
        let Some(trace) = &mut self.trace else { return };
        let result = trace.read(record, self.sink, &self.document, self.name);
        self.seen.has_connection |= !trace.connections.is_empty();
        if let Err(reason) = result {
            self.unreadable(at, &reason);
        }
    }
}

/// Returns the end that wrote the trace, if this event is an Initial packet: the client sends the
/// first.
fn writer(record: &Record<'_>) -> Option<Side> {
    let side = match record.kind() {
        Kind::Sent => Side::Client,
        Kind::Received => Side::Server,
        _ => return None,
    };
    let packet: Packet<'_> = serde_json::from_str(record.data?.get()).ok()?;
    (packet.kind() == Type::Numbered(Space::Initial)).then_some(side)
}

impl Trace {
    /// Takes a sentence for all connections, once.
    fn note(&mut self, sentence: &str) {
        if !self.notes.iter().any(|note| note == sentence) {
            self.notes.push(sentence.to_owned());
        }
    }

    fn read(
        &mut self,
        record: &Record<'_>,
        sink: &mut dyn Sink,
        document: &Document,
        name: &str,
    ) -> Result<(), String> {
        if let Some(format) = record.time_format.text() {
            self.description.clock.format = clock::Format::parse(format);
        }
        let at = self.description.clock.time(record.time.real().ok_or("an event has no time")?);
        let kind = record.kind();
        if kind == Kind::Other {
            return Ok(());
        }
        let place = self.place(record, sink, document, name)?;
        match self.connections.get_mut(place) {
            Some(connection) => connection.event(sink, &self.description, at, kind, record),
            None => Ok(()),
        }
    }

    /// Returns the index of the event's connection. Opens it if it is new.
    fn place(
        &mut self,
        record: &Record<'_>,
        sink: &mut dyn Sink,
        document: &Document,
        name: &str,
    ) -> Result<usize, String> {
        let json = record.group().unwrap_or_default();
        if let Some((_, place)) = self.newest.as_ref().filter(|(newest, _)| newest == json) {
            return Ok(*place);
        }
        let group = self.group(json);
        let place = match self.groups.get(&group).copied().or_else(|| self.continued(record)) {
            Some(place) => place,
            None if self.connections.len() == MOST_CONNECTIONS => {
                return Err("the trace has more than 65536 connections".to_owned());
            }
            None => self.open(&group, sink, document, name),
        };
        self.groups.insert(group, place);
        self.newest = Some((json.to_owned(), place));
        Ok(place)
    }

    /// Returns the name of a group, from JSON.
    fn group(&self, json: &str) -> String {
        let index = json.parse::<usize>().ok().and_then(|index| self.description.groups.get(index));
        let mut group = match index {
            Some(group) => trace::text(group.as_bytes()).unwrap_or_default(),
            None if json.is_empty() => self.description.group.clone().unwrap_or_default(),
            None => trace::text(json.as_bytes()).unwrap_or_default(),
        };
        if group.len() > LONGEST_GROUP {
            group = group.chars().take(LONGEST_GROUP / 4).collect();
        }
        group
    }

    /// Returns the connection that goes on under a new group. quinn's client begins with the
    /// destination connection ID, and goes on with the one that the server chose.
    fn continued(&self, record: &Record<'_>) -> Option<usize> {
        if !matches!(record.kind(), Kind::Sent | Kind::Received) {
            return None;
        }
        let packet: Packet<'_> = serde_json::from_str(record.data?.get()).ok()?;
        let mut young = self.connections.iter().enumerate().filter(|(_, connection)| connection.is_young);
        let (place, _) = young.next().filter(|_| young.next().is_none())?;
        (packet.kind() != Type::Numbered(Space::Initial)).then_some(place)
    }

    fn open(&mut self, group: &str, sink: &mut dyn Sink, document: &Document, name: &str) -> usize {
        let side = self.side.flatten();
        let id = sink.open(self.description.about(document, name, group, side));
        let connection = Connection::new(id, side.unwrap_or(Side::Server));
        if self.begins_later {
            connection.gap(sink, Gap::BeginsLater);
        }
        self.connections.push(connection);
        self.connections.len() - 1
    }
}
