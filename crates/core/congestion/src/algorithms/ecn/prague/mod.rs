//! TCP Prague, a DCTCP for the Internet: draft-briscoe-iccrg-prague-congestion-control-04 (July
//! 2024), with the rules of L4STeam's Linux tcp_prague.c (version 0.6, commit 02573a21) and, by
//! parameter, of its udp_prague (commit e8e34353).
//!
//! ```text
//! RTT_virt     max(srtt, rtt_virt)                                                         (section 2.4.4: rtt_virt = 25 ms)
//! alpha        (1 - g) alpha + g M, M = marked / acknowledged packets since the last update;
//!              once per round trip and rtt_virt; 1 until the first mark                    (section 2.4.2: g = 1/16)
//! ACK          cwnd += n / cwnd * (srtt / RTT_virt)^2                                      n unmarked packets, also after a mark
//! mark         ssthresh = cwnd = cwnd (1 - alpha / 2),  once per round trip and rtt_virt   (section 2.4.2)
//! loss         ssthresh = cwnd = cwnd / 2,  no growth for a round trip;  undo as `undo`
//! slow start   cwnd += n, until the first loss or mark
//! rate         cwnd / srtt, twice that while cwnd < ssthresh / 2;  bursts of 250 us, at least a packet
//!
//! rtt_virt has no effect in slow start and the `rtt_transition` round trips after it      (section 2.4.4: 500)
//! ecn_fallback: a mark takes at least 0.3125 c of the window, see `classic`
//! ```
//!
//! The text of the draft could not be read, only its abstract, and its rules as quoted in ports to
//! Google's quiche and to quinn. Linux decides. Its values are the defaults, `rtt-transition = 500`
//! included. udp_prague has `alpha-on-init = 0` and `rtt-transition = 0`.
//!
//! A mark in classic ECN means a Reno response. So a flow with `recovery.ecn = "ect0"`, or one behind
//! a classic ECN queue, is too aggressive.
//! `ecn-fallback` is Linux's detection of such a queue, off by default as in Linux.
//!
//! A loss halves the window whether or not a mark has just reduced it. The sender reports no event
//! for a loss in the recovery period of a mark, so the controller finds such losses itself.
//!
//! Deviations: windows are not rounded up to whole packets, and alpha is exact. The sender reports
//! a mark before its ACK, so a reduction uses alpha without the packets of this ACK, as in Linux.
//! Reductions apply at once, where Linux lowers its window by a packet per ACK. udp_prague's other
//! parts are left out: 100 kbit/s at first and no slow start, 1 ms of queue per RTT_virt after a
//! time without marks, a rate in place of the window below 2 ms, smaller packets at low rates, a
//! rate 3 % higher and lower in turn. The draft's credit is left out too: there, a loss after a
//! mark halves the window before the mark. No window is below two packets. Persistent congestion,
//! which TCP lacks, follows RFC 9002 section 7.6.2.

mod classic;
mod params;
mod rule;
#[cfg(test)]
mod tests;

pub use self::params::Params;
use self::rule::Scalable;
use crate::components::delegate::delegate;
use crate::components::window_rule::WindowController;
use crate::{
    Ack, Cause, Congestion, Control, Controller, Detection, Idle, Lost, LostPacket, Needs, PathInfo, Sent,
};
use units::{Ecn, Rate, Time};

crate::variables! {
    /// Slow-start threshold, infinite until slow start has ended. RFC 5681 section 3.1.
    ssthresh: "bytes",
    /// Estimate of the share of marked packets, 0..1. Section 2.4.2.
    alpha: "",
    /// Virtual RTT, RTT_virt. Section 2.4.4.
    rtt_virt: "s",
    /// Evidence of a classic ECN queue, classic_ecn, 0 to 17; 0 without `ecn_fallback`. Linux
    /// tcp_prague.c.
    classic_ecn: "",
}

/// The controller: a window with its pacing rate.
#[derive(Clone, Debug)]
pub struct Prague {
    inner: WindowController<Scalable>,
    /// Whether the sender is in a recovery period that a mark began.
    marked: bool,
    /// Time of the last response to a loss that the sender reports no event for.
    responded: Option<Time>,
}

impl Prague {
    /// Creates a controller in slow start.
    pub fn new(params: Params, path: PathInfo) -> Self {
        Self { inner: WindowController::new(params, path), marked: false, responded: None }
    }
}

impl Controller for Prague {
    delegate! { inner: on_sent(sent: &Sent), on_idle(idle: &Idle), on_path_change(path: PathInfo) }

    fn on_ack(&mut self, ack: &Ack) -> Option<Cause> {
        self.marked &= ack.in_recovery;
        self.inner.on_ack(ack)
    }

    fn on_lost(&mut self, lost: &Lost) {
        let new = |p: &LostPacket| p.pn >= self.inner.rule.loss_end && p.detection != Detection::Timeout;
        if self.marked && lost.packets.iter().any(new) {
            self.responded = Some(lost.now);
            let (now, cause, prior_in_flight) = (lost.now, Cause::Loss, lost.bytes_in_flight);
            let (min_rtt, smoothed_rtt) = (self.inner.rule.srtt, self.inner.rule.srtt);
            self.inner.on_congestion(&Congestion { now, cause, prior_in_flight, min_rtt, smoothed_rtt });
        }
    }

    fn on_congestion(&mut self, event: &Congestion) {
        self.marked = event.cause == Cause::Ecn;
        if event.cause != Cause::Loss || self.responded != Some(event.now) {
            self.inner.on_congestion(event);
        }
    }

    fn on_spurious(&mut self) {
        self.inner.on_spurious();
        self.inner.rule.in_loss = false;
    }

    fn needs(&self) -> Needs {
        Needs { mark_counts: true, ecn: Ecn::Ect1, ..Needs::default() }
    }

    /// Marks take less than a packet from the window, which cannot be spread.
    fn shapes_recovery(&self) -> bool {
        true
    }

    fn control(&self) -> Control {
        let control = self.inner.control();
        let Some(mut rate) = self.inner.rule.rate(&self.inner.frame) else { return control };
        if control.cwnd < control.ssthresh / 2 {
            rate *= 2.0;
        }
        let quantum = (rate * self.inner.rule.params.burst.as_secs_f64()) as u64;
        let pacing_rate = Some(Rate(Rate::from_bytes_per_sec(rate).0.max(1)));
        Control { pacing_rate, send_quantum: Some(quantum.max(self.inner.frame.mds())), ..control }
    }

    /// Reports `ssthresh` in bytes and `rtt_virt` in seconds.
    fn trace(&self, put: &mut dyn FnMut(&'static str, f64)) {
        self.inner.trace(put);
    }
}
