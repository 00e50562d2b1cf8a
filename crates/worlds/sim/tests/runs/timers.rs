//! Means of the timers, against closed forms. With one packet per round trip R there is no
//! variation and no reordering.
//!
//! ```text
//! QUIC   PTO = R + max(4 rttvar, granularity) + max_ack_delay      time threshold beyond R = R / 8
//! TCP    RTO = R + min_rto,   tail loss probe = 2 R + 2 ms         reo_wnd = R / 4
//! ```

use crate::common::*;
use recovery::{Rto, TimeThreshold};
use scenario::trace::Event;
use scenario::{FlowConfig, Scenario, TimerMeans};
use units::{Duration, Time};

fn means(mut flow: FlowConfig) -> (TimerMeans, f64) {
    flow.ack.ack_every = 1.into();
    let mut s = scenario(4.0, 30, vec![flow]);
    s.measure = Some((Time::from_millis(10_000), Time::from_millis(30_000)));
    let totals = &run(&s).flows[0].totals;
    (totals.timers, totals.rtt.mean_ms())
}

fn close(what: &str, got: f64, expected: f64) {
    assert!((got - expected).abs() < 0.01, "{what}: {got} for {expected}");
}

#[test]
fn at_rest() {
    let (quic, rtt) = means(quic_flow("name = 'fixed-window'\nwindow = 1"));
    close("RTT", rtt, 50.0 + 1294.0 * 8.0 / 10e3);
    close("PTO", quic.pto.ms(), rtt + 1.0 + 25.0);
    close("time threshold", quic.reo_wnd.ms(), rtt / 8.0);
    assert!(quic.rto.ms().is_nan());

    let (tcp, rtt) = means(tcp_flow("name = 'fixed-window'\nwindow = 1"));
    close("RTT", rtt, 50.0 + 1500.0 * 8.0 / 10e3);
    close("RTO", tcp.rto.ms(), rtt + 200.0);
    close("TLP", tcp.pto.ms(), 2.0 * rtt + 2.0);
    close("reo_wnd", tcp.reo_wnd.ms(), rtt / 4.0);

    let mut rfc = tcp_flow("name = 'fixed-window'\nwindow = 1");
    (rfc.recovery.rto, rfc.recovery.time_threshold) = (Rto::Rfc6298, TimeThreshold::Off);
    let (rfc, _) = means(rfc);
    close("RTO of RFC 6298", rfc.rto.ms(), 200.0);
    assert!(rfc.reo_wnd.ms().is_nan());
}

/// Events at the receiver's end do not affect the sender's pacer, which recalculates only on events
/// that the sender sees. DCCC begins with a packet each 100 ms. The ACK that raises its rate
/// arrives 75.5 ms after the last packet, and at the new rate enough time has passed. The
/// receiver's delayed ACK, 25 ms before, falls into the time of the old rate.
#[test]
fn the_receiver_does_not_pace() {
    let scenario = Scenario { trace: true, ..scenario(4.0, 1, vec![quic_flow("name = 'dccc'")]) };
    let trace = run(&scenario).flows.remove(0).trace.unwrap();
    let sent = |number| {
        let of = |event: &Event| matches!(event, Event::Sent { pn, .. } if *pn == number);
        trace.iter().find(|(_, event)| of(event)).unwrap().0
    };
    let (at, rate) = trace
        .iter()
        .find_map(|(time, event)| match event {
            Event::Metrics(metrics) if *time > sent(10) => Some((*time, metrics.pacing_rate.unwrap())),
            _ => None,
        })
        .unwrap();
    let earned = rate as f64 / 8.0 * (at - sent(10)).as_secs_f64();
    assert!(earned > 1252.0 && at - sent(10) > Duration::from_millis(75), "{earned} in {}", at - sent(10));
    assert_eq!(sent(11), at);
}
