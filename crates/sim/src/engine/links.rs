//! The links of a run, all in one row: the forward chain, then that of the way back. And which of them a turn touched:
//! only those can have something new to tell.

use std::ops::Range;

use link::{Admitted, Carried, Counters, DropReason, Dropped, Fate, Link};
use units::{Duration, Ecn, Time};

use crate::packet::Data;
use scenario::Scenario;

#[derive(Debug)]
pub(crate) struct Links {
    links: Vec<Link<Data>>,
    /// So many of them lead forward.
    forward: usize,
    touched: Range<usize>,
}

/// Nothing, and whatever is touched next becomes the whole of it.
#[expect(clippy::reversed_empty_ranges, reason = "the smallest and the largest number so far, of none")]
const NONE: Range<usize> = usize::MAX..0;

impl Links {
    pub(crate) fn new(scenario: &Scenario) -> Self {
        let forward = scenario.forward().count();
        let name = |i: usize| if i < forward { stream("link", i) } else { stream("reverse", i - forward) };
        let links = scenario.links().enumerate().map(|(i, c)| Link::new(c, scenario.seed, &name(i)));
        Self { links: links.collect(), forward, touched: NONE }
    }

    pub(crate) fn len(&self) -> usize {
        self.links.len()
    }

    /// This turn does something to a link.
    #[inline]
    pub(crate) fn touch(&mut self, link: usize) -> &mut Link<Data> {
        self.touched.start = self.touched.start.min(link);
        self.touched.end = self.touched.end.max(link + 1);
        &mut self.links[link]
    }

    /// The links from the first to the last that were touched since this was last asked.
    #[inline]
    pub(crate) fn take_touched(&mut self) -> Range<usize> {
        std::mem::replace(&mut self.touched, NONE)
    }

    /// A flow's packet enters a link. It has a copy of [`Link::push`] of its own: 2 % of the instructions.
    #[inline(always)]
    pub(crate) fn push_data(
        &mut self,
        now: Time,
        link: usize,
        data: Data,
    ) -> Result<Admitted, Dropped<Data>> {
        self.touch(link).push(now, data)
    }

    /// A flow's packet enters a link and stays with the flow ([`Link::carry`]): the link has nothing new to tell.
    #[inline(always)]
    pub(crate) fn carry(
        &mut self,
        now: Time,
        link: usize,
        size: u32,
        ecn: Ecn,
    ) -> Option<Result<Carried, DropReason>> {
        self.links[link].carry(now, size, ecn)
    }

    /// A packet enters a link.
    #[inline(never)]
    pub(crate) fn push(&mut self, now: Time, link: usize, data: Data) -> Result<Admitted, Dropped<Data>> {
        self.touch(link).push(now, data)
    }

    /// The next packet that leaves a link, if it is due. The link is one that is touched already.
    #[inline]
    pub(crate) fn pop(&mut self, now: Time, link: usize) -> Option<Data> {
        self.links[link].pop(now)
    }

    /// What an AQM decided about a packet after it had taken it.
    #[inline]
    pub(crate) fn fate(&mut self, link: usize) -> Option<Fate<Data>> {
        self.links[link].fate()
    }

    /// When a link wants to be looked at.
    #[inline]
    pub(crate) fn next(&self, link: usize) -> Time {
        self.links[link].next().unwrap_or(Time::NEVER)
    }

    /// Bytes in the queues of the forward links and packets that those have dropped.
    pub(crate) fn backlog_and_drops(&mut self, now: Time) -> (u64, u64) {
        let (mut bytes, mut drops) = (0, 0);
        for link in 0..self.forward {
            let link = self.touch(link);
            bytes += link.backlog(now).bytes;
            drops += link.counters(now).dropped().packets;
        }
        (bytes, drops)
    }

    /// Bytes that have left each link before this time.
    pub(crate) fn delivered(&mut self, time: Time) -> Vec<u64> {
        let last = time - Duration(1);
        (0..self.links.len()).map(|link| self.touch(link).counters(last).carried()).collect()
    }

    /// The counters of the forward links and of the others at the end of the run, with what is delivered just then.
    pub(crate) fn counters(&mut self, now: Time) -> (Vec<Counters>, Vec<Counters>) {
        for link in 0..self.links.len() {
            while self.touch(link).pop(now).is_some() {}
        }
        let mut forward: Vec<_> = (0..self.links.len()).map(|link| self.touch(link).counters(now)).collect();
        let reverse = forward.split_off(self.forward);
        (forward, reverse)
    }

    /// Every run of a debug build ends with this: packets are conserved, and once the queue has drained the backlog
    /// integrated over time is the sum of the packets' sojourns, to the nanosecond (Little's law).
    pub(crate) fn check(&mut self) {
        for link in &mut self.links {
            let mut now = Time::ZERO;
            while let Some(next) = link.next() {
                now = next;
                while link.pop(now).is_some() {}
            }
            // Those that flows keep are delivered too.
            let c = link.counters(now.max(Time(u64::MAX - 1)));
            assert_eq!(c.pushed, c.admitted + c.dropped(), "packets are conserved");
            if link.backlog(now).packets == 0 {
                assert_eq!(c.delivered, c.admitted + c.duplicated, "what was admitted is delivered");
                assert_eq!(c.backlog_integral, c.sojourn, "Little's law");
            }
        }
    }
}

/// The name of a link's random streams: that of the first is older than chains.
fn stream(chain: &str, link: usize) -> String {
    if link == 0 { chain.to_owned() } else { format!("{chain}.{link}") }
}
