//! State and rules that versions 2 and 3 have in common: the path model, the state, the window, and
//! the undo of a spurious loss.
//!
//! Each version decides when the rules apply. Rules that differ between the drafts are in the
//! versions.

mod probe_bw;
mod probe_rtt;
pub(crate) mod rules;
mod window;

use super::model::{Bounds, Model};
use super::probe::Probe;
use super::probe_rtt::ProbeRtt;
use super::signals::{Signals, inflight_at_loss, is_inflight_too_high};
use super::state::State;
use super::window::{Window, restarts_from_idle};
use crate::algorithms::bbr::scale::Scale;
use crate::{Ack, Lost, LostPacket, PathInfo, RateSample, Sent, initial_window_or_default};
use rules::Rules;
use units::Rng;

/// State shared by versions 2 and 3. Windows are in bytes.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    rules: Rules,
    pub(crate) mds: u64,
    rng: Rng,
    pub(crate) state: State,
    /// Scaling of ProbeBW by an outer controller.
    scale: Scale,
    pub(crate) model: Model,
    pub(crate) signals: Signals,
    /// Whether the flow has used all available bandwidth at some time. `full_bw_reached` in version
    /// 3.
    pub(crate) filled_pipe: bool,
    pub(crate) probe: Probe,
    pub(crate) probe_rtt: ProbeRtt,
    pub(crate) window: Window,
    /// Whether the packets in flight are the first after an idle time, so that they reflect the
    /// application's rate.
    pub(crate) idle_restart: bool,
    /// State before the last batch of losses.
    batch: Option<Before>,
    /// State before the losses of the sender's last recovery period.
    undo: Option<Before>,
}

/// State that a spurious loss restores.
#[derive(Clone, Debug)]
pub(crate) struct Before {
    bounds: Bounds,
    /// State that the loss ended, if any (version 3).
    pub(crate) ended: Option<State>,
}

impl Frame {
    /// Creates a flow in Startup with the initial window (`OnInit`). Random numbers come from the
    /// stream `name`.
    pub(crate) fn new(name: &str, rules: Rules, model: Model, path: PathInfo) -> Self {
        let mds = path.max_datagram_size;
        let initial = initial_window_or_default(rules.initial_window, mds);
        Self {
            mds,
            rng: Rng::stream(path.seed, name),
            state: State::Startup,
            scale: Scale::NONE,
            model,
            signals: Signals::default(),
            filled_pipe: false,
            probe: Probe::default(),
            probe_rtt: ProbeRtt::default(),
            window: Window::new(initial, mds, rules.pacing_gains[State::Startup as usize], rules.initial_rtt),
            idle_restart: false,
            batch: None,
            undo: None,
            rules,
        }
    }

    /// `HandleRestartFromIdle`: the pipe is empty, so pacing returns to the estimated rate at once.
    ///
    /// Returns whether this ended ProbeRTT and began ProbeBW.
    pub(crate) fn on_sent(&mut self, sent: &Sent) -> bool {
        self.window.inflight = sent.bytes_in_flight;
        if !restarts_from_idle(sent) {
            return false;
        }
        self.idle_restart = true;
        self.model.aggregation.restart(sent.now);
        if self.state.is_probe_bw() {
            self.set_pacing_rate_with_gain(self.rules.pacing_gains[State::ProbeBwCruise as usize]);
        }
        self.state == State::ProbeRtt && self.check_probe_rtt_done(sent.now)
    }

    /// Returns the sample with each CE mark counted as the loss of a packet, if marks count.
    pub(crate) fn count_marks(&mut self, rs: RateSample, ack: &Ack) -> RateSample {
        if self.rules.ecn { self.signals.count_marks(rs, ack.ce, self.mds) } else { rs }
    }

    /// The beginning of `UpdateCongestionSignals`: updates the round and the bandwidth.
    pub(crate) fn update_round(&mut self, ack: &Ack, rs: &RateSample) {
        self.signals.update_latest(ack.delivered, rs);
        self.model.rounds.update(ack.delivered, rs);
        self.probe.rounds_since_bw_probe += u64::from(self.model.rounds.start);
        self.model.update_max_bw(rs);
    }

    /// `AdaptLowerBoundsFromCongestion` at the end of a round with losses.
    ///
    /// Losses while probing are caused by the probe itself and are judged by the long-term bound.
    pub(crate) fn adapt_lower_bounds(&mut self) {
        if !self.signals.loss_round_start {
            return;
        }
        if !self.state.is_probing_bw() && self.signals.loss_in_round {
            let (max_bw, cwnd) = (self.model.max_bw(), self.window.cwnd);
            self.model.bounds.adapt_lower(&self.signals, self.rules.beta, max_bw, cwnd);
        }
        self.signals.loss_in_round = false;
    }

    /// Reports losses. The current model is saved for a later undo.
    pub(crate) fn on_lost(&mut self, lost: &Lost) {
        self.window.on_lost(lost);
        self.model.rounds.delivered = lost.delivered;
        self.batch = Some(Before { bounds: self.model.bounds.clone(), ended: None });
    }

    /// `HandleLostPacket`: while the losses of a probe are judged, reports whether this loss is one
    /// too many.
    ///
    /// Returns the sample with the bytes in flight at which the losses became too many.
    pub(crate) fn too_high_at(&self, packet: &LostPacket, rs: RateSample) -> Option<RateSample> {
        let thresh = self.rules.loss_thresh;
        let too_high = self.probe.bw_probe_samples && is_inflight_too_high(&rs, thresh);
        too_high.then(|| RateSample { tx_in_flight: inflight_at_loss(&rs, packet.bytes, thresh), ..rs })
    }

    /// Begins a recovery period. An undo takes back its losses.
    pub(crate) fn begin_period(&mut self) {
        self.undo = self.batch.take();
    }

    /// Notes that losses have ended this state.
    pub(crate) fn note_ended(&mut self, state: State) {
        for before in [&mut self.undo, &mut self.batch].into_iter().flatten() {
            before.ended = Some(state);
        }
    }

    /// `HandleSpuriousLossDetection`: restores the window and the looser bounds. Does nothing
    /// without losses to undo.
    pub(crate) fn undo_losses(&mut self) -> Option<Before> {
        let before = self.undo.take()?;
        self.window.undo_recovery();
        self.signals.loss_in_round = false;
        self.model.bounds.loosen(&before.bounds);
        Some(before)
    }

    pub(crate) fn on_path_change(&mut self, path: PathInfo) {
        self.mds = path.max_datagram_size;
        let initial = initial_window_or_default(self.rules.initial_window, self.mds);
        self.window.on_path_change(self.mds, initial, self.rules.min_pipe_cwnd);
    }
}
