//! Traced connections and their files.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use kernel::trace::{Diag, Flow, TraceRecord, kind};
use results::qlog::{Format, Log, Meta, Transport};
use scenario::trace::{Inner, Trace};
use units::{Bytes, Duration, Time};

use crate::status::{Error, complain};

/// Most connections at a time; each has an open file.
const MAX_FLOWS: usize = 512;
/// Most connections in all: strangers can open many, and each would leave a file.
const MAX_FILES: usize = 10_000;
/// Number of events that are collected before they are written.
const BATCH: usize = 256;
/// Controllers of the kernel whose variables inet_diag tells.
const WITH_VARIABLES: [&str; 5] = ["bbr", "vegas", "dctcp", "dctcp-reno", "nv"];
/// Interval between two reads of these variables, in ns.
const VARIABLES: u64 = 200_000_000;

/// A traced connection.
pub(super) struct Traced {
    pub(super) flow: Flow,
    /// Address of this end and of the peer.
    addresses: String,
    pub(super) file_name: String,
    /// Whether it is in the network namespace of this process.
    pub(super) is_here: bool,
    /// Time and acknowledged bytes when the flow was last shown.
    pub(super) shown: (Time, u64),
    events: Trace,
    log: Option<(Log, File)>,
    has_variables: bool,
}

/// All connections.
pub(super) struct Flows {
    folder: PathBuf,
    format: Format,
    /// Bytes that the logs may still take.
    left: u64,
    limit: Bytes,
    port: Option<u16>,
    /// Time of the kernel's clock at the start, in ns.
    origin: Option<u64>,
    /// Network namespace of this process.
    netns: u32,
    diag: Option<Diag>,
    /// Time of the next read of variables.
    next: Time,
    running: BTreeMap<u64, Traced>,
    ended: Vec<Traced>,
    /// Cookies of connections without a log.
    refused: BTreeSet<u64>,
}

impl Flows {
    /// Creates the folder, and checks that it can be written.
    pub(super) fn create(
        folder: &Path,
        format: Format,
        limit: Bytes,
        port: Option<u16>,
    ) -> Result<Self, Error> {
        let made = fs::create_dir_all(folder).and_then(|()| tempfile::tempfile_in(folder));
        made.map_err(|e| Error::bad(format!("cannot write qlog files to {}: {e}", folder.display())))?;
        let netns = fs::metadata("/proc/self/ns/net").map_or(0, |file| file.ino());
        Ok(Self {
            folder: folder.to_owned(),
            format,
            left: limit.0,
            limit,
            port,
            origin: None,
            netns: u32::try_from(netns).unwrap_or(0),
            diag: Diag::open().ok(),
            next: Time::ZERO,
            running: BTreeMap::new(),
            ended: Vec::new(),
            refused: BTreeSet::new(),
        })
    }

    /// Takes a record, with the controller's variables if it is a sample.
    pub(super) fn on_record(&mut self, record: &TraceRecord, inner: Option<Inner>) {
        let origin = *self.origin.get_or_insert(record.time_ns);
        let mut record = *record;
        record.time_ns = record.time_ns.saturating_sub(origin);
        if !self.running.contains_key(&record.cookie) && !self.begin(&record) {
            return;
        }
        let Some(traced) = self.running.get_mut(&record.cookie) else { return };
        if let Some(inner) = inner {
            traced.flow.set_inner(inner);
        }
        traced.flow.on_record(&record, &mut traced.events);
        if traced.events.len() >= BATCH {
            traced.write(&mut self.left, self.limit);
        }
        if record.kind == kind::CLOSED {
            self.end(record.cookie);
        }
    }

    /// Starts a connection whose first record this is. Returns false for one that is not traced.
    fn begin(&mut self, record: &TraceRecord) -> bool {
        let addresses = record.addresses();
        let has_port = self.port.is_none_or(|port| addresses.iter().any(|address| address.port() == port));
        let sends = record.packets_out > 0 || record.kind == kind::POLLED;
        if !has_port || !sends || record.kind == kind::CLOSED {
            return false;
        }
        if self.running.len() >= MAX_FLOWS || self.ended.len() >= MAX_FILES {
            if self.refused.len() < MAX_FILES {
                self.refused.insert(record.cookie);
            }
            return false;
        }
        let [local, peer] = addresses;
        let algorithm = record.algorithm();
        let end = format!("{}-{}-{}-{}", local.ip(), local.port(), peer.ip(), peer.port()).replace(':', "_");
        let made = fresh(&self.folder, &end, self.format.extension()).and_then(|(file, file_name)| {
            let meta = Meta {
                group: String::new(),
                title: "TCP of this host".to_owned(),
                flow: file_name.clone(),
                algorithm: algorithm.clone(),
                parameters: String::new(),
                states: &[],
                transport: Transport::Tcp,
                seed: 0,
                start: record.time(),
            };
            Ok((Log::for_observed(self.format, &meta)?, file, file_name))
        });
        let (log, file_name) = match made {
            Ok((log, file, file_name)) => (Some((log, file)), file_name),
            Err(error) => {
                complain(&format!("cannot write a qlog file to {}: {error}", self.folder.display()));
                (None, String::new())
            }
        };
        let mut events = Trace::new();
        let flow = Flow::new(record, &mut events);
        let has_variables = WITH_VARIABLES.contains(&algorithm.as_str());
        let is_here = record.netns == self.netns || record.netns == 0;
        let addresses = format!("{local} > {peer}");
        let shown = (record.time(), 0);
        self.running.insert(
            record.cookie,
            Traced { flow, addresses, file_name, is_here, shown, events, log, has_variables },
        );
        true
    }

    /// Polls what the tracepoints do not tell: connections that the sender has closed, and the
    /// variables of the kernel's controllers.
    pub(super) fn look(&mut self) {
        let (Some(diag), Some(origin)) = (&mut self.diag, self.origin) else { return };
        let mut samples = Vec::new();
        let newest = self.running.values().map(|traced| traced.flow.last().time()).max().unwrap_or_default();
        let is_time = newest >= self.next;
        if is_time {
            self.next = newest + Duration(VARIABLES);
        }
        for traced in self.running.values_mut().filter(|traced| traced.is_here) {
            let is_closing = traced.flow.is_closing();
            if !(is_closing || is_time && traced.has_variables) {
                continue;
            }
            let Some(mut sample) = diag.sample(traced.flow.last()) else { continue };
            traced.flow.set_inner(sample.inner);
            if is_closing {
                sample.record.time_ns = sample.record.time_ns.saturating_sub(origin);
                sample.record.netns = self.netns;
                samples.push(sample.record);
            }
        }
        for sample in samples {
            if let Some(traced) = self.running.get_mut(&sample.cookie) {
                traced.flow.on_record(&sample, &mut traced.events);
            }
        }
    }

    fn end(&mut self, cookie: u64) {
        if let Some(mut traced) = self.running.remove(&cookie) {
            traced.close(&mut self.left, self.limit);
            self.ended.push(traced);
        }
    }

    /// Returns the connections that are not closed yet.
    pub(super) fn running(&mut self) -> impl ExactSizeIterator<Item = &mut Traced> {
        self.running.values_mut()
    }

    /// Completes all files. Returns the connections, and the number of those without a log.
    pub(super) fn finish(mut self) -> (Vec<Traced>, usize) {
        for cookie in self.running.keys().copied().collect::<Vec<_>>() {
            self.end(cookie);
        }
        (self.ended, self.refused.len())
    }
}

impl Traced {
    /// Returns its addresses, and its controller, which a program may change at any time.
    pub(super) fn name(&self) -> String {
        format!("{}  {}", self.addresses, self.flow.last().algorithm())
    }

    /// Writes the collected events. A full disk ends the log, but not the trace.
    fn write(&mut self, left: &mut u64, limit: Bytes) {
        if let Some((mut log, file)) = self.log.take() {
            let bytes = log.add(&self.events);
            self.log = put(&file, bytes, left, limit).then_some((log, file));
        }
        self.events.clear();
    }

    fn close(&mut self, left: &mut u64, limit: Bytes) {
        self.write(left, limit);
        if let Some((log, file)) = self.log.take() {
            put(&file, log.finish(), left, limit);
        }
    }
}

/// Writes bytes of a log. Returns false if the log ends here.
fn put(mut file: &File, bytes: io::Result<Vec<u8>>, left: &mut u64, limit: Bytes) -> bool {
    let written = bytes.and_then(|bytes| {
        let Some(rest) = left.checked_sub(bytes.len() as u64) else {
            if *left > 0 {
                complain(&format!("the qlog files have reached {limit} (--qlog-limit) and end here"));
            }
            *left = 0;
            return Ok(false);
        };
        *left = rest;
        file.write_all(&bytes).map(|()| true)
    });
    written.unwrap_or_else(|error| {
        complain(&format!("a qlog file is incomplete: {error}"));
        false
    })
}

/// Creates a file under the first free name. It follows no link.
fn fresh(folder: &Path, end: &str, extension: &str) -> io::Result<(File, String)> {
    for number in 1..=MAX_FILES * 10 {
        let name = format!("tcp-{number}-{end}{extension}");
        match File::create_new(folder.join(&name)) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => return Ok((made?, name)),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A link of somebody else under the name of the file is not followed.
    #[test]
    fn files_are_new() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("target");
        std::os::unix::fs::symlink(&target, folder.path().join("tcp-1-x.sqlog")).unwrap();
        let (_, name) = fresh(folder.path(), "x", ".sqlog").unwrap();
        assert_eq!((name.as_str(), target.exists()), ("tcp-2-x.sqlog", false));
    }

    /// At the limit of all files, each log ends. Nothing is written in part.
    #[test]
    fn logs_end_at_their_limit() {
        let folder = tempfile::tempdir().unwrap();
        let (file, name) = fresh(folder.path(), "x", ".sqlog").unwrap();
        let mut left = 10;
        let put = |bytes: usize, left: &mut u64| put(&file, Ok(vec![0; bytes]), left, Bytes(10));
        assert!(put(6, &mut left) && !put(5, &mut left) && !put(1, &mut left));
        assert_eq!(fs::metadata(folder.path().join(name)).unwrap().len(), 6);
    }
}
