//! The guests of a run, on a thread of their own: both ends of each, so that no end waits for a processor that the other has.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::JoinHandle;
use std::time::Instant;

use emu::{Error, Rig, Side, privilege};
use scenario::Scenario;
use sim::Guest;
use udp::{Clock, Socket, wait};
use units::{Duration, Time};

use crate::feasibility::{FLOW_PORT, Feasibility};
use crate::seat::{Left, Seat, lateness};
use crate::sockets::{failed, sleep_until, socket, spawn};

/// A thread that waits looks so often whether the run is over.
const LOOK: Duration = Duration::from_millis(20);

/// Makes the guests of a run, each with the number of the flow whose place it has; called on the thread that runs them.
pub type Make = Box<dyn FnOnce() -> Result<Vec<(usize, Box<dyn Guest>)>, String> + Send>;

/// How late the ends were, of all guests.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Lateness {
    pub(crate) p99: Duration,
    pub(crate) max: Duration,
}

/// What is left of them all.
#[derive(Debug, Default)]
pub(crate) struct Gone {
    pub(crate) guests: Vec<Left>,
    pub(crate) lateness: Lateness,
    /// A socket that failed.
    pub(crate) error: Option<String>,
}

/// Guests under way.
#[derive(Debug)]
pub(crate) struct Guests {
    begin: Sender<Instant>,
    thread: JoinHandle<Gone>,
    over: Arc<AtomicBool>,
    running: Arc<AtomicUsize>,
}

/// Guests and their sockets are made; they wait for the run to begin.
pub(crate) fn prepare(
    rig: &Rig,
    scenario: &Scenario,
    feasible: &Feasibility,
    make: Make,
) -> Result<Guests, Error> {
    let mut sockets = BTreeMap::new();
    for number in feasible.guests() {
        let port = FLOW_PORT + u16::try_from(number).unwrap_or(0);
        sockets.insert(number, [socket(rig, Side::Client, port)?, socket(rig, Side::Server, port)?]);
    }
    let scenario = scenario.clone();
    let (begin, begins) = mpsc::channel();
    let (tell, told) = mpsc::channel();
    let (over, running) = (Arc::<AtomicBool>::default(), Arc::<AtomicUsize>::default());
    let thread = {
        let (over, running) = (Arc::clone(&over), Arc::clone(&running));
        spawn("guests", move || {
            let seats = make().and_then(|guests| {
                let seat = |(number, guest): (usize, Box<dyn Guest>)| {
                    let flow = scenario.flows.get(number).zip(sockets.remove(&number));
                    let (flow, pair) = flow.ok_or_else(|| format!("no flow has the number {number}"))?;
                    Seat::new((number, guest), flow, &scenario, pair).map_err(|e| failed(e).to_string())
                };
                guests.into_iter().map(seat).collect::<Result<Vec<_>, String>>()
            });
            let made = seats.as_ref().map_or_else(|why| Err(why.clone()), |_| Ok(()));
            running.store(seats.as_ref().map_or(0, Vec::len), Ordering::Relaxed);
            // Whoever asks waits for the answer.
            let _ = tell.send(made);
            seats.map_or_else(|_| Gone::default(), |seats| run(seats, &scenario, &begins, &over, &running))
        })?
    };
    let made = told.recv().unwrap_or_else(|_| Err("the thread of the QUIC endpoints has ended".to_owned()));
    made.map_err(Error::new)?;
    Ok(Guests { begin, thread, over, running })
}

impl Guests {
    /// The run begins at this time.
    pub(crate) fn begin(&self, origin: Instant) {
        // Nobody to hear it: the thread has ended, and says why at the end.
        let _ = self.begin.send(origin);
    }

    /// All are done.
    pub(crate) fn have_ended(&self) -> bool {
        self.running.load(Ordering::Relaxed) == 0 || self.thread.is_finished()
    }

    /// Ends them.
    pub(crate) fn finish(self) -> Gone {
        self.over.store(true, Ordering::Relaxed);
        drop(self.begin);
        let panicked = || Gone {
            error: Some("they have panicked, which is a mistake in Ackclock".to_owned()),
            ..Gone::default()
        };
        self.thread.join().unwrap_or_else(|_| panicked())
    }
}

fn run(
    mut seats: Vec<Seat>,
    scenario: &Scenario,
    begins: &Receiver<Instant>,
    over: &AtomicBool,
    running: &AtomicUsize,
) -> Gone {
    privilege::real_time(1);
    let Ok(origin) = begins.recv() else { return Gone::default() };
    // The clock stands at zero before: no time passes there, and flows that begin at once would not know.
    if !sleep_until(origin, over) {
        return Gone::default();
    }
    let clock = Clock::since(origin);
    let Some(mut late) = lateness() else { return Gone::default() };
    let mut ticks = Ticks::new(scenario.series);
    let mut error = None;
    while !over.load(Ordering::Relaxed) && error.is_none() {
        let turned = seats.iter_mut().try_for_each(|seat| seat.turn(&clock, &mut late));
        let now = clock.now();
        while ticks.is_due(now) {
            seats.iter_mut().for_each(|seat| seat.sample(now));
        }
        running.store(seats.iter().filter(|seat| !seat.is_done()).count(), Ordering::Relaxed);
        error = turned
            .and_then(|()| rest(&seats, &ticks, &clock))
            .err()
            .map(|e| format!("a socket of theirs failed: {e}"));
    }
    let lateness = Lateness { p99: Duration(late.value_at_quantile(0.99)), max: Duration(late.max()) };
    Gone { guests: seats.into_iter().map(Seat::leave).collect(), lateness, error }
}

/// Until something comes, or the time has come for something.
fn rest(seats: &[Seat], ticks: &Ticks, clock: &Clock) -> std::io::Result<()> {
    let next = seats.iter().map(Seat::next).fold(ticks.next, Time::min);
    let (mut read, mut write): (Vec<&Socket>, Vec<&Socket>) = (Vec::new(), Vec::new());
    for seat in seats {
        let (reads, writes) = seat.sockets();
        read.extend(reads);
        write.extend(writes);
    }
    wait(&read, &write, Some(next.min(clock.now() + LOOK)), clock).map(drop)
}

/// The times of samples.
struct Ticks {
    next: Time,
    every: Duration,
}

impl Ticks {
    fn new(every: Option<Duration>) -> Self {
        let every = every.unwrap_or(Duration::MAX);
        Self { next: if every == Duration::MAX { Time::NEVER } else { Time::ZERO + every }, every }
    }

    /// One is, and the next comes next.
    fn is_due(&mut self, now: Time) -> bool {
        let due = self.next <= now;
        if due {
            self.next += self.every;
        }
        due
    }
}
