//! BBRv2, draft-cardwell-iccrg-bbr-congestion-control-02 (March 2022). Sections refer to the draft.
//! Names are its names in `snake_case`. Functions of its pseudo-code are quoted under their own
//! names.
//!
//! ```text
//!             Startup  <-------------------+
//!                |  3 flat rounds, or      |
//!                v  high loss              | pipe never full
//!              Drain                       |
//!                |  inflight <= BDP        |
//!                v                         |
//!  ProbeBW +-> DOWN ------> CRUISE <----- ProbeRTT <-- any state, no lower RTT for 5 s
//!          |     |  headroom  |   pipe was full
//!          |     |  2..3 s,   |
//!          |     |  min(BDP, 63) rounds
//!          |     +-> REFILL <-+
//!          |            |  one round
//!          +----------- UP
//!     inflight > 1.25 BDP, or more than 2 % lost
//!
//! max_bw        max delivery rate of the last 2 ProbeBW cycles                                (4.5.2)
//! min_rtt       min RTT of the last 10 s, refreshed by ProbeRTT every 5 s                     (4.5.3)
//! extra_acked   max over 10 rounds of bytes acknowledged beyond bw * time                     (4.5.5)
//! bw            min(max_bw, bw_lo)                  BDP = bw * min_rtt                        (4.5.2, 4.6.4.2)
//! too high      lost since the packet was sent > 0.02 * inflight at that time                 (4.5.6.2)
//! inflight_hi   cut once per probe:    max(inflight at the loss, 0.7 * min(BDP, cwnd))
//!               raised in UP:          1, 2, 4, ... packets per round while it limits         (4.3.3.6)
//! bw_lo         round with loss, not probing: max(best of the round, 0.7 * bw_lo)             (4.5.6.3)
//! inflight_lo   the same; both reset in REFILL and after ProbeRTT
//! pacing_rate   pacing_gain * bw * 0.99             only rises until the pipe has been full   (4.6.2)
//! cwnd          cwnd_gain * BDP + extra_acked, at least 3 send quanta, at least 4 packets     (4.6.4)
//!               <= inflight_hi (DOWN, REFILL, UP), 0.85 inflight_hi (CRUISE, ProbeRTT), inflight_lo
//! recovery      first round: one packet sent per packet delivered; then as above; cwnd restored at its end
//! timeout       cwnd = inflight + 1 packet; the model is kept. Persistent congestion (QUIC) is a timeout.
//! ```
//!
//! Deviations:
//! 1. Headroom. The draft subtracts `BBRHeadroom = 0.85` of `inflight_hi`, which would leave 15 %
//!    for use; its text and Linux mean that 15 % stay free. `headroom` is the free share, 0.15.
//! 2. `bw_hi`. The draft raises `inflight_hi` only when `bw_hi` is finite, but never sets it to a
//!    finite value. Taken literally, `inflight_hi` could only fall. Here there is no `bw_hi`, as in
//!    Linux and in draft-ietf-ccwg-bbr.
//! 3. ProbeRTT marks its packets as application-limited in the controller, not in the sender.
//! 4. ECN. The draft does not define a response, but RFC 9002 section 7.1 requires one. CE marks of
//!    an ACK count as the loss of as many packets in the round's 2 % test and in `loss_in_round`,
//!    and as one lost range. `Cause::Ecn` itself changes no window. `ecn = false` ignores marks.
//! 5. The first RTT sample computes the initial pacing rate again (Linux); the draft's rate,
//!    computed from 1 ms, would hardly pace.
//! 6. A spurious loss restores `cwnd` and the looser bounds (Linux, draft-ietf-ccwg-bbr). This
//!    draft does not define it.
//! 7. The windowed maximum is exact. Recovery ends no sooner than one round after it began, also
//!    after a timeout, for which QUIC has no recovery period. "In fast recovery for a full round"
//!    (Startup's exit by loss) is read as: at both ends of the round.
//! 8. Rounds are counted here, not by the sender, because the draft starts a new round at changes
//!    of state.
//!
//! Some parameters offer an alternative to the draft's rule and name both. `bbr2-mvfst` (see
//! `mvfst`) chooses mvfst's rules.
//!
//! `startup_full_loss_cnt` is the draft's 3. Linux and s2n-quic wait for 8 ranges, which tolerates
//! more random loss and overshoots shallow buffers for longer.

mod best_sample;
mod loss_round;
pub mod mvfst;
mod params;
mod probe_bw;
mod probe_rtt;
mod recovery;
mod sample;
#[cfg(test)]
mod script;
mod signals;
mod startup;
mod state;
#[cfg(test)]
mod tests;
mod window;

pub use params::{Advance, BandwidthSample, Params, Recovery, StartupLossExit, TooHigh, UpExit};
pub use state::VARIABLES;

use crate::algorithms::bbr::common::frame::Frame;
use crate::algorithms::bbr::common::frame::rules::rules;
use crate::algorithms::bbr::common::full_pipe::FullPipeSearch;
use crate::algorithms::bbr::common::model::Model;
use crate::{Ack, Cause, Congestion, Control, Controller, Lost, Needs, PathInfo, Sent};
use best_sample::BestSample;
use loss_round::LossRound;
use recovery::RecoveryWindow;
use startup::FullPipe;
use state::State;

/// Names of the states, indexed by state number.
pub const STATES: &[&str] = State::NAMES;

/// The controller. Windows are in bytes.
#[derive(Clone, Debug)]
pub struct Bbr2 {
    params: Params,
    bbr: Frame,
    full_pipe: FullPipe,
    /// State of `recovery = "window"`.
    recovery: RecoveryWindow,
    loss_round: LossRound,
    /// State of `bandwidth-sample = "best"`.
    best: BestSample,
    /// State of `probe-up-exit = "plateau"`.
    up_search: FullPipeSearch,
    /// State of `cwnd-limited-share`.
    limited_in_round: bool,
    /// Whether the newest packet of the last ACK was sent while the application limited the sender.
    app_limited: bool,
    /// Packets still to be sent unpaced.
    unpaced: u64,
}

impl Bbr2 {
    /// Creates a controller in Startup with the initial window (`BBROnInit`).
    pub fn new(params: Params, path: PathInfo) -> Self {
        let model = Model::new(params.max_bw_filter_len, params.extra_acked_filter_len);
        let mut cc = Self {
            bbr: Frame::new("bbr2", rules!(params), model, path),
            full_pipe: FullPipe::default(),
            recovery: RecoveryWindow::default(),
            loss_round: LossRound::default(),
            best: BestSample::default(),
            up_search: FullPipeSearch::default(),
            limited_in_round: false,
            app_limited: false,
            unpaced: params.unpaced_packets,
            params,
        };
        cc.set_send_quantum();
        cc
    }
}

impl Controller for Bbr2 {
    fn needs(&self) -> Needs {
        Needs { rate_samples: true, ..Needs::default() }
    }

    fn on_sent(&mut self, sent: &Sent) {
        self.count_sent(sent);
        if self.bbr.on_sent(sent) {
            self.begin_cycle();
        }
    }

    /// Implements `BBRUpdateOnACK`.
    fn on_ack(&mut self, ack: &Ack) -> Option<Cause> {
        self.bbr.window.inflight = ack.bytes_in_flight;
        let rs = self.sample(ack);
        self.bbr.init_pacing_rate(ack);
        self.update_model_and_state(ack, &rs);
        self.update_control_parameters(ack, &rs);
        self.limited_in_round &= !self.bbr.model.rounds.start;
        None
    }

    fn on_congestion(&mut self, event: &Congestion) {
        self.bbr.begin_period();
        match event.cause {
            Cause::PersistentCongestion if self.has_recovery_window() => {
                self.recovery_window_on_persistent_congestion();
            }
            _ if self.has_recovery_window() => {}
            Cause::Loss if !self.bbr.window.in_recovery => self.enter_recovery(true),
            Cause::Timeout | Cause::PersistentCongestion => self.enter_recovery(false),
            // BBR responds to loss rates, not to single events. The rest is done at the end of the
            // round.
            Cause::Loss | Cause::Ecn | Cause::Delay => {}
        }
    }

    /// Implements `BBRUpdateOnLoss`.
    fn on_lost(&mut self, lost: &Lost) {
        self.bbr.on_lost(lost);
        self.best.on_lost(lost);
        if self.has_recovery_window() {
            self.recovery_window_on_lost(lost);
        }
        self.handle_lost(lost);
    }

    fn on_spurious(&mut self) {
        if self.params.undo {
            self.bbr.undo_losses();
        }
    }

    fn shapes_recovery(&self) -> bool {
        true
    }

    fn on_path_change(&mut self, path: PathInfo) {
        self.bbr.on_path_change(path);
    }

    fn control(&self) -> Control {
        self.bbr.window.control(self.bbr.state == State::Startup, self.pacing_burst())
    }

    fn trace(&self, put: &mut dyn FnMut(&'static str, f64)) {
        self.trace_state(put);
    }
}
