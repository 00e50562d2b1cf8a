//! A ping through the bottleneck beside the flows.

use scenario::{ProbeConfig, ProbeRecord, Route, Scenario, Windowed};
use units::{Duration, Time};

use crate::engine::links::Links;
use crate::packet::Data;

/// Ping of a run.
#[derive(Debug)]
pub(crate) struct Ping {
    /// Number among the senders of packets: the one after the flows.
    id: u32,
    config: ProbeConfig,
    /// Number of the next packet, which determines its departure.
    next: u64,
    /// Part of the base RTT that is not delay of its links.
    rest: Duration,
    answer: Option<Duration>,
    record: Windowed<ProbeRecord>,
}

impl Ping {
    pub(crate) fn new(id: u32, config: ProbeConfig, scenario: &Scenario) -> Self {
        let (route, back) = (scenario.bounded(config.route), config.back.map(|back| scenario.bounded(back)));
        let on_links = scenario.delay(route) + back.map_or(Duration::ZERO, |back| scenario.delay(back));
        Self {
            id,
            next: 0,
            rest: config.rtt - on_links,
            answer: None,
            record: scenario.windowed(),
            config: ProbeConfig { route, back, ..config },
        }
    }

    /// Returns the departure of the next packet.
    pub(crate) fn next(&self) -> Time {
        Time::ZERO + self.config.interval * self.next
    }

    pub(crate) fn send(&mut self, now: Time, links: &mut Links) {
        self.record.count(now, |record| record.sent += 1);
        let pn = self.next;
        self.next += 1;
        self.push(now, self.config.route, pn, now, links);
    }

    fn push(&mut self, now: Time, route: Route, pn: u64, sent: Time, links: &mut Links) {
        let data = Data::bare(self.id, self.config.size, route.last, pn, sent);
        if links.push(now, route.first.into(), data).is_err() {
            self.on_dropped(sent);
        }
    }

    pub(crate) fn on_dropped(&mut self, sent: Time) {
        self.record.count(sent, |record| record.dropped += 1);
    }

    /// Takes a packet that leaves its last link. The answer begins its way back or, if that has no
    /// links, the round trip is known.
    pub(crate) fn on_delivery(&mut self, now: Time, data: &Data, links: &mut Links) {
        if let Some(back) = self.config.back.filter(|back| back.last != data.last_link) {
            return self.push(now, back, data.pn, data.sent, links);
        }
        let rtt = now - data.sent + self.rest;
        self.answer = Some(rtt);
        self.record.count(now, |record| record.rtt.add(rtt));
    }

    /// Takes the newest answer since the previous call.
    pub(crate) fn take_answer(&mut self) -> Option<Duration> {
        self.answer.take()
    }

    /// Returns the records of the measuring window and of the others.
    pub(crate) fn into_records(self) -> (ProbeRecord, Vec<ProbeRecord>) {
        self.record.into_counts()
    }
}
