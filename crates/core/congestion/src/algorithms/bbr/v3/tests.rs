//! Tests of the signals' effect on the whole controller.

use super::script::{MDS, bbr_with, known, known_with, lost, sample};
use super::*;
use crate::algorithms::bbr::common::model::INFINITE;
use crate::testing::fixtures::{acked, congestion};
use units::{Rate, Time};

/// Marks on 3 of 100 packets end UP like losses. With `ecn = false` they have no effect.
#[test]
fn marks_count_as_losses() {
    for ecn in [true, false] {
        let mut cc = known_with(Params { ecn, ..Params::default() }, 10, 100);
        cc.bbr.state = State::ProbeBwUp;
        cc.bbr.probe.bw_probe_samples = true;
        // Marked bytes add up over the round that the first mark begins.
        for (ce, delivered) in [(1, 120_000), (1, 121_200), (1, 122_400)] {
            assert_eq!(cc.bbr.model.bounds.inflight_hi, INFINITE);
            let rs = RateSample { tx_in_flight: 100 * MDS, ..sample(10, 0) };
            cc.on_ack(&Ack { ce, rate: Some(rs), delivered, bytes_in_flight: 1 << 20, ..acked(MDS) });
            cc.on_congestion(&congestion(Cause::Ecn, 100 * MDS));
        }
        assert_eq!(cc.bbr.model.bounds.inflight_hi < INFINITE, ecn);
        assert_eq!(cc.bbr.state == State::ProbeBwDown, ecn);
    }
}

/// A mark while cruising sets the short-term bounds a round later.
#[test]
fn a_mark_is_loss_in_the_round() {
    let mut cc = known(10, 100);
    cc.bbr.state = State::ProbeBwCruise;
    cc.on_ack(&Ack { ce: 1, rate: Some(sample(10, 0)), delivered: 120_000, ..acked(MDS) });
    assert_eq!(cc.bbr.model.bounds.bw_lo, INFINITE);
    cc.on_ack(&Ack { rate: Some(sample(8, 120_000)), delivered: 240_000, ..acked(MDS) });
    assert_eq!(cc.bbr.model.bounds.bw_lo, 10_000_000, "the best of the round");
}

#[test]
fn restart_from_idle() {
    let mut cc = known(10, 100);
    cc.bbr.state = State::ProbeBwUp;
    let now = Time::from_millis(7000);
    cc.on_sent(&Sent { now, pn: 1, bytes: MDS, bytes_in_flight: MDS, app_limited: true });
    assert!(cc.bbr.idle_restart);
    assert_eq!(cc.control().pacing_rate, Some(Rate(9_900_000)));
    cc.on_ack(&Ack { now: Time::from_millis(7100), ..acked(MDS) });
    assert!(!cc.bbr.idle_restart && cc.bbr.state != State::ProbeRtt);
}

/// Parameters outside all bounds may be useless, but never cause a panic.
#[test]
fn absurd_parameters_do_not_panic() {
    let params = Params {
        loss_thresh: 1.0,
        headroom: 9.0,
        extra_acked_filter_len: 0,
        probe_up_max_rounds: u64::MAX,
        probe_rounds_spread: u64::MAX,
        min_pipe_cwnd: u64::MAX,
        drain_max_rounds: u64::MAX,
        ..Params::default()
    };
    let mut cc = bbr_with(params);
    cc.bbr.filled_pipe = true;
    for i in 0..200 {
        cc.bbr.probe.bw_probe_samples = true;
        cc.on_lost(&lost(&[i], MDS).batch());
        let (rs, now) = (sample(10, i * MDS), Time::from_millis(i * 100));
        cc.on_ack(&Ack { now, rate: Some(rs), delivered: i * MDS, lost: MDS, ce: i, ..acked(MDS) });
        cc.on_spurious();
    }
}

/// Model and window are in bytes; four packets stay four packets.
#[test]
fn larger_datagrams() {
    let mut cc = known(10, 100);
    cc.bbr.window.cwnd = 100_000;
    let bdp = cc.bbr.bdp_multiple(cc.bbr.model.bw, 1.0);
    cc.on_path_change(crate::testing::fixtures::path(1400));
    assert_eq!((cc.bbr.window.cwnd, cc.bbr.bdp_multiple(cc.bbr.model.bw, 1.0)), (100_000, bdp));
    cc.bbr.window.cwnd = 4 * 1400;
    cc.on_path_change(crate::testing::fixtures::path(1500));
    assert_eq!((cc.bbr.window.cwnd, cc.bbr.min_pipe_cwnd()), (6000, 6000));
}
