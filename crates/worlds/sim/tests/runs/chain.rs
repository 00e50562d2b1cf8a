//! Several links in a row, against closed forms. Every run of a debug build also checks
//! conservation and Little's law at each link.

use crate::common::*;
use link::{Limit, LinkConfig};
use scenario::{FlowConfig, Outcome, ProbeConfig, Route, Scenario, UdpConfig};
use units::{Bytes, Duration, Rate, Time};

/// Transmission time of a full QUIC packet at [`RATE`].
const PACKET: Duration = Duration::from_nanos(1_035_200);

fn window(packets: u64) -> FlowConfig {
    let mut flow = quic_flow(&format!("name = 'fixed-window'\nwindow = {packets}"));
    (flow.ack.ack_every, flow.recovery.paced) = (1.into(), recovery::Paced::Never);
    flow
}

fn link(delay: Duration, kilobytes: u64) -> LinkConfig {
    LinkConfig { delay, limit: Limit::Bytes(Bytes(1000 * kilobytes)), ..LinkConfig::plain(RATE) }
}

fn route(first: u16, last: u16) -> Route {
    Route { first, last }
}

fn close(what: &str, got: f64, expected: f64, tolerance: f64) {
    assert!((got / expected - 1.0).abs() <= tolerance, "{what}: {got} for {expected}");
}

/// All queuing happens before the first link; behind it packets are one transmission apart. The
/// second link is therefore a delay of one packet's transmission. This holds to the nanosecond for
/// a fixed window, and for a controller except for the rounding of times in ACKs.
#[test]
fn two_equal_links_are_one_and_a_delay() {
    for flow in [window(10), window(80), quic_flow("name = 'cubic'")] {
        let exact = flow.label.contains("fixed");
        let one = scenario(1.0, 30, vec![FlowConfig { rtt: RTT + PACKET, ..flow.clone() }]);
        let mut two = Scenario { flows: vec![flow], ..one.clone() };
        (two.link.delay, two.beyond) = (RTT / 4, vec![link(RTT / 4, 10)]);
        let (one, two) = (run(&one), run(&two));
        let rtt = |out: &Outcome| out.flows[0].totals.rtt.mean_ms();
        close("rtt", rtt(&two), rtt(&one), if exact { 0.0 } else { 1e-6 });
        assert!(!exact || one.flows[0].totals.rtt == two.flows[0].totals.rtt);
        assert_eq!(one.link.dropped(), two.link.dropped());
        assert_eq!(two.beyond[0].max_backlog.packets, 1);
        let queue = |out: &Outcome| out.flows[0].totals.queue_delay.mean_ms();
        close("queue", queue(&two), queue(&one) + PACKET.as_millis_f64(), 1e-4);
        close("owd", two.flows[0].totals.owd.mean_ms(), one.flows[0].totals.owd.mean_ms() + 0.5176, 1e-4);
    }
}

/// A narrow link behind a wide one: the queue is before the second.
#[test]
fn the_narrow_link_is_the_bottleneck() {
    let mut s = scenario(4.0, 30, vec![window(80)]);
    s.measure = Some((Time::from_millis(5000), Time::from_millis(30_000)));
    (s.link.rate, s.link.delay) = (link::RateModel::Constant(Rate(40_000_000)), RTT / 4);
    s.beyond = vec![link(RTT / 4, 200)];
    let out = run(&s);
    close("goodput", goodput(&out, 0), 10.0 * 1215.0 / 1294.0, 1e-3);
    close("queue", out.flows[0].totals.queue_delay.mean_ms(), 80.0 * PACKET.as_millis_f64() - 50.0, 1e-3);
    assert!(out.beyond[0].max_backlog.packets > 25);
}

/// The parking lot: a flow over two links, and one over each alone. Both links are full, so both
/// queues are the same q:
///
/// ```text
/// W_long = x (T_long + 2 q),  W_short = (C - x) (T_short + q)
/// ```
#[test]
fn parking_lot_of_fixed_windows() {
    for (long, short) in [(60, 60), (100, 40), (40, 100)] {
        let of = |packets, route, rtt| FlowConfig { route, rtt, ..window(packets) };
        let (t_long, t_short) = (0.08, 0.04);
        let ms = Duration::from_millis;
        let flows = vec![
            of(long, route(0, 1), ms(80)),
            // The flows are out of phase: packets of two flows that always arrive together would
            // wait by their order.
            FlowConfig { start: Time(100_000), ..of(short, route(0, 0), ms(40)) },
            FlowConfig { start: Time(100_000), ..of(short, route(1, 1), ms(40)) },
        ];
        let mut s = scenario(4.0, 300, flows);
        s.measure = Some((Time::from_millis(20_000), Time::from_millis(300_000)));
        (s.link, s.beyond) = (link(ms(20), 1000), vec![link(ms(20), 1000)]);
        let out = run(&s);

        let capacity = 1.0 / PACKET.as_secs_f64();
        // x falls in q along the first equation and rises along the second: bisect the interval.
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..60 {
            let q = (low + high) / 2.0;
            let carried = long as f64 / (t_long + 2.0 * q) + short as f64 / (t_short + q);
            *(if carried > capacity { &mut low } else { &mut high }) = q;
        }
        let x = long as f64 / (t_long + 2.0 * low);
        let got = |i| goodput(&out, i) * 1e6 / (1215.0 * 8.0);
        close("long", got(0), x, 0.02);
        close("first short", got(1), capacity - x, 0.02);
        close("second short", got(2), capacity - x, 0.02);
        close("first link", got(0) + got(1), capacity, 1e-3);
        close("second link", got(0) + got(2), capacity, 1e-3);
        close("queues", out.flows[0].totals.queue_delay.mean_ms(), 2e3 * low, 0.03);
        for (i, packets) in [long, short, short].into_iter().enumerate() {
            close("Little", got(i) * out.flows[i].totals.rtt.mean_ms() / 1e3, packets as f64, 2e-3);
        }
    }
}

/// Every drop at every link is counted by a flow, and each packet that leaves a link enters the
/// next, whatever the queue management.
#[test]
fn nothing_is_lost_unaccounted() {
    for aqm in link::Aqm::all() {
        let of = |name: &str, route| FlowConfig { route, ..quic_flow(&format!("name = '{name}'")) };
        let flows = vec![of("cubic", Route::ALL), of("bbr2", route(0, 1)), of("new-reno", route(1, 2))];
        let mut s = scenario(1.0, 20, flows);
        let managed = |rate: u64| {
            let mut link = LinkConfig { loss: 0.001, aqm: aqm.clone(), ..link(RTT / 8, 60) };
            link.rate = link::RateModel::Constant(Rate(rate * 1_000_000));
            link.jitter = Duration::from_millis(1);
            link
        };
        (s.link, s.beyond) = (managed(10), vec![managed(8), managed(6)]);
        s.udp = vec![UdpConfig {
            label: "UDP".to_owned(),
            rate: vec![(Time::ZERO, Rate(3_000_000))],
            on_off: None,
            route: route(2, 2),
            size: 1000,
            start: Time::ZERO,
            stop: None,
        }];
        s.probe = Some(ProbeConfig {
            interval: Duration::from_millis(20),
            size: 84,
            route: Route::ALL,
            back: None,
            rtt: RTT,
        });
        let out = run(&s);
        let probe = out.probe.as_ref().unwrap();
        let of_flows =
            |count: fn(&scenario::Totals) -> u64| out.flows.iter().map(|f| count(&f.totals)).sum::<u64>();
        let dropped = of_flows(|t| t.dropped) + out.udp[0].dropped + probe.dropped;
        let links = [out.link, out.beyond[0], out.beyond[1]];
        assert_eq!(links.iter().map(|l| l.dropped().packets).sum::<u64>(), dropped, "{aqm:?}");
        let sent = |i: usize| out.flows[i].totals.packets;
        assert_eq!(links[0].pushed.packets, sent(0) + sent(1) + probe.sent);
        assert_eq!(links[1].pushed.packets, links[0].delivered.packets + sent(2));
        assert!(links.iter().all(|l| l.dropped().packets > 0), "{aqm:?}");
        assert!(out.udp[0].delivered > 0 && probe.rtt.count() > 100);
        let again = run(&s);
        assert_eq!((again.link, again.beyond), (out.link, out.beyond), "the same bytes");
    }
}
