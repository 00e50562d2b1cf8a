//! Runs one end of a connection as a process in a namespace, and keeps the end of its output.

use std::collections::VecDeque;
use std::io::{PipeReader, PipeWriter, Read, Write, pipe};
use std::process::{Command, ExitStatus};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use crate::emu::child::Child;
use crate::emu::{Identity, Rig, Side};

use crate::processes::error::Error;

/// Number of bytes kept from the end of a process's output.
const MAX_OUTPUT: usize = 4096;
/// Number of lines shown.
const SHOWN_LINES: usize = 5;

/// A running process.
#[derive(Debug)]
pub(crate) struct Process {
    child: Option<Child>,
    start_pipe: Option<PipeWriter>,
    output: Arc<Mutex<VecDeque<u8>>>,
    reader: Option<JoinHandle<()>>,
}

impl Process {
    /// Starts a command at an end of the link. Its standard input is a pipe. The last bytes of its
    /// output are kept.
    ///
    /// # Errors
    /// A command or a pipe that cannot be started, with the system's reason.
    pub(crate) fn start(
        rig: &Rig,
        side: Side,
        identity: &Identity,
        mut command: Command,
    ) -> Result<Self, Error> {
        let no_pipe = |e| Error::system("make a pipe", e);
        let (input, start_pipe) = pipe().map_err(no_pipe)?;
        let (read_end, output) = pipe().map_err(no_pipe)?;
        let errors = output.try_clone().map_err(no_pipe)?;
        command.stdin(input).stdout(output).stderr(errors);
        let output = Arc::<Mutex<VecDeque<u8>>>::default();
        let kept = Arc::clone(&output);
        let reader =
            thread::Builder::new().name(format!("{side}'s output")).spawn(move || collect(read_end, &kept));
        let reader = reader.map_err(|e| Error::system("start a thread", e))?;
        let child = Child::start(rig, side, identity, command)?;
        Ok(Self { child: Some(child), start_pipe: Some(start_pipe), output, reader: Some(reader) })
    }

    /// Sends the start signal.
    pub(crate) fn send_start(&mut self) {
        if let Some(mut start_pipe) = self.start_pipe.take() {
            // The process may have ended already; its status reports that.
            let _ = start_pipe.write_all(b"go\n");
        }
    }

    /// Returns the exit status, if the process has ended.
    pub(crate) fn status(&mut self) -> Option<ExitStatus> {
        self.child.as_mut().and_then(Child::try_status)
    }

    /// Ends the process and its descendants. Returns the last lines of its output.
    pub(crate) fn finish(mut self) -> String {
        self.end();
        let output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        let text: Vec<u8> = output.iter().copied().collect();
        last_lines(&String::from_utf8_lossy(&text))
    }

    fn end(&mut self) {
        drop(self.child.take());
        drop(self.start_pipe.take());
        // All other ends of the pipe are closed now.
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end();
    }
}

fn collect(mut read_end: PipeReader, kept: &Mutex<VecDeque<u8>>) {
    let mut piece = [0; 1024];
    while let Ok(length @ 1..) = read_end.read(&mut piece) {
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend(&piece[..length]);
        let over = kept.len().saturating_sub(MAX_OUTPUT);
        kept.drain(..over);
    }
}

/// Returns the last non-empty lines, joined into one.
fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines[lines.len().saturating_sub(SHOWN_LINES)..].join(" | ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_are_kept() {
        let (read_end, mut output) = pipe().unwrap();
        let kept = Mutex::default();
        thread::scope(|scope| {
            scope.spawn(|| collect(read_end, &kept));
            for line in 0..2000 {
                output.write_all(format!("line {line}\n\n").as_bytes()).unwrap();
            }
            drop(output);
        });
        let kept = kept.into_inner().unwrap();
        assert_eq!(kept.len(), MAX_OUTPUT);
        let text: Vec<u8> = kept.into_iter().collect();
        let words = "line 1995 | line 1996 | line 1997 | line 1998 | line 1999";
        assert_eq!(last_lines(&String::from_utf8_lossy(&text)), words);
    }
}
