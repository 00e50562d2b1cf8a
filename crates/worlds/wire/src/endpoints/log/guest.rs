//! The record of a guest's flow: the counters of its ends, and queueing and drops from the packet
//! log.

use scenario::{FlowConfig, FlowSample, FlowSampler, FlowSeries, Record};
use units::{Duration, Time};

use crate::endpoints::guest_socket::GuestResult;
use crate::log::{Packet, Ticks, UDP, queue_time};

/// Adds queueing and drops from the packet log to a guest's record. Returns the error of its
/// one-way delays.
pub(crate) fn read(
    result: &mut GuestResult,
    flow: &FlowConfig,
    packets: &[&Packet],
    port: u16,
    end: Time,
) -> Option<Duration> {
    let until = flow.stop.unwrap_or(end).min(end);
    let mut bare = result.bare.iter().copied();
    let record = &mut result.record;
    for packet in packets.iter().filter(|packet| belongs(packet, port)) {
        match packet.row.from {
            0 => read_sender(packet, bare.next().unwrap_or(false), until, record),
            _ if packet.sent <= until => {
                record.on_feedback_sent(packet.sent);
                if packet.dropped && packet.end <= until {
                    record.on_feedback_dropped(packet.sent);
                }
            }
            _ => {}
        }
    }
    owd_error(result, packets, port)
}

/// Returns the median difference between the delays that the ends measured and those in the log.
///
/// It contains system calls, the path between socket and device at both ends, and any disagreement
/// between time stamps and log. The nth arrival in the log is matched with the nth arrival at the
/// receiver.
fn owd_error(result: &GuestResult, packets: &[&Packet], port: u16) -> Option<Duration> {
    let came = |packet: &&Packet| packet.row.from == 0 && !packet.dropped && packet.end < Time::NEVER;
    let mine = packets.iter().copied().filter(|packet| belongs(packet, port));
    let mut link: Vec<&Packet> = mine.filter(came).collect();
    link.sort_by_key(|packet| packet.end);
    let error = |(packet, (_, measured)): (&&Packet, &(Time, Duration))| {
        measured.0.abs_diff((packet.end - packet.sent).0)
    };
    let mut errors: Vec<u64> = link.iter().zip(&result.arrivals).map(error).collect();
    errors.sort_unstable();
    errors.get(errors.len() / 2).map(|error| Duration(*error))
}

fn read_sender(packet: &Packet, bare: bool, until: Time, record: &mut Record) {
    if packet.sent > until {
        return;
    }
    if let Some(departed) = packet.departed {
        record.on_queued(packet.sent, 0, queue_time(departed - packet.sent));
    }
    match packet.dropped && packet.end <= until {
        true if bare => record.on_ack_dropped(packet.sent),
        true => record.on_dropped(packet.sent),
        false => {}
    }
}

fn belongs(packet: &Packet, port: u16) -> bool {
    packet.row.segment.is_some_and(|segment| {
        let own = if packet.row.from == 0 { segment.destination } else { segment.source };
        segment.protocol == UDP && own == port
    })
}

/// Returns the time series.
pub(crate) fn series(result: &GuestResult, &Ticks { interval, ref times }: &Ticks) -> FlowSeries {
    let ticks = times.len();
    let mut sampler = FlowSampler::default();
    for (sample, before) in result.samples.iter().take(ticks).zip(0..) {
        let trace = |put: &mut dyn FnMut(&'static str, f64)| {
            sample.inner.iter().for_each(|(name, value)| put(name, *value));
        };
        sampler.sample(before, interval, &sample.flow, trace);
    }
    // The run can end between the last tick and its sample.
    let delivered = result.samples.last().map_or(0, |last| last.flow.delivered);
    for before in result.samples.len()..ticks {
        sampler.sample(before as u32, interval, &FlowSample { delivered, ..FlowSample::default() }, |_| {});
    }
    sampler.take(ticks as u32)
}
