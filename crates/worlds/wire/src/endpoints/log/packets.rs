//! The packets of the run, from the emulator's packet log.

use crate::emu::capture::row::{End, Row};
use link::{Backlog, QueueTime};
use units::{Duration, Time};

pub(crate) const TCP: u8 = 6;
pub(crate) const UDP: u8 = 17;

/// A packet with its times on the run's clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet {
    pub(crate) row: Row,
    pub(crate) sent: Time,
    pub(crate) departed: Option<Time>,
    /// Time of its delivery or drop. [`Time::NEVER`] if it was still in the emulator.
    pub(crate) end: Time,
    pub(crate) dropped: bool,
}

/// Returns the packets sent during the run, without earlier handshakes and later closing packets.
pub(crate) fn run_packets(rows: &[Row], origin: Time, end: Time) -> Vec<Packet> {
    let run_time = |time: Time| Time((time - origin).0);
    let within = rows.iter().filter(|row| row.arrival >= origin && run_time(row.arrival) <= end);
    within
        .map(|row| {
            let (at, dropped) = match row.end {
                End::Delivered { at, .. } => (at, false),
                End::Held { .. } => (Time::NEVER, false),
                End::Dropped { at, .. } | End::Overflow { at } => (at, true),
            };
            Packet {
                row: *row,
                sent: run_time(row.arrival),
                departed: row.departure.map(run_time),
                end: if at == Time::NEVER { at } else { run_time(at) },
                dropped,
            }
        })
        .collect()
}

/// Returns the packets and bytes delivered through the bottleneck during the run.
pub(crate) fn delivered(packets: &[Packet], end: Time) -> Backlog {
    let gone = packets.iter().filter(|p| p.row.from == 0 && !p.dropped && p.end <= end);
    gone.fold(Backlog::default(), |sum, packet| Backlog {
        packets: sum.packets + 1,
        bytes: sum.bytes + u64::from(packet.row.size),
    })
}

/// Returns a queueing time. The waiting part is zero, because the log lacks the start of
/// transmission.
pub(crate) fn queue_time(total: Duration) -> QueueTime {
    QueueTime { wait: Duration::ZERO, total }
}
