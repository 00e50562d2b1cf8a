//! Writes a flow's packet events as qlog files: one for the sender, one for the receiver.
//!
//! The format is JSON-SEQ (RFC 7464), optionally gzipped, in one of two dialects ([`Dialect`]).
//! `dialect.rs` describes how they differ. The events are the same.
//!
//! The crate `qlog` is not used: 0.16 is the last version that writes 0.3, and all versions store
//! RTTs as `f32`, which cannot resolve nanoseconds above 16 ms. In the tests, versions 0.16 and
//! 0.18 read every event with all its fields.
//!
//! A reader must know this beyond the standard:
//! - `metrics_updated` repeats only changes, except that every RTT sample is written. Standard fields are in ms, bytes and bit/s. The
//!   controller's own variables have the prefix `cc_` and the controller's units (BBR has its own
//!   `min_rtt`, in seconds). The controller's `ssthresh`, if it has one, is the standard field.
//! - `congestion_state_updated` reports `recovery` from every reduction until a packet sent later
//!   is acknowledged (TCP: everything sent before it). Otherwise a controller with named states is
//!   in one of them (`ProbeBW_UP`). The number of the state is `cc_state`, also in recovery. For
//!   other controllers `ssthresh` separates `slow_start` from `congestion_avoidance`. Without
//!   `ssthresh` every state outside recovery is `congestion_avoidance`. An undone reduction is not
//!   reported.
//! - `packet_received` is an ACK with its number in the receiver's file (on the wire: in order of
//!   arrival). The trace does not have its size.
//! - A QUIC range begins at its first packet that was not acknowledged before. A receiver repeats
//!   everything since the last gap, and qvis visits each packet of each range.
//! - TCP packet numbers count transmissions. `acked_ranges` has those that the cumulative ACK
//!   covers for the first time, and `cumulative` is its byte.
//! - A packet of a handshake is an `initial`, for TCP too. The reply has the number of the packet
//!   that it answers.

mod called;
mod dialect;
mod estimate;
mod events;
mod file;
mod format;
mod header;
mod json;
mod meta;
mod metrics;
mod receiver;
mod sender;
mod sent;
#[cfg(test)]
mod tests;
mod text;

use std::io::{self, Write};

use scenario::trace::{Event, Trace};
use units::Time;

use self::called::Called;
pub use self::estimate::{estimate, packets};
pub use self::file::LogFile;
pub use self::format::{Dialect, Format};
use self::json::Json;
use self::meta::VantagePoint;
pub use self::meta::{Meta, Transport};
use self::receiver::Receiver;
use self::sender::Sender;
use self::text::Out;

/// Writes the log of a flow's sender.
///
/// # Errors
/// Fails if `out` cannot be written.
pub fn write(out: impl Write, format: Format, meta: &Meta, trace: &Trace) -> io::Result<()> {
    whole(Log::for_sender(format, meta)?, out, trace)
}

/// Writes the log of a flow's receiver.
///
/// # Errors
/// Fails if `out` cannot be written.
pub fn write_receiver(out: impl Write, format: Format, meta: &Meta, trace: &Trace) -> io::Result<()> {
    whole(Log::for_receiver(format, meta)?, out, trace)
}

fn whole(mut log: Log, mut out: impl Write, trace: &Trace) -> io::Result<()> {
    out.write_all(&log.add(trace)?)?;
    out.write_all(&log.finish()?)?;
    out.flush()
}

/// A log that is written during its run.
#[derive(Debug)]
pub struct Log {
    out: Out,
    end: End,
}

#[derive(Debug)]
enum End {
    Sender(Box<Sender>),
    Receiver(Receiver),
    Called(Box<Called>),
}

impl Log {
    /// Creates the log of a flow's sender.
    ///
    /// # Errors
    /// Fails only on a bug.
    pub fn for_sender(format: Format, meta: &Meta) -> io::Result<Self> {
        Self::sender(format, meta, false)
    }

    /// Creates the log of a sender that others observe, with their remarks.
    ///
    /// # Errors
    /// Fails only on a bug.
    pub fn for_observed(format: Format, meta: &Meta) -> io::Result<Self> {
        Self::sender(format, meta, true)
    }

    fn sender(format: Format, meta: &Meta, remarks: bool) -> io::Result<Self> {
        // The peer that sends the data is the server, as in a download.
        let out = Out::begin(format, meta, &VantagePoint { name: &meta.flow, r#type: "server", remarks })?;
        Ok(Self { out, end: End::Sender(Box::new(Sender::new(meta))) })
    }

    /// Creates the log of a sender of which only the calls of its controller are known.
    ///
    /// # Errors
    /// Fails only on a bug.
    pub fn for_called(format: Format, meta: &Meta) -> io::Result<Self> {
        let Self { out, .. } = Self::sender(format, meta, false)?;
        Ok(Self { out, end: End::Called(Box::new(Called::new(meta))) })
    }

    /// Creates the log of a flow's receiver.
    ///
    /// # Errors
    /// Fails only on a bug.
    pub fn for_receiver(format: Format, meta: &Meta) -> io::Result<Self> {
        let name = format!("{}, receiver", meta.flow);
        let out = Out::begin(format, meta, &VantagePoint { name: &name, r#type: "client", remarks: false })?;
        Ok(Self { out, end: End::Receiver(Receiver::new(meta.transport)) })
    }

    /// Returns the text for the next events.
    ///
    /// # Errors
    /// Fails only on a bug.
    pub fn add(&mut self, trace: &Trace) -> io::Result<Vec<u8>> {
        self.record(trace);
        Ok(self.waiting()?.take())
    }

    /// Returns the pending text.
    fn waiting(&mut self) -> io::Result<&mut Json> {
        self.out.waiting()
    }

    /// Adds events to the pending text.
    fn record(&mut self, events: &[(Time, Event)]) {
        for (time, event) in events {
            match &mut self.end {
                End::Sender(sender) => sender.event(&mut self.out, *time, event),
                End::Receiver(receiver) => receiver.event(&mut self.out, *time, event),
                End::Called(called) => called.event(&mut self.out, *time, event),
            }
        }
    }

    /// Returns the end of the file.
    ///
    /// # Errors
    /// Fails only on a bug.
    pub fn finish(self) -> io::Result<Vec<u8>> {
        self.out.finish()
    }
}
