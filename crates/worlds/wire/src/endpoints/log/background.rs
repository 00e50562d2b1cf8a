//! Records of the ping and of UDP sources, from the packet log.

use scenario::{ProbeRecord, Scenario, UdpRecord, Windowed};
use units::{Duration, Time};

use crate::endpoints::feasibility::PING_PORT;
use crate::log::{Packet, UDP, queue_time};

/// Returns the record of the ping. Packet counts come from the log, round-trip times from the ping.
pub(crate) fn ping(
    scenario: &Scenario,
    packets: &[Packet],
    pings: &[(Time, Duration)],
    end: Time,
) -> ProbeRecord {
    let mut record: Windowed<ProbeRecord> = scenario.windowed();
    let mine = |p: &&Packet| p.row.segment.is_some_and(|s| s.protocol == UDP && s.source == PING_PORT);
    for packet in packets.iter().filter(mine) {
        if packet.row.from == 0 {
            record.count(packet.sent, |ping| ping.sent += 1);
        }
        if packet.dropped && packet.end <= end {
            record.count(packet.sent, |ping| ping.dropped += 1);
        }
    }
    for (at, rtt) in pings.iter().filter(|(at, _)| *at <= end) {
        record.count(*at, |ping| ping.rtt.add(*rtt));
    }
    record.into_counts().0
}

/// Record and arrivals of a UDP source.
#[derive(Debug)]
pub(crate) struct UdpLog {
    pub(crate) record: UdpRecord,
    pub(crate) arrivals: Vec<(Time, u64)>,
}

impl UdpLog {
    pub(crate) fn read(scenario: &Scenario, packets: &[Packet], port: u16, end: Time) -> Self {
        let mut record: Windowed<UdpRecord> = scenario.windowed();
        let mut arrivals = Vec::new();
        let is_mine = |p: &&Packet| {
            let of_source = |s: crate::emu::Segment| s.protocol == UDP && s.source == port;
            p.row.from == 0 && p.row.segment.is_some_and(of_source)
        };
        for packet in packets.iter().filter(is_mine) {
            let bytes = u64::from(packet.row.size);
            record.count(packet.sent, |udp| udp.sent += 1);
            if let Some(departed) = packet.departed {
                record.count(packet.sent, |udp| udp.queue_delay.add(0, queue_time(departed - packet.sent)));
            }
            if packet.end > end {
                continue;
            }
            match packet.dropped {
                true => record.count(packet.sent, |udp| udp.dropped += 1),
                false => {
                    record.count(packet.end, |udp| udp.delivered += bytes);
                    arrivals.push((packet.end, bytes));
                }
            }
        }
        Self { record: record.into_counts().0, arrivals }
    }
}
