//! The event loop: virtual time, a chain of links and an optional one back, and the flows of the
//! scenario.
//!
//! Actors in the queue, lowest first: the links, the sampler, the ping, the UDP sources, the flows,
//! the guests.
//!
//! Links process events in order of time. Between two links a flow may deviate from that order: its
//! sender acts ahead of time where it knows what will arrive (`endpoints/flow/sending_end.rs`).
//! If a link knows the arrival at once, packets are no events of the link (`scheduled.rs`). The
//! receiver processes them when its state is needed (`receiving_end.rs`). Observers of flows see
//! them as they are at that time.

mod delivery;
pub(super) mod run;
pub(super) mod simulation;

use units::{Duration, Time};

use crate::endpoints::flow::{Flow, Shared};
use crate::endpoints::setup::Rules;
use crate::engine::event_queue::EventQueue;
use crate::engine::guests::{Called, Guests};
use crate::engine::links::Links;
use crate::engine::windows::Windows;
use crate::traffic::ping::Ping;
use crate::traffic::udp::Udp;
use scenario::{FlowSnapshot, Outcome, Recorder, Sampler, Scenario, Seconds, Series, mbit_s};

/// Number of flow samples that are handed to a recorder at once.
const PART: usize = 1 << 16;
/// Actors behind the links, counted from there.
const SAMPLER: usize = 0;
const PING: usize = 1;
const UDP: usize = 2;

struct World {
    queue: EventQueue,
    shared: Shared,
    flows: Vec<Flow>,
    guests: Guests,
    probe: Option<Ping>,
    udp: Vec<Udp>,
    /// Actor number of the first flow.
    first_flow: usize,
    windows: Windows,
    sampler: Option<Sampler>,
    seconds: Seconds,
    /// Number of flows that are not complete. A stopped flow never is.
    incomplete: usize,
    /// Whether a guest or a controller has failed, which ends the run.
    failed: bool,
    end: Time,
    next_sample: Time,
    /// First time behind the next pause.
    behind_pause: Time,
    /// Next time at which the flows are observed. No flow is ahead of it.
    bound: Time,
}

impl World {
    fn new(scenario: &Scenario, guests: scenario::Guests) -> Self {
        let links = Links::new(scenario);
        // Numbers of the senders of packets, see `owner`.
        let first_udp = scenario.flows.len() as u32 + 1;
        let first_feedback = first_udp + scenario.udp.len() as u32;
        let configs = scenario.flows.iter().cloned().zip(0..);
        let mut rules = Rules::default();
        let flow = |(config, id)| Flow::new(id, first_feedback + id, config, scenario, &mut rules);
        let mut flows: Vec<_> = configs.map(flow).collect();
        let guests = Guests::new(guests, &mut flows);
        let sources = scenario.udp.iter().zip(first_udp..).enumerate();
        let udp: Vec<_> = sources.map(|(i, (c, id))| Udp::new(id, i, c, scenario)).collect();
        let first_flow = links.len() + UDP + udp.len();
        let mut queue = EventQueue::new(first_flow, flows.len() + guests.len());
        for (i, flow) in flows.iter().enumerate() {
            queue.set(first_flow + i, flow.next());
        }
        for (i, next) in guests.times().enumerate() {
            queue.set(first_flow + flows.len() + i, next);
        }
        for (i, source) in udp.iter().enumerate() {
            queue.set(links.len() + UDP + i, source.next());
        }
        if let Some(interval) = scenario.series {
            queue.set(links.len() + SAMPLER, Time::ZERO + interval);
        }
        let probe = scenario.probe.map(|config| Ping::new(flows.len() as u32, config, scenario));
        queue.set(links.len() + PING, probe.as_ref().map_or(Time::NEVER, Ping::next));
        Self {
            queue,
            probe,
            udp,
            first_flow,
            shared: Shared::new(links, flows.len()),
            incomplete: flows.len(),
            failed: false,
            sampler: scenario.series.map(|interval| Sampler::new(interval, flows.len())),
            flows,
            guests,
            windows: Windows::new(scenario),
            seconds: Seconds::new(scenario.series),
            end: Time::ZERO + scenario.duration,
            next_sample: scenario.series.map_or(Time::NEVER, |interval| Time::ZERO + interval),
            behind_pause: Time::ZERO,
            bound: Time::ZERO,
        }
    }

    /// Updates the bound: the next sample, the next edge of a window, or the next pause, whose
    /// events still count.
    fn set_bound(&mut self) {
        self.bound = self.windows.next().min(self.next_sample).min(self.behind_pause);
    }

    /// Sets the next pause, at the end of the run or before.
    fn pause_at(&mut self, time: Time) {
        self.behind_pause = time + Duration(1);
        self.set_bound();
    }

    /// Brings the flows up to date at a pause, after all turns at that time. Returns the bytes in
    /// the queues of the forward links, and the number of packets that those have dropped.
    fn pause(&mut self, now: Time) -> (u64, u64) {
        self.read_windows(now);
        self.flows.iter_mut().for_each(|flow| flow.pause(now, &mut self.shared));
        self.shared.links.backlog_and_drops(now)
    }

    /// Returns the state of all flows at a pause.
    fn flows(&self, now: Time) -> Vec<FlowSnapshot> {
        let numbered = self.flows.iter().enumerate();
        let state = |(number, flow): (usize, &Flow)| {
            self.guests.snapshot(now, number, flow).unwrap_or_else(|| flow.snapshot(now))
        };
        numbered.map(state).collect()
    }

    /// Takes the samples.
    fn take_series(&mut self) -> Series {
        self.sampler.as_mut().map(Sampler::take).unwrap_or_default()
    }

    /// Reads the counters of windows that begin or end by `now`, before anything happens at that
    /// time.
    #[inline]
    fn read_windows(&mut self, now: Time) {
        if now >= self.windows.next() {
            self.guests.count(&mut self.flows);
            self.windows.read(now, &self.flows, &mut self.shared.links);
            self.set_bound();
        }
    }

    /// Hands over the samples once there are enough.
    fn hand_over_samples(&mut self, recorder: &mut dyn Recorder) {
        if let Some(sampler) = self.sampler.as_mut().filter(|sampler| sampler.rows() >= PART) {
            recorder.series(sampler.take());
        }
    }

    /// Hands over the packet events.
    fn hand_over_events(&mut self, recorder: &mut dyn Recorder) {
        for (number, flow) in self.flows.iter_mut().enumerate() {
            flow.record.hand_over(number, recorder);
        }
    }

    fn turn(&mut self, now: Time, actor: usize) {
        let first_flow = self.first_flow;
        if actor >= first_flow {
            match self.flows.get_mut(actor - first_flow) {
                Some(flow) => {
                    flow.on_time(now, self.bound, &mut self.shared);
                    if flow.is_done() {
                        self.incomplete -= usize::from(flow.is_complete());
                        self.failed |= flow.record.broken.is_some();
                    }
                    self.queue.set(actor, flow.next());
                }
                None => {
                    let index = actor - first_flow - self.flows.len();
                    let called = self.guests.turn(now, index, &mut self.flows, &mut self.shared.links);
                    self.after_guest(called);
                }
            }
        } else {
            match actor.checked_sub(self.shared.links.len()) {
                None => self.deliver(now, actor),
                Some(SAMPLER) => self.sample(now),
                Some(PING) => self.send_ping(now),
                Some(index) => self.send_udp(now, index - UDP),
            }
        }
        for link in self.shared.links.take_touched() {
            self.on_outcomes(now, link);
            self.queue.set(link, self.shared.links.next(link));
        }
    }

    fn send_ping(&mut self, now: Time) {
        let Some(probe) = &mut self.probe else { return };
        probe.send(now, &mut self.shared.links);
        self.queue.set(self.shared.links.len() + PING, probe.next());
    }

    fn send_udp(&mut self, now: Time, source: usize) {
        let udp = &mut self.udp[source];
        udp.send(now, &mut self.shared.links);
        self.queue.set(self.shared.links.len() + UDP + source, udp.next());
    }

    /// Updates the queue after a call of a guest that was not done before.
    fn after_guest(&mut self, Called { index, complete, failed, next }: Called) {
        self.incomplete -= usize::from(complete);
        self.failed |= failed;
        self.queue.set(self.first_flow + self.flows.len() + index, next);
    }

    fn sample(&mut self, now: Time) {
        let Some(sampler) = &mut self.sampler else { return };
        let interval = sampler.interval();
        let (backlog, drops) = self.shared.links.backlog_and_drops(now);
        let answer = self.probe.as_mut().and_then(Ping::take_answer);
        let udp = match self.udp.is_empty() {
            true => f64::NAN,
            false => mbit_s(self.udp.iter_mut().map(Udp::take_fresh).sum(), interval),
        };
        sampler.sample_path(now, backlog, drops, answer, udp);
        for (number, flow) in self.flows.iter_mut().enumerate() {
            if let Some((sample, guest)) = self.guests.sample(now, number, flow) {
                sampler.sample_flow(number, &sample, |put| guest.trace(put));
                continue;
            }
            match flow.sample(now, &mut self.shared) {
                Some(sample) => {
                    sampler.sample_flow(number, &sample, |put| flow.trace(put));
                }
                None => sampler.repeat_flow(number),
            }
        }
        self.seconds.add(now.as_secs_f64(), sampler.goodputs());
        self.queue.set(self.shared.links.len() + SAMPLER, now + interval);
        self.next_sample = now + interval;
        self.set_bound();
    }

    fn finish(mut self, end: Time, events: u64) -> Outcome {
        let series = self.take_series();
        self.guests.count(&mut self.flows);
        self.flows.iter_mut().for_each(|flow| flow.conclude(end, &mut self.shared));
        let (mut counters, reverse) = self.shared.links.counters(end);
        self.shared.links.take_touched().for_each(|link| self.on_outcomes(end, link));
        let (probe, probe_inside) = self.probe.map(Ping::into_records).unzip();
        let (udp, udp_inside) = self.udp.into_iter().map(Udp::into_records).unzip();
        let (windows, carried) =
            self.windows.finish(end, &mut self.flows, &mut self.shared.links, probe_inside, udp_inside);
        if cfg!(debug_assertions) {
            self.shared.links.check();
        }
        let flows = self.flows.into_iter().map(|flow| flow.record).collect();
        let link = counters.remove(0);
        let (seconds, beyond) = (self.seconds, counters);
        Outcome { flows, probe, udp, link, beyond, reverse, carried, windows, series, seconds, end, events }
    }
}
