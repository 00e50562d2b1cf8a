//! Signals received by waiting, instead of by handlers.

use std::os::fd::AsFd;
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};

use crate::emu::error::Error;

/// Signals that ask a program to end.
#[derive(Debug)]
pub struct Signals {
    from: SignalFd,
}

/// A received signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Came {
    /// The signal.
    pub signal: Signal,
    /// True if the terminal sent it, and so sent it to the commands too.
    pub from_terminal: bool,
}

impl Signals {
    /// Blocks SIGINT, SIGTERM, SIGHUP and SIGQUIT in this thread and in all threads that it starts
    /// from now on.
    ///
    /// # Errors
    /// The error of the system call.
    pub fn hold() -> Result<Self, Error> {
        let mut set = SigSet::empty();
        for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGQUIT] {
            set.add(signal);
        }
        let flags = SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK;
        set.thread_block()
            .and_then(|()| SignalFd::with_flags(&set, flags))
            .map(|from| Self { from })
            .map_err(|e| Error::system("wait for signals", e))
    }

    /// Waits for a signal, at most this long.
    pub fn wait(&self, at_most: Duration) -> Option<Came> {
        let timeout = PollTimeout::try_from(at_most).unwrap_or(PollTimeout::MAX);
        // Interrupted or out of time: there is nothing to read then.
        let _ = poll(&mut [PollFd::new(self.from.as_fd(), PollFlags::POLLIN)], timeout);
        let info = self.from.read_signal().ok().flatten()?;
        let signal = Signal::try_from(info.ssi_signo as i32).ok()?;
        Some(Came { signal, from_terminal: info.ssi_code > 0 })
    }
}
