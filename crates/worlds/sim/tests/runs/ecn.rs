//! ECN from the sender's ECT mark over the link's AQM to the receiver's counts and the sender's
//! response.

use crate::common::*;

use congestion::Cause;
use link::aqm::{codel, dual_pi2, fq_codel, pie, red};
use link::{Aqm, Limit, Reorder, Threshold};
use scenario::trace::Event;
use scenario::{FlowConfig, Outcome, Scenario};
use units::{Bytes, Duration, Ecn, Time};

const MS: Duration = Duration::from_millis(1);

fn marking(mut flow: FlowConfig) -> FlowConfig {
    flow.recovery.ecn = Ecn::Ect0;
    flow
}

fn codel() -> Aqm {
    Aqm::Codel(codel::Params::default())
}

/// Marks all packets that find more than half of the buffer, drops none.
fn half() -> Aqm {
    Aqm::Red(red::Params::mark_above(Threshold::OfLimit(0.5)))
}

/// Returns a scenario with four BDP of buffer, so that only the AQM acts.
fn managed(aqm: Aqm, seconds: u64, flows: Vec<FlowConfig>) -> Scenario {
    let mut s = scenario(4.0, seconds, flows);
    s.link.aqm = aqm;
    s
}

fn from_second(mut s: Scenario, from: u64) -> Scenario {
    s.measure = Some((Time::from_millis(1000 * from), Time::ZERO + s.duration));
    s
}

/// Returns the mean time in the queue and in transmission, in ms.
fn queue_ms(out: &Outcome, i: usize) -> f64 {
    out.flows[i].totals.queue_delay.mean_ms()
}

fn run_checked(s: &Scenario) -> Outcome {
    s.link.check().unwrap();
    run(s)
}

/// The counters over time never fall, and end at those of the whole run.
#[test]
fn losses_and_marks_over_time() {
    let flows = vec![marking(quic_flow("name = 'cubic'")), quic_flow("name = 'cubic'")];
    let mut s = managed(codel(), 5, flows);
    s.series = Some(MS * 10);
    let out = run_checked(&s);
    for (flow, series) in out.flows.iter().zip(&out.series.flows) {
        let totals = [(&series.lost_packets, flow.stats.lost()), (&series.ce_packets, flow.ecn.ce)];
        for (column, total) in totals {
            let counts = column.to_vec();
            assert!(counts.windows(2).all(|pair| pair[0] <= pair[1]), "{counts:?}");
            assert_eq!(counts.last(), Some(&(total as f64)));
        }
    }
    assert!(out.flows[0].ecn.ce > 0 && out.flows[1].stats.lost() > 0);
}

/// Debug builds compare the totals of every ACK with the packets that arrived (`receiving_end.rs`).
/// Here, under loss, reordering, jitter and one ACK for ten packets, the marks that arrive are
/// those the link made. None is invented, none is lost except with its packet, and validation
/// succeeds.
#[test]
fn counts_are_exact() {
    for flow in [quic_flow("name = 'cubic'"), tcp_flow("name = 'tcp-reno'")] {
        for ack_every in [1, 2, 10] {
            let mut flow = marking(flow.clone());
            flow.ack.ack_every = ack_every.into();
            let mut s = managed(half(), 60, vec![flow.clone(), flow]);
            s.link.limit = Limit::Packets(48);
            s.link.loss = 0.001;
            s.link.jitter = MS * 2;
            s.link.reorder = Some(Reorder { every: 97, by: MS * 8 });
            let out = run_checked(&s);
            let ce: u64 = out.flows.iter().map(|f| f.ecn.ce).sum();
            let under_way = out.link.admitted.packets - out.link.delivered.packets;
            let marked = out.link.marked.packets;
            assert!(
                marked > 100 && ce <= marked && marked - ce <= under_way,
                "{ce} of {marked}, {under_way}"
            );
            for f in &out.flows {
                assert_eq!(f.totals.ce, f.ecn.ce, "the window is the run");
                // Reordered packets are acknowledged at once.
                let least = f.totals.packets as f64 * 0.95 / ack_every as f64;
                let acks = f.totals.feedback as f64;
                assert!(acks > least && acks < 1.4 * least + 0.2 * f.totals.packets as f64, "{acks} {least}");
                assert!(f.stats.ecn_events > 10, "every {ack_every}: {}", f.stats.ecn_events);
                assert_eq!(f.ecn.ect1, 0);
                let plain = f.stats.sent - f.ecn.ect0 - f.ecn.ce;
                assert!(
                    plain < f.stats.sent / 20,
                    "{plain} of {} packets arrived without a mark",
                    f.stats.sent
                );
            }
        }
    }
}

/// Validation fails on a path that bleaches. From the eleventh packet on, the flow behaves like one
/// without ECN: the same losses, the same reductions, the same bytes.
#[test]
fn bleaching_is_no_ecn() {
    for (flow, validates) in [(quic_flow("name = 'cubic'"), true), (tcp_flow("name = 'tcp-reno'"), false)] {
        let mut bleached = managed(codel(), 60, vec![marking(flow.clone())]);
        bleached.link.bleach = true;
        let (bleached, without) = (run_checked(&bleached), run_checked(&managed(codel(), 60, vec![flow])));
        let f = &bleached.flows[0];
        assert_eq!((f.ecn, bleached.link.marked.packets, f.stats.ecn_events), Default::default());
        assert!(f.stats.loss_events > 20 && bleached.link.dropped_aqm.packets > 20);
        assert_eq!(f.stats.ecn_failures, u64::from(validates));
        let mut stats = f.stats.clone();
        stats.ecn_failures = 0;
        assert_eq!((&stats, &f.totals), (&without.flows[0].stats, &without.flows[0].totals));
        assert_eq!(bleached.link, without.link);
    }
}

/// Every packet is marked while the queue is more than half full, which lasts longer than a round
/// trip. There is still one reduction in each round trip.
#[test]
fn one_reduction_per_round_trip() {
    for flow in [quic_flow("name = 'cubic'"), quic_flow("name = 'new-reno'"), tcp_flow("name = 'tcp-reno'")] {
        let mut s = managed(half(), 60, vec![marking(flow)]);
        s.trace = true;
        let out = run_checked(&s);
        let f = &out.flows[0];
        let reductions: Vec<_> = f
            .trace
            .iter()
            .flatten()
            .filter(|(_, event)| *event == Event::Reduced(Cause::Ecn))
            .map(|(at, _)| *at)
            .collect();
        assert_eq!(reductions.len() as u64, f.stats.ecn_events);
        assert!(reductions.windows(2).all(|pair| pair[1] - pair[0] >= RTT), "{reductions:?}");
        assert!(reductions.len() > 3 && out.link.marked.packets > 5 * f.stats.ecn_events);
        assert_eq!(
            f.stats.loss_events, 0,
            "only the overshoot of slow start reaches the limit, in the same round trip"
        );
    }
}

/// CUBIC alone: drop-tail fills four BDP, each AQM holds the queue near its target, and the link
/// stays busy. Marks lose no packet.
#[test]
fn the_queue_stays_near_its_target() {
    let fq = Aqm::FqCodel(fq_codel::Params::default());
    let (pie, dual) = (Aqm::Pie(pie::Params::default()), Aqm::DualPi2(dual_pi2::Params::default()));
    for (aqm, most) in [(codel(), 8.0), (fq, 8.0), (pie, 22.0), (dual, 22.0)] {
        for ecn in [false, true] {
            let flow = quic_flow("name = 'cubic'");
            let flow = if ecn { marking(flow) } else { flow };
            let out = run_checked(&from_second(managed(aqm.clone(), 120, vec![flow]), 20));
            let (queue, goodput) = (queue_ms(&out, 0), goodput(&out, 0));
            let what = format!("{} ecn {ecn}: {queue:.1} ms, {goodput:.2} Mbit/s", aqm.name());
            assert!(queue > 1.0 && queue < most, "{what}");
            assert!(goodput > 0.9 * 10.0 * 1215.0 / 1294.0, "{what}");
            assert_eq!(out.link.marked.packets > 0, ecn, "{what}");
            // PIE and DualPI2 also drop ECN-capable packets, but only while slow start overloads
            // them.
            assert_eq!(out.flows[0].totals.dropped == 0, ecn, "{what}");
        }
    }
    let out = run_checked(&from_second(managed(Aqm::default(), 120, vec![quic_flow("name = 'cubic'")]), 20));
    assert!(queue_ms(&out, 0) > 100.0);
}

/// A mark has the same effect as a loss: about as many reductions and the same throughput, but no
/// retransmissions.
#[test]
fn marks_reduce_as_loss_does() {
    for name in ["new-reno", "cubic"] {
        let flow = quic_flow(&format!("name = '{name}'"));
        let run = |flow| run_checked(&from_second(managed(codel(), 300, vec![flow]), 20));
        let (lost, marked) = (run(flow.clone()), run(marking(flow)));
        let (l, m) = (&lost.flows[0].stats, &marked.flows[0].stats);
        assert_eq!((l.ecn_events, m.loss_events, m.retransmissions), (0, 0, 0), "{name}");
        let ratio = m.ecn_events as f64 / l.loss_events as f64;
        assert!((0.8..1.25).contains(&ratio), "{name}: {} marks, {} losses", m.ecn_events, l.loss_events);
        assert!((goodput(&marked, 0) / goodput(&lost, 0) - 1.0).abs() < 0.05, "{name}");
        assert!(l.retransmissions > l.loss_events / 2);
    }
}

/// An unresponsive window of four BDP gets half under FQ-CoDel, and nearly everything without it.
#[test]
fn fq_codel_isolates() {
    let flows =
        || vec![quic_flow("name = 'fixed-window'\nwindow = 200"), marking(quic_flow("name = 'cubic'"))];
    let share = |aqm| {
        let out = run_checked(&from_second(managed(aqm, 60, flows()), 10));
        (goodput(&out, 1) / (goodput(&out, 0) + goodput(&out, 1)), queue_ms(&out, 1))
    };
    let (fair, wait) = share(Aqm::FqCodel(fq_codel::Params::default()));
    assert!((0.45..0.55).contains(&fair) && wait < 15.0, "{fair} {wait}");
    assert!(share(codel()).0 < 0.2);
}

/// An L4S flow that keeps its own queue short hardly waits beside CUBIC in the other queue.
#[test]
fn dualpi2_keeps_l4s_short() {
    let mut low = quic_flow("name = 'fixed-window'\nwindow = 5");
    low.recovery.ecn = Ecn::Ect1;
    let aqm = Aqm::DualPi2(dual_pi2::Params::default());
    let out =
        run_checked(&from_second(managed(aqm, 60, vec![low, marking(quic_flow("name = 'cubic'"))]), 10));
    assert!(
        queue_ms(&out, 0) < 5.0 && queue_ms(&out, 1) > 8.0,
        "{} {}",
        queue_ms(&out, 0),
        queue_ms(&out, 1)
    );
}

/// Every packet is delivered, dropped or in flight, with every AQM, with and without ECN. Debug
/// builds check conservation and Little's law at the end of each run. The same seed gives the same
/// run.
#[test]
fn nothing_is_lost_unaccounted() {
    for aqm in Aqm::all() {
        for bdp in [0.2, 4.0] {
            let mut flows = Vec::new();
            for (i, ecn) in [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1].into_iter().enumerate() {
                let mut flow = quic_flow("name = 'cubic'");
                flow.recovery.ecn = ecn;
                flow.start = Time::from_millis(700 * i as u64);
                flows.push(flow);
            }
            let mut s = scenario(bdp, 20, flows);
            s.link.aqm = aqm.clone();
            s.link.loss = 0.001;
            s.link.jitter = MS;
            s.link.burst = Bytes(3000);
            let out = run_checked(&s);
            let sent: u64 = out.flows.iter().map(|f| f.totals.packets).sum();
            let dropped: u64 = out.flows.iter().map(|f| f.totals.dropped).sum();
            assert_eq!((out.link.pushed.packets, out.link.dropped().packets), (sent, dropped), "{aqm:?}");
            assert_eq!(out.link, run_checked(&s).link);
        }
    }
}
