//! What a run writes while it goes on: its time series, and qlog where it is asked for.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use results::qlog::{Format, Log, Meta};
use results::store::{Recorded, Recording};
use results::summary::Track;
use scenario::trace::Trace;
use scenario::{End, Scenario, Series, Watch};

use super::job::{Job, Run};

/// One run on its way to disk.
pub(super) struct Recorder<'a> {
    run: &'a Run<'a>,
    job: &'a Job<'a>,
    scenario: &'a Scenario,
    watch: &'a Watch,
    series: Recording,
    logs: BTreeMap<(usize, End), (Log, PathBuf)>,
    /// The first thing that went wrong.
    wrong: Option<io::Error>,
}

impl<'a> Recorder<'a> {
    /// Nothing yet. What goes wrong ends the run by `watch`.
    pub(super) fn begin(
        run: &'a Run<'a>,
        job: &'a Job<'a>,
        scenario: &'a Scenario,
        watch: &'a Watch,
    ) -> io::Result<Self> {
        let series = run.runs.record()?;
        Ok(Self { run, job, scenario, watch, series, logs: BTreeMap::new(), wrong: None })
    }

    /// Ends the files; the run has this number.
    pub(super) fn finish(self, number: usize) -> io::Result<Option<Recorded>> {
        if let Some(error) = self.wrong {
            return Err(error);
        }
        for (log, path) in self.logs.into_values() {
            append(&path, &log.finish()?)?;
        }
        self.run.runs.recorded(number, self.series)
    }

    /// Leaves no file; an error if one was why the run ended.
    pub(super) fn give_up(self) -> io::Result<Option<Recorded>> {
        self.wrong.map_or(Ok(None), Err)
    }

    fn note(&mut self, done: io::Result<()>) {
        if let Err(error) = done {
            self.wrong.get_or_insert(error);
            self.watch.stop.store(true, Ordering::Relaxed);
        }
    }

    fn log(&mut self, flow: usize, end: End, part: &Trace) -> io::Result<()> {
        let Some(format) = self.run.options.qlog else { return Ok(()) };
        let (log, path) = match self.logs.entry((flow, end)) {
            std::collections::btree_map::Entry::Occupied(known) => known.into_mut(),
            std::collections::btree_map::Entry::Vacant(new) => {
                new.insert(begin(self.run, self.job, self.scenario, format, (flow, end))?)
            }
        };
        let bytes = log.add(part)?;
        append(path, &bytes)
    }
}

impl scenario::Recorder for Recorder<'_> {
    fn series(&mut self, part: Series) {
        let done = self.series.add(&tracks(self.job, part));
        self.note(done);
    }

    fn events(&mut self, flow: usize, end: End, part: Trace) {
        let done = self.log(flow, end, &part);
        self.note(done);
    }
}

/// The log of one end of a flow, and its file.
fn begin(
    run: &Run<'_>,
    job: &Job<'_>,
    scenario: &Scenario,
    format: Format,
    (number, end): (usize, End),
) -> io::Result<(Log, PathBuf)> {
    let flow = &scenario.flows[number];
    let meta = Meta {
        states: flow.algorithm.states(),
        title: run.exp.name.clone(),
        flow: flow.label.clone(),
        algorithm: flow.algorithm.name().to_owned(),
        transport: (&flow.transport).into(),
        seed: scenario.seed,
        start: flow.start,
    };
    let (log, what) = match end {
        End::Sender => (Log::of_sender(format, &meta)?, ""),
        End::Receiver => (Log::of_receiver(format, &meta)?, "-receiver"),
    };
    let name = job.file(&format!("flow{number}{what}")) + format.extension();
    Ok((log, run.in_folder("qlog", &name)?))
}

/// The file is open no longer than that: there may be thousands of them.
fn append(path: &Path, bytes: &[u8]) -> io::Result<()> {
    OpenOptions::new().create(true).append(true).open(path)?.write_all(bytes)
}

/// One track per flow.
fn tracks(&Job { case, repetition, .. }: &Job<'_>, series: Series) -> Vec<Track> {
    let of_path = [
        ("queue_bytes", series.backlog),
        ("drops", series.drops),
        ("ping_ms", series.probe_ms),
        ("udp_mbit_s", series.udp_mbit_s),
    ];
    let flows = series.flows.into_iter().zip(0..).map(|(flow, number)| {
        let mut columns: BTreeMap<String, Vec<f64>> =
            flow.inner.into_iter().map(|(name, values)| (name.to_owned(), values)).collect();
        let own = [
            ("cwnd_bytes", flow.cwnd),
            ("bytes_in_flight", flow.bytes_in_flight),
            ("smoothed_rtt_ms", flow.smoothed_rtt_ms),
            ("latest_rtt_ms", flow.latest_rtt_ms),
            ("goodput_mbit_s", flow.goodput_mbit_s),
            ("media_mbit_s", flow.media_mbit_s),
            ("owd_ms", flow.owd_ms),
        ];
        for (name, values) in own.into_iter().chain(of_path.clone()) {
            if values.iter().any(|v| !v.is_nan()) {
                columns.insert(name.to_owned(), values);
            }
        }
        let times = series.times.clone();
        Track { variant: case.variant.clone(), row: case.label(), repetition, flow: number, times, columns }
    });
    flows.collect()
}
