//! `ackclock doctor`: checks how accurately this machine emulates links.
// The emulator runs by the real clock.
#![allow(clippy::disallowed_methods)]

use std::fs;
use std::time::Duration;

use clap::Args;
use comfy_table::{CellAlignment, Table, presets};
use experiment::printable::counted;
use serde::Serialize;
use units::Rate;
use wire::emu::privilege::{self, Way};
use wire::emu::selftest::{Measurement, WINDOW, measure, window};

use crate::commands::arguments::integer;
use crate::commands::link::show::{micros, say};
use crate::status::{Error, HOLDS, MISS, print};

/// Rates that are measured, in Mbit/s.
const RATES: [u64; 4] = [10, 100, 500, 1000];
/// One-way delay of every measurement.
const DELAY: units::Duration = units::Duration::from_millis(25);
/// Largest relative error of a rate. The limits are Ackclock's own, not those of a standard.
const RATE_ERROR: f64 = 1e-3;
/// Largest relative error of the goodput of a fixed window.
const WINDOW_ERROR: f64 = 5e-3;
/// Largest error of the 99th percentile of the delay.
const DELAY_ERROR: units::Duration = units::Duration::from_micros(500);

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Set the length of each measurement, in seconds.
    ///
    /// Each rate is measured twice: once for the rate and once for the delay.
    #[arg(long, default_value_t = 3, value_parser = integer(1_u64, 60))]
    seconds: u64,
    /// Set the maximum number of tries for each rate.
    ///
    /// Reports the first try that is accurate and valid, or else the last.
    #[arg(long, default_value_t = 3, value_parser = integer(1_u32, 20))]
    tries: u32,
    /// Print the findings as JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Serialize)]
struct Finding {
    privileges: String,
    real_time: bool,
    kernel: String,
    processors: usize,
    tcp_congestion_controls: Vec<String>,
    links: Vec<Row>,
    window: Window,
}

/// Goodput of a fixed window of packets, measured and by its closed form.
#[derive(Debug, Default, Serialize)]
struct Window {
    packets: u32,
    rtt_ms: f64,
    measured_mbit_s: f64,
    expected_mbit_s: f64,
    error_percent: f64,
    tries: u32,
}

impl Window {
    fn is_good(&self) -> bool {
        self.error_percent.abs() <= WINDOW_ERROR * 100.0
    }
}

/// A measured rate. Lateness, steal and CPU were measured while the link was saturated.
#[derive(Debug, Serialize)]
struct Row {
    set_mbit_s: f64,
    measured_mbit_s: f64,
    rate_error_percent: f64,
    delay_set_ms: f64,
    delay_p50_ms: f64,
    delay_p99_ms: f64,
    late_p50_us: u64,
    late_p99_us: u64,
    late_max_us: u64,
    stolen_percent: f64,
    cpu_percent: f64,
    tries: u32,
    /// Whether rate and delay are within the limits.
    true_to_setting: bool,
    /// Reasons why the run is not valid.
    invalid_reasons: Vec<String>,
}

impl Row {
    fn new(m: &Measurement, tries: u32) -> Self {
        let mut invalid_reasons = m.flood.invalid_reasons();
        invalid_reasons.extend(m.probes.invalid_reasons().into_iter().map(|o| format!("delay: {o}")));
        let off = |delay: units::Duration| (delay - m.delay).0.max((m.delay - delay).0);
        Self {
            set_mbit_s: m.rate.mbit_s(),
            measured_mbit_s: m.measured * 1e-6,
            rate_error_percent: m.rate_error() * 100.0,
            delay_set_ms: m.delay.as_millis_f64(),
            delay_p50_ms: m.delay_p50.as_millis_f64(),
            delay_p99_ms: m.delay_p99.as_millis_f64(),
            late_p50_us: micros(m.flood.late_p50),
            late_p99_us: micros(m.flood.late_p99),
            late_max_us: micros(m.flood.late_max),
            stolen_percent: m.flood.steal * 100.0,
            cpu_percent: m.flood.cpu * 100.0,
            tries,
            true_to_setting: m.rate_error().abs() <= RATE_ERROR && off(m.delay_p99) <= DELAY_ERROR.0,
            invalid_reasons,
        }
    }

    fn is_good(&self) -> bool {
        self.true_to_setting && self.invalid_reasons.is_empty()
    }

    fn verdict(&self) -> String {
        let accuracy = if self.true_to_setting { "accurate" } else { "inaccurate" };
        match &self.invalid_reasons[..] {
            [] => format!("{accuracy}, valid"),
            invalid_reasons => format!("{accuracy}, invalid: {}", invalid_reasons.join("; ")),
        }
    }
}

/// Examines the machine and prints the findings. Returns the exit status.
///
/// # Errors
/// A privilege or a part of the system that is missing.
pub(crate) fn run(args: &DoctorArgs) -> Result<u8, Error> {
    let way = privilege::acquire().map_err(|e| e.to_string())?;
    let mut finding = Finding {
        privileges: match way {
            Way::Root => "root".to_owned(),
            Way::UserNamespace => "user namespace".to_owned(),
        },
        // On a separate thread, because the priority of this one must not change.
        real_time: std::thread::spawn(|| privilege::real_time(0)).join().unwrap_or(false),
        kernel: read("/proc/sys/kernel/osrelease"),
        processors: std::thread::available_parallelism().map_or(1, usize::from),
        tcp_congestion_controls: read("/proc/sys/net/ipv4/tcp_available_congestion_control")
            .split_whitespace()
            .map(str::to_owned)
            .collect(),
        links: Vec::new(),
        window: Window::default(),
    };
    for mbit_s in RATES {
        finding.links.push(examine(mbit_s, args)?);
    }
    finding.window = examine_window(args)?;
    if args.json {
        print(&(serde_json::to_string_pretty(&finding).map_err(|e| e.to_string())? + "\n"));
    } else {
        print(&text(&finding));
    }
    let good = finding.links.iter().all(Row::is_good) && finding.window.is_good();
    Ok(if good { HOLDS } else { MISS })
}

fn examine_window(args: &DoctorArgs) -> Result<Window, String> {
    let mut tries = 0;
    loop {
        tries += 1;
        say(&format!("measuring a fixed window for {} s (try {tries} of {})", args.seconds, args.tries));
        let seen = window(DELAY, Duration::from_secs(args.seconds)).map_err(|e| e.to_string())?;
        let found = Window {
            packets: WINDOW,
            rtt_ms: seen.rtt.as_millis_f64(),
            measured_mbit_s: seen.measured * 1e-6,
            expected_mbit_s: seen.expected * 1e-6,
            error_percent: (seen.measured / seen.expected - 1.0) * 100.0,
            tries,
        };
        if found.is_good() || tries == args.tries {
            return Ok(found);
        }
    }
}

fn examine(mbit_s: u64, args: &DoctorArgs) -> Result<Row, String> {
    let mut tries = 0;
    loop {
        tries += 1;
        let seconds = 2 * args.seconds;
        say(&format!("measuring {mbit_s} Mbit/s for {seconds} s (try {tries} of {})", args.tries));
        let rate = Rate(mbit_s * 1_000_000);
        let found = measure(rate, DELAY, Duration::from_secs(args.seconds)).map_err(|e| e.to_string())?;
        let row = Row::new(&found, tries);
        if row.is_good() || tries == args.tries {
            return Ok(row);
        }
    }
}

fn read(file: &str) -> String {
    fs::read_to_string(file).unwrap_or_default().trim().to_owned()
}

fn text(finding: &Finding) -> String {
    let mut table = Table::new();
    table.load_style(presets::UTF8_FULL_CONDENSED);
    table.set_header([
        "set",
        "measured",
        "error",
        "delay p50",
        "delay p99",
        "late p99",
        "late max",
        "steal",
        "CPU",
        "tries",
    ]);
    for row in &finding.links {
        table.add_row([
            format!("{} Mbit/s", row.set_mbit_s),
            format!("{:.4}", row.measured_mbit_s),
            format!("{:+.4} %", row.rate_error_percent),
            format!("{:.3} ms", row.delay_p50_ms),
            format!("{:.3} ms", row.delay_p99_ms),
            format!("{} us", row.late_p99_us),
            format!("{} us", row.late_max_us),
            format!("{:.2} %", row.stolen_percent),
            format!("{:.0} %", row.cpu_percent),
            row.tries.to_string(),
        ]);
    }
    for column in table.column_iter_mut() {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let verdicts = finding.links.iter().map(|row| format!("{} Mbit/s: {}\n", row.set_mbit_s, row.verdict()));
    format!(
        "privileges: {}; SCHED_FIFO: {}; /dev/net/tun and network namespaces: yes\n\
         kernel {}, {}; TCP congestion controls: {}\n\
         1500-byte packets, {} one way; accurate: rate within {} %, p99 of the delay within {}\n{table}\n{}\
         a fixed window of {} packets at a median RTT of {:.3} ms: {:.4} Mbit/s, closed form {:.4} ({:+.3} %)\n",
        finding.privileges,
        if finding.real_time { "yes" } else { "no (packets will be late when the machine is busy)" },
        finding.kernel,
        counted(finding.processors, ["processor", "processors"]),
        finding.tcp_congestion_controls.join(", "),
        DELAY,
        RATE_ERROR * 100.0,
        DELAY_ERROR,
        verdicts.collect::<String>(),
        finding.window.packets,
        finding.window.rtt_ms,
        finding.window.measured_mbit_s,
        finding.window.expected_mbit_s,
        finding.window.error_percent,
    )
}
