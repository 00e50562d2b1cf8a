//! CUBIC, RFC 9438 (August 2023). Not RFC 8312: `K` and `W_est` differ.
//!
//! ```text
//! W_cubic(t) = C * (t - K)^3 + W_max            segments; t, K in seconds          (4.2)
//! K          = cbrt((W_max - cwnd_epoch) / C)   seconds                            (4.2)
//! target     = clamp(W_cubic(t + RTT), cwnd, 1.5 * cwnd)                           (4.2)
//! W_est     += alpha * segments_acked / cwnd    from cwnd_epoch                    (4.3)
//! alpha      = 3 (1 - beta) / (1 + beta), and 1 once W_est >= cwnd_prior           (4.3)
//! cwnd       = W_est  if W_cubic(t) < W_est                                        (4.3)
//! cwnd      += segments_acked * (target - cwnd) / cwnd   otherwise                 (4.4, 4.5)
//! event:  W_max = cwnd * (1 + beta) / 2 if cwnd < W_max (fast convergence), else cwnd   (4.7)
//!         ssthresh = beta * cwnd; cwnd = max(ssthresh, floor of loss or of ECN)         (4.6)
//! after a timeout, and after a slow start left without loss: K = 0, W_max = cwnd        (4.8, 4.10)
//! before the first loss cwnd += at least initial_growth * segments_acked               (Linux bictcp_update, off)
//! spurious event: everything back, if cwnd < cwnd_prior                                 (4.9.2)
//! ```
//!
//! Windows are in segments and `t` in seconds, as in the RFC; bytes appear only at the edge. `t` starts with the
//! first growth after the reduction, which is the end of recovery, and stands still while the sender leaves the
//! window unused (4.2, 5.8): between two ACKs of which the later grows nothing, and while nothing is in flight.
//!
//! Deviations: the reduction takes `cwnd`, not FlightSize (RFC 9002 section 7.3.2, Linux; 4.6 allows it, because the
//! sender grants no growth to an unused window). The ECN floor is RFC 9002's 2 packets, see `min-window-ecn`.
//! Persistent congestion (RFC 9002 section 7.6.2) follows 4.8 with `ssthresh` as the loss left it. The standard slow
//! start is the default; 4.10 prefers HyStart++. A second timeout without an ACK in between keeps `ssthresh`
//! (RFC 5681 section 3.1). A spurious timeout is undone as a spurious loss (4.9.1 points to RFC 4015). Idle time restarts the
//! window where the sender asks for it (see `idle`), and a new curve begins after it. `count` is about slow start and the
//! Reno-friendly part alone: the curve is a function of time.

use super::curve::k_after;
use crate::components::count::{Count, Counting};
use crate::components::datagram_size::rescaled;
use crate::components::idle;
use crate::components::slow_start::SlowStart;
use crate::components::undo::Undo;
use crate::{Ack, Cause, Congestion, Control, Controller, Idle, PathInfo, Sent, initial_window_of};
use crate::{Range, params};
use units::Time;

params! {
    /// C, how fast the window returns, segments per second cubed. RFC 9438 section 5.1.
    c: f64 = 0.4 => Range::FACTOR,
    /// What is left of the window after a congestion event, 0..1. RFC 9438 section 4.6; 0.875 in picoquic.
    beta: f64 = 0.7 => Range::SHARE,
    /// Give up more than the window when the maximum fell, to let new flows in. RFC 9438 section 4.7.
    fast_convergence: bool = true,
    /// Most growth of the window in one round trip, as a factor. RFC 9438 section 4.2.
    target_limit: f64 = 1.5 => Range::from(1.0),
    /// Least growth of the window in a round trip while no loss has shown a maximum, as a share. Linux: 0.05; RFC 9438 has none.
    initial_growth: f64 = 0.0 => Range::from(0.0),
    /// Smallest window after a loss, packets. RFC 9438 section 4.6, RFC 9002 section 7.2.
    min_window: u64 = 2 => Range::PACKETS,
    /// Smallest window after an ECN mark, packets. RFC 9002 section 7.2; RFC 9438 section 4.6 says 1.
    min_window_ecn: u64 = 2 => Range::PACKETS,
    /// Initial window, packets, or `"auto"`: RFC 9002 section 7.2.
    #[serde(with = "units::or_auto")]
    initial_window: Option<u64> = None => Range::PACKETS,
    /// What opens the window in slow start and in the Reno-friendly part: `bytes` acknowledged, `packets` (Linux), `acks`, each as one packet (RFC 5681; ns-3, htsim), or `always`: bytes, also of an unused window (mvfst).
    count: Count = Count::Bytes,
    /// L, most packets of growth per ACK in slow start, or `"off"`. RFC 3465 section 2.2 has 2; RFC 9002 and Linux none.
    #[serde(with = "units::or_off")]
    abc_limit: Option<u64> = None => Range::COUNT,
    /// How slow start grows and ends: `standard`, `hystart++` (RFC 9406), `hystart` (Linux), `hystart-picoquic` or `hystart-mvfst`.
    slow_start: crate::components::slow_start::Kind = crate::components::slow_start::Kind::Standard,
}

/// A stage of congestion avoidance: the curve being climbed.
#[derive(Clone, Debug)]
struct Epoch {
    start: Time,
    k: f64,
    w_est: f64,
}

/// What a spurious congestion event must bring back.
#[derive(Clone, Debug)]
struct Window {
    cwnd: f64,
    ssthresh: f64,
    slow_start: SlowStart,
    /// 0 while undefined (4.10).
    w_max: f64,
    cwnd_prior: f64,
    /// No loss since the start, or since a timeout: how much the path carries is unknown.
    searching: bool,
    /// `None` in slow start and until the first growth after a congestion event.
    epoch: Option<Epoch>,
}

impl Window {
    /// Segments were larger by this factor.
    fn rescale(&mut self, ratio: f64, min: f64, last_ack: Time) {
        self.cwnd = rescaled(self.cwnd, min, ratio);
        for w in [&mut self.ssthresh, &mut self.w_max, &mut self.cwnd_prior] {
            *w *= ratio;
        }
        if let Some(epoch) = &mut self.epoch {
            epoch.w_est *= ratio;
            epoch.k = k_after((last_ack - epoch.start).as_secs_f64(), epoch.k, ratio);
        }
    }
}

/// The controller. Every window is in segments.
#[derive(Clone, Debug)]
pub struct Cubic {
    params: Params,
    counting: Counting,
    mds: f64,
    initial: f64,
    state: Window,
    undo: Undo<Window>,
    /// The last ACK, from which an unused time is measured.
    last_ack: Time,
}

impl Cubic {
    /// In slow start.
    pub fn new(params: Params, path: PathInfo) -> Self {
        let mds = path.max_datagram_size.max(1);
        let cwnd = initial_window_of(params.initial_window, mds) as f64 / mds as f64;
        let state = Window {
            cwnd,
            ssthresh: f64::INFINITY,
            slow_start: SlowStart::new(params.slow_start, path),
            w_max: 0.0,
            cwnd_prior: 0.0,
            searching: true,
            epoch: None,
        };
        let counting = Counting { count: params.count, limit: params.abc_limit, mds };
        let (mds, undo) = (mds as f64, Undo::new());
        Self { params, counting, mds, initial: cwnd, state, undo, last_ack: Time::ZERO }
    }

    fn slow_start(&mut self, ack: &Ack) {
        self.state.cwnd += self.state.slow_start.growth(self.counting.of_slow_start(ack)) as f64 / self.mds;
        let cwnd = self.cwnd_bytes();
        if self.state.slow_start.ended(ack, cwnd) {
            self.state.ssthresh = self.state.cwnd;
        }
    }

    fn congestion_avoidance(&mut self, ack: &Ack) {
        let Params { c, beta, target_limit, initial_growth, .. } = self.params;
        let segments_acked = ack.growth as f64 / self.mds;
        let w = &mut self.state;
        let epoch = w.epoch.get_or_insert_with(|| {
            // Sections 4.8 and 4.10: without a maximum to return to, the plateau is here and K is 0.
            w.w_max = w.w_max.max(w.cwnd);
            Epoch { start: ack.now, k: k(c, w.w_max, w.cwnd), w_est: w.cwnd }
        });

        let a = if epoch.w_est < w.cwnd_prior { alpha(beta) } else { 1.0 };
        epoch.w_est += a * self.counting.of(ack) as f64 / self.mds / w.cwnd;

        let least = w.cwnd + if w.searching { initial_growth * segments_acked } else { 0.0 };
        let t = (ack.now - epoch.start).as_secs_f64();
        if w_cubic(c, w.w_max, epoch.k, t) < epoch.w_est {
            w.cwnd = w.cwnd.max(epoch.w_est);
        } else {
            let ahead = w_cubic(c, w.w_max, epoch.k, t + ack.smoothed_rtt.as_secs_f64());
            let target = ahead.min(target_limit * w.cwnd).max(w.cwnd);
            w.cwnd += (target - w.cwnd) / w.cwnd * segments_acked;
        }
        w.cwnd = w.cwnd.max(least);
    }

    /// The window was not used since the last ACK: this time must not count as `t`.
    fn stand_still(&mut self, now: Time) {
        if let Some(epoch) = &mut self.state.epoch {
            epoch.start += now - self.last_ack;
        }
        self.last_ack = now;
    }

    fn reduce(&mut self, floor: f64) {
        let Params { beta, fast_convergence, .. } = self.params;
        let ssthresh = self.reduced();
        let w = &mut self.state;
        let shrinking = fast_convergence && w.cwnd < w.w_max;
        w.w_max = if shrinking { w.cwnd * (1.0 + beta) / 2.0 } else { w.cwnd };
        w.cwnd_prior = w.cwnd;
        w.searching = false;
        w.ssthresh = ssthresh;
        // The floor must not lift a window that a timeout left below it.
        w.cwnd = (w.cwnd * beta).max(floor).min(w.cwnd);
        w.epoch = None;
    }

    /// Section 4.8: slow start up to `ssthresh`, then a curve with K = 0.
    fn collapse(&mut self, cwnd: f64, ssthresh: f64) {
        let w = &mut self.state;
        (w.cwnd, w.ssthresh) = (cwnd.min(w.cwnd), ssthresh);
        (w.w_max, w.searching, w.epoch) = (0.0, true, None);
    }

    fn reduced(&self) -> f64 {
        (self.state.cwnd * self.params.beta).max(self.params.min_window as f64)
    }

    fn on_timeout(&mut self, repeated: bool) {
        let ssthresh = if repeated { self.state.ssthresh } else { self.reduced() };
        self.state.cwnd_prior = if repeated { self.state.cwnd_prior } else { self.state.cwnd };
        // RFC 5681 section 3.1: the loss window is one segment.
        self.collapse(1.0, ssthresh);
    }

    fn cwnd_bytes(&self) -> u64 {
        (self.state.cwnd * self.mds + 0.5) as u64
    }
}

impl Controller for Cubic {
    fn on_sent(&mut self, sent: &Sent) {
        let idle = sent.bytes_in_flight <= sent.bytes;
        if idle {
            self.stand_still(sent.now);
        }
    }

    fn on_ack(&mut self, ack: &Ack) -> Option<Cause> {
        self.undo.on_ack(ack);
        // An ACK of nothing but late packets says nothing of the use of the window.
        if ack.acked == 0 {
            return None;
        }
        if self.state.cwnd < self.state.ssthresh {
            self.slow_start(ack);
        } else if ack.growth == 0 {
            self.stand_still(ack.now);
        } else {
            self.congestion_avoidance(ack);
        }
        self.last_ack = ack.now;
        None
    }

    fn on_congestion(&mut self, event: &Congestion) {
        let repeated = self.undo.on_congestion(event.cause, &self.state);
        self.state.slow_start.leave();
        match event.cause {
            Cause::Loss | Cause::Delay => self.reduce(self.params.min_window as f64),
            Cause::Ecn => self.reduce(self.params.min_window_ecn as f64),
            Cause::PersistentCongestion => {
                self.collapse(self.params.min_window as f64, self.state.ssthresh);
            }
            Cause::Timeout => self.on_timeout(repeated),
        }
    }

    fn on_spurious(&mut self) {
        if let Some(before) = self.undo.take().filter(|b| b.cwnd > self.state.cwnd) {
            self.state = before;
        }
    }

    /// The congestion avoidance that follows is a new stage.
    fn on_idle(&mut self, event: &Idle) {
        let w = &mut self.state;
        (w.cwnd, w.ssthresh) = idle::restart(event, w.cwnd, w.ssthresh, self.initial);
        w.epoch = None;
    }

    fn on_path_change(&mut self, path: PathInfo) {
        let mds = path.max_datagram_size.max(1);
        let ratio = self.mds / mds as f64;
        (self.mds, self.counting.mds) = (mds as f64, mds);
        self.initial = initial_window_of(self.params.initial_window, mds) as f64 / self.mds;
        for window in self.undo.saved().into_iter().chain([&mut self.state]) {
            window.rescale(ratio, self.params.min_window as f64, self.last_ack);
            window.slow_start.on_path_change(path);
        }
    }

    fn control(&self) -> Control {
        let ssthresh = (self.state.ssthresh * self.mds) as u64;
        Control {
            cwnd: self.cwnd_bytes(),
            pacing_rate: None,
            ssthresh,
            send_quantum: None,
            wake: Time::NEVER,
        }
    }

    /// Windows in bytes, as [`Control::cwnd`].
    fn trace(&self, put: &mut dyn FnMut(&'static str, f64)) {
        put("ssthresh", self.state.ssthresh * self.mds);
        put("w_max", self.state.w_max * self.mds);
        if let Some(epoch) = &self.state.epoch {
            put("w_est", epoch.w_est * self.mds);
        }
    }
}

fn w_cubic(c: f64, w_max: f64, k: f64, t: f64) -> f64 {
    let x = t - k;
    c * x * x * x + w_max
}

fn k(c: f64, w_max: f64, cwnd_epoch: f64) -> f64 {
    libm::cbrt((w_max - cwnd_epoch) / c)
}

/// The additive increase that gives a flow with this `beta` the mean window of Reno.
fn alpha(beta: f64) -> f64 {
    3.0 * (1.0 - beta) / (1.0 + beta)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::components::slow_start::Kind;
    use crate::testing::fixtures::{acked, congestion, path};
    use units::Duration;

    const RTT: Duration = Duration::from_millis(100);
    const MDS: u64 = 1200;

    fn near(a: f64, b: f64, tolerance: f64) {
        assert!((a - b).abs() <= tolerance, "{a} is not {b}");
    }

    fn ack(now: Time, growth: u64) -> Ack<'static> {
        Ack { now, growth, ..acked(MDS) }
    }

    /// One round: the whole window is acknowledged, segment by segment, at `now`.
    fn round(cc: &mut Cubic, now: Time) {
        for _ in 0..cc.control().cwnd / MDS {
            cc.on_ack(&ack(now, MDS));
        }
    }

    fn event(cc: &mut Cubic, cause: Cause) {
        let prior = cc.control().cwnd;
        cc.on_congestion(&congestion(cause, prior));
    }

    fn with(params: Params, cwnd: f64) -> Cubic {
        let mut cc = Cubic::new(params, path(MDS));
        cc.state.cwnd = cwnd;
        cc
    }

    /// Just reduced from `w_max` segments.
    fn avoiding(w_max: f64) -> Cubic {
        let mut cc = with(Params::default(), w_max);
        event(&mut cc, Cause::Loss);
        cc
    }

    /// Section 4.2: K for both usual values of beta.
    #[test]
    fn k_table() {
        let windows = [10.0, 50.0, 100.0, 1000.0, 10000.0];
        let tables = [(0.7, [1.957, 3.347, 4.217, 9.086, 19.574]), (0.875, [1.462, 2.5, 3.15, 6.786, 14.62])];
        for (beta, ks) in tables {
            for (w, expected) in windows.into_iter().zip(ks) {
                near(k(0.4, w, w * beta), expected, 5e-4);
            }
        }
    }

    /// Section 4.2: the curve from a maximum of 100 segments.
    #[test]
    fn w_cubic_table() {
        let times = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0];
        let tables = [
            (0.7, [70.0, 86.68, 95.64, 99.28, 100.0, 100.19, 102.27, 121.65, 177.35]),
            (0.875, [87.5, 96.03, 99.39, 100.0, 100.25, 102.53, 109.26, 145.64, 228.58]),
        ];
        for (beta, windows) in tables {
            for (t, expected) in times.into_iter().zip(windows) {
                near(w_cubic(0.4, 100.0, k(0.4, 100.0, 100.0 * beta), t), expected, 6e-3);
            }
        }
    }

    /// Section 4.3.
    #[test]
    fn alpha_table() {
        for (beta, expected) in [(0.7, 0.5294), (0.875, 0.2), (0.5, 1.0)] {
            near(alpha(beta), expected, 5e-5);
        }
    }

    /// Section 4.2: the window follows the curve and is back at W_max after K seconds.
    #[test]
    fn returns_to_w_max_after_k() {
        let mut cc = avoiding(1000.0);
        let mut now = Time::ZERO;
        while now.as_secs_f64() < k(0.4, 1000.0, 700.0) {
            assert!(cc.state.cwnd <= 1001.0, "{} at {now:?}", cc.state.cwnd);
            round(&mut cc, now);
            now += RTT;
        }
        near(cc.state.cwnd, 1000.0, 5.0);
    }

    /// Section 4.2: at most half of the window more in one round trip, whatever the curve says.
    #[test]
    fn target_is_clamped() {
        let mut cc = avoiding(100.0);
        cc.on_ack(&ack(Time::ZERO, MDS));
        let before = cc.state.cwnd;
        round(&mut cc, Time::from_millis(60_000));
        assert!(
            cc.state.cwnd > 1.3 * before && cc.state.cwnd <= before * libm::exp(0.5),
            "{}",
            cc.state.cwnd
        );
    }

    /// Linux: 5 % a round trip until a loss shows a maximum, and again after a timeout; the RFC's curve is flat there.
    #[test]
    fn initial_growth_ends_with_the_first_loss() {
        let grown = |initial_growth: f64, causes: &[Cause]| {
            let mut cc = with(Params { initial_growth, ..Params::default() }, 100.0);
            cc.state.ssthresh = 100.0;
            causes.iter().for_each(|cause| event(&mut cc, *cause));
            // What a timeout leaves is too small to see a share of it.
            cc.state.cwnd = cc.state.cwnd.max(50.0);
            cc.state.ssthresh = cc.state.cwnd;
            cc.on_ack(&ack(Time::ZERO, MDS));
            let before = cc.state.cwnd;
            for _ in 0..before as u64 {
                cc.on_ack(&ack(Time::from_millis(1), MDS));
            }
            cc.state.cwnd / before - 1.0
        };
        assert!(grown(0.0, &[]) < 0.011, "W_est alone: a segment");
        near(grown(0.05, &[]), 0.05, 1e-3);
        assert_eq!(grown(0.05, &[Cause::Loss]), grown(0.0, &[Cause::Loss]), "the curve back to W_max");
        near(grown(0.05, &[Cause::Timeout]), 0.05, 2e-3);
    }

    /// Section 4.3: Reno-friendly with slope alpha up to the window before the event, then slope 1.
    #[test]
    fn w_est_changes_slope() {
        let mut cc = avoiding(10.0);
        // So short a round trip that the curve lies below.
        let slope = |cc: &mut Cubic| {
            let before = cc.state.epoch.as_ref().map_or(0.0, |e| e.w_est);
            let cwnd = cc.state.cwnd;
            cc.on_ack(&Ack { smoothed_rtt: Duration::from_millis(1), ..ack(Time::ZERO, MDS) });
            (cc.state.epoch.as_ref().map_or(0.0, |e| e.w_est) - before) * cwnd
        };
        slope(&mut cc);
        near(slope(&mut cc), 9.0 / 17.0, 1e-9);
        while cc.state.cwnd < 10.0 {
            slope(&mut cc);
        }
        near(slope(&mut cc), 1.0, 1e-9);
    }

    /// Section 4.7: a second loss below W_max gives up more than the window.
    #[test]
    fn fast_convergence() {
        for (beta, w_max, cwnd) in [(0.7, 68.0, 56.0), (0.875, 75.0, 70.0)] {
            let mut cc = with(Params { beta, ..Params::default() }, 80.0);
            cc.state.w_max = 100.0;
            event(&mut cc, Cause::Loss);
            near(cc.state.w_max, w_max, 1e-9);
            near(cc.state.cwnd, cwnd, 1e-9);
        }
        let mut cc = with(Params { fast_convergence: false, ..Params::default() }, 80.0);
        cc.state.w_max = 100.0;
        event(&mut cc, Cause::Loss);
        near(cc.state.w_max, 80.0, 1e-9);
    }

    /// Section 4.6: floors of loss and of ECN; `ssthresh` never below 2.
    #[test]
    fn floors() {
        for (cause, cwnd) in [(Cause::Loss, 2.0), (Cause::Ecn, 1.4)] {
            let mut cc = with(Params { min_window_ecn: 1, ..Params::default() }, 2.0);
            event(&mut cc, cause);
            near(cc.state.cwnd, cwnd, 1e-9);
            near(cc.state.ssthresh, 2.0, 1e-9);
        }
    }

    /// Sections 4.8 and 4.10: the plateau is where congestion avoidance starts.
    #[test]
    fn k_is_zero_without_a_maximum() {
        let mut restarted = avoiding(1000.0);
        event(&mut restarted, Cause::PersistentCongestion);
        near(restarted.state.cwnd, 2.0, 1e-9);
        restarted.state.cwnd = 700.0;
        let mut left = with(Params { slow_start: Kind::HystartPlusPlus, ..Params::default() }, 50.0);
        left.state.ssthresh = 50.0;
        for cc in [&mut restarted, &mut left] {
            let cwnd = cc.state.cwnd;
            cc.on_ack(&ack(Time::ZERO, MDS));
            near(cc.state.epoch.as_ref().map_or(9.0, |e| e.k), 0.0, 0.0);
            near(cc.state.w_max, cwnd, 0.0);
        }
    }

    /// Section 4.8 and RFC 5681 section 3.1: one segment; a repeated timeout keeps `ssthresh`.
    #[test]
    fn timeouts() {
        let mut cc = with(Params::default(), 100.0);
        for _ in 0..3 {
            event(&mut cc, Cause::Timeout);
            assert_eq!(cc.control().cwnd, MDS);
            near(cc.state.ssthresh, 70.0, 1e-9);
        }
        cc.on_spurious();
        near(cc.state.cwnd, 100.0, 0.0);
    }

    /// Section 4.2, 5.8: neither idle nor application-limited time moves the curve.
    #[test]
    fn unused_time_does_not_count() {
        let mut busy = avoiding(1000.0);
        let mut idle = avoiding(1000.0);
        let mut now = Time::ZERO;
        for _ in 0..10 {
            round(&mut busy, now);
            round(&mut idle, now);
            now += RTT;
        }
        let shift = Duration::from_secs(20);
        for s in 1..=10 {
            idle.on_ack(&Ack { app_limited: true, ..ack(now + Duration::from_secs(s), 0) });
        }
        let sent = Sent { now: now + shift, pn: 0, bytes: MDS, bytes_in_flight: MDS, app_limited: false };
        idle.on_sent(&sent);
        near(idle.state.cwnd, busy.state.cwnd, 0.0);
        // The curve stood still from the last ACK, one round trip before `now`.
        for _ in 0..30 {
            round(&mut busy, now);
            round(&mut idle, now + shift + RTT);
            now += RTT;
        }
        near(idle.state.cwnd, busy.state.cwnd, 2.0);
    }

    /// Section 4.9.2, of a timeout too, and of one that follows a loss: as before the first.
    #[test]
    fn spurious_event_is_undone() {
        for causes in [&[Cause::Loss][..], &[Cause::Timeout], &[Cause::Loss, Cause::Timeout]] {
            let mut cc = avoiding(1000.0);
            round(&mut cc, Time::ZERO);
            let before = format!("{:?}", cc.state);
            causes.iter().for_each(|cause| event(&mut cc, *cause));
            cc.on_spurious();
            assert_eq!(format!("{:?}", cc.state), before, "{causes:?}");
        }
    }

    /// ns-3, htsim: an ACK of two packets counts as one in slow start and in W_est; the curve does not ask.
    #[test]
    fn growth_per_ack() {
        for (count, grown) in [(Count::Bytes, 2.0), (Count::Acks, 1.0)] {
            let mut cc = with(Params { count, ..Params::default() }, 10.0);
            cc.on_ack(&ack(Time::ZERO, 2 * MDS));
            near(cc.state.cwnd, 10.0 + grown, 1e-9);
            let mut cc = with(Params { count, ..Params::default() }, 10.0);
            event(&mut cc, Cause::Loss);
            cc.on_ack(&Ack { smoothed_rtt: Duration::from_millis(1), ..ack(Time::ZERO, 2 * MDS) });
            near(cc.state.cwnd, 7.0 + 9.0 / 17.0 * grown / 7.0, 1e-9);
            let mut cc = with(Params { count, ..Params::default() }, 1000.0);
            event(&mut cc, Cause::Loss);
            cc.on_ack(&ack(Time::ZERO, MDS));
            let before = cc.state.cwnd;
            cc.on_ack(&ack(Time::from_millis(1000), 2 * MDS));
            let target = w_cubic(0.4, 1000.0, k(0.4, 1000.0, 700.0), 1.1);
            near(cc.state.cwnd, before + (target - before) / before * 2.0, 1e-6);
        }
    }

    #[test]
    fn limited_per_ack() {
        let mut cc = with(Params { abc_limit: Some(10), ..Params::default() }, 100.0);
        cc.on_ack(&ack(Time::ZERO, 60 * MDS));
        near(cc.state.cwnd, 110.0, 1e-9);
    }

    /// Three quarters of the window before are the new threshold; from there a new curve to the old maximum.
    #[test]
    fn idle_time() {
        let mut cc = avoiding(1000.0);
        round(&mut cc, Time::ZERO);
        let cwnd = cc.state.cwnd;
        let (idle, rto) = (Duration::from_secs(10), Duration::from_secs(1));
        cc.on_idle(&Idle { now: Time::from_millis(10_000), idle, rto });
        near(cc.state.cwnd, 10.0, 0.0);
        near(cc.state.ssthresh, (0.75 * cwnd).max(700.0), 0.0);
        cc.state.cwnd = cc.state.ssthresh;
        cc.on_ack(&ack(Time::from_millis(11_000), MDS));
        let expected = k(0.4, 1000.0, cc.state.ssthresh);
        near(cc.state.epoch.as_ref().map_or(0.0, |e| e.k), expected, 1e-9);
        assert!(cc.state.cwnd < cc.state.ssthresh + 1.0, "{}", cc.state.cwnd);
    }

    /// Late packets alone leave the curve where it is.
    #[test]
    fn late_packets_stop_nothing() {
        let mut cc = avoiding(1000.0);
        round(&mut cc, Time::ZERO);
        let before = format!("{:?}", cc.state);
        cc.on_ack(&Ack { late: MDS, acked: 0, ..ack(Time::from_millis(50), 0) });
        assert_eq!(format!("{:?}", cc.state), before);
        assert_eq!(cc.last_ack, Time::ZERO);
    }

    /// Section 5.1, table 1: mean window 187 under one loss per 10 000 packets, RTT 100 ms. The maximum of that sawtooth
    /// is 4 / (3 + beta) times the mean; started there it stays, since W_max moves with the cube of a small time.
    /// Without fast convergence, which a flow alone should not use (section 4.7).
    #[test]
    fn response_function() {
        let mut cc = with(Params { fast_convergence: false, ..Params::default() }, 187.0 * 4.0 / 3.7);
        event(&mut cc, Cause::Loss);
        let (mut now, mut packets, mut rounds, mut sum) = (Time::ZERO, 0, 0.0, 0.0);
        for _ in 0..4000 {
            let cwnd = cc.control().cwnd / MDS;
            packets += cwnd;
            sum += cc.state.cwnd;
            rounds += 1.0;
            if packets >= 10_000 {
                packets -= 10_000;
                event(&mut cc, Cause::Loss);
            }
            round(&mut cc, now);
            now += RTT;
        }
        near(sum / rounds, 187.0, 0.02 * 187.0);
    }

    /// The curve goes on where it is: the same bytes now, and a plateau of the same bytes.
    #[test]
    fn larger_datagrams() {
        let mut cc = Cubic::new(Params::default(), path(1200));
        cc.state.cwnd = 100.0;
        cc.on_congestion(&congestion(Cause::Loss, 0));
        let ack = |ms: u64| Ack { now: Time::from_millis(ms), ..acked(1200) };
        (0..2000).for_each(|i| _ = cc.on_ack(&ack(i)));
        let before = cc.control().cwnd;
        let curve = |cc: &Cubic| {
            let epoch = cc.state.epoch.as_ref().expect("on a curve");
            let t = (cc.last_ack - epoch.start).as_secs_f64();
            [w_cubic(0.4, cc.state.w_max, epoch.k, t), cc.state.w_max, epoch.w_est].map(|w| w * cc.mds)
        };
        let bytes = curve(&cc);
        cc.on_path_change(path(1400));
        assert_eq!(cc.control().cwnd, before);
        for (before, after) in bytes.into_iter().zip(curve(&cc)) {
            assert!((before - after).abs() < 1e-6, "{before}: {after}");
        }
        (2000..8000).for_each(|i| _ = cc.on_ack(&ack(i)));
        assert!(cc.control().cwnd > 120_000, "past the plateau");
    }
}
