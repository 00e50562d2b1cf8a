//! Growth and reduction of the window.

use super::{Cdg, Queue};
use crate::algorithms::reno::window::{Growth, Progress, Reno};
use crate::components::window_rule::{Options, WindowRule};
use crate::{Ack, Cause, Congestion, STATE, Sent};
use units::Duration;

impl WindowRule for Cdg {
    type Unit = u64;
    type Memory = Progress;

    fn begin(&self) -> (Options, Progress) {
        let options = Options {
            initial_window: Some(self.params.initial_window),
            min_window: self.params.min_window,
            count: self.params.count,
            ..Options::default()
        };
        (options, Progress::default())
    }

    fn on_sent(&mut self, _: &mut Reno, sent: &Sent) {
        self.next_pn = sent.pn + 1;
    }

    fn on_ack(&mut self, reno: &mut Reno, ack: &Ack) {
        self.shadow.get_or_insert(reno.window.cwnd);
        if let Some(rtt) = ack.latest_rtt {
            self.sample(rtt, ack.packets.len());
        }
        if ack.in_recovery {
            self.recovering = true;
            return;
        }
        if self.recovering {
            self.end_recovery();
        }
        let rtt = self.rtt.filter(|_| reno.window.in_slow_start());
        let rtt = rtt.map(|rtt| Duration::from_micros(rtt.min as u64));
        if rtt.is_some_and(|rtt| self.hybrid.ended(ack, rtt, &self.params)) {
            reno.window.ssthresh = reno.window.cwnd;
        }
        let ends = ack.packets.last().is_some_and(|packet| packet.pn >= self.round_end);
        if let Some(rtt) = self.rtt.filter(|_| ends) {
            self.end_round(rtt, reno);
        }
        if !ack.cwnd_limited && !self.backs_off {
            self.shadow = self.shadow.min(Some(reno.window.cwnd));
        }
    }

    fn slow_start(&mut self, reno: &mut Reno, ack: &Ack) {
        if !self.backs_off {
            let before = reno.window.cwnd;
            reno.slow_start(ack, |grown| grown);
            self.follow(before, reno);
        }
    }

    fn grow(&mut self, reno: &mut Reno, ack: &Ack) {
        if !self.backs_off {
            let before = reno.window.cwnd;
            reno.grow(ack, Growth::Window);
            self.follow(before, reno);
        }
    }

    fn request(&mut self) -> Option<Cause> {
        core::mem::take(&mut self.backs_off).then_some(Cause::Delay)
    }

    /// Linux tcp_cdg_ssthresh.
    fn reduce(&mut self, reno: &mut Reno, event: &Congestion) -> u64 {
        let (cwnd, mds) = (reno.window.cwnd, reno.mds());
        let whole = |packets: f64| packets as u64 * mds;
        let kept = if event.cause == Cause::Delay {
            whole((cwnd / mds) as f64 * self.params.backoff_beta)
        } else if self.params.use_tolerance && self.queue == Queue::NonFull {
            cwnd
        } else {
            let half = whole((self.shadow.unwrap_or(cwnd) / mds / 2) as f64);
            let shadow = *self.shadow.insert(half.min(cwnd));
            let half = whole((cwnd / mds / 2) as f64);
            if self.params.use_shadow { half.max(shadow) } else { half }
        };
        kept.max(reno.min_window())
    }

    /// Linux CA_EVENT_CWND_RESTART.
    fn on_restart(&mut self, reno: &mut Reno) {
        let (rng, next_pn) = (self.rng.clone(), self.next_pn);
        let shadow = Some(reno.window.cwnd);
        *self = Self { rng, next_pn, shadow, round_end: next_pn, ..Self::new(self.params.clone(), 0) };
    }

    /// Reports `shadow_wnd` in bytes, `gradient` in seconds, and the state of the queue.
    fn trace(&self, _: &Reno, put: &mut dyn FnMut(&'static str, f64)) {
        if let Some(shadow) = self.shadow {
            put("shadow_wnd", shadow as f64);
        }
        if let Some(g) = self.g {
            put("gradient", g as f64 * 1e-6);
        }
        put(STATE, self.queue.number());
    }
}
