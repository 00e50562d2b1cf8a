//! Waits for sockets and for a time.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use units::Time;

use crate::udp::clock::{Clock, ahead};
use crate::udp::socket::Socket;

/// Reason why a [`wait`] ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ready {
    /// A socket has data, room, or an error.
    Socket,
    /// The deadline was reached.
    Time,
    /// A signal interrupted the wait.
    Signal,
}

/// Waits until one of `read` has data, one of `write` has room, or `deadline` is reached. The
/// timeout is in nanoseconds. The kernel may be late by the thread's timer slack, 50 us by default
/// ([`PR_SET_TIMERSLACK`](https://man7.org/linux/man-pages/man2/PR_SET_TIMERSLACK.2const.html)).
///
/// # Errors
/// The error of the system call.
pub fn wait(read: &[&Socket], write: &[&Socket], deadline: Option<Time>, clock: &Clock) -> io::Result<Ready> {
    let read = read.iter().map(|socket| socket.as_fd());
    wait_for(read, write.iter().map(|socket| socket.as_fd()), deadline, clock).map(|(ready, _)| ready)
}

/// Waits like [`wait`]. Returns which sockets are ready, those of `read` first.
pub(crate) fn wait_each(
    read: &[&Socket],
    write: &[&Socket],
    deadline: Time,
    clock: &Clock,
) -> io::Result<Vec<bool>> {
    let read = read.iter().map(|socket| socket.as_fd());
    let waited = wait_for(read, write.iter().map(|socket| socket.as_fd()), Some(deadline), clock)?;
    Ok(waited.1.iter().map(|fd| fd.any().unwrap_or(true)).collect())
}

fn wait_for<'a>(
    read: impl Iterator<Item = BorrowedFd<'a>>,
    write: impl Iterator<Item = BorrowedFd<'a>>,
    deadline: Option<Time>,
    clock: &Clock,
) -> io::Result<(Ready, Vec<PollFd<'a>>)> {
    let read = read.map(|fd| PollFd::new(fd, PollFlags::POLLIN));
    let mut all: Vec<PollFd<'a>> = read.chain(write.map(|fd| PollFd::new(fd, PollFlags::POLLOUT))).collect();
    let timeout = deadline
        .filter(|at| *at != Time::NEVER)
        .map(|at| TimeSpec::from_duration(std::time::Duration::from_nanos(ahead(clock, at).0)));
    match ppoll(&mut all, timeout, None) {
        Ok(0) => Ok((Ready::Time, all)),
        Ok(_) => Ok((Ready::Socket, all)),
        Err(Errno::EINTR) => Ok((Ready::Signal, all)),
        Err(error) => Err(error.into()),
    }
}
