//! Traffic that heeds no congestion: UDP through the bottleneck beside the flows.

mod emission;

use link::Stay;
use units::Time;

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
    /// The same for other windows.
    others: Vec<(Window, UdpRecord)>,
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
            others: scenario.other_windows().map(|window| (window, UdpRecord::default())).collect(),
        }
    }

    /// Counts what happens now, in every window that it is in.
    fn count(&mut self, now: Time, count: impl Fn(&mut UdpRecord)) {
        let all = std::iter::once((&self.window, &mut self.record))
            .chain(self.others.iter_mut().map(|(w, r)| (&*w, r)));
        all.filter(|(window, _)| window.holds(now)).for_each(|(_, record)| count(record));
    }

    /// When the next packet leaves.
    pub(crate) fn next(&self) -> Time {
        self.next
    }

    pub(crate) fn send(&mut self, now: Time, links: &mut Links) {
        let entry = self.route.first.into();
        self.count(now, |record| record.sent += 1);
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
        self.count(now, |record| record.delivered += bytes);
    }

    pub(crate) fn on_queued(&mut self, now: Time, link: usize, stay: Stay) {
        self.count(now, |record| record.queue_delay.add(link, stay));
    }

    pub(crate) fn on_dropped(&mut self, now: Time) {
        self.count(now, |record| record.dropped += 1);
    }

    /// Bytes that arrived since this was last asked.
    pub(crate) fn take_fresh(&mut self) -> u64 {
        std::mem::take(&mut self.fresh)
    }

    /// That of the measuring window, and those of the others.
    pub(crate) fn into_records(self) -> (UdpRecord, Vec<UdpRecord>) {
        (self.record, self.others.into_iter().map(|(_, record)| record).collect())
    }
}
