//! Compares the analysis of dccc's loop with the fluid model and with packets: the boundary of
//! stability, and the equilibrium.

use congestion::algorithms::media::dccc::Params;
use scenario::Watch;
use stability::margins::Margins;
use stability::open_loop::OpenLoop;
use stability::overlay::{Case, End};
use units::{Duration, Rate, Time};

const BASE: Duration = Duration::from_millis(50);

/// Parameters of a flow that starts near its equilibrium, because growth from 100 kbit/s would take
/// minutes.
fn params(gain: f64, rate: Rate) -> Params {
    Params { gain, initial_rate: Rate(rate.0 * 9 / 10), ..Params::default() }
}

/// A single flow on a link of this rate, for five minutes.
fn alone(params: Params, capacity: Rate, packet: u32) -> Case {
    let duration = Duration::from_secs(300);
    Case { params, base_rtt: BASE, capacity, packet, starts: vec![Time::ZERO], duration }
}

fn end_of_packets(case: &Case) -> End {
    case.packets(&Watch::default()).unwrap().end()
}

fn largest_gain(rate: Rate, updates: Option<u32>) -> f64 {
    let p = Params::default();
    let price = p.h.0 as f64 / rate.0 as f64;
    let open = OpenLoop { gain: p.gain, slope: p.beta - price, price, links: 1.0, updates };
    Margins::new(&open).largest_gain.unwrap()
}

/// Reports whether the delay still oscillates after minutes, by more than 2 % of the queueing delay
/// and half a packet. At equilibrium the queue, which counts whole packets, can differ by one
/// packet between samples, a deviation of at most half a packet.
fn swings(params: Params, rate: Rate, packet: u32) -> bool {
    let end = end_of_packets(&alone(params, rate, packet));
    let queue = end.delay_ms - BASE.as_millis_f64() / 2.0;
    end.delay_deviation_ms > 0.02 * queue + rate.time_for(u64::from(packet)).as_millis_f64() / 2.0
}

/// 20 % below the boundary of the loop sampled once per RTT the flow settles, 20 % above it
/// oscillates. This also holds for the paper's packet size, with 15 packets per RTT.
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

/// The paper's boundary (46) is that of a controller that acts continuously. One that acts once per
/// RTT, as in (26) and in the simulator, reacts half an RTT later on average. It oscillates at 80 %
/// of that boundary.
#[test]
fn the_continuous_boundary_is_too_high() {
    let rate = Rate(1_000_000);
    let continuous = largest_gain(rate, None);
    assert!(swings(params(0.8 * continuous, rate), rate, 125));
    assert!((continuous / largest_gain(rate, Some(1)) - 1.607).abs() < 0.001);
}

/// The sampling is the cause: four updates per RTT (156.25 ms at equilibrium) move the boundary as
/// the analysis predicts.
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

/// The boundary of the packet simulation, found by bisection, is within 5 % of the analysis.
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

/// Fluid model and packets have the same equilibrium: delay and rate within 5 % (the packet in
/// transmission counts as queued).
#[test]
fn fluid_and_packets_rest_together() {
    for kbit in [300, 1000, 5000] {
        let rate = Rate(kbit * 1000);
        together(&alone(params(0.4, rate), rate, 125));
    }
}

/// Three flows with the paper's packet size and distant start times, from the initial rate on.
#[test]
fn three_flows_rest_together() {
    let starts = [0, 4, 40].map(|s| Time::from_millis(s * 1000)).to_vec();
    together(&Case { starts, ..alone(Params::default(), Rate(3_000_000), 1094) });
}

fn together(case: &Case) {
    let overlay = case.run(&Watch::default()).unwrap();
    let (packets, fluid) = (overlay.packets_end, overlay.fluid_end);
    let near = |a: f64, b: f64| (a / b - 1.0).abs() < 0.05;
    assert!(near(packets.delay_ms, fluid.delay_ms), "{case:?}: {packets:?} {fluid:?}");
    let pairs = packets.rates_mbit_s.iter().zip(&fluid.rates_mbit_s);
    assert!(pairs.clone().count() == case.starts.len() && pairs.into_iter().all(|(a, b)| near(*a, *b)));
}
