//! Scenarios for the tests: one bottleneck of 10 Mbit/s and 50 ms unless changed.
#![allow(dead_code, unreachable_pub, reason = "shared by test binaries, each of which uses only a part")]

use congestion::Algorithm;
use link::{Limit, LinkConfig};
use scenario::{FlowConfig, Outcome, Scenario, Transport, Watch};
use units::{Duration, Rate};

pub const QUIC: Transport = Transport::Quic { datagram: 1252, header: 37, overhead: 42 };
pub const TCP: Transport = Transport::Tcp { mss: 1448, overhead: 52 };
pub const RTT: Duration = Duration::from_millis(50);
pub const RATE: Rate = Rate(10_000_000);

/// Parses an algorithm as written in an experiment file: name and parameters.
pub fn algorithm(toml: &str) -> Algorithm {
    let mut table: toml::Table = toml.parse().unwrap();
    let name = table.remove("name").unwrap();
    let registry = congestion::Registry::default();
    registry.get(name.as_str().unwrap()).unwrap().read(toml::Value::Table(table)).unwrap()
}

pub fn quic_flow(toml: &str) -> FlowConfig {
    FlowConfig { group: String::new(), ..FlowConfig::new(toml, algorithm(toml), QUIC, RTT) }
}

pub fn tcp_flow(toml: &str) -> FlowConfig {
    FlowConfig { group: String::new(), ..FlowConfig::new(toml, algorithm(toml), TCP, RTT) }
}

/// Returns a scenario with a buffer of `bdp` bandwidth-delay products.
pub fn scenario(bdp: f64, seconds: u64, flows: Vec<FlowConfig>) -> Scenario {
    let limit = RATE.bytes_in(RTT.mul_f64(bdp));
    let link =
        LinkConfig { limit: Limit::Bytes(units::Bytes(limit)), delay: RTT / 2, ..LinkConfig::plain(RATE) };
    Scenario::new(link, flows, Duration::from_secs(seconds))
}

pub fn run(scenario: &Scenario) -> Outcome {
    ackclock_sim::run(scenario, &Watch::default()).unwrap()
}

/// Returns the goodput of flow `i`, in Mbit/s.
pub fn goodput(outcome: &Outcome, i: usize) -> f64 {
    let flow = &outcome.flows[i];
    flow.totals.delivered as f64 * 8e-6 / flow.measured(outcome.end).as_secs_f64()
}
