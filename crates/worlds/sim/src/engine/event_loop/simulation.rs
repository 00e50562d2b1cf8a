//! A run that can pause.

use std::sync::atomic::Ordering;

use scenario::{Guests, Outcome, Recorder, RunSnapshot, Scenario, Series, Watch};
use units::Time;

use super::{SAMPLER, World};

/// Number of turns between two checks of the [`Watch`].
const LOOK_EVERY: u64 = 1 << 16;
/// The same when packet events are recorded, so that they stay in the cache until then, and beside
/// guests, whose turns may take long.
const LOOK_AT_EVENTS_EVERY: u64 = 1 << 9;

/// A run that goes on when told to, and can be observed in between.
///
/// Pauses change nothing in the outcome, bit for bit, except [`Outcome::events`]: senders act ahead
/// of time, but not beyond a pause, and take more turns.
///
/// ```
/// use scenario::{FlowConfig, Guests, Scenario, Transport, Watch};
/// use units::{Duration, Rate, Time};
///
/// let cubic = congestion::algorithms::cubic::rfc9438::Params::default();
/// let quic = Transport::Quic { datagram: 1252, header: 37, overhead: 42 };
/// let flow = FlowConfig::new("cubic", cubic, quic, Duration::from_millis(40));
/// let link = link::LinkConfig::plain(Rate(10_000_000));
/// let scenario = Scenario::new(link, [flow], Duration::from_secs(2));
///
/// let mut simulation = ackclock_sim::Simulation::new(&scenario, Guests::new());
/// while !simulation.is_done() {
///     let next = simulation.now() + Duration::from_millis(100);
///     simulation.step(next, &Watch::default(), &mut None);
///     let flow = &simulation.snapshot().flows[0];
///     println!("{} s: {:?} bytes", simulation.now().as_secs_f64(), flow.sample.cwnd);
/// }
/// assert_eq!(simulation.finish().end, Time::from_millis(2000));
/// ```
pub struct Simulation {
    world: World,
    now: Time,
    events: u64,
    /// Turns of flows since the last check of the watch.
    work: u64,
    look_every: u64,
    /// Bytes in the queues of the forward links, and packets dropped there, at the last pause.
    backlog_and_drops: (u64, u64),
    done: bool,
}

impl Simulation {
    /// Creates a simulation before its first event. Guests are those of
    /// [`run_with_guests`](crate::run_with_guests).
    pub fn new(scenario: &Scenario, guests: Guests) -> Self {
        let has_guests = !guests.is_empty();
        let world = World::new(scenario, guests);
        // Checking events visits every flow.
        let look_at_events_every = LOOK_AT_EVENTS_EVERY.max(scenario.flows.len() as u64);
        let look_every = if scenario.trace || has_guests { look_at_events_every } else { LOOK_EVERY };
        Self {
            world,
            now: Time::ZERO,
            events: 0,
            work: 0,
            look_every,
            backlog_and_drops: (0, 0),
            done: scenario.flows.is_empty(),
        }
    }

    /// Runs all events up to `until`, and those at `until`. A time that has passed runs none.
    /// A recorder receives time series and packet events during the run.
    ///
    /// Returns `false` if `watch.stop` ended the step early. Flows may then be ahead of
    /// [`now`](Self::now) until the next step ends.
    pub fn step(&mut self, until: Time, watch: &Watch, recorder: &mut Option<&mut dyn Recorder>) -> bool {
        let until = until.min(self.world.end).max(self.now);
        self.world.pause_at(until);
        while !self.done {
            let Some((time, actor)) = self.world.queue.first().filter(|next| next.0 <= until) else {
                self.now = until;
                self.done = until == self.world.end;
                break;
            };
            self.turn(time, actor, recorder);
            if self.work >= self.look_every && !self.look(watch, recorder) {
                return false;
            }
        }
        self.backlog_and_drops = self.world.pause(self.now);
        true
    }

    #[inline]
    fn turn(&mut self, time: Time, actor: usize, recorder: &mut Option<&mut dyn Recorder>) {
        let world = &mut self.world;
        self.now = time;
        world.read_windows(time);
        world.turn(time, actor);
        self.events += 1;
        self.done = world.incomplete == 0 || world.failed;
        if actor != world.shared.links.len() + SAMPLER {
            self.work += 1;
            return;
        }
        // A sample visits every flow.
        self.work += world.flows.len() as u64;
        // Only after samples, because the division into parts shows in the order of rows.
        if let Some(recorder) = recorder {
            world.hand_over_samples(*recorder);
        }
    }

    /// Updates the watch and hands over packet events. Reports whether the run may go on.
    #[cold]
    fn look(&mut self, watch: &Watch, recorder: &mut Option<&mut dyn Recorder>) -> bool {
        self.work = 0;
        watch.reached.store(self.now.0, Ordering::Relaxed);
        if watch.stop.load(Ordering::Relaxed) {
            return false;
        }
        if let Some(recorder) = recorder {
            self.world.hand_over_events(*recorder);
        }
        true
    }

    /// Returns the virtual time reached: that of the last pause, or of the run's end.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Reports whether nothing more happens: the time is over, every transfer is complete, or a
    /// guest has failed.
    pub fn is_done(&self) -> bool {
        self.done
    }

    /// Returns the state at the last pause.
    pub fn snapshot(&self) -> RunSnapshot {
        let (backlog, drops) = self.backlog_and_drops;
        RunSnapshot { time: self.now, backlog, drops, flows: self.world.flows(self.now) }
    }

    /// Takes the samples since the previous call that no recorder received.
    pub fn take_series(&mut self) -> Series {
        self.world.take_series()
    }

    /// Ends the run now and returns its outcome, without the samples already taken.
    pub fn finish(self) -> Outcome {
        self.world.finish(self.now, self.events)
    }
}
