use super::hystart_mvfst::mvfst_thresh;
use super::hystart_plus_plus::rtt_thresh;
use super::*;
use crate::AckedPacket;
use crate::testing::fixtures::{acked, path};
use crate::{Ack, PathInfo};
use units::{Duration, Time};

const MDS: u64 = 1200;

/// Plays `count` ACKs of one packet, `gap` apart, with this RTT. The first starts a round. Returns
/// true if one ended slow start.
fn round(s: &mut SlowStart, start: Time, gap: Duration, rtt: Duration, count: u64, cwnd: u64) -> bool {
    (0..count).any(|i| {
        let (now, round_start) = (start + gap * i, i == 0);
        let ack = Ack { now, round_start, latest_rtt: Some(rtt), ..acked(MDS) };
        s.growth(ack.growth);
        s.ended(&ack, cwnd)
    })
}

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// Plays rounds of ten ACKs, one second apart and so too far apart for a train. Returns the round
/// that ended slow start.
fn rounds(kind: Kind, rtts: &[u64]) -> Option<usize> {
    let mut s = SlowStart::new(kind, path(MDS));
    rtts.iter()
        .enumerate()
        .position(|(i, &rtt)| round(&mut s, Time::from_millis(1000 * i as u64), ms(5), ms(rtt), 10, 20 * MDS))
}

/// RFC 9406 section 4.2: an eighth of the RTT, clamped at both ends.
#[test]
fn thresholds() {
    for (rtt, thresh) in [(5, 4), (10, 4), (32, 4), (40, 5), (80, 10), (128, 16), (300, 16)] {
        assert_eq!(rtt_thresh(ms(rtt)), ms(thresh), "{rtt} ms");
    }
}

/// RFC 9406 section 4.2: 80 ms -> 90 ms enters CSS, which lasts five rounds including the one it
/// began in.
#[test]
fn css_ends_after_five_rounds() {
    assert_eq!(rounds(Kind::HystartPlusPlus, &[80, 90, 90, 90, 90, 90, 90, 90]), Some(6));
    assert_eq!(rounds(Kind::HystartPlusPlus, &[80, 89, 89, 89, 89, 89, 89, 89, 89]), None);
}

/// RFC 9406 section 4.2: CSS grows by a quarter as much, so at most by 1.25^5 = 3.05 times in
/// total.
#[test]
fn css_grows_by_a_quarter() {
    let mut s = SlowStart::new(Kind::HystartPlusPlus, path(MDS));
    round(&mut s, Time::ZERO, ms(5), ms(80), 10, 0);
    assert_eq!(s.growth(MDS), MDS);
    round(&mut s, Time::from_millis(1000), ms(5), ms(90), 10, 0);
    assert_eq!(s.growth(MDS), MDS / 4);
}

/// RFC 9406 section 4.2: an RTT below the baseline resumes slow start.
#[test]
fn jitter_resumes_slow_start() {
    assert_eq!(rounds(Kind::HystartPlusPlus, &[80, 95, 80, 80, 80, 80, 80, 80, 80, 80]), None);
}

/// RFC 9406 section 4.2: fewer than eight samples are ignored.
#[test]
fn seven_samples_are_too_few() {
    let mut s = SlowStart::new(Kind::HystartPlusPlus, path(MDS));
    for (i, rtt) in [80, 160, 320, 640].into_iter().enumerate() {
        round(&mut s, Time::from_millis(1000 * i as u64), ms(5), ms(rtt), 7, 0);
        assert_eq!(s.growth(MDS), MDS);
    }
}

/// RFC 9406 section 4.3: only in the initial slow start.
#[test]
fn only_the_initial_slow_start() {
    let mut s = SlowStart::new(Kind::HystartPlusPlus, path(MDS));
    s.leave();
    for (i, rtt) in [80, 160, 160, 160, 160, 160, 160].into_iter().enumerate() {
        assert!(!round(&mut s, Time::from_millis(1000 * i as u64), ms(5), ms(rtt), 10, 0));
    }
    assert_eq!(s.growth(MDS), MDS);
}

/// RFC 9406 section 4.3: L = 8 without a pacer, also in conservative slow start; infinite with one.
#[test]
fn limit_of_an_unpaced_sender() {
    for (paced, grown) in [(true, [20, 5]), (false, [8, 2])] {
        let mut s = SlowStart::new(Kind::HystartPlusPlus, PathInfo { paced, ..path(MDS) });
        round(&mut s, Time::ZERO, ms(5), ms(80), 10, 0);
        let slow_start = s.growth(20 * MDS);
        round(&mut s, Time::from_millis(1000), ms(5), ms(90), 10, 0);
        assert_eq!([slow_start, s.growth(20 * MDS)], grown.map(|packets| packets * MDS), "{paced}");
    }
    let mut standard = SlowStart::new(Kind::Standard, PathInfo { paced: false, ..path(MDS) });
    assert_eq!(standard.growth(20 * MDS), 20 * MDS);
}

/// picoquic: 7 windows of 7 samples whose smallest is more than a quarter above 80 ms. Exactly a
/// quarter is not enough.
#[test]
fn picoquic_exit() {
    let ends_at = |rtt| {
        let mut s = SlowStart::new(Kind::HystartPicoquic, path(MDS));
        assert!(!round(&mut s, Time::ZERO, ms(5), ms(80), 20, 20 * MDS));
        (0..20).position(|i| round(&mut s, Time::from_millis(200 + 5 * i), ms(5), ms(rtt), 1, 20 * MDS))
    };
    assert_eq!(ends_at(101), Some(12), "7 samples until the smallest of them is high, 6 more");
    assert_eq!(ends_at(100), None);
    let mut s = SlowStart::new(Kind::HystartPicoquic, path(MDS));
    s.leave();
    assert!(!round(&mut s, Time::ZERO, ms(5), ms(80), 20, 0));
    assert!(!round(&mut s, Time::from_millis(200), ms(5), ms(200), 100, 0), "the initial one only");
}

/// Linux: the limit is 80 ms + 80/8 ms. Below 16 packets there is no test.
#[test]
fn linux_delay() {
    assert_eq!(rounds(Kind::Hystart, &[80, 90, 90]), None);
    assert_eq!(rounds(Kind::Hystart, &[80, 91, 91]), Some(1));
    let mut s = SlowStart::new(Kind::Hystart, path(MDS));
    assert!(!round(&mut s, Time::ZERO, ms(5), ms(80), 10, 15 * MDS));
    assert!(!round(&mut s, Time::from_millis(1000), ms(5), ms(200), 10, 15 * MDS));
}

/// Linux: ACKs 2 ms apart for longer than delay_min + 1 ms, or half of that without pacing. ACKs 3
/// ms apart form no train.
#[test]
fn linux_ack_train() {
    let train = |paced, gap, count| {
        let path = PathInfo { paced, ..path(MDS) };
        round(
            &mut SlowStart::new(Kind::Hystart, path),
            Time::from_millis(7),
            ms(gap),
            ms(80),
            count,
            99 * MDS,
        )
    };
    assert!(!train(true, 2, 41), "80 ms of train");
    assert!(train(true, 2, 42), "82 ms of train");
    assert!(!train(false, 2, 21), "40 ms of train, unpaced");
    assert!(train(false, 2, 22), "42 ms of train, unpaced");
    assert!(!train(true, 3, 100) && !train(false, 3, 100));
}

/// Plays rounds of (ACKs, RTT in ms), one second apart. Returns the round that ended slow start.
///
/// Packets are sent 100 ms before their ACKs, so the first ACK of each round ends the previous one.
fn mvfst_rounds(s: &mut SlowStart, cwnd: u64, rounds: &[(u64, u64)]) -> Option<usize> {
    rounds.iter().enumerate().position(|(i, &(acks, rtt))| {
        (0..acks).any(|j| {
            // The last ACK of a round is for a packet sent in it.
            let start = 1000 * i as u64 + 1;
            let sent = Time::from_millis(if j + 1 == acks { start } else { start - 1 });
            let packet = AckedPacket { pn: 0, bytes: MDS, sent, received: None, before_reduction: false };
            let now = Time::from_millis(start + j);
            s.ended(&Ack { now, packets: &[packet], latest_rtt: Some(ms(rtt)), ..acked(MDS) }, cwnd)
        })
    })
}

fn mvfst() -> SlowStart {
    SlowStart::new(Kind::HystartMvfst, path(MDS))
}

/// A sixteenth of the previous minimum, between 4 and 16 ms.
#[test]
fn mvfst_thresholds() {
    for (rtt, thresh) in [(10, 4), (64, 4), (80, 5), (160, 10), (256, 16), (600, 16)] {
        assert_eq!(mvfst_thresh(ms(rtt)), ms(thresh), "{rtt} ms");
        let mut s = mvfst();
        assert_eq!(mvfst_rounds(&mut s, 16 * MDS, &[(8, rtt), (8, rtt + thresh - 1)]), None);
        let mut s = mvfst();
        assert_eq!(
            mvfst_rounds(&mut s, 16 * MDS, &[(8, rtt), (8, rtt + thresh)]),
            Some(1),
            "equal is enough"
        );
    }
}

/// Seven ACKs are too few, however high their RTT. Their minimum is still compared with. Below 16
/// packets slow start continues.
#[test]
fn mvfst_needs_eight_acks() {
    for (cwnd, rounds, ended) in [
        (16, &[(8, 50), (7, 200), (8, 203), (8, 216)][..], Some(3)),
        (16, &[(1, 50), (8, 54)][..], Some(1)),
        (16, &[(7, 50), (7, 60), (7, 70), (7, 80)][..], None),
        (15, &[(8, 50), (8, 60), (8, 70)][..], None),
        (16, &[(8, 50), (8, 53), (8, 56), (8, 59)][..], None),
    ] {
        assert_eq!(mvfst_rounds(&mut mvfst(), cwnd * MDS, rounds), ended, "{rounds:?}");
    }
}

/// The minimum covers the first eight ACKs: a later low sample has no effect, an early one does.
#[test]
fn mvfst_takes_the_first_eight() {
    for (low, ended) in [(7, false), (8, true)] {
        let mut s = mvfst();
        assert_eq!(mvfst_rounds(&mut s, 0, &[(8, 50)]), None);
        let mut sample = |i: u64, cwnd| {
            let (now, rtt) = (Time::from_millis(1000 + i), if i == low { 50 } else { 60 });
            s.ended(&Ack { now, latest_rtt: Some(ms(rtt)), ..acked(MDS) }, cwnd)
        };
        assert!(!(0..9).any(|i| sample(i, 15 * MDS)), "too small a window");
        assert_eq!(sample(9, 16 * MDS), ended, "sample {low} is low");
    }
}

/// After a loss the minimum is kept for the next slow start. After an exit by HyStart it is not.
#[test]
fn mvfst_searches_again() {
    let mut s = mvfst();
    assert_eq!(mvfst_rounds(&mut s, 16 * MDS, &[(8, 50)]), None);
    s.leave();
    assert_eq!(mvfst_rounds(&mut s, 16 * MDS, &[(8, 54)]), Some(0));
    assert_eq!(mvfst_rounds(&mut s, 16 * MDS, &[(8, 90), (8, 95), (8, 101)]), Some(2));
}
