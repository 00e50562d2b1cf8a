//! The reference window. Section 4.2.2.
//!
//! ```text
//! c           = clamp((8 (ref_wnd - ref_wnd_i) / ref_wnd_i)^2, 0.1, 1), 1 before ref_wnd_i is known
//! far         = max(1, s_rtt / VIRTUAL_RTT)
//! reduction, once per min(VIRTUAL_RTT, s_rtt); ref_wnd_i = ref_wnd if the window has grown since the last one
//!   loss        ref_wnd *= BETA_LOSS
//!   L4S mark    ref_wnd = min(ref_wnd, largest flight of the last RTT) if the last one is 100 RTTs ago,
//!               ref_wnd *= 1 - l4s_alpha / 2 / far * b;  b = max(1/4, c) max(1/4, delay_scale) if qdelay < target / 4, else 1
//!   mark        ref_wnd *= BETA_ECN
//!   queue       v = clamp(2 qdelay_avg / target - 1, 0, 1),  ref_wnd *= 1 - v / 2 / far
//! growth      += (acknowledged - marked bytes) MSS / ref_wnd * min(1, s_rtt / VIRTUAL_RTT) max(1/4, c) max(0.1, delay_scale)
//!                * (1 + MUL_INCREASE_FACTOR ref_wnd / MSS * p c)
//!               p = time since the last loss or mark / (100 max(VIRTUAL_RTT, s_rtt)), at most 1
//!               only up to MSS + 1.5 max(flight of this RTT, of the last one), and below TARGET_BITRATE_MAX
//! ```
//!
//! A reduction by the queue is no congestion for p: the draft counts losses and marks.

use super::params::Params;
use crate::Ack;
use units::{Duration, Time};

/// RTTs without a reduction after which the window may be far above the flight.
const LONG_AGO: u64 = 100;

/// Measures that the window depends on. Delays are in seconds, except `srtt`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Path {
    pub(super) mss: f64,
    pub(super) srtt: Duration,
    pub(super) qdelay: f64,
    pub(super) qdelay_avg: f64,
    pub(super) qdelay_target: f64,
    pub(super) l4s_alpha: f64,
    pub(super) delay_scale: f64,
    /// Whether the target bitrate is below its maximum.
    pub(super) may_grow: bool,
}

/// The window, in bytes.
#[derive(Clone, Debug, Default)]
pub(super) struct RefWindow {
    pub(super) ref_wnd: f64,
    /// `ref_wnd_i`.
    pub(super) inflection: Option<f64>,
    /// Whether the window has not grown since the last reduction.
    settled: bool,
    /// Losses and marks since the last reduction.
    pub(super) loss_detected: bool,
    pub(super) marked: bool,
    /// Time of the last loss or mark, and of the last reduction.
    pub(super) congested: Option<Time>,
    pub(super) reduced: Option<Time>,
    /// Largest flight of this RTT, and of the last one.
    pub(super) flight: [f64; 2],
    /// Acknowledged bytes without a mark, since the last update.
    acked: f64,
}

impl RefWindow {
    pub(super) fn new(ref_wnd: f64) -> Self {
        Self { ref_wnd, ..Self::default() }
    }

    pub(super) fn on_sent(&mut self, in_flight: f64) {
        self.flight[0] = self.flight[0].max(in_flight);
    }

    pub(super) fn end_round(&mut self) {
        self.flight = [0.0, self.flight[0]];
    }

    /// Counts an ACK. Lost packets below the newest one count as acknowledged.
    pub(super) fn on_ack(&mut self, ack: &Ack) {
        self.marked |= ack.ce > 0;
        let share = ack.ce as f64 / ack.packets.len().max(1) as f64;
        self.acked += ack.acked as f64 * (1.0 - share.min(1.0)) + ack.lost as f64;
    }

    pub(super) fn is_congested(&self) -> bool {
        self.loss_detected || self.marked
    }

    pub(super) fn update(&mut self, now: Time, path: &Path, params: &Params) {
        let closeness = self.inflection.map_or(1.0, |inflection| {
            let distance = 8.0 * (self.ref_wnd - inflection) / inflection;
            (distance * distance).clamp(0.1, 1.0)
        });
        if self.is_congested() {
            self.congested = Some(now);
        }
        let interval = params.virtual_rtt.min(path.srtt);
        if self.reduced.is_none_or(|then| now - then >= interval) {
            self.reduce(now, closeness, path, params);
        }
        self.grow(now, closeness, path, params);
    }

    fn reduce(&mut self, now: Time, closeness: f64, path: &Path, params: &Params) {
        let far = path.srtt.as_secs_f64() / params.virtual_rtt.as_secs_f64().max(1e-9);
        let far = far.max(1.0);
        let half = path.qdelay_target / 2.0;
        let excess = ((path.qdelay_avg - half) / half).clamp(0.0, 1.0);
        let before = self.ref_wnd;
        let share = match () {
            () if self.loss_detected => params.beta_loss,
            () if self.marked && params.is_l4s => {
                self.deflate(now, path, params);
                1.0 - path.l4s_alpha / 2.0 / far * caution(closeness, path)
            }
            () if self.marked => params.beta_ecn,
            () if excess > 0.0 => 1.0 - excess / 2.0 / far,
            () => return,
        };
        if !core::mem::replace(&mut self.settled, true) {
            self.inflection = Some(before.max(1.0));
        }
        self.ref_wnd = (self.ref_wnd * share).max(params.min_ref_wnd.0 as f64).max(1.0);
        (self.loss_detected, self.marked, self.reduced) = (false, false, Some(now));
    }

    /// Lowers a window that has grown without congestion to the bytes in flight.
    fn deflate(&mut self, now: Time, path: &Path, params: &Params) {
        let long = path.srtt.max(params.virtual_rtt) * LONG_AGO;
        if self.reduced.is_none_or(|then| now - then > long) {
            self.ref_wnd = self.ref_wnd.min(self.flight[1]);
        }
    }

    fn grow(&mut self, now: Time, closeness: f64, path: &Path, params: &Params) {
        let ratio = (path.mss / self.ref_wnd).min(1.0);
        let near = path.srtt.as_secs_f64() / params.virtual_rtt.as_secs_f64().max(1e-9);
        let scale = near.min(1.0) * closeness.max(0.25) * path.delay_scale.max(0.1);
        let increment = core::mem::take(&mut self.acked) * ratio * scale;
        let long = path.srtt.max(params.virtual_rtt).as_secs_f64() * params.post_congestion_delay_rtts;
        let since = |then: Time| ((now - then).as_secs_f64() / long).min(1.0);
        let post = self.congested.map_or(1.0, since);
        let multiple = 1.0 + params.mul_increase_factor * self.ref_wnd / path.mss * post * closeness;
        let grown = self.ref_wnd + increment * multiple;
        let most = path.mss + self.flight[0].max(self.flight[1]) * params.bytes_in_flight_head_room;
        if grown <= most && path.may_grow && grown > self.ref_wnd {
            (self.ref_wnd, self.settled) = (grown, false);
        }
    }
}

/// Returns the factor on a reduction by marks while the queue is short.
fn caution(closeness: f64, path: &Path) -> f64 {
    let short = path.qdelay < path.qdelay_target / 4.0;
    if short { closeness.max(0.25) * path.delay_scale.max(0.25) } else { 1.0 }
}
