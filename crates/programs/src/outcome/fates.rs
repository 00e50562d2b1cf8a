//! The emulator's packet log beside the capture: what became of each datagram that the capture saw leaving.

use std::collections::BTreeMap;

use emu::capture::row::{End, Row};
use link::DropReason;
use units::Time;

use crate::capture::Sighting;

/// UDP's number.
const UDP: u8 = 17;

/// What the emulator did with a packet. Times count from its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fate {
    /// Bytes on the wire, with the declared overhead.
    pub(crate) wire: u32,
    /// When its last bit left the queue.
    pub(crate) departed: Option<Time>,
    /// When it was dropped, if it was.
    pub(crate) dropped: Option<Time>,
    /// It was delivered with a wrong bit, and counts as dropped: the receiver's kernel throws it away.
    pub(crate) damaged: bool,
}

/// By sender, arrival at the emulator and the sender's port: one sender has one packet at a nanosecond.
#[derive(Debug, Default)]
pub(crate) struct Fates(BTreeMap<(usize, Time, u16), Fate>);

impl Fates {
    pub(crate) fn of(rows: &[Row]) -> Self {
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

    /// Of a datagram that was seen leaving.
    pub(crate) fn take(&mut self, sighting: &Sighting) -> Option<Fate> {
        self.0.remove(&(sighting.from, sighting.at, sighting.ports[0]))
    }

    /// When the first packet of the log was seen, of whatever kind.
    pub(crate) fn begin(rows: &[Row]) -> Time {
        rows.iter().map(|row| row.arrival).min().unwrap_or(Time::ZERO)
    }
}
