//! Joins the emulator's packet log with the capture: finds out what happened to each datagram.

use std::collections::BTreeMap;

use crate::emu::capture::row::{End, Row};
use link::DropReason;
use units::Time;

use crate::processes::capture::Captured;

/// IP protocol number of UDP.
const UDP: u8 = 17;

/// Result of the emulator for one packet. Times count from the emulator's start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fate {
    /// Size on the wire with the declared overhead, in bytes.
    pub(crate) wire: u32,
    /// Time at which its last bit left the queue.
    pub(crate) departed: Option<Time>,
    /// Time of the drop, for a dropped packet.
    pub(crate) dropped: Option<Time>,
    /// True for a packet delivered with a bit error. It counts as dropped, because the receiver's
    /// kernel discards it.
    pub(crate) damaged: bool,
}

/// Fates by sender, arrival time at the emulator and the sender's port. One sender sends at most
/// one packet per nanosecond.
#[derive(Debug, Default)]
pub(crate) struct Fates(BTreeMap<(usize, Time, u16), Fate>);

impl Fates {
    pub(crate) fn from_rows(rows: &[Row]) -> Self {
        let udp = rows.iter().filter_map(|row| Some((row, row.segment.filter(|s| s.protocol == UDP)?)));
        let fate = |row: &Row| Fate {
            wire: row.size,
            departed: row.departure,
            dropped: match row.end {
                End::Dropped { at, .. } | End::Overflow { at } => Some(at),
                End::Delivered { .. } | End::Held { .. } => None,
            },
            damaged: matches!(row.end, End::Dropped { reason: DropReason::Damaged, .. }),
        };
        Self(udp.map(|(row, segment)| ((row.from, row.arrival, segment.source), fate(row))).collect())
    }

    /// Removes and returns the fate of a datagram captured at its sender.
    pub(crate) fn take(&mut self, captured: &Captured) -> Option<Fate> {
        self.0.remove(&(captured.from, captured.at, captured.ports[0]))
    }

    /// Returns the arrival time of the first packet of any protocol.
    pub(crate) fn begin(rows: &[Row]) -> Time {
        rows.iter().map(|row| row.arrival).min().unwrap_or(Time::ZERO)
    }
}
