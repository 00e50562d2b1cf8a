//! A guest in the simulator: its datagrams in flight, its timers, its start and its end.

use std::collections::{BTreeSet, VecDeque};

use recovery::Stats;
use scenario::{End, FlowSample, FlowSnapshot, Record, Route, trace_datagrams};
use units::{Duration, Ecn, Time};

use crate::endpoints::flow::Flow;
use crate::endpoints::numbered::Numbered;
use crate::engine::links::Links;
use crate::packet::Data;
use scenario::guest::{Arrival, Datagram, Guest};

/// Stage of a guest in the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Waiting,
    Running,
    Complete,
    Stopped,
    Failed,
}

/// Guest in the place of a flow.
pub(crate) struct Hosted {
    guest: Box<dyn Guest>,
    stage: Stage,
    flow: usize,
    start: Time,
    stop: Option<Time>,
    /// Time of the next requested call.
    due: Time,
    /// Paths from the sender, and back.
    ways: [Way; 2],
}

impl Hosted {
    /// Puts a guest in the place of this flow, which from now on only keeps its record.
    pub(crate) fn new(guest: Box<dyn Guest>, flow: usize, place: &mut Flow) -> Self {
        let (start, stop) = place.hand_to_guest();
        let ways = place.ways().map(|(id, route, delay)| Way::new(id, route, delay));
        Self { guest, stage: Stage::Waiting, flow, start, stop, due: Time::NEVER, ways }
    }

    /// Returns the number of the replaced flow.
    pub(crate) fn flow(&self) -> usize {
        self.flow
    }

    pub(crate) fn is_done(&self) -> bool {
        matches!(self.stage, Stage::Complete | Stage::Stopped | Stage::Failed)
    }

    pub(crate) fn is_complete(&self) -> bool {
        self.stage == Stage::Complete
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.stage == Stage::Failed
    }

    pub(crate) fn stats(&self) -> Stats {
        self.guest.stats()
    }

    /// Returns the time of the next event.
    pub(crate) fn next(&self) -> Time {
        match self.stage {
            Stage::Waiting => self.start,
            Stage::Running => {
                let stop = self.stop.unwrap_or(Time::NEVER);
                self.ways.iter().map(Way::next).fold(self.due.min(stop), Time::min)
            }
            Stage::Complete | Stage::Stopped | Stage::Failed => Time::NEVER,
        }
    }

    /// Processes what is due.
    pub(crate) fn on_time(&mut self, now: Time, record: &mut Record, links: &mut Links) {
        let begins = self.stage == Stage::Waiting;
        if begins {
            self.stage = Stage::Running;
            record.started = now;
        }
        for end in [End::Sender, End::Receiver] {
            while let Some(flying) = self.ways[end as usize].arrived(now) {
                self.arrive(now, end, flying, record, links);
            }
        }
        let called = begins || self.due <= now;
        if called && !self.is_done() {
            self.guest.on_time(now, record);
            self.send(now, record, links);
            self.due = self.due.max(now + Duration(1));
        }
        if self.stop.is_some_and(|stop| stop <= now) && !self.is_done() {
            self.finish(now, Stage::Stopped, record);
        }
    }

    /// Takes a datagram from this end that leaves its last link.
    pub(crate) fn on_delivery(
        &mut self,
        now: Time,
        from: End,
        data: &Data,
        record: &mut Record,
        links: &mut Links,
    ) {
        let way = &mut self.ways[from as usize];
        let Some(mut flying) = way.take(data) else { return };
        flying.ecn = data.ecn;
        flying.damage(data.fault.damage);
        if self.stage != Stage::Running {
            return;
        }
        if way.delay == Duration::ZERO {
            self.arrive(now, from, flying, record, links);
        } else {
            way.arriving.push_back((now + way.delay, flying));
        }
    }

    /// Notes that a link has dropped a datagram.
    pub(crate) fn on_dropped(&mut self, from: End, data: &Data, record: &mut Record) {
        self.ways[from as usize].on_dropped(from, data, record);
    }

    /// Returns the state at the time of a sample.
    pub(crate) fn sample(&self, now: Time, record: &mut Record) -> FlowSample {
        self.guest.observe().sample(self.runs(now, record), record, &self.stats())
    }

    /// Returns the state at a pause.
    pub(crate) fn snapshot(&self, now: Time, record: &Record) -> FlowSnapshot {
        let sample = self.guest.observe().at_pause(self.runs(now, record), record);
        FlowSnapshot { sample, stats: self.stats() }
    }

    fn runs(&self, now: Time, record: &Record) -> bool {
        record.started <= now && !self.is_done()
    }

    /// Reports the controller's own variables, and the size of datagrams if it changes.
    pub(crate) fn trace(&self, put: &mut dyn FnMut(&'static str, f64)) {
        trace_datagrams(&self.stats(), put);
        if let Some(controller) = self.guest.controller() {
            controller.trace(put);
        }
    }

    fn arrive(&mut self, now: Time, from: End, flying: Flying, record: &mut Record, links: &mut Links) {
        if self.stage != Stage::Running {
            return;
        }
        let at = if from == End::Sender { End::Receiver } else { End::Sender };
        let Flying { sent, ecn, bytes, .. } = flying;
        self.guest.deliver(now, Arrival { at, sent, arrived: now, ecn, bytes }, record);
        self.send(now, record, links);
    }

    /// Sends all datagrams that leave now, and schedules the next call.
    fn send(&mut self, now: Time, record: &mut Record, links: &mut Links) {
        while !self.guest.is_done()
            && let Some(datagram) = self.guest.transmit(now, record)
        {
            self.ways[datagram.from as usize].enter(now, datagram, record, links);
        }
        if let Some(why) = self.guest.failure() {
            self.stage = Stage::Failed;
            record.broken = Some((now, why));
        } else if self.guest.is_done() {
            self.finish(now, Stage::Complete, record);
        } else if record.closed.is_some() {
            self.stage = Stage::Stopped;
        }
        self.due = self.guest.next().max(now);
    }

    fn finish(&mut self, now: Time, stage: Stage, record: &mut Record) {
        self.stage = stage;
        record.finished = Some(now);
    }
}

/// Datagram in flight.
#[derive(Clone)]
struct Flying {
    sent: Time,
    ecn: Ecn,
    bare: bool,
    bytes: Vec<u8>,
}

impl Flying {
    /// Flips one of its bits, unless `random` is 0.
    fn damage(&mut self, random: u32) {
        let bits = 8 * self.bytes.len();
        if random > 0
            && let Some(bit) = (random as usize).checked_rem(bits)
        {
            self.bytes[bit / 8] ^= 1 << (bit % 8);
        }
    }
}

/// Path from one end to the other: links, if any, and then a delay.
struct Way {
    /// Number of the sending end among the senders of packets.
    id: u32,
    route: Option<Route>,
    delay: Duration,
    /// Datagrams on the links.
    waiting: Numbered<Flying>,
    /// Duplicated datagrams of which one copy has arrived or been dropped and the other has not.
    halves: BTreeSet<u64>,
    /// Datagrams behind the links.
    arriving: VecDeque<(Time, Flying)>,
}

impl Way {
    fn new(id: u32, route: Option<Route>, delay: Duration) -> Self {
        Self {
            id,
            route,
            delay,
            waiting: Numbered::default(),
            halves: BTreeSet::new(),
            arriving: VecDeque::new(),
        }
    }

    fn next(&self) -> Time {
        self.arriving.front().map_or(Time::NEVER, |first| first.0)
    }

    fn arrived(&mut self, now: Time) -> Option<Flying> {
        let due = self.arriving.front().is_some_and(|first| first.0 <= now);
        due.then(|| self.arriving.pop_front()).flatten().map(|(_, flying)| flying)
    }

    fn enter(&mut self, now: Time, datagram: Datagram, record: &mut Record, links: &mut Links) {
        let Datagram { from, size, ecn, bare, bytes } = datagram;
        let flying = Flying { sent: now, ecn, bare, bytes };
        if from == End::Receiver {
            record.on_feedback_sent(now);
        }
        let Some(Route { first, last }) = self.route else {
            return self.arriving.push_back((now + self.delay, flying));
        };
        let (entry, number) = (usize::from(first), self.waiting.put(flying));
        let data = Data { ecn, ..Data::bare(self.id, size.max(1), last, number, now) };
        match (links.push(now, entry, data), from) {
            (Ok(admitted), End::Sender) => {
                admitted
                    .queue_time
                    .into_iter()
                    .for_each(|queue_time| record.on_queued(now, entry, queue_time));
            }
            (Ok(_), End::Receiver) => {}
            (Err(_), _) => self.on_dropped(from, &data, record),
        }
    }

    /// Takes the datagram that this packet represents off the links. The second copy of a
    /// duplicated one remains.
    fn take(&mut self, data: &Data) -> Option<Flying> {
        if data.fault.doubled && self.halves.insert(data.pn) {
            return self.waiting.get(data.pn).cloned();
        }
        self.halves.remove(&data.pn);
        self.waiting.take(data.pn)
    }

    /// Notes that a link has dropped this packet. Copies are not counted.
    fn on_dropped(&mut self, from: End, data: &Data, record: &mut Record) {
        let bare = self.take(data).is_some_and(|flying| flying.bare);
        match from {
            _ if data.fault.copy => {}
            End::Sender if bare => record.on_ack_dropped(data.sent),
            End::Sender => record.on_dropped(data.sent),
            End::Receiver => record.on_feedback_dropped(data.sent),
        }
    }
}
