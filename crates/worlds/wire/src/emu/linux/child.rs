//! A command inside a network namespace, under its own init.
//!
//! ```text
//! this process ── thread that waits ── init (process 1 of a process namespace) ── the command ── whatever it starts
//! ```
//!
//! Init is a fork of this process that only passes on signals and reaps processes. The kernel kills
//! it when the thread that started it ends, however this process dies. With init the kernel kills
//! everything in its PID namespace, also processes in the background or in another session. When
//! the command ends, init ends.
// Between fork and exec only system calls are allowed, and some have no safe signature.
#![allow(unsafe_code)]

use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus};
use std::sync::mpsc::{self, Receiver, TryRecvError};
use std::thread;

use nix::libc;
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use nix::sys::prctl::set_pdeathsig;
pub use nix::sys::signal::Signal;
use nix::sys::signal::{SigSet, kill};
use nix::unistd::{ForkResult, Pid, fork};

use crate::emu::error::Error;
use crate::emu::linux::identity::Identity;
use crate::emu::relay::rig::Rig;
use crate::emu::relay::side::Side;

/// A running command.
#[derive(Debug)]
pub struct Child {
    init: Pid,
    done: Receiver<ExitStatus>,
    status: Option<ExitStatus>,
}

impl Child {
    /// Starts a command at one end of the link, as this user. The variables `ACKCLOCK_CLIENT` and
    /// `ACKCLOCK_SERVER` hold the IPv4 addresses, and those with the suffix `_V6` the IPv6
    /// addresses.
    ///
    /// # Errors
    /// The command's name and the system's message.
    pub fn start(rig: &Rig, side: Side, identity: &Identity, mut command: Command) -> Result<Self, Error> {
        for end in [Side::Client, Side::Server] {
            let name = format!("ACKCLOCK_{end}").to_uppercase();
            command.env(&name, end.ipv4().to_string()).env(name + "_V6", end.ipv6().to_string());
        }
        identity.set_environment(&mut command);
        let (identity, who) = (identity.clone(), identity.to_string());
        // Init stays what this process is: the command must not be able to stop or trace it.
        let become_command = move || become_init().and_then(|()| identity.take());
        // SAFETY: both make system calls only, and neither allocates nor locks.
        unsafe { command.pre_exec(become_command) };
        let namespace = rig.namespace(side).try_clone()?;
        let (tell, told) = mpsc::channel();
        let (finished, done) = mpsc::channel();
        let waits = thread::Builder::new().name(format!("{side}'s command")).spawn(move || {
            let started = namespace.enter().and_then(|()| {
                unshare(CloneFlags::CLONE_NEWPID).map_err(|e| Error::system("make a PID namespace", e))?;
                command.spawn().map_err(|e| {
                    Error::new(format!(
                        "cannot run `{}` as {who}: {e}",
                        command.get_program().to_string_lossy()
                    ))
                })
            });
            let (mut child, answer) = match started {
                Ok(child) => {
                    let init = Pid::from_raw(child.id() as i32);
                    (Some(child), Ok(init))
                }
                Err(e) => (None, Err(e)),
            };
            let _ = tell.send(answer);
            // This thread must outlive the command: its end is what kills init.
            if let Some(Ok(status)) = child.as_mut().map(std::process::Child::wait) {
                let _ = finished.send(status);
            }
        });
        waits.map_err(|e| Error::system("start a thread", e))?;
        let init = told.recv().map_err(|_| Error::new("the thread that starts the command has ended"))??;
        Ok(Self { init, done, status: None })
    }

    /// Returns the exit status if the command has ended.
    pub fn try_status(&mut self) -> Option<ExitStatus> {
        if self.status.is_none() {
            self.status = match self.done.try_recv() {
                Ok(status) => Some(status),
                Err(TryRecvError::Empty) => None,
                Err(TryRecvError::Disconnected) => Some(ExitStatus::from_raw(libc::SIGKILL)),
            };
        }
        self.status
    }

    /// Passes a signal on to the command.
    pub fn signal(&mut self, signal: Signal) {
        if self.try_status().is_none() {
            // It may have ended just now.
            let _ = kill(self.init, signal);
        }
    }

    /// Waits until the command ends.
    pub fn wait(&mut self) -> ExitStatus {
        if self.try_status().is_none() {
            self.status = Some(self.done.recv().unwrap_or_else(|_| ExitStatus::from_raw(libc::SIGKILL)));
        }
        self.status.unwrap_or_default()
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.signal(Signal::SIGKILL);
        self.wait();
    }
}

/// Returns the exit status as a shell reports it: 128 plus the signal's number if a signal ended
/// the command.
pub fn code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}

/// Forks again after the first fork. The new process goes on to run the command, and the caller
/// stays as its init.
fn become_init() -> io::Result<()> {
    set_pdeathsig(Signal::SIGKILL)?;
    show_own_processes();
    // Before the fork, or a command that ends at once would be missed.
    let all = SigSet::all();
    all.thread_set_mask()?;
    // SAFETY: this process has one thread, and both go on with system calls only.
    match unsafe { fork() }? {
        ForkResult::Child => Ok(SigSet::empty().thread_set_mask()?),
        ForkResult::Parent { child } => init(&all, child),
    }
}

/// Mounts /proc for the PID namespace, so that `ps` and the shell's job control see only the
/// command's processes. Where that is not allowed, as in some containers, /proc stays that of the
/// host.
fn show_own_processes() {
    if unshare(CloneFlags::CLONE_NEWNS).is_err() {
        return;
    }
    let none = None::<&std::ffi::CStr>;
    let private = mount(none, c"/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none);
    if private.is_ok() {
        let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
        let _ = mount(Some(c"proc"), c"/proc", Some(c"proc"), flags, none);
    }
}

/// Runs as process 1: passes on the signals that it receives, and ends when the command does.
fn init(all: &SigSet, command: Pid) -> ! {
    // Above all the pipe through which the starting process learns whether the command could be
    // run. SAFETY: no descriptor above 2 is used here any more.
    unsafe { libc::close_range(3, libc::c_uint::MAX, 0) };
    loop {
        // SAFETY: plain data, filled by the call below.
        let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
        // SAFETY: both pointers are to values that live until the call returns.
        let signal = unsafe { libc::sigwaitinfo(all.as_ref(), &raw mut info) };
        match signal {
            libc::SIGCHLD => collect(command),
            // What a terminal sends reaches the command without us; its code is that of the kernel,
            // above 0.
            1.. if info.si_code <= 0 => {
                // SAFETY: no memory is involved.
                unsafe { libc::kill(command.as_raw(), signal) };
            }
            _ => {}
        }
    }
}

/// Reaps processes that have ended. If the command has ended, ends with its status.
fn collect(command: Pid) {
    let mut status = 0;
    loop {
        // SAFETY: the status lives until the call returns.
        let ended = unsafe { libc::waitpid(-1, &raw mut status, libc::WNOHANG) };
        if ended <= 0 {
            return;
        }
        if ended == command.as_raw() {
            let code = if libc::WIFEXITED(status) {
                libc::WEXITSTATUS(status)
            } else {
                128 + libc::WTERMSIG(status)
            };
            // SAFETY: ends this process without running anything of the one that it was forked
            // from.
            unsafe { libc::_exit(code) };
        }
    }
}
