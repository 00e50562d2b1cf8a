//! A run that pauses after each interval for the actions of its agents.

use std::collections::BTreeMap;
use std::sync::Arc;

use ::experiment::diagnostic::Diagnostic;
use ::experiment::file::Experiment as File;
use congestion::Controller;
use pyo3::prelude::*;
use results::measure;
use scenario::{FlowConfig, FlowSnapshot, Guests, Outcome, Scenario, Watch};
use sim::Simulation;
use units::{Duration, Time};

use crate::controller::object::rate;
use crate::controller::report::Report;
use crate::env::agent::{Agent, Handle, lock};
use crate::env::view::{Acts, View};

/// Columns of an agent's row.
pub(crate) const COLUMNS: [&str; 24] = [
    "now",
    "duration",
    "sent",
    "acked",
    "lost",
    "ce",
    "acks",
    "events",
    "mean_rtt",
    "latest_rtt",
    "min_rtt",
    "rtt_gradient",
    "delivery_rate",
    "bytes_in_flight",
    "app_limited",
    "cwnd",
    "pacing_rate",
    "packet",
    "queue",
    "drops",
    "delivered",
    "link_rate",
    "base_rtt",
    "state",
];

/// State of an agent, the last column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// The agent's flow has not begun, or its end has been told.
    #[default]
    Away = 0,
    Running = 1,
    /// The transfer is complete.
    Complete = 2,
    /// The time of the run, or that of the flow, is over.
    Over = 3,
}

/// Settings that all episodes of an environment share.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) interval: Duration,
    /// Numbers of the agents' flows.
    pub(crate) flows: Vec<usize>,
    pub(crate) action: String,
    pub(crate) acts: Acts,
    pub(crate) history: usize,
}

/// Beginning of an episode.
pub(crate) struct Start {
    pub(crate) file: File,
    pub(crate) case: usize,
    /// Keys with other values than in the file.
    pub(crate) changes: Vec<(String, String)>,
    pub(crate) seed: u64,
}

/// Reason why an episode cannot begin.
pub(crate) enum Refused {
    Mistake(Diagnostic),
    Other(String),
}

/// An agent of the episode.
#[derive(Debug, Default)]
struct Seat {
    shared: Handle,
    view: Option<View>,
    state: State,
}

/// A run that pauses after each interval.
pub(crate) struct Episode {
    settings: Arc<Settings>,
    seats: Vec<Seat>,
    scenario: Option<Scenario>,
    groups: Vec<String>,
    simulation: Option<Simulation>,
    /// Time of the next pause.
    goal: Time,
    outcome: Option<Outcome>,
}

impl Episode {
    pub(crate) fn new(settings: Arc<Settings>) -> Self {
        let seats = settings.flows.iter().map(|_| Seat::default()).collect();
        let groups = Vec::new();
        Self { settings, seats, scenario: None, groups, simulation: None, goal: Time::ZERO, outcome: None }
    }

    pub(crate) fn is_running(&self) -> bool {
        self.simulation.is_some()
    }

    /// Forgets the run.
    pub(crate) fn clear(&mut self) {
        (self.simulation, self.outcome) = (None, None);
    }

    /// Begins a run, with its first interval ahead.
    pub(crate) fn start(&mut self, start: Start) -> Result<(), Refused> {
        self.clear();
        let Start { file, case, changes, seed } = start;
        let mut file = match changes.is_empty() {
            true => file,
            false => file.with_overrides(&changes, false).map_err(Refused::Mistake)?,
        };
        file.seed = seed;
        let cases = file.cases();
        let unknown = || Refused::Other(format!("no case {case}; there are {}, from 0", cases.len()));
        let mut scenario = file.scenario(cases.get(case).ok_or_else(unknown)?, 0);
        self.groups = file.groups().to_vec();
        self.seat(&mut scenario)?;
        self.simulation = Some(Simulation::new(&scenario, Guests::new()));
        self.scenario = Some(scenario);
        for seat in &mut self.seats {
            let mds = lock(&seat.shared).mds;
            let view = View::new(&self.settings.action, self.settings.history, mds);
            (seat.view, seat.state) = (view.ok(), State::Away);
        }
        self.goal = Time::ZERO + self.settings.interval;
        Ok(())
    }

    /// Puts agents in the place of controllers.
    fn seat(&self, scenario: &mut Scenario) -> Result<(), Refused> {
        let Settings { interval, acts, .. } = *self.settings;
        let known = scenario.flows.len();
        let cuts = !scenario.duration.0.is_multiple_of(interval.0);
        for (seat, number) in self.seats.iter().zip(&self.settings.flows) {
            let unknown = || Refused::Other(format!("no flow {number}; there are {known}, from 0"));
            let flow = scenario.flows.get_mut(*number).ok_or_else(unknown)?;
            let early = cuts || flow.transfer.is_some() || flow.stop.is_some();
            let shared = Arc::clone(&seat.shared);
            flow.algorithm = flow.algorithm.wrapped(Arc::new(move |inner, path| -> Box<dyn Controller> {
                let inner = (acts == Acts::None).then_some(inner);
                Box::new(Agent::new(Arc::clone(&shared), interval, inner, early, path))
            }));
        }
        Ok(())
    }

    /// Takes the actions of all agents for the next interval. Those of absent agents are ignored.
    pub(crate) fn act(&mut self, actions: &[u8]) -> PyResult<()> {
        let size = self.settings.acts.size();
        for (seat, action) in self.seats.iter_mut().zip(actions.chunks(size)) {
            if let Some(view) = seat.view.as_mut().filter(|_| seat.state == State::Running) {
                view.act(action)?;
                lock(&seat.shared).action = Some((view.cwnd() as u64, view.pacing_rate().map(rate)));
            }
        }
        self.goal += self.settings.interval;
        Ok(())
    }

    /// Runs towards the next pause, but at most this long. Reports whether it is reached.
    pub(crate) fn advance(&mut self, most: Duration, watch: &Watch) -> bool {
        let Some(simulation) = &mut self.simulation else { return true };
        let until = self.goal.min(simulation.now() + most);
        simulation.step(until, watch, &mut None) && (until == self.goal || simulation.is_done())
    }

    /// Writes observations and rows of all agents. Ends a run that is over.
    pub(crate) fn observe(&mut self, observations: &mut [f32], rows: &mut [f64]) {
        let (Some(simulation), Some(scenario)) = (&self.simulation, &self.scenario) else { return };
        let (snapshot, is_over) = (simulation.snapshot(), simulation.is_done());
        let watches = self.settings.acts == Acts::None;
        let link_rate = scenario.forward().map(|link| link.rate.nominal().0).min().unwrap_or(0) as f64;
        let length = self.settings.history * crate::env::view::FEATURES.len();
        let outputs = observations.chunks_mut(length).zip(rows.chunks_mut(COLUMNS.len()));
        for ((seat, number), (observation, row)) in
            self.seats.iter_mut().zip(&self.settings.flows).zip(outputs)
        {
            let flow = snapshot.flows.get(*number);
            let config = scenario.flows.get(*number);
            let (Some(flow), Some(config)) = (flow, config) else { continue };
            let report = report(seat, flow, snapshot.time, watches, is_over);
            let (Some(report), Some(view)) = (report, &mut seat.view) else {
                seat.state = State::Away;
                continue;
            };
            view.add(&report);
            observation.copy_from_slice(view.rows());
            // A flow that stops has a time of its own, which is over.
            seat.state = match (flow.sample.running, is_over) {
                (false, _) if config.transfer.is_some() => State::Complete,
                (true, false) => State::Running,
                _ => State::Over,
            };
            let path =
                [snapshot.backlog as f64, snapshot.drops as f64, flow.sample.delivered as f64, link_rate];
            row.copy_from_slice(&row_of(&report, view, flow, path, config, seat.state));
        }
        if is_over {
            self.outcome = self.simulation.take().map(Simulation::finish);
        }
    }

    /// Reports whether the run goes on without any agent.
    pub(crate) fn is_left(&self) -> bool {
        let mut states = self.seats.iter().map(|seat| seat.state);
        let is_over = states.clone().any(|state| [State::Complete, State::Over].contains(&state));
        self.is_running() && is_over && !states.any(|state| state == State::Running)
    }

    /// Runs on for at most this long, without pauses. Ends a run that is over.
    pub(crate) fn play_on(&mut self, most: Duration, watch: &Watch) {
        self.goal = Time::NEVER;
        if self.advance(most, watch) {
            self.outcome = self.simulation.take().map(Simulation::finish);
        }
    }

    /// Reports whether no agent has come yet. Then another interval is ahead.
    pub(crate) fn waits(&mut self) -> bool {
        let waits = self.is_running() && self.seats.iter().all(|seat| seat.state == State::Away);
        if waits {
            self.goal += self.settings.interval;
        }
        waits
    }

    /// Returns the metrics of a run that is over.
    pub(crate) fn metrics(&self) -> Option<BTreeMap<String, f64>> {
        let values = measure::measure(self.scenario.as_ref()?, self.outcome.as_ref()?, &self.groups);
        Some(values.into_iter().map(|(metric, value)| (metric.to_string(), value)).collect())
    }
}

/// Returns the last interval of an agent: its report, or the sums of a flow that makes none.
fn report(seat: &Seat, flow: &FlowSnapshot, now: Time, watches: bool, is_over: bool) -> Option<Report> {
    let mut shared = lock(&seat.shared);
    let was_running = seat.state == State::Running;
    let has_ended = was_running && (is_over || !flow.sample.running);
    let is_watched = watches && shared.has_sent && (was_running || flow.sample.running);
    shared.report.take().or_else(|| (has_ended || is_watched).then(|| shared.unfinished.take(now)))
}

/// Returns the columns of a row, in their order.
fn row_of(
    report: &Report,
    view: &View,
    flow: &FlowSnapshot,
    [queue, drops, delivered, link_rate]: [f64; 4],
    config: &FlowConfig,
    state: State,
) -> [f64; COLUMNS.len()] {
    let rtt = view.rtt(report);
    [
        report.now,
        report.duration,
        report.sent as f64,
        report.acked as f64,
        report.lost as f64,
        report.ce as f64,
        report.acks as f64,
        report.events as f64,
        rtt,
        report.latest_rtt.unwrap_or(rtt),
        report.min_rtt.unwrap_or(rtt),
        report.rtt_gradient,
        report.delivery_rate.unwrap_or(0.0),
        report.bytes_in_flight as f64,
        f64::from(u8::from(report.app_limited)),
        flow.sample.cwnd.unwrap_or(0) as f64,
        flow.sample.pacing_rate.map_or(0.0, |rate| rate.0 as f64),
        f64::from(config.transport.mds()),
        queue,
        drops,
        delivered,
        link_rate,
        config.rtt.as_secs_f64(),
        f64::from(state as u8),
    ]
}
