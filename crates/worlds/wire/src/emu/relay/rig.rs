//! Two namespaces with a running link between them.

use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use link::LinkConfig;
use units::{Duration, Rate};

use crate::emu::capture::log::{Files, Log, Writer};
use crate::emu::capture::row::Row;
use crate::emu::error::Error;
use crate::emu::linux::namespace::Namespace;
use crate::emu::linux::privilege;
use crate::emu::linux::tun::{self, Tun};
use crate::emu::relay::engine::{Engine, Stop};
use crate::emu::relay::outcome::Outcome;
use crate::emu::relay::side::{Shared, Side, Snapshot};
use crate::emu::validity::{Audit, Ticks};

/// Configuration of the link between the two ends.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Link of the client's packets.
    pub there: LinkConfig,
    /// Link of the server's packets.
    pub back: LinkConfig,
    /// Bytes of lower layers that count on the wire with every IP packet.
    pub overhead: u32,
    /// Seed of all random elements.
    pub seed: u64,
    /// Destinations of the packet log.
    pub log: Files,
}

impl Config {
    /// Creates a configuration with this link for the client's packets. The reverse link only
    /// delays, by the same time.
    pub fn new(there: LinkConfig) -> Self {
        let back = Self::delay(there.delay);
        Self { there, back, overhead: 0, seed: 1, log: Files::default() }
    }

    /// Returns a link that only delays: 1500 bytes pass in 12 ns.
    pub fn delay(delay: Duration) -> LinkConfig {
        LinkConfig { delay, ..LinkConfig::plain(Rate(1_000_000_000_000)) }
    }
}

/// Results of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Snapshot at the end.
    pub last: Snapshot,
    /// The self-audit.
    pub audit: Audit,
    /// Packets in the order in which they were delivered or dropped, if the configuration keeps
    /// them.
    pub packets: Vec<Row>,
}

/// A running link. Dropping it ends the link and leaves nothing behind.
#[derive(Debug)]
pub struct Rig {
    namespaces: [Namespace; 2],
    engine: Option<JoinHandle<Result<Outcome, Error>>>,
    stop: Stop,
    shared: Arc<Shared>,
    writer: Option<Writer>,
    real_time: bool,
    ticks: Ticks,
    start: Instant,
}

impl Rig {
    /// Makes the namespaces and starts the relay between them.
    ///
    /// # Errors
    /// The error of the system call.
    pub fn start(config: &Config) -> Result<Self, Error> {
        for link in [&config.there, &config.back] {
            link.check().map_err(Error::new)?;
        }
        let namespaces = [Namespace::new()?, Namespace::new()?];
        let open = |side: Side| Tun::open(&namespaces[side as usize], side.ipv4(), side.ipv6());
        let tuns = [open(Side::Client)?, open(Side::Server)?];
        let start = Instant::now();
        let (log, writer) = Log::open(&config.log, start)?.unzip();
        let (stop, shared) = (Stop::new()?, Arc::<Shared>::default());
        let links = [&config.there, &config.back];
        let settings = (config.overhead, config.seed);
        let engine = Engine::new(tuns, links, settings, start, log, stop.clone(), Arc::clone(&shared));
        let (tell, told) = mpsc::channel();
        let thread = thread::Builder::new().name("emulator".to_owned()).spawn(move || {
            // The one who asks waits for the answer.
            let _ = tell.send(privilege::real_time(0));
            engine.run()
        });
        let thread = thread.map_err(|e| Error::system("start the emulator's thread", e))?;
        Ok(Self {
            namespaces,
            engine: Some(thread),
            stop,
            shared,
            writer,
            real_time: told.recv().unwrap_or(false),
            ticks: Ticks::now(),
            start,
        })
    }

    /// Returns the namespace of an end.
    pub fn namespace(&self, side: Side) -> &Namespace {
        &self.namespaces[side as usize]
    }

    /// Returns the start of the run, from which the times of its packets count.
    pub fn start_time(&self) -> Instant {
        self.start
    }

    /// Returns the latest snapshot.
    pub fn snapshot(&self) -> Snapshot {
        self.shared.snapshot.lock().map_or_else(|poisoned| *poisoned.into_inner(), |s| *s)
    }

    /// Reports whether the relay has ended by itself. [`Rig::stop`] returns why.
    pub fn has_failed(&self) -> bool {
        self.engine.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Ends the link.
    ///
    /// # Errors
    /// The error that had ended it before.
    pub fn stop(mut self) -> Result<Report, Error> {
        // Before the devices go.
        let hidden = [
            tun::hidden_drops(&self.namespaces[0]).ok().flatten(),
            tun::hidden_drops(&self.namespaces[1]).ok().flatten(),
        ];
        let steal = Ticks::now().steal_since(self.ticks);
        let outcome = self.join();
        let (log, packets) = self.writer.take().map(Writer::finish).unzip();
        let outcome = outcome?;
        let audit = Audit::new(&outcome, self.real_time, steal, hidden, log);
        Ok(Report { last: outcome.snapshot, audit, packets: packets.unwrap_or_default() })
    }

    fn join(&mut self) -> Result<Outcome, Error> {
        self.stop.ask();
        let Some(engine) = self.engine.take() else { return Err(Error::new("the emulator has ended")) };
        ended(engine.join())
    }
}

/// Turns a panic into an error, so that the namespaces are removed all the same.
fn ended<T>(joined: thread::Result<Result<T, Error>>) -> Result<T, Error> {
    joined.unwrap_or_else(|panic| {
        let said = panic.downcast_ref::<String>().map(String::as_str);
        let said = said.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no reason given");
        Err(Error::new(format!("the emulator has panicked, which is a bug in Ackclock: {said}")))
    })
}

impl Drop for Rig {
    fn drop(&mut self) {
        if self.engine.is_some() {
            // Nobody is left to hear how it went.
            let _ = self.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_of_the_engine_is_an_error_with_its_words() {
        let said = |thread: JoinHandle<Result<(), Error>>| ended(thread.join()).unwrap_err().to_string();
        assert!(said(thread::spawn(|| panic!("no such thing"))).ends_with("Ackclock: no such thing"));
        assert!(said(thread::spawn(|| panic!("number {}", 7))).ends_with("Ackclock: number 7"));
        assert_eq!(said(thread::spawn(|| Err(Error::new("down")))), "down");
    }
}
