//! All flows of a run: servers first, then clients at their times, until all are done, one has failed, or time is over.

use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use emu::{Rig, Side};
use scenario::{Scenario, Watch};
use units::Time;

use super::dark::Dark;
use super::fate::{Fate, Transfer};
use super::flow::Flow;
use super::sockets;
use super::waits::{Held, Waits};
use crate::error::Error;

/// Between two looks at whether something has ended.
const LOOK: Duration = Duration::from_millis(2);
/// From the last server or client that was ready to the first word: the machine is quiet again.
const SETTLE: Duration = Duration::from_millis(50);

/// How long something may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// Without a new byte of a flow, until it counts as stalled; holes of the link (`blackhole`) do not count.
    pub silence: Duration,
    /// For a server until it listens, and for a client until it is ready: an interpreter on a busy machine takes seconds.
    pub ready: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self { silence: Duration::from_secs(10), ready: Duration::from_secs(20) }
    }
}

/// Runs them; how each ended. A flow that fails ends the run: what the others have of the link from then on is not what was asked for.
///
/// # Errors
/// What the system refuses; that somebody set `stop`.
pub(super) fn conduct(
    rig: &Rig,
    scenario: &Scenario,
    flows: &mut [Flow<'_>],
    patience: &Patience,
    watch: &Watch,
) -> Result<(Vec<Transfer>, Held), Error> {
    let mut held = Held::default();
    let dark = Dark::of(scenario, Instant::now());
    flows.iter_mut().try_for_each(|flow| flow.start_server(rig))?;
    let ports: Vec<u16> = flows.iter().map(|flow| flow.plan().port).collect();
    let listen = |_: &[Flow<'_>]| sockets::listening(rig, &ports);
    if wait(flows, patience.ready, watch, Side::Server, listen)? {
        flows.iter_mut().try_for_each(|flow| flow.prepare_client(rig))?;
        let ready = |flows: &[Flow<'_>]| Ok(flows.iter().all(Flow::is_ready));
        if wait(flows, patience.ready, watch, Side::Client, ready)? {
            held = go(rig, scenario, flows, (patience, &dark), watch)?;
        }
    }
    Ok((flows.iter_mut().map(Flow::stop).collect(), held))
}

/// Until this holds. False when a process has ended before, or time has.
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
            flows.iter_mut().for_each(|flow| flow.settle(Fate::NotReady(side, at_most)));
            return Ok(false);
        }
        thread::sleep(LOOK);
    }
    Ok(true)
}

fn stop_if_asked(watch: &Watch) -> Result<(), Error> {
    if watch.stop.load(Ordering::Relaxed) { Err(Error::Interrupted) } else { Ok(()) }
}

/// The run itself.
fn go(
    rig: &Rig,
    scenario: &Scenario,
    flows: &mut [Flow<'_>],
    (patience, dark): (&Patience, &Dark),
    watch: &Watch,
) -> Result<Held, Error> {
    let origin = Instant::now() + SETTLE;
    // The run's time begins with its first data, at most two round trips and a handshake's computing after the word.
    let rtt = scenario.flows.iter().map(|flow| flow.rtt).max().unwrap_or_default();
    let end = at(origin, Time::ZERO + scenario.duration + rtt * 3) + SETTLE;
    let mut waits = Waits::begin(Instant::now());
    loop {
        stop_if_asked(watch)?;
        let now = Instant::now();
        waits.look(now);
        let elapsed = u64::try_from(now.saturating_duration_since(origin).as_nanos()).unwrap_or(u64::MAX);
        watch.reached.store(elapsed, Ordering::Relaxed);
        for flow in flows.iter_mut().filter(|flow| flow.fate().is_none()) {
            if !flow.has_begun() && now >= at(origin, flow.plan().start) {
                flow.begin(rig, now)?;
            }
            flow.look(now, patience.silence, dark);
            let over = flow.plan().stop.is_some_and(|stop| now >= at(origin, stop + rtt * 3));
            if flow.fate().is_none() && (over || now >= end) {
                flow.settle(if flow.plan().whole && !over { Fate::TimeLimit } else { Fate::Stopped });
                if over {
                    flow.quiet();
                }
            }
        }
        let failed = flows.iter().any(|flow| flow.fate().is_some_and(|fate| !fate.is_good()));
        if failed || rig.has_failed() || flows.iter().all(|flow| flow.fate().is_some()) {
            return Ok(waits.held(now.saturating_duration_since(origin)));
        }
        thread::sleep(LOOK);
    }
}

/// A time of the run on the clock.
fn at(origin: Instant, time: Time) -> Instant {
    origin + Duration::from_nanos(time.0)
}
