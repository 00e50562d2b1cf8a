//! The structure of a file: a document with traces and their events, or a sequence of records.

use std::io::{self, Read};

use crate::json::{Broken, RECORD, Stream};

/// Longest name of a member, in bytes.
const LONGEST_NAME: usize = 256;

/// Part of a file.
#[derive(Debug)]
pub(super) enum Part<T> {
    /// Member of the document, such as its title, as JSON.
    Member(String, T),
    /// A trace begins.
    Begin,
    /// Member of the trace.
    Setting(String, T),
    /// Event of the trace.
    Event(T),
    /// Record of a sequence: its header, or an event. True if a separator follows.
    Record(T, bool),
    /// The trace ends.
    End,
    /// Part that cannot be read.
    Broken(Broken),
}

/// Position in the structure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Start,
    Document,
    Traces,
    /// True in the array of traces.
    Trace(bool),
    Events(bool),
    Sequence,
    Done,
}

/// Reads a file part by part.
pub(super) struct Walk<R> {
    stream: Stream<R>,
    place: Place,
    /// The structure is broken here, which was reported.
    is_lost: bool,
}

/// Recognises spaces and the bytes of a byte-order mark.
fn is_space(b: u8) -> bool {
    b.is_ascii_whitespace() || matches!(b, 0xef | 0xbb | 0xbf)
}

impl<R: Read> Walk<R> {
    pub(super) fn new(input: R) -> Self {
        Self { stream: Stream::new(input), place: Place::Start, is_lost: false }
    }

    /// Returns the error that ended the stream.
    pub(super) fn failed(&mut self) -> Option<io::Error> {
        self.stream.failed()
    }

    /// Returns the next part and its position, or nothing at the end.
    pub(super) fn next(&mut self) -> Option<(u64, Part<&[u8]>)> {
        let (at, part) = self.step()?;
        Some((
            at,
            match part {
                Part::Begin => Part::Begin,
                Part::End => Part::End,
                Part::Broken(broken) => Part::Broken(broken),
                Part::Member(name, length) => Part::Member(name, self.stream.take(length)),
                Part::Setting(name, length) => Part::Setting(name, self.stream.take(length)),
                Part::Event(length) => Part::Event(self.stream.take(length)),
                Part::Record(length, has_end) => Part::Record(self.stream.take(length), has_end),
            },
        ))
    }

    /// Finds the next part. Its value has the returned length and begins at the front.
    fn step(&mut self) -> Option<(u64, Part<usize>)> {
        loop {
            let next = match self.place {
                Place::Done => return None,
                Place::Start => self.stream.skip_while(is_space),
                _ => self.stream.skip_while(|b| is_space(b) || b == b',' || b == RECORD),
            };
            let at = self.stream.at();
            let Some(next) = next else {
                let is_cut = !matches!(self.place, Place::Start | Place::Sequence);
                self.place = Place::Done;
                return is_cut.then_some((at, Part::Broken(Broken::Ends)));
            };
            let part = match (self.place, next) {
                (Place::Start, b'{' | RECORD) => self.start(),
                (Place::Start, _) => return None,
                (Place::Sequence, _) => Some(self.record()),
                (Place::Document, b'}') => self.enter(Place::Start, None),
                (Place::Document | Place::Trace(_), b'"') => self.member(),
                (Place::Traces, b'{') => self.enter(Place::Trace(true), Some(Part::Begin)),
                (Place::Traces, b']') => self.enter(Place::Document, None),
                (Place::Trace(true), b'}') => self.enter(Place::Traces, Some(Part::End)),
                (Place::Trace(false), b'}') => self.enter(Place::Document, Some(Part::End)),
                (Place::Events(in_array), b']') => self.enter(Place::Trace(in_array), None),
                // A stray bracket had closed the events.
                (Place::Trace(in_array) | Place::Events(in_array), b'{' | b'[') => {
                    self.place = Place::Events(in_array);
                    Some(self.event())
                }
                _ => self.lost(),
            };
            if let Some(part) = part {
                return Some((at, part));
            }
        }
    }

    fn enter(&mut self, place: Place, part: Option<Part<usize>>) -> Option<Part<usize>> {
        self.stream.skip(1);
        self.place = place;
        part
    }

    fn start(&mut self) -> Option<Part<usize>> {
        if self.stream.is_sequence() {
            self.place = Place::Sequence;
            return None;
        }
        self.enter(Place::Document, None)
    }

    /// Skips a character that does not belong here. A row of them is reported once.
    fn lost(&mut self) -> Option<Part<usize>> {
        self.stream.skip(1);
        let was_lost = std::mem::replace(&mut self.is_lost, true);
        (!was_lost).then_some(Part::Broken(Broken::Wrong("unexpected characters")))
    }

    /// Takes a broken value. The next one is searched in it.
    fn broken(&mut self, broken: Broken) -> Part<usize> {
        self.stream.search();
        Part::Broken(broken)
    }

    fn event(&mut self) -> Part<usize> {
        self.is_lost = false;
        self.stream.value().map_or_else(|broken| self.broken(broken), Part::Event)
    }

    fn record(&mut self) -> Part<usize> {
        match self.stream.record() {
            Ok((length, has_end)) => Part::Record(length, has_end),
            Err(broken) => {
                self.stream.skip_record();
                Part::Broken(broken)
            }
        }
    }

    /// Takes the name of the member that begins here. A trace, or an array of traces or events, is
    /// entered.
    fn member(&mut self) -> Option<Part<usize>> {
        let name = match self.stream.value() {
            Ok(length) if length <= LONGEST_NAME => {
                String::from_utf8_lossy(self.stream.take(length)).trim_matches('"').to_owned()
            }
            Ok(_) => return Some(self.broken(Broken::Wrong("a name is too long"))),
            Err(broken) => return Some(self.broken(broken)),
        };
        let first = self.stream.skip_while(|b| is_space(b) || b == b':');
        match (self.place, name.as_str(), first) {
            (Place::Document, "traces", Some(b'[')) => self.enter(Place::Traces, None),
            (Place::Document, "trace", Some(b'{')) => self.enter(Place::Trace(false), Some(Part::Begin)),
            (Place::Trace(in_array), "events", Some(b'[')) => self.enter(Place::Events(in_array), None),
            (place, ..) => Some(match self.stream.value() {
                Ok(length) if place == Place::Document => Part::Member(name, length),
                Ok(length) => Part::Setting(name, length),
                Err(broken) => self.broken(broken),
            }),
        }
    }
}
