//! Prediction, fluid and packets: where the loop of dccc is stable, and where it rests.

use congestion::dccc::Params;
use congestion::{Algorithm, Duration, Rate, Time};
use kneepoint::stability::fluid::{self, spread};
use kneepoint::stability::margins::Margins;
use kneepoint::stability::open_loop::OpenLoop;
use path::LinkConfig;
use recovery::{AckConfig, Clock, Config};
use sim::{FlowConfig, Route, Scenario, Series, Transport, Watch};

const BASE: Duration = Duration::from_millis(50);
const SECONDS: u64 = 300;

/// A flow that begins near its rest: growth from 100 kbit/s would take minutes.
fn params(gain: f64, rate: Rate) -> Params {
    Params { gain, initial_rate: Rate(rate.0 * 9 / 10), ..Params::default() }
}

/// The flow alone on a link of this rate. Packets of 125 bytes, all of which the window counts, paced one by one and
/// acknowledged one by one: as near to a fluid as packets come.
fn packets(params: Params, rate: Rate, datagram: u32) -> Series {
    let mut recovery = Config::quic();
    recovery.pacing.burst = 1;
    let flow = FlowConfig {
        label: "dccc".to_owned(),
        group: "dccc".to_owned(),
        algorithm: Algorithm::Dccc(params),
        transport: Transport::Quic { datagram, header: 25, overhead: 0 },
        recovery,
        ack: AckConfig { ack_every: 1, ..AckConfig::default() },
        start: Time::ZERO,
        stop: None,
        application: sim::Application::Bulk,
        pauses: Vec::new(),
        transfer: None,
        route: Route::ALL,
        rtt: BASE,
        clock: Clock::default(),
    };
    let scenario = Scenario {
        seed: 1,
        duration: Duration::from_secs(SECONDS),
        link: LinkConfig { delay: BASE / 2, ..LinkConfig::plain(rate) },
        buffer: None,
        flows: vec![flow],
        beyond: Vec::new(),
        link_names: Vec::new(),
        probe: None,
        udp: Vec::new(),
        measure: None,
        series: Some(Duration::from_millis(10)),
        trace: false,
    };
    sim::run(&scenario, &Watch::default()).unwrap().series
}

/// Mean and standard deviation of the queue's delay, seconds, over the last quarter.
fn queue(series: &Series, rate: Rate) -> (f64, f64) {
    let delays: Vec<f64> = series.backlog.iter().map(|b| b * 8.0 / rate.0 as f64).collect();
    spread(&delays[delays.len() * 3 / 4..])
}

fn largest_gain(rate: Rate, updates: Option<u32>) -> f64 {
    let p = Params::default();
    let price = p.h.0 as f64 / rate.0 as f64;
    let open = OpenLoop { gain: p.gain, slope: p.beta - price, price, links: 1.0, updates };
    Margins::of(&open).largest_gain.unwrap()
}

/// Whether the delay still swings after minutes: by more than 2 % of its mean and half a packet. At rest the queue, which
/// counts whole packets, jumps by one at each sample: a deviation of half a packet at the most.
fn swings(params: Params, rate: Rate, datagram: u32) -> bool {
    let (mean, deviation) = queue(&packets(params, rate, datagram), rate);
    deviation > 0.02 * mean + rate.time_for(u64::from(datagram)).as_secs_f64() / 2.0
}

/// 20 % either side of the boundary of the loop sampled once per RTT: rest and swing. With the paper's packet size too,
/// of which 15 are sent per RTT.
#[test]
fn packets_swing_beyond_the_sampled_boundary() {
    for (kbit, datagram) in [(300, 125), (1000, 125), (1000, 1094), (5000, 125)] {
        let rate = Rate(kbit * 1000);
        let largest = largest_gain(rate, Some(1));
        for (factor, expected) in [(0.8, false), (1.2, true)] {
            assert_eq!(swings(params(factor * largest, rate), rate, datagram), expected, "{kbit} {factor}");
        }
    }
}

/// The paper's boundary, (46), is that of a controller that acts at all times. One that acts once per RTT, as (26) and
/// the simulator do, answers half an RTT later on average: at 80 % of that boundary it swings.
#[test]
fn the_continuous_boundary_is_too_high() {
    let rate = Rate(1_000_000);
    let continuous = largest_gain(rate, None);
    assert!(swings(params(0.8 * continuous, rate), rate, 125));
    assert!((continuous / largest_gain(rate, Some(1)) - 1.607).abs() < 0.001);
}

/// So it is the sampling: four updates per RTT (156.25 ms at rest) move the boundary to where the analysis says.
#[test]
fn more_updates_bear_more_gain() {
    let rate = Rate(1_000_000);
    let largest = largest_gain(rate, Some(4));
    let often =
        |gain| Params { fixed_period: Some(Duration::from_nanos(156_250_000 / 4)), ..params(gain, rate) };
    assert!(largest > 1.4 * largest_gain(rate, Some(1)));
    assert!(!swings(often(0.85 * largest), rate, 125));
    assert!(swings(often(1.15 * largest), rate, 125));
}

/// The boundary of the packets itself, by bisection: within 5 % of the analysis.
#[test]
fn the_boundary_of_the_packets() {
    let rate = Rate(1_000_000);
    let predicted = largest_gain(rate, Some(1));
    let (mut low, mut high) = (0.5, 1.5);
    for _ in 0..7 {
        let middle = f64::midpoint(low, high);
        if swings(params(middle, rate), rate, 125) { high = middle } else { low = middle }
    }
    assert!((f64::midpoint(low, high) / predicted - 1.0).abs() < 0.05, "{low} to {high} for {predicted}");
}

/// Where both rest, they rest together: delay and rate within 5 % (the packet that leaves counts in the queue).
#[test]
fn fluid_and_packets_rest_together() {
    for kbit in [300, 1000, 5000] {
        let rate = Rate(kbit * 1000);
        let params = params(0.4, rate);
        let series = packets(params.clone(), rate, 125);
        let flow = fluid::Flow { params, base_rtt: BASE, start: Time::ZERO };
        let path = fluid::run(rate, &[flow], Duration::from_secs(SECONDS), Duration::from_millis(10));
        let last = |values: &[f64]| spread(&values[values.len() * 3 / 4..]).0;
        let (delay, expected) = (queue(&series, rate).0 + 0.025, last(&path.queue) + 0.025);
        assert!((delay / expected - 1.0).abs() < 0.05, "{kbit}: {delay} for {expected}");
        let (x, expected) = (last(&series.flows[0].inner["x"]), last(&path.rates[0]));
        assert!((x / expected - 1.0).abs() < 0.05, "{kbit}: {x} for {expected}");
    }
}
