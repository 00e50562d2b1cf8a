//! Connection as it is seen at one place, and its gaps.

use quic::Side;
use units::{Duration, Time};

use super::vantage::Vantage;
use crate::event::{About, Event, Gap, Sink};

/// Largest number of reasons that are kept.
const REASONS: usize = 64;

/// State of the file as a whole.
#[derive(Debug, Default)]
pub(super) struct File {
    /// Time of the last packet.
    pub(super) last: Time,
    damaged: u64,
    reasons: Vec<String>,
    pub(super) truncated: bool,
}

impl File {
    pub(super) fn damage(&mut self, reason: String) {
        self.damaged += 1;
        if self.reasons.len() < REASONS {
            self.reasons.push(reason);
        }
    }
}

/// Reason for the end of a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// End of the file.
    File,
    /// Another connection of the same addresses and ports begins.
    Replaced,
    /// Too many connections are open.
    Crowded(usize),
}

#[derive(Debug)]
pub(super) struct View {
    number: usize,
    pub(super) vantage: Vantage,
    /// Time of the last event.
    pub(super) last: Time,
    backwards: Duration,
    untimed: u64,
    /// Damaged records of the file when the view was opened.
    damaged: u64,
    joined: u32,
    pub(super) cut: u64,
    pub(super) undecrypted: u64,
    pub(super) fragments: u64,
    pub(super) ended: bool,
}

impl View {
    pub(super) fn open(about: About, file: &File, sink: &mut dyn Sink) -> Self {
        Self {
            number: sink.open(about),
            vantage: Vantage::default(),
            last: Time::ZERO,
            backwards: Duration(0),
            untimed: 0,
            damaged: file.damaged,
            joined: 0,
            cut: 0,
            undecrypted: 0,
            fragments: 0,
            ended: false,
        }
    }

    /// Returns the time of an event. It never runs backwards.
    pub(super) fn at(&mut self, at: Option<Time>, file: &File) -> Time {
        self.untimed += u64::from(at.is_none());
        let at = at.unwrap_or(file.last);
        self.backwards = self.backwards.max(self.last.since(at));
        self.last = self.last.max(at);
        self.last
    }

    pub(super) fn emit(&self, sink: &mut dyn Sink, event: &Event<'_>) {
        sink.event(self.number, self.last, event);
    }

    pub(super) fn gap(&self, sink: &mut dyn Sink, gap: Gap) {
        self.emit(sink, &Event::Gap(gap));
    }

    /// Reports a packet that offload joined, if no larger one was reported.
    pub(super) fn joined(&mut self, sink: &mut dyn Sink, bytes: u32) {
        if bytes > self.joined {
            self.joined = bytes;
            self.gap(sink, Gap::Joined(bytes));
        }
    }

    /// Tells the nearest end, as soon as it is known.
    pub(super) fn tell_vantage(&mut self, sink: &mut dyn Sink) {
        if let Some(side) = self.vantage.verdict() {
            self.emit(sink, &Event::Vantage(side));
        }
    }

    /// Reports the gaps that are known only now.
    pub(super) fn close(&self, end: End, file: &File, sink: &mut dyn Sink) {
        let mut gaps = Vec::new();
        if self.cut > 0 {
            gaps.push(Gap::Cut(self.cut));
        }
        if self.undecrypted > 0 {
            gaps.push(Gap::Undecrypted(self.undecrypted));
        }
        if self.backwards > Duration(0) {
            gaps.push(Gap::Backwards(self.backwards));
        }
        if file.damaged > self.damaged {
            let first = usize::try_from(self.damaged).unwrap_or(usize::MAX).min(REASONS - 1);
            let reason = file.reasons.get(first).cloned().unwrap_or_default();
            gaps.push(Gap::Unreadable(file.damaged - self.damaged, reason));
        }
        if file.truncated && end == End::File && !self.ended {
            gaps.push(Gap::Truncated);
        }
        if let End::Crowded(most) = end
            && !self.ended
        {
            gaps.push(Gap::Other(format!(
                "the capture has more than {most} connections at a time, so this one, which was idle, is \
                 not followed any further"
            )));
        }
        if self.untimed > 0 {
            let untimed = self.untimed;
            gaps.push(Gap::Other(format!("{untimed} packets have no time in the file")));
        }
        if self.fragments > 0 {
            let fragments = self.fragments;
            let what = "packets came as fragments of IP, which are not joined";
            gaps.push(Gap::Other(format!("{fragments} {what}")));
        }
        gaps.into_iter().for_each(|gap| self.gap(sink, gap));
    }
}

/// Returns the client of a connection whose beginning is not captured: the end with the higher
/// port.
pub(super) fn is_client(port: u16, peer: u16) -> Side {
    if port >= peer { Side::Client } else { Side::Server }
}
