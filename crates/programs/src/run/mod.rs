//! A scenario as another stack's processes, in real time.
//!
//! ```text
//! feasibility.rs    can this stack run it? then what its processes are told      folder.rs, certificates.rs    files of a run
//! process.rs    one end as a process      flow.rs    a flow's two      conduct.rs    all flows, from the first to the last
//! fate.rs    how each ended      sockets.rs    who listens, and what sockets have lost      waits.rs    what the machine held up
//! dark.rs    when the link carries nothing
//! ```

mod certificates;
mod conduct;
mod dark;
mod fate;
mod feasibility;
mod flow;
mod folder;
mod process;
mod sockets;
mod waits;

use std::fs::File;
use std::path::{Path, PathBuf};

use emu::capture::log::Files;
use emu::privilege::Way;
use emu::{Config, Identity, Report, Rig};
use scenario::{FlowConfig, Outcome, Record, Scenario, Watch};
use units::Time;

use self::certificates::Certificates;
pub use self::conduct::Patience;
pub use self::fate::{Fate, Transfer};
pub use self::feasibility::{MAX_DURATION, MAX_FLOWS, check};
use self::feasibility::{Plan, plan};
use self::flow::{Flow, Told};
use self::folder::{FlowFolder, Folder};
use crate::capture;
use crate::error::Error;
use crate::outcome::{self, Fates, Reading, Traffic, TrafficReader};
use crate::qlog;
use crate::regular;
use crate::stack::{KeyKind, Located, Stack};

/// Metrics that the wire does not tell of another stack: which rule found a loss, when a transmission began, what its controller and its
/// estimator know.
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

/// A flow whose first data is later than this: a process begins when the machine lets it.
const LATE_START: units::Duration = units::Duration::from_millis(50);
/// A packet that could not be opened for every so many that were, beside those that the link has damaged: what is missed moves no number.
const UNOPENED: u64 = 100;

/// What a run is given beside the scenario.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// How long something may take.
    pub patience: Patience,
    /// Where the capture goes, as pcapng; without it, it goes with the run.
    pub pcap: Option<PathBuf>,
    /// A folder for what the stack writes of qlog, `flow-0-server-...`; without it, that goes with the run.
    pub qlog: Option<PathBuf>,
    /// The client's stack, where it is another than the server's. It has the same controller if it has one of that name.
    pub client: Option<Stack>,
}

/// A run, done.
#[derive(Debug)]
pub struct Measured {
    /// In the simulator's words.
    pub outcome: Outcome,
    /// Why it is not valid; empty if it is. A stack that crashed or stalled is one of the reasons.
    pub invalid_reasons: Vec<String>,
    /// How each flow's transfer ended.
    pub transfers: Vec<Transfer>,
    /// What each flow's traffic tells beside.
    pub readings: Vec<Reading>,
    /// Packets that found no room in a socket of the client's and of the server's end, since nobody read them in time: lost behind the
    /// emulator, and one of the reasons.
    pub socket_drops: [u64; 2],
}

/// Runs a scenario as this stack's processes through the emulator. `controller`: ours by name, for all flows; without it each flow has
/// its own. `watch.reached` is the run's time, and `watch.stop` ends it. [`emu::privilege::acquire`] comes before, as early as a process can.
///
/// # Errors
/// [`Error::Missing`] where the stack is not installed, [`Error::Refused`] where it cannot run the scenario, [`Error::Interrupted`], and
/// what the system refuses. That a process crashes or stalls is no error: see [`Measured::invalid_reasons`].
pub fn run(
    scenario: &Scenario,
    stack: &Stack,
    controller: Option<&str>,
    watch: &Watch,
) -> Result<Measured, Error> {
    run_with(scenario, stack, controller, &Options::default(), watch)
}

/// The same with other options.
///
/// # Errors
/// As there.
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
    let certificates = Certificates::make(folder.path(), kind, emu::Side::Server.ipv4())?;
    let folders = flow_folders(&folder, &plan, scenario.seed)?;
    folder.give(&identity)?;
    let pcap = options.pcap.clone().unwrap_or_else(|| folder.private().join("traffic.pcapng"));
    let log = Files { csv: None, pcap: Some(pcap.clone()), keep: true };
    let (there, back, overhead) = (plan.there.clone(), plan.back.clone(), plan.overhead);
    let rig = Rig::start(&Config { there, back, overhead, seed: scenario.seed, log })?;
    let told = Told {
        located: located.each_ref(),
        client_controller: &client_controller,
        certificates: &certificates,
        identity: &identity,
        datagram: plan.datagram,
    };
    let mut flows: Vec<Flow<'_>> =
        plan.flows.iter().zip(&folders).map(|(flow, folder)| Flow::new(&told, flow, folder)).collect();
    let (transfers, held) = conduct::conduct(&rig, scenario, &mut flows, &options.patience, watch)?;
    let socket_drops = sockets::drops(&rig)?;
    let report = rig.stop()?;
    check_capture(&report, options.pcap.is_none().then(|| folder.path()))?;
    if let Some(to) = &options.qlog {
        folders.iter().enumerate().try_for_each(|(number, folder)| folder.keep_qlog(number, to))?;
    }
    let opened =
        if options.pcap.is_some() { regular::open_through_links(&pcap) } else { regular::open(&pcap) };
    let capture = opened.map_err(|e| Error::system("read the capture of the run", e))?;
    let mut traffic = read_traffic(&plan, &folders, &report, capture)?;
    if stack.qlog().is_some() {
        for (traffic, folder) in traffic.iter_mut().zip(&folders) {
            traffic.windows =
                qlog::windows(folder.qlog_files(emu::Side::Server).map(|(_, file)| file), &traffic.left);
        }
    }
    let links = report.last.sides.map(|side| side.counters);
    let outcome = outcome::outcome(scenario, &report.packets, links, &traffic);
    let mut invalid_reasons = report.audit.invalid_reasons();
    for (side, lost) in
        [emu::Side::Client, emu::Side::Server].iter().zip(socket_drops).filter(|(_, lost)| *lost > 0)
    {
        invalid_reasons
            .push(format!("{lost} packets were lost at the {side}'s sockets, which nobody read in time"));
    }
    let who = match &options.client {
        Some(client) => format!("{} to {}", stack.name(), client.name()),
        None => stack.name().to_owned(),
    };
    invalid_reasons.extend(held.complaints());
    for (number, config) in scenario.flows.iter().enumerate() {
        let of_flow = complaints(&who, config, &outcome.flows[number], &transfers[number], &traffic[number]);
        invalid_reasons.extend(of_flow);
    }
    let readings = traffic.iter().map(Reading::of).collect();
    Ok(Measured { outcome, invalid_reasons, transfers, readings, socket_drops })
}

/// What a client's stack calls the flows' controller, or another of its own.
///
/// # Errors
/// That it has none at all.
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

/// Without its capture a run tells nothing. `folder`: where it was, if that is the run's own.
///
/// # Errors
/// That it could not be written, and what to do.
fn check_capture(report: &Report, folder: Option<&Path>) -> Result<(), Error> {
    let Some(why) = report.audit.log.as_ref().and_then(|log| log.error.as_ref()) else { return Ok(()) };
    let more = folder.and_then(Path::parent).map(|parent| {
        let parent = parent.display();
        format!("; a run's capture takes up to twice the bytes of its link in {parent} until the run is over: make room there, or name another folder with TMPDIR")
    });
    Err(Error::System(format!("{why}{}", more.unwrap_or_default())))
}

/// Every flow's traffic, from the capture.
fn read_traffic(
    plan: &Plan,
    folders: &[FlowFolder],
    report: &Report,
    capture: File,
) -> Result<Vec<Traffic>, Error> {
    let mut readers: Vec<TrafficReader> =
        folders.iter().map(|folder| TrafficReader::new(folder.key_log())).collect();
    let mut fates = Fates::of(&report.packets);
    capture::read(capture, Fates::begin(&report.packets), |sighting| {
        let fate = (sighting.seen_by == sighting.from).then(|| fates.take(&sighting)).flatten();
        let port = sighting.ports[1 - sighting.from];
        if let Some(number) = plan.flows.iter().position(|flow| flow.port == port) {
            readers[number].take(&sighting, fate);
        }
    })?;
    Ok(readers.into_iter().map(TrafficReader::finish).collect())
}

/// What is wrong with a flow.
fn complaints(
    who: &str,
    config: &FlowConfig,
    record: &Record,
    transfer: &Transfer,
    traffic: &Traffic,
) -> Vec<String> {
    let mut all = Vec::new();
    let who = format!("{} ({who})", config.label);
    all.extend(transfer.complaint().map(|complaint| format!("{who} {complaint}")));
    if !all.is_empty() {
        return all;
    }
    if record.started == Time::NEVER {
        all.push(format!("{who} sent nothing that could be read"));
    } else if record.started > config.start + LATE_START {
        all.push(format!("{who} began {} late", record.started - config.start));
    }
    if traffic.unopened > 2 + traffic.damaged + traffic.opened / UNOPENED {
        let suite = traffic.suite.map_or_else(|| "unknown".to_owned(), |number| format!("{number:#06x}"));
        let (unopened, all_of) = (traffic.unopened, traffic.unopened + traffic.opened);
        all.push(format!("{unopened} of {all_of} packets of {who} could not be read (cipher suite {suite})"));
    }
    all
}
