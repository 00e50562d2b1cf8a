//! Traffic that heeds no congestion: UDP through the bottleneck beside the flows.

mod emission;

use congestion::{Duration, Time};

use crate::links::Links;
use crate::packet::Data;
use crate::queue_delay::QueueDelay;
use crate::scenario::{Route, Scenario, UdpConfig, Window};
pub use emission::Emission;

/// What became of one source's packets inside the measuring window.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UdpRecord {
    /// Packets sent.
    pub sent: u64,
    /// Packets that the path dropped.
    pub dropped: u64,
    /// Bytes that arrived, as they are on the wire.
    pub delivered: u64,
    /// Time each packet spent in the queues of its links and on their wires.
    pub queue_delay: QueueDelay,
}

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
    window: Window,
    record: UdpRecord,
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
            window: scenario.window(),
            record: UdpRecord::default(),
        }
    }

    /// When the next packet leaves.
    pub(crate) fn next(&self) -> Time {
        self.next
    }

    pub(crate) fn send(&mut self, now: Time, links: &mut Links) {
        let entry = self.route.first.into();
        self.record.sent += u64::from(self.window.holds(now));
        let data = Data::bare(self.id, self.size, self.route.last, self.pn, now);
        self.pn += 1;
        match links.push(now, entry, data) {
            Ok(admitted) => {
                admitted.queue_delay.into_iter().for_each(|delay| self.on_queued(now, entry, delay));
            }
            Err(_) => self.on_dropped(now),
        }
        self.next = self.emission.next_departure();
    }

    /// A packet leaves its last link.
    pub(crate) fn on_delivery(&mut self, now: Time, data: &Data) {
        let bytes = u64::from(data.size);
        self.fresh += bytes;
        if self.window.holds(now) {
            self.record.delivered += bytes;
        }
    }

    pub(crate) fn on_queued(&mut self, now: Time, link: usize, delay: Duration) {
        if self.window.holds(now) {
            self.record.queue_delay.add(link, delay);
        }
    }

    pub(crate) fn on_dropped(&mut self, now: Time) {
        self.record.dropped += u64::from(self.window.holds(now));
    }

    /// Bytes that arrived since this was last asked.
    pub(crate) fn take_fresh(&mut self) -> u64 {
        std::mem::take(&mut self.fresh)
    }

    pub(crate) fn into_record(self) -> UdpRecord {
        self.record
    }
}
