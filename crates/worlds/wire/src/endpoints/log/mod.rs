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
mod series;

use std::collections::BTreeMap;

use crate::emu::{Report, Side};
use crate::log::{Log, Packet, Ticks};
use scenario::{Outcome, Scenario};
use units::{Duration, Time};

use self::background::{UdpLog, ping};
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
    let (packets, of_port) = (&log.packets, by_port(&log.packets));
    let mut guests: BTreeMap<usize, GuestResult> =
        std::mem::take(&mut seen.guests.guests).into_iter().map(|result| (result.flow, result)).collect();
    let ticks = scenario.series.map(|interval| Ticks::new(interval, end));
    let (mut records, mut flows, mut owd_error) = (Vec::new(), Vec::new(), None);
    for (number, ((config, samples), port)) in
        scenario.flows.iter().zip(&seen.samples).zip(FLOW_PORT..).enumerate()
    {
        let packets = of_port.get(&port).map_or(&[][..], Vec::as_slice);
        if let Some(mut result) = guests.remove(&number) {
            owd_error = owd_error.max(guest::read(&mut result, config, packets, port, end));
            flows.extend(ticks.as_ref().map(|ticks| guest::series(&result, ticks)));
            records.push(result.record);
        } else {
            let traced = seen.traced.get_mut(number).map(std::mem::take).unwrap_or_default();
            let flow = flow::read(scenario, config, (samples, traced), packets, port, end);
            let state = |tick| series::kernel_state(samples, tick);
            flows.extend(ticks.as_ref().map(|ticks| ticks.flow(&flow, state)));
            records.push(flow.record);
        }
    }
    let udp: Vec<UdpLog> = (UDP_PORT..)
        .take(scenario.udp.len())
        .map(|port| UdpLog::read(scenario, packets, port, end))
        .collect();
    let series =
        ticks.map(|ticks| series::build(&ticks, seen.pings.as_ref(), &log, flows, &udp)).unwrap_or_default();
    let counters = report.last.sides.map(|side| side.counters);
    let outcome = Outcome {
        probe: seen.pings.as_ref().map(|pings| ping(scenario, packets, pings, end)),
        udp: udp.into_iter().map(|source| source.record).collect(),
        ..log.outcome(scenario, counters, series, records)
    };
    (outcome, owd_error)
}

/// Groups packets by the port of the server, so that each flow reads only its own.
fn by_port(packets: &[Packet]) -> BTreeMap<u16, Vec<&Packet>> {
    let mut groups: BTreeMap<u16, Vec<&Packet>> = BTreeMap::new();
    for (packet, segment) in packets.iter().filter_map(|packet| Some((packet, packet.row.segment?))) {
        let port = if packet.row.from == 0 { segment.destination } else { segment.source };
        groups.entry(port).or_default().push(packet);
    }
    groups
}

#[cfg(test)]
mod tests;
