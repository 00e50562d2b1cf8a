//! Sockets of a process.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::path::PathBuf;

use crate::error::Error;

/// A process. Another one that gets its number later is not taken for it.
#[derive(Debug)]
pub(super) struct Process {
    folder: File,
}

impl Process {
    /// Opens a process of this network namespace whose files may be listed.
    pub(super) fn open(pid: u32) -> Result<Self, Error> {
        let wrong = |e: io::Error| {
            Error::new(match e.kind() {
                io::ErrorKind::NotFound => format!("no process has the number {pid}"),
                io::ErrorKind::PermissionDenied => format!("process {pid} belongs to another user"),
                _ => format!("cannot read process {pid}: {e}"),
            })
        };
        let process = Self { folder: File::open(format!("/proc/{pid}")).map_err(wrong)? };
        process.sockets().map_err(wrong)?;
        let namespace = fs::read_link(process.path("ns/net")).map_err(wrong)?;
        if namespace != fs::read_link("/proc/self/ns/net").map_err(wrong)? {
            return Err(Error::new(format!(
                "process {pid} is in another network namespace; run this command there, with `nsenter` or `ip netns exec`"
            )));
        }
        Ok(process)
    }

    fn path(&self, name: &str) -> PathBuf {
        format!("/proc/self/fd/{}/{name}", self.folder.as_raw_fd()).into()
    }

    /// Returns the inodes of its sockets.
    pub(super) fn sockets(&self) -> io::Result<BTreeSet<u32>> {
        let inode = |entry: io::Result<fs::DirEntry>| {
            // A file that was closed meanwhile has no link.
            let link = fs::read_link(entry.ok()?.path()).ok()?;
            link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
        };
        Ok(fs::read_dir(self.path("fd"))?.filter_map(inode).collect())
    }
}
