//! The connections of one process, by inet_diag.

use std::collections::{BTreeMap, BTreeSet};

use super::diag::{Diag, Found, Sample};
use super::process::Process;
use super::record::{TraceRecord, kind};
use crate::agent::monotonic;
use crate::error::Error;

/// Interval between two samples of a connection, in ms. Each takes some 7 us.
pub const INTERVAL: u64 = 20;
/// Interval between two looks at the files of the process, in ns.
const LOOK: u64 = 100_000_000;
/// Interval between two lists of all connections, in ns. Each takes some 2 ms, so it is made sooner
/// only if the process has other sockets than before.
const LIST: u64 = 1_000_000_000;
/// Most connections that are polled at a time.
const MAX_SOCKETS: usize = 512;

/// The connections of a process.
#[derive(Debug)]
pub struct Poll {
    diag: Diag,
    process: Process,
    is_running: bool,
    /// Inodes of the process's sockets.
    inodes: BTreeSet<u32>,
    /// Connections by cookie, with the newest sample.
    sockets: BTreeMap<u64, (Found, Option<TraceRecord>)>,
    /// Times of the next look and the next list, in ns.
    next: [u64; 2],
}

impl Poll {
    /// Opens the connections of a process of the same user and network namespace.
    ///
    /// # Errors
    /// A process that does not exist, or belongs to others.
    pub fn open(pid: u32) -> Result<Self, Error> {
        let process = Process::open(pid)?;
        let diag = Diag::open().map_err(|e| Error::new(format!("this kernel has no inet_diag: {e}")))?;
        let (inodes, sockets) = (BTreeSet::new(), BTreeMap::new());
        Ok(Self { diag, process, is_running: true, inodes, sockets, next: [0; 2] })
    }

    /// Reports whether the process runs or has connections.
    pub fn is_running(&self) -> bool {
        self.is_running || !self.sockets.is_empty()
    }

    /// Looks for new connections, if it is time. Returns true if it did.
    pub fn look(&mut self) -> bool {
        let now = monotonic();
        if now < self.next[0] {
            return false;
        }
        self.next[0] = now + LOOK;
        let inodes = self.process.sockets();
        self.is_running = inodes.is_ok();
        let inodes = inodes.unwrap_or_default();
        if inodes == self.inodes && now < self.next[1] {
            return false;
        }
        self.next[1] = now + LIST;
        self.inodes = inodes;
        let all: BTreeMap<u64, Found> =
            self.diag.list().unwrap_or_default().into_iter().map(|found| (found.cookie(), found)).collect();
        // A socket that is polled stays until its last sample. The process may have closed it.
        self.sockets.retain(|cookie, (_, newest)| newest.is_some() || all.contains_key(cookie));
        for (cookie, found) in all {
            if self.inodes.contains(&found.inode) && self.sockets.len() < MAX_SOCKETS {
                self.sockets.entry(cookie).or_insert((found, None));
            }
        }
        true
    }

    /// Returns the cookies of the connections.
    pub fn cookies(&self) -> BTreeSet<u64> {
        self.sockets.keys().copied().collect()
    }

    /// Adds a sample of each connection that has sent data, and a last record of those that are
    /// gone.
    pub fn read(&mut self, into: &mut Vec<Sample>) {
        let Self { diag, sockets, .. } = self;
        sockets.retain(|_, (found, newest)| {
            let sample = diag.look(found);
            match (&sample, &newest) {
                (Some(sample), _) => *newest = Some(sample.record),
                (None, Some(last)) => {
                    let record = TraceRecord { kind: kind::CLOSED, time_ns: monotonic(), ..*last };
                    into.push(Sample { record, inner: Vec::new(), is_sender: false });
                }
                (None, None) => {}
            }
            let remains = sample.is_some();
            into.extend(sample.filter(|sample| sample.is_sender));
            remains
        });
    }
}
