//! Unresponsive traffic and one-way delays, against closed forms.

use crate::common::*;
use link::{Limit, LinkConfig};
use scenario::{FlowConfig, OnOff, Outcome, Route, Scenario, UdpConfig};
use units::{Duration, Rate, Time};

const PACKET_MS: f64 = 1294.0 * 8.0 / 10e3;

fn udp(kbit_s: u64, size: u32) -> UdpConfig {
    UdpConfig {
        label: "UDP".to_owned(),
        rate: vec![(Time::ZERO, Rate(kbit_s * 1000))],
        on_off: None,
        route: Route::ALL,
        size,
        start: Time::ZERO,
        stop: None,
    }
}

/// Returns a flow with a fixed window and an ACK for each packet.
fn window(packets: u64) -> FlowConfig {
    let mut flow = quic_flow(&format!("name = 'fixed-window'\nwindow = {packets}"));
    (flow.ack.ack_every, flow.recovery.paced) = (1.into(), recovery::Paced::Never);
    flow
}

/// Returns a scenario with only these sources: a flow that never starts keeps the run going. Counts
/// from second 2.
fn alone(seconds: u64, udp: Vec<UdpConfig>) -> Scenario {
    let never = FlowConfig { start: Time::NEVER, ..window(1) };
    let measure = Some((Time::from_millis(2000), Time::from_millis(1000 * seconds)));
    Scenario { udp, measure, ..scenario(4.0, seconds, vec![never]) }
}

fn close(got: f64, expected: f64, tolerance: f64) {
    assert!((got / expected - 1.0).abs() <= tolerance, "{got} for {expected}");
}

/// At twice the link's rate every other packet is dropped. Each of the others finds a full queue
/// except for its own place, and a transmission that begins. Departures coincide with arrivals, so
/// all this is exact.
#[test]
fn overload_fills_the_queue() {
    let mut s = alone(42, vec![udp(4000, 1000)]);
    s.link = LinkConfig { limit: Limit::Packets(24), delay: RTT / 2, ..LinkConfig::plain(Rate(2_000_000)) };
    let out = run(&s);
    let record = &out.udp[0];
    // Both ends of the window count, and a packet is dropped at both.
    assert_eq!((record.sent, record.dropped), (20_001, 10_001));
    assert_eq!((record.queue_delay.mean_ms(), record.queue_delay.max_ms()), (100.0, 100.0));
    close(record.delivered as f64 * 8.0 / 40.0, 2e6, 1e-4);
    assert_eq!(out.link.dropped().packets + out.link.admitted.packets, 21_000);
}

/// CoDel drops packets long after they were sent. A drop counts in the windows of its packet, so
/// that no window has more drops than packets.
#[test]
fn drops_count_with_their_packets() {
    let source = UdpConfig { stop: Some(Time::from_millis(11_000)), ..udp(4000, 1000) };
    let mut s = alone(20, vec![source]);
    s.measure = Some((Time::from_millis(10_000), Time::from_millis(20_000)));
    s.windows = (0..20)
        .map(|second| {
            (format!("{second}"), Time::from_millis(second * 1000), Time::from_millis(second * 1000 + 999))
        })
        .collect();
    let aqm = link::Aqm::FqCodel(link::aqm::fq_codel::Params::default());
    s.link =
        LinkConfig { limit: Limit::Packets(1000), delay: RTT / 2, aqm, ..LinkConfig::plain(Rate(2_000_000)) };
    let out = run(&s);
    let record = &out.udp[0];
    assert!(record.dropped > 0 && record.dropped <= record.sent, "{} of {}", record.dropped, record.sent);
    let others: Vec<_> = out.windows.iter().map(|window| &window.udp[0]).collect();
    assert!(others.iter().all(|udp| udp.dropped <= udp.sent), "{others:?}");
    assert!(others.iter().filter(|udp| udp.dropped > 0).count() > 5);
}

/// A run ends early if every flow is a transfer that is complete. It goes on for UDP after a flow
/// that was stopped, whether or not that was a transfer.
#[test]
fn a_run_goes_on_without_its_flows() {
    let ends = |transfer, stop: Option<u64>| {
        let flow = FlowConfig { transfer, stop: stop.map(Time::from_millis), ..window(10) };
        let late = UdpConfig { start: Time::from_millis(3000), ..udp(1000, 1000) };
        run(&Scenario { udp: vec![late], ..scenario(4.0, 10, vec![flow]) })
    };
    for out in [ends(None, Some(2000)), ends(Some(100_000_000), Some(2000)), ends(None, None)] {
        assert_eq!((out.end, out.udp[0].sent), (Time::from_millis(10_000), 875));
    }
    for stop in [None, Some(2000)] {
        let out = ends(Some(10_000), stop);
        assert_eq!((out.flows[0].finished, out.udp[0].sent), (Some(out.end), 0));
    }
}

/// Below the link's rate nothing queues, and exactly as many packets leave as the rate says.
#[test]
fn below_the_rate_it_is_alone_on_the_wire() {
    let out = run(&alone(62, vec![udp(7777, 1294)]));
    let record = &out.udp[0];
    let by = |second: u64| second * 7_777_000 / (1294 * 8);
    assert_eq!((record.sent, record.dropped), (by(62) - by(2), 0));
    close(record.queue_delay.mean_ms(), PACKET_MS, 1e-6);
    assert_eq!(record.queue_delay.max_ms(), 1.0352);
}

/// A fixed window beside UDP gets what UDP leaves, and its RTT is its window over that (Little's
/// law).
#[test]
fn a_fixed_window_gets_exactly_the_rest() {
    for kbit_s in [1000, 4000, 8000] {
        let flow = window(60);
        let measure = Some((Time::from_millis(5000), Time::from_millis(605_000)));
        let s = Scenario { udp: vec![udp(kbit_s, 1054)], measure, ..scenario(20.0, 605, vec![flow]) };
        let out = run(&s);
        let rest = 10.0 - kbit_s as f64 / 1e3;
        close(goodput(&out, 0), rest * 1215.0 / 1294.0, 1e-3);
        close(out.udp[0].delivered as f64 * 8.0 / 600e3, kbit_s as f64, 1e-3);
        let rtt = 60.0 * 1294.0 * 8e-3 / rest;
        close(out.flows[0].totals.rtt.mean_ms(), rtt, 2e-3);
        assert_eq!((out.flows[0].totals.dropped, out.udp[0].dropped), (0, 0));
    }
}

/// Steps and silent phases show in the series, second by second.
#[test]
fn steps_and_silence_over_time() {
    let mut stepped = udp(1000, 1000);
    stepped.rate.push((Time::from_millis(4000), Rate(3_000_000)));
    (stepped.start, stepped.stop) = (Time::from_millis(2000), Some(Time::from_millis(6000)));
    let on_off = OnOff { on: Duration::from_secs(1), off: Duration::from_secs(1), random: false };
    let source = UdpConfig { on_off: Some(on_off), ..udp(2000, 1000) };
    let series = Some(Duration::from_secs(1));
    let of = |udp: UdpConfig| {
        let out = run(&Scenario { series, ..alone(8, vec![udp]) });
        out.series.udp_mbit_s.iter().map(|r| r.round()).collect::<Vec<_>>()
    };
    assert_eq!(of(stepped), [0.0, 0.0, 1.0, 1.0, 3.0, 3.0, 0.0, 0.0]);
    assert_eq!(of(source), [2.0, 0.0, 2.0, 0.0, 2.0, 0.0, 2.0, 0.0]);
    assert!(run(&Scenario { series, ..alone(8, vec![]) }).series.udp_mbit_s.iter().all(|r| r.is_nan()));
}

/// Every packet of every sender is accounted for, whatever the queue management. Debug builds check
/// the link.
#[test]
fn nothing_is_lost_unaccounted() {
    for aqm in link::Aqm::all() {
        let sources = vec![udp(6000, 1294), UdpConfig { label: "small".to_owned(), ..udp(6000, 300) }];
        let mut s = scenario(1.0, 20, vec![quic_flow("name = 'cubic'"), quic_flow("name = 'bbr2'")]);
        (s.udp, s.link.loss) = (sources, 0.001);
        s.link.aqm = aqm.clone();
        let out = run(&s);
        let sent = |out: &Outcome| {
            let udp = out.udp.iter().map(|u| (u.sent, u.dropped));
            let flows = out.flows.iter().map(|f| (f.totals.packets, f.totals.dropped));
            udp.chain(flows).fold((0, 0), |sum, each| (sum.0 + each.0, sum.1 + each.1))
        };
        assert_eq!((out.link.pushed.packets, out.link.dropped().packets), sent(&out), "{aqm:?}");
        assert!(out.udp.iter().all(|u| u.dropped > 0 && u.queue_delay.mean_ms() > 0.0), "{aqm:?}");
        // Fair queues give small and large packets of one rate the same share.
        let share = out.udp[0].delivered as f64 / out.udp[1].delivered as f64;
        assert!(aqm.name() != "fq-codel" || (share - 1.0).abs() < 0.02, "{share}");
    }
}

/// A silent source changes nothing for the others.
#[test]
fn silence_moves_nobody() {
    let mut s = scenario(1.0, 20, vec![quic_flow("name = 'cubic'"), quic_flow("name = 'bbr2'")]);
    let before = run(&s);
    s.udp = vec![udp(0, 1000); 3];
    let after = run(&s);
    assert_eq!(before.link, after.link);
    assert_eq!(before.series.flows, after.series.flows);
    assert!(before.flows.iter().zip(&after.flows).all(|(a, b)| a.totals == b.totals));
    assert_eq!(after.udp[0], scenario::UdpRecord::default());
}

/// One-way delay is propagation, queue and transmission: half the RTT and a packet on an idle link.
/// A window above the BDP adds its queue.
#[test]
fn one_way_delays() {
    for (rtt, packets) in [(50, 1), (80, 1), (50, 80), (80, 100)] {
        let flow = FlowConfig { rtt: Duration::from_millis(rtt), ..window(packets) };
        let measure = Some((Time::from_millis(2000), Time::from_millis(20_000)));
        let series = Some(Duration::from_millis(500));
        let out = run(&Scenario { measure, series, ..scenario(4.0, 20, vec![flow]) });
        let owd = &out.flows[0].totals.owd;
        let back = rtt as f64 / 2.0;
        let expected = (packets as f64 * PACKET_MS - back).max(back + PACKET_MS);
        close(owd.mean_ms(), expected, 1e-9);
        assert!(owd.std_ms() < 1e-3 && (owd.quantile_ms(0.95) - expected).abs() < 0.1);
        let sampled = out.series.flows[0].owd_ms.to_vec();
        assert!(sampled[4..].iter().all(|ms| (ms - expected).abs() < 1e-9), "{sampled:?}");
    }
}

/// One-way delay includes the link's jitter, but not the receiver's clock and its ACK delay.
#[test]
fn one_way_delay_is_by_the_simulators_clock() {
    let owd = |mut flow: FlowConfig, jitter: u64| {
        flow.recovery.paced = recovery::Paced::Never;
        let mut s = scenario(4.0, 100, vec![flow]);
        s.link.jitter = Duration::from_millis(jitter);
        run(&s).flows[0].totals.owd.mean_ms()
    };
    let mut odd = window(1);
    odd.ack.ack_every = 2.into();
    odd.clock = recovery::Clock { offset_seconds: 100.0, drift_ppm: 500.0, ..recovery::Clock::default() };
    close(owd(odd, 0), 25.0 + PACKET_MS, 1e-9);
    close(owd(window(1), 10), 30.0 + PACKET_MS, 0.02);
}
