//! A ping through the bottleneck beside the flows.

use congestion::{Duration, Time};
use path::Link;

use crate::histogram::Histogram;
use crate::packet::Data;
use crate::scenario::{ProbeConfig, Scenario, Window};

/// What the probe saw inside the measuring window.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProbeRecord {
    /// Packets sent.
    pub sent: u64,
    /// Packets that the path dropped.
    pub dropped: u64,
    /// Round-trip times of the answers.
    pub rtt: Histogram,
}

/// The probe of a run.
#[derive(Debug)]
pub(crate) struct Probe {
    /// Its number among the flows: the one after theirs.
    id: u32,
    config: ProbeConfig,
    /// Number of the next packet, which decides when it leaves.
    next: u64,
    /// From the link's end to the far end and back.
    rest: Duration,
    answer: Option<Duration>,
    window: Window,
    record: ProbeRecord,
}

impl Probe {
    pub(crate) fn new(id: u32, config: ProbeConfig, scenario: &Scenario) -> Self {
        Self {
            id,
            next: 0,
            rest: config.rtt - scenario.delay(config.route),
            answer: None,
            window: scenario.window(),
            record: ProbeRecord::default(),
            config,
        }
    }

    /// When the next packet leaves.
    pub(crate) fn next(&self) -> Time {
        Time::ZERO + self.config.interval * self.next
    }

    /// The link that its packets enter.
    pub(crate) fn entry(&self) -> usize {
        self.config.route.first.into()
    }

    pub(crate) fn send(&mut self, now: Time, link: &mut Link<Data>) {
        self.record.sent += u64::from(self.window.holds(now));
        let data = Data::bare(self.id, self.config.size, self.config.route.last, self.next, now);
        self.next += 1;
        if link.push(now, data).is_err() {
            self.on_dropped(now);
        }
    }

    pub(crate) fn on_dropped(&mut self, now: Time) {
        self.record.dropped += u64::from(self.window.holds(now));
    }

    /// A packet leaves its last link; from here on its round trip is known.
    pub(crate) fn on_delivery(&mut self, now: Time, data: &Data) {
        let rtt = now - data.sent + self.rest;
        self.answer = Some(rtt);
        if self.window.holds(now) {
            self.record.rtt.add(rtt);
        }
    }

    /// The newest answer since this was last asked.
    pub(crate) fn take_answer(&mut self) -> Option<Duration> {
        self.answer.take()
    }

    pub(crate) fn into_record(self) -> ProbeRecord {
        self.record
    }
}
