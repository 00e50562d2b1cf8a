//! The answer: the distance of the windows, and both over time.

use std::path::Path;

use experiment::printable::printable;
use logs::replay::{Moment, Replayed};
use report::{Block, Line};
use serde::Serialize;
use units::Time;

/// Answer to a replay.
#[derive(Clone, Debug, Serialize)]
pub struct Answer {
    /// Name of the file.
    pub log: String,
    /// Name of the page's folder.
    #[serde(skip)]
    pub name: String,
    /// Controller that was replayed.
    pub controller: String,
    /// Controller that the log names.
    pub logged_controller: Option<String>,
    /// The controller is that of the log, with the same parameters.
    pub is_same: bool,
    /// Signals were derived from packets, because the log has no calls of its controller.
    pub is_derived: bool,
    /// The controller needs counts of CE marks, and the log has only reductions for them.
    pub lacks_marks: bool,
    /// Number of ACKs, and of those after which the windows differ.
    pub acks: u64,
    /// ACKs after which the windows differ.
    pub differing: u64,
    /// Median of |replayed - logged| / logged over all ACKs.
    pub median_distance: f64,
    /// 95th percentile of the same.
    pub p95_distance: f64,
    /// Largest of the same.
    pub largest_distance: f64,
    /// First ACK after which the windows differ.
    pub first_difference: Option<Windows>,
    /// Means over the times in `windows`, of the log and of the replay, bytes.
    pub mean_windows: [f64; 2],
    /// Windows over time, at most 4096.
    pub windows: Vec<Windows>,
    /// Number of other connections in the log.
    pub others: usize,
}

/// Windows at one time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Windows {
    /// Seconds since the first event of the log; in logs of runs, since the start of the run.
    pub seconds: f64,
    /// Window of the log, bytes.
    pub logged: u64,
    /// Window of the replayed controller, bytes.
    pub replayed: u64,
}

impl Answer {
    pub(super) fn new(file: &Path, replayed: &Replayed, others: usize) -> Self {
        let name = file.file_name().unwrap_or(file.as_os_str()).to_string_lossy();
        let log = printable(&name).into_owned();
        let moments = replayed.windows.moments();
        // A time since 1970 counts from the first ACK.
        let first = moments.first().map_or(Time::ZERO, |moment| moment.at);
        let origin = if first > Time::from_millis(1_000_000_000) { first } else { Time::ZERO };
        let windows = |moment: &Moment| Windows {
            seconds: (moment.at - origin).as_secs_f64(),
            logged: moment.logged,
            replayed: moment.replayed,
        };
        let mean = |of: fn(&Moment) -> u64| {
            moments.iter().map(|moment| of(moment) as f64).sum::<f64>() / moments.len().max(1) as f64
        };
        let distance = replayed.windows.distance();
        let part = |of: fn(&logs::replay::Distance) -> f64| distance.as_ref().map_or(0.0, of);
        let controller = replayed.controller.as_ref().map_or("", |algorithm| algorithm.name());
        Self {
            name: format!("{controller}-{}", slug(&name)),
            log,
            controller: controller.to_owned(),
            logged_controller: replayed.about.controller.as_deref().map(|name| printable(name).into_owned()),
            is_same: replayed.is_same,
            is_derived: !replayed.has_calls,
            lacks_marks: replayed.lacks_marks,
            acks: replayed.windows.acks(),
            differing: replayed.windows.differing(),
            median_distance: part(|distance| distance.median),
            p95_distance: part(|distance| distance.p95),
            largest_distance: part(|distance| distance.largest),
            first_difference: replayed.windows.first_difference().as_ref().map(windows),
            mean_windows: [mean(|moment| moment.logged), mean(|moment| moment.replayed)],
            windows: moments.iter().map(windows).collect(),
            others,
        }
    }

    /// Returns the windows as a chart.
    pub(super) fn chart(&self) -> Block {
        let line = |name: String, of: fn(&Windows) -> u64| Line {
            name,
            points: self.windows.iter().map(|moment| (moment.seconds, of(moment) as f64 / 1e3)).collect(),
        };
        let logged = self.logged_controller.as_deref().unwrap_or("controller of the log");
        Block::Lines {
            title: "Congestion window".to_owned(),
            x: "time (s)".to_owned(),
            y: "window (kB)".to_owned(),
            lines: vec![
                line(format!("{logged}, logged"), |moment| moment.logged),
                line(format!("{}, replayed", self.controller), |moment| moment.replayed),
            ],
        }
    }
}

/// Returns the name of a file without its extensions, in characters for a folder.
fn slug(name: &str) -> String {
    let stem = name.split('.').next().unwrap_or(name);
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    stem.chars().map(plain).take(60).collect()
}
