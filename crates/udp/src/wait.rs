//! Waiting for sockets and for a time.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use units::Time;

use crate::clock::{Clock, ahead};
use crate::socket::Socket;

/// What ended a [`wait`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ready {
    /// One of the sockets has something, has room again, or an error waits.
    Socket,
    /// The time has come.
    Time,
    /// A signal, and nothing else.
    Signal,
}

/// Waits until there is something to read on one of `read`, room to write on one of `write`, or until `deadline`, to the nanosecond as far as the
/// kernel's timers go (a thread under [`PR_SET_TIMERSLACK`](https://man7.org/linux/man-pages/man2/PR_SET_TIMERSLACK.2const.html) of 50 us is later by that).
///
/// # Errors
/// What the system says.
pub fn wait(read: &[&Socket], write: &[&Socket], deadline: Option<Time>, clock: &Clock) -> io::Result<Ready> {
    let read = read.iter().map(|socket| socket.as_fd());
    wait_for(read, write.iter().map(|socket| socket.as_fd()), deadline, clock)
}

fn wait_for<'a>(
    read: impl Iterator<Item = BorrowedFd<'a>>,
    write: impl Iterator<Item = BorrowedFd<'a>>,
    deadline: Option<Time>,
    clock: &Clock,
) -> io::Result<Ready> {
    let read = read.map(|fd| PollFd::new(fd, PollFlags::POLLIN));
    let mut all: Vec<PollFd<'_>> = read.chain(write.map(|fd| PollFd::new(fd, PollFlags::POLLOUT))).collect();
    let timeout = deadline
        .filter(|at| *at != Time::NEVER)
        .map(|at| TimeSpec::from_duration(std::time::Duration::from_nanos(ahead(clock, at).0)));
    match ppoll(&mut all, timeout, None) {
        Ok(0) => Ok(Ready::Time),
        Ok(_) => Ok(Ready::Socket),
        Err(Errno::EINTR) => Ok(Ready::Signal),
        Err(error) => Err(error.into()),
    }
}
