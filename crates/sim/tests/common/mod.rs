//! Scenarios for the tests: one bottleneck of 10 Mbit/s and 50 ms unless changed.
#![allow(dead_code, unreachable_pub, reason = "shared by test binaries, each of which uses a part of it")]

use congestion::Algorithm;
use kneepoint_sim::{FlowConfig, Outcome, Route, Scenario, Transport, Watch};
use link::{Limit, LinkConfig};
use recovery::{AckConfig, Clock, Config};
use units::{Duration, Rate, Time};

pub const QUIC: Transport = Transport::Quic { datagram: 1252, header: 37, overhead: 42 };
pub const TCP: Transport = Transport::Tcp { mss: 1448, overhead: 52 };
pub const RTT: Duration = Duration::from_millis(50);
pub const RATE: Rate = Rate(10_000_000);

/// As an experiment file writes it: name and parameters.
pub fn algorithm(toml: &str) -> Algorithm {
    let mut table: toml::Table = toml.parse().unwrap();
    let name = table.remove("name").unwrap();
    let registry = congestion::Registry::default();
    registry.get(name.as_str().unwrap()).unwrap().read(toml::Value::Table(table)).unwrap()
}

pub fn quic_flow(toml: &str) -> FlowConfig {
    FlowConfig {
        label: toml.to_owned(),
        group: String::new(),
        algorithm: algorithm(toml),
        transport: QUIC,
        recovery: Config::quic(),
        ack: AckConfig::default(),
        start: Time::ZERO,
        stop: None,
        application: kneepoint_sim::Application::Bulk,
        pauses: Vec::new(),
        transfer: None,
        route: Route::ALL,
        back: None,
        rtt: RTT,
        handshake: false,
        clock: Clock::default(),
    }
}

pub fn tcp_flow(toml: &str) -> FlowConfig {
    let ack = AckConfig { max_ack_delay: Duration::from_millis(40), timestamps: 0, ..AckConfig::default() };
    FlowConfig { transport: TCP, recovery: Config::tcp(), ack, ..quic_flow(toml) }
}

/// `bdp` bandwidth-delay products of buffer.
pub fn scenario(bdp: f64, seconds: u64, flows: Vec<FlowConfig>) -> Scenario {
    let limit = RATE.bytes_in(RTT.mul_f64(bdp));
    let link =
        LinkConfig { limit: Limit::Bytes(units::Bytes(limit)), delay: RTT / 2, ..LinkConfig::plain(RATE) };
    Scenario {
        seed: 1,
        duration: Duration::from_secs(seconds),
        link,
        flows,
        measure: None,
        beyond: Vec::new(),
        link_names: Vec::new(),
        reverse: Vec::new(),
        reverse_names: Vec::new(),
        probe: None,
        udp: Vec::new(),
        windows: Vec::new(),
        series: None,
        trace: false,
    }
}

pub fn run(scenario: &Scenario) -> Outcome {
    kneepoint_sim::run(scenario, &Watch::default()).unwrap()
}

/// Stream bytes per second of flow `i`, Mbit/s.
pub fn goodput(outcome: &Outcome, i: usize) -> f64 {
    let flow = &outcome.flows[i];
    flow.totals.delivered as f64 * 8e-6 / flow.measured(outcome.end).as_secs_f64()
}
