use super::*;
use crate::testing::fixtures::{acked, congestion, path};
use crate::{Ack, Cause, Controller, Detection, Lost, Sent};
use crate::{AckedPacket, LostPacket};
use units::{Duration, Rate, Time};

pub(crate) const MTU: u64 = 1200;
const RTT: Duration = Duration::from_millis(100);

fn near(a: f64, b: f64, tolerance: f64) {
    assert!((a - b).abs() <= tolerance, "{a} is not {b}");
}

fn packets(cc: &CubicPicoquic) -> f64 {
    cc.cwin as f64 / MTU as f64
}

/// A controller with a window of `cwin` packets and this last maximum. 1000 packets are sent, none
/// acknowledged.
pub(crate) fn with(params: Params, cwin: u64, w_last_max: f64) -> CubicPicoquic {
    let mut cc = CubicPicoquic::new(params, path(MTU));
    cc.cwin = cwin * MTU;
    cc.curve.w_last_max = w_last_max;
    sent(&mut cc, 1000);
    cc
}

/// Sends packets up to this number.
pub(crate) fn sent(cc: &mut dyn Controller, pn: u64) {
    cc.on_sent(&Sent { now: Time::ZERO, pn, bytes: MTU, bytes_in_flight: 2 * MTU, app_limited: false });
}

/// Plays an ACK of one packet with `ce` new marks.
pub(crate) fn ack(cc: &mut dyn Controller, now: Time, pn: u64, ce: u64) {
    let packet = AckedPacket { pn, bytes: MTU, sent: now, received: None, before_reduction: false };
    cc.on_ack(&Ack { now, packets: &[packet], ce, ..acked(MTU) });
}

fn lose(cc: &mut CubicPicoquic, now: Time, pns: &[u64]) {
    let packets: Vec<_> = pns
        .iter()
        .map(|&pn| LostPacket {
            pn,
            bytes: MTU,
            sent: Time::ZERO,
            detection: Detection::PacketThreshold,
            tx_in_flight: 0,
            lost_at_send: 0,
            app_limited: false,
        })
        .collect();
    cc.on_lost(&Lost { now, packets: &packets, total_lost: 0, delivered: 0, bytes_in_flight: 0 });
}

/// (a) W_cubic(0) = 7/8 W_max, and W_max at K, for the table of K.
#[test]
fn curve() {
    for (w, k) in [(10, 1.462), (50, 2.5), (100, 3.15), (1000, 6.786), (10_000, 14.62)] {
        let mut cc = with(Params::default(), w, 0.0);
        cc.event(Time::ZERO, Event::Loss);
        near(cc.curve.k, k, 5e-4);
        near(packets(&cc), 0.875 * w as f64, 1e-3);
        let at_k = Time::ZERO + Duration::from_secs_f64(cc.curve.k);
        ack(&mut cc, at_k, 1000, 0);
        near(packets(&cc), w as f64, 1.0);
    }
}

/// The curve from a maximum of 100 packets, with one ACK at each time and no look-ahead.
#[test]
fn curve_in_time() {
    let table = [(1, 96.03), (2, 99.39), (3, 100.0), (4, 100.25), (5, 102.53), (8, 145.64), (10, 228.58)];
    for (s, w) in table {
        let mut cc = with(Params::default(), 100, 0.0);
        cc.event(Time::ZERO, Event::Loss);
        ack(&mut cc, Time::from_millis(s * 1000), 1000, 0);
        near(packets(&cc), w, 6e-3);
    }
}

/// (b), (c): the reduction without and with fast convergence, and from slow start.
#[test]
fn reductions() {
    for (cwin, w_last_max, w_max, left) in
        [(100, 100.0, 100.0, 87.5), (80, 100.0, 70.0, 61.25), (100, f64::INFINITY, 87.5, 76.5625)]
    {
        let mut cc = with(Params::default(), cwin, w_last_max);
        cc.event(Time::ZERO, Event::Loss);
        near(cc.curve.w_max, w_max, 1e-9);
        near(cc.curve.w_last_max, cwin as f64, 1e-9);
        near(packets(&cc), left, 1e-3);
        near(cc.curve.w_reno, cwin as f64 / 2.0 * MTU as f64, 1e-9);
    }
}

/// Equation 1: 80 packets after a maximum of 100, and the first mark at picoquic's initial window.
/// The curve continues from the window after the mark, and is flat at its centre after K.
#[test]
fn equation_1() {
    for (centre, fast_convergence, left, first) in [
        (Centre::WMax, true, 61.25, 0.765_625),
        (Centre::WMax, false, 70.0, 0.875),
        (Centre::Cwnd, true, 71.25, 0.890_625),
        (Centre::Cwnd, false, 70.0, 0.875),
    ] {
        let params = Params { centre, fast_convergence, ..Params::default() };
        let mut cc = with(params.clone(), 80, 100.0);
        cc.slow_start = false;
        cc.event(Time::ZERO, Event::Mark);
        near(packets(&cc), left, 1e-3);
        ack(&mut cc, Time::ZERO, 1001, 0);
        near(packets(&cc), left, 1e-3);
        let k = Time::ZERO + Duration::from_secs_f64(cc.curve.k);
        ack(&mut cc, k, 1002, 0);
        near(packets(&cc), if centre == Centre::Cwnd { 80.0 } else { cc.curve.w_max }, 1e-2);
        let mut cc = CubicPicoquic::new(params.clone(), path(MTU));
        cc.event(Time::ZERO, Event::Mark);
        near(cc.cwin as f64 / 15_360.0, first, 1e-4);
        // Losses are handled as in picoquic.
        let mut cc = with(params, 80, 100.0);
        cc.event(Time::ZERO, Event::Loss);
        near(packets(&cc), if fast_convergence { 61.25 } else { 70.0 }, 1e-3);
    }
    assert_eq!(Params::equation_1(), Params { centre: Centre::Cwnd, ..Params::default() });
}

/// t counted from the previous avoidance: at K there is no reduction, and later the mark must not
/// enlarge the window.
#[test]
fn old_epoch() {
    let params = Params { mark_epoch: MarkEpoch::Old, ..Params::equation_1() };
    for (seconds, left) in [(0.0, 87.5), (1.0, 96.03), (3.15, 100.0), (8.0, 100.0)] {
        let mut cc = with(params.clone(), 100, 0.0);
        cc.slow_start = false;
        cc.event(Time::ZERO + Duration::from_secs_f64(seconds), Event::Mark);
        near(packets(&cc), left, 1e-2);
    }
}

/// The window becomes less than 7/8 of itself if the maximum is more than four times it. The lower
/// limit is half.
#[test]
fn floor_of_equation_3() {
    let mut cc = with(Params { beta: 0.3, ..Params::equation_1() }, 100, 0.0);
    cc.event(Time::ZERO, Event::Mark);
    near(packets(&cc), 50.0, 1e-3);
}

/// (d) in the controller: three losses have no effect, the fourth causes an event that covers the
/// next ones.
#[test]
fn fourth_loss_in_a_row_is_an_event() {
    let mut cc = with(Params::default(), 100, 0.0);
    cc.slow_start = false;
    lose(&mut cc, Time::ZERO, &[500, 501, 502]);
    cc.on_congestion(&congestion(Cause::Loss, 0));
    near(packets(&cc), 100.0, 0.0);
    lose(&mut cc, Time::ZERO, &[503, 504, 505]);
    lose(&mut cc, Time::ZERO, &[900]);
    near(packets(&cc), 87.5, 1e-3);
    // A packet sent after the event: the filter is still high, so it causes the next event.
    sent(&mut cc, 1010);
    lose(&mut cc, Time::from_millis(150), &[1001, 1002, 1003, 1004]);
    near(packets(&cc), 87.5 * 0.875 * 0.875, 1e-3);
}

/// Ten losses in a row. In avoidance the six that the event covers do not count, in slow start they
/// do. The newer picoquic responds to the third loss.
#[test]
fn covered_losses_are_not_counted() {
    for (revision, slow_start, rate) in [
        (Revision::B7bf3ded, false, 0.2081),
        (Revision::D199d45b, false, 0.1657),
        (Revision::B7bf3ded, true, 0.3742),
    ] {
        let mut cc = with(Params { revision, ..Params::default() }, 100, 0.0);
        // An event would end slow start, so prevent it.
        cc.slow_start = slow_start;
        if slow_start {
            (cc.recovery_pn, cc.srtt) = (2000, RTT);
        }
        lose(&mut cc, Time::ZERO, &(500..510).collect::<Vec<_>>());
        // With a rate of zero, the long gap before the first loss does not matter.
        near(cc.loss_filter.smoothed, rate, 1e-4);
        near(packets(&cc), if slow_start { 100.0 } else { 87.5 }, 1e-3);
    }
}

/// (e) A mark is an event even without losses. Ten marks in one round trip are one event.
#[test]
fn marks() {
    let mut cc = with(Params::default(), 100, 0.0);
    cc.slow_start = false;
    for i in 0..10 {
        ack(&mut cc, Time::ZERO, 990 + i, 1);
    }
    near(packets(&cc), 87.5, 1e-2);
    ack(&mut cc, Time::ZERO, 1001, 1);
    near(packets(&cc), 87.5 * 0.875 * 0.875, 1e-2);
    let mut blind = with(Params { ecn: false, ..Params::default() }, 100, 0.0);
    ack(&mut blind, Time::ZERO, 990, 1);
    near(packets(&blind), 101.0, 0.0);
}

/// The smallest window after a timeout, and slow start up to ssthresh. A second timeout before
/// anything else was sent counts once. Below twice the smallest window, ssthresh is reset.
#[test]
fn timeouts() {
    for cause in [Cause::Timeout, Cause::PersistentCongestion] {
        let mut cc = with(Params::default(), 100, 0.0);
        for _ in 0..3 {
            cc.on_congestion(&congestion(cause, 0));
            assert_eq!((cc.cwin, cc.ssthresh, cc.slow_start), (3072, 105_000, true));
        }
        for _ in 0..85 {
            ack(&mut cc, Time::ZERO, 1001, 0);
        }
        assert!(!cc.slow_start);
        let mut cc = with(Params::default(), 2, 0.0);
        cc.on_congestion(&congestion(cause, 0));
        assert_eq!((cc.cwin, cc.ssthresh), (3072, u64::MAX));
    }
}

/// Exit from slow start by RTT: the window stays, or loses half of the part beyond 100 ms, and is
/// at the plateau.
#[test]
fn slow_start_left_by_rtt() {
    for (min, kept) in [(40, 1.0), (200, 0.75), (610, (1.0 + 100.0 / 610.0) / 2.0), (1220, 0.75)] {
        let mut cc = with(Params::default(), 100, f64::INFINITY);
        cc.rtt_test.filtered_min = Duration::from_millis(min);
        let now = Time::from_millis(10_000);
        cc.leave_slow_start(now);
        near(packets(&cc), 100.0 * kept, 1e-3);
        near(cc.curve.w_cubic(0.4, now), 100.0 * kept, 1e-3);
        assert!(!cc.control().in_slow_start());
        let early = Time::from_millis(100);
        cc.slow_start = true;
        cc.leave_slow_start(early);
        near(cc.curve.w_cubic(0.4, early), packets(&cc), 1e-3);
    }
}

/// d199d45b: half of the window, all sent packets covered, 7/8 until the next ACK, then the
/// plateau.
#[test]
fn newer_exit_by_rtt() {
    for (min, kept) in [(40, 0.5), (100, 0.5), (200, 0.75)] {
        let params = Params { revision: Revision::D199d45b, ..Params::default() };
        let mut cc = with(params, 100, f64::INFINITY);
        cc.rtt_test.filtered_min = Duration::from_millis(min);
        let now = Time::from_millis(10_000);
        cc.leave_slow_start(now);
        near(packets(&cc), 100.0 * kept * 0.875, 1e-3);
        assert_eq!(cc.recovery_pn, 1001);
        lose(&mut cc, now, &(900..1000).collect::<Vec<_>>());
        near(cc.loss_filter.smoothed, 0.0, 0.0);
        ack(&mut cc, now, 1000, 0);
        near(packets(&cc), 100.0 * kept, 1e-3);
        near(cc.curve.w_reno, 50.0 * kept * MTU as f64, MTU as f64);
    }
}

/// d199d45b: no growth in slow start if the window does not limit the sender.
#[test]
fn newer_slow_start() {
    for (revision, cwnd_limited, grown) in [
        (Revision::B7bf3ded, false, 10.0),
        (Revision::D199d45b, false, 0.0),
        (Revision::D199d45b, true, 10.0),
    ] {
        let mut cc = with(Params { revision, ..Params::default() }, 100, 0.0);
        cc.on_ack(&Ack { cwnd_limited, ..acked(10 * MTU) });
        near(packets(&cc), 100.0 + grown, 0.0);
    }
}

/// d199d45b: an event that ended slow start by mistake is undone completely. Otherwise ssthresh is
/// 3/4 of the window.
#[test]
fn newer_undo() {
    let params = Params { revision: Revision::D199d45b, ..Params::default() };
    let mut cc = with(params.clone(), 100, f64::INFINITY);
    cc.event(Time::ZERO, Event::Loss);
    assert!(!cc.slow_start && packets(&cc) < 77.0);
    cc.on_spurious();
    assert_eq!((cc.slow_start, cc.cwin, cc.ssthresh), (true, 100 * MTU, u64::MAX));
    let mut cc = with(params, 80, 100.0);
    cc.slow_start = false;
    cc.event(Time::ZERO, Event::Loss);
    cc.on_spurious();
    near(packets(&cc), 70.0, 1e-3);
    assert_eq!((cc.slow_start, cc.ssthresh), (false, 60 * MTU));
}

/// Half of peak rate times srtt at once.
#[test]
fn bandwidth_seed() {
    let mut cc = with(Params::default(), 10, f64::INFINITY);
    let rate = crate::RateSample {
        prior_delivered: 0,
        delivered: MTU,
        interval: RTT,
        delivery_rate: Some(Rate(9_600_000)),
        app_limited: false,
        tx_in_flight: MTU,
        lost: 0,
    };
    cc.on_ack(&Ack { rate: Some(rate), ..acked(MTU) });
    // 9.6 Mbit/s * 100 ms = 100 packets.
    near(packets(&cc), 51.0, 1e-9);
}

/// The epoch restarts with the last packet that was sent while the sender was limited.
#[test]
fn limited_time_does_not_count() {
    let mut cc = with(Params::default(), 100, 0.0);
    cc.event(Time::ZERO, Event::Loss);
    let late = Time::from_millis(20_000);
    let packet = AckedPacket { pn: 1001, bytes: MTU, sent: late, received: None, before_reduction: false };
    let limited = Ack { app_limited: true, cwnd_limited: false, ..acked(MTU) };
    cc.on_ack(&Ack { now: late, packets: &[packet], ..limited });
    near(packets(&cc), 87.5, 1e-3);
    ack(&mut cc, late, 1002, 0);
    near(packets(&cc), 87.5, 0.1);
}

/// A spurious event undoes fast convergence, and no more; after a timeout, the whole curve.
#[test]
fn spurious() {
    let mut cc = with(Params::default(), 80, 100.0);
    cc.event(Time::ZERO, Event::Loss);
    near(packets(&cc), 61.25, 1e-3);
    cc.on_spurious();
    near(packets(&cc), 70.0, 1e-3);
    let mut cc = with(Params::default(), 100, 0.0);
    cc.event(Time::ZERO, Event::Loss);
    cc.curve.w_last_max = 0.0;
    let now = Time::ZERO + Duration::from_secs_f64(cc.curve.k);
    ack(&mut cc, now, 1001, 0);
    near(packets(&cc), 100.0, 0.1);
    sent(&mut cc, 1002);
    cc.collapse(now);
    cc.now = now;
    cc.on_spurious();
    near(packets(&cc), 100.0, 0.1);
}
