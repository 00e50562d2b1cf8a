//! Windows beside the measuring one: each has counts of its own, and what only ever grows is read off where it begins and
//! where it ends.

use recovery::Stats;
use units::{Duration, Time};

use crate::flow::Flow;
use crate::links::Links;
use crate::probe::ProbeRecord;
use crate::record::{MediaTotals, ObjectTotals, Totals};
use crate::scenario::{Scenario, Window};
use crate::udp::UdpRecord;

/// What happened in a window of the scenario's.
#[derive(Clone, Debug)]
pub struct Inside {
    /// Per flow, in the scenario's order.
    pub flows: Vec<FlowInside>,
    /// Bytes that left each link inside it, forward ones first.
    pub delivered: Vec<u64>,
    /// The probe's answers, if there was one.
    pub probe: Option<ProbeRecord>,
    /// Per source of UDP.
    pub udp: Vec<UdpRecord>,
}

/// One flow in a window.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlowInside {
    /// What is counted inside it.
    pub totals: Totals,
    /// Of a media source.
    pub media: Option<MediaTotals>,
    /// Of an on-off source.
    pub objects: Option<ObjectTotals>,
    /// The ledger where the window begins.
    pub before: Stats,
    /// The ledger where it ends.
    pub after: Stats,
    /// How long the flow ran inside it.
    pub measured: Duration,
}

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
        for edges in &mut self.edges {
            while edges.next() <= now {
                let at = edges.next();
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
        let last = Moment::of(end, flows, links);
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
    fn of(at: Time, flows: &[Flow], links: &mut Links) -> Self {
        Self { stats: flows.iter().map(Flow::stats).collect(), delivered: links.delivered(at) }
    }
}
