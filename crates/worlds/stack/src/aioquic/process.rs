//! A child process that replies to requests. Each request has one reply, and both have a length
//! prefix.
//!
//! The child ends with its owner. When the owner is dropped, the child is killed and reaped. If the
//! owner dies without a drop, the closed pipe ends the child. The child has its own process group,
//! so that Ctrl-C on a terminal does not reach it. A watchdog thread kills a child that does not
//! reply, so that no caller waits forever.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration as Elapsed;

/// Largest valid reply, in bytes.
const MAX_REPLY: u32 = 1 << 28;
/// Time limit for reading the stderr of a child that has ended.
const STDERR_TIMEOUT: Elapsed = Elapsed::from_secs(1);

/// A child process that replies to requests.
pub(super) struct Process {
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    shared: Arc<Shared>,
    /// Signals the end of stderr.
    stderr_end: Receiver<()>,
    /// Stops the watchdog thread when it is dropped.
    _guard: Sender<()>,
}

/// State shared with the helper threads.
struct Shared {
    child: Mutex<Child>,
    last_line: Mutex<String>,
    /// Odd while a reply is awaited.
    exchanges: AtomicU64,
    timed_out: AtomicBool,
}

impl Process {
    /// Starts the child. A reply may take `patience`. The child is killed after at most twice as
    /// long.
    ///
    /// # Errors
    /// A program that does not exist or cannot be started.
    pub(super) fn spawn(mut command: Command, patience: Elapsed) -> io::Result<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child = command.spawn()?;
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let shared = Arc::new(Shared {
            child: Mutex::new(child),
            last_line: Mutex::default(),
            exchanges: AtomicU64::new(0),
            timed_out: AtomicBool::new(false),
        });
        let (guard, ended) = channel();
        let (stderr_open, stderr_end) = channel();
        let (Some(input), Some(output), Some(errors)) = pipes else {
            shared.end();
            return Err(io::Error::other("no pipes"));
        };
        let process = Self {
            input,
            output: BufReader::new(output),
            shared: Arc::clone(&shared),
            stderr_end,
            _guard: guard,
        };
        // If a thread cannot be started, the process is dropped, and the child with it.
        let reader = Arc::clone(&shared);
        thread::Builder::new().spawn(move || reader.read_stderr(errors, stderr_open))?;
        thread::Builder::new().spawn(move || shared.watch(&ended, patience))?;
        Ok(process)
    }

    /// Returns the child's first message, which needs no request.
    ///
    /// # Errors
    /// Reason for which there is none, as a clause: `it ended: ...`.
    pub(super) fn greeting(&mut self) -> Result<Vec<u8>, String> {
        self.exchange(Self::read)
    }

    /// Sends a request and returns the reply.
    ///
    /// # Errors
    /// The same as for [`greeting`](Self::greeting).
    pub(super) fn request(&mut self, request: &[u8]) -> Result<Vec<u8>, String> {
        self.exchange(|process| {
            let len = u32::try_from(request.len()).map_err(io::Error::other)?;
            process.input.write_all(&[&len.to_le_bytes(), request].concat())?;
            process.read()
        })
    }

    fn exchange(&mut self, act: impl FnOnce(&mut Self) -> io::Result<Vec<u8>>) -> Result<Vec<u8>, String> {
        self.shared.exchanges.fetch_add(1, Ordering::AcqRel);
        let reply = act(self);
        self.shared.exchanges.fetch_add(1, Ordering::AcqRel);
        reply.map_err(|error| self.describe_failure(&error))
    }

    fn read(&mut self) -> io::Result<Vec<u8>> {
        let mut len = [0; 4];
        self.output.read_exact(&mut len)?;
        let len = u32::from_le_bytes(len);
        if len > MAX_REPLY {
            return Err(io::Error::other("it sent an invalid reply"));
        }
        let mut reply = vec![0; len as usize];
        self.output.read_exact(&mut reply)?;
        Ok(reply)
    }

    /// Returns the reason for which the child did not reply.
    fn describe_failure(&self, error: &io::Error) -> String {
        self.shared.end();
        let _ = self.stderr_end.recv_timeout(STDERR_TIMEOUT);
        let line = lock(&self.shared.last_line).clone();
        let ended = matches!(error.kind(), io::ErrorKind::UnexpectedEof | io::ErrorKind::BrokenPipe);
        match (self.shared.timed_out.load(Ordering::Acquire), ended, line.is_empty()) {
            (true, _, true) => "it did not reply in time and was killed".to_owned(),
            (true, _, false) => format!("it did not reply in time and was killed; its last message: {line}"),
            (false, true, true) => "it ended without a message".to_owned(),
            (false, true, false) => format!("it ended: {line}"),
            (false, false, _) => error.to_string(),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.shared.end();
    }
}

impl Shared {
    /// Kills the child if it is still running, and reaps it.
    fn end(&self) {
        let mut child = lock(&self.child);
        // An error means that it has already ended.
        let _ = child.kill();
        let _ = child.wait();
    }

    /// Keeps the child's last line on stderr.
    fn read_stderr(&self, errors: ChildStderr, stderr_end: Sender<()>) {
        let mut errors = BufReader::new(errors);
        let mut line = Vec::new();
        // Very long lines are split.
        while (&mut errors).take(1 << 12).read_until(b'\n', &mut line).is_ok_and(|count| count > 0) {
            let text = String::from_utf8_lossy(&line).trim().to_owned();
            if !text.is_empty() {
                *lock(&self.last_line) = text;
            }
            line.clear();
        }
        drop(stderr_end);
    }

    /// Kills the child if it works on the same request in two checks in a row. Returns when the
    /// owner has gone.
    fn watch(&self, ended: &Receiver<()>, patience: Elapsed) {
        let mut seen = 0;
        while ended.recv_timeout(patience) == Err(RecvTimeoutError::Timeout) {
            let exchanges = self.exchanges.load(Ordering::Acquire);
            if exchanges % 2 == 1 && exchanges == seen {
                self.timed_out.store(true, Ordering::Release);
                return self.end();
            }
            seen = exchanges;
        }
    }
}

/// Locks a mutex. No code panics while it is held.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn shell(script: &str) -> Process {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        Process::spawn(command, Elapsed::from_millis(50)).unwrap()
    }

    #[test]
    fn what_is_asked_is_answered() {
        let mut echo = Process::spawn(Command::new("cat"), Elapsed::from_secs(60)).unwrap();
        assert_eq!(echo.request(b"a word").unwrap(), b"a word");
        assert_eq!(echo.request(b"").unwrap(), b"");
    }

    #[test]
    fn one_that_ends() {
        let why = shell("echo first >&2; echo no more memory >&2").request(b"x").unwrap_err();
        assert_eq!(why, "it ended: no more memory");
        assert_eq!(shell("exit 3").greeting().unwrap_err(), "it ended without a message");
    }

    #[test]
    fn one_that_hangs() {
        let why = shell("echo thinking >&2; exec sleep 1000").greeting().unwrap_err();
        assert_eq!(why, "it did not reply in time and was killed; its last message: thinking");
    }

    #[test]
    fn one_that_talks_nonsense() {
        let why = shell("echo nonsense; exec sleep 1000").greeting().unwrap_err();
        assert_eq!(why, "it sent an invalid reply");
    }

    /// The child is neither running nor a zombie.
    #[cfg(target_os = "linux")]
    #[test]
    fn nothing_is_left_behind() {
        let process = shell("exec sleep 1000");
        let id = lock(&process.shared.child).id();
        let there = || std::path::Path::new(&format!("/proc/{id}")).exists();
        assert!(there());
        drop(process);
        assert!(!there());
    }
}
