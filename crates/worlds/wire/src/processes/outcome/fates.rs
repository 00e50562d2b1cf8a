//! Joins the emulator's packet log with the capture: finds out what happened to each datagram.

use std::collections::BTreeMap;

use crate::emu::capture::row::Row;
use crate::log::UDP;
use units::Time;

use crate::processes::capture::Captured;

/// Rows of the log by sender, arrival time at the emulator and the sender's port. One sender sends
/// at most one packet per nanosecond.
#[derive(Debug, Default)]
pub(crate) struct Fates(BTreeMap<(usize, Time, u16), Row>);

impl Fates {
    pub(crate) fn from_rows(rows: &[Row]) -> Self {
        let udp = rows.iter().filter_map(|row| Some((row, row.segment.filter(|s| s.protocol == UDP)?)));
        Self(udp.map(|(row, segment)| ((row.from, row.arrival, segment.source), *row)).collect())
    }

    /// Removes and returns the row of a datagram captured at its sender.
    pub(crate) fn take(&mut self, captured: &Captured) -> Option<Row> {
        self.0.remove(&(captured.from, captured.at, captured.ports[0]))
    }

    /// Returns the arrival time of the first packet of any protocol.
    pub(crate) fn begin(rows: &[Row]) -> Time {
        rows.iter().map(|row| row.arrival).min().unwrap_or(Time::ZERO)
    }
}
