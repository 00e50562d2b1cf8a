//! From the emulator's packet log to the records of a scenario.
//!
//! ```text
//! sent        a segment arrives at the emulator; received: it is handed over to the server
//! repeat      a segment of which all bytes were sent before; spurious: one of which the server had all bytes before
//! rtt         per acknowledgement: from the sending of the newest segment that the server had when the acknowledgement left,
//!             to its handing over to the client; with the receiver's delay in it, as in the simulator
//! queue       between a packet's arrival and its departure
//! ```
//!
//! Times are the emulator's: the host's own time between its TCP and the TUN device is not in them. Flows of guests have been counted at their
//! ends; the log adds what became of their packets.

mod beside;
mod flow;
mod guest;
mod logged;
mod packets;
mod series;

use std::collections::BTreeMap;

use emu::Report;
use scenario::{Outcome, Scenario, Seconds};
use units::{Duration, Time};

use self::beside::{UdpLog, ping};
use self::flow::FlowLog;
use self::logged::Logged;
use self::packets::{delivered, run_packets};
use crate::feasibility::{FLOW_PORT, UDP_PORT};
use crate::seat::Left;
use crate::traffic::Seen;

/// The outcome of a run whose time zero was at `origin` of the emulator's, and the error of what its guests measured.
pub(crate) fn outcome(
    scenario: &Scenario,
    report: &Report,
    seen: &mut Seen,
    origin: Time,
) -> (Outcome, Option<Duration>) {
    let end = seen.end.min(Time::ZERO + scenario.duration);
    let mut packets = run_packets(&report.packets, origin, end);
    packets.sort_by_key(|packet| packet.sent);
    let mut guests: BTreeMap<usize, Left> =
        std::mem::take(&mut seen.gone.guests).into_iter().map(|left| (left.flow, left)).collect();
    let mut flows: Vec<Logged> = Vec::new();
    for (number, ((config, samples), port)) in
        scenario.flows.iter().zip(&seen.samples).zip(FLOW_PORT..).enumerate()
    {
        flows.push(match guests.remove(&number) {
            Some(left) => Logged::Guest(guest::read(left, config, &packets, port, end)),
            None => Logged::Kernel(FlowLog::read(scenario, config, samples, &packets, port, end)),
        });
    }
    let udp: Vec<UdpLog> = (UDP_PORT..)
        .take(scenario.udp.len())
        .map(|port| UdpLog::read(scenario, &packets, port, end))
        .collect();
    let mut link = report.last.sides[0].counters;
    link.delivered = delivered(&packets, end);
    let mut reverse = Vec::new();
    reverse.extend((!scenario.reverse.is_empty()).then_some(report.last.sides[1].counters));
    let owd_error = flows.iter().filter_map(Logged::owd_error).max();
    let series = series::of(scenario, seen, &packets, &flows, &udp, end);
    let outcome = Outcome {
        seconds: Seconds::from_series(scenario.series, &series),
        series,
        flows: flows.into_iter().map(Logged::into_record).collect(),
        probe: seen.pings.as_ref().map(|pings| ping(scenario, &packets, pings, end)),
        udp: udp.into_iter().map(|source| source.record).collect(),
        link,
        beyond: Vec::new(),
        reverse,
        windows: Vec::new(),
        end,
        events: packets.len() as u64,
    };
    (outcome, owd_error)
}

#[cfg(test)]
mod tests;
