//! Options of loss recovery that show in what a sender puts on the wire.

use crate::common::*;
use link::{Limit, RateModel, Reorder};
use recovery::Paced;
use scenario::trace::Event;
use scenario::{FlowConfig, Outcome, Transport};
use units::{Duration, Time};

/// Returns an unpaced QUIC flow that carries 1 MB.
fn transfer() -> FlowConfig {
    let mut flow = quic_flow("name = 'new-reno'");
    (flow.recovery.paced, flow.transfer) = (Paced::Never, Some(1_000_000));
    flow
}

fn sent_before(out: &Outcome, until: Duration) -> Vec<u32> {
    let trace = out.flows[0].trace.as_ref().unwrap().iter().take_while(|(at, _)| *at < Time::ZERO + until);
    trace.filter_map(|(_, e)| if let Event::Sent { bytes, .. } = e { Some(*bytes) } else { None }).collect()
}

/// The initial window of 1500-byte packets is 14 720 bytes (RFC 9002 section 7.2): nine packets,
/// and 1220 bytes that either wait or fill a tenth packet.
#[test]
fn small_last_packet_fills_the_window() {
    for (small, last) in [(false, 1500), (true, 1220)] {
        let mut flow = transfer();
        flow.transport = Transport::Quic { datagram: 1500, header: 37, overhead: 42 };
        flow.recovery.small_last_packet = small;
        let mut s = scenario(1.0, 60, vec![flow]);
        s.trace = true;
        let out = run(&s);
        let first = sent_before(&out, RTT);
        assert_eq!(first.len(), if small { 10 } else { 9 });
        assert_eq!((first[8], *first.last().unwrap()), (1500, last));
        assert_eq!(out.flows[0].delivered, 1_000_000);
    }
}

/// Retransmissions are cut to the rest of the window too, and the stream still arrives completely.
#[test]
fn small_last_packet_cuts_repeats() {
    let mut flow = transfer();
    flow.recovery.small_last_packet = true;
    let mut s = scenario(0.2, 60, vec![flow]);
    s.link.loss = 0.02;
    let out = run(&s);
    let flow = &out.flows[0];
    assert_eq!(flow.delivered, 1_000_000);
    assert!(flow.stats.retransmissions > flow.stats.lost(), "some are sent in pieces");
    assert_eq!(flow.stats.spurious, 0);
}

/// TCP does not fill its window with smaller segments.
#[test]
fn tcp_sends_whole_segments() {
    let bytes = |small| {
        let mut flow = tcp_flow("name = 'tcp-reno'");
        (flow.recovery.small_last_packet, flow.transfer) = (small, Some(300_000));
        run(&scenario(0.2, 60, vec![flow])).flows[0].totals.wire
    };
    assert_eq!(bytes(true), bytes(false));
}

/// A PING requests a packet with only an ACK: 99 bytes on the link, neither in flight nor in the
/// stream.
#[test]
fn sender_acks() {
    for every in [None, Some(8), Some(1)] {
        let mut flow = transfer();
        flow.ack.ping_every = every;
        let mut s = scenario(1.0, 60, vec![flow]);
        s.link.loss = 0.01;
        let totals = run(&s).flows[0].totals.clone();
        assert_eq!(totals.delivered, 1_000_000);
        assert_eq!(totals.acks > 0, every.is_some(), "{every:?}");
        assert_eq!(totals.wire, totals.sent + 79 * (totals.packets - totals.acks) + 99 * totals.acks);
        assert!(totals.acks_dropped <= totals.dropped);
    }
}

/// RFC 9000 section 13.2.4: with the answer to its PING a receiver knows that its ACK was read, and
/// stops reporting the ranges below. A window of 40 packets loses two. For a round trip ACKs have
/// several ranges, each with a PING here. When ranges were kept until the sender forgot the lost
/// packets, which might arrive late, there would be 110.
#[test]
fn answers_let_a_receiver_forget() {
    let mut flow = quic_flow("name = 'fixed-window'\nwindow = 40");
    (flow.recovery.paced, flow.transfer) = (Paced::Never, Some(1_000_000));
    flow.ack.ping_every = Some(1);
    let mut s = scenario(4.0, 60, vec![flow]);
    s.link.drop = vec![300, 302];
    let totals = run(&s).flows[0].totals.clone();
    assert_eq!((totals.delivered, totals.dropped), (1_000_000, 2));
    assert!((15..=25).contains(&totals.acks), "{}", totals.acks);
}

/// HyStart's trains are ACKs at most 2 ms apart. On 10 Mbit/s ACKs of single packets are 1.2 ms
/// apart, of pairs 2.4 ms. With Linux's quick ACKs CUBIC leaves slow start at 63 segments on the
/// wire, whatever the queue; a packet or two later here.
#[test]
fn quick_acks_make_trains() {
    let window = |bdp, quick_acks| {
        let mut flow = tcp_flow("name = 'cubic'\nslow-start = 'hystart'");
        flow.ack.quick_acks = quick_acks;
        run(&scenario(bdp, 5, vec![flow])).flows[0].slow_start_window / 1448
    };
    for bdp in [1.0, 4.0] {
        assert!((63..=65).contains(&window(bdp, true)), "{bdp} BDP");
        assert!(window(bdp, false) > 150, "{bdp} BDP");
    }
}

/// Two congestion events leave a quarter of the largest window of slow start, plus its growth
/// between them. Without any event there is no smallest window.
#[test]
fn windows_of_the_first_slow_start() {
    let mut flow = quic_flow("name = 'new-reno'");
    flow.transfer = Some(60_000);
    let out = run(&scenario(4.0, 60, vec![flow]));
    // Two round trips have been acknowledged when the rest leaves.
    assert!((25_040..=50_080).contains(&out.flows[0].slow_start_window));
    assert_eq!(out.flows[0].least_window, None);
    let out = run(&scenario(1.0, 1, vec![quic_flow("name = 'new-reno'")]));
    let flow = &out.flows[0];
    assert_eq!(flow.stats.loss_events, 2, "QUIC's exit: a retransmission is lost too");
    let quarter = flow.slow_start_window / 4;
    let least = flow.least_window.unwrap();
    assert!((quarter..quarter + 2 * 1252).contains(&least), "{least} of {quarter}");
}

/// A window that is fixed, or always at its minimum, is never reduced, whatever is lost. Half of
/// these reductions are in each half of the run.
#[test]
fn reductions_are_those_of_the_window() {
    let lossy = |controller: &str| {
        let mut s = scenario(4.0, 20, vec![quic_flow(controller)]);
        s.link.loss = 0.1;
        let half = Time::from_millis(10_000);
        s.windows = vec![("a".into(), Time::ZERO, half), ("b".into(), half + Duration(1), Time::NEVER)];
        run(&s)
    };
    let fixed = lossy("name = 'fixed-window'\nwindow = 10");
    let flow = &fixed.flows[0];
    assert_eq!((flow.reductions, flow.least_window), (0, None));
    assert!(flow.stats.loss_events > 100, "{:?}", flow.stats);
    let out = lossy("name = 'new-reno'");
    let (flow, windows) = (&out.flows[0], out.windows.iter().map(|w| w.flows[0].totals.reductions));
    assert_eq!(windows.sum::<u64>(), flow.reductions);
    let events = flow.stats.loss_events + flow.stats.collapses;
    assert!((10..events).contains(&flow.reductions), "{} of {events}", flow.reductions);
}

/// Packets that arrive early make those they overtake look lost to a packet threshold of three.
/// BBRv1's rate does not suffer, but its goodput does: two in five packets are retransmissions. A
/// sender whose threshold adapts to late arrivals, as in google/quiche and lsquic, keeps both.
#[test]
fn late_acks_cost_repeats_and_not_rate() {
    let measured = |threshold: Option<u64>, most: Option<u64>| {
        let mut flow = quic_flow("name = 'bbr1'");
        (flow.recovery.packet_threshold, flow.recovery.max_packet_threshold) = (threshold, most);
        let mut s = scenario(2.0, 30, vec![flow]);
        s.link.rate = RateModel::Constant(units::Rate(50_000_000));
        s.link.limit = Limit::Bytes(units::Bytes(2 * 50_000_000 / 8 / 20));
        s.link.reorder = Some(Reorder { every: 50, by: Duration::from_millis(8) });
        let out = run(&s);
        (out.flows[0].totals.wire as f64 * 8e-6 / 30.0, goodput(&out, 0))
    };
    let (sent, alone) = measured(None, None);
    let (rate, repeated) = measured(Some(3), None);
    let (_, adapted) = measured(Some(3), Some(10_000));
    assert!(rate > 0.98 * sent, "{rate} and {sent}");
    assert!(repeated < 0.65 * alone, "{repeated} and {alone}");
    assert!(adapted > 0.98 * alone, "{adapted} and {alone}");
}

/// A number is skipped with probability 1/100, and never within 100 of the last: one in 200 on
/// average. Where packets keep their order a missing number is no loss, and the packet after it is
/// acknowledged at once.
#[test]
fn numbers_left_out() {
    let numbers = |skip| {
        let mut flow = transfer();
        (flow.recovery.skip_numbers, flow.transfer) = (skip, Some(20_000_000));
        flow.algorithm = algorithm("name = 'fixed-window'\nwindow = 20");
        let mut s = scenario(1.0, 60, vec![flow]);
        s.trace = true;
        let out = run(&s);
        let stats = &out.flows[0].stats;
        assert_eq!((stats.lost(), stats.retransmissions, out.flows[0].delivered), (0, 0, 20_000_000));
        let trace = out.flows[0].trace.as_ref().unwrap();
        let sent =
            trace.iter().filter_map(|(_, e)| if let Event::Sent { pn, .. } = e { Some(*pn) } else { None });
        let answers = trace.iter().filter(|(_, e)| matches!(e, Event::Acked(_))).count();
        (sent.collect::<Vec<_>>(), answers)
    };
    let ((all, answers), (gaps, with_gaps)) = (numbers(None), numbers(Some(100)));
    assert!(all.iter().copied().eq(0..all.len() as u64));
    assert_eq!(gaps.len(), all.len());
    let out: Vec<u64> = gaps.windows(2).filter(|two| two[1] > two[0] + 1).map(|two| two[0] + 1).collect();
    assert_eq!(gaps.last().unwrap() + 1, (gaps.len() + out.len()) as u64, "one at a time");
    let expected = all.len() as f64 / 200.0;
    // The standard deviation of a gap with probability 1/100 is 100, so the number of gaps varies
    // by half its square root.
    assert!((out.len() as f64 - expected).abs() < 1.5 * expected.sqrt(), "{} {expected}", out.len());
    assert!(out.windows(2).all(|two| two[1] - two[0] > 100), "{out:?}");
    // Half of them would have been acknowledged anyway, and the timer's ACKs come at other packets.
    let more = (with_gaps - answers) as f64;
    assert!((0.1..0.6).contains(&(more / out.len() as f64)), "{more} of {}", out.len());
}
