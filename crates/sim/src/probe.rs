//! A ping through the bottleneck beside the flows.

use congestion::{Duration, Time};
use path::{Fate, Link};
use recovery::Ecn;

use crate::histogram::Histogram;
use crate::packet::{Chunk, Data};
use crate::scenario::{ProbeConfig, Scenario};

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
    window: (Time, Time),
    record: ProbeRecord,
}

impl Probe {
    pub(crate) fn new(id: u32, config: ProbeConfig, scenario: &Scenario) -> Self {
        Self {
            id,
            next: 0,
            rest: config.rtt - scenario.link.delay,
            answer: None,
            window: scenario.window(),
            record: ProbeRecord::default(),
            config,
        }
    }

    /// When the next packet leaves.
    pub(crate) fn next(&self) -> Time {
        self.left_at(self.next)
    }

    fn left_at(&self, number: u64) -> Time {
        Time::ZERO + self.config.interval * number
    }

    fn counts(&self, now: Time) -> bool {
        self.window.0 <= now && now <= self.window.1
    }

    pub(crate) fn send(&mut self, now: Time, link: &mut Link<Data>) {
        self.record.sent += u64::from(self.counts(now));
        let data = Data {
            flow: self.id,
            size: self.config.size,
            pn: self.next,
            chunk: Chunk { offset: 0, len: 0 },
            ecn: Ecn::NotEct,
            least_unacked: 0,
        };
        self.next += 1;
        if link.push(now, data).is_err() {
            self.record.dropped += u64::from(self.counts(now));
        }
    }

    /// A packet leaves the link; from here on its round trip is known.
    pub(crate) fn on_delivery(&mut self, now: Time, data: &Data) {
        let rtt = now - self.left_at(data.pn) + self.rest;
        self.answer = Some(rtt);
        if self.counts(now) {
            self.record.rtt.add(rtt);
        }
    }

    pub(crate) fn on_fate(&mut self, now: Time, fate: &Fate<Data>) {
        if let Fate::Dropped(_) = fate {
            self.record.dropped += u64::from(self.counts(now));
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
