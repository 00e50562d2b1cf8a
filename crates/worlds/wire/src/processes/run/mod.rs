//! Runs a scenario as another stack's processes, in real time.
//!
//! ```text
//! feasibility.rs     checks of the scenario, and parameters of its processes
//! folder.rs          files of a run
//! certificates.rs    its certificates
//! process.rs         one process
//! flow.rs            the two processes of a flow
//! schedule.rs        all flows, from start to end
//! fate.rs            results of transfers
//! sockets.rs         listening ports, and drops at sockets
//! waits.rs           delays caused by the machine
//! outages.rs         times at which the link carries nothing
//! ```

mod certificates;
mod fate;
mod feasibility;
mod flow;
mod folder;
mod outages;
mod process;
mod schedule;
mod sockets;
mod waits;

use std::fs::File;
use std::path::{Path, PathBuf};

use crate::emu::capture::log::Files;
use crate::emu::privilege::Way;
use crate::emu::{Config, Identity, Report, Rig};
use crate::keys;
use scenario::{FlowConfig, Outcome, Record, Scenario, Watch};
use units::Time;

use self::certificates::Certificates;
pub use self::fate::{Fate, Transfer};
pub use self::feasibility::{MAX_FLOWS, check};
use self::feasibility::{Plan, plan};
use self::flow::{Flow, FlowContext};
use self::folder::{FlowFolder, Folder};
pub use self::schedule::Timeouts;
pub use crate::feasibility::MAX_DURATION;
use crate::processes::capture;
use crate::processes::error::Error;
use crate::processes::outcome::{self, Fates, Reading, Traffic, TrafficReader};
use crate::processes::qlog;
use crate::processes::regular;
use crate::processes::stack::{KeyKind, Located, Stack};

/// Metrics of another stack that its packets do not show: the rule that detected a loss, the start
/// of a transmission, and the state of its controller and RTT estimator.
pub const UNKNOWN: [&str; 8] = [
    "receive_times",
    "lost_by_packet_threshold",
    "lost_by_time_threshold",
    "lost_by_timeout",
    "time_threshold_share",
    "queue_wait",
    "reductions",
    "slow_start_window",
];

/// Latest valid start of a flow's data. The machine decides when a process starts.
const LATE_START: units::Duration = units::Duration::from_millis(50);
/// Number of decrypted packets for each one that may fail, apart from packets that the link
/// damaged. So few missing packets change no result.
const UNOPENED: u64 = 100;

/// Options of a run beside the scenario.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Time limits of the processes.
    pub timeouts: Timeouts,
    /// File for the capture, as pcapng. Without it the capture is removed after the run.
    pub pcap: Option<PathBuf>,
    /// Folder for the stack's qlog files, named `flow-0-server-...`. Without it they are removed
    /// after the run.
    pub qlog: Option<PathBuf>,
    /// Stack of the client, if it differs from the server's. It uses the same controller if it has
    /// one of that name.
    pub client: Option<Stack>,
}

/// Result of a run.
#[derive(Debug)]
pub struct Measured {
    /// Outcome in the simulator's terms.
    pub outcome: Outcome,
    /// Reasons why the run is not valid; empty for a valid run. They include a stack that crashed
    /// or stalled.
    pub invalid_reasons: Vec<String>,
    /// End of each flow's transfer.
    pub transfers: Vec<Transfer>,
    /// Further measurements of each flow's traffic.
    pub readings: Vec<Reading>,
    /// Packets dropped at full socket buffers, at the client's and at the server's end. The
    /// emulator does not see these losses, and they make the run invalid.
    pub socket_drops: [u64; 2],
}

/// Runs a scenario as this stack's processes through the emulator. Call [`crate::emu::privilege::acquire`]
/// first, as early as possible in the process.
///
/// `controller` is our name of a controller for all flows; without it, each flow uses its own.
/// `watch.reached` is the run's time, and `watch.stop` ends the run.
///
/// # Errors
/// [`Error::Missing`] if the stack is not installed, [`Error::Refused`] if it cannot run the
/// scenario, [`Error::Interrupted`], and [`Error::System`]. A process that crashes or stalls is not
/// an error: see [`Measured::invalid_reasons`].
pub fn run(
    scenario: &Scenario,
    stack: &Stack,
    controller: Option<&str>,
    watch: &Watch,
) -> Result<Measured, Error> {
    run_with(scenario, stack, controller, &Options::default(), watch)
}

/// Runs a scenario like [`run`], with options.
///
/// # Errors
/// As for [`run`].
pub fn run_with(
    scenario: &Scenario,
    stack: &Stack,
    controller: Option<&str>,
    options: &Options,
    watch: &Watch,
) -> Result<Measured, Error> {
    let plan = plan(scenario, stack, controller)?;
    let client_stack = options.client.as_ref().unwrap_or(stack);
    let located = [client_stack.locate()?, stack.locate()?];
    let client_controller = client_controller(scenario, client_stack, controller)?;
    located.iter().try_for_each(Located::prepare)?;
    let identity = Identity::of_caller(Way::Root)?;
    let folder = Folder::new(&identity)?;
    let kinds = [client_stack.certificate(), stack.certificate()];
    let kind = if kinds.contains(&KeyKind::P256) { KeyKind::P256 } else { KeyKind::Ed25519 };
    let certificates = Certificates::make(folder.path(), kind, crate::emu::Side::Server.ipv4())?;
    let folders = flow_folders(&folder, &plan, scenario.seed)?;
    folder.give(&identity)?;
    let pcap = options.pcap.clone().unwrap_or_else(|| folder.private().join("traffic.pcapng"));
    let log = Files { csv: None, pcap: Some(pcap.clone()), keep: true };
    let (there, back, overhead) = (plan.there.clone(), plan.back.clone(), plan.overhead);
    let rig = Rig::start(&Config { there, back, overhead, seed: scenario.seed, log })?;
    let context = FlowContext {
        located: located.each_ref(),
        client_controller: &client_controller,
        certificates: &certificates,
        identity: &identity,
        datagram: plan.datagram,
    };
    let mut flows: Vec<Flow<'_>> =
        plan.flows.iter().zip(&folders).map(|(flow, folder)| Flow::new(&context, flow, folder)).collect();
    let (transfers, delays) = schedule::run_flows(&rig, scenario, &mut flows, &options.timeouts, watch)?;
    let socket_drops = sockets::drops(&rig)?;
    let report = rig.stop()?;
    check_capture(&report, options.pcap.is_none().then(|| folder.path()))?;
    if let Some(to) = &options.qlog {
        folders.iter().enumerate().try_for_each(|(number, folder)| folder.keep_qlog(number, to))?;
    }
    if let Some(pcap) = &options.pcap {
        let secrets: Vec<Vec<u8>> = folders.iter().map(FlowFolder::secrets).collect();
        keys::write(&keys::beside(pcap), &secrets.concat())?;
    }
    let opened =
        if options.pcap.is_some() { regular::open_through_links(&pcap) } else { regular::open(&pcap) };
    let capture = opened.map_err(|e| Error::system("read the capture of the run", e))?;
    let mut traffic = read_traffic(&plan, &folders, &report, capture)?;
    if stack.qlog().is_some() {
        for (traffic, folder) in traffic.iter_mut().zip(&folders) {
            traffic.windows = qlog::windows(
                folder.qlog_files(crate::emu::Side::Server).map(|(_, file)| file),
                &traffic.departures,
            );
        }
    }
    let links = report.last.sides.map(|side| side.counters);
    let outcome = outcome::outcome(scenario, &report.packets, links, &traffic);
    let mut invalid_reasons = report.audit.invalid_reasons();
    for (side, lost) in [crate::emu::Side::Client, crate::emu::Side::Server]
        .iter()
        .zip(socket_drops)
        .filter(|(_, lost)| *lost > 0)
    {
        invalid_reasons.push(format!(
            "{lost} packets were dropped at the {side}'s sockets, which were not read in time"
        ));
    }
    let who = match &options.client {
        Some(client) => format!("{} to {}", stack.name(), client.name()),
        None => stack.name().to_owned(),
    };
    invalid_reasons.extend(delays.invalid_reasons());
    for (number, config) in scenario.flows.iter().enumerate() {
        let of_flow =
            flow_reasons(&who, config, &outcome.flows[number], &transfers[number], &traffic[number]);
        invalid_reasons.extend(of_flow);
    }
    let readings = traffic.iter().map(Reading::from_traffic).collect();
    Ok(Measured { outcome, invalid_reasons, transfers, readings, socket_drops })
}

/// Returns the client stack's own name of the flows' controller, or of another one if it lacks
/// that.
///
/// # Errors
/// A stack without any controller.
fn client_controller(scenario: &Scenario, stack: &Stack, controller: Option<&str>) -> Result<String, Error> {
    let first = scenario.flows.first().map(|flow| flow.algorithm.name());
    let wanted = controller.or(first).unwrap_or_default();
    let known = || stack.controllers().next().unwrap_or_default();
    stack.controller(wanted).or_else(|_| stack.controller(known())).map(str::to_owned)
}

fn flow_folders(folder: &Folder, plan: &Plan, seed: u64) -> Result<Vec<FlowFolder>, Error> {
    let make = |(number, flow): (usize, &feasibility::FlowPlan)| {
        let contents = flow.whole.then(|| seed.wrapping_add(number as u64));
        folder.flow(number, flow.size, contents)
    };
    plan.flows.iter().enumerate().map(make).collect()
}

/// Checks that the capture is complete, because a run cannot be measured without it. `folder` is
/// the run's own folder, if the capture is there.
///
/// # Errors
/// A capture that could not be written, and the remedy.
fn check_capture(report: &Report, folder: Option<&Path>) -> Result<(), Error> {
    let Some(why) = report.audit.log.as_ref().and_then(|log| log.error.as_ref()) else { return Ok(()) };
    let more = folder.and_then(Path::parent).map(|parent| {
        let parent = parent.display();
        format!("; the capture takes up to twice the bytes of the link in {parent} until the run ends: free some space there, or set TMPDIR to another folder")
    });
    Err(Error::System(format!("{why}{}", more.unwrap_or_default())))
}

/// Reads every flow's traffic from the capture.
fn read_traffic(
    plan: &Plan,
    folders: &[FlowFolder],
    report: &Report,
    capture: File,
) -> Result<Vec<Traffic>, Error> {
    let mut readers: Vec<TrafficReader> =
        folders.iter().map(|folder| TrafficReader::new(folder.key_log())).collect();
    let mut fates = Fates::from_rows(&report.packets);
    capture::read(capture, Fates::begin(&report.packets), |captured| {
        let fate = (captured.seen_by == captured.from).then(|| fates.take(&captured)).flatten();
        let port = captured.ports[1 - captured.from];
        if let Some(number) = plan.flows.iter().position(|flow| flow.port == port) {
            readers[number].take(&captured, fate);
        }
    })?;
    Ok(readers.into_iter().map(TrafficReader::finish).collect())
}

/// Returns the reasons why a flow is not valid.
fn flow_reasons(
    who: &str,
    config: &FlowConfig,
    record: &Record,
    transfer: &Transfer,
    traffic: &Traffic,
) -> Vec<String> {
    let mut all = Vec::new();
    let who = format!("{} ({who})", config.label);
    all.extend(transfer.failure().map(|failure| format!("{who} {failure}")));
    if !all.is_empty() {
        return all;
    }
    if record.started == Time::NEVER {
        all.push(format!("{who} sent nothing that could be decrypted"));
    } else if record.started > config.start + LATE_START {
        all.push(format!("{who} started {} late", record.started - config.start));
    }
    if traffic.unopened > 2 + traffic.damaged + traffic.opened / UNOPENED {
        let suite = traffic.suite.map_or_else(|| "unknown".to_owned(), |number| format!("{number:#06x}"));
        let (unopened, all_of) = (traffic.unopened, traffic.unopened + traffic.opened);
        all.push(format!(
            "{unopened} of {all_of} packets of {who} could not be decrypted (cipher suite {suite})"
        ));
    }
    all
}
