//! ProbeBW, draft section 5.3.3: the cycle DOWN, CRUISE, REFILL, UP, and the long-term bound that
//! it searches for.

use super::{Bbr3, State};
use crate::{Ack, RateSample};
use units::{Rate, Time};

/// Precautionary bandwidth probing, section 5.3.3.6.
#[derive(Clone, Debug, Default)]
pub(super) struct Caution {
    /// Whether the last probe lost too much.
    pub(super) prev_probe_too_high: bool,
    /// Whether the last probe ended at the inflight at which the previous one had lost too much.
    pub(super) prev_probe_precautionary: bool,
}

impl Bbr3 {
    /// `StartProbeBW_REFILL` before a probe without caution.
    pub(super) fn start_probe_bw_refill(&mut self) {
        self.bbr.start_probe_bw_refill();
        self.caution.prev_probe_precautionary = false;
    }

    /// Implements `StartProbeBW_UP`.
    fn start_probe_bw_up(&mut self, now: Time, rs: &RateSample) {
        self.bbr.start_probe_bw_up(now);
        self.full_pipe.reset(rs.delivery_rate.unwrap_or(Rate(0)));
    }

    /// Implements `UpdateProbeBWCyclePhase`.
    pub(super) fn update_probe_bw_cycle_phase(&mut self, ack: &Ack, rs: &RateSample) {
        if !self.bbr.filled_pipe || self.adapt_long_term_model(ack, rs) {
            return;
        }
        match self.bbr.state {
            State::ProbeBwDown | State::ProbeBwCruise
                if self.bbr.is_time_to_probe_bw(ack.now, self.params.probe_max_rounds) =>
            {
                self.start_probe_bw_refill();
            }
            State::ProbeBwDown if self.bbr.is_time_to_cruise(ack.bytes_in_flight) => {
                self.bbr.state = State::ProbeBwCruise;
            }
            State::ProbeBwRefill if self.bbr.model.rounds.start => self.start_probe_bw_up(ack.now, rs),
            State::ProbeBwUp => self.check_time_to_go_down(ack, rs),
            _ => {}
        }
    }

    /// `IsTimeToGoDown` and the actions that follow.
    fn check_time_to_go_down(&mut self, ack: &Ack, rs: &RateSample) {
        let longterm = self.bbr.model.bounds.inflight_hi;
        let reached = ack.prior_in_flight.saturating_add(self.bbr.mds) > longterm;
        let precaution = self.caution.prev_probe_too_high && reached;
        if precaution || self.is_probe_up_done(ack, rs) {
            self.caution = Caution { prev_probe_too_high: false, prev_probe_precautionary: precaution };
            self.bbr.start_probe_bw_down(ack.now);
        }
    }

    /// Reports whether UP is over: by a plateau or, in older versions, by the queue
    /// (`probe_up_inflight_gain`).
    fn is_probe_up_done(&mut self, ack: &Ack, rs: &RateSample) -> bool {
        if let Some(gain) = self.params.probe_up_inflight_gain {
            return self.bbr.has_built_queue(ack, gain);
        }
        if ack.cwnd_limited && self.bbr.window.cwnd >= self.bbr.model.bounds.inflight_hi {
            // The bound limits the rate, not the path, so the plateau means nothing.
            self.full_pipe.reset(rs.delivery_rate.unwrap_or(Rate(0)));
        }
        self.full_pipe.full_bw_now
    }

    /// `AdaptLongTermModel`. Returns whether it changed the state.
    fn adapt_long_term_model(&mut self, ack: &Ack, rs: &RateSample) -> bool {
        if self.bbr.model.rounds.start && self.bbr.probe.advance_ack_phase() && self.bbr.state.is_probe_bw() {
            // All bandwidth samples of the cycle have arrived: AdvanceMaxBwFilter.
            self.bbr.model.cycle_count += u64::from(!rs.app_limited);
            if self.caution.prev_probe_precautionary && !self.caution.prev_probe_too_high {
                self.start_probe_bw_refill();
                return true;
            }
        }
        if self.is_inflight_too_high(rs) {
            // Losses have been judged packet by packet. Marks are judged here.
            if self.params.ecn && ack.ce > 0 && self.bbr.probe.bw_probe_samples {
                self.handle_inflight_too_high(ack.now, rs);
            }
        } else {
            self.bbr.raise_inflight_hi(ack, rs, ack.cwnd_limited);
        }
        false
    }

    /// `HandleInflightTooHigh`, once per probe.
    pub(super) fn handle_inflight_too_high(&mut self, now: Time, rs: &RateSample) {
        self.caution.prev_probe_too_high = true;
        self.bbr.probe.bw_probe_samples = false;
        if !rs.app_limited || self.params.cut_when_app_limited {
            self.bbr.cut_inflight_hi(rs, self.bbr.target_inflight());
        }
        if self.bbr.state == State::ProbeBwUp {
            self.bbr.note_ended(State::ProbeBwUp);
            self.bbr.start_probe_bw_down(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::script::{MDS, known, lost, sample};
    use super::*;
    use crate::algorithms::bbr::common::model::INFINITE;
    use crate::testing::fixtures::acked;

    /// 10 Mbit/s times 100 ms, in bytes.
    const BDP: u64 = 125_000;

    fn ack(now: u64, in_flight: u64) -> Ack<'static> {
        Ack {
            now: Time::from_millis(now),
            bytes_in_flight: in_flight,
            prior_in_flight: in_flight,
            ..acked(MDS)
        }
    }

    fn probing_up(cwnd: u64, inflight_longterm: u64) -> Bbr3 {
        let mut cc = known(10, 100);
        cc.bbr.window.cwnd = cwnd;
        cc.bbr.model.bounds.inflight_hi = inflight_longterm;
        cc.start_probe_bw_up(Time::ZERO, &sample(10, 0));
        cc
    }

    /// Three flat rounds, unless the long-term bound limited them.
    #[test]
    fn up_ends_on_a_plateau() {
        for (cwnd_limited, longterm, ends) in
            [(false, INFINITE, true), (true, INFINITE, true), (false, 2 * BDP, true), (true, 2 * BDP, false)]
        {
            let mut cc = probing_up(2 * BDP, longterm);
            for round in 1..=3 {
                assert_eq!(cc.bbr.state, State::ProbeBwUp, "{round}");
                cc.bbr.model.rounds.start = true;
                cc.check_full_bw_reached(&sample(12, 0));
                let ack = Ack { cwnd_limited, ..ack(round * 100, BDP) };
                cc.update_probe_bw_cycle_phase(&ack, &sample(12, 0));
            }
            assert_eq!(cc.bbr.state == State::ProbeBwDown, ends, "{cwnd_limited} {longterm}");
        }
    }

    /// The older condition: more than min_rtt with more than 1.25 BDP and UP's two packets in
    /// flight, without a plateau.
    #[test]
    fn up_ends_when_the_queue_is_there() {
        let enough = BDP * 5 / 4 + 2 * MDS;
        for (gain, now, inflight, flat, ends) in [
            (Some(1.25), 100, enough + 1, false, false),
            (Some(1.25), 101, enough, true, false),
            (Some(1.25), 101, enough + 1, false, true),
            (None, 101, enough + 1, false, false),
            (None, 101, enough + 1, true, true),
        ] {
            let mut cc = probing_up(2 * BDP, INFINITE);
            cc.params.probe_up_inflight_gain = gain;
            cc.full_pipe.full_bw_now = flat;
            cc.update_probe_bw_cycle_phase(&ack(now, inflight), &sample(10, 0));
            assert_eq!(cc.bbr.state == State::ProbeBwDown, ends, "{gain:?} {now} ms, {inflight}, {flat}");
        }
        let mut cc = probing_up(2 * BDP, 2 * BDP);
        (cc.params.probe_up_inflight_gain, cc.caution.prev_probe_too_high) = (Some(1.25), true);
        cc.update_probe_bw_cycle_phase(&ack(1, 2 * BDP), &sample(10, 0));
        assert!(cc.bbr.state == State::ProbeBwDown && cc.caution.prev_probe_precautionary, "caution stays");
    }

    /// After a probe that lost too much: DOWN as soon as no packet fits below the bound, UP again
    /// after a round without loss.
    #[test]
    fn precautionary_probing() {
        for (clean, expected) in [(true, State::ProbeBwRefill), (false, State::ProbeBwDown)] {
            let mut cc = probing_up(2 * BDP, 2 * BDP);
            cc.caution.prev_probe_too_high = true;
            cc.update_probe_bw_cycle_phase(&ack(10, 2 * BDP - MDS), &sample(10, 0));
            assert_eq!(cc.bbr.state, State::ProbeBwUp);
            cc.update_probe_bw_cycle_phase(&ack(11, 2 * BDP - MDS + 1), &sample(10, 0));
            assert_eq!(cc.bbr.state, State::ProbeBwDown);
            if !clean {
                cc.handle_lost(&lost(&[1, 3, 5], 100 * MDS).batch());
            }
            cc.bbr.model.rounds.start = true;
            cc.update_probe_bw_cycle_phase(&ack(100, 2 * BDP), &sample(10, 0));
            assert_eq!(cc.bbr.state, expected);
            assert!(!clean || !cc.caution.prev_probe_precautionary, "no caution this time");
        }
    }

    /// Cut to the bytes in flight at the loss, or 0.7 of the target. Once per probe, and
    /// application-limited only if enabled.
    #[test]
    fn too_high_cuts_once() {
        let too_high = |tx_in_flight| RateSample { tx_in_flight, lost: tx_in_flight / 10, ..sample(10, 0) };
        for (tx, expected) in [(150_000, 150_000), (50_000, 87_500)] {
            let mut cc = probing_up(2 * BDP, 160_000);
            cc.handle_inflight_too_high(Time::ZERO, &too_high(tx));
            assert_eq!((cc.bbr.state, cc.bbr.model.bounds.inflight_hi), (State::ProbeBwDown, expected));
            assert!(cc.caution.prev_probe_too_high && !cc.bbr.probe.bw_probe_samples);
        }
        for (told, expected) in [(false, 160_000), (true, 87_500)] {
            let mut cc = probing_up(2 * BDP, 160_000);
            cc.params.cut_when_app_limited = told;
            cc.handle_inflight_too_high(Time::ZERO, &RateSample { app_limited: true, ..too_high(50_000) });
            assert_eq!((cc.bbr.state, cc.bbr.model.bounds.inflight_hi), (State::ProbeBwDown, expected));
        }
    }

    /// After DOWN's first round the filter drops a cycle, unless it was application-limited.
    #[test]
    fn cycles_advance_the_filter() {
        for (app_limited, cycles) in [(false, 1), (true, 0)] {
            let mut cc = probing_up(2 * BDP, INFINITE);
            cc.bbr.start_probe_bw_down(Time::ZERO);
            cc.bbr.model.rounds.start = true;
            for _ in 0..2 {
                cc.adapt_long_term_model(&ack(1, BDP), &RateSample { app_limited, ..sample(10, 0) });
            }
            assert_eq!((cc.bbr.model.cycle_count, cc.bbr.probe.bw_probe_samples), (cycles, false));
        }
    }
}
