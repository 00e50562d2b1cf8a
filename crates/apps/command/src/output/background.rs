//! Lines that a thread prints, so that nobody waits for a reader of standard error.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, channel, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use super::write;

/// Largest number of lines that wait to be printed.
const QUEUE: usize = 256;
/// Time that waiting lines have at the end.
const LAST: Duration = Duration::from_millis(500);

/// Lines for the thread that prints, while there is one.
static BACKGROUND: Mutex<Option<SyncSender<String>>> = Mutex::new(None);
/// Number of lines that were dropped since the last line about that.
static DROPPED: AtomicU64 = AtomicU64::new(0);

/// Passes a line to the thread, or drops it if too many wait. Returns false if there is no thread.
pub(super) fn takes(line: &str) -> bool {
    let background = BACKGROUND.lock().unwrap_or_else(PoisonError::into_inner).clone();
    if background.as_ref().is_some_and(|lines| lines.try_send(line.to_owned()).is_err()) {
        DROPPED.fetch_add(1, Ordering::Relaxed);
    }
    background.is_some()
}

/// Prints lines from a thread of its own until it is dropped.
///
/// If nobody reads standard error, only this thread waits. Lines that do not fit in its queue are
/// dropped, and their number is printed later.
pub(crate) struct Background(Receiver<()>);

impl Background {
    /// Starts the thread. Without one, lines are printed as before.
    pub(crate) fn start() -> Self {
        let (lines, queue) = sync_channel::<String>(QUEUE);
        // Never sent to: it is closed when the thread ends.
        let (running, ended) = channel();
        let print = move || {
            let _running = running;
            for line in queue {
                write(&line);
                match DROPPED.swap(0, Ordering::Relaxed) {
                    0 => {}
                    lost => {
                        write(&format!("ackclock: {lost} lines were dropped, since nobody read this output"))
                    }
                }
            }
        };
        if thread::Builder::new().spawn(print).is_ok() {
            install(Some(lines));
        }
        Self(ended)
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        install(None);
        if self.0.recv_timeout(LAST) == Err(RecvTimeoutError::Timeout) {
            // The thread still waits for a reader. Lines to a closed queue are dropped.
            install(Some(sync_channel(0).0));
        }
    }
}

fn install(lines: Option<SyncSender<String>>) {
    *BACKGROUND.lock().unwrap_or_else(PoisonError::into_inner) = lines;
}
