//! Runs a guest over two UDP sockets, one at each end of the emulated link.
//!
//! The guest produces and consumes datagrams as in the simulator, but they cross the kernel and the
//! emulator. A datagram's departure time is looked up by its first bytes. No two datagrams are
//! equal, because each is encrypted under its own packet number.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::{SocketAddr, UdpSocket};

use crate::udp::{Clock, Incoming, Outgoing, Sent, Socket};
use hdrhistogram::Histogram;
use scenario::Guest;
use scenario::guest::{Arrival, Datagram};
use scenario::{End, FlowConfig, FlowSample, Record, Scenario};
use units::{Duration, Ecn, Time};

/// Number of bytes that identify a datagram: the header with the protected packet number, and the
/// start of the ciphertext.
const KEY_LEN: usize = 32;
/// Time for which departures are remembered. No datagram arrives later.
const RETENTION: Duration = Duration::from_secs(60);
/// Upper bound of the lateness histogram, which has two significant digits.
const MAX_LATENESS: Duration = Duration::from_secs(3600);

/// A sample of a flow and of its controller's trace variables.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    pub(crate) flow: FlowSample,
    pub(crate) inner: Vec<(&'static str, f64)>,
}

/// The results of one guest.
#[derive(Debug)]
pub(crate) struct GuestResult {
    /// Number of its flow in the scenario.
    pub(crate) flow: usize,
    pub(crate) record: Record,
    /// One sample per interval of the series.
    pub(crate) samples: Vec<Sample>,
    /// For each datagram that the sender passed to the kernel, in order: true if it had only ACKs.
    pub(crate) bare: Vec<bool>,
    /// Arrival time by the kernel's time stamp and one-way delay of each datagram at the receiver.
    pub(crate) arrivals: Vec<(Time, Duration)>,
    /// True if it ended before its transfer was complete.
    pub(crate) cut_short: bool,
    /// Number of datagrams that the kernel refused.
    pub(crate) refused: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Waiting,
    Running,
    /// The guest has ended, `by_itself` or because it was stopped.
    Done {
        by_itself: bool,
    },
}

/// A guest and its sockets.
pub(crate) struct GuestSocket {
    guest: Box<dyn Guest>,
    stage: Stage,
    flow: usize,
    start: Time,
    stop: Option<Time>,
    transfer: Option<u64>,
    record: Record,
    samples: Vec<Sample>,
    /// The sender's socket and the receiver's.
    sockets: [Socket; 2],
    addresses: [SocketAddr; 2],
    /// Departure times of datagrams.
    departures: BTreeMap<[u8; KEY_LEN], Time>,
    /// The same, oldest first.
    by_age: VecDeque<(Time, [u8; KEY_LEN])>,
    /// Datagrams for which the kernel's buffer had no space yet.
    waiting: VecDeque<Datagram>,
    bare: Vec<bool>,
    arrivals: Vec<(Time, Duration)>,
    refused: u64,
    due: Time,
}

/// A received datagram and the end that received it.
struct Received {
    at: End,
    ecn: Ecn,
    arrived: Time,
    bytes: Vec<u8>,
}

impl GuestSocket {
    /// Creates the endpoints of a flow from its guest and two bound sockets.
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
            departures: BTreeMap::new(),
            by_age: VecDeque::new(),
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

    /// Reports whether the guest has ended by itself.
    pub(crate) fn is_complete(&self) -> bool {
        self.stage == Stage::Done { by_itself: true }
    }

    /// Returns the time of the next action, unless a datagram arrives earlier.
    pub(crate) fn next(&self) -> Time {
        match self.stage {
            Stage::Waiting => self.start,
            Stage::Running => self.due.min(self.stop.unwrap_or(Time::NEVER)),
            Stage::Done { .. } => Time::NEVER,
        }
    }

    /// Returns the sockets to wait on: for reading, and for writing if datagrams are waiting.
    pub(crate) fn sockets(&self) -> (Vec<&Socket>, Vec<&Socket>) {
        if self.stage != Stage::Running {
            return (Vec::new(), Vec::new());
        }
        let full = self.waiting.front().map(|datagram| &self.sockets[datagram.from as usize]);
        (self.sockets.iter().collect(), full.into_iter().collect())
    }

    /// Reads what has arrived and performs the actions that are due. Adds their delays to
    /// `lateness`.
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

    /// Reads one batch of datagrams. Reports whether there may be more.
    fn read(&mut self, clock: &Clock, at: End, lateness: &mut Histogram<u64>) -> io::Result<bool> {
        let mut came = Vec::new();
        let read = self.sockets[at as usize].receive(clock, &mut |incoming| {
            let Incoming { ecn, arrived, bytes, .. } = incoming;
            came.push(Received { at, ecn, arrived, bytes: bytes.to_vec() });
        })?;
        for datagram in came {
            self.deliver(clock, datagram, lateness)?;
        }
        Ok(read > 0)
    }

    fn deliver(&mut self, clock: &Clock, came: Received, lateness: &mut Histogram<u64>) -> io::Result<()> {
        let Received { at, ecn, arrived, bytes } = came;
        // Only this flow has these ports, so an unknown datagram was not sent by it.
        let Some(&sent) = self.departures.get(&key(&bytes)) else { return Ok(()) };
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

    /// Sends everything that can leave now, and updates the time of the next action.
    fn send(&mut self, clock: &Clock) -> io::Result<()> {
        loop {
            let now = clock.now();
            if self.guest.is_done() {
                self.finish(now, true);
                return Ok(());
            }
            let waited = self.waiting.pop_front();
            let Some(datagram) = waited.or_else(|| self.guest.transmit(now, &mut self.record)) else { break };
            // Take the time again: building the datagram is not part of its delay.
            if !self.hand_over(clock.now(), &datagram)? {
                self.waiting.push_front(datagram);
                break;
            }
        }
        if self.record.closed.is_some() {
            self.stage = Stage::Done { by_itself: false };
            self.record.stats = self.guest.stats();
        }
        self.due = self.guest.next().max(clock.now());
        Ok(())
    }

    /// Passes a datagram to the kernel. Returns false if its buffer is full.
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
        let key = key(&datagram.bytes);
        self.departures.insert(key, now);
        self.by_age.push_back((now, key));
        Ok(true)
    }

    fn forget(&mut self, now: Time) {
        while let Some((left, key)) = self.by_age.front()
            && *left + RETENTION < now
        {
            self.departures.remove(key);
            self.by_age.pop_front();
        }
    }

    fn finish(&mut self, now: Time, by_itself: bool) {
        self.stage = Stage::Done { by_itself };
        self.record.finished = Some(now);
        self.record.stats = self.guest.stats();
    }

    /// Takes a sample for the series.
    pub(crate) fn sample(&mut self, now: Time) {
        let running = self.record.started <= now && !self.is_done();
        let flow = self.guest.observe().sample(running, &mut self.record, &self.guest.stats());
        let mut inner = Vec::new();
        if let Some(controller) = self.guest.controller().filter(|_| running) {
            controller.trace(&mut |name, value| inner.push((name, value)));
        }
        self.samples.push(Sample { flow, inner });
    }

    /// Returns the results at the end of the run.
    pub(crate) fn into_result(mut self) -> GuestResult {
        if !self.is_done() {
            self.record.stats = self.guest.stats();
        }
        let by_itself = self.is_complete();
        let is_whole = self.transfer.is_some_and(|bytes| self.record.delivered >= bytes);
        GuestResult {
            flow: self.flow,
            record: self.record,
            samples: self.samples,
            bare: self.bare,
            arrivals: self.arrivals,
            cut_short: by_itself && !is_whole,
            refused: self.refused,
        }
    }
}

/// Returns the bytes that identify a datagram. Short datagrams are padded with zeros.
fn key(bytes: &[u8]) -> [u8; KEY_LEN] {
    let mut key = [0; KEY_LEN];
    let len = bytes.len().min(KEY_LEN);
    key[..len].copy_from_slice(&bytes[..len]);
    key
}

/// Creates the histogram for [`GuestSocket::turn`].
pub(crate) fn lateness() -> Option<Histogram<u64>> {
    Histogram::new_with_max(MAX_LATENESS.0, 2).ok()
}

fn note(lateness: &mut Histogram<u64>, late: Duration) {
    lateness.saturating_record(late.0);
}
