//! A guest's flow: what its ends have counted, and what became of its datagrams on the link, by the packet log.

use scenario::{FlowConfig, FlowSample, FlowSampler, FlowSeries, Record};
use units::{Duration, Time};

use super::packets::{Packet, UDP, stay};
use crate::seat::Left;

/// The record with what only the link knows.
pub(crate) fn read(mut left: Left, flow: &FlowConfig, packets: &[Packet], port: u16, end: Time) -> Left {
    let until = flow.stop.unwrap_or(end).min(end);
    let mut bare = left.bare.iter().copied();
    let record = &mut left.record;
    for packet in packets.iter().filter(|packet| belongs(packet, port)) {
        match packet.row.from {
            0 => of_sender(packet, bare.next().unwrap_or(false), until, record),
            _ if flow.back.is_some() && packet.sent <= until => {
                record.on_feedback_sent(packet.sent);
                if packet.dropped && packet.end <= until {
                    record.on_feedback_dropped(packet.end);
                }
            }
            _ => {}
        }
    }
    left.owd_error = owd_error(&left, packets, port);
    left
}

/// How much longer the delays are that the ends have measured than those of the log: system calls, the way between socket and device at both
/// ends, and how well stamps and log agree. Of each packet that arrived; the nth of the log is the nth that came.
fn owd_error(left: &Left, packets: &[Packet], port: u16) -> Option<Duration> {
    let came = |packet: &&Packet| packet.row.from == 0 && !packet.dropped && packet.end < Time::NEVER;
    let mut link: Vec<&Packet> = packets.iter().filter(|packet| belongs(packet, port)).filter(came).collect();
    link.sort_by_key(|packet| packet.end);
    let error = |(packet, (_, measured)): (&&Packet, &(Time, Duration))| {
        measured.0.abs_diff((packet.end - packet.sent).0)
    };
    let mut errors: Vec<u64> = link.iter().zip(&left.arrivals).map(error).collect();
    errors.sort_unstable();
    errors.get(errors.len() / 2).map(|error| Duration(*error))
}

fn of_sender(packet: &Packet, bare: bool, until: Time, record: &mut Record) {
    if packet.sent > until {
        return;
    }
    if let Some(departed) = packet.departed {
        record.on_queued(packet.sent, 0, stay(departed - packet.sent));
    }
    match packet.dropped && packet.end <= until {
        true if bare => record.on_ack_dropped(packet.end),
        true => record.on_dropped(packet.end),
        false => {}
    }
}

fn belongs(packet: &Packet, port: u16) -> bool {
    packet.row.segment.is_some_and(|segment| {
        let own = if packet.row.from == 0 { segment.destination } else { segment.source };
        segment.protocol == UDP && own == port
    })
}

/// The time series, as long as the run.
pub(crate) fn series(left: &Left, ticks: usize, interval: Duration) -> FlowSeries {
    let mut sampler = FlowSampler::default();
    for (sample, before) in left.samples.iter().take(ticks).zip(0..) {
        let trace = |put: &mut dyn FnMut(&'static str, f64)| {
            sample.inner.iter().for_each(|(name, value)| put(name, *value));
        };
        sampler.sample(before, interval, &sample.flow, trace);
    }
    // The run ended between the last tick and its sample.
    let delivered = left.samples.last().map_or(0, |last| last.flow.delivered);
    for before in left.samples.len()..ticks {
        sampler.sample(before as u32, interval, &FlowSample { delivered, ..FlowSample::default() }, |_| {});
    }
    sampler.take(ticks as u32)
}
