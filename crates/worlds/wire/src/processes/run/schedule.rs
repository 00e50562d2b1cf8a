//! Runs all flows: starts the servers, then each client at its time. Ends when all are done, one
//! has failed, or time is over.

use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use crate::emu::{Rig, Side};
use scenario::{Scenario, Watch};
use units::Time;

use super::fate::{Fate, Transfer};
use super::flow::Flow;
use super::outages::Outages;
use super::sockets;
use super::waits::{MachineDelays, Waits};
use crate::processes::error::Error;

/// Interval between checks of the processes.
const POLL_INTERVAL: Duration = Duration::from_millis(2);
/// Pause between the readiness of all processes and the start, so that the machine is quiet again.
const SETTLE: Duration = Duration::from_millis(50);

/// Time limits of a run's processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// Longest time without a new byte of a flow, before the flow counts as stalled. Outages of the
    /// link (`blackhole`) are excluded.
    pub silence: Duration,
    /// Longest time until a server listens, and until a client is ready. An interpreter on a busy
    /// machine takes seconds.
    pub ready: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self { silence: Duration::from_secs(10), ready: Duration::from_secs(20) }
    }
}

/// Runs the flows. Returns how each ended, and how the machine delayed them. A flow that fails ends
/// the run, because the others would share the link in a way that was not asked for.
///
/// # Errors
/// The error of a system call, or a run that was stopped through `stop`.
pub(super) fn run_flows(
    rig: &Rig,
    scenario: &Scenario,
    flows: &mut [Flow<'_>],
    timeouts: &Timeouts,
    watch: &Watch,
) -> Result<(Vec<Transfer>, MachineDelays), Error> {
    let mut delays = MachineDelays::default();
    let outages = Outages::new(scenario, Instant::now());
    flows.iter_mut().try_for_each(|flow| flow.start_server(rig))?;
    let ports: Vec<u16> = flows.iter().map(|flow| flow.plan().port).collect();
    let listen = |_: &[Flow<'_>]| sockets::listening(rig, &ports);
    if wait(flows, timeouts.ready, watch, Side::Server, listen)? {
        flows.iter_mut().try_for_each(|flow| flow.prepare_client(rig))?;
        let ready = |flows: &[Flow<'_>]| Ok(flows.iter().all(Flow::is_ready));
        if wait(flows, timeouts.ready, watch, Side::Client, ready)? {
            delays = transfer(rig, scenario, flows, (timeouts, &outages), watch)?;
        }
    }
    Ok((flows.iter_mut().map(Flow::stop).collect(), delays))
}

/// Waits until `holds` returns true. Returns false if a process ends or time runs out before.
fn wait(
    flows: &mut [Flow<'_>],
    at_most: Duration,
    watch: &Watch,
    side: Side,
    mut holds: impl FnMut(&[Flow<'_>]) -> Result<bool, Error>,
) -> Result<bool, Error> {
    let began = Instant::now();
    while !holds(flows)? {
        stop_if_asked(watch)?;
        flows.iter_mut().for_each(Flow::check_processes);
        if flows.iter().any(|flow| flow.fate().is_some()) {
            return Ok(false);
        }
        if began.elapsed() >= at_most {
            flows.iter_mut().for_each(|flow| flow.set_fate(Fate::NotReady(side, at_most)));
            return Ok(false);
        }
        thread::sleep(POLL_INTERVAL);
    }
    Ok(true)
}

fn stop_if_asked(watch: &Watch) -> Result<(), Error> {
    if watch.stop.load(Ordering::Relaxed) { Err(Error::Interrupted) } else { Ok(()) }
}

/// Starts the clients at their times, and watches all flows to their ends.
fn transfer(
    rig: &Rig,
    scenario: &Scenario,
    flows: &mut [Flow<'_>],
    (timeouts, outages): (&Timeouts, &Outages),
    watch: &Watch,
) -> Result<MachineDelays, Error> {
    let origin = Instant::now() + SETTLE;
    // The run's time begins with its first data: at most two round trips and the handshake's
    // computation after the start.
    let rtt = scenario.flows.iter().map(|flow| flow.rtt).max().unwrap_or_default();
    let end = at(origin, Time::ZERO + scenario.duration + rtt * 3) + SETTLE;
    let mut waits = Waits::begin(Instant::now());
    loop {
        stop_if_asked(watch)?;
        let now = Instant::now();
        waits.poll(now);
        let elapsed = u64::try_from(now.saturating_duration_since(origin).as_nanos()).unwrap_or(u64::MAX);
        watch.reached.store(elapsed, Ordering::Relaxed);
        for flow in flows.iter_mut().filter(|flow| flow.fate().is_none()) {
            if !flow.has_started() && now >= at(origin, flow.plan().start) {
                flow.start_transfer(rig, now)?;
            }
            flow.poll(now, timeouts.silence, outages);
            let over = flow.plan().stop.is_some_and(|stop| now >= at(origin, stop + rtt * 3));
            if flow.fate().is_none() && (over || now >= end) {
                flow.set_fate(if flow.plan().whole && !over { Fate::TimeLimit } else { Fate::Stopped });
                if over {
                    flow.kill();
                }
            }
        }
        let failed = flows.iter().any(|flow| flow.fate().is_some_and(|fate| !fate.is_good()));
        if failed || rig.has_failed() || flows.iter().all(|flow| flow.fate().is_some()) {
            return Ok(waits.delays(now.saturating_duration_since(origin)));
        }
        thread::sleep(POLL_INTERVAL);
    }
}

/// Converts a time of the run to the clock.
fn at(origin: Instant, time: Time) -> Instant {
    origin + Duration::from_nanos(time.0)
}
