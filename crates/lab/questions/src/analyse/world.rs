//! A world whose runs are in logs: each flow is a connection, in order.

use std::path::Path;
use std::sync::Arc;

use logs::account::Connection;
use scenario::trace::Trace;
use scenario::{End, Outcome, Ran, Recorder, Scenario, Series, Watch, WindowOutcome, World};
use units::{Duration, Time};

/// Interval of the time series without one in the scenario.
const INTERVAL: Duration = Duration::from_millis(100);

/// The world of some logs.
pub(crate) struct Logs {
    connections: Arc<[Connection]>,
}

impl Logs {
    pub(crate) fn new(connections: Arc<[Connection]>) -> Self {
        Self { connections }
    }
}

/// Returns the metrics that at least one connection does not tell.
pub(crate) fn untold(connections: &[Connection]) -> Vec<&'static str> {
    let mut all: Vec<&'static str> =
        connections.iter().flat_map(|connection| connection.unknown.keys().copied()).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Returns the connections as the outcome of a run, with the time series.
pub(crate) fn outcome(connections: &[Connection], interval: Duration, duration: Duration) -> Outcome {
    let ticks = duration.0 / interval.0.max(1);
    let at = |tick: u64| Time::ZERO + interval * tick;
    let times: Vec<f64> = (1..=ticks).map(|tick| at(tick).as_secs_f64()).collect();
    let nothing = vec![f64::NAN; times.len()];
    Outcome {
        flows: connections.iter().map(|connection| connection.record.clone()).collect(),
        probe: None,
        udp: Vec::new(),
        link: Default::default(),
        beyond: Vec::new(),
        reverse: Vec::new(),
        carried: Vec::new(),
        windows: Vec::new(),
        series: Series {
            backlog: nothing.clone(),
            drops: nothing.clone(),
            probe_ms: nothing.clone(),
            udp_mbit_s: nothing,
            flows: connections.iter().map(|connection| connection.series(interval, ticks)).collect(),
            times,
        },
        seconds: Default::default(),
        end: Time::ZERO + duration,
        events: 0,
    }
}

impl World for Logs {
    fn check(&self, _: &Scenario) -> Result<(), String> {
        Ok(())
    }

    fn run(
        &self,
        scenario: &Scenario,
        _: Option<&Path>,
        _: &Watch,
        recorder: Option<&mut dyn Recorder>,
    ) -> Result<Option<Ran>, String> {
        let interval = scenario.series.unwrap_or(INTERVAL);
        let mut outcome = outcome(&self.connections, interval, scenario.duration);
        outcome.windows = (0..scenario.windows.len())
            .map(|number| WindowOutcome {
                flows: outcome.flows.iter_mut().map(|record| record.take_in_window(number)).collect(),
                carried: Vec::new(),
                probe: None,
                udp: Vec::new(),
            })
            .collect();
        if let Some(recorder) = recorder {
            recorder.series(std::mem::take(&mut outcome.series));
            for (number, connection) in self.connections.iter().enumerate() {
                for (end, parts) in [End::Sender, End::Receiver].into_iter().zip(&connection.excerpts) {
                    let [begin, around] = parts;
                    recorder.events(number, end, begin);
                    // The beginning may contain the first loss.
                    let known = begin.last().map_or(Time::ZERO, |(at, _)| *at);
                    let rest: Trace = around.iter().filter(|(at, _)| *at > known).cloned().collect();
                    recorder.events(number, end, &rest);
                }
            }
        }
        Ok(Some(Ran { outcome, invalid_reasons: Vec::new() }))
    }

    fn untold(&self, _: &Scenario) -> Vec<&'static str> {
        untold(&self.connections)
    }
}
