//! The window rule. Windows are in packets.

use super::classic::Classic;
use super::params::Params;
use crate::components::window_rule::{Frame, Options, WindowRule};
use crate::{Ack, Cause, Congestion, Sent};
use units::{Duration, Time};

type Window = Frame<f64>;

/// The rule, with its measurements.
#[derive(Clone, Debug, Default)]
pub(super) struct Scalable {
    pub(super) params: Params,
    pub(super) alpha: f64,
    /// Packets acknowledged and marked since the last update of alpha.
    acked: u64,
    marked: u64,
    /// Whether there was a mark.
    saw_ce: bool,
    /// Whether a round trip has ended since the last update.
    due: bool,
    updated: Time,
    /// Updates since slow start.
    pub(super) rounds: u64,
    /// Time of the last reduction by a mark.
    cwr: Option<Time>,
    pub(super) srtt: Duration,
    /// Whether a loss keeps the window from growing.
    pub(super) in_loss: bool,
    /// First packet sent after the last response to a loss.
    pub(super) loss_end: u64,
    next_pn: u64,
    pub(super) classic: Classic,
}

impl From<Params> for Scalable {
    fn from(params: Params) -> Self {
        Self { alpha: params.alpha_on_init, params, ..Self::default() }
    }
}

impl Scalable {
    fn rtt_virt(&self) -> Duration {
        self.srtt.max(self.params.rtt_virt)
    }

    /// Reports whether the virtual RTT has an effect.
    fn is_independent(&self, window: &Window) -> bool {
        !window.window.in_slow_start() && self.rounds >= self.params.rtt_transition
    }

    /// Reports whether less than the smallest virtual RTT has passed since `then`.
    fn is_recent(&self, window: &Window, then: Time, now: Time) -> bool {
        self.is_independent(window) && now - then < self.params.rtt_virt
    }

    /// Returns the sending rate in bytes/s, once the RTT is known.
    pub(super) fn rate(&self, window: &Window) -> Option<f64> {
        let rate = window.window.cwnd * window.mds() as f64 / self.srtt.as_secs_f64();
        (self.srtt > Duration::ZERO).then_some(rate)
    }

    /// Ends a round trip, or a longer time: updates alpha.
    fn update(&mut self, window: &Window, ack: &Ack) {
        if self.saw_ce && self.acked > 0 {
            let m = (self.marked as f64 / self.acked as f64).min(1.0);
            self.alpha += self.params.g * (m - self.alpha);
            self.updated = ack.now;
            if self.params.ecn_fallback {
                self.classic.update(ack.min_rtt);
            }
        }
        (self.acked, self.marked, self.due) = (0, 0, false);
        self.rounds += u64::from(!window.window.in_slow_start());
    }

    /// Returns the share of the acknowledged packets that may grow the window: the unmarked ones.
    fn unmarked(&self, ack: &Ack) -> f64 {
        let marked = ack.ce as f64 / ack.packets.len().max(1) as f64;
        if self.in_loss { 0.0 } else { (1.0 - marked).max(0.0) }
    }
}

impl WindowRule for Scalable {
    type Unit = f64;
    type Memory = ();

    fn begin(&self) -> (Options, ()) {
        let Params { initial_window, min_window, abc_limit, slow_start, .. } = self.params;
        let standard = Options::default();
        (Options { initial_window, min_window, abc_limit, slow_start, ..standard }, ())
    }

    fn on_sent(&mut self, _: &mut Window, sent: &Sent) {
        self.next_pn = sent.pn + 1;
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        self.srtt = ack.smoothed_rtt;
        self.acked += ack.packets.len() as u64;
        self.marked += ack.ce;
        self.saw_ce |= ack.ce > 0;
        self.in_loss &= ack.packets.last().is_none_or(|newest| newest.pn < self.loss_end);
        if let Some(rtt) = ack.latest_rtt.filter(|_| self.params.ecn_fallback) {
            self.classic.sample(rtt);
        }
        self.due |= ack.round_start;
        if self.due && !self.is_recent(window, self.updated, ack.now) {
            self.update(window, ack);
        }
    }

    fn slow_start(&mut self, window: &mut Window, ack: &Ack) {
        let share = self.unmarked(ack);
        window.slow_start(ack, |grown| share * grown);
    }

    fn grow(&mut self, window: &mut Window, ack: &Ack) {
        // The packets of a marked round trip grow the window too, if it was used.
        let counts = ack.cwnd_limited || !ack.app_limited;
        let packets = if counts { ack.acked as f64 / window.mds() as f64 } else { 0.0 };
        let ratio = self.srtt.as_secs_f64() / self.rtt_virt().as_secs_f64().max(1e-9);
        let deflator = if self.is_independent(window) { ratio * ratio } else { 1.0 };
        window.window.cwnd += packets * self.unmarked(ack) * deflator / window.window.cwnd;
    }

    fn reduce(&mut self, window: &mut Window, event: &Congestion) -> f64 {
        self.classic.adapt(window.window.ssthresh);
        let left = match event.cause {
            Cause::Ecn if self.cwr.is_some_and(|then| self.is_recent(window, then, event.now)) => 1.0,
            Cause::Ecn => {
                self.cwr = Some(event.now);
                1.0 - self.alpha.max(self.classic.least_alpha()) / 2.0
            }
            cause => {
                (self.in_loss, self.loss_end) = (cause == Cause::Loss, self.next_pn);
                0.5
            }
        };
        (window.window.cwnd * left).max(window.min_window())
    }

    fn trace(&self, _: &Window, put: &mut dyn FnMut(&'static str, f64)) {
        put("alpha", self.alpha);
        put("rtt_virt", self.rtt_virt().as_secs_f64());
        put("classic_ecn", self.classic.evidence);
    }
}
