//! Scenarios of the tests: 10 Mbit/s and 50 ms unless changed.
#![allow(dead_code, unreachable_pub, reason = "each test uses only a part of it")]

use ackclock_stack::{Cipher, Profile};
use congestion::{Algorithm, Registry};
use link::{Limit, LinkConfig};
use scenario::{
    Application, Connection, FlowConfig, MediaConfig, MediaTotals, ObjectsConfig, Outcome, Scenario,
    Transport, Watch,
};
use units::{Bytes, Duration, Rate};

pub fn algorithm(name: &str) -> Algorithm {
    Registry::default().get(name).unwrap().algorithm()
}

/// Returns a bulk flow over QUIC that starts at once.
pub fn flow(name: &str) -> FlowConfig {
    let flow = FlowConfig::new(name, algorithm(name), Transport::default(), Duration::from_millis(50));
    FlowConfig { handshake: true, ..flow }
}

/// Returns a link of 10 Mbit/s, 25 ms and a queue of 42 packets.
pub fn link() -> LinkConfig {
    let (limit, delay) = (Limit::Packets(42), Duration::from_millis(25));
    LinkConfig { limit, delay, ..LinkConfig::plain(Rate(10_000_000)) }
}

/// Returns a flow of objects of 30 to 50 kB, with half a second of silence between them.
pub fn objects(connection: Connection) -> FlowConfig {
    let config = ObjectsConfig {
        smallest: Bytes(30_000),
        largest: Bytes(50_000),
        idle: Duration::from_millis(500),
        begins_on: true,
        connection,
    };
    FlowConfig { application: Application::OnOff(config), ..flow("cubic") }
}

/// Returns a media flow: video of 30 frames per second, and audio.
pub fn media(max: u64) -> FlowConfig {
    let config = MediaConfig {
        fps: 30,
        min_rate: Rate(150_000),
        max_rate: Rate(max),
        start_rate: Rate(150_000),
        reaction: Duration::from_millis(100),
        variation: 0.05,
        key_frames: None,
        audio: Rate(20_000),
        max_queue: Duration::from_secs(1),
    };
    FlowConfig { application: Application::Media(config), ..flow("cubic") }
}

/// Returns a media flow of at least 5 Mbit/s, behind a fixed window that allows less.
pub fn media_that_waits() -> FlowConfig {
    let mut flow = FlowConfig { algorithm: algorithm("fixed-window"), ..media(6_000_000) };
    if let Application::Media(config) = &mut flow.application {
        (config.min_rate, config.start_rate) = (Rate(5_000_000), Rate(5_000_000));
    }
    flow
}

/// Returns a transfer of 10 MB by one flow.
pub fn transfer(name: &str) -> Scenario {
    let flow = FlowConfig { transfer: Some(10_000_000), ..flow(name) };
    Scenario {
        series: Some(Duration::from_millis(20)),
        ..Scenario::new(link(), [flow], Duration::from_secs(60))
    }
}

pub fn on_stack(scenario: &Scenario, cipher: Cipher) -> Outcome {
    let profile = Profile { cipher, ..Profile::default() };
    ackclock_stack::run(scenario, &profile, &Watch::default(), None).unwrap().unwrap()
}

pub fn on_simulator(scenario: &Scenario) -> Outcome {
    sim::run(scenario, &Watch::default()).unwrap()
}

/// Returns the completion time of the first flow, in seconds.
pub fn done(outcome: &Outcome) -> f64 {
    outcome.flows[0].finished.unwrap().as_secs_f64()
}

/// Returns the goodput of a flow, in Mbit/s.
pub fn goodput(outcome: &Outcome, flow: usize) -> f64 {
    let flow = &outcome.flows[flow];
    flow.totals.delivered as f64 * 8e-6 / flow.measured(outcome.end).as_secs_f64()
}

/// Returns the relative difference of two numbers.
pub fn more(one: f64, than: f64) -> f64 {
    one / than - 1.0
}

/// Describes the frames of two runs, the simulator's first.
pub fn frames(there: &MediaTotals, here: &MediaTotals) -> String {
    format!(
        "made {} and {} B, complete {} and {}, delay {:.2} and {:.2} ms, lost {} and {}, skipped {} and {}",
        there.made,
        here.made,
        there.complete,
        here.complete,
        there.delay.mean_ms(),
        here.delay.mean_ms(),
        there.lost,
        here.lost,
        there.skipped,
        here.skipped
    )
}

/// Returns median and 95th percentile of the relative difference between two windows over time.
pub fn difference(a: &Outcome, b: &Outcome) -> (f64, f64) {
    let windows = a.series.flows[0].cwnd.iter().zip(b.series.flows[0].cwnd.iter());
    let mut all: Vec<f64> =
        windows.map(|(a, b)| ((a - b) / b).abs()).filter(|part| part.is_finite()).collect();
    all.sort_by(f64::total_cmp);
    (all[all.len() / 2], all[all.len() * 95 / 100])
}
