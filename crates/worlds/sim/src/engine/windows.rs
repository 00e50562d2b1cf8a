//! The windows of a run. Cumulative counters are read at the start and at the end of each. Windows
//! other than the measuring one also have their own counts.

use recovery::Stats;
use scenario::{FlowInWindow, ProbeRecord, Scenario, UdpRecord, Window, WindowOutcome};
use units::{Duration, Time};

use crate::endpoints::flow::Flow;
use crate::engine::links::Links;

/// Cumulative counters at one time.
#[derive(Clone, Debug, Default)]
struct CounterSnapshot {
    stats: Vec<Stats>,
    departed: Vec<u64>,
}

/// Counters at the start and at the end of a window, once time has reached them.
#[derive(Debug)]
struct Edges {
    window: Window,
    before: Option<CounterSnapshot>,
    after: Option<CounterSnapshot>,
}

impl Edges {
    /// Returns the next time to read the counters: the first nanosecond of the window, or the first
    /// behind it.
    fn next(&self) -> Time {
        let (from, behind) = (self.window.from, self.window.to + Duration(1));
        [(&self.before, from), (&self.after, behind)]
            .into_iter()
            .find(|(moment, _)| moment.is_none())
            .map_or(Time::NEVER, |(_, at)| at)
    }
}

/// Windows of a run.
#[derive(Debug)]
pub(crate) struct Windows {
    /// Edges of the other windows in their order, then those of the measuring window.
    edges: Vec<Edges>,
    next: Time,
}

impl Windows {
    pub(crate) fn new(scenario: &Scenario) -> Self {
        let windows = scenario.other_windows().chain([scenario.window()]);
        let edges = windows.map(|window| Edges { window, before: None, after: None });
        let mut windows = Self { edges: edges.collect(), next: Time::NEVER };
        windows.next = windows.due();
        windows
    }

    fn due(&self) -> Time {
        self.edges.iter().map(Edges::next).min().unwrap_or(Time::NEVER)
    }

    /// Returns the time before whose events the counters must be read.
    #[inline]
    pub(crate) fn next(&self) -> Time {
        self.next
    }

    /// Reads the counters due by `now`. Nothing has happened at `now` yet.
    #[cold]
    pub(crate) fn read(&mut self, now: Time, flows: &[Flow], links: &mut Links) {
        // In order of time, because that of a link never goes back.
        while self.due() <= now {
            let at = self.due();
            for edges in self.edges.iter_mut().filter(|edges| edges.next() == at) {
                let slot = if edges.before.is_none() { &mut edges.before } else { &mut edges.after };
                *slot = Some(CounterSnapshot::take(at, flows, links));
            }
        }
        self.next = self.due();
    }

    /// Closes every open window at the end of the run. Returns the results of the other windows,
    /// and the bytes that left each link inside the measuring window.
    pub(crate) fn finish(
        self,
        end: Time,
        flows: &mut [Flow],
        links: &mut Links,
        mut probe: Option<Vec<ProbeRecord>>,
        mut udp: Vec<Vec<UdpRecord>>,
    ) -> (Vec<WindowOutcome>, Vec<u64>) {
        let last = CounterSnapshot::take(end + Duration(1), flows, links);
        let (mut insides, mut carried) = (Vec::new(), Vec::new());
        let others = self.edges.len() - 1;
        for (number, edges) in self.edges.into_iter().enumerate().rev() {
            let after = edges.after.unwrap_or_else(|| last.clone());
            let before = edges.before.unwrap_or_else(|| last.clone());
            let departed = before.departed.iter().zip(&after.departed).map(|(b, a)| a - b).collect();
            if number == others {
                carried = departed;
                continue;
            }
            let stats = before.stats.into_iter().zip(after.stats);
            let inside = |(flow, (before, after)): (&mut Flow, (Stats, Stats))| FlowInWindow {
                measured: flow.record.measured_in(edges.window, end),
                before,
                after,
                ..flow.record.take_in_window(number)
            };
            insides.push(WindowOutcome {
                flows: flows.iter_mut().zip(stats).map(inside).collect(),
                carried: departed,
                probe: probe.as_mut().and_then(Vec::pop),
                udp: udp.iter_mut().filter_map(Vec::pop).collect(),
            });
        }
        insides.reverse();
        (insides, carried)
    }
}

impl CounterSnapshot {
    /// Reads the counters before anything happens at this time.
    fn take(at: Time, flows: &[Flow], links: &mut Links) -> Self {
        Self { stats: flows.iter().map(Flow::stats).collect(), departed: links.departed(at) }
    }
}
