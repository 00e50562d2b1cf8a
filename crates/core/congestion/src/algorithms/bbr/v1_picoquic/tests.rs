use super::*;
use crate::algorithms::bbr::common::script::{MDS, lost, sample};
use crate::components::picoquic::LossFilter;
use crate::testing::fixtures::{acked, congestion, path, stamped};
use crate::{Ack, Cause, Controller, RateSample};
use units::{Duration, Rate, Time};

const RTT: Duration = Duration::from_millis(40);
/// 10 Mbit/s times 40 ms, in bytes.
const BDP: u64 = 50_000;

fn bbr() -> Bbr1Picoquic {
    Bbr1Picoquic::new(Params::default(), path(MDS))
}

/// A flow in ProbeBW at 10 Mbit/s and 40 ms, with a quantum of 2 packets and 1000 packets sent.
fn known() -> Bbr1Picoquic {
    let mut cc = bbr();
    (cc.filled_pipe, cc.state, cc.rt_prop, cc.srtt) = (true, State::ProbeBw, RTT, RTT);
    cc.btl_bw.sample(&sample(10, 0));
    cc.btl_bw.update(true, 0);
    (cc.window.pacing_rate, cc.window.cwnd, cc.next_pn) = (Rate(10_000_000), 2 * BDP, 1000);
    cc.set_send_quantum();
    cc
}

fn at(ms: u64) -> Ack<'static> {
    Ack { now: Time::from_millis(ms), latest_rtt: Some(RTT), smoothed_rtt: RTT, min_rtt: RTT, ..acked(MDS) }
}

#[test]
fn gains() {
    let mut cc = known();
    let cycle: Vec<f64> = (0..8).map(|index| (cc.cycle.index = index, cc.pacing_gain()).1).collect();
    assert_eq!(cycle, [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.25, 0.75]);
    assert_eq!(cc.cwnd_gain(), 2.0);
    cc.state = State::Drain;
    assert!((cc.pacing_gain() - libm::log(2.0) / 2.0).abs() < 1e-9);
    assert!((cc.cwnd_gain() - 2.0 / libm::log(2.0)).abs() < 1e-9);
}

/// Maximum over ten rounds. Application-limited samples count only if above the previous maximum.
/// At least 3072 bytes per RTT; in Startup, at least half the peak.
#[test]
fn bandwidth() {
    let mut cc = known();
    let mut round = |mbit: u64, app_limited: bool| {
        let rs = RateSample { app_limited, ..sample(mbit, cc.rounds.delivered) };
        cc.update_btl_bw(&Ack { delivered: cc.rounds.delivered + MDS, ..at(0) }, &rs);
        cc.bw().0
    };
    for _ in 0..9 {
        assert_eq!(round(4, false), 10_000_000);
    }
    assert_eq!(round(4, false), 4_000_000);
    assert_eq!(round(1, true), 4_000_000);
    assert_eq!(round(5, true), 5_000_000);
    for _ in 0..11 {
        round(0, false);
    }
    assert_eq!(round(0, false), 3072 * 8 * 25, "per 40 ms");
    cc.peak.rate = Rate(8_000_000);
    cc.state = State::Startup;
    cc.update_btl_bw(&at(0), &sample(1, 0));
    assert_eq!(cc.bw(), Rate(4_000_000));
}

/// 3 packets in 3 ms, sent in 2 ms. Those less than 1 ms apart count as one.
#[test]
fn peak() {
    let mut peak = Peak::default();
    for (ms, sent, delivered, kbit) in [(40, 0, 1, 0), (41, 1, 3, 0), (43, 2, 4, 9_600), (46, 12, 9, 9_600)] {
        let packet = [stamped(delivered, Time::from_millis(sent), 0)];
        peak.update(
            &Ack { packets: &packet, delivered: delivered * MDS, ..at(ms) },
            Duration::from_millis(1),
        );
        assert_eq!(peak.rate, Rate(kbit * 1000), "{ms}");
    }
}

/// Expires after 10 s and 20 times itself without a sample below 1.05 of it.
#[test]
fn minimum_rtt() {
    for (rtt, ms, now, expired) in [
        (42, 9_000, 10_001, true),
        (41, 9_000, 10_001, false),
        (41, 9_000, 19_001, true),
        (39, 1, 10_002, true),
    ] {
        let mut cc = known();
        let latest_rtt = Some(Duration::from_millis(rtt));
        assert!(!cc.update_rt_prop(&Ack { latest_rtt, ..at(ms) }));
        assert_eq!(cc.rt_prop, Duration::from_millis(rtt.min(40)));
        let latest_rtt = Some(Duration::from_millis(60));
        assert_eq!(cc.update_rt_prop(&Ack { latest_rtt, ..at(now) }), expired, "{rtt} {ms} {now}");
        assert_eq!(cc.rt_prop == Duration::from_millis(60), expired);
    }
    let mut cc = known();
    cc.rt_prop = Duration::from_secs(1);
    let later = |s: u64| Ack { latest_rtt: Some(Duration::from_secs(2)), ..at(s * 1000) };
    assert!(!cc.update_rt_prop(&later(20)) && cc.update_rt_prop(&later(21)));
}

/// BDP and 3 quanta of 2 packets. Both conditions apply, unless a congestion event ends the phase.
#[test]
fn phases() {
    let quanta = 6 * MDS;
    for (index, ms, inflight, on_loss, ends) in [
        (0, 40, 0, false, false),
        (0, 41, 0, false, true),
        (0, 1, 0, true, true),
        (6, 41, BDP * 5 / 4 + quanta - 1, false, false),
        (6, 41, BDP * 5 / 4 + quanta, false, true),
        (6, 1, 0, true, false),
        (7, 41, BDP + quanta + 1, false, false),
        (7, 41, BDP + quanta, false, true),
        (7, 40, BDP + quanta, false, false),
        (7, 1, BDP + quanta, true, true),
    ] {
        let mut cc = known();
        (cc.cycle.index, cc.cycle.on_loss, cc.prior_in_flight) = (index, on_loss, inflight);
        assert_eq!(cc.is_next_cycle_phase(Time::from_millis(ms)), ends, "{index} {ms} {inflight} {on_loss}");
    }
}

/// ProbeBW is entered after phase 2. A cycle with more bandwidth is a phase shorter, one without a
/// phase longer.
#[test]
fn cycles() {
    let mut cc = known();
    cc.enter_probe_bw(Time::ZERO);
    assert_eq!((cc.cycle.index, cc.cycle.start), (3, 2));
    let mut starts = Vec::new();
    for increased in [true, true, true, true, false, false, false, false, false, false] {
        cc.btl_bw.increased = increased;
        cc.cycle.index = 7;
        cc.advance_cycle_phase(Time::ZERO);
        assert_eq!(cc.cycle.index, cc.cycle.start);
        starts.push(cc.cycle.start);
    }
    assert_eq!(starts, [3, 4, 5, 5, 4, 3, 2, 1, 0, 0]);
    for (ms, start) in [(100, 2), (101, 1), (350, 3), (610, 5), (2000, 5)] {
        cc.rt_prop = Duration::from_millis(ms);
        cc.enter_probe_bw(Time::ZERO);
        assert_eq!(cc.cycle.start, start, "{ms}");
    }
}

#[test]
fn send_quantum() {
    let mut cc = bbr();
    for (kbit, quantum) in [
        (1_199, MDS),
        (1_200, 2 * MDS),
        (23_999, 2 * MDS),
        (24_000, 3_000),
        (100_000, 12_500),
        (900_000, 65_536),
    ] {
        cc.window.pacing_rate = Rate(kbit * 1000);
        cc.set_send_quantum();
        assert_eq!(cc.control().send_quantum, Some(quantum), "{kbit}");
    }
}

/// 2 BDP and 3 quanta without rounding. At least four packets, and four in ProbeRTT.
#[test]
fn window() {
    let mut cc = known();
    cc.update_control_parameters(&acked(MDS));
    assert_eq!(cc.window.cwnd, 2 * BDP + MDS, "by what is acknowledged");
    cc.update_control_parameters(&acked(20 * MDS));
    assert_eq!(cc.window.cwnd, 2 * BDP + 6 * MDS);
    cc.window.cwnd = MDS;
    cc.update_control_parameters(&acked(MDS));
    assert_eq!(cc.window.cwnd, 4 * MDS);
    cc.state = State::ProbeRtt;
    cc.update_control_parameters(&acked(20 * MDS));
    assert_eq!(cc.window.cwnd, 4 * MDS);
}

/// Returns the window after an ACK with a mark whose newest packet is `pn`.
fn marked(cc: &mut Bbr1Picoquic, ms: u64, pn: u64) -> u64 {
    let packets = [stamped(pn, Time::ZERO, 0)];
    cc.on_ack(&Ack { ce: 1, packets: &packets, acked: 0, ..at(ms) });
    cc.window.cwnd
}

/// Half the window, except for packets sent before, marks within an RTT, and a phase that ends
/// early anyway.
#[test]
fn marks() {
    let mut cc = known();
    assert_eq!(marked(&mut cc, 100, 999), BDP);
    assert!(cc.cycle.on_loss);
    cc.next_pn = 2000;
    assert_eq!(marked(&mut cc, 300, 1500), BDP, "the phase is to end");
    cc.cycle.on_loss = false;
    assert_eq!(marked(&mut cc, 139, 1500), BDP, "within srtt");
    assert_eq!(marked(&mut cc, 140, 999), BDP, "sent before");
    assert_eq!(marked(&mut cc, 140, 1000), BDP / 2);
    let mut blind = known();
    blind.params.ecn = false;
    assert_eq!(marked(&mut blind, 100, 999), 2 * BDP);
}

/// Any mark ends Startup, whatever the RTT.
#[test]
fn a_mark_ends_startup() {
    let mut cc = bbr();
    assert_eq!(marked(&mut cc, 100, 5), 7_680);
    assert_eq!((cc.state, cc.filled_pipe, cc.cycle.on_loss), (State::Drain, true, false));
}

/// The other half of the window returns after a window of ACKs.
#[test]
fn half_is_soon_back() {
    let mut cc = known();
    cc.update_control_parameters(&acked(20 * MDS));
    let full = cc.window.cwnd;
    marked(&mut cc, 100, 999);
    for _ in 0..full.div_ceil(2 * MDS) {
        assert!(cc.window.cwnd < full);
        cc.update_control_parameters(&acked(MDS));
    }
    assert_eq!(cc.window.cwnd, full);
}

/// The fourth loss in a row is the first to count. A timeout leaves 3072 bytes and follows any
/// event but a timeout.
#[test]
fn losses_and_timeouts() {
    let mut cc = known();
    cc.loss_filter = LossFilter::new(0.2, 0.0625, 32);
    cc.on_lost(&lost(&[1001, 1002, 1003], MDS).batch());
    assert_eq!(cc.window.cwnd, 2 * BDP);
    cc.on_lost(&lost(&[1004], MDS).batch());
    assert_eq!(cc.window.cwnd, BDP);
    cc.on_congestion(&congestion(Cause::Loss, MDS));
    assert_eq!(cc.window.cwnd, BDP, "the sender's event has no effect here");
    cc.on_congestion(&congestion(Cause::Timeout, MDS));
    assert_eq!(cc.window.cwnd, 3_072);
    cc.window.cwnd = BDP;
    cc.on_congestion(&congestion(Cause::Timeout, MDS));
    assert_eq!(cc.window.cwnd, BDP, "a timeout after a timeout");
}

/// 4 packets for 200 ms and a round, then ProbeBW with the old window.
#[test]
fn probe_rtt() {
    let mut cc = known();
    cc.update_control_parameters(&acked(20 * MDS));
    let (full, mut delivered) = (cc.window.cwnd, 0);
    let mut round = |cc: &mut Bbr1Picoquic, ms, inflight| {
        let (rate, latest_rtt) = (Some(sample(10, delivered)), Some(Duration::from_millis(50)));
        delivered += MDS;
        cc.on_ack(&Ack { rate, latest_rtt, delivered, bytes_in_flight: inflight, ..at(ms) });
        cc.state
    };
    assert_eq!(round(&mut cc, 10_000, BDP), State::ProbeBw);
    assert_eq!(round(&mut cc, 10_001, BDP), State::ProbeRtt);
    assert_eq!(cc.control().cwnd, 4 * MDS);
    for ms in [10_050, 10_100, 10_250] {
        assert_eq!(round(&mut cc, ms, 4 * MDS), State::ProbeRtt);
    }
    assert_eq!(round(&mut cc, 10_251, 4 * MDS), State::ProbeBw);
    assert!(cc.control().cwnd >= full);
}

/// Parameters outside all bounds may be useless, but never cause a panic.
#[test]
fn absurd_parameters_do_not_panic() {
    let params = Params {
        high_gain: f64::MAX,
        bw_filter_len: 0,
        cycle_entry: u64::MAX,
        cycle_max_start: u64::MAX,
        target_rtt: Duration::ZERO,
        probe_rtt_rtts: f64::MAX,
        min_pipe_cwnd: u64::MAX,
        offload_quanta: u64::MAX,
        ..Params::default()
    };
    let mut cc = Bbr1Picoquic::new(params, path(MDS));
    for i in 0..200 {
        cc.on_lost(&lost(&[i], MDS).batch());
        let (rate, now) = (Some(sample(10, i * MDS)), Time::from_millis(i * 100));
        cc.on_ack(&Ack { now, rate, delivered: (i + 1) * MDS, ce: i % 2, ..acked(MDS) });
        cc.on_congestion(&congestion(Cause::Timeout, MDS));
    }
}
