//! ACK times of a QUIC receiver under options of other stacks than the text of RFC 9000, compared
//! with closed forms.

use crate::common::ms;
use ackclock_recovery::{AckConfig, AckFrame, Clock, OnGap, Receiver};
use units::Ecn;
use units::{Duration, Time};

fn receiver(config: AckConfig, rtt_ms: u64) -> Receiver {
    Receiver::new(config, Clock::default(), Duration::from_millis(rtt_ms))
}

/// Returns the packets, one per millisecond, that are acknowledged at once.
fn at_once(config: &AckConfig, numbers: impl IntoIterator<Item = u64>) -> Vec<u64> {
    let mut receiver = receiver(config.clone(), 50);
    let mut frame = AckFrame::default();
    let mut urgent = Vec::new();
    for (i, pn) in numbers.into_iter().enumerate() {
        let now = ms(i as f64);
        if receiver.on_packet(now, pn, Ecn::NotEct, 0) {
            receiver.write_ack(now, &mut frame);
            urgent.push(pn);
        }
    }
    urgent
}

/// The delay is `min(max-ack-delay, factor * RTT)`, rounded up to whole ticks, at least one: 12.5
/// ms, a quarter of 50 ms, become 13.
#[test]
fn a_share_of_the_rtt() {
    for (factor, tick, rtt, expected) in [
        (None, 0, 50, 25.0),
        (None, 10, 50, 30.0),
        (Some(0.25), 0, 50, 12.5),
        (Some(0.25), 1, 50, 13.0),
        (Some(0.25), 10, 50, 20.0),
        (Some(0.25), 1, 52, 13.0),
        (Some(0.25), 1, 2, 1.0),
        (Some(0.25), 1, 100, 25.0),
        (Some(0.25), 1, 600, 25.0),
        (Some(0.5), 1, 50, 25.0),
    ] {
        let tick = Duration::from_millis(tick);
        let config = AckConfig { delay_factor: factor, timer_tick: tick, ..AckConfig::default() };
        let mut r = receiver(config, rtt);
        assert!(!r.on_packet(ms(7.0), 0, Ecn::NotEct, 0));
        assert_eq!(r.timer(), Some(ms(7.0 + expected)), "{factor:?} of {rtt} ms, ticks of {tick}");
    }
}

/// The delay runs from the first waiting packet; later ones do not extend it.
#[test]
fn armed_once() {
    let config = AckConfig { ack_every: 10.into(), ..AckConfig::default() };
    let mut r = receiver(config, 50);
    for pn in 0..9 {
        assert!(!r.on_packet(ms(pn as f64), pn, Ecn::NotEct, 0));
    }
    assert_eq!(r.timer(), Some(ms(25.0)));
    assert!(r.on_packet(ms(9.0), 9, Ecn::NotEct, 0), "the tenth");
    r.write_ack(ms(9.0), &mut AckFrame::default());
    assert_eq!(r.timer(), None);
}

/// Packets 5 and 12 are missing, and 5 arrives after 14. Once: 6 and 13 reveal a gap, 5 is late,
/// and every tenth of the other packets. All: each packet from 6 on. Off: every tenth only.
#[test]
fn gaps() {
    let numbers = || (0..5).chain(6..12).chain([13, 14, 5]).chain(15..40);
    for (gap, expected) in [
        (OnGap::Off, vec![10, 20, 30]),
        (OnGap::Once, vec![6, 13, 5, 24, 34]),
        (OnGap::All, (6..12).chain([13, 14, 5]).chain(15..40).collect()),
    ] {
        let config = AckConfig { ack_every: 10.into(), immediate_on_gap: gap, ..AckConfig::default() };
        assert_eq!(at_once(&config, numbers()), expected, "{gap:?}");
    }
}

/// With "all", packets after a gap stop being urgent when the gap is filled, or when the sender has
/// resolved the missing packets.
#[test]
fn a_gap_that_ends() {
    let config = AckConfig { ack_every: 10.into(), immediate_on_gap: OnGap::All, ..AckConfig::default() };
    assert_eq!(at_once(&config, [0, 2, 3, 1, 4, 5]), [2, 3, 1]);
    let mut r = receiver(config, 50);
    for (pn, least_unacked, urgent) in [(0, 0, false), (2, 0, true), (3, 0, true), (4, 2, false)] {
        assert_eq!(r.on_packet(Time::ZERO, pn, Ecn::NotEct, least_unacked), urgent, "{pn}");
        if urgent {
            r.write_ack(Time::ZERO, &mut AckFrame::default());
        }
    }
}
