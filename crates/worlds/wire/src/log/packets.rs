//! The packets of a run, from the emulator's packet log.

use crate::emu::Side;
use crate::emu::capture::row::{End, Row};
use link::{Backlog, Counters, QueueTime};
use scenario::{Outcome, Record, Scenario, Seconds, Series};
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
    /// Time from which the link no longer holds it: its departure or drop, or the end of the log.
    pub(crate) released: Time,
}

impl Packet {
    fn new(row: &Row, origin: Time) -> Self {
        let run_time = |time: Time| Time((time - origin).0);
        let dropped = row.dropped().map(run_time);
        let departed = row.departure.map(run_time);
        let end = match row.end {
            End::Held { .. } => Time::NEVER,
            end => run_time(end.at()),
        };
        let released = dropped.or(departed).unwrap_or_else(|| run_time(row.end.at()));
        let dropped = dropped.is_some();
        Self { row: *row, sent: run_time(row.arrival), departed, end, dropped, released }
    }
}

/// The packets of a run.
#[derive(Debug)]
pub(crate) struct Log {
    /// Packets sent during the run, in this order, without earlier handshakes and later closing
    /// packets.
    pub(crate) packets: Vec<Packet>,
    /// End that sends the data: its link is the bottleneck.
    sender: Side,
    /// End of the run.
    pub(crate) end: Time,
}

impl Log {
    /// Reads the rows of a run that began at `origin` on the emulator's clock.
    pub(crate) fn read(rows: &[Row], sender: Side, origin: Time, end: Time) -> Self {
        let within =
            rows.iter().filter(|row| row.arrival >= origin && row.arrival - origin <= end - Time::ZERO);
        let mut packets: Vec<Packet> = within.map(|row| Packet::new(row, origin)).collect();
        packets.sort_by_key(|packet| packet.sent);
        Self { packets, sender, end }
    }

    /// Returns the packets of the bottleneck.
    pub(crate) fn bottleneck(&self) -> impl Iterator<Item = &Packet> {
        self.packets.iter().filter(|packet| packet.row.from == self.sender as usize)
    }

    /// Returns the bytes that left a side's link inside the measuring window.
    fn carried(&self, scenario: &Scenario, from: usize) -> u64 {
        let window = scenario.window();
        let inside = |departed| window.holds(departed) && departed <= self.end;
        let sent = self.packets.iter().filter(|packet| packet.row.from == from);
        let gone = sent.filter(|packet| !packet.dropped && packet.departed.is_some_and(inside));
        gone.map(|packet| u64::from(packet.row.size)).sum()
    }

    /// Returns the packets and bytes delivered through the bottleneck during the run.
    fn delivered(&self) -> Backlog {
        let gone = self.bottleneck().filter(|packet| !packet.dropped && packet.end <= self.end);
        gone.fold(Backlog::default(), |sum, packet| Backlog {
            packets: sum.packets + 1,
            bytes: sum.bytes + u64::from(packet.row.size),
        })
    }

    /// Returns the outcome of a run without probe and UDP sources. `counters` are those of the
    /// client's and of the server's link.
    pub(crate) fn outcome(
        &self,
        scenario: &Scenario,
        counters: [Counters; 2],
        series: Series,
        flows: Vec<Record>,
    ) -> Outcome {
        let way = self.sender as usize;
        let back = (!scenario.reverse.is_empty()).then_some(1 - way);
        Outcome {
            seconds: Seconds::from_series(scenario.series, &series),
            series,
            flows,
            probe: None,
            udp: Vec::new(),
            link: Counters { delivered: self.delivered(), ..counters[way] },
            beyond: Vec::new(),
            reverse: back.iter().map(|back| counters[*back]).collect(),
            carried: [way].into_iter().chain(back).map(|from| self.carried(scenario, from)).collect(),
            windows: Vec::new(),
            end: self.end,
            events: self.packets.len() as u64,
        }
    }
}

/// Returns a queueing time. The waiting part is zero, because the log lacks the start of
/// transmission.
pub(crate) fn queue_time(total: Duration) -> QueueTime {
    QueueTime { wait: Duration::ZERO, total }
}
