//! `ackclock trace`: TCP connections of this host as qlog.

mod counters;
mod flows;
mod show;

use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration as StdDuration, Instant};

use clap::Args;
use kernel::trace::{INTERVAL, Poll, Probe, Sample, TraceRecord};
use results::qlog::Format;
use units::{Bytes, Duration};

use self::counters::Counters;
use self::flows::Flows;
use self::show::Screen;
use super::arguments::integer;
use crate::interrupt;
use crate::output::tell;
use crate::status::{Error, HOLDS, print};

/// Interval between two looks at the kernel's records. More frequent looks find few records of each
/// connection, and each of these takes twice the time because of cold caches.
const LOOK: StdDuration = StdDuration::from_millis(50);

#[derive(Debug, Args)]
pub(crate) struct TraceArgs {
    /// Trace connections with this TCP port at either end.
    ///
    /// Without --port and --pid, all connections of the host are traced.
    #[arg(long, value_name = "PORT", value_parser = integer(1_u16, u16::MAX))]
    port: Option<u16>,
    /// Trace connections of this process. It must be in the same network namespace.
    ///
    /// A process of your own needs no privileges. Its connections are then polled, so the log is
    /// coarser. New connections are found within 0.1 s.
    #[arg(long, value_name = "PID")]
    pid: Option<u32>,
    /// Write a qlog file for each connection to this folder.
    #[arg(long, value_name = "DIR")]
    qlog: PathBuf,
    /// Set the version of qlog: 0.3 or current, with `,gzip` for compressed files.
    #[arg(long, value_name = "FORMAT", default_value_t)]
    format: Format,
    /// Set the maximum size of all qlog files together.
    ///
    /// When it is reached, the logs end and counting goes on.
    #[arg(long, value_name = "SIZE", default_value = "1 GB")]
    qlog_limit: Bytes,
    /// End after this time, as in `10 s`. The default is to run until Ctrl-C.
    #[arg(long, value_name = "TIME")]
    duration: Option<Duration>,
    /// Print only the summary, errors and warnings.
    #[arg(long, short)]
    quiet: bool,
}

/// Source of the records.
enum Source {
    /// The kernel's tracepoints, the process whose sockets are listed, and memory for records.
    Records(Box<Probe>, Option<Poll>, Vec<TraceRecord>),
    /// Samples of the sockets of a process, and the time of the next.
    Samples(Poll, Instant),
}

/// Traces until Ctrl-C, and says what happened.
pub(crate) fn run(args: &TraceArgs) -> Result<u8, Error> {
    let mut flows = Flows::create(&args.qlog, args.format, args.qlog_limit, args.port)?;
    let watch = interrupt::watch()?;
    let mut source = Source::open(args)?;
    let (before, begin) = (Counters::read(), now());
    tell(&source.introduction(&args.qlog));
    let mut screen = Screen::new(args.quiet, begin);
    let end = args.duration.map(|span| begin + StdDuration::from_nanos(span.0));
    loop {
        // The last look comes after the end, so that nothing that happened before is missed.
        let is_over = watch.stop.load(Ordering::Relaxed) || end.is_some_and(|end| now() >= end);
        let goes_on = source.read(&mut flows)?;
        if is_over || !goes_on {
            break;
        }
        flows.look();
        screen.show(&mut flows, now());
        source.pause();
    }
    screen.clear();
    let (all, refused) = flows.finish();
    print(&show::report(&all, &args.qlog, source.lost_records(), refused));
    print(&show::check(&all, &before, &Counters::read()));
    Ok(HOLDS)
}

impl Source {
    fn open(args: &TraceArgs) -> Result<Self, Error> {
        let poll = args.pid.map(Poll::open).transpose().map_err(Error::bad)?;
        match (Probe::attach(args.port.unwrap_or(0), args.pid.is_some()), poll) {
            (Ok(probe), poll) => Ok(Self::Records(Box::new(probe), poll, Vec::new())),
            (Err(why), Some(poll)) => {
                tell(&format!(
                    "the connections are polled every {INTERVAL} ms, and changes in between are not seen: {why}"
                ));
                Ok(Self::Samples(poll, now()))
            }
            (Err(why), None) => Err(Error::bad(format!(
                "{why}, or trace a process of your own without privileges, with --pid"
            ))),
        }
    }

    fn introduction(&self, folder: &std::path::Path) -> String {
        let how = match self {
            Self::Records(..) => "tracing TCP by the kernel's tracepoints",
            Self::Samples(..) => "polling TCP by inet_diag",
        };
        format!("{how}, to {}; Ctrl-C ends it", folder.display())
    }

    /// Reads what happened since the last call. Returns false if nothing more can come.
    fn read(&mut self, flows: &mut Flows) -> Result<bool, Error> {
        match self {
            Self::Records(probe, poll, records) => {
                if let Some(poll) = poll
                    && poll.look()
                {
                    probe.list(poll.cookies()).map_err(Error::bad)?;
                }
                probe.read(records).map_err(Error::bad)?;
                records.drain(..).for_each(|record| flows.on_record(&record, None));
                Ok(poll.as_ref().is_none_or(Poll::is_running))
            }
            Self::Samples(poll, next) => {
                *next = now() + StdDuration::from_millis(INTERVAL);
                let mut samples: Vec<Sample> = Vec::new();
                poll.look();
                poll.read(&mut samples);
                samples.into_iter().for_each(|sample| flows.on_record(&sample.record, Some(sample.inner)));
                Ok(poll.is_running())
            }
        }
    }

    #[allow(clippy::disallowed_methods, reason = "connections take real time")]
    fn pause(&self) {
        thread::sleep(match self {
            Self::Records(..) => LOOK,
            Self::Samples(_, next) => next.saturating_duration_since(now()),
        });
    }

    /// Returns the number of records that were lost, if the source has records.
    fn lost_records(&self) -> Option<u64> {
        match self {
            Self::Records(probe, ..) => Some(probe.lost_records()),
            Self::Samples(..) => None,
        }
    }
}

#[allow(clippy::disallowed_methods, reason = "connections take real time")]
fn now() -> Instant {
    Instant::now()
}
