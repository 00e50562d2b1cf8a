//! The wire: an experiment's flows through the emulator, in real time: as the kernel's TCP, and as QUIC over real UDP.
//!
//! ```text
//! scenario -> feasibility.rs       can it be done? then which controller of the kernel, which segment size
//!          -> traffic.rs   connections, senders, UDP, ping; TCP_INFO sampled beside them
//!          -> guests.rs    protocol code that has a flow's place in the simulator (`sim::Guest`), at real sockets; seat.rs: one of them
//!          -> log/   the emulator's packet log, the ground truth, to the simulator's records; series.rs to its series
//! ```
//!
//! The outcome is the simulator's own type, so that metrics, tables, series, qlog and report are the same for both worlds.
//! Whatever can be read off the packets is: bytes, losses, RTT per acknowledgement, delays, the queue. The window, the
//! smoothed RTT and the periods of recovery are the kernel's word, sampled; [`unknown`] says what stays unknown. Of QUIC both ends are at
//! hand: they count themselves, as in the simulator, with the kernel's stamps for times of arrival; queues and drops are the packet log's.
#![cfg(target_os = "linux")]
// This backend runs by the real clock.
#![allow(clippy::disallowed_methods)]

mod feasibility;
mod guests;
mod log;
mod ping;
mod samples;
mod seat;
mod sockets;
mod traffic;

use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use emu::{Config, Rig, tcp};
use scenario::{Outcome, Scenario, Transport, Watch};

pub use self::feasibility::{Feasibility, MAX_DURATION, MAX_FLOWS};
pub use self::guests::Make;
use self::traffic::Traffic;

/// What the packet log does not tell: when a transmission began.
const UNKNOWN_OF_ALL: [&str; 1] = ["queue_wait"];
/// What neither the packets of TCP nor the kernel tell besides: which rule found a loss, what ACK frames of QUIC hold.
const UNKNOWN_OF_TCP: [&str; 6] = [
    "queue_wait",
    "receive_times",
    "lost_by_packet_threshold",
    "lost_by_time_threshold",
    "lost_by_timeout",
    "time_threshold_share",
];

/// Metrics that nobody can tell of a scenario on the wire.
pub fn unknown(scenario: &Scenario) -> &'static [&'static str] {
    let is_tcp = |flow: &scenario::FlowConfig| matches!(flow.transport, Transport::Tcp { .. });
    if scenario.flows.iter().any(is_tcp) { &UNKNOWN_OF_TCP } else { &UNKNOWN_OF_ALL }
}

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
    /// By how much the one-way delays that QUIC's ends have measured, with the kernel's receive stamps, differ from the packet log's: the
    /// median, of the worst flow.
    pub owd_error: Option<units::Duration>,
}

/// Runs a scenario that fits; `None` when `watch.stop` ended it early. `make`: who carries its flows of QUIC. The traffic goes to `pcap` on
/// request.
///
/// # Errors
/// What the system refuses, in a sentence.
pub fn run(
    scenario: &Scenario,
    feasible: &Feasibility,
    make: Option<Make>,
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
    let connect = |options: &Option<tcp::Options>| {
        options.as_ref().map(|options| tcp::connect(&rig, options)).transpose()
    };
    let connections = feasible.flows.iter().map(connect).collect::<Result<_, _>>()?;
    let guests = make.map(|make| guests::prepare(&rig, scenario, feasible, make)).transpose()?;
    let origin = (rig.start_time() + Duration::from_nanos(planned.0)).max(Instant::now() + SETTLE / 2);
    let mut traffic = Traffic::start(&rig, scenario, feasible, (connections, guests), origin)?;
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
    let mut seen = traffic.finish();
    let report = rig.stop()?;
    let mut invalid_reasons = report.audit.invalid_reasons();
    let (outcome, owd_error) = log::outcome(scenario, &report, &mut seen, origin);
    invalid_reasons.extend(reasons_of(scenario, &outcome, &seen));
    if feasibility::is_timed(scenario) && shifted > LATE_START {
        invalid_reasons.push(format!("the run began {shifted} late, so that the link changed too early"));
    }
    Ok(Some(Measured { outcome, invalid_reasons, owd_error }))
}

/// A few of the longest, without a queue.
fn round_trips(scenario: &Scenario) -> Duration {
    let rtt = scenario.flows.iter().map(|flow| flow.rtt).max().unwrap_or_default();
    Duration::from_nanos(rtt.0) * 4
}

/// How long after the emulator the run begins: handshakes, one after the other, and some silence.
fn lead(scenario: &Scenario, feasible: &Feasibility) -> units::Duration {
    let rtt = round_trips(scenario) / 4;
    let handshakes = (rtt * 2 + HANDSHAKE) * feasible.flows.iter().flatten().count() as u32;
    let memory = if feasible.window.is_some() { SETTLE + rtt * 6 + HANDSHAKE } else { Duration::ZERO };
    samples::duration(SETTLE + handshakes + memory)
}

/// What is wrong with the endpoints that are in this program: the same bounds as for the emulator's own lateness.
fn reasons_of_guests(gone: &guests::Gone) -> Vec<String> {
    let late = &gone.lateness;
    let refused: u64 = gone.guests.iter().map(|left| left.refused).sum();
    let micros = |time: units::Duration| units::Duration(time.0 / 1000 * 1000);
    let rules = [
        (
            late.p99 <= emu::validity::LATE_P99,
            format!(
                "1 % of what the QUIC endpoints did was more than {} late (at most {})",
                micros(late.p99),
                emu::validity::LATE_P99
            ),
        ),
        (
            late.max <= emu::validity::LATE_MAX,
            format!(
                "the QUIC endpoints were {} late (at most {})",
                micros(late.max),
                emu::validity::LATE_MAX
            ),
        ),
        (refused == 0, format!("the kernel refused {refused} datagrams of the QUIC endpoints")),
    ];
    let broken = rules.into_iter().filter(|(holds, _)| !holds).map(|(_, why)| why);
    broken.chain(gone.error.iter().map(|why| format!("the QUIC endpoints: {why}"))).collect()
}

/// What is wrong with the traffic, apart from the emulator.
fn reasons_of(scenario: &Scenario, outcome: &Outcome, seen: &traffic::Seen) -> Vec<String> {
    let mut all = reasons_of_guests(&seen.gone);
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
