//! CUBIC of picoquic (`cubic.c`, `cc_common.c`), which differs from RFC 9438. At commit b7bf3ded
//! (29 June 2023), the stack of "Fairness improvement method using explicit congestion notification
//! for QUIC" (Uchida et al., IEICE ComEX, April 2024), or, with `revision`, at d199d45b (16 August
//! 2026).
//!
//! ```text
//! W_cubic(t) = C (t - K)^3 + W_max          packets; t, K in seconds, t = now - epoch
//! K          = cbrt(W_max (1 - beta) / C)   seconds
//! W_reno    += acked * mtu / W_reno         bytes
//! avoidance:   cwin = max(W_cubic(t) * mtu, W_reno)        no look-ahead, no limit per round trip
//! slow start:  cwin = max(cwin, peak delivery rate * srtt / 2) + acked, until ssthresh or an RTT that stays high
//!
//! event:       W_max = cwin / mtu
//!              W_max < W_last_max: W_last_max = W_max, W_max *= beta;  else W_last_max = W_max   (fast convergence)
//!              ssthresh = beta * W_max * mtu;  epoch = now
//!              W_reno = cwin / 2;  cwin = max(W_cubic(0) * mtu, cwin / 2)
//!              timeout, or ssthresh below the smallest window: slow start from that minimum
//! loss:        an event once s > 0.2; per lost packet, d packet numbers after the previous one:
//!              s *= (15/16)^min(d, 32);  s += (1 - s) / 16
//! CE mark:     always an event
//! high RTT:    over 7 samples at least 1 ms apart: filtered_min = lowest maximum so far; a minimum above
//!              1.25 filtered_min counts, one not above filtered_min resets the count; at 7:
//!              filtered_min > 100 ms: cwin -= (1 - 100 ms / filtered_min) cwin / 2    (above 610 ms: 610 ms)
//!              ssthresh = cwin;  W_max = W_last_max = cwin / mtu;  W_reno = cwin;  epoch = now - K: on the plateau
//! spurious:    W_max = W_last_max;  epoch = previous epoch;  cwin = W_reno = W_cubic(now) * mtu
//!
//! d199d45b differs:
//! loss:        once s > 0.15
//! slow start:  += acked only while the window limits the sender
//! high RTT:    1.25 filtered_min, and filtered_min + the time between two packets; at 7:
//!              filtered_min <= 100 ms: cwin /= 2;  then an event that covers all sent packets (no response to the losses
//!              of the overshoot), and epoch = now - K: beta * W_max until the next ACK, then W_max
//! spurious:    if the event ended slow start: cwin = W_reno = before, ssthresh = before;
//!              else as above, with ssthresh = 3/4 W_max
//! ```
//!
//! There is one event per round trip. In avoidance, the lost or marked packet must have been sent
//! after the last event, and only then does its loss count in s. In slow start every loss counts. A
//! new event then requires that the last one is older than srtt, or that a packet sent after it has
//! been acknowledged. The first event of a connection that left slow start by loss counts as fast
//! convergence, because W_last_max starts at infinity.
//!
//! **Marks as in Uchida et al.**, equations 1 to 3. cwnd_current is the window before the mark:
//!
//! ```text
//! cwnd_cubic = C (t - K)^3 + cwnd_current;  K of W_max;  cwnd = max(cwnd_cubic, cwnd_current / 2)
//! ```
//!
//! `centre = "cwnd"` is the literal equation, `"w-max"` picoquic's own response. They differ where
//! fast convergence has lowered W_max. At 80 packets after a maximum of 100, picoquic's response
//! gives 61.25 packets and the literal equation 71.25. Without fast convergence, which the paper
//! does not mention (`fast-convergence`), it is 70. The following curve has the same centre. The
//! paper says "t is the elapsed time since congestion avoidance". Avoidance begins with the mark
//! (`mark-epoch = "new"`), so t is 0 and the window shrinks, as the paper states. If t is counted
//! from the previous avoidance (`"old"`), the equation enlarges the window once t > K. Here the
//! window is never enlarged at the mark itself. The response to losses is picoquic's.
//!
//! **The sender's recovery period.** The sender opens one at the first lost or marked packet, which
//! this controller may ignore. Therefore losses are handled in `on_lost` and marks in `on_ack`,
//! each with its own event number. `on_congestion` handles only timeouts and persistent
//! congestion. Growth uses the acknowledged bytes, not those that the sender allows. picoquic has
//! no recovery without growth, and an ignored event must not cost a round of growth. The sender's
//! count of reductions includes ignored recovery periods.
//!
//! As in picoquic, the ACK delay is subtracted from the RTTs that end slow start, within the limits
//! of RFC 9002 section 5.3.
//!
//! Deviations: `cbrt` is exact; picoquic's three Newton steps make K up to 1.1 % too long. RTTs are
//! used always, one-way delays never. While the sender reports that it is limited (per packet),
//! growth and the bandwidth seed stop and the epoch moves. Persistent congestion is treated as a
//! timeout. A timeout right after an event does not reduce W_max again. The smallest window always
//! applies. Pacing is done by the sender: picoquic's corresponds to `factor = 1.0`, in slow start
//! 1.25. picoquic has no restart after idle. If the sender asks for one, it is Linux's (see
//! `idle`).

mod curve;
mod event;
mod params;
mod slow_start;
#[cfg(test)]
pub(crate) mod tests;

pub use params::{Centre, MarkEpoch, Params, Revision};

use super::curve::k_after;
use crate::components::idle;
use crate::components::picoquic::{LossFilter, RttTest};
use crate::{Ack, Cause, Congestion, Control, Controller, Detection, Idle, Lost, Needs, PathInfo, Sent};
use curve::Curve;
use event::{Event, Previous};
use units::{Duration, Rate, Time};

crate::variables! {
    /// Slow-start threshold, infinite until slow start has ended. picoquic cubic.c.
    ssthresh: "bytes",
    /// Window at the last event, W_max, or a lower value after fast convergence. picoquic cubic.c.
    w_max: "bytes",
    /// Reno-friendly window, W_reno. picoquic cubic.c.
    w_reno: "bytes",
    /// Smoothed loss rate, s, 0..1, which decides whether losses count. picoquic cc_common.c.
    drop_rate: "",
}

/// The controller. Windows are in bytes, except for the curve's maxima.
#[derive(Clone, Debug)]
pub struct CubicPicoquic {
    params: Params,
    mds: u64,
    mtu: f64,
    floor: u64,
    cwin: u64,
    ssthresh: u64,
    slow_start: bool,
    curve: Curve,
    previous: Previous,
    loss_filter: LossFilter,
    rtt_test: RttTest,
    peak: Rate,
    srtt: Duration,
    /// Time of the last signal, because `on_spurious` carries none.
    now: Time,
    next_pn: u64,
    acked_pn: u64,
    /// Next packet number at the last event.
    recovery_pn: u64,
    /// Send time of the newest acknowledged packet that was sent while the sender was limited.
    limited: Time,
}

impl CubicPicoquic {
    /// Creates a controller in slow start.
    pub fn new(params: Params, path: PathInfo) -> Self {
        let floor = params.min_window.0.max(path.max_datagram_size);
        let cwin = params.initial_window.0.max(floor);
        let curve = Curve {
            w_max: f64::INFINITY,
            w_last_max: f64::INFINITY,
            centre: f64::INFINITY,
            w_reno: cwin as f64,
            k: 0.0,
            epoch: Time::ZERO,
            previous_epoch: Time::ZERO,
        };
        Self {
            mds: path.max_datagram_size,
            mtu: path.max_datagram_size.max(1) as f64,
            floor,
            cwin,
            ssthresh: u64::MAX,
            slow_start: true,
            curve,
            previous: Previous { slow_start: true, cwin, ssthresh: u64::MAX },
            loss_filter: params.loss_filter(),
            rtt_test: RttTest::new(params.rtt_window, params.rtt_spacing, params.rtt_excess),
            params,
            peak: Rate::default(),
            srtt: Duration::ZERO,
            now: Time::ZERO,
            next_pn: 0,
            acked_pn: 0,
            recovery_pn: 0,
            limited: Time::ZERO,
        }
    }

    fn congestion_avoidance(&mut self, ack: &Ack) {
        let w = &mut self.curve;
        w.epoch = w.epoch.max(self.limited);
        w.w_reno += ack.acked as f64 * self.mtu / w.w_reno;
        let cwin = (w.w_cubic(self.params.c, ack.now) * self.mtu).max(w.w_reno);
        self.set(cwin);
    }
}

impl Controller for CubicPicoquic {
    /// Slow start seeds the window from the delivery rate.
    fn needs(&self) -> Needs {
        Needs { rate_samples: true, ..Needs::default() }
    }

    fn on_sent(&mut self, sent: &Sent) {
        self.now = sent.now;
        self.next_pn = sent.pn + 1;
    }

    fn on_ack(&mut self, ack: &Ack) -> Option<Cause> {
        (self.now, self.srtt) = (ack.now, ack.smoothed_rtt);
        let newest = ack.packets.last();
        let pn = newest.map_or(self.acked_pn, |p| p.pn);
        self.acked_pn = self.acked_pn.max(pn);
        if ack.ce > 0 && self.params.ecn && self.is_new(ack.now, pn) {
            self.event(ack.now, Event::Mark);
        }
        self.test_rtt(ack);
        if ack.app_limited && !ack.cwnd_limited {
            self.limited = self.limited.max(newest.map_or(self.limited, |p| p.sent));
        } else if ack.acked == 0 {
            // In picoquic, late packets alone acknowledge nothing.
        } else if self.slow_start {
            self.slow_start(ack);
        } else {
            self.congestion_avoidance(ack);
        }
        None
    }

    fn on_lost(&mut self, lost: &Lost) {
        self.now = lost.now;
        for packet in lost.packets {
            let new = self.is_new(lost.now, packet.pn);
            if !new && !self.slow_start {
                continue; // avoidance does not even count it
            }
            let many = self.loss_filter.add(packet.pn);
            // A timeout is handled in `on_congestion`.
            if new && many && packet.detection != Detection::Timeout {
                self.event(lost.now, Event::Loss);
            }
        }
    }

    fn on_congestion(&mut self, event: &Congestion) {
        match event.cause {
            Cause::PersistentCongestion | Cause::Timeout => self.collapse(event.now),
            // Losses are handled in `on_lost`, marks in `on_ack`.
            Cause::Loss | Cause::Ecn | Cause::Delay => {}
        }
    }

    fn on_spurious(&mut self) {
        self.correct_spurious();
    }

    fn on_idle(&mut self, event: &Idle) {
        let initial = self.params.initial_window.0 as f64;
        let (cwin, ssthresh) = idle::restart(event, self.cwin as f64, self.ssthresh as f64, initial);
        self.set(cwin);
        self.ssthresh = ssthresh as u64;
        self.slow_start = self.cwin < self.ssthresh;
    }

    fn on_path_change(&mut self, path: PathInfo) {
        let mds = path.max_datagram_size;
        let ratio = self.mtu / mds.max(1) as f64;
        (self.mds, self.mtu) = (mds, mds.max(1) as f64);
        self.floor = self.params.min_window.0.max(mds);
        self.cwin = self.cwin.max(self.floor);
        let w = &mut self.curve;
        w.k = k_after((self.now - w.epoch).as_secs_f64(), w.k, ratio);
        for packets in [&mut w.w_max, &mut w.w_last_max, &mut w.centre] {
            *packets *= ratio;
        }
    }

    fn control(&self) -> Control {
        let slow_start = self.slow_start && self.ssthresh == u64::MAX;
        let ssthresh = if slow_start { u64::MAX } else { 0 };
        Control { ssthresh, ..Control::window(self.cwin) }
    }

    /// Reports the variables. Windows are in bytes, like [`Control::cwnd`].
    fn trace(&self, put: &mut dyn FnMut(&'static str, f64)) {
        put("ssthresh", if self.ssthresh == u64::MAX { f64::INFINITY } else { self.ssthresh as f64 });
        put("w_max", self.curve.w_max * self.mtu);
        put("w_reno", self.curve.w_reno);
        put("drop_rate", self.loss_filter.smoothed);
    }
}
