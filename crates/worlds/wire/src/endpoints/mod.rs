//! Runs a scenario in real time through the link emulator, with the kernel's TCP and with QUIC over
//! UDP sockets. Experiments call this backend the wire.
//!
//! ```text
//! scenario -> feasibility.rs    can it run? which kernel controller, which segment size
//!          -> traffic.rs        connections, senders, UDP, ping; samples of TCP_INFO
//!          -> guests.rs         the thread that runs the QUIC endpoints (`scenario::Guest`)
//!             guest_socket.rs   one guest and its two UDP sockets
//!          -> tracer.rs         the kernel's tracepoints, for qlog; traced.rs has their events
//!          -> log/              converts the emulator's packet log to records and series
//! ```
//!
//! The outcome has the simulator's type. Metrics, tables, series, qlog and report therefore work
//! the same for both.
//!
//! For TCP, everything that packets show comes from the packet log: bytes, losses, the RTT of each
//! acknowledgement, delays and the queue. The window, the smoothed RTT and the recovery periods
//! come from samples of the kernel, and in qlog from its tracepoints where it takes the program
//! (feature `kernel`). [`unknown`] lists the metrics that neither packets nor samples have.
//!
//! For QUIC, both endpoints run in this process. They keep their own counters, as in the simulator,
//! and take arrival times from the kernel's time stamps. Queueing and drops come from the packet
//! log.
// This backend runs in real time.
#![allow(clippy::disallowed_methods)]

mod feasibility;
mod guest_socket;
mod guests;
mod log;
mod ping;
mod samples;
mod sockets;
mod traced;
#[cfg(feature = "kernel")]
mod tracer;
mod traffic;

use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use crate::emu::{Config, Rig, tcp};
use scenario::{Outcome, Scenario, Transport, Watch};

pub use self::feasibility::{Feasibility, MAX_FLOWS};
pub use self::guests::MakeGuests;
use self::traffic::Traffic;
pub use crate::feasibility::MAX_DURATION;

/// Metrics missing for every flow, because the packet log lacks the start of each transmission.
const UNKNOWN_FOR_ALL: [&str; 1] = ["queue_wait"];
/// Metrics missing for TCP. Neither packets nor samples show which rule detected a loss, and
/// only QUIC has ACK frames with receive times.
const UNKNOWN_FOR_TCP: [&str; 6] = [
    "queue_wait",
    "receive_times",
    "lost_by_packet_threshold",
    "lost_by_time_threshold",
    "lost_by_timeout",
    "time_threshold_share",
];

/// Returns the metrics that a run of this scenario cannot measure.
pub fn unknown(scenario: &Scenario) -> &'static [&'static str] {
    let is_tcp = |flow: &scenario::FlowConfig| matches!(flow.transport, Transport::Tcp { .. });
    if scenario.flows.iter().any(is_tcp) { &UNKNOWN_FOR_TCP } else { &UNKNOWN_FOR_ALL }
}

/// Pause between the last handshake and the start of the run, after which the emulator is idle.
const SETTLE: Duration = Duration::from_millis(100);
/// Time that a handshake takes in addition to its round trips.
const HANDSHAKE: Duration = Duration::from_millis(10);
/// Interval between two checks for the end of the run or of a flow.
const POLL_INTERVAL: Duration = Duration::from_millis(2);
/// Largest delay of a flow's first packet. Beyond it, the machine delayed the sender.
const LATE_START: units::Duration = units::Duration::from_millis(5);
/// Largest share of its busy time for which host buffers may limit a bulk flow.
const MAX_HOST_LIMITED: f64 = 0.02;

/// A completed run.
#[derive(Debug)]
pub struct Measured {
    /// The outcome, in the simulator's type.
    pub outcome: Outcome,
    /// Reasons why the run is invalid. Empty for a valid run.
    pub invalid_reasons: Vec<String>,
    /// Median difference between the one-way delays that the QUIC endpoints measured and those in
    /// the packet log, for the worst flow. The endpoints use the kernel's receive time stamps.
    pub owd_error: Option<units::Duration>,
}

/// Runs a feasible scenario. Returns `None` if `watch.stop` ended it early.
///
/// `make` creates the guests for its QUIC flows. `pcap` is the file for the captured traffic, if
/// any. `begins` gets the start of the run shortly before it.
///
/// # Errors
/// An operation that the system refused.
pub fn run(
    scenario: &Scenario,
    feasible: &Feasibility,
    make: Option<MakeGuests>,
    pcap: Option<PathBuf>,
    watch: &Watch,
    begins: &dyn Fn(Instant),
) -> Result<Option<Measured>, crate::emu::Error> {
    // Loading takes time, which the plan of a run in progress lacks.
    #[cfg(feature = "kernel")]
    let mut tracer = tracer::Tracer::start(scenario.trace && feasible.flows.iter().any(Option::is_some));
    let planned = lead(scenario, feasible);
    let (there, back) = feasible.links(scenario, planned);
    let keys = pcap.as_deref().map(crate::keys::beside);
    let log = crate::emu::capture::log::Files { csv: None, pcap, keep: true };
    let rig = Rig::start(&Config { there, back, overhead: feasible.overhead, seed: scenario.seed, log })?;
    if let Some(segments) = feasible.window {
        tcp::lock_window(&rig, segments, SETTLE + round_trips(scenario))?;
    }
    tcp::configure(&rig, feasible.ecn, false)?;
    if feasible.usec_timestamps {
        tcp::count_microseconds(&rig)?;
    }
    let connect = |options: &Option<tcp::Options>| {
        options.as_ref().map(|options| tcp::connect(&rig, options)).transpose()
    };
    let connections: Vec<_> = feasible.flows.iter().map(connect).collect::<Result<_, _>>()?;
    let guests = make.map(|make| guests::prepare(&rig, scenario, feasible, make)).transpose()?;
    let origin = (rig.start_time() + Duration::from_nanos(planned.0)).max(Instant::now() + SETTLE / 2);
    begins(origin);
    #[cfg(feature = "kernel")]
    if let Some(tracer) = &mut tracer {
        tracer.list(&connections, origin);
    }
    let mut traffic = Traffic::start(&rig, scenario, feasible, (connections, guests), origin)?;
    while !traffic.is_over(scenario) && !rig.has_failed() {
        if watch.stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let elapsed = Instant::now().saturating_duration_since(origin).as_nanos();
        watch.reached.store(u64::try_from(elapsed).unwrap_or(u64::MAX), Ordering::Relaxed);
        thread::sleep(POLL_INTERVAL);
        traffic.stop_due(scenario);
    }
    let origin = units::Time((origin - rig.start_time()).as_nanos() as u64);
    let shifted = origin - units::Time::ZERO - planned;
    let mut seen = traffic.finish();
    let report = rig.stop()?;
    #[cfg(feature = "kernel")]
    if let Some(tracer) = tracer {
        seen.traced = tracer.finish(scenario);
    }
    let mut invalid_reasons = report.audit.invalid_reasons();
    let (outcome, owd_error) = log::outcome(scenario, &report, &mut seen, origin);
    if let Some(keys) = &keys {
        let secrets: Vec<String> = outcome.flows.iter().flat_map(|flow| flow.secrets.0.clone()).collect();
        crate::keys::write(keys, secrets.join("\n").as_bytes())?;
    }
    invalid_reasons.extend(traffic_reasons(scenario, &outcome, &seen));
    if crate::feasibility::is_timed(scenario) && shifted > LATE_START {
        invalid_reasons.push(format!("the run began {shifted} late, so the link changed too early"));
    }
    Ok(Some(Measured { outcome, invalid_reasons, owd_error }))
}

/// Returns four times the largest base RTT.
fn round_trips(scenario: &Scenario) -> Duration {
    let rtt = scenario.flows.iter().map(|flow| flow.rtt).max().unwrap_or_default();
    Duration::from_nanos(rtt.0) * 4
}

/// Returns the time between the start of the emulator and the start of the run. It covers the
/// handshakes, one after another, and a pause.
fn lead(scenario: &Scenario, feasible: &Feasibility) -> units::Duration {
    let rtt = round_trips(scenario) / 4;
    let handshakes = (rtt * 2 + HANDSHAKE) * feasible.flows.iter().flatten().count() as u32;
    let memory = if feasible.window.is_some() { SETTLE + rtt * 6 + HANDSHAKE } else { Duration::ZERO };
    samples::duration(SETTLE + handshakes + memory)
}

/// Returns the reasons why the QUIC endpoints make a run invalid. The bounds on lateness are the
/// emulator's own.
fn guest_reasons(results: &guests::GuestResults) -> Vec<String> {
    let late = &results.lateness;
    let refused: u64 = results.guests.iter().map(|guest| guest.refused).sum();
    let micros = |time: units::Duration| units::Duration(time.0 / 1000 * 1000);
    let rules = [
        (
            late.p99 <= crate::emu::validity::LATE_P99,
            format!(
                "1 % of the QUIC endpoints' actions were more than {} late (limit {})",
                micros(late.p99),
                crate::emu::validity::LATE_P99
            ),
        ),
        (
            late.max <= crate::emu::validity::LATE_MAX,
            format!(
                "the QUIC endpoints were up to {} late (limit {})",
                micros(late.max),
                crate::emu::validity::LATE_MAX
            ),
        ),
        (refused == 0, format!("the kernel refused {refused} datagrams of the QUIC endpoints")),
    ];
    let broken = rules.into_iter().filter(|(holds, _)| !holds).map(|(_, why)| why);
    broken.chain(results.error.iter().map(|why| format!("the QUIC endpoints: {why}"))).collect()
}

/// Returns the reasons why the traffic makes a run invalid. The emulator reports its own.
fn traffic_reasons(scenario: &Scenario, outcome: &Outcome, seen: &traffic::Seen) -> Vec<String> {
    let mut all = guest_reasons(&seen.guests);
    let flows = scenario.flows.iter().zip(&outcome.flows).zip(&seen.samples).enumerate();
    for (number, ((flow, record), samples)) in flows {
        if record.started > flow.start + LATE_START && record.started < units::Time::NEVER {
            all.push(format!("{} began {} late", flow.label, record.started - flow.start));
        }
        if record.started == units::Time::NEVER && flow.start < outcome.end {
            all.push(format!("{} sent nothing", flow.label));
        }
        all.extend(record.why_broken(&flow.label));
        if seen.cut_short.contains(&number) {
            all.push(format!("{} ended early", flow.label));
        }
        let held_back = samples.host_limited_share();
        if flow.transfer.is_none() && held_back > MAX_HOST_LIMITED {
            let share = held_back * 100.0;
            all.push(format!(
                "host buffers, not the link, limited {} for {share:.0} % of its time",
                flow.label
            ));
        }
    }
    all
}
