//! An end of a connection as a process in a namespace: begun, told to go on, listened to, ended.

use std::collections::VecDeque;
use std::io::{PipeReader, PipeWriter, Read, Write, pipe};
use std::process::{Command, ExitStatus};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use emu::child::Child;
use emu::{Identity, Rig, Side};

use crate::error::Error;

/// Of what a process prints the end is kept, this many bytes; the rest is read and forgotten.
const KEPT: usize = 4096;
/// So many lines of it are shown.
const SHOWN: usize = 5;

/// A running end.
#[derive(Debug)]
pub(crate) struct Process {
    child: Option<Child>,
    word: Option<PipeWriter>,
    said: Arc<Mutex<VecDeque<u8>>>,
    listener: Option<JoinHandle<()>>,
}

impl Process {
    /// Starts a command at an end of the link. Its standard input is a pipe; what it prints is kept, the end of it.
    ///
    /// # Errors
    /// The command's name and what the system says.
    pub(crate) fn start(
        rig: &Rig,
        side: Side,
        identity: &Identity,
        mut command: Command,
    ) -> Result<Self, Error> {
        let no_pipe = |e| Error::system("make a pipe", e);
        let (input, word) = pipe().map_err(no_pipe)?;
        let (heard, output) = pipe().map_err(no_pipe)?;
        let errors = output.try_clone().map_err(no_pipe)?;
        command.stdin(input).stdout(output).stderr(errors);
        let said = Arc::<Mutex<VecDeque<u8>>>::default();
        let kept = Arc::clone(&said);
        let listener =
            thread::Builder::new().name(format!("{side}'s words")).spawn(move || listen(heard, &kept));
        let listener = listener.map_err(|e| Error::system("start a thread", e))?;
        let child = Child::start(rig, side, identity, command)?;
        Ok(Self { child: Some(child), word: Some(word), said, listener: Some(listener) })
    }

    /// Gives the word to begin.
    pub(crate) fn begin(&mut self) {
        if let Some(mut word) = self.word.take() {
            // It may have ended already: its status says so.
            let _ = word.write_all(b"go\n");
        }
    }

    /// How it ended, if it has.
    pub(crate) fn status(&mut self) -> Option<ExitStatus> {
        self.child.as_mut().and_then(Child::try_status)
    }

    /// Ends it, with whatever it has started, and gives the last lines that it printed.
    pub(crate) fn finish(mut self) -> String {
        self.end();
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        let text: Vec<u8> = said.iter().copied().collect();
        last_lines(&String::from_utf8_lossy(&text))
    }

    fn end(&mut self) {
        drop(self.child.take());
        drop(self.word.take());
        // Nobody holds the other end of its pipe any more.
        if let Some(listener) = self.listener.take() {
            let _ = listener.join();
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end();
    }
}

fn listen(mut heard: PipeReader, kept: &Mutex<VecDeque<u8>>) {
    let mut piece = [0; 1024];
    while let Ok(length @ 1..) = heard.read(&mut piece) {
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend(&piece[..length]);
        let over = kept.len().saturating_sub(KEPT);
        kept.drain(..over);
    }
}

/// Those that are not empty, in one line.
fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines[lines.len().saturating_sub(SHOWN)..].join(" | ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_are_kept() {
        let (heard, mut output) = pipe().unwrap();
        let kept = Mutex::default();
        thread::scope(|scope| {
            scope.spawn(|| listen(heard, &kept));
            for line in 0..2000 {
                output.write_all(format!("line {line}\n\n").as_bytes()).unwrap();
            }
            drop(output);
        });
        let kept = kept.into_inner().unwrap();
        assert_eq!(kept.len(), KEPT);
        let text: Vec<u8> = kept.into_iter().collect();
        let words = "line 1995 | line 1996 | line 1997 | line 1998 | line 1999";
        assert_eq!(last_lines(&String::from_utf8_lossy(&text)), words);
    }
}
