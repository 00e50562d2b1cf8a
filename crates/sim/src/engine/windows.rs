//! Windows beside the measuring one: each has counts of its own, and what only ever grows is read off where it begins and
//! where it ends.

use recovery::Stats;
use scenario::{FlowInside, Inside, ProbeRecord, Scenario, UdpRecord, Window};
use units::{Duration, Time};

use crate::endpoints::flow::Flow;
use crate::engine::links::Links;

/// What only grows, at one moment.
#[derive(Clone, Debug, Default)]
struct Moment {
    stats: Vec<Stats>,
    delivered: Vec<u64>,
}

/// Where a window begins and ends, as far as time has come.
#[derive(Debug)]
struct Edges {
    window: Window,
    before: Option<Moment>,
    after: Option<Moment>,
}

impl Edges {
    /// The next moment that is wanted: the first nanosecond of the window, the first behind it.
    fn next(&self) -> Time {
        let (from, behind) = (self.window.from, self.window.to + Duration(1));
        [(&self.before, from), (&self.after, behind)]
            .into_iter()
            .find(|(moment, _)| moment.is_none())
            .map_or(Time::NEVER, |(_, at)| at)
    }
}

/// The windows of a run.
#[derive(Debug)]
pub(crate) struct Windows {
    edges: Vec<Edges>,
    next: Time,
}

impl Windows {
    pub(crate) fn new(scenario: &Scenario) -> Self {
        let edges = scenario.other_windows().map(|window| Edges { window, before: None, after: None });
        let mut windows = Self { edges: edges.collect(), next: Time::NEVER };
        windows.next = windows.due();
        windows
    }

    fn due(&self) -> Time {
        self.edges.iter().map(Edges::next).min().unwrap_or(Time::NEVER)
    }

    /// Before anything happens at this time, somebody has to look.
    #[inline]
    pub(crate) fn next(&self) -> Time {
        self.next
    }

    /// Time has come to `now`, and nothing has happened at it yet.
    #[cold]
    pub(crate) fn look(&mut self, now: Time, flows: &[Flow], links: &mut Links) {
        // In the order of their times: a link's does not go back.
        while self.due() <= now {
            let at = self.due();
            for edges in self.edges.iter_mut().filter(|edges| edges.next() == at) {
                let slot = if edges.before.is_none() { &mut edges.before } else { &mut edges.after };
                *slot = Some(Moment::of(at, flows, links));
            }
        }
        self.next = self.due();
    }

    /// The run ends, and with it every window that is open.
    pub(crate) fn finish(
        self,
        end: Time,
        flows: &mut [Flow],
        links: &mut Links,
        mut probe: Option<Vec<ProbeRecord>>,
        mut udp: Vec<Vec<UdpRecord>>,
    ) -> Vec<Inside> {
        let last = Moment::of(end + Duration(1), flows, links);
        let mut insides = Vec::new();
        for (number, edges) in self.edges.into_iter().enumerate().rev() {
            let after = edges.after.unwrap_or_else(|| last.clone());
            let before = edges.before.unwrap_or_else(|| last.clone());
            let stats = before.stats.into_iter().zip(after.stats);
            let inside = |(flow, (before, after)): (&mut Flow, (Stats, Stats))| FlowInside {
                measured: flow.record.measured_in(edges.window, end),
                before,
                after,
                ..flow.record.take_inside(number)
            };
            insides.push(Inside {
                flows: flows.iter_mut().zip(stats).map(inside).collect(),
                delivered: before.delivered.iter().zip(&after.delivered).map(|(b, a)| a - b).collect(),
                probe: probe.as_mut().and_then(Vec::pop),
                udp: udp.iter_mut().filter_map(Vec::pop).collect(),
            });
        }
        insides.reverse();
        insides
    }
}

impl Moment {
    /// Before anything happens at this time.
    fn of(at: Time, flows: &[Flow], links: &mut Links) -> Self {
        Self { stats: flows.iter().map(Flow::stats).collect(), delivered: links.delivered(at) }
    }
}
