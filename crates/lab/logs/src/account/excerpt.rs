//! Events for sequence diagrams: the beginning of a connection, and what surrounds its first loss.

use std::collections::VecDeque;

use scenario::trace::{Event, Trace};
use units::Time;

/// Number of events of the beginning, before the first loss, and from it on.
const BEGIN: usize = 120;
const BEFORE: usize = 60;
const AFTER: usize = 120;

/// Events at one end.
#[derive(Clone, Debug, Default)]
pub(super) struct Excerpt {
    begin: Trace,
    recent: VecDeque<(Time, Event)>,
    around: Trace,
    /// Time of the first loss.
    loss: Option<Time>,
}

impl Excerpt {
    /// Adds a decision of the sender. The first is a loss or a reduction.
    pub(super) fn on_decision(&mut self, at: Time, event: Event) {
        if self.loss.is_none() {
            self.loss = Some(at);
            self.around.extend(self.recent.drain(..));
        }
        self.add(at, event);
    }

    /// Adds a packet.
    pub(super) fn add(&mut self, at: Time, event: Event) {
        if self.begin.len() < BEGIN {
            self.begin.push((at, event.clone()));
        }
        if self.loss.is_some() {
            if self.around.len() < BEFORE + AFTER {
                self.around.push((at, event));
            }
            return;
        }
        if self.recent.len() == BEFORE {
            self.recent.pop_front();
        }
        self.recent.push_back((at, event));
    }

    /// Returns the two parts, each in the order of time; the second is empty without a loss.
    pub(super) fn parts(&self) -> [&Trace; 2] {
        [&self.begin, &self.around]
    }
}
