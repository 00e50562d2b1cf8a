//! The agent: a controller in this process for connections of the kernel.
// It answers in real time.
#![allow(clippy::disallowed_methods)]

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration as StdDuration, Instant};

use congestion::{Algorithm, Control, PathInfo};
use hdrhistogram::Histogram;
use libbpf_rs::{MapCore, MapFlags, MapHandle, RingBufferBuilder};
use units::{Duration, Time};

use crate::error::Error;
use crate::flow::Flow;
use crate::inner::Inner;
use crate::program::{Program, Registered};
use crate::record::{Record, SLOTS, kind};

/// The compiled program.
const OBJECT: &[u8] = include_bytes!("../objects/agent.o");
/// Interval between two looks at the records. A wake-up for each record would answer sooner, but
/// cost the kernel ten times as much per record.
const INTERVAL: StdDuration = StdDuration::from_micros(200);
/// Segment size for the first window, before a connection has one. Bytes.
const SEGMENT: u64 = 1448;
/// Longest time to an answer that is told from longer ones, in ns.
const LONGEST: u64 = 60_000_000_000;
/// Significant digits of times to answers.
const DIGITS: u8 = 2;
/// Positions of the program's counters.
const LOST_RECORDS: usize = 0;
const REFUSED_FLOWS: usize = 1;
const FALLBACKS: usize = 2;

/// A controller that TCP sockets can choose by name, decided by this process.
pub struct Agent {
    algorithm: Algorithm,
    paced: bool,
    registered: Registered,
    slots: MapHandle,
}

/// Observations of an agent, for the audit of a run.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Number of connections.
    pub connections: u64,
    /// Number of records.
    pub records: u64,
    /// Number of records that found the ring buffer full.
    pub lost_records: u64,
    /// Number of connections beyond the [limit](SLOTS), which ran as Reno.
    pub refused_flows: u64,
    /// Number of times a connection continued as Reno, because no answer came.
    pub fallbacks: u64,
    /// Time from a record to its answer: the median, 99 % and the longest.
    pub answer_time: [Duration; 3],
}

/// Connections by slot, and what is counted of them.
struct Connections<'a> {
    agent: &'a Agent,
    flows: BTreeMap<u32, Flow>,
    /// Slots whose answer is outdated.
    changed: Vec<u32>,
    seen: u64,
    records: u64,
    /// Times of records without an answer yet, in ns.
    waiting: Vec<u64>,
    /// Times to the answers, in ns.
    answer_times: Histogram<u64>,
    inner: &'a mut Inner,
}

impl Agent {
    /// Checks that a controller can do with the signals of TCP.
    ///
    /// # Errors
    /// The signal that TCP lacks.
    pub fn check(algorithm: &Algorithm) -> Result<(), Error> {
        match algorithm.build(PathInfo::default()).needs().missing_in_linux_tcp() {
            Some(lacks) => Err(Error::new(format!("{} needs {lacks}", algorithm.name()))),
            None => Ok(()),
        }
    }

    /// Registers a controller under this name.
    ///
    /// # Errors
    /// A controller that needs more than TCP's signals.
    /// A name that is wrong or taken, a kernel that refuses the program, missing privileges.
    pub fn register(algorithm: Algorithm, name: &str) -> Result<Self, Error> {
        Self::check(&algorithm)?;
        let path = PathInfo { max_datagram_size: SEGMENT, paced: false, seed: 0 };
        let Control { cwnd, pacing_rate, .. } = algorithm.build(path).control();
        let paced = pacing_rate.is_some();
        let mut program = Program::open(OBJECT, name)?;
        program.set("initial_cwnd", (cwnd / SEGMENT).max(1))?;
        program.set("paced", u64::from(paced))?;
        let registered = program.register()?;
        let wrong = |e: libbpf_rs::Error| Error::from_library(&format!("prepare `{name}`"), &e);
        let vacant = registered.map("vacant")?;
        for slot in 0..SLOTS as u32 {
            vacant.update(&[], &slot.to_ne_bytes(), MapFlags::ANY).map_err(wrong)?;
        }
        let slots = registered.map("slots")?;
        Ok(Self { algorithm, paced, registered, slots })
    }

    /// Answers the kernel until `stop` is set. Returns what was observed.
    ///
    /// # Errors
    /// The kernel refuses the ring buffer.
    pub fn run(&self, stop: &AtomicBool) -> Result<Report, Error> {
        self.run_sampled(stop, &mut Inner::default())
    }

    /// Runs as [`run`](Self::run) does, with samples of the controllers' variables.
    ///
    /// # Errors
    /// Fails as [`run`](Self::run) does.
    pub fn run_sampled(&self, stop: &AtomicBool, inner: &mut Inner) -> Result<Report, Error> {
        let connections = RefCell::new(Connections {
            agent: self,
            flows: BTreeMap::new(),
            changed: Vec::new(),
            seen: 0,
            records: 0,
            waiting: Vec::new(),
            answer_times: Histogram::new_with_max(LONGEST, DIGITS).map_err(|e| Error::new(e.to_string()))?,
            inner,
        });
        let records = self.registered.map("records")?;
        let wrong = |e: libbpf_rs::Error| Error::from_library("read the records of the kernel", &e);
        let mut builder = RingBufferBuilder::new();
        let take = |bytes: &[u8]| {
            connections.borrow_mut().on_bytes(bytes);
            0
        };
        builder.add(&records, take).map_err(wrong)?;
        let ring = builder.build().map_err(wrong)?;
        while !stop.load(Ordering::Relaxed) {
            ring.consume().map_err(wrong)?;
            connections.borrow_mut().answer();
            thread::sleep(INTERVAL);
        }
        drop(ring);
        Ok(self.report(connections.into_inner()))
    }

    fn report(&self, connections: Connections<'_>) -> Report {
        let Connections { seen, records, answer_times, .. } = connections;
        let at = |part: f64| Duration::from_nanos(answer_times.value_at_quantile(part));
        Report {
            connections: seen,
            records,
            lost_records: self.registered.counter(LOST_RECORDS),
            refused_flows: self.registered.counter(REFUSED_FLOWS),
            fallbacks: self.registered.counter(FALLBACKS),
            answer_time: [at(0.5), at(0.99), at(1.0)],
        }
    }
}

impl Connections<'_> {
    fn on_bytes(&mut self, bytes: &[u8]) {
        let Some(record) = Record::read(bytes).filter(|record| record.slot < SLOTS as u32) else { return };
        self.records += 1;
        if record.kind == kind::CLOSE {
            self.flows.remove(&record.slot);
            return;
        }
        // A lost record may have been the end of a connection, or the beginning of the next.
        let is_other = |flow: &Flow| flow.number() != record.number();
        if self.flows.get(&record.slot).is_none_or(is_other) {
            let flow = Flow::new(&self.agent.algorithm, &record, self.agent.paced);
            self.flows.insert(record.slot, flow);
            self.seen += 1;
        }
        if let Some(flow) = self.flows.get_mut(&record.slot) {
            flow.on_record(&record);
            self.changed.push(record.slot);
            self.waiting.push(record.ktime_ns);
        }
    }

    /// Answers the newest record of each connection, and calls timers that are due.
    fn answer(&mut self) {
        let now = monotonic();
        for (slot, flow) in &mut self.flows {
            if flow.on_time(Time(now)) {
                self.changed.push(*slot);
            }
        }
        self.changed.sort_unstable();
        self.changed.dedup();
        for slot in &self.changed {
            let Some(flow) = self.flows.get(slot) else { continue };
            let answer = flow.answer();
            // It fails for a slot that does not exist, which was checked.
            let _ = self.agent.slots.update(&slot.to_ne_bytes(), bytemuck::bytes_of(&answer), MapFlags::ANY);
        }
        let now = monotonic();
        for at in self.waiting.drain(..) {
            self.answer_times.saturating_record(now.saturating_sub(at));
        }
        for flow in self.changed.drain(..).filter_map(|slot| self.flows.get(&slot)) {
            self.inner.sample(flow.number(), Time(now), |put| flow.controller().trace(put));
        }
    }
}

/// Converts a time to come to the kernel's clock.
pub fn on_clock(at: Instant) -> Time {
    Time(monotonic()) + at.saturating_duration_since(Instant::now()).into()
}

/// Returns the time of the kernel's clock, in ns.
pub(crate) fn monotonic() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
