//! CUBIC of facebook/mvfst at commit b48045620d4a (31 May 2025), the stack under the testbed of QUIC-DC (arXiv 2507.00896):
//! not RFC 9438. Facts from mvfst.md sections 3 and 7; lines are of `QuicCubic.cpp` where no file is named.
//!
//! ```text
//! Hystart       cwnd += acked, until ssthresh or the end of `hystart-mvfst`; then ssthresh = cwnd, W_max and epoch unknown
//! Steady        W_max unknown:  W_max = W_est = cwnd, K = 0, epoch = now                                bytes     611-642
//!               W(t)   = W_max + floor(C * mds * (t - K)^3)          t = now - epoch, rounded up to ms   208-308
//!               W_est += alpha * acked * mds / W_est                 alpha = 3 (1 - beta) / (1 + beta)   661-674
//!               cwnd   = max(cwnd, W(t), W_est)                      no look-ahead, no limit, no way down
//! loss          W_max  = 0.85 cwnd if cwnd < W_max, else cwnd;  epoch = now                              310-318
//!               ssthresh = W_est = cwnd = beta * cwnd, in slow start too;  FastRecovery                  128-138
//! FastRecovery  no growth; with the first ACK of a packet that left after the loss                       353-363
//!               K = cbrt((W_max - cwnd) / (C * mds)), 0 if W_max <= cwnd;  cwnd = W(t);  Steady          685-700
//! persistent congestion   ssthresh = max(cwnd / 2, 2 packets);  cwnd = 2 packets;  Hystart               78-100
//! pacing        gain * cwnd / srtt at each ACK that counts and at each loss: 2.0 in Hystart, 1.25 in FastRecovery, 1.0 in
//!               Steady; the first ACK begins it; bursts of at most 5 packets         375-378, 417-428; QuicCubic.h:18-19
//! application idle        Steady stands still, epoch moves on by that time                               175-192, 582
//! ```
//!
//! Every window is at least 2 packets. The initial one is 10. All acknowledged bytes count in Hystart, whether or not the
//! window was used: mvfst's CUBIC knows an idle application only. No undo. Marks do not count: mvfst answers them under a
//! validated L4S alone, and its servers do not mark.
//!
//! Deviations: the sender tells which losses are new and which packets left before the epoch; what leaves at the very moment
//! of a reduction belongs to it, where mvfst counts from a clock that has moved on. An application is idle while the
//! sender says that it limits it and the window is not full, and while nothing is in flight; mvfst is told by the stream layer.
//! `W_est` keeps fractions of bytes. A retransmission timeout, which QUIC does not have, is persistent congestion; a restart
//! after idle, which mvfst does not have, is not answered. The bursts are a bound on what leaves at once, where
//! mvfst's pacer lets no fewer go: in between, packets leave one by one. The largest window (860 000 packets) is not there.

use super::curve::k_after;
use crate::components::datagram_size::resized;
use crate::components::slow_start::{Kind, SlowStart};
use crate::{Ack, Cause, Congestion, Control, Controller, PathInfo, Sent, initial_window_of};
use crate::{Range, params};
use units::{Duration, Rate, Time};

params! {
    /// C, how fast the window returns, packets per second cubed. kTimeScalingFactor, mvfst QuicConstants.h:524-531.
    c: f64 = 0.4 => Range::FACTOR,
    /// What is left of the window after a loss, 0..1. kDefaultCubicReductionFactor, mvfst QuicConstants.h:524-531.
    beta: f64 = 0.7 => Range::SHARE,
    /// What W_max is of a window that had not come back to it, 0..1. kDefaultLastMaxReductionFactor, mvfst QuicConstants.h:524-531.
    last_max_reduction: f64 = 0.85 => Range::above(0.0).to(1.0),
    /// Initial window, packets, or `"auto"`: RFC 9002 section 7.2. kInitCwndInMss, mvfst QuicConstants.h:495.
    #[serde(with = "units::or_auto")]
    initial_window: Option<u64> = Some(10) => Range::PACKETS,
    /// Smallest window, packets. kMinCwndInMss, mvfst QuicConstants.h:496.
    min_window: u64 = 2 => Range::PACKETS,
    /// Pacing rate in slow start, windows per smoothed RTT. kCubicHystartPacingGain, mvfst QuicCubic.h:18.
    pacing_gain_hystart: f64 = 2.0 => Range::FACTOR,
    /// The same in recovery. kCubicRecoveryPacingGain, mvfst QuicCubic.h:19.
    pacing_gain_recovery: f64 = 1.25 => Range::FACTOR,
    /// The same in congestion avoidance. mvfst QuicCubic.cpp:417-428.
    pacing_gain_steady: f64 = 1.0 => Range::FACTOR,
    /// Most packets that the pacer releases at once. kDefaultMinBurstPackets, mvfst QuicConstants.h:451.
    pacing_burst: u64 = 5 => Range::PACKETS,
    /// How slow start grows and ends: `standard`, `hystart++` (RFC 9406), `hystart` (Linux), `hystart-picoquic` or `hystart-mvfst`.
    slow_start: Kind = Kind::HystartMvfst,
}

/// `CubicStates`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Hystart,
    FastRecovery,
    Steady,
}

/// The curve being climbed.
#[derive(Clone, Copy, Debug)]
struct Curve {
    /// `lastMaxCwndBytes`.
    w_max: u64,
    /// `timeToOrigin`, seconds.
    k: f64,
    /// `lastReductionTime`.
    epoch: Time,
}

/// The controller. Windows in bytes.
#[derive(Clone, Debug)]
pub struct CubicMvfst {
    params: Params,
    path: PathInfo,
    floor: u64,
    state: State,
    cwnd: u64,
    ssthresh: u64,
    /// `estRenoCwnd`.
    w_est: f64,
    curve: Option<Curve>,
    slow_start: SlowStart,
    pacing_rate: Option<Rate>,
    /// The last ACK, from which idle time is measured.
    last_ack: Time,
}

impl CubicMvfst {
    /// In slow start.
    pub fn new(params: Params, path: PathInfo) -> Self {
        let floor = params.min_window.saturating_mul(path.max_datagram_size);
        let cwnd = initial_window_of(params.initial_window, path.max_datagram_size).max(floor);
        Self {
            floor,
            state: State::Hystart,
            cwnd,
            ssthresh: u64::MAX,
            w_est: cwnd as f64,
            curve: None,
            slow_start: SlowStart::new(params.slow_start, path),
            pacing_rate: None,
            last_ack: Time::ZERO,
            params,
            path,
        }
    }

    /// `pacingGain`.
    fn pacing_gain(&self) -> f64 {
        match self.state {
            State::Hystart => self.params.pacing_gain_hystart,
            State::FastRecovery => self.params.pacing_gain_recovery,
            State::Steady => self.params.pacing_gain_steady,
        }
    }

    fn refresh_pacing_rate(&mut self, smoothed_rtt: Duration) {
        if smoothed_rtt > Duration::ZERO {
            let rate = self.pacing_gain() * self.cwnd as f64 / smoothed_rtt.as_secs_f64();
            self.pacing_rate = Some(Rate::from_bytes_per_sec(rate.max(1.0)));
        }
    }

    /// `onPacketAckedInHystart`.
    fn slow_start(&mut self, ack: &Ack) {
        self.cwnd += self.slow_start.growth(ack.acked);
        if self.cwnd >= self.ssthresh {
            self.slow_start = SlowStart::new(self.params.slow_start, self.path);
        } else if !self.slow_start.ended(ack, self.cwnd) {
            return;
        }
        (self.ssthresh, self.curve, self.state) = (self.cwnd, None, State::Steady);
    }

    /// `onPacketAckedInSteady`.
    fn climb(&mut self, ack: &Ack) {
        if ack.app_limited && !ack.cwnd_limited {
            return self.stand_still(ack.now);
        }
        let curve = match self.curve {
            Some(curve) => curve,
            // Slow start ended without a loss: the plateau is here.
            None => {
                self.w_est = self.cwnd as f64;
                Curve { w_max: self.cwnd, k: 0.0, epoch: ack.now }
            }
        };
        self.curve = Some(curve);
        let Params { beta, .. } = self.params;
        let alpha = 3.0 * (1.0 - beta) / (1.0 + beta);
        self.w_est += alpha * ack.acked as f64 * self.path.max_datagram_size as f64 / self.w_est;
        self.w_est = self.w_est.max(self.floor as f64);
        self.cwnd = self.cwnd.max(self.w_cubic(&curve, ack.now)).max(self.w_est as u64);
    }

    /// `onPacketAckedInRecovery`, with the first ACK of what left after the loss.
    fn recovered(&mut self, now: Time) {
        self.state = State::Steady;
        if let Some(mut curve) = self.curve {
            curve.k = self.time_to_origin(curve.w_max);
            self.cwnd = self.w_cubic(&curve, now);
            self.curve = Some(curve);
        }
    }

    /// `updateTimeToOrigin`, seconds.
    fn time_to_origin(&self, w_max: u64) -> f64 {
        let missing = w_max.saturating_sub(self.cwnd) as f64 / self.path.max_datagram_size.max(1) as f64;
        libm::cbrt(missing / self.params.c)
    }

    /// `calculateCubicCwnd`.
    fn w_cubic(&self, curve: &Curve, now: Time) -> u64 {
        let x = in_ms(now - curve.epoch).as_secs_f64() - curve.k;
        let delta = libm::floor(self.params.c * self.path.max_datagram_size as f64 * x * x * x);
        // From bytes below nothing to a window of all bytes: both ends are cut.
        ((curve.w_max as f64 + delta) as u64).clamp(self.floor, WIDEST)
    }

    /// `cubicReduction`.
    fn reduce(&mut self, now: Time) {
        let before = self.cwnd as f64;
        let shrinking = self.curve.is_some_and(|curve| self.cwnd < curve.w_max);
        let w_max = if shrinking { (before * self.params.last_max_reduction) as u64 } else { self.cwnd };
        self.curve = Some(Curve { w_max, k: 0.0, epoch: now });
        self.cwnd = ((before * self.params.beta) as u64).max(self.floor);
        (self.ssthresh, self.w_est, self.state) = (self.cwnd, self.cwnd as f64, State::FastRecovery);
        self.slow_start.leave();
    }

    /// `onPersistentCongestion`.
    fn collapse(&mut self) {
        self.ssthresh = (self.cwnd / 2).max(self.floor);
        (self.cwnd, self.curve, self.state) = (self.floor, None, State::Hystart);
        self.slow_start.leave();
    }

    /// The application had nothing to send since the last ACK: this time does not count as t.
    fn stand_still(&mut self, now: Time) {
        if let Some(curve) = &mut self.curve {
            curve.epoch += in_ms(now - self.last_ack);
        }
        self.last_ack = now;
    }
}

/// A window that no path fills, bytes.
const WIDEST: u64 = 1 << 48;

/// Rounded up, as mvfst counts t.
fn in_ms(time: Duration) -> Duration {
    Duration::from_millis(time.0.div_ceil(1_000_000))
}

impl Controller for CubicMvfst {
    fn on_sent(&mut self, sent: &Sent) {
        let nothing_in_flight = sent.bytes_in_flight <= sent.bytes;
        if nothing_in_flight {
            self.stand_still(sent.now);
        }
    }

    /// `onPacketAcked`.
    fn on_ack(&mut self, ack: &Ack) -> Option<Cause> {
        // Late packets alone are no news for mvfst, nor is an ACK whose newest packet left before the epoch.
        if ack.packets.last().is_none_or(|newest| newest.before_reduction) {
            return None;
        }
        match self.state {
            State::Hystart => self.slow_start(ack),
            State::FastRecovery => self.recovered(ack.now),
            State::Steady => self.climb(ack),
        }
        self.last_ack = ack.now;
        self.refresh_pacing_rate(ack.smoothed_rtt);
        None
    }

    /// `onPacketLoss`.
    fn on_congestion(&mut self, event: &Congestion) {
        match event.cause {
            Cause::Loss => {
                self.reduce(event.now);
                if self.pacing_rate.is_some() {
                    self.refresh_pacing_rate(event.smoothed_rtt);
                }
            }
            Cause::PersistentCongestion | Cause::Timeout => self.collapse(),
            Cause::Ecn | Cause::Delay => {}
        }
    }

    fn on_path_change(&mut self, path: PathInfo) {
        let (before, after) = (self.path.max_datagram_size.max(1), path.max_datagram_size.max(1));
        let ratio = before as f64 / after as f64;
        self.path = path;
        self.cwnd = resized(self.cwnd, self.params.min_window, before, after);
        self.floor = self.params.min_window.saturating_mul(after);
        self.slow_start.on_path_change(path);
        // In recovery K is still to come.
        if let (State::Steady, Some(curve)) = (self.state, &mut self.curve) {
            curve.k = k_after(in_ms(self.last_ack - curve.epoch).as_secs_f64(), curve.k, ratio);
        }
    }

    fn control(&self) -> Control {
        Control {
            cwnd: self.cwnd,
            pacing_rate: self.pacing_rate,
            ssthresh: if self.state == State::Hystart { self.ssthresh } else { 0 },
            send_quantum: Some(self.params.pacing_burst.saturating_mul(self.path.max_datagram_size)),
            wake: Time::NEVER,
        }
    }

    /// Windows in bytes, as [`Control::cwnd`].
    fn trace(&self, put: &mut dyn FnMut(&'static str, f64)) {
        put("state", f64::from(self.state as u8));
        put("ssthresh", if self.ssthresh == u64::MAX { f64::INFINITY } else { self.ssthresh as f64 });
        put("w_est", self.w_est);
        if let Some(curve) = &self.curve {
            put("w_max", curve.w_max as f64);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::AckedPacket;
    use crate::testing::fixtures::{acked, congestion, path};

    const MDS: u64 = 1200;

    fn with(cwnd: u64) -> CubicMvfst {
        let mut cc = CubicMvfst::new(Params::default(), path(MDS));
        cc.cwnd = cwnd * MDS;
        cc
    }

    fn at(s: f64) -> Time {
        Time::ZERO + Duration::from_secs_f64(s)
    }

    fn packet(sent: Time, before_reduction: bool) -> AckedPacket {
        AckedPacket { pn: 0, bytes: MDS, sent, received: None, before_reduction }
    }

    /// An ACK for one packet, sent after the last reduction.
    fn ack(cc: &mut CubicMvfst, now: Time) {
        cc.on_ack(&Ack { now, packets: &[packet(now, false)], ..acked(MDS) });
    }

    fn lose(cc: &mut CubicMvfst, now: Time) {
        cc.on_congestion(&Congestion { now, ..congestion(Cause::Loss, 0) });
    }

    /// After a loss at time 0, recovered at once.
    fn steady(cwnd: u64) -> CubicMvfst {
        let mut cc = with(cwnd);
        lose(&mut cc, Time::ZERO);
        ack(&mut cc, Time::ZERO);
        assert_eq!(cc.state, State::Steady);
        cc
    }

    fn rate(cc: &CubicMvfst) -> f64 {
        cc.control().pacing_rate.map_or(0.0, |rate| rate.0 as f64)
    }

    /// K = cbrt(0.3 W / 0.4): RFC 9438's table for beta = 0.7. W(0) is what the loss left, W(K) the maximum.
    #[test]
    fn curve() {
        for (w, k) in [(10, 1.957), (50, 3.347), (100, 4.217), (1000, 9.086)] {
            let mut cc = steady(w);
            assert!((cc.curve.unwrap().k - k).abs() < 5e-4);
            assert!(cc.cwnd.abs_diff(w * MDS * 7 / 10) <= 1, "{}", cc.cwnd);
            // Without its rival.
            cc.w_est = f64::NEG_INFINITY;
            ack(&mut cc, at(k));
            assert!(cc.cwnd.abs_diff(w * MDS) <= 2, "{} is not {w}", cc.cwnd);
        }
    }

    /// 100 packets lost at 0, K = 4.2172 s. W(1) = 100 - 0.4 * 3.2172^3 = 86.681, W(8) = 100 + 0.4 * 3.7828^3 = 121.653
    /// packets. t counts whole ms, rounded up: what holds at 1 s holds at 999.001 ms, and less at 999 ms.
    #[test]
    fn time_is_in_ms_rounded_up() {
        for (ns, expected) in [(1_000_000_000u64, 86.681), (999_000_001, 86.681), (8_000_000_000, 121.653)] {
            let mut cc = steady(100);
            ack(&mut cc, Time(ns));
            assert!((cc.cwnd as f64 / MDS as f64 - expected).abs() < 2e-3, "{} is not {expected}", cc.cwnd);
        }
        let windows = [999_000_000, 999_000_001, 1_000_000_000].map(|ns| {
            let mut cc = steady(100);
            ack(&mut cc, Time(ns));
            cc.cwnd
        });
        assert!(windows[0] < windows[1] && windows[1] == windows[2], "{windows:?}");
    }

    /// One ACK takes the window to the curve, however far: no look-ahead, no limit per round trip.
    #[test]
    fn at_once() {
        let mut cc = steady(100);
        // 100 + 0.4 * (20 - 4.2172)^3 = 1672.6 packets.
        ack(&mut cc, at(20.0));
        assert!((cc.cwnd as f64 / MDS as f64 - 1672.6).abs() < 0.5, "{}", cc.cwnd);
    }

    /// Fast convergence, always: 80 packets after a maximum of 100 leave W_max 68 and 56 packets; after one of 80 or less W_max 80.
    #[test]
    fn reductions() {
        for (w_max, kept) in [(None, 80), (Some(100), 68), (Some(80), 80), (Some(60), 80)] {
            let mut cc = with(80);
            cc.curve = w_max.map(|w: u64| Curve { w_max: w * MDS, k: 0.0, epoch: Time::ZERO });
            lose(&mut cc, at(1.0));
            assert_eq!((cc.curve.unwrap().w_max, cc.cwnd, cc.ssthresh), (kept * MDS, 56 * MDS, 56 * MDS));
            assert_eq!(cc.w_est, 56.0 * MDS as f64);
        }
        let mut cc = with(2);
        lose(&mut cc, Time::ZERO);
        assert_eq!(cc.cwnd, 2 * MDS, "never below two packets");
    }

    /// alpha = 3 * 0.3 / 1.7 = 0.52941: 70 packets and 70 acknowledged are 70.527 (each adds 0.52941 / W_est).
    #[test]
    fn reno_friendly() {
        let mut cc = steady(100);
        for _ in 0..70 {
            ack(&mut cc, Time::ZERO);
        }
        assert!((cc.w_est / MDS as f64 - 70.527).abs() < 1e-3, "{}", cc.w_est);
        assert_eq!(cc.cwnd, cc.w_est as u64, "more than the curve at its beginning");
    }

    /// Neither an ACK of a packet from before the epoch nor one of late packets alone does anything; the first one of a
    /// later packet jumps to W(0.1) = 100 - 0.4 * 4.1172^3 = 72.083 packets without growth of W_est.
    #[test]
    fn recovery() {
        let mut cc = with(100);
        lose(&mut cc, Time::ZERO);
        let before = format!("{cc:?}");
        let (now, packets) = (at(0.05), [packet(Time::ZERO, true)]);
        cc.on_ack(&Ack { now, packets: &packets, ..acked(MDS) });
        cc.on_ack(&Ack { now, late: MDS, ..acked(0) });
        assert_eq!(format!("{cc:?}"), before);
        // The oldest packets of an ACK do not matter, the newest does; and all bytes count.
        let packets = [packet(Time::ZERO, true), packet(at(0.01), false)];
        cc.on_ack(&Ack { now: at(0.1), packets: &packets, ..acked(2 * MDS) });
        assert!((cc.cwnd as f64 / MDS as f64 - 72.083).abs() < 2e-3, "{}", cc.cwnd);
        assert_eq!((cc.state, cc.w_est), (State::Steady, 70.0 * MDS as f64));
    }

    /// A window that its floor lifted above the maximum falls to it with recovery: K is 0.
    #[test]
    fn recovery_may_take_more() {
        let mut cc = with(100);
        lose(&mut cc, Time::ZERO);
        cc.curve.as_mut().unwrap().w_max = 60 * MDS;
        ack(&mut cc, Time::ZERO);
        assert_eq!((cc.cwnd, cc.curve.unwrap().k), (60 * MDS, 0.0));
        // And in Steady it never falls.
        cc.cwnd = 90 * MDS;
        ack(&mut cc, at(0.1));
        assert_eq!(cc.cwnd, 90 * MDS);
    }

    /// The end of slow start by ssthresh: the plateau is here, convex from the next ACK. 0.4 * 5^3 = 50 packets in 5 s.
    #[test]
    fn slow_start_without_loss() {
        let mut cc = with(99);
        cc.ssthresh = 100 * MDS;
        ack(&mut cc, at(1.0));
        assert_eq!((cc.state, cc.cwnd), (State::Steady, 100 * MDS));
        ack(&mut cc, at(2.0));
        ack(&mut cc, at(7.0));
        assert_eq!(cc.cwnd, 150 * MDS);
    }

    /// A risen RTT ends slow start: 8 ACKs of 50 ms, then 8 of 54, from 16 packets on.
    #[test]
    fn hystart() {
        let mut cc = with(10);
        for i in 0..16 {
            let now = Time::from_millis(100 + i);
            let rtt = Duration::from_millis(if i < 8 { 50 } else { 54 });
            // The eighth ACK is for a packet that left after the first.
            let sent = Time::from_millis(if i < 7 { 50 } else { 100 });
            assert_eq!(cc.state, State::Hystart, "{i}");
            cc.on_ack(&Ack { now, packets: &[packet(sent, false)], latest_rtt: Some(rtt), ..acked(MDS) });
        }
        assert_eq!((cc.state, cc.cwnd, cc.ssthresh), (State::Steady, 26 * MDS, 26 * MDS));
    }

    /// Two packets, half of the window as ssthresh, and slow start again, with HyStart; the next plateau is where it ends.
    #[test]
    fn persistent_congestion() {
        for cause in [Cause::PersistentCongestion, Cause::Timeout] {
            let mut cc = with(70);
            cc.state = State::Steady;
            cc.on_congestion(&congestion(cause, 0));
            assert_eq!((cc.cwnd, cc.ssthresh, cc.state), (2 * MDS, 35 * MDS, State::Hystart));
            assert!(cc.control().in_slow_start());
            (0..33).for_each(|_| ack(&mut cc, Time::ZERO));
            assert_eq!((cc.cwnd, cc.state), (35 * MDS, State::Steady));
            ack(&mut cc, Time::ZERO);
            assert_eq!(cc.curve.unwrap().w_max, 35 * MDS);
        }
    }

    /// srtt 100 ms: 2 * 10 packets in Hystart are 1.92 Mbit/s and a packet more from the first ACK on; 1.25 in recovery, 1 later.
    #[test]
    fn pacing() {
        let mut cc = with(10);
        assert_eq!(cc.control().pacing_rate, None, "the initial window leaves at once");
        let mbit = |packets: u64, gain: f64| gain * (packets * MDS * 8) as f64 / 0.1;
        ack(&mut cc, Time::ZERO);
        assert!((rate(&cc) - mbit(11, 2.0)).abs() < 8.0);
        cc.cwnd = 100 * MDS;
        lose(&mut cc, Time::ZERO);
        assert!((rate(&cc) - mbit(70, 1.25)).abs() < 8.0);
        // An ACK that is skipped refreshes nothing.
        let (packets, smoothed_rtt) = ([packet(Time::ZERO, true)], Duration::from_millis(200));
        cc.on_ack(&Ack { packets: &packets, smoothed_rtt, ..acked(MDS) });
        assert!((rate(&cc) - mbit(70, 1.25)).abs() < 8.0);
        ack(&mut cc, Time::ZERO);
        assert!((rate(&cc) - mbit(70, 1.0)).abs() < 100.0);
        assert_eq!(cc.control().send_quantum, Some(5 * MDS));
    }

    /// 3 s without data, seen by the next packet, or by ACKs that the application limits: t goes on where it stopped.
    #[test]
    fn idle_time_does_not_count() {
        let mut expected = steady(100);
        ack(&mut expected, at(2.0));
        for by_packet in [true, false] {
            let mut cc = steady(100);
            ack(&mut cc, at(1.0));
            let now = at(4.0);
            if by_packet {
                cc.on_sent(&Sent { now, pn: 1, bytes: MDS, bytes_in_flight: MDS, app_limited: true });
            } else {
                let packets = [packet(now, false)];
                let before = cc.cwnd;
                cc.on_ack(&Ack {
                    now,
                    packets: &packets,
                    app_limited: true,
                    cwnd_limited: false,
                    ..acked(MDS)
                });
                assert_eq!(cc.cwnd, before);
            }
            ack(&mut cc, at(5.0));
            assert_eq!(cc.cwnd, expected.cwnd, "{by_packet}");
        }
    }

    /// Neither marks nor a spurious loss change anything.
    #[test]
    fn no_answer() {
        let mut cc = steady(100);
        let before = format!("{cc:?}");
        cc.on_congestion(&congestion(Cause::Ecn, 0));
        cc.on_spurious();
        assert_eq!(format!("{cc:?}"), before);
    }
}
