//! Turns the emulator's measurements into the outcome of a scenario.
//!
//! ```text
//! fates.rs      packet log: queue, drops
//! traffic.rs    a flow's datagrams, decrypted, in the emulator's time
//! record.rs     the same as a record of the scenario, in the run's time; time series
//! ```
//!
//! The run's time begins with the first data of its first flow, because handshakes on the wire end
//! before a run begins. For a flow that declares `handshake`, it begins with the client's first
//! packet.

mod fates;
mod record;
mod traffic;

use crate::emu::Side;
use crate::emu::capture::row::Row;
use crate::log::{FlowLog, Log, Ticks};
use link::Counters;
use scenario::{FlowConfig, Outcome, Scenario, Series};
use units::{Duration, Time};

pub(crate) use self::fates::Fates;
use self::record::Span;
pub(crate) use self::traffic::{Traffic, TrafficReader};

/// Measurements of a flow's traffic that are not in its record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// Time from the client's first packet to its first 1-RTT packet. By then the client has the
    /// server's Finished message.
    pub handshake: Option<Duration>,
    /// Time from the client's first packet to the arrival of the last byte of the response.
    pub completion: Option<Duration>,
    /// Number of decrypted packets. A packet captured at both ends counts twice.
    pub opened: u64,
    /// Number of packets that could not be decrypted.
    pub unopened: u64,
    /// Number of the cipher suite (RFC 8446 appendix B.4), or `None` if no ServerHello was
    /// captured.
    pub suite: Option<u16>,
}

impl Reading {
    pub(crate) fn from_traffic(traffic: &Traffic) -> Self {
        let since = |end: Option<Time>| Some(end? - traffic.first?);
        Self {
            handshake: since(traffic.connected),
            completion: since(traffic.complete),
            opened: traffic.opened,
            unopened: traffic.unopened,
            suite: traffic.suite,
        }
    }
}

/// Returns the start of a flow in the emulator's time.
fn begin(config: &FlowConfig, traffic: &Traffic) -> Option<Time> {
    if config.handshake { traffic.first } else { traffic.first_data }
}

/// Returns the outcome of a run. `links` holds the counters of the client's and of the server's
/// link.
pub(crate) fn outcome(
    scenario: &Scenario,
    rows: &[Row],
    links: [Counters; 2],
    traffic: &[Traffic],
) -> Outcome {
    let pairs = || scenario.flows.iter().zip(traffic);
    let earliest =
        pairs().filter_map(|(config, traffic)| Some((config.start, begin(config, traffic)?))).min();
    let origin = earliest.map_or(Time::ZERO, |(start, begun)| {
        begun.max(Time::ZERO + (start - Time::ZERO)) - (start - Time::ZERO)
    });
    let limit = Time::ZERO + scenario.duration;
    let done =
        pairs().map(|(config, traffic)| config.transfer.and(traffic.complete)).collect::<Option<Vec<_>>>();
    let last = done.and_then(|all| all.into_iter().max()).map(|at| Time((at - origin).0));
    let span = Span { origin, end: last.unwrap_or(limit).min(limit) };
    let flows: Vec<FlowLog> = pairs()
        .map(|(config, traffic)| record::count(scenario, config, traffic, span.of_flow(config)))
        .collect();
    let log = Log::read(rows, Side::Server, span.origin, span.end);
    let series = scenario.series.map_or_else(Series::default, |interval| {
        let ticks = Ticks::new(interval, span.end);
        let of_flow = |(flow, (config, traffic)): (&FlowLog, (&FlowConfig, &Traffic))| {
            record::series(&ticks, flow, traffic, span.of_flow(config))
        };
        ticks.series(&log, flows.iter().zip(pairs()).map(of_flow).collect())
    });
    let records = flows.into_iter().map(|flow| flow.record).collect();
    Outcome { events: rows.len() as u64, ..log.outcome(scenario, links, series, records) }
}

#[cfg(test)]
mod tests;
