//! Ctrl-C, SIGTERM and SIGHUP. A process has one handler, and each command an action of its own.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use scenario::Watch;

use crate::status::{Error, INTERRUPTED};

type Action = Box<dyn FnMut() + Send>;

static ACTION: Mutex<Option<Action>> = Mutex::new(None);

/// Does this at every interrupt from now on, in place of an earlier action.
pub(crate) fn on_interrupt(action: impl FnMut() + Send + 'static) -> Result<(), Error> {
    static HANDLER: OnceLock<Result<(), String>> = OnceLock::new();
    *ACTION.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(action));
    let act = || match &mut *ACTION.lock().unwrap_or_else(PoisonError::into_inner) {
        Some(action) => action(),
        // The process is that of a program, between two commands.
        None => std::process::exit(i32::from(INTERRUPTED)),
    };
    HANDLER.get_or_init(|| ctrlc::set_handler(act).map_err(|e| e.to_string())).clone().map_err(Error::bad)
}

/// Forgets the action of a command that has ended.
pub(crate) fn forget() {
    *ACTION.lock().unwrap_or_else(PoisonError::into_inner) = None;
}

/// Lets writes beyond the limit of file sizes (`ulimit -f`) fail, so that the command can say which
/// file it is. Otherwise a signal ends the process.
pub(crate) fn survive_large_files() {
    #[cfg(unix)]
    let _ = nix::sys::signal::SigSet::from(nix::sys::signal::Signal::SIGXFSZ).thread_block();
}

/// Returns a watch that every interrupt stops.
pub(crate) fn watch() -> Result<Arc<Watch>, Error> {
    let watch = Arc::new(Watch::default());
    let stopped = Arc::clone(&watch);
    on_interrupt(move || stopped.stop.store(true, Ordering::Relaxed))?;
    Ok(watch)
}
