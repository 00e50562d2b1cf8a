//! Links on the return path, against closed forms. Every run of a debug build also checks
//! conservation and Little's law at each link.

use crate::common::*;
use link::{Limit, LinkConfig, RateModel};
use recovery::Paced;
use scenario::trace::Event;
use scenario::{Back, FlowConfig, Outcome, ProbeConfig, Route, Scenario, UdpConfig};
use units::{Bytes, Duration, Rate, Time};

/// A full QUIC packet on the wire, in bits.
const PACKET: f64 = 1294.0 * 8.0;
/// Size of an acknowledgement on the wire, in bytes.
const ACK: u32 = 99;
const ACK_BITS: f64 = 99.0 * 8.0;

/// The links of the other direction, behind a single forward one.
const REVERSE: Route = Route { first: 1, last: u16::MAX };

fn window(packets: u64) -> FlowConfig {
    let mut flow = quic_flow(&format!("name = 'fixed-window'\nwindow = {packets}"));
    (flow.ack.ack_every, flow.recovery.paced) = (1.into(), Paced::Never);
    flow
}

fn forward(flow: FlowConfig) -> FlowConfig {
    FlowConfig { back: Some(Back { route: REVERSE, size: ACK }), ..flow }
}

fn backward(flow: FlowConfig) -> FlowConfig {
    FlowConfig { route: REVERSE, back: Some(Back { route: Route::ALL, size: ACK }), ..flow }
}

fn link(rate: f64, kilobytes: u64) -> LinkConfig {
    let limit = Limit::Bytes(Bytes(1000 * kilobytes));
    LinkConfig { delay: RTT / 2, limit, ..LinkConfig::plain(Rate(rate as u64)) }
}

/// Returns a scenario with 10 Mbit/s and 50 ms forward, and `reverse` back.
fn both_ways(seconds: u64, reverse: LinkConfig, flows: Vec<FlowConfig>) -> Scenario {
    let s = scenario(1.0, seconds, flows);
    Scenario { reverse: vec![reverse], reverse_names: vec!["reverse".to_owned()], ..s }
}

fn from_second(mut s: Scenario, from: u64) -> Scenario {
    s.measure = Some((Time::from_millis(1000 * from), Time::ZERO + s.duration));
    s
}

fn close(what: &str, got: f64, expected: f64, tolerance: f64) {
    assert!((got / expected - 1.0).abs() <= tolerance, "{what}: {got} for {expected}");
}

fn rtt(out: &Outcome, flow: usize) -> f64 {
    out.flows[flow].totals.rtt.mean_ms()
}

/// An empty return link adds the transmission of an acknowledgement to each round trip, and nothing
/// else.
///
/// ```text
/// RTT = base RTT + packet / forward rate + ACK / reverse rate
/// ```
#[test]
fn an_empty_link_back_is_its_transmission() {
    for rate in [1e9, 1e8, 5e6] {
        let pure = run(&scenario(1.0, 30, vec![window(1)]));
        let linked = run(&both_ways(30, link(rate, 1000), vec![forward(window(1))]));
        let ack_ms = ACK_BITS / rate * 1e3;
        close("rtt", rtt(&linked, 0), 50.0 + PACKET / 1e4 + ack_ms, 1e-6);
        let (a, b) = (&pure.flows[0].totals, &linked.flows[0].totals);
        close("rtt beside the pure delay", b.rtt.mean_ms(), a.rtt.mean_ms() + ack_ms, 1e-6);
        assert_eq!(a.owd.mean_ms(), b.owd.mean_ms(), "the path of the data is the same");
        assert_eq!(a.queue_delay.mean_ms(), b.queue_delay.mean_ms(), "acknowledgements queue, data do not");
        assert_eq!((b.dropped, b.feedback_dropped), (0, 0));
        assert_eq!(b.feedback, linked.reverse[0].pushed.packets);
        assert_eq!(linked.reverse[0].pushed.bytes, b.feedback * u64::from(ACK));
        // One packet at a time, each acknowledged.
        assert_eq!((a.feedback, pure.reverse.len()), (a.packets, 0));
    }
    // With a fast return link a controller does the same as with none.
    let cubic = |flow: FlowConfig| FlowConfig { transfer: Some(20_000_000), ..flow };
    let pure = run(&scenario(1.0, 60, vec![cubic(quic_flow("name = 'cubic'"))]));
    let linked = run(&both_ways(60, link(1e12, 1000), vec![cubic(forward(quic_flow("name = 'cubic'")))]));
    close("rtt", rtt(&linked, 0), rtt(&pure, 0), 1e-3);
    close("goodput", goodput(&linked, 0), goodput(&pure, 0), 1e-3);
}

/// A slow return link is the bottleneck of a flow with a fixed window, in acknowledgements per
/// second.
///
/// ```text
/// ACKs per second = reverse rate / ACK,   RTT = window / that
/// ```
#[test]
fn a_slow_link_back_limits_the_acknowledgements() {
    for (rate, every) in [(200e3, 1), (400e3, 1), (100e3, 2)] {
        let mut flow = forward(window(80));
        flow.ack.ack_every = every.into();
        let out = run(&from_second(both_ways(60, link(rate, 1000), vec![flow]), 10));
        let packets = rate / ACK_BITS * every as f64;
        close("goodput", goodput(&out, 0), packets * 1215.0 * 8.0 * 1e-6, 2e-3);
        close("rtt", rtt(&out, 0), 80.0 / packets * 1e3, 5e-3);
        let out_of = out.reverse[0].delivered.bytes as f64 * 8.0;
        close("utilization", out_of, rate * 60.0, 0.01);
        assert_eq!(out.flows[0].totals.feedback_dropped, 0);
        // An acknowledgement of two packets releases two at once; all other queuing is that of
        // acknowledgements.
        let burst = (every as f64 + 1.0) / 2.0;
        close("the data's queue", out.flows[0].totals.queue_delay.mean_ms(), burst * PACKET / 1e4, 2e-3);
    }
}

/// Forward and backward are symmetric: the same flow in the other direction agrees to the
/// nanosecond.
#[test]
fn directions_are_alike() {
    let there = |flow: FlowConfig| run(&both_ways(20, link(3e6, 20), vec![forward(flow)]));
    let back = |flow: FlowConfig| {
        let mut s = both_ways(20, link(3e6, 20), vec![backward(flow)]);
        std::mem::swap(&mut s.link, &mut s.reverse[0]);
        run(&s)
    };
    for flow in
        [window(80), quic_flow("name = 'cubic'"), tcp_flow("name = 'cubic'"), quic_flow("name = 'bbr3'")]
    {
        for rtt in [Duration::from_millis(50), Duration::from_millis(90)] {
            let flow = FlowConfig { rtt, ..flow.clone() };
            let (there, back) = (there(flow.clone()), back(flow));
            let (a, b) = (&there.flows[0].totals, &back.flows[0].totals);
            assert_eq!((a.delivered, a.dropped, &a.rtt, &a.owd), (b.delivered, b.dropped, &b.rtt, &b.owd));
            assert_eq!(a.queue_delay.mean_ms(), b.queue_delay.mean_ms());
            assert_eq!((there.link, there.reverse[0]), (back.reverse[0], back.link));
        }
    }
}

/// The rest of a longer RTT is a delay: half of it, or what the forward links leave of that, and
/// the remainder behind the return links.
#[test]
fn the_rest_of_the_rtt_is_delay() {
    let ms = Duration::from_millis;
    for (there, back, rtt_ms, owd) in
        [(25, 25, 100, 50.0), (25, 5, 100, 50.0), (5, 60, 100, 40.0), (60, 5, 80, 60.0)]
    {
        let flow = FlowConfig { rtt: ms(rtt_ms), ..forward(window(1)) };
        let mut s = both_ways(5, link(1e9, 1000), vec![flow]);
        (s.link.delay, s.reverse[0].delay) = (ms(there), ms(back));
        let out = run(&s);
        close("rtt", rtt(&out, 0), rtt_ms as f64 + PACKET / 1e4 + ACK_BITS / 1e6, 1e-6);
        close("owd", out.flows[0].totals.owd.mean_ms(), owd + PACKET / 1e4, 1e-6);
    }
}

/// Returns the gaps between the acknowledgements that arrive at a sender, in ms.
fn gaps(out: &Outcome, flow: usize) -> Vec<f64> {
    let trace = out.flows[flow].trace.as_ref().unwrap();
    let times: Vec<Time> =
        trace.iter().filter(|(_, event)| matches!(event, Event::Acked(_))).map(|(at, _)| *at).collect();
    times.windows(2).map(|pair| (pair[1] - pair[0]).as_millis_f64()).collect()
}

/// With data in both directions, acknowledgements wait behind the other's packets and arrive in a
/// bunch (Zhang, Shenker and Clark 1991). They are then one transmission of an ACK apart, instead
/// of one of the data that they acknowledge.
#[test]
fn data_both_ways_compress_acknowledgements() {
    let transfer = |flow| FlowConfig { transfer: Some(5_000_000), ..flow };
    let cubic = || quic_flow("name = 'cubic'");
    let alone = both_ways(60, link(1e7, 62), vec![transfer(forward(cubic()))]);
    let mut both =
        Scenario { flows: vec![transfer(forward(cubic())), transfer(backward(cubic()))], ..alone.clone() };
    both.flows[1].start = Time::from_millis(1);
    let traced = |s: Scenario| run(&Scenario { trace: true, ..s });
    let (alone, both) = (traced(alone), traced(both));
    let ack_ms = ACK_BITS / 1e4;
    let bunched = |out: &Outcome, flow| {
        let gaps = gaps(out, flow);
        gaps.iter().filter(|gap| **gap < 1.5 * ack_ms).count() as f64 / gaps.len() as f64
    };
    assert!(bunched(&alone, 0) < 0.01, "{}", bunched(&alone, 0));
    for flow in 0..2 {
        assert!(both.flows[flow].finished.is_some());
        assert!(bunched(&both, flow) > 0.2, "{}", bunched(&both, flow));
        // Queues empty between the bunches.
        let std = |out: &Outcome, flow: usize| out.flows[flow].totals.rtt.std_ms();
        assert!(std(&both, flow) > 1.5 * std(&alone, 0));
        assert!(goodput(&both, flow) < goodput(&alone, 0));
        let shortest = gaps(&both, flow).into_iter().filter(|gap| *gap > 0.0).fold(f64::INFINITY, f64::min);
        close("the shortest gap", shortest, ack_ms, 1e-3);
    }
    // Each direction carried what was sent along it.
    let sent = |out: &Outcome, flow: usize| out.flows[flow].totals.packets;
    let acks = |out: &Outcome, flow: usize| out.flows[flow].totals.feedback;
    assert_eq!(both.link.pushed.packets, sent(&both, 0) + acks(&both, 1));
    assert_eq!(both.reverse[0].pushed.packets, sent(&both, 1) + acks(&both, 0));
}

/// Later acknowledgements repeat the contents of earlier ones: a lost one only delays what it
/// acknowledged.
#[test]
fn lost_acknowledgements_do_no_harm() {
    for (flow, quic) in [
        (quic_flow("name = 'cubic'"), true),
        (quic_flow("name = 'bbr3'"), true),
        (window(40), true),
        (tcp_flow("name = 'cubic'"), false),
        (tcp_flow("name = 'tcp-reno'"), false),
    ] {
        let flow = FlowConfig { transfer: Some(10_000_000), ..forward(flow) };
        let mut s = both_ways(120, link(1e9, 1000), vec![flow]);
        // With an unlimited queue no packet is lost, so every retransmission is unnecessary.
        s.link.limit = Limit::Unlimited;
        s.flows[0].recovery.max_ack_delay = s.flows[0].ack.max_ack_delay;
        s.reverse[0].loss = 0.2;
        let out = run(&s);
        let (name, flow) = (&s.flows[0].label, &out.flows[0]);
        assert_eq!(flow.delivered, 10_000_000, "{name}");
        assert!(flow.finished.is_some(), "{name}");
        let share = flow.totals.feedback_dropped as f64 / flow.totals.feedback as f64;
        close("ack loss", share, 0.2, 0.1);
        assert_eq!(flow.totals.feedback_dropped, out.reverse[0].dropped().packets);
        assert_eq!(flow.totals.dropped, 0);
        let stats = &flow.stats;
        let declared = stats.lost_by_packet_threshold + stats.lost_by_time_threshold;
        assert_eq!((declared, stats.spurious), (0, 0), "{name}");
        assert!(!quic || stats.lost_by_timeout == 0, "{name}");
        assert!(stats.retransmissions <= 5, "{name}: {}", stats.retransmissions);
    }
}

/// With acknowledgements that overtake each other, and losses in both directions, the transfer
/// still completes. Every drop is counted by a flow, whatever the queue management on either side.
#[test]
fn nothing_is_lost_unaccounted() {
    for aqm in link::Aqm::all() {
        let mut flows = vec![
            forward(quic_flow("name = 'cubic'")),
            backward(quic_flow("name = 'bbr2'")),
            forward(tcp_flow("name = 'cubic'")),
            backward(tcp_flow("name = 'tcp-reno'")),
        ];
        let twice = Route { first: 2, last: 3 };
        for flow in &mut flows {
            // There are two links in each direction: the first of the reverse ones is number 2.
            let ahead = flow.route == Route::ALL;
            flow.route = if ahead { Route::ALL } else { twice };
            flow.back = Some(Back { route: if ahead { twice } else { Route::ALL }, size: ACK });
            flow.transfer = Some(1_000_000);
        }
        let managed = |rate: f64| {
            let mut link = LinkConfig { loss: 0.01, aqm: aqm.clone(), ..link(rate, 40) };
            (link.delay, link.jitter) = (RTT / 4, Duration::from_millis(1));
            link.reorder = Some(link::Reorder { every: 50, by: Duration::from_millis(5) });
            link.rate = RateModel::Constant(Rate(rate as u64));
            link
        };
        let mut s = scenario(1.0, 120, flows);
        (s.link, s.beyond) = (managed(6e6), vec![managed(5e6)]);
        (s.reverse, s.reverse_names) =
            (vec![managed(4e6), managed(3e6)], vec!["a".to_owned(), "b".to_owned()]);
        s.udp = vec![UdpConfig {
            label: "UDP".to_owned(),
            rate: vec![(Time::ZERO, Rate(500_000))],
            on_off: None,
            route: twice,
            size: 1000,
            start: Time::ZERO,
            stop: None,
        }];
        let interval = Duration::from_millis(20);
        s.probe = Some(ProbeConfig { interval, size: 84, route: Route::ALL, back: Some(twice), rtt: RTT });
        s.series = Some(Duration::from_millis(100));
        let out = run(&s);
        assert!(out.flows.iter().all(|f| f.finished.is_some() && f.delivered == 1_000_000), "{aqm:?}");
        let probe = out.probe.as_ref().unwrap();
        let of_flows =
            |count: fn(&scenario::Totals) -> u64| out.flows.iter().map(|f| count(&f.totals)).sum::<u64>();
        let dropped =
            of_flows(|t| t.dropped) + of_flows(|t| t.feedback_dropped) + out.udp[0].dropped + probe.dropped;
        let links = [out.link, out.beyond[0], out.reverse[0], out.reverse[1]];
        assert_eq!(links.iter().map(|l| l.dropped().packets).sum::<u64>(), dropped, "{aqm:?}");
        let sent = |i: usize| out.flows[i].totals.packets;
        let acks = |i: usize| out.flows[i].totals.feedback;
        assert_eq!(links[0].pushed.packets, sent(0) + sent(2) + acks(1) + acks(3) + probe.sent);
        let behind = sent(1) + sent(3) + acks(0) + acks(2) + out.udp[0].sent;
        assert!((behind..=behind + probe.sent).contains(&links[2].pushed.packets));
        assert_eq!(links[3].pushed.packets, links[2].delivered.packets);
        assert!(of_flows(|t| t.feedback_dropped) > 0 && out.udp[0].delivered > 0 && probe.rtt.count() > 50);
        let again = run(&s);
        assert_eq!(
            (again.link, again.beyond, again.reverse),
            (out.link, out.beyond, out.reverse),
            "the same bytes"
        );
        for (a, b) in again.flows.iter().zip(&out.flows) {
            assert_eq!((&a.totals, &a.stats), (&b.totals, &b.stats), "the same bytes");
        }
        assert_eq!(format!("{:?}", again.series), format!("{:?}", out.series), "the same bytes");
    }
}

/// The ping's answer waits behind backward data. Backward UDP crosses only its own links.
#[test]
fn the_answer_waits_on_the_way_back() {
    let mut s = both_ways(20, link(1e7, 1000), vec![forward(window(1))]);
    let interval = Duration::from_millis(10);
    s.probe = Some(ProbeConfig { interval, size: 84, route: Route::ALL, back: Some(REVERSE), rtt: RTT });
    let idle = run(&s);
    let rtt = |out: &Outcome| out.probe.as_ref().unwrap().rtt.mean_ms();
    close("idle", rtt(&idle), 50.0 + 2.0 * 84.0 * 8.0 / 1e4, 0.01);
    s.flows.push(FlowConfig { start: Time(7_000_000), ..backward(window(80)) });
    let busy = run(&from_second(s, 2));
    // The window is 80 packets, 48.3 of which are in propagation: the others wait on the reverse
    // link.
    close("busy", rtt(&busy), 80.0 * PACKET / 1e4, 0.02);
    close(
        "the queue is that of the reverse link",
        busy.flows[1].totals.owd.mean_ms(),
        80.0 * PACKET / 1e4 - 25.0,
        0.02,
    );
}
