//! A child process that answers: one answer for each request, each with its length in front.
//!
//! It ends with its owner, however that ends: dropped, it is killed and waited for; where nobody drops it, the closed pipe ends it. Ctrl-C
//! on a terminal does not reach it, since it is in a group of its own. One that gives no answer is killed by a thread that looks after it, so
//! that nobody waits for ever.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration as Elapsed;

/// An answer that is longer is none, bytes.
const LONGEST: u32 = 1 << 28;
/// For a child's last words, once it has gone.
const FAREWELL: Elapsed = Elapsed::from_secs(1);

/// A child process.
pub(super) struct Process {
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    shared: Arc<Shared>,
    /// Says when there are no more of them.
    silent: Receiver<()>,
    /// Dropped, nobody looks after it any more.
    _guard: Sender<()>,
}

/// What the threads beside it share with it.
struct Shared {
    child: Mutex<Child>,
    last_words: Mutex<String>,
    /// Odd while an answer is awaited.
    turns: AtomicU64,
    hangs: AtomicBool,
}

impl Process {
    /// Begins it. It may take so long for an answer, and at most twice as long.
    ///
    /// # Errors
    /// There is no such program, or none can be begun.
    pub(super) fn begin(mut command: Command, patience: Elapsed) -> io::Result<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child = command.spawn()?;
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let shared = Arc::new(Shared {
            child: Mutex::new(child),
            last_words: Mutex::default(),
            turns: AtomicU64::new(0),
            hangs: AtomicBool::new(false),
        });
        let (guard, ended) = channel();
        let (listening, silent) = channel();
        let (Some(input), Some(output), Some(errors)) = pipes else {
            shared.end();
            return Err(io::Error::other("no pipes"));
        };
        let process = Self {
            input,
            output: BufReader::new(output),
            shared: Arc::clone(&shared),
            silent,
            _guard: guard,
        };
        // If a thread cannot be begun, the process is dropped, and with it the child.
        let listener = Arc::clone(&shared);
        thread::Builder::new().spawn(move || listener.listen(errors, listening))?;
        thread::Builder::new().spawn(move || shared.look(&ended, patience))?;
        Ok(process)
    }

    /// The next answer to nothing: what it says first.
    ///
    /// # Errors
    /// Why there is none, in a clause: `it ended: ...`.
    pub(super) fn greeting(&mut self) -> Result<Vec<u8>, String> {
        self.awaiting(Self::read)
    }

    /// The answer to a request.
    ///
    /// # Errors
    /// As above.
    pub(super) fn ask(&mut self, request: &[u8]) -> Result<Vec<u8>, String> {
        self.awaiting(|process| {
            let len = u32::try_from(request.len()).map_err(io::Error::other)?;
            process.input.write_all(&[&len.to_le_bytes(), request].concat())?;
            process.read()
        })
    }

    fn awaiting(&mut self, act: impl FnOnce(&mut Self) -> io::Result<Vec<u8>>) -> Result<Vec<u8>, String> {
        self.shared.turns.fetch_add(1, Ordering::AcqRel);
        let answer = act(self);
        self.shared.turns.fetch_add(1, Ordering::AcqRel);
        answer.map_err(|error| self.why(&error))
    }

    fn read(&mut self) -> io::Result<Vec<u8>> {
        let mut len = [0; 4];
        self.output.read_exact(&mut len)?;
        let len = u32::from_le_bytes(len);
        if len > LONGEST {
            return Err(io::Error::other("it says what is no answer"));
        }
        let mut answer = vec![0; len as usize];
        self.output.read_exact(&mut answer)?;
        Ok(answer)
    }

    /// Why it gave no answer.
    fn why(&self, error: &io::Error) -> String {
        self.shared.end();
        let _ = self.silent.recv_timeout(FAREWELL);
        let words = lock(&self.shared.last_words).clone();
        let ended = matches!(error.kind(), io::ErrorKind::UnexpectedEof | io::ErrorKind::BrokenPipe);
        match (self.shared.hangs.load(Ordering::Acquire), ended, words.is_empty()) {
            (true, _, true) => "it gave no answer, and was ended".to_owned(),
            (true, _, false) => format!("it gave no answer, and was ended; its last words: {words}"),
            (false, true, true) => "it ended without a word".to_owned(),
            (false, true, false) => format!("it ended: {words}"),
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
    /// Kills it, if it is still there, and leaves no zombie.
    fn end(&self) {
        let mut child = lock(&self.child);
        // Errors: it has ended already.
        let _ = child.kill();
        let _ = child.wait();
    }

    /// Keeps the last line that it says on stderr.
    fn listen(&self, errors: ChildStderr, silent: Sender<()>) {
        let mut errors = BufReader::new(errors);
        let mut line = Vec::new();
        // A line that is endless is several.
        while (&mut errors).take(1 << 12).read_until(b'\n', &mut line).is_ok_and(|count| count > 0) {
            let text = String::from_utf8_lossy(&line).trim().to_owned();
            if !text.is_empty() {
                *lock(&self.last_words) = text;
            }
            line.clear();
        }
        drop(silent);
    }

    /// Until its owner has gone: kills it if between two looks it was busy with the same request.
    fn look(&self, ended: &Receiver<()>, patience: Elapsed) {
        let mut seen = 0;
        while ended.recv_timeout(patience) == Err(RecvTimeoutError::Timeout) {
            let turns = self.turns.load(Ordering::Acquire);
            if turns % 2 == 1 && turns == seen {
                self.hangs.store(true, Ordering::Release);
                return self.end();
            }
            seen = turns;
        }
    }
}

/// Nobody panics while it is held.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn shell(script: &str) -> Process {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        Process::begin(command, Elapsed::from_millis(50)).unwrap()
    }

    #[test]
    fn what_is_asked_is_answered() {
        let mut echo = Process::begin(Command::new("cat"), Elapsed::from_secs(60)).unwrap();
        assert_eq!(echo.ask(b"a word").unwrap(), b"a word");
        assert_eq!(echo.ask(b"").unwrap(), b"");
    }

    #[test]
    fn one_that_ends() {
        let why = shell("echo first >&2; echo no more memory >&2").ask(b"x").unwrap_err();
        assert_eq!(why, "it ended: no more memory");
        assert_eq!(shell("exit 3").greeting().unwrap_err(), "it ended without a word");
    }

    #[test]
    fn one_that_hangs() {
        let why = shell("echo thinking >&2; exec sleep 1000").greeting().unwrap_err();
        assert_eq!(why, "it gave no answer, and was ended; its last words: thinking");
    }

    #[test]
    fn one_that_talks_nonsense() {
        let why = shell("echo nonsense; exec sleep 1000").greeting().unwrap_err();
        assert_eq!(why, "it says what is no answer");
    }

    /// Neither running nor a zombie: the system knows no such process.
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
