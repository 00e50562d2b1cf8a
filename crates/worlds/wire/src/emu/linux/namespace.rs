//! A network namespace without a name. It exists as long as a descriptor or a process holds it.

use std::fs::{self, File};
use std::os::fd::{AsFd, OwnedFd};
use std::thread;

use nix::sched::{CloneFlags, setns, unshare};

use crate::emu::error::Error;

/// A network namespace.
#[derive(Debug)]
pub struct Namespace {
    file: OwnedFd,
}

impl Namespace {
    /// Creates a namespace that has only a loopback interface, which is down.
    pub(crate) fn new() -> Result<Self, Error> {
        // In a thread of its own: the caller stays where it is.
        let made = on_thread(|| {
            unshare(CloneFlags::CLONE_NEWNET).map_err(|e| Error::system("make a network namespace", e))?;
            File::open("/proc/thread-self/ns/net")
                .map_err(|e| Error::system("hold the new network namespace", e))
        });
        Ok(Self { file: made?.into() })
    }

    /// Returns another handle of the same namespace.
    pub(crate) fn try_clone(&self) -> Result<Self, Error> {
        let file = self.file.try_clone().map_err(|e| Error::system("hold the network namespace", e))?;
        Ok(Self { file })
    }

    /// Reports whether a process listens inside, at a TCP or a UDP socket.
    ///
    /// # Errors
    /// The error of the system call.
    pub fn listens(&self) -> Result<bool, Error> {
        self.run(|| {
            // Column `st`: 0A is LISTEN of TCP, 07 an unconnected socket of UDP.
            let tables = [("tcp", "0A"), ("tcp6", "0A"), ("udp", "07"), ("udp6", "07")];
            Ok(tables.iter().any(|(table, state)| {
                let rows = fs::read_to_string(format!("/proc/thread-self/net/{table}")).unwrap_or_default();
                rows.lines().skip(1).any(|row| row.split_whitespace().nth(3) == Some(*state))
            }))
        })
    }

    /// Moves the calling thread into the namespace, permanently.
    ///
    /// # Errors
    /// The error of the system call.
    pub fn enter(&self) -> Result<(), Error> {
        setns(self.file.as_fd(), CloneFlags::CLONE_NEWNET)
            .map_err(|e| Error::system("enter the network namespace", e))
    }

    /// Runs a function inside and returns its result. Sockets that it opens stay in the namespace.
    ///
    /// # Errors
    /// The error of the function, or why it could not run.
    pub fn run<T: Send>(&self, inside: impl FnOnce() -> Result<T, Error> + Send) -> Result<T, Error> {
        on_thread(|| {
            self.enter()?;
            inside()
        })
    }
}

fn on_thread<T: Send>(work: impl FnOnce() -> Result<T, Error> + Send) -> Result<T, Error> {
    thread::scope(|scope| {
        let spawned = thread::Builder::new().spawn_scoped(scope, work);
        let thread = spawned.map_err(|e| Error::system("start a thread", e))?;
        thread.join().unwrap_or_else(|_| Err(Error::new("a helper thread of the emulator has panicked")))
    })
}
