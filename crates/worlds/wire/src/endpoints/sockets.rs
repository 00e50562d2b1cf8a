//! Helpers for the sockets, threads and times of a run.

use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::emu::{Error, Rig, Side};
use units::Time;

/// Longest uninterrupted sleep. A source checks for the end of the run this often.
const MAX_SLEEP: Duration = Duration::from_millis(50);

/// Sleeps until `time`. Returns false if the run ends earlier.
pub(crate) fn sleep_until(time: Instant, over: &AtomicBool) -> bool {
    while let Some(left) = time.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()) {
        if over.load(Ordering::Relaxed) {
            return false;
        }
        thread::sleep(left.min(MAX_SLEEP));
    }
    !over.load(Ordering::Relaxed)
}

pub(crate) fn socket(rig: &Rig, side: Side, port: u16) -> Result<UdpSocket, Error> {
    rig.namespace(side).run(|| UdpSocket::bind((side.ipv4(), port)).map_err(failed))
}

#[expect(clippy::needless_pass_by_value, reason = "for `map_err`")]
pub(crate) fn failed(error: std::io::Error) -> Error {
    Error::new(format!("cannot open a UDP socket at an end of the link: {error}"))
}

pub(crate) fn spawn<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<JoinHandle<T>, Error> {
    let spawned = thread::Builder::new().name(name.to_owned()).spawn(work);
    spawned.map_err(|e| Error::new(format!("cannot start a thread for the {name}: {e}")))
}

/// Converts a time of the run to an `Instant`.
pub(crate) fn at(origin: Instant, time: Time) -> Instant {
    origin + Duration::from_nanos(time.0)
}

/// Returns the current time of the run, or zero before its start.
pub(crate) fn since(origin: Instant) -> Time {
    Time(u64::try_from(Instant::now().saturating_duration_since(origin).as_nanos()).unwrap_or(u64::MAX))
}
