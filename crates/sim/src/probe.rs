//! A ping through the bottleneck beside the flows.

use units::{Duration, Time};

use crate::histogram::Histogram;
use crate::links::Links;
use crate::packet::Data;
use crate::scenario::{ProbeConfig, Route, Scenario, Window};

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
    /// What its links' delays leave of the base RTT.
    rest: Duration,
    answer: Option<Duration>,
    window: Window,
    record: ProbeRecord,
    /// The same for other windows.
    others: Vec<(Window, ProbeRecord)>,
}

impl Probe {
    pub(crate) fn new(id: u32, config: ProbeConfig, scenario: &Scenario) -> Self {
        let (route, back) = (scenario.bounded(config.route), config.back.map(|back| scenario.bounded(back)));
        let on_links = scenario.delay(route) + back.map_or(Duration::ZERO, |back| scenario.delay(back));
        Self {
            id,
            next: 0,
            rest: config.rtt - on_links,
            answer: None,
            window: scenario.window(),
            record: ProbeRecord::default(),
            others: scenario.other_windows().map(|window| (window, ProbeRecord::default())).collect(),
            config: ProbeConfig { route, back, ..config },
        }
    }

    /// Counts what happens now, in every window that it is in.
    fn count(&mut self, now: Time, count: impl Fn(&mut ProbeRecord)) {
        let all = std::iter::once((&self.window, &mut self.record))
            .chain(self.others.iter_mut().map(|(w, r)| (&*w, r)));
        all.filter(|(window, _)| window.holds(now)).for_each(|(_, record)| count(record));
    }

    /// When the next packet leaves.
    pub(crate) fn next(&self) -> Time {
        Time::ZERO + self.config.interval * self.next
    }

    pub(crate) fn send(&mut self, now: Time, links: &mut Links) {
        self.count(now, |record| record.sent += 1);
        let pn = self.next;
        self.next += 1;
        self.push(now, self.config.route, pn, now, links);
    }

    fn push(&mut self, now: Time, route: Route, pn: u64, sent: Time, links: &mut Links) {
        let data = Data::bare(self.id, self.config.size, route.last, pn, sent);
        if links.push(now, route.first.into(), data).is_err() {
            self.on_dropped(now);
        }
    }

    pub(crate) fn on_dropped(&mut self, now: Time) {
        self.count(now, |record| record.dropped += 1);
    }

    /// A packet leaves its last link: the answer begins its way or, if there are no links on that, its round trip is
    /// known from here on.
    pub(crate) fn on_delivery(&mut self, now: Time, data: &Data, links: &mut Links) {
        if let Some(back) = self.config.back.filter(|back| back.last != data.last_link) {
            return self.push(now, back, data.pn, data.sent, links);
        }
        let rtt = now - data.sent + self.rest;
        self.answer = Some(rtt);
        self.count(now, |record| record.rtt.add(rtt));
    }

    /// The newest answer since this was last asked.
    pub(crate) fn take_answer(&mut self) -> Option<Duration> {
        self.answer.take()
    }

    /// That of the measuring window, and those of the others.
    pub(crate) fn into_records(self) -> (ProbeRecord, Vec<ProbeRecord>) {
        (self.record, self.others.into_iter().map(|(_, record)| record).collect())
    }
}
