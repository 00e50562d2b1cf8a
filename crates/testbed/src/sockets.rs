//! Sockets, threads and times of a run.

use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use emu::{Error, Rig, Side};
use units::Time;

/// A longer pause of a source is slept in parts of this length, so that it hears when the run is over.
const NAP: Duration = Duration::from_millis(50);

/// False if the run is over before.
pub(crate) fn sleep_until(time: Instant, over: &AtomicBool) -> bool {
    while let Some(left) = time.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()) {
        if over.load(Ordering::Relaxed) {
            return false;
        }
        thread::sleep(left.min(NAP));
    }
    !over.load(Ordering::Relaxed)
}

pub(crate) fn socket(rig: &Rig, side: Side, port: u16) -> Result<UdpSocket, Error> {
    rig.namespace(side).run(|| UdpSocket::bind((side.ipv4(), port)).map_err(failed))
}

#[expect(clippy::needless_pass_by_value, reason = "`map_err` hands it over")]
pub(crate) fn failed(error: std::io::Error) -> Error {
    Error::new(format!("cannot open a socket of UDP at the link's ends: {error}"))
}

pub(crate) fn spawn<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<JoinHandle<T>, Error> {
    let spawned = thread::Builder::new().name(name.to_owned()).spawn(work);
    spawned.map_err(|e| Error::new(format!("cannot start a thread for the {name}: {e}")))
}

/// A time of the run on the clock.
pub(crate) fn at(origin: Instant, time: Time) -> Instant {
    origin + Duration::from_nanos(time.0)
}

/// The time of the run; zero before it.
pub(crate) fn since(origin: Instant) -> Time {
    Time(u64::try_from(Instant::now().saturating_duration_since(origin).as_nanos()).unwrap_or(u64::MAX))
}
