//! A row of the packet log.
//!
//! ```text
//! from         client or server: who sent it
//! arrival_ns   when the emulator read it; times count from the start of the run
//! size_bytes   on the wire, with the declared overhead
//! flow         hash of addresses, protocol and ports
//! departure_ns when its last bit left the queue
//! queue_delay_ns   departure - arrival: waiting and transmission, no propagation
//! fate         delivered, queue-full, aqm, random, outage, blackhole, listed, too-large, damaged (delivered with a wrong bit), memory, held
//!              when the run ended; a copy that the link has made has no row
//! end_ns       when it was handed over or dropped, or the run ended
//! late_ns      how much after it was due
//! marked       1 if the link set CE
//! ```

use std::io::{self, Write};

use link::DropReason;
use units::{Duration, Time};

use crate::emu::relay::packet::Segment;

/// Names of the columns.
pub(super) const HEADER: &str =
    "from,arrival_ns,size_bytes,flow,departure_ns,queue_delay_ns,fate,end_ns,late_ns,marked";

/// Fate of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The packet was delivered.
    Delivered {
        /// Time.
        at: Time,
        /// Lateness: time since it was due.
        late: Duration,
    },
    /// The link dropped it.
    Dropped {
        /// Time.
        at: Time,
        /// Reason.
        reason: DropReason,
    },
    /// The packet was in the queue or on the link when the run ended.
    Held {
        /// End of the run.
        at: Time,
    },
    /// The packet was dropped because the emulator's memory was full.
    Overflow {
        /// Time.
        at: Time,
    },
}

impl End {
    /// Returns its time.
    pub(crate) fn at(self) -> Time {
        match self {
            Self::Delivered { at, .. }
            | Self::Dropped { at, .. }
            | Self::Held { at }
            | Self::Overflow { at } => at,
        }
    }
}

/// A packet in the log. Times count from the start of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// Sender: 0 is the client, 1 the server.
    pub from: usize,
    /// Time at which the emulator read it.
    pub arrival: Time,
    /// Bytes on the wire, with the declared overhead.
    pub size: u32,
    /// Hash of addresses, protocol and ports.
    pub flow: u32,
    /// Time at which its last bit left the queue.
    pub departure: Option<Time>,
    /// Whether the link set CE.
    pub marked: bool,
    /// Fate.
    pub end: End,
    /// Transport header, if it is TCP or UDP.
    pub segment: Option<Segment>,
}

impl Row {
    /// Returns the time of the drop, for a dropped packet. A packet delivered with a bit error
    /// counts as dropped, because the receiver's kernel discards it.
    pub(crate) fn dropped(&self) -> Option<Time> {
        matches!(self.end, End::Dropped { .. } | End::Overflow { .. }).then_some(self.end.at())
    }

    /// Reports whether it was delivered with a bit error.
    pub(crate) fn is_damaged(&self) -> bool {
        matches!(self.end, End::Dropped { reason: DropReason::Damaged, .. })
    }

    pub(super) fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let (fate, end, late) = match self.end {
            End::Delivered { at, late } => ("delivered", at, late.0.to_string()),
            End::Dropped { at, reason } => (word(reason), at, String::new()),
            End::Held { at } => ("held", at, String::new()),
            End::Overflow { at } => ("memory", at, String::new()),
        };
        let from = ["client", "server"][self.from.min(1)];
        write!(out, "{from},{},{},{:08x},", self.arrival.0, self.size, self.flow)?;
        match self.departure {
            Some(at) => write!(out, "{},{},", at.0, (at - self.arrival).0)?,
            None => write!(out, ",,")?,
        }
        writeln!(out, "{fate},{},{late},{}", end.0, u8::from(self.marked))
    }
}

/// A packet as an interface saw it.
#[derive(Debug)]
pub(crate) struct Frame {
    pub(crate) interface: usize,
    pub(crate) at: Time,
    pub(crate) bytes: Vec<u8>,
}

/// Returns the word for a reason in the packet log.
fn word(reason: DropReason) -> &'static str {
    match reason {
        DropReason::QueueFull => "queue-full",
        DropReason::Random => "random",
        DropReason::Outage => "outage",
        DropReason::Aqm => "aqm",
        DropReason::Blackhole => "blackhole",
        DropReason::Listed => "listed",
        DropReason::TooLarge => "too-large",
        DropReason::Damaged => "damaged",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_a_field_for_every_name() {
        let row = Row {
            from: 1,
            arrival: Time(1000),
            size: 1500,
            flow: 0xab,
            departure: Some(Time(3000)),
            marked: true,
            end: End::Delivered { at: Time(9000), late: Duration(5) },
            segment: None,
        };
        let line = |row: Row| {
            let mut out = Vec::new();
            row.write(&mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        assert_eq!(line(row), "server,1000,1500,000000ab,3000,2000,delivered,9000,5,1\n");
        let full = End::Dropped { at: Time(1000), reason: DropReason::QueueFull };
        let dropped = line(Row { from: 0, departure: None, marked: false, end: full, ..row });
        assert_eq!(dropped, "client,1000,1500,000000ab,,,queue-full,1000,,0\n");
        assert_eq!(HEADER.split(',').count(), dropped.split(',').count());
    }
}
