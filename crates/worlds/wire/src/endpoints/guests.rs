//! Runs all guests of a run on one thread. Neither end of a flow then waits for a processor that
//! the other end occupies.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::JoinHandle;
use std::time::Instant;

use crate::emu::{Error, Rig, Side, privilege};
use crate::udp::{Clock, Socket, wait_each};
use scenario::Guest;
use scenario::Scenario;
use units::{Duration, Time};

use crate::endpoints::feasibility::Feasibility;
use crate::endpoints::guest_socket::{GuestResult, GuestSocket, lateness};
use crate::endpoints::sockets::{failed, sleep_until, socket, spawn};
use crate::feasibility::FLOW_PORT;

/// Longest wait before the thread checks for the end of the run.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Constructor of the guests of a run, each with the number of its flow. It is called on the thread
/// that runs them.
pub type MakeGuests = Box<dyn FnOnce() -> Result<Vec<(usize, Box<dyn Guest>)>, String> + Send>;

/// Lateness of the actions of all guests.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Lateness {
    pub(crate) p99: Duration,
    pub(crate) max: Duration,
}

/// The results of all guests.
#[derive(Debug, Default)]
pub(crate) struct GuestResults {
    pub(crate) guests: Vec<GuestResult>,
    pub(crate) lateness: Lateness,
    /// Error that ended the thread.
    pub(crate) error: Option<String>,
}

/// The running guests.
#[derive(Debug)]
pub(crate) struct Guests {
    begin: Sender<Instant>,
    thread: JoinHandle<GuestResults>,
    over: Arc<AtomicBool>,
    incomplete: Arc<AtomicUsize>,
}

/// Creates the guests and their sockets. They wait for the run to begin.
pub(crate) fn prepare(
    rig: &Rig,
    scenario: &Scenario,
    feasible: &Feasibility,
    make: MakeGuests,
) -> Result<Guests, Error> {
    let mut sockets = BTreeMap::new();
    for number in feasible.guests() {
        let port = FLOW_PORT + u16::try_from(number).unwrap_or(0);
        sockets.insert(number, [socket(rig, Side::Client, port)?, socket(rig, Side::Server, port)?]);
    }
    let scenario = scenario.clone();
    let (begin, begins) = mpsc::channel();
    let (tell, told) = mpsc::channel();
    let (over, incomplete) = (Arc::<AtomicBool>::default(), Arc::<AtomicUsize>::default());
    let thread = {
        let (over, incomplete) = (Arc::clone(&over), Arc::clone(&incomplete));
        spawn("guests", move || {
            let guest_sockets = make().and_then(|guests| {
                let guest_socket = |(number, guest): (usize, Box<dyn Guest>)| {
                    let flow = scenario.flows.get(number).zip(sockets.remove(&number));
                    let (flow, pair) = flow.ok_or_else(|| format!("no flow has number {number}"))?;
                    GuestSocket::new((number, guest), flow, &scenario, pair)
                        .map_err(|e| failed(e).to_string())
                };
                guests.into_iter().map(guest_socket).collect::<Result<Vec<_>, String>>()
            });
            let made = guest_sockets.as_ref().map_or_else(|why| Err(why.clone()), |_| Ok(()));
            incomplete.store(guest_sockets.as_ref().map_or(0, Vec::len), Ordering::Relaxed);
            // The receiver is waiting below.
            let _ = tell.send(made);
            guest_sockets.map_or_else(
                |_| GuestResults::default(),
                |guest_sockets| run(guest_sockets, &scenario, &begins, &over, &incomplete),
            )
        })?
    };
    let made =
        told.recv().unwrap_or_else(|_| Err("the thread of the QUIC endpoints ended unexpectedly".to_owned()));
    made.map_err(Error::new)?;
    Ok(Guests { begin, thread, over, incomplete })
}

impl Guests {
    /// Starts the guests of a run that begins at `origin`.
    pub(crate) fn begin(&self, origin: Instant) {
        // An error means that the thread has ended. `finish` returns its error.
        let _ = self.begin.send(origin);
    }

    /// Reports whether all guests have ended by themselves.
    pub(crate) fn are_complete(&self) -> bool {
        self.incomplete.load(Ordering::Relaxed) == 0 || self.thread.is_finished()
    }

    /// Ends the guests and returns their results.
    pub(crate) fn finish(self) -> GuestResults {
        self.over.store(true, Ordering::Relaxed);
        drop(self.begin);
        let panicked = || GuestResults {
            error: Some("their thread panicked, which is a bug in Ackclock".to_owned()),
            ..GuestResults::default()
        };
        self.thread.join().unwrap_or_else(|_| panicked())
    }
}

fn run(
    mut guest_sockets: Vec<GuestSocket>,
    scenario: &Scenario,
    begins: &Receiver<Instant>,
    over: &AtomicBool,
    incomplete: &AtomicUsize,
) -> GuestResults {
    privilege::real_time(1);
    let Ok(origin) = begins.recv() else { return GuestResults::default() };
    // Before the start, the clock stands at zero. Flows that begin at zero would start too early.
    if !sleep_until(origin, over) {
        return GuestResults::default();
    }
    let clock = Clock::since(origin);
    let Some(mut late) = lateness() else { return GuestResults::default() };
    let mut ticks = Ticks::new(scenario.series);
    let mut error = None;
    let mut ready = vec![true; guest_sockets.len()];
    while !over.load(Ordering::Relaxed) && error.is_none() {
        let now = clock.now();
        let mut turning =
            guest_sockets.iter_mut().zip(&ready).filter(|(guest, ready)| **ready || guest.next() <= now);
        let turned = turning.try_for_each(|(guest_socket, _)| guest_socket.turn(&clock, &mut late));
        let now = clock.now();
        while ticks.is_due(now) {
            guest_sockets.iter_mut().for_each(|guest_socket| guest_socket.sample(now));
        }
        incomplete.store(
            guest_sockets.iter().filter(|guest_socket| !guest_socket.is_complete()).count(),
            Ordering::Relaxed,
        );
        match turned.and_then(|()| rest(&guest_sockets, &ticks, &clock)) {
            Ok(these) => ready = these,
            Err(why) => error = Some(format!("a socket failed: {why}")),
        }
    }
    let lateness = Lateness { p99: Duration(late.value_at_quantile(0.99)), max: Duration(late.max()) };
    GuestResults {
        guests: guest_sockets.into_iter().map(GuestSocket::into_result).collect(),
        lateness,
        error,
    }
}

/// Waits for a datagram or for the next action. Returns which guests have a socket that is ready,
/// so that a datagram costs no system calls for the sockets of others.
fn rest(guest_sockets: &[GuestSocket], ticks: &Ticks, clock: &Clock) -> std::io::Result<Vec<bool>> {
    let next = guest_sockets.iter().map(GuestSocket::next).fold(ticks.next, Time::min);
    let (mut read, mut write): (Vec<&Socket>, Vec<&Socket>) = (Vec::new(), Vec::new());
    let (mut readers, mut writers) = (Vec::new(), Vec::new());
    for (guest, guest_socket) in guest_sockets.iter().enumerate() {
        let (reads, writes) = guest_socket.sockets();
        readers.extend(reads.iter().map(|_| guest));
        writers.extend(writes.iter().map(|_| guest));
        read.extend(reads);
        write.extend(writes);
    }
    let waited = wait_each(&read, &write, next.min(clock.now() + POLL_INTERVAL), clock)?;
    let mut ready = vec![false; guest_sockets.len()];
    for (guest, _) in readers.iter().chain(&writers).zip(waited).filter(|(_, is)| *is) {
        ready[*guest] = true;
    }
    Ok(ready)
}

/// Sampling times of the series.
struct Ticks {
    next: Time,
    every: Duration,
}

impl Ticks {
    fn new(every: Option<Duration>) -> Self {
        let every = every.unwrap_or(Duration::MAX);
        Self { next: if every == Duration::MAX { Time::NEVER } else { Time::ZERO + every }, every }
    }

    /// Reports whether a tick is due, and moves to the next one if so.
    fn is_due(&mut self, now: Time) -> bool {
        let due = self.next <= now;
        if due {
            self.next += self.every;
        }
        due
    }
}
