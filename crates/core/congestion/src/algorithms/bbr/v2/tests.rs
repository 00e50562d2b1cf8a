//! Tests of the signals' effect on the whole controller.

use super::script::{MDS, bbr_with, known, known_with, lost, sample};
use super::*;
use crate::RateSample;
use crate::algorithms::bbr::common::model::INFINITE;
use crate::testing::fixtures::{acked, congestion, path};
use units::{Rate, Time};

#[test]
fn loss_and_its_undoing() {
    let mut cc = known(10, 100);
    cc.bbr.state = State::ProbeBwUp;
    cc.bbr.probe.bw_probe_samples = true;
    cc.bbr.window.cwnd = 240_000;
    let before = cc.bbr.window.cwnd;
    cc.on_lost(&lost(&[5, 6, 7], 100 * MDS).batch());
    cc.on_congestion(&congestion(Cause::Loss, 100 * MDS));
    assert!(cc.bbr.model.bounds.inflight_hi < INFINITE && cc.bbr.window.cwnd < before);
    cc.on_spurious();
    assert_eq!((cc.bbr.model.bounds.inflight_hi, cc.bbr.window.cwnd), (INFINITE, before));
    assert!(!cc.bbr.window.in_recovery);
    cc.on_spurious();
    assert_eq!(cc.bbr.window.cwnd, before, "once");
}

/// mvfst undoes nothing.
#[test]
fn mvfst_has_no_undo() {
    let mut cc = known_with(params::mvfst_values(), 10, 100);
    (cc.bbr.state, cc.bbr.window.cwnd) = (State::ProbeBwCruise, 240_000);
    cc.bbr.model.bounds.inflight_lo = 100_000;
    cc.on_lost(&lost(&[5], 100 * MDS).batch());
    cc.on_congestion(&congestion(Cause::Loss, 100 * MDS));
    cc.bbr.model.bounds.inflight_lo = 70_000;
    cc.on_spurious();
    assert!(cc.bbr.window.in_recovery && cc.bbr.model.bounds.inflight_lo == 70_000);
}

/// Same parameters, other defaults: parameters not given are mvfst's, and either algorithm accepts
/// all of them.
#[test]
fn mvfst_is_bbr2_with_other_values() {
    let read = |text: &str| toml::from_str::<mvfst::Params>(text).expect(text).0;
    let expected = Params { beta: 0.8, initial_window: None, ..params::mvfst_values() };
    assert_eq!(read("beta = 0.8\ninitial-window = 'auto'"), expected);
    let plain: Params = toml::from_str("beta = 0.8").expect("reads");
    assert_eq!(plain, Params { beta: 0.8, ..Params::default() });
    let written = toml::to_string(&mvfst::Params(expected.clone())).expect("writes");
    assert_eq!(read(&written), expected);
    assert_eq!(mvfst::Params::DOCS.len(), Params::DOCS.len());
    assert!(toml::from_str::<mvfst::Params>("probe-rtt-interval = 'never'").is_err());
}

/// Marks on 3 of 100 packets end UP like losses. With `ecn = false` they have no effect.
#[test]
fn marks_count_as_losses() {
    for ecn in [true, false] {
        let mut cc = known_with(Params { ecn, ..Params::default() }, 10, 100);
        cc.bbr.state = State::ProbeBwUp;
        cc.bbr.probe.bw_probe_samples = true;
        // The first ACK ends a round, and the count with it.
        for (ce, delivered) in [(9, 120_000), (1, 121_200), (2, 122_400)] {
            assert_eq!(cc.bbr.model.bounds.inflight_hi, INFINITE);
            let tx_in_flight = if ce == 9 { 1000 * MDS } else { 100 * MDS };
            let rs = RateSample { tx_in_flight, ..sample(10, 0) };
            cc.on_ack(&Ack { ce, rate: Some(rs), delivered, ..acked(MDS) });
        }
        assert_eq!(cc.bbr.model.bounds.inflight_hi < INFINITE, ecn);
    }
}

/// After an idle time: the estimated rate at once, without the phase's gain.
#[test]
fn restart_from_idle() {
    let mut cc = known(10, 100);
    cc.bbr.state = State::ProbeBwUp;
    let sent = |bytes_in_flight, app_limited| Sent {
        now: Time::from_millis(7000),
        pn: 1,
        bytes: MDS,
        bytes_in_flight,
        app_limited,
    };
    cc.on_sent(&sent(2 * MDS, true));
    cc.on_sent(&sent(MDS, false));
    assert!(!cc.bbr.idle_restart);
    cc.on_sent(&sent(MDS, true));
    assert!(cc.bbr.idle_restart);
    assert_eq!(cc.control().pacing_rate, Some(Rate(9_900_000)));
    cc.on_ack(&acked(MDS));
    assert!(!cc.bbr.idle_restart);
}

#[test]
fn an_ack_without_sample_changes_no_estimate() {
    let mut cc = known(10, 100);
    cc.bbr.state = State::ProbeBwUp;
    cc.on_ack(&acked(MDS));
    assert_eq!(cc.bbr.model.rounds.count, 0);
    assert_eq!((cc.bbr.state, cc.bbr.model.max_bw()), (State::ProbeBwUp, Rate(10_000_000)));
}

#[test]
fn the_seed_decides_the_wait() {
    let wait = |seed| {
        let mut cc = Bbr2::new(Params::default(), PathInfo { seed, ..path(MDS) });
        cc.start_probe_bw_down(Time::ZERO);
        cc.bbr.probe.bw_probe_wait
    };
    assert_eq!(wait(1), wait(1));
    assert_ne!(wait(1), wait(2));
}

/// Parameters outside all bounds may be useless, but never cause a panic.
#[test]
fn absurd_parameters_do_not_panic() {
    let params = Params {
        loss_thresh: 1.0,
        headroom: 9.0,
        max_bw_filter_len: 0,
        probe_up_max_rounds: u64::MAX,
        probe_rounds_spread: u64::MAX,
        min_pipe_cwnd: u64::MAX,
        ..Params::default()
    };
    let mut cc = bbr_with(params);
    cc.bbr.filled_pipe = true;
    for i in 0..200 {
        cc.bbr.probe.bw_probe_samples = true;
        cc.on_lost(&lost(&[i], MDS).batch());
        let rs = sample(10, i * MDS);
        let now = Time::from_millis(i * 100);
        cc.on_ack(&Ack { now, rate: Some(rs), delivered: i * MDS, lost: MDS, ..acked(MDS) });
    }
}
