//! Traces the TCP senders of a run at the kernel's tracepoints.

use std::collections::BTreeSet;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use kernel::Error;
use kernel::trace::{Flow, Probe, TraceRecord};
use nix::time::{ClockId, clock_gettime};
use scenario::Scenario;
use scenario::trace::{Event, Trace};
use units::Time;

use crate::emu::tcp::{self, Connection};
use crate::endpoints::sockets::spawn;
use crate::endpoints::traced::{PROBE, Reason, Traced};

/// Interval between two looks at the kernel's records.
const LOOK: Duration = Duration::from_millis(5);
/// Attempts to read two clocks at once.
const READINGS: usize = 8;
/// Remark if the kernel's ring buffer was full.
const INCOMPLETE: &str = "records of the kernel are missing, because its ring buffer was full";

/// Records of a run, and whether some are missing.
type Collected = (Vec<TraceRecord>, bool);

/// A trace of a run in progress.
#[derive(Debug)]
pub(crate) struct Tracer {
    /// Sockets to trace. The thread ends when this is dropped.
    listed: Sender<BTreeSet<u64>>,
    thread: JoinHandle<Result<Collected, Error>>,
    /// Cookie of each flow's sender.
    cookies: Vec<Option<u64>>,
    /// Start of the run on the kernel's clock, in ns.
    origin: u64,
}

impl Tracer {
    /// Attaches the program if a trace is wanted. Returns `None` if the kernel refuses it.
    pub(crate) fn start(is_wanted: bool) -> Option<Self> {
        is_wanted.then_some(())?;
        let (listed, cookies) = mpsc::channel();
        let (attached, is_attached) = mpsc::channel();
        let trace = move || {
            // A probe cannot move to another thread.
            let probe = Probe::attach(0, true)?;
            // The receiver is waiting.
            let _ = attached.send(());
            collect(probe, &cookies)
        };
        let thread = spawn("tracer", trace).ok()?;
        is_attached.recv().ok()?;
        Some(Self { listed, thread, cookies: Vec::new(), origin: 0 })
    }

    /// Begins to trace these connections. The run begins at `origin`.
    pub(crate) fn list(&mut self, connections: &[Option<Connection>], origin: Instant) {
        self.origin = monotonic(origin);
        let cookie = |connection: &Option<Connection>| tcp::cookie(&connection.as_ref()?.client).ok();
        self.cookies = connections.iter().map(cookie).collect();
        // A thread that has ended has no records, and `finish` says so.
        let _ = self.listed.send(self.cookies.iter().flatten().copied().collect());
    }

    /// Ends the trace. Returns what it has of each flow.
    pub(crate) fn finish(self, scenario: &Scenario) -> Vec<Traced> {
        drop(self.listed);
        let Ok(Ok((records, is_incomplete))) = self.thread.join() else { return Vec::new() };
        let of_flow = |(cookie, flow): (&Option<u64>, &scenario::FlowConfig)| {
            let own = records.iter().filter(|record| Some(record.cookie) == *cookie);
            read(own.filter_map(|record| shifted(record, self.origin)), flow.start, is_incomplete)
        };
        self.cookies.iter().zip(&scenario.flows).map(of_flow).collect()
    }
}

fn collect(mut probe: Probe, listed: &Receiver<BTreeSet<u64>>) -> Result<Collected, Error> {
    let mut records = Vec::new();
    loop {
        let wanted = listed.recv_timeout(LOOK);
        let is_over = wanted == Err(RecvTimeoutError::Disconnected);
        if let Ok(cookies) = wanted {
            probe.list(cookies)?;
        }
        probe.read(&mut records)?;
        if is_over {
            return Ok((records, probe.lost_records() > 0));
        }
    }
}

/// Returns the record with its time since `origin`, or `None` if it is earlier.
fn shifted(record: &TraceRecord, origin: u64) -> Option<TraceRecord> {
    let mut record = *record;
    record.time_ns = record.time_ns.checked_sub(origin)?;
    Some(record)
}

/// Reads the records of a flow that begins at `start`.
fn read(records: impl Iterator<Item = TraceRecord>, start: Time, is_incomplete: bool) -> Traced {
    let mut records = records.peekable();
    let mut traced = Traced { samples_from: Time::NEVER, ..Traced::default() };
    let Some(mut first) = records.peek().copied() else { return Traced::default() };
    // The values of the first record are true since the first segment.
    first.time_ns = start.0;
    let (mut news, mut newest) = (Trace::new(), None);
    let mut flow = Flow::new(&first, &mut news);
    // The log has a remark of its own.
    news.clear();
    traced.events.extend(is_incomplete.then_some((start, Event::Remark(INCOMPLETE))));
    for record in records {
        flow.on_record(&record, &mut news);
        traced.add(&flow, &mut news, &mut newest);
    }
    traced
}

impl Traced {
    /// Adds the events of a record. `newest` is the reason of the newest loss.
    fn add(&mut self, flow: &Flow, news: &mut Trace, newest: &mut Option<Reason>) {
        let now = news.last().map_or(Time::ZERO, |(at, _)| *at);
        for (at, event) in news.drain(..) {
            match event {
                // The loss is logged at the retransmission, which has a number.
                Event::LostObserved { detection, basis, .. } => *newest = Some((detection, basis)),
                event => self.events.push((at, event)),
            }
        }
        let reason = newest.filter(|_| flow.is_in_recovery()).unwrap_or(PROBE);
        if self.reasons.last().is_none_or(|(_, last)| *last != reason) {
            self.reasons.push((now, reason));
        }
        if flow.is_closing() {
            self.samples_from = self.samples_from.min(now);
        }
    }
}

/// Returns the time of the kernel's monotonic clock at `at`, in ns.
fn monotonic(at: Instant) -> u64 {
    let base = Instant::now();
    let clock = || clock_gettime(ClockId::CLOCK_MONOTONIC).map_or(Duration::ZERO, Duration::from);
    // A pause between the two readings makes a result too small.
    let readings = (0..READINGS).map(|_| clock().saturating_sub(base.elapsed()));
    let time = readings.max().unwrap_or_default() + at.saturating_duration_since(base);
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use congestion::{Cause, Detection};
    use kernel::trace::kind;

    use super::*;

    /// Returns a record of a connection with SACK.
    fn record(ms: u64, kind: u8, [ca_state, state]: [u8; 2], lost: u32) -> TraceRecord {
        let mut bytes = [0; size_of::<TraceRecord>()];
        // kind, state, ca_state, flags
        bytes[148..].copy_from_slice(&[kind, state, ca_state, 1]);
        let mut record = TraceRecord::read(&bytes).unwrap();
        (record.time_ns, record.cwnd, record.mss, record.lost) = (ms * 1_000_000, 10 + lost, 1000, lost);
        record
    }

    #[test]
    fn a_retransmission_has_the_reason_of_the_newest_loss() {
        let records = [
            record(20, kind::PROBE, [0, 0], 0),
            record(40, kind::STATE, [1, 3], 1),
            record(41, kind::RETRANSMIT, [3, 0], 1),
            record(60, kind::STATE, [3, 0], 1),
            record(70, kind::STATE, [0, 4], 3),
            record(80, kind::SOCKET, [4, 4], 3),
        ];
        let traced = read(records.into_iter(), Time::from_millis(5), true);
        let reason = |ms| traced.reason(Time::from_millis(ms)).unwrap();
        assert_eq!([reason(0), reason(39), reason(65)], [PROBE; 3]);
        assert_eq!(reason(41).0, Detection::TimeThreshold);
        assert!(reason(41).1.contains("RACK") && reason(90).1.starts_with("observed"), "{traced:?}");
        let shown: Vec<(u64, &Event)> = traced.events.iter().map(|(at, e)| (at.0 / 1_000_000, e)).collect();
        assert_eq!(shown[0], (5, &Event::Remark(INCOMPLETE)));
        assert!(
            matches!(shown[1], (5, Event::Metrics(metrics)) if metrics.cwnd == 10_000),
            "its first window"
        );
        for change in
            [(40, Event::Reduced(Cause::Loss)), (60, Event::Recovered), (70, Event::Reduced(Cause::Timeout))]
        {
            assert!(shown.contains(&(change.0, &change.1)), "{change:?}");
        }
        assert!(!shown.iter().any(|(_, event)| matches!(event, Event::LostObserved { .. })));
        assert_eq!(traced.samples_from, Time::from_millis(80), "the sender has closed");
    }

    #[test]
    fn nothing_before_the_run_counts() {
        assert_eq!(shifted(&record(4, kind::PROBE, [0, 0], 0), 5_000_000), None);
        assert_eq!(shifted(&record(6, kind::PROBE, [0, 0], 0), 5_000_000).unwrap().time_ns, 1_000_000);
        let none = read(std::iter::empty(), Time::ZERO, false);
        assert_eq!((none.reason(Time::ZERO), none.samples_from), (None, Time::ZERO));
    }

    #[test]
    fn the_clock_is_that_of_the_kernel() {
        let before = monotonic(Instant::now());
        let later = monotonic(Instant::now() + Duration::from_secs(1));
        // A minute is longer than any pause of a test.
        assert!((1_000_000_000..60_000_000_000).contains(&(later - before)));
    }
}
