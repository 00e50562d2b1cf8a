//! A guest at two sockets: what lives in the simulator in the place of a flow, at the ends of a real link.
//!
//! The guest hands out datagrams and takes them, as there; here they cross the kernel and the emulator. When a datagram left is known by its
//! bytes, of which there are never twice the same: each is encrypted under a number of its own.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::{SocketAddr, UdpSocket};

use hdrhistogram::Histogram;
use scenario::{End, FlowConfig, FlowSample, Record, Scenario};
use sim::Guest;
use sim::guest::{Arrival, Datagram};
use udp::{Clock, Incoming, Outgoing, Sent, Socket};
use units::{Duration, Ecn, Time};

/// Bytes of a datagram that tell it from others: a header and its protected number, and the beginning of what is encrypted.
const NAME: usize = 32;
/// How long it is remembered when a datagram left, after which none arrives.
const MEMORY: Duration = Duration::from_secs(60);
/// Lateness is kept up to this, with two digits.
const LATEST: Duration = Duration::from_secs(3600);

/// A sample of a guest: how it stands, and its controller's own variables.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    pub(crate) flow: FlowSample,
    pub(crate) inner: Vec<(&'static str, f64)>,
}

/// What is left of a guest when the run is over.
#[derive(Debug)]
pub(crate) struct Left {
    /// The number of the flow whose place it had.
    pub(crate) flow: usize,
    pub(crate) record: Record,
    /// One for each interval.
    pub(crate) samples: Vec<Sample>,
    /// Of each datagram that the sending end has handed to the kernel, in order: whether it held acknowledgements alone.
    pub(crate) bare: Vec<bool>,
    /// Of each that reached the receiving end: its time of arrival by the kernel's stamp, and how long it had been on its way.
    pub(crate) arrivals: Vec<(Time, Duration)>,
    /// By how much its one-way delays are longer than the link's, the median; from [`crate::log`].
    pub(crate) owd_error: Option<Duration>,
    /// It ended before its time.
    pub(crate) cut_short: bool,
    /// What the kernel would not take.
    pub(crate) refused: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Waiting,
    Running,
    /// Nothing is asked of it any more; by itself, before it was stopped.
    Done {
        by_itself: bool,
    },
}

/// A guest and its sockets.
pub(crate) struct Seat {
    guest: Box<dyn Guest>,
    stage: Stage,
    flow: usize,
    start: Time,
    stop: Option<Time>,
    transfer: Option<u64>,
    record: Record,
    samples: Vec<Sample>,
    /// The sending end's and the receiving end's.
    sockets: [Socket; 2],
    addresses: [SocketAddr; 2],
    /// When datagrams left, by their beginnings, and the same in order.
    flying: BTreeMap<[u8; NAME], Time>,
    ages: VecDeque<(Time, [u8; NAME])>,
    /// For which the kernel has had no room yet.
    waiting: VecDeque<Datagram>,
    bare: Vec<bool>,
    arrivals: Vec<(Time, Duration)>,
    refused: u64,
    due: Time,
}

/// A datagram that was read, with its end.
struct Came {
    at: End,
    ecn: Ecn,
    arrived: Time,
    bytes: Vec<u8>,
}

impl Seat {
    /// In the place of the flow of this number, between two bound sockets.
    pub(crate) fn new(
        (number, guest): (usize, Box<dyn Guest>),
        flow: &FlowConfig,
        scenario: &Scenario,
        sockets: [UdpSocket; 2],
    ) -> io::Result<Self> {
        let [sending, receiving] = sockets;
        let addresses = [sending.local_addr()?, receiving.local_addr()?];
        Ok(Self {
            guest,
            stage: Stage::Waiting,
            flow: number,
            start: flow.start,
            stop: flow.stop,
            transfer: flow.transfer,
            record: Record::new(&flow.application, scenario),
            samples: Vec::new(),
            sockets: [Socket::new(sending)?, Socket::new(receiving)?],
            addresses,
            flying: BTreeMap::new(),
            ages: VecDeque::new(),
            waiting: VecDeque::new(),
            bare: Vec::new(),
            arrivals: Vec::new(),
            refused: 0,
            due: Time::NEVER,
        })
    }

    pub(crate) fn is_done(&self) -> bool {
        matches!(self.stage, Stage::Done { .. })
    }

    /// When something is to be done, whatever comes.
    pub(crate) fn next(&self) -> Time {
        match self.stage {
            Stage::Waiting => self.start,
            Stage::Running => self.due.min(self.stop.unwrap_or(Time::NEVER)),
            Stage::Done { .. } => Time::NEVER,
        }
    }

    /// What to wait for: something to read, or room for what waits.
    pub(crate) fn sockets(&self) -> (Vec<&Socket>, Vec<&Socket>) {
        if self.stage != Stage::Running {
            return (Vec::new(), Vec::new());
        }
        let full = self.waiting.front().map(|datagram| &self.sockets[datagram.from as usize]);
        (self.sockets.iter().collect(), full.into_iter().collect())
    }

    /// Takes what has come and does what is due; `lateness` hears how much after its time.
    pub(crate) fn turn(&mut self, clock: &Clock, lateness: &mut Histogram<u64>) -> io::Result<()> {
        if self.stage == Stage::Waiting && self.start <= clock.now() {
            self.stage = Stage::Running;
            self.record.started = clock.now();
            self.due = self.start;
        }
        if self.stage != Stage::Running {
            return Ok(());
        }
        for end in [End::Sender, End::Receiver] {
            while self.read(clock, end, lateness)? && self.stage == Stage::Running {}
        }
        let now = clock.now();
        if self.due <= now && self.stage == Stage::Running {
            note(lateness, now - self.due);
            self.guest.on_time(now, &mut self.record);
            self.send(clock)?;
        } else if !self.waiting.is_empty() {
            self.send(clock)?;
        }
        if self.stop.is_some_and(|stop| stop <= now) && self.stage == Stage::Running {
            self.finish(now, false);
        }
        self.forget(now);
        Ok(())
    }

    /// Whether there may be more.
    fn read(&mut self, clock: &Clock, at: End, lateness: &mut Histogram<u64>) -> io::Result<bool> {
        let mut came = Vec::new();
        let read = self.sockets[at as usize].receive(clock, &mut |incoming| {
            let Incoming { ecn, arrived, bytes, .. } = incoming;
            came.push(Came { at, ecn, arrived, bytes: bytes.to_vec() });
        })?;
        for datagram in came {
            self.deliver(clock, datagram, lateness)?;
        }
        Ok(read > 0)
    }

    fn deliver(&mut self, clock: &Clock, came: Came, lateness: &mut Histogram<u64>) -> io::Result<()> {
        let Came { at, ecn, arrived, bytes } = came;
        // Nobody else has these ports; what was never sent is none of ours.
        let Some(&sent) = self.flying.get(&name(&bytes)) else { return Ok(()) };
        if self.stage != Stage::Running {
            return Ok(());
        }
        let now = clock.now();
        let arrived = arrived.max(sent);
        note(lateness, now - arrived);
        if at == End::Receiver {
            self.arrivals.push((arrived, arrived - sent));
        }
        self.guest.deliver(now, Arrival { at, sent, arrived, ecn, bytes }, &mut self.record);
        self.send(clock)
    }

    /// All that leaves now, and what comes next.
    fn send(&mut self, clock: &Clock) -> io::Result<()> {
        loop {
            let now = clock.now();
            if self.guest.is_done() {
                self.finish(now, true);
                return Ok(());
            }
            let waited = self.waiting.pop_front();
            let Some(datagram) = waited.or_else(|| self.guest.transmit(now, &mut self.record)) else { break };
            // It was built since: what that took is not its way.
            if !self.hand_over(clock.now(), &datagram)? {
                self.waiting.push_front(datagram);
                break;
            }
        }
        self.due = self.guest.next().max(clock.now());
        Ok(())
    }

    /// False: the kernel has no room.
    fn hand_over(&mut self, now: Time, datagram: &Datagram) -> io::Result<bool> {
        let from = datagram.from as usize;
        let outgoing = Outgoing {
            to: self.addresses[1 - from],
            from: None,
            ecn: datagram.ecn,
            segment: None,
            bytes: &datagram.bytes,
        };
        match self.sockets[from].send(&outgoing)? {
            Sent::Full => return Ok(false),
            Sent::Lost(_) => self.refused += 1,
            Sent::Yes if datagram.from == End::Sender => self.bare.push(datagram.bare),
            Sent::Yes => {}
        }
        let name = name(&datagram.bytes);
        self.flying.insert(name, now);
        self.ages.push_back((now, name));
        Ok(true)
    }

    fn forget(&mut self, now: Time) {
        while let Some((left, name)) = self.ages.front()
            && *left + MEMORY < now
        {
            self.flying.remove(name);
            self.ages.pop_front();
        }
    }

    fn finish(&mut self, now: Time, by_itself: bool) {
        self.stage = Stage::Done { by_itself };
        self.record.finished = Some(now);
        self.record.stats = self.guest.stats();
    }

    /// How it stands, for the series.
    pub(crate) fn sample(&mut self, now: Time) {
        let running = self.record.started <= now && !self.is_done();
        let flow = self.guest.observe().sample(running, &mut self.record);
        let mut inner = Vec::new();
        if let Some(controller) = self.guest.controller().filter(|_| running) {
            controller.trace(&mut |name, value| inner.push((name, value)));
        }
        self.samples.push(Sample { flow, inner });
    }

    /// The run is over.
    pub(crate) fn leave(mut self) -> Left {
        if !self.is_done() {
            self.record.stats = self.guest.stats();
        }
        let by_itself = self.stage == Stage::Done { by_itself: true };
        let is_whole = self.transfer.is_some_and(|bytes| self.record.delivered >= bytes);
        Left {
            flow: self.flow,
            record: self.record,
            samples: self.samples,
            bare: self.bare,
            arrivals: self.arrivals,
            owd_error: None,
            cut_short: by_itself && !is_whole,
            refused: self.refused,
        }
    }
}

/// Bytes that are like no other datagram's; of short ones all, and zeros.
fn name(bytes: &[u8]) -> [u8; NAME] {
    let mut name = [0; NAME];
    let len = bytes.len().min(NAME);
    name[..len].copy_from_slice(&bytes[..len]);
    name
}

/// For [`Seat::turn`].
pub(crate) fn lateness() -> Option<Histogram<u64>> {
    Histogram::new_with_max(LATEST.0, 2).ok()
}

fn note(lateness: &mut Histogram<u64>, late: Duration) {
    lateness.saturating_record(late.0);
}
