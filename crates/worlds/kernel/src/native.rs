//! Native controllers: D* and Reno decided by the kernel itself.
// They decide in real time.
#![allow(clippy::disallowed_methods)]

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration as StdDuration;

use congestion::Algorithm;
use libbpf_rs::{RingBuffer, RingBufferBuilder};
use units::Time;

use crate::agent::Report;
use crate::constants::constants;
use crate::error::Error;
use crate::event::Event;
use crate::inner::Inner;
use crate::program::{Program, Registered};

const DSTAR: &[u8] = include_bytes!("../objects/dstar.o");
const RENO: &[u8] = include_bytes!("../objects/reno.o");
/// Position of the program's counter of events that found the ring buffer full.
const LOST_EVENTS: usize = 0;
/// Interval between two looks at the events.
const INTERVAL: StdDuration = StdDuration::from_millis(20);

/// A controller that TCP sockets can choose by name, decided by the kernel. Its name disappears
/// with this value; connections that use it keep it until they end.
pub struct Native(Registered);

/// Reads the events of a controller.
pub struct Events {
    ring: RingBuffer<'static>,
    taken: Rc<RefCell<Vec<Event>>>,
}

impl Native {
    /// Registers a controller under this name.
    ///
    /// # Errors
    /// A controller or parameter that the programs do not have, a name that is wrong or taken, a
    /// kernel that refuses the program, missing privileges.
    pub fn register(algorithm: &Algorithm, name: &str) -> Result<Self, Error> {
        Ok(Self(prepare(algorithm, name)?.register()?))
    }

    /// Registers a controller that reports every ACK, see [`events`](Self::events).
    ///
    /// # Errors
    /// Fails as [`register`](Self::register) does.
    pub fn register_reporting(algorithm: &Algorithm, name: &str) -> Result<Self, Error> {
        let mut program = prepare(algorithm, name)?;
        program.set("every_ack", 1)?;
        Ok(Self(program.register()?))
    }

    /// Registers a controller that stays until it is [unloaded](crate::unload), also without this
    /// process.
    ///
    /// # Errors
    /// Fails as [`register`](Self::register) does.
    pub fn load(algorithm: &Algorithm, name: &str) -> Result<(), Error> {
        prepare(algorithm, name)?.install()
    }

    /// Opens the events of its connections. The kernel keeps the last 16 000 until they are read.
    ///
    /// # Errors
    /// The kernel refuses the ring buffer.
    pub fn events(&self) -> Result<Events, Error> {
        let map = self.0.map("events")?;
        let taken = Rc::new(RefCell::new(Vec::new()));
        let to = Rc::clone(&taken);
        let mut builder = RingBufferBuilder::new();
        let take = move |bytes: &[u8]| {
            to.borrow_mut().extend(Event::read(bytes));
            0
        };
        builder.add(&map, take).map_err(|e| unread(&e))?;
        Ok(Events { ring: builder.build().map_err(|e| unread(&e))?, taken })
    }

    /// Samples the variables of D* until `stop` is set, with the segment size of each connection.
    ///
    /// # Errors
    /// The kernel refuses the ring buffer.
    pub fn run_sampled(&self, stop: &AtomicBool, mss: &[u32], inner: &mut Inner) -> Result<Report, Error> {
        let events = self.events()?;
        loop {
            let is_last = stop.load(Ordering::Relaxed);
            // Reno has no RTT: its only variable, `ssthresh`, is in `TCP_INFO`.
            for event in events.take()?.iter().filter(|event| event.min_rtt_us > 0) {
                let Some(mss) = mss.get(event.flow as usize) else { continue };
                let now = Time(event.time_us.saturating_mul(1000));
                inner.sample(event.flow, now, |put| event.trace(*mss, put));
            }
            if is_last {
                return Ok(Report { lost_records: self.lost_events(), ..Report::default() });
            }
            thread::sleep(INTERVAL);
        }
    }

    /// Returns the number of events that found the ring buffer full.
    pub fn lost_events(&self) -> u64 {
        self.0.counter(LOST_EVENTS)
    }
}

impl Events {
    /// Takes the events since the last call.
    ///
    /// # Errors
    /// The kernel refuses to read.
    pub fn take(&self) -> Result<Vec<Event>, Error> {
        self.ring.consume().map_err(|e| unread(&e))?;
        Ok(self.taken.take())
    }
}

fn unread(error: &libbpf_rs::Error) -> Error {
    Error::from_library("read the events of the kernel", error)
}

/// Opens the program of a controller, with its constants.
fn prepare(algorithm: &Algorithm, name: &str) -> Result<Program, Error> {
    let constants = constants(algorithm).map_err(Error::new)?;
    let object = if constants.program == "dstar" { DSTAR } else { RENO };
    let mut program = Program::open(object, name)?;
    for (constant, value) in constants.values {
        program.set(&format!("params.{constant}"), value)?;
    }
    Ok(program)
}
