//! BBRv3, draft-ietf-ccwg-bbr, working copy of August 2026 (commit 4ce5e87). Sections refer to the
//! draft. Names are its names in `snake_case`. Functions of its pseudo-code are quoted under their
//! own names. Code shared with BBRv2 (`bbr`) keeps the older names `bw_lo`, `inflight_lo`,
//! `inflight_hi` for `bw_shortterm`, `inflight_shortterm`, `inflight_longterm`, and `filled_pipe`
//! for `full_bw_reached`. The trace uses this draft's names.
//!
//! ```text
//!             Startup  <-------------------+
//!                |  3 flat rounds, or      |
//!                v  high loss              | pipe never full
//!              Drain                       |
//!                |  inflight <= BDP,       |
//!                v  or 3 rounds            |
//!  ProbeBW +-> DOWN ------> CRUISE <----- ProbeRTT <-- any state, no lower RTT for 5 s
//!          |     |  headroom  |   pipe was full
//!          |     |  2..3 s,   |
//!          |     |  min(BDP, 63) rounds
//!          |     +-> REFILL <-+
//!          |            |  one round
//!          +----------- UP
//!     3 flat rounds, or more than 2 % lost, or inflight where the last probe lost too much
//!     older (`probe_up_inflight_gain`): inflight > 1.25 BDP after a min_rtt, instead of the flat rounds
//!
//! max_bw       max delivery rate of the last 2 ProbeBW cycles                                 (5.5.5)
//! min_rtt      min RTT of the last 10 s, refreshed by ProbeRTT every 5 s                      (5.3.4)
//! extra_acked  max over 10 rounds (Startup: 1) of bytes acknowledged beyond bw * time         (5.5.9)
//! bw           min(max_bw, bw_shortterm)            BDP = bw * min_rtt                        (5.5.10)
//! flat         delivery rate < 1.25 * last reference, in a round not application-limited     (5.3.1.2)
//! too high     lost since the packet was sent > 0.02 * inflight at that time                  (5.5.10.2)
//! high loss    a round in recovery, too high, 6 non-contiguous ranges: inflight_longterm =
//!              max(BDP, best delivered in the round)                                          (5.3.1.3)
//! inflight_longterm   cut once per probe:   max(inflight at the loss, 0.7 * min(BDP, cwnd))
//!                     raised in UP:         1, 2, 4, ... packets per round while it limits    (5.3.3.5)
//! caution      after a probe that was too high UP only reaches inflight_longterm; if a round then
//!              shows no loss, REFILL and UP follow again, without caution                    (5.3.3.6)
//! bw_shortterm round with loss, not probing: max(best of the round, 0.7 * bw_shortterm)
//! inflight_shortterm  the same; both reset in REFILL and after ProbeRTT                       (5.5.10.3)
//! pacing_rate  pacing_gain * bw * 0.99              only rises until the pipe has been full   (5.6.2)
//! cwnd         cwnd_gain * BDP + extra_acked, at least a send quantum, at least 4 packets     (5.6.4)
//!              <= inflight_longterm (Drain, DOWN, REFILL, UP), 0.85 of it (CRUISE, ProbeRTT),
//!              <= inflight_shortterm; ProbeRTT: <= 0.5 BDP
//! recovery     cwnd restored at its end; no packet conservation                               (5.6.4.4)
//! timeout      cwnd = inflight + 1 packet; the model is kept. Persistent congestion (QUIC) is a timeout.
//! spurious     restores cwnd and the looser bounds; returns to Startup or REFILL if the loss ended Startup or UP (5.5.11)
//! ```
//!
//! Another working copy (commit 007dbe1) has one interval of 10 s for `min_rtt` and ProbeRTT, and
//! fixes ProbeRTT's window at its start. A `probe_rtt_interval` of 10 s comes close to it.
//!
//! Deviations:
//! 1. ECN. The draft defines no response, but requires CE to be treated as congestion. CE marks of
//!    an ACK count as the loss of as many packets in the round's 2 % test, as loss in the round,
//!    and as one lost range, as in `bbr2`. `Cause::Ecn` itself changes no window. `ecn = false`
//!    ignores marks. Linux's alpha rule for low-latency marking is not implemented.
//! 2. Undo state is saved once per recovery, before its first loss is judged. The draft saves it at
//!    each round with loss and again at the start of recovery. In QUIC that is after the loss has
//!    reduced the values to be saved.
//! 3. `inflight_longterm` limits Drain as in the draft's table of caps; its pseudo-code has no cap
//!    there.
//! 4. `inflight_longterm` is not cut for an application-limited packet (pseudo-code and text of
//!    5.5.10.2). The appendix's test of UP requires the cut: `cut_when_app_limited`.
//! 5. "Inflight reaches `inflight_longterm`" is tested on the bytes in flight before the ACK. It is
//!    true when no whole packet fits below the bound. A full window would never reach it if tested
//!    after the ACK or in bytes.
//! 6. "In fast recovery for a full round" (Startup's exit by loss): the controller's recovery began
//!    at least a round before the ACK that ends the round of losses. QUIC's recovery period may end
//!    with this very ACK.
//! 7. ProbeRTT marks its packets as application-limited in the controller, not in the sender.
//! 8. The windowed maxima are exact. Rounds are counted here, not taken from the sender. A round
//!    that ends without a delivery-rate sample does not count in the full-pipe search.
//! 9. The first RTT sample computes the initial pacing rate again (Linux).

mod params;
mod probe_bw;
#[cfg(test)]
mod script;
mod signals;
mod startup;
mod state;
#[cfg(test)]
mod tests;
mod window;

pub use params::Params;
pub use state::VARIABLES;

use crate::algorithms::bbr::common::frame::Frame;
use crate::algorithms::bbr::common::frame::rules::rules;
use crate::algorithms::bbr::common::model::Model;
use crate::algorithms::bbr::common::state::State;
use crate::{Ack, Cause, Congestion, Control, Controller, Lost, Needs, PathInfo, RateSample, Sent};
use probe_bw::Caution;
use startup::FullPipe;

/// Names of the states, indexed by state number.
pub const STATES: &[&str] = State::NAMES;

/// The controller. Windows are in bytes.
#[derive(Clone, Debug)]
pub struct Bbr3 {
    params: Params,
    bbr: Frame,
    full_pipe: FullPipe,
    drain_start_round: u64,
    caution: Caution,
}

impl Bbr3 {
    /// Creates a controller in Startup with the initial window (`OnInit`).
    pub fn new(params: Params, path: PathInfo) -> Self {
        let model = Model::new(params.max_bw_filter_len, params.startup_extra_acked_filter_len);
        let mut bbr = Frame::new("bbr3", rules!(params), model, path);
        bbr.set_send_quantum(params.send_quantum_packets);
        let (full_pipe, caution) = (FullPipe::default(), Caution::default());
        Self { params, bbr, full_pipe, drain_start_round: 0, caution }
    }

    /// Implements `UpdateModelAndState`.
    fn update_model_and_state(&mut self, ack: &Ack, rs: &RateSample) {
        self.update_congestion_signals(ack, rs);
        self.update_ack_aggregation(ack);
        self.check_full_bw_reached(rs);
        self.check_startup_done(rs);
        self.check_drain_done(ack);
        self.update_probe_bw_cycle_phase(ack, rs);
        self.bbr.update_min_rtt(ack);
        self.bbr.signals.advance_latest(rs);
        self.bbr.model.bound_bw();
    }
}

impl Controller for Bbr3 {
    fn needs(&self) -> Needs {
        Needs { rate_samples: true, ..Needs::default() }
    }

    fn on_sent(&mut self, sent: &Sent) {
        self.bbr.on_sent(sent);
    }

    /// Implements `UpdateOnACK`.
    fn on_ack(&mut self, ack: &Ack) -> Option<Cause> {
        self.bbr.window.inflight = ack.bytes_in_flight;
        let rs = self.sample(ack);
        self.bbr.init_pacing_rate(ack);
        self.update_model_and_state(ack, &rs);
        self.update_control_parameters(ack, &rs);
        None
    }

    fn on_congestion(&mut self, event: &Congestion) {
        self.bbr.begin_period();
        match event.cause {
            // `OnEnterFastRecovery`, section 5.6.4.4.
            Cause::Loss if !self.bbr.window.in_recovery => self.bbr.enter_recovery(),
            Cause::Timeout | Cause::PersistentCongestion => {
                self.bbr.enter_recovery();
                self.bbr.window.cut_to_inflight();
            }
            // BBR responds to loss rates, not to single events. The rest is done at the end of the
            // round.
            Cause::Loss | Cause::Ecn | Cause::Delay => {}
        }
    }

    /// Handles each lost packet, section 5.2.4.
    fn on_lost(&mut self, lost: &Lost) {
        self.bbr.on_lost(lost);
        self.handle_lost(lost);
    }

    fn on_spurious(&mut self) {
        self.handle_spurious_loss_detection();
    }

    fn shapes_recovery(&self) -> bool {
        true
    }

    fn on_path_change(&mut self, path: PathInfo) {
        self.bbr.on_path_change(path);
    }

    fn control(&self) -> Control {
        self.bbr.window.control(self.bbr.state == State::Startup, self.bbr.window.send_quantum)
    }

    fn trace(&self, put: &mut dyn FnMut(&'static str, f64)) {
        self.trace_state(put);
    }
}
