//! Converts the emulator's packet log to the records of a scenario.
//!
//! ```text
//! sent        a segment arrives at the emulator
//! received    the emulator delivers it to the server
//! repeat      all bytes of the segment were sent before
//! spurious    the server already had all bytes of the segment
//! rtt         one sample per acknowledgement: from the sending of the newest segment that the server
//!             had when the acknowledgement left, to its delivery to the client. It contains the
//!             receiver's delay, as in the simulator
//! queue       from a packet's arrival to its departure
//! ```
//!
//! All times are the emulator's. They do not contain the host's delay between its TCP and the TUN
//! device. The ends of a guest's flow keep their own counters, and the log adds queueing and drops.

mod background;
mod flow;
mod guest;
mod logged;
mod series;

use std::collections::BTreeMap;

use crate::emu::{Report, Side};
use crate::log::Log;
use scenario::{Outcome, Scenario};
use units::{Duration, Time};

use self::background::{UdpLog, ping};
use self::logged::Logged;
use crate::endpoints::feasibility::UDP_PORT;
use crate::endpoints::guest_socket::GuestResult;
use crate::endpoints::traffic::Seen;
use crate::feasibility::FLOW_PORT;

/// Returns the outcome of a run, and the largest median error of the one-way delays of its guests.
/// `origin` is the start of the run on the emulator's clock.
pub(crate) fn outcome(
    scenario: &Scenario,
    report: &Report,
    seen: &mut Seen,
    origin: Time,
) -> (Outcome, Option<Duration>) {
    let end = seen.end.min(Time::ZERO + scenario.duration);
    let log = Log::read(&report.packets, Side::Client, origin, end);
    let packets = &log.packets;
    let mut guests: BTreeMap<usize, GuestResult> =
        std::mem::take(&mut seen.guests.guests).into_iter().map(|result| (result.flow, result)).collect();
    let mut flows: Vec<Logged> = Vec::new();
    for (number, ((config, samples), port)) in
        scenario.flows.iter().zip(&seen.samples).zip(FLOW_PORT..).enumerate()
    {
        flows.push(match guests.remove(&number) {
            Some(result) => Logged::Guest(guest::read(result, config, packets, port, end)),
            None => Logged::Kernel(flow::read(scenario, config, samples, packets, port, end)),
        });
    }
    let udp: Vec<UdpLog> = (UDP_PORT..)
        .take(scenario.udp.len())
        .map(|port| UdpLog::read(scenario, packets, port, end))
        .collect();
    let owd_error = flows.iter().filter_map(Logged::owd_error).max();
    let series = series::build(scenario, seen, &log, &flows, &udp);
    let counters = report.last.sides.map(|side| side.counters);
    let records = flows.into_iter().map(Logged::into_record).collect();
    let outcome = Outcome {
        probe: seen.pings.as_ref().map(|pings| ping(scenario, packets, pings, end)),
        udp: udp.into_iter().map(|source| source.record).collect(),
        ..log.outcome(scenario, counters, series, records)
    };
    (outcome, owd_error)
}

#[cfg(test)]
mod tests;
