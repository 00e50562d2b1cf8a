//! Congestion events: detection of new ones, and the response.

use super::{Centre, CubicPicoquic, MarkEpoch, Params};
use units::Time;

/// Cause of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    Loss,
    Mark,
    Timeout,
    /// Exit from slow start because of a risen RTT, in d199d45b.
    RisenRtt,
}

/// State before the last event. d199d45b restores it if the event ended slow start by mistake.
#[derive(Clone, Copy, Debug)]
pub(super) struct Previous {
    pub(super) slow_start: bool,
    pub(super) cwin: u64,
    pub(super) ssthresh: u64,
}

impl CubicPicoquic {
    /// Reports whether the loss or mark of this packet still needs a response.
    pub(super) fn is_new(&self, now: Time, pn: u64) -> bool {
        if self.slow_start {
            now - self.curve.epoch > self.srtt || self.recovery_pn <= self.acked_pn
        } else {
            pn >= self.recovery_pn
        }
    }

    /// Implements `picoquic_cubic_enter_recovery`.
    pub(super) fn event(&mut self, now: Time, event: Event) {
        let Params { beta, fast_convergence, .. } = self.params;
        let before = self.cwin as f64;
        self.recovery_pn = self.next_pn;
        self.previous = Previous { slow_start: self.slow_start, cwin: self.cwin, ssthresh: self.ssthresh };
        let w = &mut self.curve;
        w.w_max = before / self.mtu;
        let shrinking = fast_convergence && w.w_max < w.w_last_max;
        w.w_last_max = w.w_max;
        w.w_max *= if shrinking { beta } else { 1.0 };
        self.ssthresh = (w.w_max * beta * self.mtu) as u64;
        if self.ssthresh < self.floor {
            self.ssthresh = u64::MAX;
            w.w_reno = self.floor as f64;
            self.restart(now);
        } else if event == Event::Timeout {
            self.restart(now);
        } else {
            w.w_reno = before / 2.0;
            self.enter_avoidance(now, event, before);
        }
    }

    /// Enters the curve, at t = 0 if it is a new one. Never enlarges the window.
    pub(super) fn enter_avoidance(&mut self, now: Time, event: Event, before: f64) {
        let Params { c, centre, mark_epoch, .. } = self.params;
        let w = &mut self.curve;
        if event == Event::Mark && mark_epoch == MarkEpoch::Old && !self.slow_start {
            w.set_k(&self.params);
            w.centre = w.w_max;
        } else {
            w.start(&self.params, now);
        }
        if event == Event::Mark && centre == Centre::Cwnd {
            w.centre = before / self.mtu;
        }
        let cwin = (w.w_cubic(c, now) * self.mtu).max(before / 2.0).min(before);
        self.slow_start = false;
        self.set(cwin);
    }

    /// Restarts slow start at the smallest window.
    pub(super) fn restart(&mut self, now: Time) {
        self.slow_start = true;
        (self.curve.previous_epoch, self.curve.epoch) = (self.curve.epoch, now);
        self.cwin = self.floor;
    }

    pub(super) fn set(&mut self, cwin: f64) {
        self.cwin = ((cwin + 0.5) as u64).max(self.floor);
    }

    pub(super) fn collapse(&mut self, now: Time) {
        // The losses that led to this timeout may already have caused an event.
        if self.recovery_pn < self.next_pn { self.event(now, Event::Timeout) } else { self.restart(now) }
    }
}

impl CubicPicoquic {
    /// Implements `picoquic_cubic_correct_spurious`.
    pub(super) fn correct_spurious(&mut self) {
        if self.ssthresh == u64::MAX {
            return;
        }
        self.curve.w_max = self.curve.w_last_max;
        if self.params.is_new() && self.previous.slow_start {
            let Previous { cwin, ssthresh, .. } = self.previous;
            self.slow_start = true;
            (self.cwin, self.ssthresh) = (cwin, ssthresh);
            self.curve.w_reno = cwin as f64;
            self.curve.epoch = self.curve.previous_epoch;
            return;
        }
        self.avoid(self.curve.previous_epoch);
        let cwin = self.curve.w_cubic(self.params.c, self.now) * self.mtu;
        self.curve.w_reno = cwin.max(self.floor as f64);
        let beta = if self.params.is_new() { 0.75 } else { self.params.beta };
        self.ssthresh = (self.curve.w_max * beta * self.mtu) as u64;
        self.set(cwin);
    }
}
