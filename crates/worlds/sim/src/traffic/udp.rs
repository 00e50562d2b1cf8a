//! Unresponsive traffic: UDP through the bottleneck beside the flows.

use link::QueueTime;
use scenario::{Emission, Route, Scenario, UdpConfig, UdpRecord, Windowed};
use units::Time;

use crate::engine::links::Links;
use crate::packet::Data;

/// UDP source and its sink.
#[derive(Debug)]
pub(crate) struct Udp {
    /// Number among the senders of packets: after the flows and the ping.
    id: u32,
    size: u32,
    route: Route,
    emission: Emission,
    /// Departure of the next packet.
    next: Time,
    pn: u64,
    /// Bytes that arrived since the previous query.
    fresh: u64,
    record: Windowed<UdpRecord>,
}

impl Udp {
    /// Creates a source. `number` is its number among the sources of the run, from 0.
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

    /// Returns the departure of the next packet.
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
                admitted.queue_time.into_iter().for_each(|queue_time| self.on_queued(now, entry, queue_time));
            }
            Err(_) => self.on_dropped(now),
        }
        self.next = self.emission.next_departure();
    }

    /// Takes a packet that leaves its last link.
    pub(crate) fn on_delivery(&mut self, now: Time, data: &Data) {
        let bytes = u64::from(data.size);
        self.fresh += bytes;
        self.record.count(now, |record| record.delivered += bytes);
    }

    pub(crate) fn on_queued(&mut self, now: Time, link: usize, queue_time: QueueTime) {
        self.record.count(now, |record| record.queue_delay.add(link, queue_time));
    }

    pub(crate) fn on_dropped(&mut self, sent: Time) {
        self.record.count(sent, |record| record.dropped += 1);
    }

    /// Takes the number of bytes that arrived since the previous call.
    pub(crate) fn take_fresh(&mut self) -> u64 {
        std::mem::take(&mut self.fresh)
    }

    /// Returns the records of the measuring window and of the others.
    pub(crate) fn into_records(self) -> (UdpRecord, Vec<UdpRecord>) {
        self.record.into_counts()
    }
}
