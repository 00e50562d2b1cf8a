//! Unresponsive traffic: UDP through the bottleneck beside the flows.

use link::Stay;
use scenario::{Emission, Route, Scenario, UdpConfig, UdpRecord, Windowed};
use units::Time;

use crate::engine::links::Links;
use crate::packet::Data;

/// One source and its sink.
#[derive(Debug)]
pub(crate) struct Udp {
    /// Its number among the flows: after theirs and the probe's.
    id: u32,
    size: u32,
    route: Route,
    emission: Emission,
    /// When the next packet leaves.
    next: Time,
    pn: u64,
    /// Bytes that arrived since somebody asked.
    fresh: u64,
    record: Windowed<UdpRecord>,
}

impl Udp {
    /// `number` among the sources of the run, from 0.
    pub(crate) fn new(id: u32, number: usize, config: &UdpConfig, scenario: &Scenario) -> Self {
        let mut emission = Emission::new(config, number, scenario);
        Self {
            id,
            size: config.size,
            route: scenario.bounded(config.route),
            next: emission.next_departure(),
            emission,
            pn: 0,
            fresh: 0,
            record: scenario.windowed(),
        }
    }

    /// When the next packet leaves.
    pub(crate) fn next(&self) -> Time {
        self.next
    }

    pub(crate) fn send(&mut self, now: Time, links: &mut Links) {
        let entry = self.route.first.into();
        self.record.count(now, |record| record.sent += 1);
        let data = Data::bare(self.id, self.size, self.route.last, self.pn, now);
        self.pn += 1;
        match links.push(now, entry, data) {
            Ok(admitted) => {
                admitted.stay.into_iter().for_each(|stay| self.on_queued(now, entry, stay));
            }
            Err(_) => self.on_dropped(now),
        }
        self.next = self.emission.next_departure();
    }

    /// A packet leaves its last link.
    pub(crate) fn on_delivery(&mut self, now: Time, data: &Data) {
        let bytes = u64::from(data.size);
        self.fresh += bytes;
        self.record.count(now, |record| record.delivered += bytes);
    }

    pub(crate) fn on_queued(&mut self, now: Time, link: usize, stay: Stay) {
        self.record.count(now, |record| record.queue_delay.add(link, stay));
    }

    pub(crate) fn on_dropped(&mut self, now: Time) {
        self.record.count(now, |record| record.dropped += 1);
    }

    /// Bytes that arrived since this was last asked.
    pub(crate) fn take_fresh(&mut self) -> u64 {
        std::mem::take(&mut self.fresh)
    }

    /// That of the measuring window, and those of the others.
    pub(crate) fn into_records(self) -> (UdpRecord, Vec<UdpRecord>) {
        self.record.into_counts()
    }
}
