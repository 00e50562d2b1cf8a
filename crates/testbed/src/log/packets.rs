//! The emulator's packet log in the run's time.

use emu::capture::row::{End, Row};
use link::{Backlog, QueueTime};
use units::{Duration, Time};

pub(crate) const TCP: u8 = 6;
pub(crate) const UDP: u8 = 17;

/// A packet in the run's time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet {
    pub(crate) row: Row,
    pub(crate) sent: Time,
    pub(crate) departed: Option<Time>,
    /// When it was handed over or dropped.
    pub(crate) end: Time,
    pub(crate) dropped: bool,
}

/// Those of the run itself: neither handshakes before it nor farewells behind it.
pub(crate) fn run_packets(rows: &[Row], origin: Time, end: Time) -> Vec<Packet> {
    let of_run = |time: Time| Time((time - origin).0);
    let within = rows.iter().filter(|row| row.arrival >= origin && of_run(row.arrival) <= end);
    within
        .map(|row| {
            let (at, dropped) = match row.end {
                End::Delivered { at, .. } => (at, false),
                End::Held { .. } => (Time::NEVER, false),
                End::Dropped { at, .. } | End::Overflow { at } => (at, true),
            };
            Packet {
                row: *row,
                sent: of_run(row.arrival),
                departed: row.departure.map(of_run),
                end: if at == Time::NEVER { at } else { of_run(at) },
                dropped,
            }
        })
        .collect()
}

/// What left the bottleneck during the run.
pub(crate) fn delivered(packets: &[Packet], end: Time) -> Backlog {
    let gone = packets.iter().filter(|p| p.row.from == 0 && !p.dropped && p.end <= end);
    gone.fold(Backlog::default(), |sum, packet| Backlog {
        packets: sum.packets + 1,
        bytes: sum.bytes + u64::from(packet.row.size),
    })
}

/// The log does not say when a transmission began.
pub(crate) fn stay(total: Duration) -> QueueTime {
    QueueTime { wait: Duration::ZERO, total }
}
