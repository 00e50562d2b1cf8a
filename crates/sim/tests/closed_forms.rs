//! The simulator against formulas.

mod common;
use common::*;

/// Throughput = window / RTT below saturation, within 0.1 % (Little's law).
#[test]
fn fixed_window_is_window_per_rtt() {
    for packets in [1u64, 5, 10, 20, 30] {
        let mut flow = quic_flow(&format!("name = 'fixed-window'\nwindow = {packets}"));
        flow.recovery.paced = false;
        flow.ack.ack_every = 1;
        let s = scenario(4.0, 60, vec![flow]);
        let out = run(&s);
        // Unpaced, the window travels as one burst: each packet's RTT is base + its own transmission.
        let rtt = 0.05 + 1294.0 * 8.0 / 10e6;
        let expected = packets as f64 * 1215.0 * 8e-6 / rtt;
        let got = goodput(&out, 0);
        assert!((got / expected - 1.0).abs() < 1e-3, "{packets}: {got} for {expected}");
    }
}
#[test]
fn look() {
    for (n, bdp) in [("new-reno", 4.0), ("new-reno", 1.0)] {
        for f in [quic_flow, tcp_flow] {
        let mut flow = f(&format!("name = '{n}'"));
        flow.transfer = Some(100_000_000);
        let s = scenario(bdp, 200, vec![flow]);
        let out = run(&s);
        let r = &out.flows[0];
        println!("{n} {bdp} goodput {:.3} rtt {:.1} std {:.1} drop {} sent {} lost {:?} end {} events {}", goodput(&out,0), r.totals.rtt.mean_ms(), r.totals.rtt.std_ms(), r.totals.dropped, r.totals.packets, r.stats, out.end.as_secs_f64(), out.events);
        }
    }
}
