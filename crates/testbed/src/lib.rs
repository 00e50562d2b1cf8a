//! The wire: an experiment's flows as the kernel's TCP through the emulator, in real time.
//!
//! ```text
//! scenario -> feasibility.rs       can the kernel do that? then which controller, which segment size
//!          -> traffic.rs   connections, senders, UDP, ping; TCP_INFO sampled beside them
//!          -> log/   the emulator's packet log, the ground truth, to the simulator's records; series.rs to its series
//! ```
//!
//! The outcome is the simulator's own type, so that metrics, tables, series, qlog and report are the same for both worlds.
//! Whatever can be read off the packets is: bytes, losses, RTT per acknowledgement, delays, the queue. The window, the
//! smoothed RTT and the periods of recovery are the kernel's word, sampled; [`UNKNOWN`] says what stays unknown.
#![cfg(target_os = "linux")]
// This backend runs by the real clock.
#![allow(clippy::disallowed_methods)]

mod feasibility;
mod log;
mod ping;
mod samples;
mod sockets;
mod traffic;

use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use emu::{Config, Rig, tcp};
use scenario::{Outcome, Scenario, Watch};

pub use self::feasibility::{Feasibility, MAX_DURATION, MAX_FLOWS};
use self::traffic::Traffic;

/// Metrics that neither the packets nor the kernel tell: which rule found a loss, when a transmission began, what ACK frames of QUIC hold.
pub const UNKNOWN: [&str; 6] = [
    "receive_times",
    "lost_by_packet_threshold",
    "lost_by_time_threshold",
    "lost_by_timeout",
    "time_threshold_share",
    "queue_wait",
];

/// From the last handshake to the beginning of the run: the emulator is idle again.
const SETTLE: Duration = Duration::from_millis(100);
/// What a handshake takes beside its round trips.
const HANDSHAKE: Duration = Duration::from_millis(10);
/// Between two looks at whether a flow's time, or the run's, is over.
const LOOK: Duration = Duration::from_millis(2);
/// A first packet later than this is a sender that the machine held up.
const LATE_START: units::Duration = units::Duration::from_millis(5);
/// A flow that something else than the link held back for more than this share of its time is no bulk flow.
const HELD_BACK: f64 = 0.02;

/// A run on the wire, done.
#[derive(Debug)]
pub struct Measured {
    /// In the simulator's words.
    pub outcome: Outcome,
    /// Why it is not valid; empty if it is.
    pub invalid_reasons: Vec<String>,
}

/// Runs a scenario that fits; `None` when `watch.stop` ended it early. The traffic goes to `pcap` on request.
///
/// # Errors
/// What the system refuses, in a sentence.
pub fn run(
    scenario: &Scenario,
    feasible: &Feasibility,
    pcap: Option<PathBuf>,
    watch: &Watch,
) -> Result<Option<Measured>, emu::Error> {
    let planned = lead(scenario, feasible);
    let (there, back) = feasible.links(scenario, planned);
    let log = emu::capture::log::Files { csv: None, pcap, keep: true };
    let rig = Rig::start(&Config { there, back, overhead: feasible.overhead, seed: scenario.seed, log })?;
    if let Some(segments) = feasible.window {
        tcp::lock_window(&rig, segments, SETTLE + round_trips(scenario))?;
    }
    tcp::configure(&rig, feasible.ecn, false)?;
    let connections =
        feasible.flows.iter().map(|options| tcp::connect(&rig, options)).collect::<Result<_, _>>()?;
    let origin = (rig.start_time() + Duration::from_nanos(planned.0)).max(Instant::now() + SETTLE / 2);
    let mut traffic = Traffic::start(&rig, scenario, feasible, connections, origin)?;
    while !traffic.is_over(scenario) && !rig.has_failed() {
        if watch.stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let elapsed = Instant::now().saturating_duration_since(origin).as_nanos();
        watch.reached.store(u64::try_from(elapsed).unwrap_or(u64::MAX), Ordering::Relaxed);
        thread::sleep(LOOK);
        traffic.stop_due(scenario);
    }
    let origin = units::Time((origin - rig.start_time()).as_nanos() as u64);
    let shifted = origin - units::Time::ZERO - planned;
    let seen = traffic.finish();
    let report = rig.stop()?;
    let mut invalid_reasons = report.audit.invalid_reasons();
    let outcome = log::outcome(scenario, &report, &seen, origin);
    invalid_reasons.extend(reasons_of(scenario, &outcome, &seen));
    if feasibility::is_timed(scenario) && shifted > LATE_START {
        invalid_reasons.push(format!("the run began {shifted} late, so that the link changed too early"));
    }
    Ok(Some(Measured { outcome, invalid_reasons }))
}

/// A few of the longest, without a queue.
fn round_trips(scenario: &Scenario) -> Duration {
    let rtt = scenario.flows.iter().map(|flow| flow.rtt).max().unwrap_or_default();
    Duration::from_nanos(rtt.0) * 4
}

/// How long after the emulator the run begins: handshakes, one after the other, and some silence.
fn lead(scenario: &Scenario, feasible: &Feasibility) -> units::Duration {
    let rtt = round_trips(scenario) / 4;
    let handshakes = (rtt * 2 + HANDSHAKE) * feasible.flows.len() as u32;
    let memory = if feasible.window.is_some() { SETTLE + rtt * 6 + HANDSHAKE } else { Duration::ZERO };
    samples::duration(SETTLE + handshakes + memory)
}

/// What is wrong with the traffic, apart from the emulator.
fn reasons_of(scenario: &Scenario, outcome: &Outcome, seen: &traffic::Seen) -> Vec<String> {
    let mut all = Vec::new();
    let flows = scenario.flows.iter().zip(&outcome.flows).zip(&seen.samples).zip(&seen.cut_short);
    for (((flow, record), samples), cut_short) in flows {
        if record.started > flow.start + LATE_START && record.started < units::Time::NEVER {
            all.push(format!("{} began {} late", flow.label, record.started - flow.start));
        }
        if record.started == units::Time::NEVER && flow.start < outcome.end {
            all.push(format!("{} sent nothing", flow.label));
        }
        if *cut_short {
            all.push(format!("{} ended before its time", flow.label));
        }
        let held_back = samples.held_back();
        if flow.transfer.is_none() && held_back > HELD_BACK {
            let share = held_back * 100.0;
            all.push(format!(
                "buffers of the hosts, not the link, held {} back {share:.0} % of its time",
                flow.label
            ));
        }
    }
    all
}
