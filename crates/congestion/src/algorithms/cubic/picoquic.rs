//! CUBIC of picoquic (`cubic.c`, `cc_common.c`): not RFC 9438. At commit b7bf3ded (29 June 2023), the stack of "Fairness
//! improvement method using explicit congestion notification for QUIC" (Uchida et al., IEICE ComEX, April 2024), or, with
//! `revision`, at d199d45b (16 August 2026).
//!
//! ```text
//! W_cubic(t) = C (t - K)^3 + W_max          packets; t, K in seconds, t = now - epoch
//! K          = cbrt(W_max (1 - beta) / C)   seconds
//! W_reno    += acked * mtu / W_reno         bytes
//! avoidance:   cwin = max(W_cubic(t) * mtu, W_reno)        no look ahead, no limit per round trip
//! slow start:  cwin = max(cwin, peak delivery rate * srtt / 2) + acked, until ssthresh or an RTT that stays high
//!
//! event:       W_max = cwin / mtu
//!              W_max < W_last_max: W_last_max = W_max, W_max *= beta;  else W_last_max = W_max   (fast convergence)
//!              ssthresh = beta * W_max * mtu;  epoch = now
//!              W_reno = cwin / 2;  cwin = max(W_cubic(0) * mtu, cwin / 2)
//!              timeout, or ssthresh below the smallest window: slow start at it
//! loss:        an event once s > 0.2; per lost packet, d packet numbers after the lost one before:
//!              s *= (15/16)^min(d, 32);  s += (1 - s) / 16
//! CE mark:     always an event
//! high RTT:    over 7 samples, at least 1 ms apart: filtered_min = lowest maximum so far; a minimum above
//!              1.25 filtered_min counts, one not above filtered_min clears the count; at 7:
//!              filtered_min > 100 ms: cwin -= (1 - 100 ms / filtered_min) cwin / 2    (above 610 ms: 610 ms)
//!              ssthresh = cwin;  W_max = W_last_max = cwin / mtu;  W_reno = cwin;  epoch = now - K: on the plateau
//! spurious:    W_max = W_last_max;  epoch = previous epoch;  cwin = W_reno = W_cubic(now) * mtu
//!
//! d199d45b differs:
//! loss:        once s > 0.15
//! slow start:  += acked only while the window limits the sender
//! high RTT:    1.25 filtered_min, and filtered_min + the time between two packets; at 7:
//!              filtered_min <= 100 ms: cwin /= 2;  then an event, which covers what has been sent (no answer to the losses
//!              of the overshoot), and epoch = now - K: beta * W_max until the next ACK, then W_max
//! spurious:    if the event ended slow start: cwin = W_reno = before, ssthresh = before;
//!              else as above, with ssthresh = 3/4 W_max
//! ```
//!
//! One event per round trip: in avoidance the lost or marked packet must have left after the last event, and only then its
//! loss counts in s; in slow start every loss counts, and the event must be older than srtt or something sent after it
//! acknowledged. The first event of a connection that left slow start by loss counts as fast convergence, because
//! W_last_max starts infinite.
//!
//! **Marks as in Uchida et al.**, equations 1 to 3, cwnd_current being the window that the mark finds:
//!
//! ```text
//! cwnd_cubic = C (t - K)^3 + cwnd_current;  K of W_max;  cwnd = max(cwnd_cubic, cwnd_current / 2)
//! ```
//!
//! `centre = "cwnd"` is this letter, `"w-max"` picoquic's own answer. They differ where fast convergence has lowered W_max:
//! at 80 packets after a maximum of 100 picoquic leaves 61.25, the letter 71.25, and 70 without fast convergence, which the
//! paper does not mention (`fast-convergence`). The curve that follows has the same centre. "t is the elapsed time since
//! congestion avoidance": avoidance begins with the mark (`mark-epoch = "new"`), so t is 0 and the window shrinks, as the
//! paper says it does. Counted from the avoidance before (`"old"`) the equation opens the window once t > K; here it never
//! opens it at the mark itself. Losses are answered as picoquic does.
//!
//! **The sender's recovery period.** The sender opens one at the first lost or marked packet, which this controller may
//! ignore. So losses are judged in `on_lost`, marks in `on_ack`, each against an event number of its own;
//! `on_congestion` answers only collapses. Growth takes what was acknowledged, not what the sender grants: picoquic
//! knows no recovery without growth, and an ignored event must not cost a round of it. The sender's count of
//! reductions counts its periods, also the ignored ones.
//!
//! The RTTs that end slow start are without the delay of the ACK as far as RFC 9002 section 5.3 allows, as picoquic's.
//!
//! Deviations: `cbrt` is exact, picoquic's three Newton steps make K up to 1.1 % too long. RTTs always, never one-way
//! delays. Growth and the seed of the bandwidth stop, and the epoch moves, while the sender says that it is limited
//! (per packet). Persistent congestion is a timeout; a collapse right after an event does not reduce W_max
//! again. The smallest window holds always. Pacing is the sender's: picoquic's is `factor = 1.0`, slow start 1.25. picoquic
//! knows no restart after idle; where the sender asks for one it is Linux' (see `idle`).

use super::curve::k_after;
use crate::components::idle;
use crate::components::picoquic::{LossFilter, RttTest, packet_time, rtt_measurement};
use crate::{Ack, Cause, Congestion, Control, Controller, Detection, Idle, Lost, PathInfo, Sent};
use crate::{Range, params};
use units::{Bytes, Duration, Rate, Time};

params! {
    /// Which picoquic: `b7bf3ded` (June 2023, that of Uchida et al.) or `d199d45b` (August 2026).
    revision: Revision = Revision::B7bf3ded,
    /// C, how fast the window returns, packets per second cubed. picoquic cubic.c.
    c: f64 = 0.4 => Range::FACTOR,
    /// What is left of the window after an event, 0..1. picoquic cubic.c: 7/8.
    beta: f64 = 0.875 => Range::SHARE,
    /// Lower the maximum where it fell, to let new flows in. picoquic cubic.c.
    fast_convergence: bool = true,
    /// Centre of the curve after a mark: `w-max` (picoquic cubic.c) or the window `cwnd` that the mark finds (Uchida et al., equation 1).
    centre: Centre = Centre::WMax,
    /// Where t of the curve begins at a mark: with it, a `new` epoch (picoquic cubic.c), or where it began before, the `old` one.
    mark_epoch: MarkEpoch = MarkEpoch::New,
    /// Initial window. picoquic PICOQUIC_CWIN_INITIAL: 10 * 1536 bytes.
    initial_window: Bytes = Bytes(15_360),
    /// Smallest window. picoquic PICOQUIC_CWIN_MINIMUM: 2 * 1536 bytes.
    min_window: Bytes = Bytes(3_072),
    /// Answer CE marks; `false` is the CE-blind baseline of Uchida et al. picoquic cubic.c: yes.
    ecn: bool = true,
    /// Smoothed loss rate above which a loss is an event, 0..1; 0: every loss. `"auto"`: PICOQUIC_SMOOTHED_LOSS_THRESHOLD of the revision, 0.2 or 0.15.
    #[serde(with = "units::or_auto")]
    loss_threshold: Option<f64> = None => Range::PART,
    /// Weight of one packet in that rate. picoquic PICOQUIC_SMOOTHED_LOSS_FACTOR: 1/16.
    loss_gain: f64 = 0.0625 => Range::SHARE,
    /// Most packet numbers between two losses that count. picoquic PICOQUIC_SMOOTHED_LOSS_SCOPE.
    loss_scope: u64 = 32 => Range::COUNT,
    /// RTT samples in the window of the slow-start test, and high windows that end slow start. picoquic PICOQUIC_MIN_MAX_RTT_SCOPE.
    rtt_window: u64 = 7 => Range::PACKETS,
    /// Least time between two of these samples. picoquic cc_common.c.
    rtt_spacing: Duration = Duration::from_millis(1),
    /// What is high, as a factor of the filtered minimum. picoquic cc_common.c.
    rtt_excess: f64 = 1.25 => Range::from(1.0),
    /// RTT above which the window is corrected when slow start ends. picoquic PICOQUIC_TARGET_RENO_RTT.
    target_rtt: Duration = Duration::from_millis(100),
    /// RTT above which the correction refers to this instead. picoquic PICOQUIC_TARGET_SATELLITE_RTT.
    satellite_rtt: Duration = Duration::from_millis(610),
    /// Part of peak delivery rate times srtt that slow start opens at once; 0: none. picoquic cubic.c: 1/2.
    bandwidth_seed: f64 = 0.5 => Range::from(0.0),
}

/// A state of picoquic's source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Revision {
    /// 29 June 2023.
    B7bf3ded,
    /// 16 August 2026.
    D199d45b,
}

/// What the curve after a mark is centred on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Centre {
    /// The maximum, lowered by fast convergence.
    WMax,
    /// The window that the mark found.
    Cwnd,
}

/// Where the time of the curve after a mark begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum MarkEpoch {
    /// With the mark.
    New,
    /// Where it began before the mark.
    Old,
}

impl Params {
    /// With the answer to marks that equations 1 to 3 of Uchida et al. give.
    pub fn equation_1() -> Self {
        Self { centre: Centre::Cwnd, ..Self::default() }
    }

    fn is_new(&self) -> bool {
        self.revision == Revision::D199d45b
    }

    fn loss_filter(&self) -> LossFilter {
        let threshold = self.loss_threshold.unwrap_or(if self.is_new() { 0.15 } else { 0.2 });
        LossFilter::new(threshold, self.loss_gain, self.loss_scope)
    }
}

/// What asks for an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    Loss,
    Mark,
    Timeout,
    /// d199d45b: slow start left by RTT.
    RisenRtt,
}

/// The cubic curve and its rival.
#[derive(Clone, Debug)]
struct Curve {
    /// Packets.
    w_max: f64,
    /// Packets.
    w_last_max: f64,
    /// Where the curve is flat, packets.
    centre: f64,
    /// Bytes.
    w_reno: f64,
    /// Seconds.
    k: f64,
    epoch: Time,
    previous_epoch: Time,
}

impl Curve {
    /// Packets.
    fn w_cubic(&self, c: f64, now: Time) -> f64 {
        let x = (now - self.epoch).as_secs_f64() - self.k;
        c * x * x * x + self.centre
    }

    /// `picoquic_cubic_enter_avoidance`, with its order: the previous epoch is this one.
    fn start(&mut self, params: &Params, epoch: Time) {
        self.set_k(params);
        self.centre = self.w_max;
        (self.epoch, self.previous_epoch) = (epoch, epoch);
    }

    fn set_k(&mut self, params: &Params) {
        self.k = libm::cbrt(self.w_max * (1.0 - params.beta) / params.c);
    }

    /// The centre is passed now.
    fn enter_plateau(&mut self, now: Time) {
        // No time before the start of the run: then K is shorter, the plateau the same.
        self.k = self.k.min(now.as_secs_f64());
        self.epoch = now - Duration::from_secs_f64(self.k);
    }
}

/// What the last event found; d199d45b gives it back if the event ended slow start by mistake.
#[derive(Clone, Copy, Debug)]
struct Previous {
    slow_start: bool,
    cwin: u64,
    ssthresh: u64,
}

/// The controller. Windows in bytes, but for the curve's maxima.
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
    /// The last signal: `on_spurious` has no time of its own.
    now: Time,
    next_pn: u64,
    acked_pn: u64,
    /// The next packet number at the last event.
    recovery_pn: u64,
    /// When the newest packet left that was acknowledged and sent while the sender was limited.
    limited: Time,
}

impl CubicPicoquic {
    /// In slow start.
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

    /// Has this packet's loss or mark not been answered yet?
    fn is_new(&self, now: Time, pn: u64) -> bool {
        if self.slow_start {
            now - self.curve.epoch > self.srtt || self.recovery_pn <= self.acked_pn
        } else {
            pn >= self.recovery_pn
        }
    }

    /// `picoquic_cubic_enter_recovery`.
    fn event(&mut self, now: Time, event: Event) {
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

    /// Onto the curve, at t = 0 if it is a new one; never to more than there was.
    fn enter_avoidance(&mut self, now: Time, event: Event, before: f64) {
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

    /// Slow start at the smallest window.
    fn restart(&mut self, now: Time) {
        self.slow_start = true;
        (self.curve.previous_epoch, self.curve.epoch) = (self.curve.epoch, now);
        self.cwin = self.floor;
    }

    fn set(&mut self, cwin: f64) {
        self.cwin = ((cwin + 0.5) as u64).max(self.floor);
    }

    fn collapse(&mut self, now: Time) {
        // The losses of this very collapse may have been an event already.
        if self.recovery_pn < self.next_pn { self.event(now, Event::Timeout) } else { self.restart(now) }
    }

    fn slow_start(&mut self, ack: &Ack) {
        if let Some(rate) = ack.rate.and_then(|sample| sample.delivery_rate) {
            self.peak = self.peak.max(rate);
        }
        let seed = self.params.bandwidth_seed * self.peak.bytes_in(ack.smoothed_rtt) as f64;
        let blocked = ack.cwnd_limited || !self.params.is_new();
        self.cwin = self.cwin.max(seed as u64) + if blocked { ack.acked } else { 0 };
        if self.cwin >= self.ssthresh {
            self.curve.w_reno = self.cwin as f64 / 2.0;
            self.avoid(ack.now);
        }
    }

    fn avoid(&mut self, epoch: Time) {
        self.slow_start = false;
        self.curve.start(&self.params, epoch);
    }

    fn congestion_avoidance(&mut self, ack: &Ack) {
        let w = &mut self.curve;
        w.epoch = w.epoch.max(self.limited);
        w.w_reno += ack.acked as f64 * self.mtu / w.w_reno;
        let cwin = (w.w_cubic(self.params.c, ack.now) * self.mtu).max(w.w_reno);
        self.set(cwin);
    }

    /// The RTT has risen for good: to avoidance, on its plateau.
    fn leave_slow_start(&mut self, now: Time) {
        let Params { target_rtt, satellite_rtt, .. } = self.params;
        let min = self.rtt_test.filtered_min;
        if min > target_rtt {
            let reference = if min > satellite_rtt { satellite_rtt } else { target_rtt };
            let kept = reference.as_secs_f64() / min.as_secs_f64();
            self.set(self.cwin as f64 * (1.0 + kept) / 2.0);
        } else if self.params.is_new() {
            // For the growth since the packet left that tells of the queue.
            self.set(self.cwin as f64 / 2.0);
        }
        self.ssthresh = self.cwin;
        let cwin = self.cwin as f64;
        let w = &mut self.curve;
        (w.w_max, w.w_last_max, w.w_reno) = (cwin / self.mtu, cwin / self.mtu, cwin);
        if self.params.is_new() {
            self.event(now, Event::RisenRtt);
        } else {
            self.avoid(now);
        }
        if !self.slow_start {
            self.curve.enter_plateau(now);
        }
    }

    fn test_rtt(&mut self, ack: &Ack) {
        if !self.slow_start || self.ssthresh != u64::MAX {
            return;
        }
        let least = match self.params.revision {
            Revision::B7bf3ded => Duration::ZERO,
            Revision::D199d45b => packet_time(ack.smoothed_rtt, self.cwin, self.mds),
        };
        if rtt_measurement(ack).is_some_and(|rtt| self.rtt_test.add(ack.now, rtt, least)) {
            self.leave_slow_start(ack.now);
        }
    }
}

impl Controller for CubicPicoquic {
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
            // Late packets alone acknowledge nothing in picoquic.
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
            // A timeout is answered as a collapse.
            if new && many && packet.detection != Detection::Timeout {
                self.event(lost.now, Event::Loss);
            }
        }
    }

    fn on_congestion(&mut self, event: &Congestion) {
        match event.cause {
            Cause::PersistentCongestion | Cause::Timeout => self.collapse(event.now),
            // Losses: see `on_lost`. Marks: see `on_ack`.
            Cause::Loss | Cause::Ecn | Cause::Delay => {}
        }
    }

    /// `picoquic_cubic_correct_spurious`.
    fn on_spurious(&mut self) {
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
        Control { cwnd: self.cwin, pacing_rate: None, ssthresh, send_quantum: None, wake: Time::NEVER }
    }

    /// Windows in bytes, as [`Control::cwnd`].
    fn trace(&self, put: &mut dyn FnMut(&'static str, f64)) {
        put("ssthresh", if self.ssthresh == u64::MAX { f64::INFINITY } else { self.ssthresh as f64 });
        put("w_max", self.curve.w_max * self.mtu);
        put("w_reno", self.curve.w_reno);
        put("drop_rate", self.loss_filter.smoothed);
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::testing::fixtures::{acked, congestion, path};
    use crate::{AckedPacket, LostPacket};

    pub(crate) const MTU: u64 = 1200;
    const RTT: Duration = Duration::from_millis(100);

    fn near(a: f64, b: f64, tolerance: f64) {
        assert!((a - b).abs() <= tolerance, "{a} is not {b}");
    }

    fn packets(cc: &CubicPicoquic) -> f64 {
        cc.cwin as f64 / MTU as f64
    }

    /// With a window of so many packets and this last maximum; 1000 packets sent, none acknowledged.
    pub(crate) fn with(params: Params, cwin: u64, w_last_max: f64) -> CubicPicoquic {
        let mut cc = CubicPicoquic::new(params, path(MTU));
        cc.cwin = cwin * MTU;
        cc.curve.w_last_max = w_last_max;
        sent(&mut cc, 1000);
        cc
    }

    /// Packets up to this number have left.
    pub(crate) fn sent(cc: &mut dyn Controller, pn: u64) {
        cc.on_sent(&Sent { now: Time::ZERO, pn, bytes: MTU, bytes_in_flight: 2 * MTU, app_limited: false });
    }

    /// An ACK of one packet, with so many new marks.
    pub(crate) fn ack(cc: &mut dyn Controller, now: Time, pn: u64, ce: u64) {
        let packet = AckedPacket { pn, bytes: MTU, sent: now, received: None, before_reduction: false };
        cc.on_ack(&Ack { now, packets: &[packet], ce, ..acked(MTU) });
    }

    fn lose(cc: &mut CubicPicoquic, now: Time, pns: &[u64]) {
        let packets: Vec<_> = pns
            .iter()
            .map(|&pn| LostPacket {
                pn,
                bytes: MTU,
                sent: Time::ZERO,
                detection: Detection::PacketThreshold,
                tx_in_flight: 0,
                lost_at_send: 0,
                app_limited: false,
            })
            .collect();
        cc.on_lost(&Lost { now, packets: &packets, total_lost: 0, delivered: 0, bytes_in_flight: 0 });
    }

    /// (a) W_cubic(0) = 7/8 W_max, and W_max at K, for the table of K.
    #[test]
    fn curve() {
        for (w, k) in [(10, 1.462), (50, 2.5), (100, 3.15), (1000, 6.786), (10_000, 14.62)] {
            let mut cc = with(Params::default(), w, 0.0);
            cc.event(Time::ZERO, Event::Loss);
            near(cc.curve.k, k, 5e-4);
            near(packets(&cc), 0.875 * w as f64, 1e-3);
            let at_k = Time::ZERO + Duration::from_secs_f64(cc.curve.k);
            ack(&mut cc, at_k, 1000, 0);
            near(packets(&cc), w as f64, 1.0);
        }
    }

    /// The curve from a maximum of 100 packets, at each time with one ACK, without look ahead.
    #[test]
    fn curve_in_time() {
        let table = [(1, 96.03), (2, 99.39), (3, 100.0), (4, 100.25), (5, 102.53), (8, 145.64), (10, 228.58)];
        for (s, w) in table {
            let mut cc = with(Params::default(), 100, 0.0);
            cc.event(Time::ZERO, Event::Loss);
            ack(&mut cc, Time::from_millis(s * 1000), 1000, 0);
            near(packets(&cc), w, 6e-3);
        }
    }

    /// (b), (c): the reduction without and with fast convergence, and coming from slow start.
    #[test]
    fn reductions() {
        for (cwin, w_last_max, w_max, left) in
            [(100, 100.0, 100.0, 87.5), (80, 100.0, 70.0, 61.25), (100, f64::INFINITY, 87.5, 76.5625)]
        {
            let mut cc = with(Params::default(), cwin, w_last_max);
            cc.event(Time::ZERO, Event::Loss);
            near(cc.curve.w_max, w_max, 1e-9);
            near(cc.curve.w_last_max, cwin as f64, 1e-9);
            near(packets(&cc), left, 1e-3);
            near(cc.curve.w_reno, cwin as f64 / 2.0 * MTU as f64, 1e-9);
        }
    }

    /// Equation 1: 80 packets after a maximum of 100, and the very first mark at picoquic's initial window. The curve goes on
    /// from what the mark left, and is flat at its centre after K.
    #[test]
    fn equation_1() {
        for (centre, fast_convergence, left, first) in [
            (Centre::WMax, true, 61.25, 0.765_625),
            (Centre::WMax, false, 70.0, 0.875),
            (Centre::Cwnd, true, 71.25, 0.890_625),
            (Centre::Cwnd, false, 70.0, 0.875),
        ] {
            let params = Params { centre, fast_convergence, ..Params::default() };
            let mut cc = with(params.clone(), 80, 100.0);
            cc.slow_start = false;
            cc.event(Time::ZERO, Event::Mark);
            near(packets(&cc), left, 1e-3);
            ack(&mut cc, Time::ZERO, 1001, 0);
            near(packets(&cc), left, 1e-3);
            let k = Time::ZERO + Duration::from_secs_f64(cc.curve.k);
            ack(&mut cc, k, 1002, 0);
            near(packets(&cc), if centre == Centre::Cwnd { 80.0 } else { cc.curve.w_max }, 1e-2);
            let mut cc = CubicPicoquic::new(params.clone(), path(MTU));
            cc.event(Time::ZERO, Event::Mark);
            near(cc.cwin as f64 / 15_360.0, first, 1e-4);
            // Losses are picoquic's.
            let mut cc = with(params, 80, 100.0);
            cc.event(Time::ZERO, Event::Loss);
            near(packets(&cc), if fast_convergence { 61.25 } else { 70.0 }, 1e-3);
        }
        assert_eq!(Params::equation_1(), Params { centre: Centre::Cwnd, ..Params::default() });
    }

    /// t from the avoidance before: at K nothing is left to give up, beyond it the mark must not open the window.
    #[test]
    fn old_epoch() {
        let params = Params { mark_epoch: MarkEpoch::Old, ..Params::equation_1() };
        for (seconds, left) in [(0.0, 87.5), (1.0, 96.03), (3.15, 100.0), (8.0, 100.0)] {
            let mut cc = with(params.clone(), 100, 0.0);
            cc.slow_start = false;
            cc.event(Time::ZERO + Duration::from_secs_f64(seconds), Event::Mark);
            near(packets(&cc), left, 1e-2);
        }
    }

    /// The window is less than 7/8 of itself where the maximum is more than four times it; the floor is half.
    #[test]
    fn floor_of_equation_3() {
        let mut cc = with(Params { beta: 0.3, ..Params::equation_1() }, 100, 0.0);
        cc.event(Time::ZERO, Event::Mark);
        near(packets(&cc), 50.0, 1e-3);
    }

    /// (d) in the controller: three losses cost nothing, the fourth is the event, the next are covered by it.
    #[test]
    fn fourth_loss_in_a_row_is_an_event() {
        let mut cc = with(Params::default(), 100, 0.0);
        cc.slow_start = false;
        lose(&mut cc, Time::ZERO, &[500, 501, 502]);
        cc.on_congestion(&congestion(Cause::Loss, 0));
        near(packets(&cc), 100.0, 0.0);
        lose(&mut cc, Time::ZERO, &[503, 504, 505]);
        lose(&mut cc, Time::ZERO, &[900]);
        near(packets(&cc), 87.5, 1e-3);
        // Sent after the event: with the filter still high, the next one.
        sent(&mut cc, 1010);
        lose(&mut cc, Time::from_millis(150), &[1001, 1002, 1003, 1004]);
        near(packets(&cc), 87.5 * 0.875 * 0.875, 1e-3);
    }

    /// Ten losses in a row: in avoidance the six that the event covers do not count, in slow start they do. The newer
    /// picoquic speaks at the third.
    #[test]
    fn covered_losses_are_not_counted() {
        for (revision, slow_start, rate) in [
            (Revision::B7bf3ded, false, 0.2081),
            (Revision::D199d45b, false, 0.1657),
            (Revision::B7bf3ded, true, 0.3742),
        ] {
            let mut cc = with(Params { revision, ..Params::default() }, 100, 0.0);
            // In slow start an event puts an end to it: none comes.
            cc.slow_start = slow_start;
            if slow_start {
                (cc.recovery_pn, cc.srtt) = (2000, RTT);
            }
            lose(&mut cc, Time::ZERO, &(500..510).collect::<Vec<_>>());
            // From a rate of nothing, the long gap before the first does not matter.
            near(cc.loss_filter.smoothed, rate, 1e-4);
            near(packets(&cc), if slow_start { 100.0 } else { 87.5 }, 1e-3);
        }
    }

    /// (e) A mark is an event although nothing was lost; ten of them in one round trip are one.
    #[test]
    fn marks() {
        let mut cc = with(Params::default(), 100, 0.0);
        cc.slow_start = false;
        for i in 0..10 {
            ack(&mut cc, Time::ZERO, 990 + i, 1);
        }
        near(packets(&cc), 87.5, 1e-2);
        ack(&mut cc, Time::ZERO, 1001, 1);
        near(packets(&cc), 87.5 * 0.875 * 0.875, 1e-2);
        let mut blind = with(Params { ecn: false, ..Params::default() }, 100, 0.0);
        ack(&mut blind, Time::ZERO, 990, 1);
        near(packets(&blind), 101.0, 0.0);
    }

    /// The smallest window after a timeout and slow start up to ssthresh; a second one before anything else was sent
    /// counts once; below twice the smallest window ssthresh is forgotten.
    #[test]
    fn timeouts() {
        for cause in [Cause::Timeout, Cause::PersistentCongestion] {
            let mut cc = with(Params::default(), 100, 0.0);
            for _ in 0..3 {
                cc.on_congestion(&congestion(cause, 0));
                assert_eq!((cc.cwin, cc.ssthresh, cc.slow_start), (3072, 105_000, true));
            }
            for _ in 0..85 {
                ack(&mut cc, Time::ZERO, 1001, 0);
            }
            assert!(!cc.slow_start);
            let mut cc = with(Params::default(), 2, 0.0);
            cc.on_congestion(&congestion(cause, 0));
            assert_eq!((cc.cwin, cc.ssthresh), (3072, u64::MAX));
        }
    }

    /// Slow start left by RTT: the window stays, or loses half of what is beyond 100 ms; then the plateau.
    #[test]
    fn slow_start_left_by_rtt() {
        for (min, kept) in [(40, 1.0), (200, 0.75), (610, (1.0 + 100.0 / 610.0) / 2.0), (1220, 0.75)] {
            let mut cc = with(Params::default(), 100, f64::INFINITY);
            cc.rtt_test.filtered_min = Duration::from_millis(min);
            let now = Time::from_millis(10_000);
            cc.leave_slow_start(now);
            near(packets(&cc), 100.0 * kept, 1e-3);
            near(cc.curve.w_cubic(0.4, now), 100.0 * kept, 1e-3);
            assert!(!cc.control().in_slow_start());
            let early = Time::from_millis(100);
            cc.slow_start = true;
            cc.leave_slow_start(early);
            near(cc.curve.w_cubic(0.4, early), packets(&cc), 1e-3);
        }
    }

    /// d199d45b: half of the window; what has been sent is covered; 7/8 until the next ACK, then the plateau.
    #[test]
    fn newer_exit_by_rtt() {
        for (min, kept) in [(40, 0.5), (100, 0.5), (200, 0.75)] {
            let params = Params { revision: Revision::D199d45b, ..Params::default() };
            let mut cc = with(params, 100, f64::INFINITY);
            cc.rtt_test.filtered_min = Duration::from_millis(min);
            let now = Time::from_millis(10_000);
            cc.leave_slow_start(now);
            near(packets(&cc), 100.0 * kept * 0.875, 1e-3);
            assert_eq!(cc.recovery_pn, 1001);
            lose(&mut cc, now, &(900..1000).collect::<Vec<_>>());
            near(cc.loss_filter.smoothed, 0.0, 0.0);
            ack(&mut cc, now, 1000, 0);
            near(packets(&cc), 100.0 * kept, 1e-3);
            near(cc.curve.w_reno, 50.0 * kept * MTU as f64, MTU as f64);
        }
    }

    /// d199d45b: no growth in slow start for a window that does not limit the sender.
    #[test]
    fn newer_slow_start() {
        for (revision, cwnd_limited, grown) in [
            (Revision::B7bf3ded, false, 10.0),
            (Revision::D199d45b, false, 0.0),
            (Revision::D199d45b, true, 10.0),
        ] {
            let mut cc = with(Params { revision, ..Params::default() }, 100, 0.0);
            cc.on_ack(&Ack { cwnd_limited, ..acked(10 * MTU) });
            near(packets(&cc), 100.0 + grown, 0.0);
        }
    }

    /// d199d45b: a mistake that ended slow start is undone as if it had not been; 3/4 where it did not.
    #[test]
    fn newer_undo() {
        let params = Params { revision: Revision::D199d45b, ..Params::default() };
        let mut cc = with(params.clone(), 100, f64::INFINITY);
        cc.event(Time::ZERO, Event::Loss);
        assert!(!cc.slow_start && packets(&cc) < 77.0);
        cc.on_spurious();
        assert_eq!((cc.slow_start, cc.cwin, cc.ssthresh), (true, 100 * MTU, u64::MAX));
        let mut cc = with(params, 80, 100.0);
        cc.slow_start = false;
        cc.event(Time::ZERO, Event::Loss);
        cc.on_spurious();
        near(packets(&cc), 70.0, 1e-3);
        assert_eq!((cc.slow_start, cc.ssthresh), (false, 60 * MTU));
    }

    /// Half of peak rate times srtt at once.
    #[test]
    fn bandwidth_seed() {
        let mut cc = with(Params::default(), 10, f64::INFINITY);
        let rate = crate::RateSample {
            prior_delivered: 0,
            delivered: MTU,
            interval: RTT,
            delivery_rate: Some(Rate(9_600_000)),
            app_limited: false,
            tx_in_flight: MTU,
            lost: 0,
        };
        cc.on_ack(&Ack { rate: Some(rate), ..acked(MTU) });
        // 9.6 Mbit/s * 100 ms = 100 packets.
        near(packets(&cc), 51.0, 1e-9);
    }

    /// The epoch begins anew with the packet that left last while the sender was limited.
    #[test]
    fn limited_time_does_not_count() {
        let mut cc = with(Params::default(), 100, 0.0);
        cc.event(Time::ZERO, Event::Loss);
        let late = Time::from_millis(20_000);
        let packet =
            AckedPacket { pn: 1001, bytes: MTU, sent: late, received: None, before_reduction: false };
        let limited = Ack { app_limited: true, cwnd_limited: false, ..acked(MTU) };
        cc.on_ack(&Ack { now: late, packets: &[packet], ..limited });
        near(packets(&cc), 87.5, 1e-3);
        ack(&mut cc, late, 1002, 0);
        near(packets(&cc), 87.5, 0.1);
    }

    /// A spurious event gives fast convergence back, and no more; after a timeout the whole curve.
    #[test]
    fn spurious() {
        let mut cc = with(Params::default(), 80, 100.0);
        cc.event(Time::ZERO, Event::Loss);
        near(packets(&cc), 61.25, 1e-3);
        cc.on_spurious();
        near(packets(&cc), 70.0, 1e-3);
        let mut cc = with(Params::default(), 100, 0.0);
        cc.event(Time::ZERO, Event::Loss);
        cc.curve.w_last_max = 0.0;
        let now = Time::ZERO + Duration::from_secs_f64(cc.curve.k);
        ack(&mut cc, now, 1001, 0);
        near(packets(&cc), 100.0, 0.1);
        sent(&mut cc, 1002);
        cc.collapse(now);
        cc.now = now;
        cc.on_spurious();
        near(packets(&cc), 100.0, 0.1);
    }
}
