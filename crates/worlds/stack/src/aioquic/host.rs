//! The process that holds a run's aioquic endpoints.

use std::process::Command;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration as Elapsed;

use super::process::Process;
use crate::refusal::Refusal;

/// Required version of aioquic. `host.py` uses internals of aioquic, which may differ in another
/// version, and results might differ too.
const VERSION: &str = "1.7.2";
/// Environment variable with the Python to use instead of `python3`.
const PYTHON_VARIABLE: &str = "ACKCLOCK_PYTHON";
/// Time limit for one reply.
const REPLY_TIMEOUT: Elapsed = Elapsed::from_secs(60);

/// The process of a run's endpoints that do not run inside this program. It starts when the first
/// endpoint needs it, and ends when the last handle is dropped. All handles share one process.
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
    /// Returns the reason for which the process failed. The run is then invalid.
    pub fn failure(&self) -> Option<String> {
        match &*self.lock() {
            State::Failed(why) => Some(why.clone()),
            _ => None,
        }
    }

    /// Starts Python and looks for aioquic, unless the process is already running.
    ///
    /// # Errors
    /// The missing part, and how to install it.
    pub(crate) fn start(&self) -> Result<(), Refusal> {
        let mut state = self.lock();
        if matches!(*state, State::Idle) {
            *state = match start_python(&python_command()) {
                Ok(process) => State::Running(Box::new(process), 0),
                Err(why) => State::Failed(why),
            };
        }
        match &*state {
            State::Failed(why) => Err(Refusal::Stack(why.clone())),
            _ => Ok(()),
        }
    }

    /// Creates an endpoint and returns its number.
    ///
    /// # Errors
    /// The same as for [`start`](Self::start), or a failure to create the endpoint.
    pub(super) fn create(&self, request: &[u8]) -> Result<u32, Refusal> {
        self.start()?;
        let created = self.request(request).and_then(|_| match &mut *self.lock() {
            State::Running(_, endpoints) => {
                *endpoints += 1;
                Some(*endpoints - 1)
            }
            _ => None,
        });
        created.ok_or_else(|| Refusal::Stack(self.failure().unwrap_or_default()))
    }

    /// Returns the reply to a request, or `None` once the process has failed.
    pub(super) fn request(&self, request: &[u8]) -> Option<Vec<u8>> {
        let mut state = self.lock();
        let State::Running(process, _) = &mut *state else { return None };
        match process.request(request) {
            Ok(reply) => Some(reply),
            Err(why) => {
                *state = State::Failed(format!("the aioquic process failed: {why}"));
                None
            }
        }
    }

    /// Marks the process as failed.
    pub(super) fn fail(&self, why: &str) {
        *self.lock() = State::Failed(format!("the aioquic process failed: {why}"));
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // No code panics while the lock is held.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the command that starts Python.
fn python_command() -> String {
    std::env::var(PYTHON_VARIABLE).unwrap_or_else(|_| "python3".to_owned())
}

/// Starts a Python process with aioquic.
///
/// # Errors
/// The missing part, and how to install it.
fn start_python(python: &str) -> Result<Process, String> {
    let install = format!(
        "run `{python} -m pip install aioquic=={VERSION}`, or set {PYTHON_VARIABLE} to a Python that has it"
    );
    let mut command = Command::new(python);
    // Python must not load modules from the current folder, and sets must have a fixed order.
    command.args(["-c", include_str!("host.py")]).env("PYTHONSAFEPATH", "1").env("PYTHONHASHSEED", "0");
    let mut process = Process::spawn(command, REPLY_TIMEOUT).map_err(|error| {
        format!(
            "aioquic needs Python, but `{python}` cannot be run ({error}): install Python, then {install}"
        )
    })?;
    let greeting = process
        .greeting()
        .map_err(|why| format!("aioquic needs Python, but `{python}` does not work: {why}"))?;
    check(&greeting, python, &install).map(|()| process)
}

/// Checks the version of aioquic in the process's first message.
///
/// # Errors
/// The version found instead, or the missing module.
fn check(greeting: &[u8], python: &str, install: &str) -> Result<(), String> {
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    match greeting.split_first() {
        Some((1, version)) if version == VERSION.as_bytes() => Ok(()),
        Some((1, version)) => Err(format!(
            "`{python}` has aioquic {}, but version {VERSION} is required: {install}",
            text(version)
        )),
        Some((0, missing)) => Err(format!("`{python}` has no aioquic ({}): {install}", text(missing))),
        _ => Err(format!("aioquic needs Python, but `{python}` is a different program")),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn without_python() {
        let why = start_python("/nowhere/python3").err().unwrap();
        assert!(why.starts_with("aioquic needs Python, but `/nowhere/python3` cannot be run"), "{why}");
        assert!(why.contains("`/nowhere/python3 -m pip install aioquic==1.7.2`"), "{why}");
    }

    #[test]
    fn what_is_no_python() {
        assert!(start_python("false").err().unwrap().contains("does not work: it ended"));
        assert!(start_python("cat").err().unwrap().contains("does not work: it ended"));
    }

    #[test]
    fn without_aioquic_or_with_another() {
        let why = |greeting: &[u8]| check(greeting, "python3", "`install`").unwrap_err();
        assert_eq!(check(b"\x011.7.2", "python3", ""), Ok(()));
        assert_eq!(
            why(b"\x011.3.0"),
            "`python3` has aioquic 1.3.0, but version 1.7.2 is required: `install`"
        );
        assert_eq!(
            why(b"\x00No module named 'x'"),
            "`python3` has no aioquic (No module named 'x'): `install`"
        );
        assert_eq!(why(b""), "aioquic needs Python, but `python3` is a different program");
    }
}
