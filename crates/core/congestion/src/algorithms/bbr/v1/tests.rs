//! Tests of equations, state machine and signals.

use super::cycle::Mode;
use super::*;
use crate::AckedPacket;
use crate::RateSample;
use crate::algorithms::bbr::common::aggregation::Arrival;
use crate::algorithms::bbr::common::rounds::NO_SAMPLE;
use crate::algorithms::bbr::common::script::{MDS, lost, sample};
use crate::testing::fixtures::{acked, congestion, path};
use units::Duration;
use units::Rate;

const LINUX_MSS: u64 = 1448;

fn bbr() -> Bbr1 {
    Bbr1::new(Params::default(), path(MDS))
}

/// A flow that has filled the pipe, at this rate (Mbit/s) and RTT (ms). It has been in ProbeBW's
/// probing phase since time zero.
fn known(mbit: u64, rtt: u64) -> Bbr1 {
    let mut cc = bbr();
    cc.full_bw_reached = true;
    cc.mode = Mode::ProbeBw;
    cc.bw_filter.update(0, mbit * 1_000_000);
    let len = cc.params.min_rtt_filter_len;
    cc.min_rtt.update(Time::ZERO, Some(Duration::from_millis(rtt)), len, len);
    cc
}

fn at(ms: u64) -> Ack<'static> {
    Ack { now: Time::from_millis(ms), ..acked(MDS) }
}

fn step(cc: &mut Bbr1, mbit: u64, app_limited: bool) {
    let rs = RateSample { app_limited, ..sample(mbit, cc.rounds.delivered) };
    let delivered = cc.rounds.delivered + MDS;
    cc.on_ack(&Ack { rate: Some(rs), delivered, bytes_in_flight: 1 << 30, ..acked(MDS) });
}

/// 2 / ln 2 and its reciprocal.
#[test]
fn gains() {
    let p = Params::default();
    assert!((p.high_gain - 2.0 / libm::log(2.0)).abs() < 1e-3);
    assert!((p.drain_gain - 0.3466).abs() < 1e-4);
    let mut cc = bbr();
    for (mode, pacing, window) in
        [(Mode::Startup, 2.885, 2.885), (Mode::Drain, 1.0 / 2.885, 2.885), (Mode::ProbeRtt, 1.0, 1.0)]
    {
        cc.mode = mode;
        assert_eq!((cc.pacing_gain(), cc.cwnd_gain()), (pacing, window));
    }
    cc.mode = Mode::ProbeBw;
    let gains: Vec<f64> = (0..8).map(|idx| (cc.cycle.idx = idx, cc.pacing_gain()).1).collect();
    assert_eq!(gains, [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]);
    assert_eq!(gains.iter().sum::<f64>(), 8.0, "on the average at the estimate");
    assert_eq!(cc.cwnd_gain(), 2.0);
}

/// 12 000 bytes per ms times 2.885, and with the first RTT 12 000 bytes per 100 ms.
#[test]
fn initial_pacing_rate() {
    let mut cc = bbr();
    assert_eq!(cc.control().pacing_rate, Some(Rate(276_960_000)));
    cc.on_ack(&acked(MDS));
    assert_eq!(cc.control().pacing_rate, Some(Rate(2_769_600)));
}

/// `bbr_tso_segs_goal` with Linux's usual segments of 1448 bytes: bytes per second >> 10, in whole
/// segments.
#[test]
fn send_quantum() {
    let mut cc = Bbr1::new(Params::default(), path(LINUX_MSS));
    for (kbit, segments) in [
        (1_199, 1),
        (1_200, 2),
        (10_000, 2),
        (35_000, 2),
        (36_000, 3),
        (100_000, 8),
        (142_000, 11),
        (143_000, 12),
        (1_000_000, 45),
    ] {
        cc.window.pacing_rate = Rate(kbit * 1000);
        cc.set_send_quantum();
        let goal = ((kbit * 125) >> 10).min(65_536 - 1 - 320) / LINUX_MSS;
        assert_eq!(segments, goal.max(if kbit < 1_200 { 1 } else { 2 }), "{kbit}: Linux");
        assert_eq!(cc.control().send_quantum, Some(segments * LINUX_MSS), "{kbit}");
    }
}

/// `tcp_update_skb_after_send`: ten packets at once, then send quanta at the pacing rate.
#[test]
fn unpaced_start() {
    let mut cc = Bbr1::new(Params { unpaced_packets: 10, ..Params::default() }, path(MDS));
    cc.window.send_quantum = 2 * MDS;
    for (pn, packets) in [10, 9, 8, 7, 6, 5, 4, 3, 2, 2, 2].into_iter().enumerate() {
        assert_eq!(cc.control().send_quantum, Some(packets * MDS), "{pn}");
        let (now, pn, bytes_in_flight) = (Time::ZERO, pn as u64, (pn as u64 + 1) * MDS);
        cc.on_sent(&Sent { now, pn, bytes: MDS, bytes_in_flight, app_limited: false });
    }
}

/// 10 Mbit/s, packets of 1500 bytes: ceil(2.885 BDP) and three quanta of two segments, rounded to
/// an even number.
///
/// The window doubles up to this target and no further. With 50.15 ms, the RTT of a SYN, Linux's
/// peak is 128.
#[test]
fn startup_window() {
    for (micros, segments) in [(50_150, 128), (51_200, 130), (40_000, 104)] {
        let mut cc = Bbr1::new(Params::default(), path(LINUX_MSS));
        let rate = Rate(10_000_000 / 1500 * LINUX_MSS);
        let (rtt, len) = (Some(Duration::from_micros(micros)), cc.params.min_rtt_filter_len);
        cc.init_pacing_rate(&Ack { latest_rtt: rtt, ..acked(LINUX_MSS) });
        cc.min_rtt.update(Time::ZERO, rtt, len, len);
        cc.bw_filter.update(0, rate.0);
        let bdp = (2.885 * rate.bytes_per_sec() * micros as f64 / 1e6 / LINUX_MSS as f64).ceil() as u64;
        assert_eq!(segments, (bdp + 6).next_multiple_of(2), "Linux");
        for _ in 0..200 {
            let delivered = 1 << 30;
            cc.update_control_parameters(&Ack { delivered, ..acked(2 * LINUX_MSS) }, &NO_SAMPLE);
        }
        assert_eq!(cc.window.cwnd, segments * LINUX_MSS, "{micros}");
    }
}

#[test]
fn bandwidth_of_ten_rounds() {
    let mut cc = bbr();
    step(&mut cc, 10, false);
    for round in 1..=10 {
        assert_eq!(cc.max_bw(), Rate(10_000_000), "{round}");
        step(&mut cc, 4, false);
    }
    assert_eq!(cc.max_bw(), Rate(4_000_000));
    for (mbit, expected) in [(1, 4), (6, 6)] {
        (0..20).for_each(|_| step(&mut cc, mbit, true));
        assert_eq!(cc.max_bw(), Rate(expected * 1_000_000), "application-limited");
    }
}

/// Three flat rounds, then Drain until inflight is at most the BDP and its quanta.
#[test]
fn startup_drain_probe_bw() {
    let mut cc = bbr();
    for mbit in [10, 20, 40, 40, 40] {
        step(&mut cc, mbit, false);
        assert_eq!(cc.mode, Mode::Startup);
    }
    (0..5).for_each(|_| step(&mut cc, 40, true));
    assert_eq!(cc.mode, Mode::Startup, "rounds that the application limits prove nothing");
    step(&mut cc, 40, false);
    assert_eq!(cc.mode, Mode::Drain);
    let bdp = cc.inflight(1.0);
    cc.check_drain(&Ack { bytes_in_flight: bdp + 1, ..at(1) });
    assert_eq!(cc.mode, Mode::Drain);
    cc.check_drain(&Ack { bytes_in_flight: bdp, ..at(1) });
    assert_eq!(cc.mode, Mode::ProbeBw);
}

/// Any phase except the second, each about equally often.
#[test]
fn random_phase() {
    let mut cc = known(10, 100);
    let mut begun = [0; 8];
    for _ in 0..7000 {
        cc.enter_probe_bw(Time::ZERO);
        begun[cc.cycle.idx] += 1;
    }
    assert_eq!(begun[1], 0);
    assert!(begun.iter().enumerate().all(|(i, &n)| i == 1 || (900..1100).contains(&n)), "{begun:?}");
    let phases = |seed| {
        let mut cc = Bbr1::new(Params::default(), PathInfo { seed, ..path(MDS) });
        let mut phase = || (cc.enter_probe_bw(Time::ZERO), cc.cycle.idx).1;
        (0..9).map(|_| phase()).collect::<Vec<_>>()
    };
    assert_eq!(phases(1), phases(1));
    assert_ne!(phases(1), phases(2));
}

/// 10 Mbit/s, 100 ms: 125 000 bytes, with three quanta of two packets 133 200 (111 packets), with
/// UP's two packets 135 600.
#[test]
fn cycle_phases() {
    let probing = {
        let mut cc = known(10, 100);
        cc.window.send_quantum = 2 * MDS;
        cc
    };
    // 1.25 BDP and the quanta are 136.2 packets: 138, and two more.
    assert_eq!(probing.inflight(1.25), 140 * MDS);
    assert_eq!(probing.inflight(1.0), 114 * MDS, "1.0 in the probing phase");
    for (idx, ms, inflight, lost, next) in [
        (0, 100, 140 * MDS, 0, false),
        (0, 101, 140 * MDS - 1, 0, false),
        (0, 101, 140 * MDS, 0, true),
        (0, 101, 0, MDS, true),
        (1, 50, 112 * MDS + 1, 0, false),
        (1, 50, 112 * MDS, 0, true),
        (1, 101, 1 << 30, 0, true),
        (2, 100, 0, MDS, false),
        (2, 101, 1 << 30, 0, true),
    ] {
        let mut cc = known(10, 100);
        cc.window.send_quantum = 2 * MDS;
        cc.cycle.idx = idx;
        cc.update_cycle_phase(&Ack { prior_in_flight: inflight, lost, ..at(ms) });
        assert_eq!(cc.cycle.idx == idx + 1, next, "phase {idx} at {ms} ms, {inflight} in flight");
    }
}

/// 2 BDP and three quanta, an even number of packets. Aggregation is limited to 100 ms of
/// bandwidth.
#[test]
fn window() {
    let mut cc = known(10, 40);
    cc.cycle.idx = 2;
    cc.window.send_quantum = 2 * MDS;
    // 100 000 + 7200 bytes are 89.3 packets.
    for (cwnd, expected) in [(60 * MDS, 61 * MDS), (200 * MDS, 90 * MDS)] {
        cc.window.cwnd = cwnd;
        cc.set_cwnd(&acked(MDS));
        assert_eq!(cc.window.cwnd, expected);
    }
    cc.aggregation.update(&Arrival { now: Time::ZERO, acked: 1 << 20, bw: Rate(1), cwnd: 1 << 20, tick: 0 });
    assert_eq!(cc.ack_aggregation_cwnd(), 125_000);
    cc.params.extra_acked_gain = 0.0;
    assert_eq!(cc.ack_aggregation_cwnd(), 0);
}

/// Without Linux's additions the target is the draft's.
#[test]
fn draft_alone() {
    let mut cc = known(10, 40);
    cc.window.send_quantum = 2 * MDS;
    cc.params.round_up_packets = 1;
    cc.params.probe_up_extra = 0;
    assert_eq!(cc.inflight(1.0), 48 * MDS, "50 000 + 7200 bytes in whole packets");
}

/// One round of conservation, then growth by the acknowledged bytes, then the old window.
#[test]
fn recovery() {
    let mut cc = known(10, 100);
    cc.cycle.idx = 2;
    cc.rounds.delivered = 1_000_000;
    (cc.window.cwnd, cc.window.inflight) = (200 * MDS, 100_000);
    cc.on_congestion(&congestion(Cause::Loss, 103_600));
    assert_eq!(cc.window.cwnd, 101_200);
    let mut ack = |prior_delivered, in_recovery, lost| {
        let rs = sample(10, prior_delivered);
        let ack = Ack { bytes_in_flight: 98_800, in_recovery, lost, delivered: 1_100_000, ..acked(MDS) };
        cc.window.leave_recovery(&ack, &rs);
        cc.set_cwnd(&ack);
        cc.window.cwnd
    };
    assert_eq!(ack(900_000, true, 2 * MDS), 100_000, "in flight and acknowledged");
    assert_eq!(ack(1_000_000, true, 0), 101_200);
    assert_eq!(ack(1_000_000, false, 0), 201 * MDS);
}

#[test]
fn timeout() {
    for cause in [Cause::Timeout, Cause::PersistentCongestion] {
        let mut cc = known(10, 100);
        cc.window.cwnd = 200 * MDS;
        cc.on_congestion(&congestion(cause, 12_000));
        assert_eq!(cc.window.cwnd, MDS, "everything is gone: one packet");
        assert_eq!((cc.max_bw(), cc.full_pipe.full_bw), (Rate(10_000_000), Rate(0)));
        assert!(!cc.window.packet_conservation && cc.window.prior_cwnd == 200 * MDS);
    }
}

#[test]
fn spurious_loss() {
    let mut cc = known(10, 100);
    cc.window.cwnd = 200 * MDS;
    cc.on_lost(&lost(&[5, 6], 100 * MDS).batch());
    cc.on_congestion(&congestion(Cause::Loss, 100 * MDS));
    assert!(cc.window.cwnd < 200 * MDS);
    cc.on_spurious();
    assert_eq!((cc.window.cwnd, cc.window.in_recovery), (200 * MDS, false));
}

/// CE marks and delay have no effect on BBRv1.
#[test]
fn marks_are_ignored() {
    let mut plain = known(10, 100);
    let mut marked = known(10, 100);
    for ms in [10, 20, 30] {
        plain.on_ack(&Ack { rate: Some(sample(10, 0)), ..at(ms) });
        marked.on_ack(&Ack { rate: Some(sample(10, 0)), ce: 1, ..at(ms) });
        marked.on_congestion(&congestion(Cause::Ecn, MDS));
    }
    assert_eq!(format!("{plain:?}"), format!("{marked:?}"));
}

/// One ACK per round of 100 ms with constant `inflight`.
fn round(cc: &mut Bbr1, now: u64, inflight: u64, rtt: u64) -> Mode {
    let rs = sample(10, (now * 1250).saturating_sub(125_000));
    let latest_rtt = Some(Duration::from_millis(rtt));
    let (delivered, bytes_in_flight) = (now * 1250, inflight);
    cc.on_ack(&Ack { latest_rtt, rate: Some(rs), delivered, bytes_in_flight, ..at(now) });
    cc.mode
}

/// No lower RTT for 10 s: 4 packets for 200 ms and a round, then ProbeBW with the old window.
#[test]
fn probe_rtt() {
    let mut cc = known(10, 100);
    cc.window.cwnd = 200 * MDS;
    for ms in (100..=10_000).step_by(100) {
        assert_eq!(round(&mut cc, ms, 125_000, 110), Mode::ProbeBw, "{ms}");
    }
    let before = cc.control().cwnd;
    assert_eq!(round(&mut cc, 10_100, 125_000, 110), Mode::ProbeRtt);
    assert_eq!(cc.control().cwnd, 4 * MDS);
    round(&mut cc, 10_200, 5 * MDS, 110);
    assert_eq!(cc.probe_rtt.done_stamp, None, "still more than four packets in flight");
    for ms in [10_300, 10_400, 10_500] {
        assert_eq!(round(&mut cc, ms, 4 * MDS, 101), Mode::ProbeRtt);
    }
    assert_eq!(round(&mut cc, 10_600, 4 * MDS, 101), Mode::ProbeBw);
    assert!(cc.control().cwnd >= before, "restored");
    assert_eq!(cc.min_rtt.min_rtt, Duration::from_millis(101));
}

/// Without ProbeRTT, the first RTT after 10 s becomes the minimum at once, and the window does not
/// change.
#[test]
fn no_probe_rtt() {
    let mut cc = known(10, 100);
    cc.params.probe_rtt = false;
    for (ms, min_rtt) in [(5_000, 100), (10_000, 100), (10_001, 110), (15_000, 110), (20_002, 110)] {
        assert_eq!(round(&mut cc, ms, 125_000, 110), Mode::ProbeBw, "{ms}");
        assert_eq!(cc.min_rtt.min_rtt, Duration::from_millis(min_rtt), "{ms}");
    }
    assert!(cc.control().cwnd > 4 * MDS);
}

/// Samples that postpone ProbeRTT, 8 s after the minimum of 100 ms. A lower one always does. None
/// of them raises the minimum.
#[test]
fn young_minimum() {
    for (slack, younger) in [
        (None, [true, false, false, false]),
        (Some(0.0), [true, true, false, false]),
        (Some(0.05), [true, true, true, false]),
    ] {
        for (rtt, younger) in [99, 100, 104, 105].into_iter().zip(younger) {
            let mut cc = known(10, 100);
            cc.params.min_rtt_slack = slack;
            round(&mut cc, 8_000, 125_000, rtt);
            assert_eq!(cc.min_rtt.min_rtt, Duration::from_millis(rtt.min(100)));
            let state = round(&mut cc, 10_001, 125_000, 110);
            assert_eq!(state == Mode::ProbeBw, younger, "{slack:?}: {rtt} ms");
        }
    }
}

/// A sample within the slack on the same ACK that finds the minimum expired is too late (Linux:
/// `filter_expired`).
#[test]
fn too_late_to_be_young() {
    let mut cc = known(10, 100);
    cc.params.min_rtt_slack = Some(0.0);
    assert_eq!(round(&mut cc, 10_001, 125_000, 100), Mode::ProbeRtt);
}

#[test]
fn an_empty_pipe_returns_to_startup() {
    let mut cc = known(10, 100);
    (cc.mode, cc.full_bw_reached) = (Mode::ProbeRtt, false);
    for ms in [100, 200, 301, 402] {
        round(&mut cc, ms, MDS, 110);
    }
    assert_eq!(cc.mode, Mode::Startup);
}

/// The only packet of a round does not replace an expired minimum, but it may lower it.
#[test]
fn delayed_acks() {
    let packet =
        [AckedPacket { pn: 1, bytes: MDS, sent: Time::ZERO, received: None, before_reduction: false }];
    for (rtt, expected) in [(125, 100), (90, 90)] {
        let mut cc = known(10, 100);
        let latest_rtt = Some(Duration::from_millis(rtt));
        cc.update_min_rtt(&Ack { packets: &packet, latest_rtt, ..at(20_000) }, &sample(10, 0));
        assert_eq!(cc.min_rtt.min_rtt, Duration::from_millis(expected));
    }
}

/// After an idle time: the estimated rate at once, and no ProbeRTT for the first ACK.
#[test]
fn restart_from_idle() {
    let mut cc = known(10, 100);
    let now = Time::from_millis(11_000);
    let sent = |bytes_in_flight, app_limited| Sent { now, pn: 1, bytes: MDS, bytes_in_flight, app_limited };
    cc.on_sent(&sent(2 * MDS, true));
    cc.on_sent(&sent(MDS, false));
    assert!(!cc.idle_restart);
    cc.on_sent(&sent(MDS, true));
    assert!(cc.idle_restart);
    assert_eq!(cc.control().pacing_rate, Some(Rate(9_900_000)));
    assert_eq!(round(&mut cc, 11_100, MDS, 110), Mode::ProbeBw);
    assert!(!cc.idle_restart);
}

/// Parameters outside all bounds may be useless, but never cause a panic.
#[test]
fn absurd_parameters_do_not_panic() {
    let params = Params {
        high_gain: f64::MAX,
        bw_filter_len: 0,
        min_pipe_cwnd: u64::MAX,
        round_up_packets: 0,
        offload_quanta: u64::MAX,
        extra_acked_win_rtts: 0,
        extra_acked_windows: 0,
        lt_intvl_min_rtts: 0,
        ..Params::default()
    };
    let mut cc = Bbr1::new(params, path(MDS));
    for i in 0..200 {
        cc.on_lost(&lost(&[i], MDS).batch());
        let (rs, now) = (sample(10, i * MDS), Time::from_millis(i * 100));
        cc.on_ack(&Ack { now, rate: Some(rs), delivered: i * MDS, lost: MDS, ..acked(MDS) });
        cc.on_congestion(&congestion(Cause::Timeout, MDS));
    }
}
