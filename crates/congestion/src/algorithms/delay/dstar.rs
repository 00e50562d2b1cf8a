//! TCP D* ("Davis"): T. Lynn and D. Ghosal, arXiv 2012.14996 (December 2020), with the rules of the authors' Linux
//! module tcp_davis.c at commit 86c3ada (8 May 2020), the version that fits every statement of the paper, as restated in
//! the fact sheet (core.md), section 6.
//!
//! ```text
//! r         = dD / dt over GAIN 2                        packets/s   (equation 1)
//! bdp       = ceil(r * RTTmin)                           packets     (equation 2)
//! gain_cwnd = 4 + min(2 |bdp - last_bdp|, bdp)           packets     (section 3.2.4)
//! cwnd      = bdp + gain_cwnd                            packets     (section 3.2.2)
//!             from 4 to 32 767, whatever these equations say          (tcp_davis.c: MAX_TCP_WINDOW)
//!
//! GAIN 1    settle, longer than 2 RTT; then GAIN 2                                (3.2.2)
//! GAIN 2    measure, longer than 1 RTT; then bdp, gain_cwnd, cwnd and GAIN 1, or  (3.2.3)
//!           DRAIN if RTTmin is older than 10 s: cwnd = 4, RTTmin = RTT            (3.2.1)
//! DRAIN     longer than 2 RTT; then cwnd = bdp + gain_cwnd and GAIN 1
//!
//! slow start (3.3): GAIN 1 and 2 as above, but cwnd = 3/2 bdp (equation 6) while bdp grows;
//!           bdp did not grow, loss or mark: DRAIN, and slow start is over
//!           entered at the start, and again when the flow sends after an idle RTO (RFC 2861): bdp, RTTmin forgotten
//! ```
//!
//! RTT is the latest sample, with the delay of the ACK in it, as the module's: of r, RTTmin and the times of the modes all
//! three hold it. Every "longer" is strict and judged when an ACK arrives: there is no timer. Outside of
//! slow start neither loss nor mark moves the window.
//!
//! Nothing is paced: the window is the only control. The controller can only leave `pacing_rate` open; whether the
//! sender then spreads the window over the RTT is its `paced`. The paper's D* needs `by-rate` (TCP's default) or
//! `never`; under `always` (QUIC's default) it is another algorithm with shorter queues.
//!
//! Deviations: time in nanoseconds, Linux in microseconds. The product of bytes and RTT takes 128 bits; the module's 32
//! overflow at 43 000 packets of 100 ms. Slow start is a mode of its own, not `cwnd < ssthresh`, so Linux' accident
//! after a timeout (one ACK of slow-start rules at a window of 1) does not happen. A loss ends slow start at once, as
//! in the paper and its simulation; the module learns of it late, and goes to DRAIN where Linux undoes. Here what proves
//! spurious is undone: GAIN 1 with the window and the estimates from before. What follows
//! persistent congestion (unknown to the paper), a timeout and idle time is a parameter. The module's hook for idle time is
//! not connected, and Linux would not call it; with `idle-restart = "off"` there is none. Its simulation has a cap of
//! 33 554 432 packets. Application-limited time
//! counts as in the paper, which lowers `bdp`, unless `ignore-app-limited`; so the window may move without growth
//! granted by the sender.

use alloc::format;
use alloc::string::String;
use core::fmt;
use core::str::FromStr;

use crate::components::undo::Undo;
use crate::{Ack, Cause, Congestion, Control, Controller, Idle, PathInfo, Sent};
use crate::{Range, params};
use units::{Duration, Time};

params! {
    /// Smallest window, the first one, and that of DRAIN, packets. tcp_davis.c MIN_CWND.
    min_cwnd: u64 = 4 => Range::PACKETS,
    /// Largest window, packets. tcp_davis.c: MAX_TCP_WINDOW.
    max_cwnd: u64 = 32_767 => Range::PACKETS,
    /// Smallest gain_cwnd, packets. tcp_davis.c MIN_GAIN_CWND.
    min_gain_cwnd: u64 = 4 => Range::from(0.0),
    /// Gain per packet of change of bdp: "twice the absolute deviation". Paper section 3.2.4.
    gain: f64 = 2.0 => Range::FACTOR,
    /// Most of that part of the gain, in bdp. tcp_davis.c; the paper's range [4, BDP + 4].
    max_gain: f64 = 1.0 => Range::FACTOR,
    /// Window of slow start, in bdp. Paper equation 6.
    slow_start_gain: f64 = 1.5 => Range::FACTOR,
    /// How long DRAIN lasts, RTTs. tcp_davis.c DRAIN_RTTS.
    drain_rtts: u64 = 2 => Range::from(0.0),
    /// How long GAIN 1 lasts, RTTs. tcp_davis.c GAIN_1_RTTS.
    gain_1_rtts: u64 = 2 => Range::COUNT,
    /// How long GAIN 2 measures, RTTs. tcp_davis.c GAIN_2_RTTS.
    gain_2_rtts: u64 = 1 => Range::COUNT,
    /// Age of RTTmin at which DRAIN looks for it again. Paper section 3.2.1; tcp_davis.c RTT_TIMEOUT_MS.
    rtt_timeout: Duration = Duration::from_secs(10),
    /// A measurement that the application limited may raise bdp, but neither lowers it nor ends slow start. Not in the paper.
    ignore_app_limited: bool = false,
    /// Answer to persistent congestion: `window`, `drain` or `slow-start`. Unknown to TCP; fact sheet section 6.5.
    persistent_congestion: Restart = Restart::Drain,
    /// Answer to a retransmission timeout. `window` is what Linux does to the module, `slow-start` section 3.3.
    timeout: Restart = Restart::Window,
    /// Idle time after which slow start begins anew: the `"rto"` where the sender restarts windows (section 3.3: RFC 2861), a time like `"1 s"`, or `"off"` (the module).
    idle_restart: IdleRestart = IdleRestart::Rto,
}

/// When idle time begins slow start anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdleRestart {
    /// `"off"`: never.
    Off,
    /// `"rto"`: when the sender says that the window is to be restarted.
    Rto,
    /// `"1 s"`: after more than this.
    After(Duration),
}

units::serde_as_string!(IdleRestart);

impl FromStr for IdleRestart {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.trim() {
            "off" => Ok(Self::Off),
            "rto" => Ok(Self::Rto),
            time => time.parse().map(Self::After).map_err(|e| format!("{e}; or \"rto\" or \"off\"")),
        }
    }
}

impl fmt::Display for IdleRestart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => f.write_str("off"),
            Self::Rto => f.write_str("rto"),
            Self::After(time) => time.fmt(f),
        }
    }
}

/// What follows a collapse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Restart {
    /// The smallest window until the next change of mode; bdp stays.
    Window,
    /// DRAIN; bdp stays.
    Drain,
    /// Slow start; bdp and RTTmin are forgotten.
    SlowStart,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Drain,
    Gain1,
    Gain2,
}

/// Where a measurement began.
#[derive(Clone, Copy, Debug)]
struct Start {
    /// Bytes.
    delivered: u64,
    time: Time,
    /// The application limited the sender since.
    app_limited: bool,
}

/// What an undo restores. Packets.
#[derive(Clone, Debug)]
struct Model {
    slow_start: bool,
    min_rtt: Duration,
    min_rtt_time: Time,
    bdp: u64,
    last_bdp: u64,
    gain_cwnd: u64,
    cwnd: u64,
}

impl Model {
    /// To the nearest whole numbers of packets of the new size.
    fn rescale(&mut self, before: u64, after: u64) {
        let Self { bdp, last_bdp, gain_cwnd, cwnd, .. } = self;
        for packets in [bdp, last_bdp, gain_cwnd, cwnd] {
            let bytes = u128::from(*packets) * u128::from(before);
            let rounded = (bytes + u128::from(after / 2)) / u128::from(after);
            *packets = u64::try_from(rounded).unwrap_or(u64::MAX).min(u64::MAX / after);
        }
    }
}

/// The controller. Windows in packets.
#[derive(Clone, Debug)]
pub struct Dstar {
    params: Params,
    mds: u64,
    mode: Mode,
    /// When the mode began. `None` before the first packet.
    trans_time: Option<Time>,
    start: Start,
    last_rtt: Duration,
    model: Model,
    undo: Undo<Model>,
    last_sent: Time,
    /// The last signal: `on_spurious` has no time of its own.
    now: Time,
}

impl Dstar {
    /// In slow start.
    pub fn new(params: Params, path: PathInfo) -> Self {
        let cwnd = params.min_cwnd;
        Self {
            mds: path.max_datagram_size.max(1),
            mode: Mode::Gain1,
            trans_time: None,
            start: Start { delivered: 0, time: Time::ZERO, app_limited: false },
            last_rtt: Duration::ZERO,
            model: Model {
                slow_start: true,
                min_rtt: Duration::MAX,
                min_rtt_time: Time::ZERO,
                bdp: cwnd,
                last_bdp: 0,
                gain_cwnd: params.min_gain_cwnd,
                cwnd,
            },
            undo: Undo::new(),
            last_sent: Time::ZERO,
            now: Time::ZERO,
            params,
        }
    }

    fn enter(&mut self, mode: Mode, now: Time, cwnd: u64) {
        (self.mode, self.trans_time) = (mode, Some(now));
        self.model.cwnd = cwnd.max(self.params.min_cwnd).min(self.params.max_cwnd);
    }

    fn restart(&mut self, now: Time) {
        self.model.slow_start = true;
        (self.model.bdp, self.model.last_bdp) = (self.params.min_cwnd, 0);
        if self.last_rtt > Duration::ZERO {
            (self.model.min_rtt, self.model.min_rtt_time) = (self.last_rtt, now);
        }
        self.enter(Mode::Gain1, now, self.params.min_cwnd);
    }

    /// Sends again; a flow that has measured nothing yet has nothing to forget.
    fn wake(&mut self, now: Time, restart: bool) {
        if restart && self.model.min_rtt != Duration::MAX {
            self.restart(now);
        }
    }

    fn end_slow_start(&mut self, now: Time) {
        self.model.slow_start = false;
        self.enter(Mode::Drain, now, self.params.min_cwnd);
    }

    fn take_rtt(&mut self, now: Time, rtt: Duration) {
        self.last_rtt = rtt;
        // Strict, so a standing queue lets RTTmin grow old.
        if rtt < self.model.min_rtt {
            (self.model.min_rtt, self.model.min_rtt_time) = (rtt, now);
        }
    }

    /// The mode has lasted longer than its round trips.
    fn is_over(&self, now: Time) -> bool {
        let rtts = match self.mode {
            Mode::Drain => self.params.drain_rtts,
            Mode::Gain1 => self.params.gain_1_rtts,
            Mode::Gain2 => self.params.gain_2_rtts,
        };
        let sampled = self.last_rtt > Duration::ZERO;
        sampled && self.trans_time.is_some_and(|since| now > since + self.last_rtt * rtts)
    }

    /// Equations 1 and 2, packets. The old estimate when no time has passed.
    fn measure(&self, ack: &Ack) -> u64 {
        let interval = u128::from((ack.now - self.start.time).0);
        if interval == 0 || self.model.min_rtt == Duration::MAX {
            return self.model.bdp;
        }
        let bytes = u128::from(ack.delivered.saturating_sub(self.start.delivered));
        let packets = (bytes * u128::from(self.model.min_rtt.0)).div_ceil(interval * u128::from(self.mds));
        // What a window in bytes can hold.
        u64::try_from(packets).unwrap_or(u64::MAX).min(u64::MAX / self.mds)
    }

    /// Section 3.3: on while bdp grows.
    fn measured_in_slow_start(&mut self, now: Time, bdp: u64, limited: bool) {
        if limited && bdp <= self.model.last_bdp {
            return self.enter(Mode::Gain1, now, self.model.cwnd);
        }
        self.model.bdp = bdp;
        if bdp > self.model.last_bdp {
            self.model.last_bdp = bdp;
            self.enter(Mode::Gain1, now, (bdp as f64 * self.params.slow_start_gain) as u64);
        } else {
            self.end_slow_start(now);
        }
    }

    fn measured(&mut self, now: Time, bdp: u64, limited: bool) {
        self.model.last_bdp = self.model.bdp;
        self.model.bdp = if limited { bdp.max(self.model.bdp) } else { bdp };
        let change = self.model.bdp.abs_diff(self.model.last_bdp) as f64 * self.params.gain;
        let most = self.model.bdp as f64 * self.params.max_gain;
        self.model.gain_cwnd = self.params.min_gain_cwnd.saturating_add(change.min(most) as u64);
        if now > self.model.min_rtt_time + self.params.rtt_timeout {
            (self.model.min_rtt, self.model.min_rtt_time) = (self.last_rtt, now);
            self.enter(Mode::Drain, now, self.params.min_cwnd);
        } else {
            self.enter(Mode::Gain1, now, self.model.bdp.saturating_add(self.model.gain_cwnd));
        }
    }

    fn advance(&mut self, ack: &Ack) {
        match self.mode {
            Mode::Drain => {
                self.enter(Mode::Gain1, ack.now, self.model.bdp.saturating_add(self.model.gain_cwnd));
            }
            Mode::Gain1 => {
                self.enter(Mode::Gain2, ack.now, self.model.cwnd);
                self.start = Start { delivered: ack.delivered, time: ack.now, app_limited: false };
            }
            Mode::Gain2 => {
                let bdp = self.measure(ack);
                let limited = self.start.app_limited && self.params.ignore_app_limited;
                if self.model.slow_start {
                    self.measured_in_slow_start(ack.now, bdp, limited);
                } else {
                    self.measured(ack.now, bdp, limited);
                }
            }
        }
    }

    fn collapse(&mut self, now: Time, answer: Restart) {
        match answer {
            Restart::SlowStart => self.restart(now),
            Restart::Window if !self.model.slow_start => self.model.cwnd = self.params.min_cwnd,
            // In slow start it is a loss.
            Restart::Window | Restart::Drain => self.end_slow_start(now),
        }
    }
}

impl Controller for Dstar {
    fn on_sent(&mut self, sent: &Sent) {
        self.now = sent.now;
        if self.trans_time.is_none() {
            (self.trans_time, self.model.min_rtt_time) = (Some(sent.now), sent.now);
        }
        let idle = sent.bytes_in_flight <= sent.bytes;
        if let (true, IdleRestart::After(limit)) = (idle, self.params.idle_restart) {
            self.wake(sent.now, sent.now - self.last_sent > limit);
        }
        self.last_sent = sent.now;
    }

    fn on_ack(&mut self, ack: &Ack) -> Option<Cause> {
        self.now = ack.now;
        self.undo.on_ack(ack);
        if let Some(rtt) = ack.latest_rtt.filter(|rtt| *rtt > Duration::ZERO) {
            self.take_rtt(ack.now, rtt);
        }
        self.start.app_limited |= ack.app_limited;
        if self.is_over(ack.now) {
            self.advance(ack);
        }
        None
    }

    fn on_congestion(&mut self, event: &Congestion) {
        self.now = event.now;
        self.undo.on_congestion(event.cause, &self.model);
        match event.cause {
            Cause::Loss | Cause::Ecn if self.model.slow_start => self.end_slow_start(event.now),
            // It changes nothing: nor may its undo.
            Cause::Loss | Cause::Ecn | Cause::Delay => _ = self.undo.take(),
            Cause::PersistentCongestion => self.collapse(event.now, self.params.persistent_congestion),
            Cause::Timeout => self.collapse(event.now, self.params.timeout),
        }
    }

    fn on_spurious(&mut self) {
        if let Some(before) = self.undo.take() {
            let cwnd = before.cwnd;
            self.model = before;
            self.enter(Mode::Gain1, self.now, cwnd);
        }
    }

    fn on_idle(&mut self, idle: &Idle) {
        self.wake(idle.now, self.params.idle_restart == IdleRestart::Rto);
    }

    fn shapes_recovery(&self) -> bool {
        true
    }

    fn on_path_change(&mut self, path: PathInfo) {
        let before = core::mem::replace(&mut self.mds, path.max_datagram_size.max(1));
        let Params { min_cwnd, max_cwnd, .. } = self.params;
        for model in self.undo.saved().into_iter().chain([&mut self.model]) {
            model.rescale(before, self.mds);
            model.cwnd = model.cwnd.max(min_cwnd).min(max_cwnd);
        }
    }

    fn control(&self) -> Control {
        let cwnd = self.model.cwnd.saturating_mul(self.mds);
        let ssthresh = if self.model.slow_start { u64::MAX } else { 0 };
        Control { cwnd, pacing_rate: None, ssthresh, send_quantum: None, wake: Time::NEVER }
    }

    /// Windows in bytes, as [`Control::cwnd`].
    fn trace(&self, put: &mut dyn FnMut(&'static str, f64)) {
        put("mode", f64::from(self.mode as u8));
        put("bdp", self.model.bdp as f64 * self.mds as f64);
        put("gain_cwnd", self.model.gain_cwnd as f64 * self.mds as f64);
        put(
            "min_rtt",
            if self.model.min_rtt == Duration::MAX {
                f64::INFINITY
            } else {
                self.model.min_rtt.as_secs_f64()
            },
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::closed_loop::{Flow, Loop};
    use crate::testing::fixtures::MDS;
    use crate::testing::fixtures::{acked, congestion, path};
    use units::Rate;

    /// A packet each millisecond.
    const LINK: Rate = Rate(8_000_000);

    const T: Duration = Duration::from_millis(100);

    fn dstar() -> Dstar {
        Dstar::new(Params::default(), path(MDS))
    }

    /// 1000 packets per second, 100 ms: 100 packets fill the pipe.
    fn alone() -> Loop<Dstar> {
        Loop::new(vec![Flow::new(Box::new(dstar()), T, Time::ZERO)], MDS, LINK)
    }

    fn cc(link: &Loop<Dstar>) -> &Dstar {
        &link.flows[0].cc
    }

    /// Until a measurement is done; the window it was done with and what came of it.
    fn measurement(link: &mut Loop<Dstar>) -> (u64, u64) {
        loop {
            let (mode, cwnd) = (cc(link).mode, cc(link).model.cwnd);
            link.step(Time::NEVER);
            if mode == Mode::Gain2 && cc(link).mode != Mode::Gain2 {
                return (cwnd, cc(link).model.bdp);
            }
        }
    }

    /// The window after each of the next measurements.
    fn windows<const N: usize>(link: &mut Loop<Dstar>) -> [u64; N] {
        core::array::from_fn(|_| {
            measurement(link);
            cc(link).model.cwnd
        })
    }

    /// Fact sheet section 6.5: (cwnd, bdp) of each measurement of slow start, and when it ends.
    #[test]
    fn slow_start_sequence() {
        let mut link = alone();
        for expected in
            [(4, 5), (7, 8), (12, 13), (19, 20), (30, 31), (46, 47), (70, 71), (106, 101), (151, 101)]
        {
            assert!(cc(&link).model.slow_start);
            assert_eq!(measurement(&mut link), expected);
        }
        assert!(!cc(&link).model.slow_start);
        assert_eq!(link.now, Time::from_millis(2910));
        assert_eq!((cc(&link).mode, cc(&link).model.cwnd), (Mode::Drain, 4));
    }

    /// Fact sheet section 6.5: cwnd 105, RTT 105 ms, gain 4, on and on between two drains.
    #[test]
    fn steady_state() {
        let mut link = alone();
        link.run_to(Time::from_millis(4000));
        while link.now < Time::from_millis(9500) {
            measurement(&mut link);
            let d = cc(&link);
            assert_eq!((d.model.bdp, d.model.gain_cwnd, d.model.cwnd), (101, 4, 105), "{:?}", link.now);
            assert_eq!(d.last_rtt, Duration::from_millis(105));
        }
    }

    /// Fact sheet section 6.5: slow start queues 51 packets at most, 151 in flight where 100 fill the pipe.
    #[test]
    fn queue_of_slow_start() {
        let mut link = alone();
        let mut longest = Duration::ZERO;
        while cc(&link).model.slow_start {
            link.step(Time::NEVER);
            longest = longest.max(link.flows[0].latest_rtt);
        }
        assert_eq!(longest, Duration::from_millis(151));
    }

    /// Fact sheet section 6.5: what a drain costs of the link, every 10 s.
    #[test]
    fn cost_of_draining() {
        for (rtt, range) in [(30, 0.0..0.01), (200, 0.03..0.06)] {
            let flow = Flow::new(Box::new(dstar()), Duration::from_millis(rtt), Time::ZERO);
            let mut link = Loop::new(vec![flow], MDS, LINK);
            link.run_to(Time::from_millis(10_000));
            let before = link.flows[0].delivered;
            link.run_to(Time::from_millis(110_000));
            let lost = 1.0 - ((link.flows[0].delivered - before) / MDS) as f64 / 100_000.0;
            assert!(range.contains(&lost), "{rtt} ms: {lost}");
        }
    }

    /// Section 3.2.1: RTTmin is looked for every 10 s, with 4 packets for a little more than 2 RTT.
    #[test]
    fn drains_every_ten_seconds() {
        let (mut link, mut drains) = (alone(), Vec::new());
        let mut draining = false;
        while link.now < Time::from_millis(60_000) {
            link.step(Time::NEVER);
            let now_draining = cc(&link).mode == Mode::Drain;
            if draining != now_draining {
                drains.push(link.now.as_secs_f64());
            }
            draining = now_draining;
        }
        // The first one ends slow start.
        let starts: Vec<_> = drains.iter().copied().step_by(2).collect();
        assert!(starts.windows(2).skip(1).all(|s| (10.0..10.7).contains(&(s[1] - s[0]))), "{starts:?}");
        assert!(drains.chunks_exact(2).all(|d| (0.2..0.45).contains(&(d[1] - d[0]))), "{drains:?}");
        assert_eq!(cc(&link).model.min_rtt, Duration::from_millis(101));
    }

    /// Fact sheet section 6.5: |d| counts decreases too, so the window overshoots for one cycle.
    #[test]
    fn capacity_halves() {
        let mut link = alone();
        link.run_to(Time::from_millis(4000));
        measurement(&mut link);
        link.link.rate = Rate(4_000_000);
        assert_eq!(measurement(&mut link), (105, 51));
        assert_eq!((cc(&link).model.gain_cwnd, cc(&link).model.cwnd), (55, 106));
        assert_eq!(windows(&mut link), [55, 55]);
    }

    /// Fact sheet section 6.5: the gain doubles each cycle, with one overshoot.
    #[test]
    fn capacity_doubles() {
        let mut link = alone();
        link.run_to(Time::from_millis(4000));
        measurement(&mut link);
        link.link.rate = Rate(16_000_000);
        assert_eq!(windows(&mut link), [117, 148, 215, 309, 205, 205]);
    }

    fn two(propagation: [u64; 2], starts: [u64; 2]) -> Loop<Dstar> {
        let flow = |i: usize| {
            Flow::new(Box::new(dstar()), Duration::from_millis(propagation[i]), Time::from_millis(starts[i]))
        };
        Loop::new(vec![flow(0), flow(1)], MDS, LINK)
    }

    /// From 20 s on: what the second flow gets, relative to the first, and the RTTs of the first, ascending.
    fn shares(link: &mut Loop<Dstar>) -> (f64, Vec<Duration>) {
        link.run_to(Time::from_millis(20_000));
        let before = [link.flows[0].delivered, link.flows[1].delivered];
        let mut rtts = Vec::new();
        while link.now < Time::from_millis(120_000) {
            if link.step(Time::NEVER) == Some(0) {
                rtts.push(link.flows[0].latest_rtt);
            }
        }
        rtts.sort();
        let got = |i: usize| ((link.flows[i].delivered - before[i]) / MDS) as f64;
        (got(1) / got(0), rtts)
    }

    /// Fact sheet section 6.5: a latecomer's share is the same within 2 %; settled, the RTT is 111 ms, 4 packets of queue
    /// for each flow and what the rounding adds. Each drain disturbs it for some seconds: the mean is 120 ms.
    #[test]
    fn equal_flows_share_equally() {
        let (ratio, rtts) = shares(&mut two([100, 100], [0, 5000]));
        assert!((ratio - 1.0).abs() < 0.02, "{ratio}");
        let quartile = rtts[rtts.len() / 4];
        assert_eq!(quartile, Duration::from_millis(111));
    }

    /// Fact sheet section 6.5: the noise of the estimates favours the longer path; 1.70 there, over the whole run.
    #[test]
    fn longer_path_gets_more() {
        let (ratio, _) = shares(&mut two([30, 90], [0, 0]));
        assert!((1.6..1.8).contains(&ratio), "{ratio}");
    }

    /// Section 3.3: loss and mark end slow start, once; afterwards neither moves the window.
    #[test]
    fn only_slow_start_minds_losses() {
        for cause in [Cause::Loss, Cause::Ecn] {
            let mut link = alone();
            link.run_to(Time::from_millis(1500));
            let d = &mut link.flows[0].cc;
            assert!(d.model.slow_start && d.model.cwnd > 4);
            d.on_congestion(&Congestion { now: link.now, ..congestion(cause, 0) });
            assert_eq!((d.model.slow_start, d.mode, d.model.cwnd), (false, Mode::Drain, 4));
            link.run_to(Time::from_millis(4000));
            let d = &mut link.flows[0].cc;
            let state = |d: &Dstar| format!("{:?} {:?} {:?}", d.mode, d.trans_time, d.model);
            let before = state(d);
            d.on_congestion(&Congestion { now: link.now, ..congestion(cause, 0) });
            assert_eq!(state(d), before);
        }
    }

    /// The three answers to a collapse, and what the estimate is then.
    #[test]
    fn collapse() {
        let answers = [
            (Restart::Window, false, Mode::Gain2, 101),
            (Restart::Drain, false, Mode::Drain, 101),
            (Restart::SlowStart, true, Mode::Gain1, 4),
        ];
        for (answer, slow_start, mode, bdp) in answers {
            let mut link = alone();
            link.run_to(Time::from_millis(4000));
            while cc(&link).mode != Mode::Gain2 {
                link.step(Time::NEVER);
            }
            let d = &mut link.flows[0].cc;
            d.params.timeout = answer;
            d.on_congestion(&Congestion { now: link.now, ..congestion(Cause::Timeout, 0) });
            assert_eq!(
                (d.model.slow_start, d.mode, d.model.bdp, d.model.cwnd),
                (slow_start, mode, bdp, 4),
                "{answer:?}"
            );
            link.run_to(Time::from_millis(9000));
            assert_eq!(cc(&link).model.cwnd, 105, "{answer:?}");
        }
    }

    /// Section 3.3: only if asked for.
    #[test]
    fn idle_restart() {
        let second = |s| IdleRestart::After(Duration::from_secs(s));
        for (limit, slow_start) in
            [(IdleRestart::Off, false), (second(1), true), (second(4), false), (IdleRestart::Rto, false)]
        {
            let mut link = alone();
            link.run_to(Time::from_millis(4000));
            let d = &mut link.flows[0].cc;
            d.params.idle_restart = limit;
            let now = link.now + Duration::from_secs(3);
            d.on_sent(&Sent { now, pn: 0, bytes: MDS, bytes_in_flight: MDS, app_limited: false });
            assert_eq!(d.model.slow_start, slow_start, "{limit:?}");
        }
        for (limit, slow_start) in [(IdleRestart::Off, false), (second(1), false), (IdleRestart::Rto, true)] {
            let mut link = alone();
            link.run_to(Time::from_millis(4000));
            let d = &mut link.flows[0].cc;
            d.params.idle_restart = limit;
            let (idle, rto) = (Duration::from_secs(3), Duration::from_millis(300));
            d.on_idle(&Idle { now: link.now + idle, idle, rto });
            assert_eq!(d.model.slow_start, slow_start, "{limit:?}");
            assert_eq!(d.model.bdp, if slow_start { 4 } else { 101 });
        }
        for text in ["off", "rto", "1.5 s"] {
            assert_eq!(text.parse::<IdleRestart>().map(|i| i.to_string()), Ok(text.to_owned()));
        }
        assert!("never".parse::<IdleRestart>().is_err_and(|e| e.contains("rto")));
    }

    /// tcp_davis.c clamps the window, not the estimate.
    #[test]
    fn largest_window() {
        let params = Params { max_cwnd: 103, ..Params::default() };
        let mut link =
            Loop::new(vec![Flow::new(Box::new(Dstar::new(params, path(MDS))), T, Time::ZERO)], MDS, LINK);
        let mut largest = 0;
        while link.now < Time::from_millis(9000) {
            link.step(Time::NEVER);
            largest = largest.max(cc(&link).model.cwnd);
        }
        assert_eq!((largest, cc(&link).model.bdp), (103, 101));
    }

    /// What a timeout or the end of slow start forgot comes back, in GAIN 1; a loss that changed nothing brings nothing back.
    #[test]
    fn undone() {
        for (answer, cause, ms) in [
            (Restart::Window, Cause::Timeout, 4000),
            (Restart::SlowStart, Cause::Timeout, 4000),
            (Restart::Drain, Cause::Timeout, 4000),
            (Restart::Window, Cause::Loss, 1500),
        ] {
            let mut link = alone();
            link.run_to(Time::from_millis(ms));
            let d = &mut link.flows[0].cc;
            d.params.timeout = answer;
            let before = format!("{:?}", d.model);
            d.on_congestion(&Congestion { now: link.now, ..congestion(cause, 0) });
            assert_eq!(d.model.cwnd, 4);
            d.on_spurious();
            assert_eq!((format!("{:?}", d.model), d.mode), (before, Mode::Gain1), "{answer:?}");
            d.on_congestion(&congestion(Cause::Loss, 0));
            d.model.slow_start = false;
            d.on_congestion(&congestion(Cause::Loss, 0));
            d.model.cwnd = 7;
            d.on_spurious();
            assert_eq!(d.model.cwnd, 7);
        }
    }

    /// A tenth of the capacity used: bdp follows, unless told to ignore it.
    #[test]
    fn application_limited() {
        for (ignore, bdp) in [(false, 10), (true, 101)] {
            let mut link = alone();
            link.run_to(Time::from_millis(4000));
            measurement(&mut link);
            let mut delivered = link.flows[0].delivered * MDS;
            let d = &mut link.flows[0].cc;
            d.params.ignore_app_limited = ignore;
            for i in 0..100 {
                delivered += MDS;
                let now = link.now + Duration::from_millis(10) * i;
                d.on_ack(&Ack { now, delivered, app_limited: true, ..acked(MDS) });
            }
            assert_eq!(d.model.bdp, bdp, "ignored: {ignore}");
        }
    }

    /// 400 Gbit/s over 10 s: neither 32 nor 64 bits hold bytes times nanoseconds.
    #[test]
    fn no_overflow() {
        let mut d = dstar();
        let rtt = Duration::from_secs(10);
        d.start = Start { delivered: 0, time: Time::ZERO, app_limited: false };
        d.take_rtt(Time::ZERO, rtt);
        let ack = Ack { now: Time::ZERO + rtt, delivered: 500_000_000_000, ..acked(MDS) };
        assert_eq!(d.measure(&ack), 500_000_000);
    }
}
