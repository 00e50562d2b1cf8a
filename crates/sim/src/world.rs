//! The event loop: virtual time, one dumbbell, as many flows as the scenario names.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use congestion::{Duration, Time};
use path::{Counters, Fate, Link};

use crate::agenda::Agenda;
use crate::flow::Flow;
use crate::packet::Data;
use crate::probe::{Probe, ProbeRecord};
use crate::record::Record;
use crate::scenario::Scenario;
use crate::series::{Series, mbit_s};
use crate::udp::{Udp, UdpRecord};

/// What a run leaves behind.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Per flow, in the scenario's order.
    pub flows: Vec<Record>,
    /// The probe's answers, if there was one.
    pub probe: Option<ProbeRecord>,
    /// Per source of UDP, in the scenario's order.
    pub udp: Vec<UdpRecord>,
    /// The bottleneck's counters.
    pub link: Counters,
    /// Time series, empty unless asked for.
    pub series: Series,
    /// Virtual time at the end.
    pub end: Time,
    /// Events processed.
    pub events: u64,
}

/// Seen from outside while a run goes on.
#[derive(Debug, Default)]
pub struct Watch {
    /// Virtual time reached, nanoseconds.
    pub reached: AtomicU64,
    /// Set it to end the run early.
    pub stop: AtomicBool,
}

/// Events between two looks at the [`Watch`].
const LOOK_EVERY: u64 = 1 << 16;
const LINK: usize = 0;
const SAMPLER: usize = 1;
const PROBE: usize = 2;
/// Sources of UDP come next, flows after them.
const UDP: usize = 3;

struct World {
    agenda: Agenda,
    link: Link<Data>,
    flows: Vec<Flow>,
    probe: Option<Probe>,
    udp: Vec<Udp>,
    /// The actor of the first flow.
    first_flow: usize,
    series: Series,
    interval: Option<Duration>,
    running: usize,
}

/// Runs a scenario; `None` when `watch.stop` ended it early.
pub fn run(scenario: &Scenario, watch: &Watch) -> Option<Outcome> {
    let end = Time::ZERO + scenario.duration;
    let mut world = World::new(scenario);
    let mut now = Time::ZERO;
    let mut events = 0;
    while world.running > 0 {
        let Some((time, actor)) = world.agenda.first().filter(|next| next.0 <= end) else {
            now = end;
            break;
        };
        now = time;
        world.turn(now, actor);
        events += 1;
        if events % LOOK_EVERY == 0 {
            watch.reached.store(now.0, Ordering::Relaxed);
            if watch.stop.load(Ordering::Relaxed) {
                return None;
            }
        }
    }
    watch.reached.store(scenario.duration.0, Ordering::Relaxed);
    Some(world.finish(now, events))
}

impl World {
    fn new(scenario: &Scenario) -> Self {
        let configs = scenario.flows.iter().cloned().enumerate();
        let flows: Vec<_> = configs.map(|(id, c)| Flow::new(id as u32, c, scenario)).collect();
        let first_udp = flows.len() as u32 + 1;
        let sources = scenario.udp.iter().zip(first_udp..).enumerate();
        let udp: Vec<_> = sources.map(|(i, (c, id))| Udp::new(id, i, c, scenario)).collect();
        let first_flow = UDP + udp.len();
        let mut agenda = Agenda::new(first_flow + flows.len());
        for (i, flow) in flows.iter().enumerate() {
            agenda.set(first_flow + i, flow.next());
        }
        for (i, source) in udp.iter().enumerate() {
            agenda.set(UDP + i, source.next());
        }
        if let Some(interval) = scenario.series {
            agenda.set(SAMPLER, Time::ZERO + interval);
        }
        let probe = scenario.probe.map(|config| Probe::new(flows.len() as u32, config, scenario));
        agenda.set(PROBE, probe.as_ref().map_or(Time::NEVER, Probe::next));
        Self {
            agenda,
            probe,
            udp,
            first_flow,
            link: Link::new(&scenario.link, scenario.seed, "link"),
            running: flows.len(),
            flows,
            series: Series::default(),
            interval: scenario.series,
        }
    }

    fn turn(&mut self, now: Time, actor: usize) {
        match actor {
            LINK => self.deliver(now),
            SAMPLER => self.sample(now),
            PROBE => self.ask(now),
            _ if actor < self.first_flow => self.flood(now, actor - UDP),
            _ => {
                let flow = &mut self.flows[actor - self.first_flow];
                flow.on_time(now, &mut self.link);
                self.running -= usize::from(flow.is_done());
                self.agenda.set(actor, flow.next());
            }
        }
        self.hear_fates(now);
        self.agenda.set(LINK, self.link.next().unwrap_or(Time::NEVER));
    }

    /// Tells the flows what an AQM decided about their packets after it had taken them.
    fn hear_fates(&mut self, now: Time) {
        while let Some(fate) = self.link.fate() {
            let id = match &fate {
                Fate::Departs { flow, .. } => *flow,
                Fate::Dropped(dropped) => dropped.packet.flow,
            };
            match owner(self.flows.len(), id) {
                Owner::Flow(i) => self.flows[i].on_fate(now, &fate),
                Owner::Probe => self.probe.iter_mut().for_each(|probe| probe.on_fate(now, &fate)),
                Owner::Udp(i) => self.udp[i].on_fate(now, &fate),
            }
        }
    }

    fn ask(&mut self, now: Time) {
        let Some(probe) = &mut self.probe else { return };
        probe.send(now, &mut self.link);
        self.agenda.set(PROBE, probe.next());
    }

    fn flood(&mut self, now: Time, source: usize) {
        self.udp[source].send(now, &mut self.link);
        self.agenda.set(UDP + source, self.udp[source].next());
    }

    fn deliver(&mut self, now: Time) {
        while let Some(data) = self.link.pop(now) {
            match owner(self.flows.len(), data.flow) {
                Owner::Flow(i) => self.deliver_to(now, i, data),
                Owner::Probe => self.probe.iter_mut().for_each(|probe| probe.on_delivery(now, &data)),
                Owner::Udp(i) => self.udp[i].on_delivery(now, &data),
            }
        }
    }

    #[inline]
    fn deliver_to(&mut self, now: Time, flow: usize, data: Data) {
        let actor = self.first_flow + flow;
        let flow = &mut self.flows[flow];
        if !flow.is_done() {
            flow.on_delivery(now, data);
            self.running -= usize::from(flow.is_done());
            self.agenda.set(actor, flow.next());
        }
    }

    fn sample(&mut self, now: Time) {
        let Some(interval) = self.interval else { return };
        let backlog = self.link.backlog(now).bytes;
        let drops = self.link.counters(now).dropped().packets;
        let answer = self.probe.as_mut().and_then(Probe::take_answer);
        let udp = match self.udp.is_empty() {
            true => f64::NAN,
            false => mbit_s(self.udp.iter_mut().map(Udp::take_fresh).sum(), interval),
        };
        self.series.sample_path(backlog, drops, answer, udp);
        self.series.sample_flows(now, interval, &mut self.flows);
        self.agenda.set(SAMPLER, now + interval);
    }

    fn finish(mut self, now: Time, events: u64) -> Outcome {
        let link = self.link.counters(now);
        self.hear_fates(now);
        if cfg!(debug_assertions) {
            check_link(&mut self.link);
        }
        let records = self.flows.into_iter().map(|mut flow| {
            flow.record.stats = flow.sender().stats().clone();
            flow.record
        });
        let probe = self.probe.map(Probe::into_record);
        let udp = self.udp.into_iter().map(Udp::into_record).collect();
        Outcome { flows: records.collect(), probe, udp, link, series: self.series, end: now, events }
    }
}

/// Whose packet it is.
enum Owner {
    Flow(usize),
    Probe,
    Udp(usize),
}

/// Packets are numbered like their senders: flows from 0, then the probe, then the sources of UDP.
#[inline]
fn owner(flows: usize, id: u32) -> Owner {
    let id = id as usize;
    match id.checked_sub(flows) {
        None => Owner::Flow(id),
        Some(0) => Owner::Probe,
        Some(beyond) => Owner::Udp(beyond - 1),
    }
}

/// Every run of a debug build ends with this: packets are conserved, and once the queue has drained the backlog
/// integrated over time is the sum of the packets' sojourns, to the nanosecond (Little's law).
fn check_link(link: &mut Link<Data>) {
    let mut now = Time::ZERO;
    while let Some(next) = link.next() {
        now = next;
        while link.pop(now).is_some() {}
    }
    let c = link.counters(now);
    assert_eq!(c.pushed, c.admitted + c.dropped(), "packets are conserved");
    if link.backlog(now).packets == 0 {
        assert_eq!(c.delivered, c.admitted, "what was admitted is delivered");
        assert_eq!(c.backlog_integral, c.sojourn, "Little's law");
    }
}
