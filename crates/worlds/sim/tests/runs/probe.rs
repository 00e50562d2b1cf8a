//! The ping beside the flows, against closed forms.

use crate::common::{quic_flow, run, scenario};
use scenario::{ProbeConfig, Route, Scenario};
use units::{Duration, Time};

const PING: ProbeConfig = ProbeConfig {
    interval: Duration::from_millis(199),
    size: 84,
    route: Route::ALL,
    back: None,
    rtt: Duration::from_millis(50),
};

/// Transmission times in ms of a full packet of 1294 bytes and of a ping of 84 bytes, at 10 Mbit/s.
const PACKET_MS: f64 = 1.0352;
const PING_MS: f64 = 0.0672;

fn pinged(size: u32, window: u64, queue_bdp: f64) -> scenario::ProbeRecord {
    let mut flow = quic_flow(&format!("name = 'fixed-window'\nwindow = {window}"));
    (flow.ack.ack_every, flow.recovery.paced) = (1.into(), recovery::Paced::Never);
    let measure = Some((Time::from_millis(2000), Time::from_millis(19_950)));
    let scenario = Scenario {
        probe: Some(ProbeConfig { size, ..PING }),
        measure,
        ..scenario(queue_bdp, 20, vec![flow])
    };
    run(&scenario).probe.unwrap()
}

/// A window of W packets above the BDP makes an RTT of W packet times. A ping arrives between two
/// of its packets. On average it therefore waits half a packet less, plus its own transmission.
#[test]
fn waits_in_the_queue_of_a_fixed_window() {
    let record = pinged(84, 80, 2.0);
    let expected = 80.0 * PACKET_MS - PACKET_MS / 2.0 + PING_MS;
    assert!((record.rtt.mean_ms() - expected).abs() < 0.1, "{} ms, not {expected}", record.rtt.mean_ms());
    assert_eq!((record.sent, record.rtt.count(), record.dropped), (90, 90, 0));
}

/// With a window below the BDP the queue is empty or holds one packet.
#[test]
fn an_idle_link_is_its_delay() {
    let record = pinged(84, 10, 2.0);
    assert!((50.0 + PING_MS..50.0 + PING_MS + PACKET_MS).contains(&record.rtt.mean_ms()));
}

/// A window far above the queue's limit keeps it full. A ping as large as the data is dropped like
/// any packet, and a small one still fits where a full packet does not.
#[test]
fn is_dropped_at_a_full_queue() {
    let (large, small) = (pinged(1294, 2000, 1.0), pinged(84, 2000, 1.0));
    assert!(large.dropped > 10 && small.dropped == 0, "{} and {}", large.dropped, small.dropped);
    // The last one may be in flight.
    assert!((large.sent - 1..=large.sent).contains(&(large.dropped + large.rtt.count())));
}
