//! The screen and the summary.

use std::io::{IsTerminal, Write};
use std::path::Path;
use std::time::{Duration as StdDuration, Instant};

use kernel::trace::{LABELS, TAIL_LOSS_PROBE};
use units::{Duration, Rate};

use super::counters::{Counters, NAMES};
use super::flows::{Flows, Traced};
use crate::output::tell;

/// Interval between two updates on a terminal, and elsewhere.
const REDRAW: StdDuration = StdDuration::from_millis(500);
const REWRITE: StdDuration = StdDuration::from_secs(10);
/// Most connections that are shown at a time.
const MAX_SHOWN: usize = 20;

/// A line for each running connection, on standard error.
pub(super) struct Screen {
    is_quiet: bool,
    on_terminal: bool,
    shown: Instant,
    /// Number of lines on the terminal.
    lines: usize,
}

impl Screen {
    pub(super) fn new(is_quiet: bool, now: Instant) -> Self {
        Self { is_quiet, on_terminal: std::io::stderr().is_terminal(), shown: now, lines: 0 }
    }

    pub(super) fn show(&mut self, flows: &mut Flows, now: Instant) {
        if self.is_quiet || now - self.shown < if self.on_terminal { REDRAW } else { REWRITE } {
            return;
        }
        self.shown = now;
        self.clear();
        let all = flows.running();
        let more = all.len().saturating_sub(MAX_SHOWN);
        let mut lines: Vec<String> = all.take(MAX_SHOWN).map(line).collect();
        if more > 0 {
            lines.push(format!("and {more} more"));
        }
        if self.on_terminal {
            let width = textwrap::termwidth();
            lines.iter_mut().for_each(|line| *line = line.chars().take(width).collect());
            self.lines = lines.len();
        }
        lines.iter().for_each(|line| tell(line));
    }

    /// Removes the lines, so that others can be printed.
    pub(super) fn clear(&mut self) {
        if self.lines > 0 {
            // A closed standard error does not end the trace.
            let _ = write!(std::io::stderr(), "\x1b[{}A\x1b[J", self.lines);
            self.lines = 0;
        }
    }
}

/// Describes a running connection since it was last shown.
fn line(traced: &mut Traced) -> String {
    let (last, summary) = (traced.flow.last(), traced.flow.summary());
    let (time, bytes) = traced.shown;
    let rate = Rate::from_delivery(summary.bytes.saturating_sub(bytes), last.time() - time);
    traced.shown = (last.time(), summary.bytes);
    format!(
        "{}  {:.1} s  {:.2} Mbit/s  RTT {}  cwnd {:.1} kB  retransmitted {}  lost {}",
        traced.name(),
        (summary.ended - summary.started).as_secs_f64(),
        rate.mbit_s(),
        rounded(Duration::from_micros(last.srtt_us.into())),
        f64::from(last.cwnd) * f64::from(last.mss) / 1e3,
        summary.retransmissions,
        summary.losses.iter().sum::<u64>(),
    )
}

fn rounded(time: Duration) -> String {
    format!("{:.2} ms", time.as_millis_f64())
}

/// Describes a connection that has ended.
fn summary(traced: &Traced, folder: &Path) -> String {
    let summary = traced.flow.summary();
    let span = summary.ended - summary.started;
    let shown = |rtt: Option<Duration>| rtt.map_or("unknown".to_owned(), rounded);
    let losses = LABELS.iter().zip(summary.losses).filter(|(_, count)| *count > 0);
    let losses: Vec<String> = losses
        .map(|(label, count)| {
            let how = label.basis.split(':').next().unwrap_or_default();
            format!("{count} {} ({how})", label.name)
        })
        .collect();
    let mut out = format!(
        "{}, {:.2} s, {} bytes acknowledged, {:.3} Mbit/s\n   RTT: min {}, mean {}; retransmitted {}; lost {}\n",
        traced.name(),
        span.as_secs_f64(),
        summary.bytes,
        Rate::from_delivery(summary.bytes, span).mbit_s(),
        shown(summary.min_rtt),
        shown(summary.mean_rtt()),
        summary.retransmissions,
        if losses.is_empty() { "0".to_owned() } else { losses.join(", ") },
    );
    if !traced.file_name.is_empty() {
        out += &format!("   {}\n", folder.join(&traced.file_name).display());
    }
    out
}

/// Describes all connections, and what is not in the logs.
pub(super) fn report(all: &[Traced], folder: &Path, lost_records: Option<u64>, refused: usize) -> String {
    let mut out: String = all.iter().map(|traced| summary(traced, folder)).collect();
    if let Some(lost) = lost_records {
        out += &format!("records lost: {lost}\n");
    }
    if refused > 0 {
        out += &format!("connections beyond the limits, without a log: {refused}\n");
    }
    out
}

/// Compares the counts of the flows in this network namespace with the kernel's.
pub(super) fn check(all: &[Traced], before: &Counters, after: &Counters) -> String {
    let here = || all.iter().filter(|traced| traced.is_here).map(|traced| traced.flow.summary());
    let ours = [
        here().map(|summary| summary.retransmissions).sum(),
        here().map(|summary| summary.timeouts).sum(),
        here().map(|summary| summary.tail_probes).sum(),
        here().map(|summary| summary.losses[TAIL_LOSS_PROBE]).sum::<u64>(),
    ];
    let mut out = "the kernel's counters for all connections of this network namespace:".to_owned();
    // Polls see no timeouts and no probes.
    let known = if all.iter().any(|traced| traced.flow.is_polled()) { 1 } else { ours.len() };
    for (name, ours) in NAMES.iter().zip(ours).take(known) {
        if let Some(all) = after.since(before, name) {
            let sign = if ours > all { ", more than the kernel counted" } else { "" };
            out += &format!("\n   {name} {all} (these connections: {ours}{sign})");
        }
    }
    let others = all.iter().filter(|traced| !traced.is_here).count();
    if others > 0 {
        out += &format!("\n   not checked, in other network namespaces: {others} connections");
    }
    out + "\n"
}
