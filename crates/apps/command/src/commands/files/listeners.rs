//! Observers of connections: qlog files, and the file of SSLKEYLOGFILE.

use std::fs::{self, File};
use std::io::{self, Write};
use std::net::SocketAddr;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use congestion::Algorithm;
use quic::Level;
use quic::connection::{Observation, SentFrame, Tap};
use quic::wire::Frame;
use results::qlog::{Format, Log, Meta, Transport};
use rustix::fs::OFlags;
use scenario::trace::{Ack, Event, Metrics};
use units::{Bytes, Duration, Ecn, Time};

use crate::status::complain;

/// Number of events that are collected before they are written.
const BATCH: usize = 256;

/// End of the connection that is observed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The end that sends the files.
    Sender,
    /// The end that receives the files.
    Receiver,
}

impl End {
    /// Returns the role in the connection, for file names.
    const fn name(self) -> &'static str {
        match self {
            Self::Sender => "server",
            Self::Receiver => "client",
        }
    }
}

/// Checks that logs can be written to this folder, and creates it. Leaves no file in it.
pub(crate) fn check(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    tempfile::tempfile_in(folder).map(drop)
}

/// Creates a file under the first free name, so that logs of earlier connections are kept.
fn fresh(folder: &Path, extension: &str, names: impl Iterator<Item = String>) -> io::Result<(File, String)> {
    for name in names {
        match File::create_new(folder.join(format!("{name}{extension}"))) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => return Ok((made?, name)),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// Limit of the size of all logs of a command.
#[derive(Debug)]
pub(crate) struct QlogLimit {
    limit: Bytes,
    left: AtomicU64,
    reached: AtomicBool,
}

impl QlogLimit {
    pub(crate) fn new(limit: Bytes) -> Self {
        Self { limit, left: AtomicU64::new(limit.0), reached: AtomicBool::new(false) }
    }

    /// Reports whether the limit was reached. From then on no log grows.
    pub(crate) fn is_reached(&self) -> bool {
        self.reached.load(Ordering::Relaxed)
    }

    /// Returns those of these records that are within the limit. Says once which log is the first
    /// that ends.
    fn within<'a>(&self, records: &'a [u8], log: &str) -> &'a [u8] {
        let (order, wanted) = (Ordering::Relaxed, records.len() as u64);
        let taken = self.left.fetch_update(order, order, |left| Some(left.saturating_sub(wanted)));
        let left = taken.unwrap_or(0);
        if wanted <= left {
            return records;
        }
        if !self.reached.swap(true, order) {
            complain(&format!(
                "the qlog files have reached {} (--qlog-limit): {log} and other open logs end here, and later connections have none; transfers go on",
                self.limit
            ));
        }
        let end = records[..left as usize].iter().rposition(|byte| *byte == b'\n');
        &records[..end.map_or(0, |end| end + 1)]
    }
}

/// Writes the 1-RTT packets of a connection as a qlog file.
pub(crate) struct Qlog {
    log: Option<Log>,
    file: File,
    name: String,
    limit: Option<Arc<QlogLimit>>,
    end: End,
    events: Vec<(Time, Event)>,
    /// Offset and length of the first stream data in the packet that is being read.
    data: (u64, u32),
    acks: u64,
    min_rtt: Duration,
}

impl Qlog {
    /// Creates a log in its own file in this folder, which is created too. Its name has the end,
    /// the first free number from `first` on, and the peer. The log ends when all logs together
    /// reach the limit. If there is no room for its header, there is no file.
    pub(crate) fn create(
        folder: &Path,
        (first, peer): (u64, SocketAddr),
        algorithm: &Algorithm,
        end: End,
        limit: Option<&Arc<QlogLimit>>,
    ) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        let format = Format::default();
        let name =
            |number| format!("{}-{number}-{}-{}", end.name(), peer.ip(), peer.port()).replace(':', "_");
        let (file, flow) = fresh(folder, format.extension(), (first..).map(name))?;
        let meta = Meta {
            group: String::new(),
            title: "ackclock".to_owned(),
            flow: flow.clone(),
            algorithm: algorithm.name().to_owned(),
            parameters: Meta::parameters(algorithm),
            states: algorithm.states(),
            transport: Transport::Quic,
            seed: 0,
            start: Time::ZERO,
        };
        let mut log = match end {
            End::Sender => Log::for_sender(format, &meta)?,
            End::Receiver => Log::for_receiver(format, &meta)?,
        };
        let path = folder.join(format!("{flow}{}", format.extension()));
        let (events, min_rtt) = (Vec::new(), Duration::MAX);
        let header = log.add(&events)?;
        let limit = limit.cloned();
        let mut qlog =
            Self { log: None, file, name: flow, limit, end, events, data: (0, 0), acks: 0, min_rtt };
        match qlog.write(Ok(header)) {
            true => qlog.log = Some(log),
            false => fs::remove_file(path)?,
        }
        Ok(qlog)
    }

    fn put(&mut self, now: Time, event: Event) {
        if self.log.is_none() {
            return;
        }
        self.events.push((now, event));
        if self.events.len() >= BATCH {
            self.flush();
        }
    }

    /// Writes the collected events. A full disk ends the log, but not the transfer.
    fn flush(&mut self) {
        let events = std::mem::take(&mut self.events);
        if let Some(mut log) = self.log.take() {
            let bytes = log.add(&events);
            self.log = self.write(bytes).then_some(log);
        }
    }

    /// Writes records of the log. Returns false if the log ends here.
    fn write(&mut self, records: io::Result<Vec<u8>>) -> bool {
        let written = records.and_then(|records| {
            let limit = self.limit.as_ref();
            let part = limit.map_or(&records[..], |limit| limit.within(&records, &self.name));
            self.file.write_all(part).map(|()| part.len() == records.len())
        });
        written.unwrap_or_else(|error| {
            complain(&format!("the qlog file {} is incomplete: {error}", self.name));
            false
        })
    }

    fn ack(&mut self, ranges: Vec<(u64, u64)>, delay: Duration) -> Ack {
        let number = self.acks;
        self.acks += 1;
        Ack { number, ranges: ranges.into(), delay }
    }
}

impl Drop for Qlog {
    fn drop(&mut self) {
        self.flush();
        if let Some(log) = self.log.take() {
            self.write(log.finish());
        }
    }
}

/// Returns offset and length of the first stream data. Frames in the log know a single stream.
fn piece(items: &[SentFrame]) -> Option<(u64, u32)> {
    items.iter().find_map(|item| match item {
        SentFrame::Stream(_, chunk) => Some((chunk.offset, u32::try_from(chunk.len).unwrap_or(u32::MAX))),
        _ => None,
    })
}

impl Tap for Qlog {
    fn on(&mut self, now: Time, what: &Observation<'_>) {
        let size = |bytes: u64| u32::try_from(bytes).unwrap_or(u32::MAX);
        match *what {
            Observation::Sent { level: Level::OneRtt, number, bytes, in_flight, items, .. }
                if self.end == End::Sender && in_flight =>
            {
                let (offset, len) = piece(items).unwrap_or_default();
                self.put(now, Event::Sent { pn: number, bytes: size(bytes), offset, len });
            }
            Observation::Frame(Frame::Stream(frame)) if self.data.1 == 0 => {
                self.data = (frame.offset, size(frame.data.len() as u64));
            }
            Observation::Frame(Frame::Ack(ack)) if self.end == End::Sender => {
                let mut ranges: Vec<_> = ack.ranges().map(|range| (*range.start(), *range.end())).collect();
                ranges.reverse();
                // With the default `ack_delay_exponent` of 3 (RFC 9000 section 18.2).
                let delay = Duration::from_micros(ack.delay.saturating_mul(8));
                let ack = self.ack(ranges, delay);
                self.put(now, Event::Acked(ack));
            }
            Observation::Received { level: Level::OneRtt, number, bytes, ecn } => {
                let (offset, len) = std::mem::take(&mut self.data);
                if self.end == End::Receiver {
                    let marked = ecn == Ecn::Ce;
                    self.put(now, Event::Received { pn: number, bytes: size(bytes), offset, len, marked });
                }
            }
            Observation::Lost { number, by, .. } => self.put(now, Event::Lost { pn: number, detection: by }),
            Observation::Congestion(cause) => self.put(now, Event::Reduced(cause)),
            Observation::Metrics { cwnd, bytes_in_flight, smoothed_rtt, latest_rtt, pacing_rate } => {
                self.min_rtt = latest_rtt.map_or(self.min_rtt, |rtt| rtt.min(self.min_rtt));
                let metrics = Metrics {
                    cwnd,
                    bytes_in_flight,
                    latest_rtt,
                    smoothed_rtt,
                    min_rtt: self.min_rtt,
                    // Observers do not get it, so the log omits it.
                    rttvar: Duration::MAX,
                    pacing_rate: pacing_rate.map(|rate| (rate * 8.0) as u64),
                    inner: Vec::new(),
                };
                self.put(now, Event::Metrics(metrics));
            }
            _ => {}
        }
    }
}

/// Appends secrets to the file of SSLKEYLOGFILE.
#[derive(Debug)]
pub(crate) struct KeyLog(File);

impl KeyLog {
    /// Opens the file that SSLKEYLOGFILE names, if it is set.
    pub(crate) fn from_environment() -> Result<Option<Self>, crate::status::Error> {
        let Some(path) = std::env::var_os("SSLKEYLOGFILE").filter(|path| !path.is_empty()) else {
            return Ok(None);
        };
        let path = PathBuf::from(path);
        // The secrets are for nobody else, and a link could lead to a file that others read.
        let (mode, links) = (0o600, OFlags::NOFOLLOW.bits().cast_signed());
        let opened = File::options().create(true).append(true).mode(mode).custom_flags(links).open(&path);
        let cannot = |error: io::Error| {
            let why = if path.is_symlink() { "it is a symbolic link".to_owned() } else { error.to_string() };
            crate::status::Error::bad(format!("cannot write SSLKEYLOGFILE {}: {why}", path.display()))
        };
        opened.map(Self).map(Some).map_err(cannot)
    }

    /// Appends a line.
    pub(crate) fn put(&mut self, line: &str) {
        // A missing secret affects those who decrypt the capture, not the transfer.
        let _ = writeln!(self.0, "{line}");
    }
}
