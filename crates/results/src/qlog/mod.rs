//! A flow's packet events as qlog files: the sender's, and beside it the receiver's.
//!
//! JSON-SEQ (RFC 7464), gzipped on request, in one of two dialects ([`Dialect`]): `v03.rs` and `current.rs` say where they
//! stand and what they write differently. The events are the same.
//!
//! Serialised by hand, without the crate `qlog`: 0.16 is the last that writes 0.3, and all keep RTTs as `f32`, which resolves
//! no nanoseconds beyond 16 ms. In the tests its versions 0.16 and 0.18 read what is written, each event with all its fields.
//!
//! What a reader must know beyond the standard:
//! - `metrics_updated` repeats only what changed. Standard fields are in ms, bytes, bit/s; the controller's own
//!   variables have the prefix `cc_` and the controller's units (BBR has its own `min_rtt`, in seconds). Its
//!   `ssthresh`, if it has one, is the standard field.
//! - `congestion_state_updated` tells `recovery` from every reduction until a packet sent later is acknowledged (TCP:
//!   everything sent before it). Outside of it a controller that names its states is in one of them (`ProbeBW_UP`; the number of the
//!   state is `cc_state`, in recovery too). Of the others `slow_start` and `congestion_avoidance` are told apart by `ssthresh`, and
//!   without one every state outside recovery is `congestion_avoidance`. An undone reduction is not told.
//! - `packet_received` is an ACK, numbered as the receiver's file numbers it (on the wire: in order of arrival); the trace does
//!   not have its size. A QUIC range
//!   begins at its first packet that was not acknowledged before, because a receiver repeats everything since the
//!   last gap and qvis visits each packet of each range. For TCP packet numbers count transmissions, `acked_ranges`
//!   has those that the cumulative ACK covers for the first time, and `cumulative` is its byte.
//! - A packet of a handshake is an `initial`, of TCP too; the reply has the number of what it answers.

mod current;
mod estimate;
mod events;
mod file;
mod format;
mod json;
mod meta;
mod metrics;
mod ranges;
mod receiver;
mod sender;
mod sent;
#[cfg(test)]
mod tests;
mod text;
mod v03;

use std::io::{self, Write};

use scenario::trace::{Event, Trace};
use units::Time;

pub use self::estimate::{estimate, packets};
pub use self::file::LogFile;
pub use self::format::{Dialect, Format};
use self::json::Json;
use self::meta::VantagePoint;
pub use self::meta::{Meta, Transport};
use self::receiver::Receiver;
use self::sender::Sender;
use self::text::Out;

/// Writes the log of one flow's sender.
///
/// # Errors
/// What `out` refuses.
pub fn write(out: impl Write, format: Format, meta: &Meta, trace: &Trace) -> io::Result<()> {
    whole(Log::of_sender(format, meta)?, out, trace)
}

/// Writes the log of one flow's receiver.
///
/// # Errors
/// What `out` refuses.
pub fn write_far(out: impl Write, format: Format, meta: &Meta, trace: &Trace) -> io::Result<()> {
    whole(Log::of_receiver(format, meta)?, out, trace)
}

fn whole(mut log: Log, mut out: impl Write, trace: &Trace) -> io::Result<()> {
    out.write_all(&log.add(trace)?)?;
    out.write_all(&log.finish()?)?;
    out.flush()
}

/// A log that is written while its run goes on.
#[derive(Debug)]
pub struct Log {
    out: Out,
    end: End,
}

#[derive(Debug)]
enum End {
    Sender(Box<Sender>),
    Receiver(Receiver),
}

impl Log {
    /// That of a flow's sender.
    ///
    /// # Errors
    /// None that a correct program sees.
    pub fn of_sender(format: Format, meta: &Meta) -> io::Result<Self> {
        // The peer that sends the data, as in a download.
        let out = Out::begin(format, meta, &VantagePoint { name: &meta.flow, r#type: "server" })?;
        Ok(Self { out, end: End::Sender(Box::new(Sender::new(meta))) })
    }

    /// That of its receiver.
    ///
    /// # Errors
    /// None that a correct program sees.
    pub fn of_receiver(format: Format, meta: &Meta) -> io::Result<Self> {
        let name = format!("{}, receiver", meta.flow);
        let out = Out::begin(format, meta, &VantagePoint { name: &name, r#type: "client" })?;
        Ok(Self { out, end: End::Receiver(Receiver::new(meta.transport)) })
    }

    /// What these events, which follow those before, add to the file.
    ///
    /// # Errors
    /// None that a correct program sees.
    pub fn add(&mut self, trace: &Trace) -> io::Result<Vec<u8>> {
        self.record(trace);
        Ok(self.waiting()?.take())
    }

    /// What waits.
    fn waiting(&mut self) -> io::Result<&mut Json> {
        self.out.waiting()
    }

    /// Adds events to what waits.
    fn record(&mut self, events: &[(Time, Event)]) {
        for (time, event) in events {
            match &mut self.end {
                End::Sender(sender) => sender.event(&mut self.out, *time, event),
                End::Receiver(receiver) => receiver.event(&mut self.out, *time, event),
            }
        }
    }

    /// The end of the file.
    ///
    /// # Errors
    /// None that a correct program sees.
    pub fn finish(self) -> io::Result<Vec<u8>> {
        self.out.finish()
    }
}
