//! Writes the time series of a run, and its qlog files, while it runs.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::Ordering;

use experiment::chart::Chart;
use experiment::place::Place;
use results::exchange::{self, Collector, Exchange};
use results::qlog::{Format, Log, LogFile, Meta};
use results::store::{self, Part, Recorded, Recording};
use scenario::trace::{Event, Trace};
use scenario::{End, Scenario, Series, Transport, Watch};

use crate::job::{Job, Run};

/// Number of flows whose packets are collected for charts.
const MOST_FLOWS: usize = 4;

/// Recorder of one run.
pub(crate) struct Recorder<'a> {
    run: &'a Run<'a>,
    job: &'a Job<'a>,
    scenario: &'a Scenario,
    watch: &'a Watch,
    series: Recording,
    logs: BTreeMap<(usize, End), LogFile>,
    /// Packets of the first flows, if charts draw them.
    packets: BTreeMap<usize, Collector>,
    /// The first error.
    wrong: Option<io::Error>,
}

impl<'a> Recorder<'a> {
    /// Starts recording. An error stops the run through `watch`.
    pub(crate) fn begin(
        run: &'a Run<'a>,
        job: &'a Job<'a>,
        scenario: &'a Scenario,
        watch: &'a Watch,
    ) -> io::Result<Self> {
        let series = run.runs.record()?;
        let (logs, packets) = (BTreeMap::new(), BTreeMap::new());
        Ok(Self { run, job, scenario, watch, series, logs, packets, wrong: None })
    }

    /// Completes the files of the run with this number.
    pub(crate) fn finish(self, number: usize) -> io::Result<Option<Recorded>> {
        if let Some(error) = self.wrong {
            return Err(error);
        }
        self.logs.into_values().try_for_each(LogFile::finish)?;
        self.run.runs.recorded(number, self.series)
    }

    /// Leaves no file. Returns the error that ended the run, if there was one.
    pub(crate) fn give_up(self) -> io::Result<Option<Recorded>> {
        self.wrong.map_or(Ok(None), Err)
    }

    /// Takes the packets that charts draw.
    pub(crate) fn exchanges(&mut self) -> Vec<Exchange> {
        let of_flow = |(flow, collector): (usize, Collector)| {
            let (steps, left_out) = collector.finish();
            let label = self.scenario.flows.get(flow).map(|flow| flow.label.clone()).unwrap_or_default();
            let (variant, row) = (self.job.case.variant.clone(), self.job.case.label());
            Exchange { variant, row, flow: flow as u32, label, steps, left_out }
        };
        std::mem::take(&mut self.packets).into_iter().map(of_flow).collect()
    }

    /// Collects the packets of a flow, if charts draw them.
    fn collect(&mut self, flow: usize, end: End, part: &Trace) {
        let spans = if flow < MOST_FLOWS { self.job.packets(self.run.exp) } else { Vec::new() };
        let Some(config) = self.scenario.flows.get(flow).filter(|_| !spans.is_empty()) else { return };
        let is_tcp = matches!(config.transport, Transport::Tcp { .. });
        let new = || Collector::new(exchange::Part { spans, is_tcp });
        self.packets.entry(flow).or_insert_with(new).add(end, part);
    }

    fn note(&mut self, done: io::Result<()>) {
        if let Err(error) = done {
            self.wrong.get_or_insert(error);
            self.watch.stop.store(true, Ordering::Relaxed);
        }
    }

    fn log(&mut self, flow: usize, end: End, part: &Trace) -> io::Result<()> {
        let Some(format) = self.run.options.qlog else { return Ok(()) };
        if is_called(self.job) && (end == End::Receiver || self.scenario.flows[flow].own_controller) {
            return Ok(());
        }
        let log = match self.logs.entry((flow, end)) {
            std::collections::btree_map::Entry::Occupied(known) => known.into_mut(),
            std::collections::btree_map::Entry::Vacant(new) => {
                let remarks = part.iter().any(|(_, event)| matches!(event, Event::Remark(_)));
                new.insert(begin(self.run, self.job, self.scenario, format, (flow, end, remarks))?)
            }
        };
        log.add(part)
    }
}

impl scenario::Recorder for Recorder<'_> {
    fn series(&mut self, part: Series) {
        let Job { case, repetition, .. } = self.job;
        let signals = self.run.exp.charts.iter().any(Chart::has_signals);
        let part = Part::new(&case.variant, case.label(), *repetition, part, signals);
        let done = self.series.add(&part);
        self.note(done);
    }

    fn events(&mut self, flow: usize, end: End, part: &Trace) {
        self.collect(flow, end, part);
        let done = self.log(flow, end, part);
        self.note(done);
    }
}

/// Reports whether only the calls of controllers are known: those inside another stack.
fn is_called(job: &Job<'_>) -> bool {
    job.case.on.world() == Place::STACK && job.case.on.is_external()
}

/// Starts the log of one end of a flow. `remarks` says whether it has any.
fn begin(
    run: &Run<'_>,
    job: &Job<'_>,
    scenario: &Scenario,
    format: Format,
    (number, end, remarks): (usize, End, bool),
) -> io::Result<LogFile> {
    let flow = &scenario.flows[number];
    let Job { case, repetition, .. } = job;
    let place = [case.variant.as_str(), case.label().as_str()].join("/");
    // Everything that determines the connection, so that only its own two logs have it.
    let group = format!("{place}/{repetition}/{number}/{scenario:?}");
    let meta = Meta {
        group: store::digest(group.as_bytes())[..16].to_owned(),
        states: flow.algorithm.states(),
        title: run.exp.name.clone(),
        flow: flow.label.clone(),
        algorithm: flow.algorithm.name().to_owned(),
        parameters: Meta::parameters(&flow.algorithm),
        transport: (&flow.transport).into(),
        seed: scenario.seed,
        start: flow.start,
    };
    let (log, what) = match end {
        End::Sender if is_called(job) => (Log::for_called(format, &meta)?, ""),
        End::Sender if remarks => (Log::for_observed(format, &meta)?, ""),
        End::Sender => (Log::for_sender(format, &meta)?, ""),
        End::Receiver => (Log::for_receiver(format, &meta)?, "-receiver"),
    };
    let name = job.file(&format!("flow{number}{what}")) + format.extension();
    // The number of files that are open at once: both ends of each flow.
    LogFile::begin(log, run.in_folder("qlog", &name)?, 2 * scenario.flows.len())
}
