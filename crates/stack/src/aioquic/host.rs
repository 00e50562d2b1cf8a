//! The process in which the ends of a run are that are not in this program.

use std::process::Command;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration as Elapsed;

use super::process::Process;
use crate::refusal::Refusal;

/// aioquic's version: of another one nobody knows whether its insides are where `host.py` looks for them, and the same results would
/// not be sure.
const VERSION: &str = "1.7.2";
/// Who begins Python when it is not `python3`.
const VARIABLE: &str = "ACKCLOCK_PYTHON";
/// For one answer.
const PATIENCE: Elapsed = Elapsed::from_secs(60);

/// Where ends of stacks are that are not in this program: one child process for a run, begun when the first end wants it. All handles are
/// of the same; with the last one the process ends.
#[derive(Clone, Default)]
pub struct Host(Arc<Mutex<State>>);

#[derive(Default)]
enum State {
    #[default]
    Idle,
    Running(Box<Process>, u32),
    Failed(String),
}

impl Host {
    /// What became of it: the run is worth nothing then.
    pub fn failure(&self) -> Option<String> {
        match &*self.lock() {
            State::Failed(why) => Some(why.clone()),
            _ => None,
        }
    }

    /// Begins Python and looks for aioquic, unless that is done.
    ///
    /// # Errors
    /// What is missing, and how to install it.
    pub(crate) fn begin(&self) -> Result<(), Refusal> {
        let mut state = self.lock();
        if matches!(*state, State::Idle) {
            *state = match begin(&python()) {
                Ok(process) => State::Running(Box::new(process), 0),
                Err(why) => State::Failed(why),
            };
        }
        match &*state {
            State::Failed(why) => Err(Refusal::Outside(why.clone())),
            _ => Ok(()),
        }
    }

    /// Makes an end; its number.
    ///
    /// # Errors
    /// As above, and that it cannot be made.
    pub(super) fn make(&self, request: &[u8]) -> Result<u32, Refusal> {
        self.begin()?;
        let made = self.ask(request).and_then(|_| match &mut *self.lock() {
            State::Running(_, ends) => {
                *ends += 1;
                Some(*ends - 1)
            }
            _ => None,
        });
        made.ok_or_else(|| Refusal::Outside(self.failure().unwrap_or_default()))
    }

    /// The answer to a request; `None` once it has failed.
    pub(super) fn ask(&self, request: &[u8]) -> Option<Vec<u8>> {
        let mut state = self.lock();
        let State::Running(process, _) = &mut *state else { return None };
        match process.ask(request) {
            Ok(answer) => Some(answer),
            Err(why) => {
                *state = State::Failed(format!("aioquic's process: {why}"));
                None
            }
        }
    }

    /// From now on it has failed: it says what nobody understands.
    pub(super) fn fail(&self, why: &str) {
        *self.lock() = State::Failed(format!("aioquic's process: {why}"));
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nobody panics while it is held.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Which Python.
fn python() -> String {
    std::env::var(VARIABLE).unwrap_or_else(|_| "python3".to_owned())
}

/// A process with aioquic in it.
///
/// # Errors
/// What is missing, and how to install it.
fn begin(python: &str) -> Result<Process, String> {
    let install =
        format!("`{python} -m pip install aioquic=={VERSION}`, or name a Python that has it in {VARIABLE}");
    let mut command = Command::new(python);
    // The folder that this program runs in has no modules for it, and sets have one order.
    command.args(["-c", include_str!("host.py")]).env("PYTHONSAFEPATH", "1").env("PYTHONHASHSEED", "0");
    let mut process = Process::begin(command, PATIENCE).map_err(|error| {
        format!("aioquic needs Python, and `{python}` cannot be run ({error}): install it, and then aioquic: {install}")
    })?;
    let greeting = process
        .greeting()
        .map_err(|why| format!("aioquic needs Python, and `{python}` is none that works: {why}"))?;
    check(&greeting, python, &install).map(|()| process)
}

/// Whether it is the one that is wanted, by what it says first.
///
/// # Errors
/// What it has instead.
fn check(greeting: &[u8], python: &str, install: &str) -> Result<(), String> {
    let said = |bytes| String::from_utf8_lossy(bytes).into_owned();
    match greeting.split_first() {
        Some((1, version)) if version == VERSION.as_bytes() => Ok(()),
        Some((1, version)) => Err(format!(
            "`{python}` has aioquic {}, and version {VERSION} is needed: {install}",
            said(version)
        )),
        Some((0, missing)) => Err(format!("`{python}` has no aioquic ({}): {install}", said(missing))),
        _ => Err(format!("aioquic needs Python, and `{python}` is something else")),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn without_python() {
        let why = begin("/nowhere/python3").err().unwrap();
        assert!(why.starts_with("aioquic needs Python, and `/nowhere/python3` cannot be run"), "{why}");
        assert!(why.contains("`/nowhere/python3 -m pip install aioquic==1.7.2`"), "{why}");
    }

    #[test]
    fn what_is_no_python() {
        assert!(begin("false").err().unwrap().contains("is none that works: it ended"));
        assert!(begin("cat").err().unwrap().contains("is none that works: it ended"));
    }

    #[test]
    fn without_aioquic_or_with_another() {
        let why = |greeting: &[u8]| check(greeting, "python3", "`install`").unwrap_err();
        assert_eq!(check(b"\x011.7.2", "python3", ""), Ok(()));
        assert_eq!(why(b"\x011.3.0"), "`python3` has aioquic 1.3.0, and version 1.7.2 is needed: `install`");
        assert_eq!(
            why(b"\x00No module named 'x'"),
            "`python3` has no aioquic (No module named 'x'): `install`"
        );
        assert_eq!(why(b""), "aioquic needs Python, and `python3` is something else");
    }
}
