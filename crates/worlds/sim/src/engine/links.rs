//! The links of a run in one list: the forward chain, then that of the return path. Tracks the
//! links touched in a turn, because only those can have news.

use std::ops::Range;

use link::{Admitted, Counters, DropReason, Dropped, Link, PacketOutcome, Transit};
use units::{Duration, Ecn, Time};

use crate::packet::Data;
use scenario::Scenario;

#[derive(Debug)]
pub(crate) struct Links {
    links: Vec<Link<Data>>,
    /// Delivery of the last packet that passed each link while its flow kept it.
    last_deliveries: Vec<Time>,
    /// Number of forward links.
    forward: usize,
    touched: Range<usize>,
}

/// Empty range, which the next touched link replaces.
#[expect(clippy::reversed_empty_ranges, reason = "the smallest and the largest number so far, of none")]
const NONE: Range<usize> = usize::MAX..0;

impl Links {
    pub(crate) fn new(scenario: &Scenario) -> Self {
        let forward = scenario.forward().count();
        let new = |(i, config)| Link::new(config, scenario.seed, &scenario.link_streams(i));
        let links: Vec<_> = scenario.links().enumerate().map(new).collect();
        Self { last_deliveries: vec![Time::ZERO; links.len()], links, forward, touched: NONE }
    }

    pub(crate) fn len(&self) -> usize {
        self.links.len()
    }

    /// Returns a link and marks it as touched in this turn.
    #[inline]
    pub(crate) fn touch(&mut self, link: usize) -> &mut Link<Data> {
        self.touched.start = self.touched.start.min(link);
        self.touched.end = self.touched.end.max(link + 1);
        &mut self.links[link]
    }

    /// Takes the range of links touched since the previous call.
    #[inline]
    pub(crate) fn take_touched(&mut self) -> Range<usize> {
        std::mem::replace(&mut self.touched, NONE)
    }

    /// Moves a flow's packet into a link. It inlines [`Link::push`] separately, which saves 2 % of
    /// the instructions.
    #[inline(always)]
    pub(crate) fn push_data(
        &mut self,
        now: Time,
        link: usize,
        data: Data,
    ) -> Result<Admitted, Dropped<Data>> {
        self.touch(link).push(now, data)
    }

    /// Sends a flow's packet through a link while the flow keeps it ([`Link::transit`]). The link
    /// then has no news.
    #[inline(always)]
    pub(crate) fn transit(
        &mut self,
        now: Time,
        link: usize,
        size: u32,
        ecn: Ecn,
    ) -> Option<Result<Transit, DropReason>> {
        self.links[link].transit(now, size, ecn)
    }

    /// Notes the delivery of a packet that its flow keeps.
    #[inline]
    pub(crate) fn on_kept(&mut self, link: usize, delivery: Time) {
        self.last_deliveries[link] = delivery;
    }

    /// Returns a time before which the link delivers no packet that enters it later. The link is a
    /// FIFO wherever flows keep their packets.
    #[inline]
    pub(crate) fn last_delivery(&self, link: usize) -> Time {
        self.last_deliveries[link]
    }

    /// Moves a packet into a link.
    #[inline(never)]
    pub(crate) fn push(&mut self, now: Time, link: usize, data: Data) -> Result<Admitted, Dropped<Data>> {
        self.touch(link).push(now, data)
    }

    /// Returns the next packet that leaves a link, if it is due. The link must already be touched.
    #[inline]
    pub(crate) fn pop(&mut self, now: Time, link: usize) -> Option<Data> {
        self.links[link].pop(now)
    }

    /// Returns what an AQM decided about a packet after it had admitted it.
    #[inline]
    pub(crate) fn next_outcome(&mut self, link: usize) -> Option<PacketOutcome<Data>> {
        self.links[link].next_outcome()
    }

    /// Returns the time of a link's next event.
    #[inline]
    pub(crate) fn next(&self, link: usize) -> Time {
        self.links[link].next().unwrap_or(Time::NEVER)
    }

    /// Returns the bytes in the queues of the forward links, and the number of packets that those
    /// have dropped.
    pub(crate) fn backlog_and_drops(&mut self, now: Time) -> (u64, u64) {
        let (mut bytes, mut drops) = (0, 0);
        for link in 0..self.forward {
            let link = self.touch(link);
            bytes += link.backlog(now).bytes;
            drops += link.counters(now).dropped().packets;
        }
        (bytes, drops)
    }

    /// Returns the bytes whose transmission over each link ended before this time.
    pub(crate) fn departed(&mut self, time: Time) -> Vec<u64> {
        let last = time - Duration(1);
        (0..self.links.len()).map(|link| self.touch(link).counters(last).departed.bytes).collect()
    }

    /// Returns the counters of the forward and of the reverse links at the end of the run,
    /// including deliveries at that time.
    pub(crate) fn counters(&mut self, now: Time) -> (Vec<Counters>, Vec<Counters>) {
        for link in 0..self.links.len() {
            while self.touch(link).pop(now).is_some() {}
        }
        let mut forward: Vec<_> = (0..self.links.len()).map(|link| self.touch(link).counters(now)).collect();
        let reverse = forward.split_off(self.forward);
        (forward, reverse)
    }

    /// Checks invariants at the end of every run of a debug build. Packets are conserved. Once the
    /// queue has drained, the backlog integrated over time equals the sum of the packets' sojourn
    /// times, to the nanosecond (Little's law).
    pub(crate) fn check(&mut self) {
        for link in &mut self.links {
            let mut now = Time::ZERO;
            while let Some(next) = link.next() {
                now = next;
                while link.pop(now).is_some() {}
            }
            // Packets kept by flows are delivered too.
            let c = link.counters(now.max(Time(u64::MAX - 1)));
            assert_eq!(c.pushed, c.admitted + c.dropped(), "packets are conserved");
            if link.backlog(now).packets == 0 {
                assert_eq!(c.delivered, c.admitted + c.duplicated, "all admitted packets are delivered");
                assert_eq!(c.backlog_integral, c.sojourn, "Little's law");
            }
        }
    }
}
