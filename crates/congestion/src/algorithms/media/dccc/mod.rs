//! DCCC, delay-constrained congestion control: a sending rate that pays for one-way delay above a threshold and for what
//! the network holds back or drops. D'Aronco, Toni, Mena, Zhu, Frossard: "Improved Utility-based Congestion Control for
//! Delay-Constrained Communication", arXiv 1506.02799v3 (January 2017), section III and appendix C.
//!
//! ```text
//! once per feedback period T_s, over the packets acknowledged in it:
//!   e       = mean of received - sent                                     s        one-way delay
//!   x_recv  = bits / (last arrival - last arrival of the period before)   bit/s    (21), all interarrival times
//!   x_sent  = mean rate x at which these packets left = x(t - RTT)        bit/s
//!   RTT     = mean RTT sample less the delay of its ACK                   s        appendix C: forward plus backward delay
//!   x_recv  = alpha x_recv_before + (1 - alpha) x_recv                             (61), off by default
//!   x      += T_s kr x (h/x - beta ((e - T_r) / RTT)+ - (x_sent - x_recv) / x_recv)       (26), (17)
//! rests at  e = T_r + RTT h / (beta x),  RTT = e + e_b;  x > h / beta              (18)-(20)
//!       or  loss / (1 - loss) = h / x                                              (24)
//! pacing_rate = x;  cwnd = max(2 max(x, x_sent) RTT, 10 mds), never meant to bind
//! ```
//!
//! Equation 26 prints no ( )+ around the delay; equation 17 has it. The ( )+ of equation 16 is a projection that keeps
//! x positive, here `min-rate`. The mean over n interarrival times, the first of them reaching back to the period
//! before, is appendix C's, and defined for a single packet too.
//!
//! **Bytes**: x counts what the window counts, [`AckedPacket::bytes`]; the paper's 20 kbit/s count 1094-byte packets
//! with all headers. Every price is a ratio, so that h in window bytes is h on the wire times window / wire bytes.
//!
//! **Clocks**: `absolute` takes receive minus send time as it is: a receiver's clock ahead by d acts as T_r - d.
//! `anchored` and `windowed` (see `owd`) subtract the smallest delay, so that the threshold bounds the queuing delay;
//! the paper's rule for unknown clocks, T_r = the smallest delay seen, is `anchored` with a threshold of zero. `windowed`
//! follows clocks that drift, but also the flow's own queue, which stands: alone it fills any buffer, a threshold per window.
//!
//! Deviations: the receiver's part runs at the sender, on the receive times in ACKs (appendix C allows it); a
//! period ends with the first ACK after its time. RTT is the sender's sample of the newest packet less the ACK delay that the
//! peer reports, in which the forward delay is that packet's and not the mean e; feedback takes the backward delay alone, and
//! a receiver that waits for a second packet would add its timer to it wherever packets are rarer. T_s kr is `gain`, less if the period is shorter than the RTT, so that kr = gain / max(T_s, RTT). The rates
//! of start, floor and ceiling, the halving without feedback and the window are the fact sheet's (core.md section 7): the
//! paper has none. Losses, marks and timeouts do nothing of their own. Without receive times the rate stays.

mod feedback;

use alloc::collections::VecDeque;

use self::feedback::{Averages, Feedback};
use crate::components::queuing_delay::{BaseDelay, QueuingDelay};
use crate::{Ack, AckedPacket, Cause, Congestion, Control, Controller, Needs, PathInfo, Sent};
use crate::{Range, params};
use units::{Duration, Rate, Time};

params! {
    /// h, weight of the utility h log x. Table I; 5 to 50 kbit/s.
    h: Rate = Rate(20_000),
    /// Price of delay, 0..1. Table I; 0.05 to 0.2. Delay alone never pushes the rate below h / beta.
    beta: f64 = 0.1 => Range::SHARE,
    /// T_r, the one-way delay that is free. Table I has 50 to 100 ms, section V-B 100 ms.
    threshold: Duration = Duration::from_millis(100),
    /// kr times RTT, 0..1. Table I: 1/2.5; down to 1/10.
    gain: f64 = 0.4 => Range::FACTOR,
    /// T_s, a fixed feedback period (Table I: 50 to 500 ms), or `"off"`: one RTT.
    #[serde(with = "units::or_off")]
    fixed_period: Option<Duration> = None,
    /// alpha, weight of the past in the receive rate, 0..1. Equation 61 has 0.5 against noise; 0 is off.
    smoothing: f64 = 0.0 => Range::from(0.0).below(1.0),
    /// What one-way delay means: `absolute`, `anchored` (less the smallest so far), `windowed` (less the smallest lately). Appendix B.
    owd: Owd = Owd::Absolute,
    /// Window of `owd = "windowed"`. Fact sheet section 3.2.
    owd_window: Duration = Duration::from_secs(60),
    /// x(t - RTT): the rate x in the `header` of each packet (appendix C), or `measured` from the times they left, which an idle application does not fool.
    sending_rate: SendingRate = SendingRate::Header,
    /// Rate at the start. Fact sheet section 7.1; the paper gives none.
    initial_rate: Rate = Rate(100_000),
    /// Smallest rate. Fact sheet section 7.1; the paper gives none.
    min_rate: Rate = Rate(10_000),
    /// Largest rate, that of the application, or `"off"`. Fact sheet section 7.1; the paper gives none.
    #[serde(with = "units::or_off")]
    max_rate: Option<Rate> = None,
    /// Window in round trips at the rate of sending; should never bind. Fact sheet section 7.2; the paper has no window.
    window: f64 = 2.0 => Range::PACKETS,
    /// Smallest window, packets. Fact sheet section 7.2.
    min_window: u64 = 10 => Range::PACKETS,
    /// Round trips without an ACK, while packets are in flight, after which each further one halves the rate, or `"off"`. Fact sheet section 7.2.
    #[serde(with = "units::or_off")]
    silence: Option<f64> = Some(4.0) => Range::from(0.0),
    /// The least such time. Fact sheet section 7.2.
    min_silence: Duration = Duration::from_millis(500),
}

/// RTT before the first sample. RFC 9002 section 6.2.2.
const INITIAL_RTT: Duration = Duration::from_millis(333);
/// Past rates kept, one per feedback period: no packet stays in flight for so many.
const RATES: usize = 64;

/// Which one-way delay is compared with the threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Owd {
    /// As the clocks tell.
    Absolute,
    /// Less the smallest so far.
    Anchored,
    /// Less the smallest of the last `owd-window`.
    Windowed,
}

/// How the rate is known at which the acknowledged packets left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum SendingRate {
    /// The controller's rate when each of them left, averaged.
    Header,
    /// Those and the lost ones among them, over the time in which they left.
    Measured,
}

/// Equation 19: the one-way delay at which a flow with this rate rests, with so much delay on the way `back`; `None`
/// where equation 20 forbids the rate.
pub fn equilibrium_delay(params: &Params, rate: Rate, back: Duration) -> Option<Duration> {
    let overshoot = params.h.0 as f64 / (params.beta * rate.0 as f64);
    let delay = (back.as_secs_f64() * overshoot + params.threshold.as_secs_f64()) / (1.0 - overshoot);
    (overshoot < 1.0).then(|| Duration::from_secs_f64(delay))
}

impl Params {
    /// Equation 26, before the limits.
    fn next_rate(&self, x: f64, f: &Feedback) -> f64 {
        let rtt = f.rtt.max(1e-9);
        let step = self.gain * self.fixed_period.map_or(1.0, |t| (t.as_secs_f64() / rtt).min(1.0));
        let delay = self.beta * ((f.owd - self.threshold.as_secs_f64()) / rtt).max(0.0);
        let held_back = (f.sent - f.received) / f.received;
        x + step * (self.h.0 as f64 - x * (delay + held_back))
    }
}

/// The controller. Rates in bits per second.
#[derive(Clone, Debug)]
pub struct Dccc {
    params: Params,
    mds: u64,
    x: f64,
    /// The rate since packet number such.
    rates: VecDeque<(u64, f64)>,
    next_pn: u64,
    delay: Option<QueuingDelay>,
    averages: Averages,
    /// When the feedback period ends.
    due: Option<Time>,
    /// The last period's, and the last sample.
    rtt: Duration,
    latest_rtt: Duration,
    feedback: Option<Feedback>,
    /// When the missing feedback halves the rate.
    feedback_deadline: Option<Time>,
}

impl Dccc {
    /// At the initial rate.
    pub fn new(params: Params, path: PathInfo) -> Self {
        let anchor = match params.owd {
            Owd::Absolute => None,
            Owd::Anchored => Some(BaseDelay::Clamped),
            Owd::Windowed => Some(BaseDelay::Windowed),
        };
        let mut cc = Self {
            mds: path.max_datagram_size.max(1),
            x: 0.0,
            rates: VecDeque::new(),
            next_pn: 0,
            delay: anchor.map(|anchor| QueuingDelay::new(anchor, params.owd_window)),
            averages: Averages::default(),
            due: None,
            rtt: INITIAL_RTT,
            latest_rtt: Duration::ZERO,
            feedback: None,
            feedback_deadline: None,
            params,
        };
        cc.set_rate(cc.params.initial_rate.0 as f64);
        cc
    }

    fn min_rate(&self) -> f64 {
        self.params.min_rate.0.max(1) as f64
    }

    fn set_rate(&mut self, x: f64) {
        let max = self.params.max_rate.map_or(f64::INFINITY, |rate| rate.0 as f64);
        self.x = x.min(max).max(self.min_rate());
        if self.rates.len() == RATES {
            self.rates.pop_front();
        }
        self.rates.push_back((self.next_pn, self.x));
    }

    /// The rate that the packet carries in its header.
    fn header(&self, pn: u64) -> f64 {
        let later = self.rates.partition_point(|&(since, _)| since <= pn);
        self.rates.get(later.saturating_sub(1)).map_or(self.x, |&(_, x)| x)
    }

    fn on_packet(&mut self, packet: &AckedPacket) {
        let owd = match &mut self.delay {
            None => {
                packet.received.map(|r| r.saturating_sub(i64::try_from(packet.sent.0).unwrap_or(i64::MAX)))
            }
            Some(delay) => delay.on_packet(packet),
        };
        let header = self.header(packet.pn);
        self.averages.on_packet(packet, header, owd);
    }

    fn update(&mut self, now: Time) {
        let Params { smoothing, sending_rate, .. } = self.params;
        let measured = sending_rate == SendingRate::Measured;
        // Where packets or their receive times are missing, the next ACK may bring them.
        let Some(mut feedback) = self.averages.finish(self.rtt, measured) else { return };
        if let Some(before) = self.feedback {
            feedback.received = smoothing * before.received + (1.0 - smoothing) * feedback.received;
        }
        self.rtt = Duration::from_secs_f64(feedback.rtt);
        self.feedback = Some(feedback);
        self.set_rate(self.params.next_rate(self.x, &feedback));
        // A timer's next tick, not the next packet's; but none is made up for.
        let period = self.params.fixed_period.unwrap_or(self.rtt);
        self.due = self.due.map(|due| due + period).filter(|&due| due > now).or(Some(now + period));
    }

    /// Feedback timeout: half the rate for each round trip without an ACK.
    fn check_feedback_timeout(&mut self, now: Time) {
        while let Some(deadline) = self.feedback_deadline.filter(|&d| d <= now && self.x > self.min_rate()) {
            self.set_rate(self.x / 2.0);
            self.feedback_deadline = Some(deadline + self.rtt);
        }
    }

    fn expect_feedback(&self, now: Time) -> Option<Time> {
        self.params.silence.map(|rtts| now + self.rtt.mul_f64(rtts).max(self.params.min_silence))
    }
}

impl Controller for Dccc {
    fn needs(&self) -> Needs {
        Needs { receive_times: true, ..Needs::default() }
    }

    fn on_sent(&mut self, sent: &Sent) {
        self.check_feedback_timeout(sent.now);
        self.next_pn = sent.pn + 1;
        self.feedback_deadline = self.feedback_deadline.or_else(|| self.expect_feedback(sent.now));
    }

    fn on_ack(&mut self, ack: &Ack) -> Option<Cause> {
        self.check_feedback_timeout(ack.now);
        self.feedback_deadline = self.expect_feedback(ack.now).filter(|_| ack.bytes_in_flight > 0);
        if let Some(rtt) = ack.latest_rtt {
            self.latest_rtt = rtt;
            self.averages.on_rtt(rtt - ack.ack_delay);
        }
        for packet in ack.packets {
            self.on_packet(packet);
        }
        let first = ack.now + self.params.fixed_period.unwrap_or(self.latest_rtt);
        if ack.now >= *self.due.get_or_insert(first) {
            self.update(ack.now);
        }
        None
    }

    /// Losses act through the receive rate.
    fn on_congestion(&mut self, _: &Congestion) {}

    fn shapes_recovery(&self) -> bool {
        true
    }

    fn on_path_change(&mut self, path: PathInfo) {
        self.mds = path.max_datagram_size.max(1);
    }

    fn control(&self) -> Control {
        let fastest = self.feedback.map_or(self.x, |f| f.sent.max(self.x));
        let flight = self.params.window * fastest / 8.0 * self.rtt.max(self.latest_rtt).as_secs_f64();
        let cwnd = (flight as u64).max(self.params.min_window.max(1) * self.mds);
        Control {
            cwnd,
            pacing_rate: Some(Rate(self.x as u64)),
            ssthresh: 0,
            send_quantum: None,
            wake: Time::NEVER,
        }
    }

    /// Rates in bits per second, `e` in seconds.
    fn trace(&self, put: &mut dyn FnMut(&'static str, f64)) {
        put("x", self.x);
        if let Some(f) = &self.feedback {
            put("x_recv", f.received);
            put("e", f.owd);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::closed_loop::{Flow, Loop};
    use crate::testing::fixtures::MDS;
    use crate::testing::fixtures::{acked, path, stamped};

    const MS: Duration = Duration::from_millis(1);
    /// The paper's propagation delay, each way.
    const PROPAGATION: Duration = Duration::from_millis(25);

    fn controller(params: Params) -> Dccc {
        Dccc::new(params, path(MDS))
    }

    fn near(a: f64, b: f64, tolerance: f64) {
        assert!((a - b).abs() <= tolerance * b.abs(), "{a} is not {b}");
    }

    fn feedback(owd_ms: f64, sent: f64, received: f64) -> Feedback {
        Feedback { owd: owd_ms * 1e-3, rtt: owd_ms * 1e-3 + 0.025, sent, received }
    }

    /// Equation 26 with nothing held back and no more delay than allowed: 0.4 h = 8 kbit/s a round trip.
    #[test]
    fn growth() {
        for (x, owd) in [(100e3, 25.0), (1e6, 99.9), (1e6, 100.0)] {
            let next = Params::default().next_rate(x, &feedback(owd, x, x));
            assert!((next - x - 8000.0).abs() < 1e-6, "{x}: {next}");
        }
    }

    /// kr = gain / max(T_s, RTT): at a quarter of the RTT a quarter of the step, at four of them the same step.
    #[test]
    fn fixed_periods() {
        for (ms, growth) in [(50, 2000.0), (200, 8000.0), (800, 8000.0)] {
            let params = Params { fixed_period: Some(MS * ms), ..Params::default() };
            let f = Feedback { rtt: 0.2, ..feedback(50.0, 1e6, 1e6) };
            near(params.next_rate(1e6, &f) - 1e6, growth, 1e-9);
        }
    }

    /// Fact sheet 7.3, which is equation 19 with h/beta = 200 kbit/s, T_r = 100 ms and 25 ms back; equation 26 rests there.
    #[test]
    fn equilibrium_of_delay() {
        let params = Params::default();
        for (kbit, ms) in [(300, 350.0), (500, 550.0 / 3.0), (1000, 131.25), (1500, 1550.0 / 13.0)] {
            let e = equilibrium_delay(&params, Rate(kbit * 1000), PROPAGATION).unwrap_or_default();
            near(e.as_millis_f64(), ms, 1e-6);
            let x = kbit as f64 * 1e3;
            near(params.next_rate(x, &feedback(ms, x, x)), x, 1e-12);
        }
        for kbit in [100, 200] {
            assert_eq!(equilibrium_delay(&params, Rate(kbit * 1000), PROPAGATION), None, "equation 20");
        }
    }

    /// Fact sheet 7.3: where losses rule, loss / (1 - loss) = h / x, and twice the h takes twice of it.
    #[test]
    fn equilibrium_of_loss() {
        for (kbit, percent) in [(200.0, 9.09), (500.0, 3.85), (1000.0, 1.96), (2000.0, 0.99)] {
            let (x, loss): (f64, f64) = (kbit * 1e3, 20.0 / (kbit + 20.0));
            near(100.0 * loss, percent, 1e-3);
            let at_rest = |h: u64, odds: f64| {
                let params = Params { h: Rate(h), ..Params::default() };
                near(params.next_rate(x, &feedback(50.0, x, x / (1.0 + odds))), x, 1e-12);
            };
            at_rest(20_000, loss / (1.0 - loss));
            at_rest(40_000, 2.0 * loss / (1.0 - loss));
        }
    }

    /// Equation 20: whatever the delay, it does not push the rate below h / beta.
    #[test]
    fn floor_of_delay() {
        for owd in [1e3, 1e4, 1e6] {
            let mut x = 2e6;
            for _ in 0..2000 {
                x = Params::default().next_rate(x, &feedback(owd, x, x));
                assert!(x > 200e3);
            }
            assert!(owd < 1e6 || x < 201e3, "{x}");
        }
    }

    /// A link from the sender's seat: packets so far apart in departure and arrival, ACKs at once.
    struct Script {
        cc: Dccc,
        pn: u64,
        sent: Time,
        received: i64,
        ack_delay: Duration,
    }

    impl Script {
        fn new(cc: Dccc) -> Self {
            Self { cc, pn: 0, sent: Time::ZERO, received: 25_000_000, ack_delay: Duration::ZERO }
        }

        /// The next packet, of 1200 bytes, lost or not, its ACK with or without a receive time.
        fn packet(&mut self, apart_out: Duration, apart_in: Duration, seen: Seen) {
            self.sent += apart_out;
            self.received += apart_in.0 as i64;
            let (now, pn) = (self.sent, self.pn);
            self.pn += 1;
            self.cc.on_sent(&Sent { now, pn, bytes: 1200, bytes_in_flight: 1200, app_limited: false });
            let packet = stamped(pn, now, self.received);
            let packet = match seen {
                Seen::Stamped => packet,
                Seen::Acked => AckedPacket { received: None, ..packet },
                Seen::Lost => return,
            };
            let rtt = MS * 50 + self.ack_delay;
            let ack_delay = self.ack_delay;
            self.cc.on_ack(&Ack {
                now: now + rtt,
                packets: &[packet],
                latest_rtt: Some(rtt),
                ack_delay,
                ..acked(1200)
            });
        }

        fn even(&mut self, packets: u64, apart: Duration) {
            (0..packets).for_each(|_| self.packet(apart, apart, Seen::Stamped));
        }

        fn received(&self) -> f64 {
            self.cc.feedback.map_or(f64::NAN, |f| f.received)
        }
    }

    #[derive(Clone, Copy, PartialEq)]
    enum Seen {
        Stamped,
        Acked,
        Lost,
    }

    /// A rate that nothing moves: only what is measured matters.
    fn still() -> Dccc {
        let rate = Rate(96_000);
        controller(Params { initial_rate: rate, min_rate: rate, max_rate: Some(rate), ..Params::default() })
    }

    /// Appendix C: RTT is forward plus backward delay, 50 ms here; what the receiver waited for its ACK is neither.
    #[test]
    fn delay_of_the_ack() {
        for ack_delay in [0, 10, 25] {
            let mut s = Script::new(still());
            s.ack_delay = MS * ack_delay;
            s.even(20, MS * 20);
            near(s.cc.feedback.map_or(f64::NAN, |f| f.rtt), 0.05, 1e-9);
            near(s.cc.rtt.as_secs_f64(), 0.05, 1e-9);
        }
    }

    /// 1200 bytes every 100 ms are 96 kbit/s, though only every second RTT has a packet; likewise 1, 2 and 25 per RTT.
    #[test]
    fn receive_rate() {
        for apart in [100, 50, 25, 2] {
            let mut s = Script::new(still());
            s.even(200, MS * apart);
            near(s.received(), 9600.0 / (apart as f64 * 1e-3), 1e-9);
            near(s.cc.feedback.map_or(0.0, |f| f.sent), 96e3, 1e-9);
        }
    }

    /// As many periods as a timer would have, although they end with packets; one per packet where these are rarer.
    #[test]
    fn periods() {
        for (apart, expected) in [(7, 198..=200), (45, 198..=200), (70, 142..=142)] {
            let mut s = Script::new(still());
            s.even(1, MS * apart);
            let mut periods = 0;
            while s.sent < Time::from_millis(10_000) {
                let before = s.cc.due;
                s.even(1, MS * apart);
                periods += u64::from(s.cc.due != before);
            }
            assert!(expected.contains(&periods), "{apart}: {periods}");
        }
    }

    /// A packet whose ACK came without its time arrived; a lost one did not: a fifth is missing.
    #[test]
    fn missing_stamps_and_losses() {
        for (seen, rate) in [(Seen::Acked, 960e3), (Seen::Lost, 768e3)] {
            let mut s = Script::new(still());
            for pn in 0..500 {
                s.packet(MS * 10, MS * 10, if pn % 5 == 3 { seen } else { Seen::Stamped });
            }
            near(s.received(), rate, 1e-9);
        }
    }

    /// What is needed is missing: the rate stays.
    #[test]
    fn without_receive_times() {
        let mut s = Script::new(controller(Params::default()));
        (0..100).for_each(|_| s.packet(MS * 10, MS * 10, Seen::Acked));
        near(s.cc.x, 100e3, 0.0);
        s.packet(MS * 10, MS * 10, Seen::Stamped);
        near(s.cc.x, 100e3, 0.0);
    }

    /// Equation 61: with alpha = 0.75 three quarters of a step are missing, then nine sixteenths, 27 of 64.
    #[test]
    fn smoothing() {
        let mut s = Script::new(still());
        s.cc.params.smoothing = 0.75;
        s.even(20, MS * 50);
        for missing in [0.75, 0.5625, 0.421_875] {
            s.packet(MS * 50, MS * 25, Seen::Stamped);
            near(s.received(), 192e3 * (2.0 - missing), 1e-9);
        }
    }

    /// x_recv = x / 4 takes the bracket to -3 and equation 26 below zero: the least rate remains. The other end likewise.
    #[test]
    fn limits() {
        let params = Params { max_rate: Some(Rate(1_500_000)), ..Params::default() };
        let mut cc = controller(params);
        near(cc.params.next_rate(1e6, &feedback(50.0, 1e6, 250e3)), -192e3, 1e-9);
        for (x, limited) in [(-192e3, 10e3), (f64::NAN, 1.5e6), (1.6e6, 1.5e6), (1e6, 1e6)] {
            cc.set_rate(x);
            near(cc.x, limited, 0.0);
        }
    }

    /// The header's rate of a packet is that of its departure.
    #[test]
    fn headers() {
        let mut cc = controller(Params::default());
        for round in 1..=100 {
            (cc.next_pn, cc.x) = (10 * round, 0.0);
            cc.set_rate(1000.0 * round as f64 + 20_000.0);
        }
        for (pn, rate) in [(999, 119e3), (1000, 120e3), (1001, 120e3), (500, 70e3), (0, 57e3)] {
            near(cc.header(pn), rate, 1e-12);
        }
        // The first is the anchor, ten left at 119 kbit/s, thirty at 120 kbit/s.
        (989..1030).for_each(|pn| cc.on_packet(&stamped(pn, Time::ZERO, pn as i64)));
        near(cc.averages.finish(MS, false).map_or(f64::NAN, |f| f.sent), 119_750.0, 1e-12);
    }

    /// Ten seconds of nothing to send: by the headers the network held back, by the departures it did not.
    #[test]
    fn idle_application() {
        for (sending_rate, held) in [(SendingRate::Header, true), (SendingRate::Measured, false)] {
            let mut s = Script::new(still());
            s.cc.params.sending_rate = sending_rate;
            s.even(20, MS * 100);
            s.packet(MS * 10_000, MS * 10_000, Seen::Stamped);
            let f = s.cc.feedback.expect("packets came");
            assert_eq!(f.sent > 10.0 * f.received, held);
            // Losses show either way.
            for pn in 0..500 {
                s.packet(MS * 100, MS * 100, if pn % 2 == 0 { Seen::Lost } else { Seen::Stamped });
            }
            let f = s.cc.feedback.expect("packets came");
            near(f.sent, 2.0 * f.received, 1e-9);
        }
    }

    /// Fact sheet 7.2: half per RTT after max(4 RTT, 500 ms) without an ACK; with nothing in flight none is due.
    #[test]
    fn feedback_timeout() {
        let mut s = Script::new(controller(Params { initial_rate: Rate(960_000), ..Params::default() }));
        s.even(20, MS * 10);
        let (x, sent) = (s.cc.x, s.sent);
        let mut send = |ms: u64, bytes_in_flight| {
            s.pn += 1;
            let now = sent + MS * ms;
            s.cc.on_sent(&Sent { now, pn: s.pn, bytes: 1200, bytes_in_flight, app_limited: false });
            s.cc.x
        };
        assert_eq!(send(5000, 1200), x, "feedback is due from this packet on");
        for (ms, halvings) in [(5499, 1.0), (5500, 2.0), (5549, 2.0), (5550, 4.0), (5600, 8.0)] {
            near(send(ms, 2400), x / halvings, 1e-12);
        }
        near(send(60_000, 2400), 10e3, 0.0);
    }

    /// Appendix B: a receiver's clock ahead by d acts as a threshold lower by d; the smallest delay anchors it.
    #[test]
    fn clocks() {
        for (owd, expected) in [(Owd::Absolute, 0.075), (Owd::Anchored, 0.0), (Owd::Windowed, 0.0)] {
            let mut s = Script::new(controller(Params { owd, ..Params::default() }));
            s.received += 50_000_000;
            s.even(20, MS * 100);
            near(s.cc.feedback.map_or(f64::NAN, |f| f.owd), expected, 1e-9);
        }
    }

    /// Twice the flight of the fastest packets out there, ten packets at least, and no window of the sender's.
    #[test]
    fn window() {
        let mut cc = controller(Params::default());
        assert_eq!(cc.control().cwnd, 10 * MDS);
        assert_eq!(cc.control().pacing_rate, Some(Rate(100_000)));
        cc.set_rate(2e6);
        cc.latest_rtt = MS * 400;
        assert_eq!(cc.control().cwnd, 200_000);
        cc.feedback = Some(feedback(50.0, 4e6, 2e6));
        assert_eq!(cc.control().cwnd, 400_000);
        assert!(cc.shapes_recovery());
    }

    /// The link's time for one packet at so many kbit/s.
    fn rate(kbit: u64) -> Rate {
        Rate(kbit * 1000)
    }

    fn flow(start: u64) -> Flow<Dccc> {
        Flow::new(Box::new(controller(Params::default())), PROPAGATION * 2, Time::from_millis(start))
    }

    fn owd_ms(cc: &Dccc) -> f64 {
        cc.feedback.map_or(f64::NAN, |f| f.owd * 1e3)
    }

    /// One flow alone has the whole link, and the delay of equation 19 within 3 %.
    #[test]
    fn alone() {
        for kbit in [300, 500, 1000, 1500, 6000] {
            let mut link = Loop::new(vec![flow(0)], MDS, rate(kbit));
            link.run_to(Time::from_millis(300_000));
            let cc = &link.flows[0].cc;
            let e = equilibrium_delay(&cc.params, Rate(kbit * 1000), PROPAGATION).unwrap_or_default();
            near(owd_ms(cc), e.as_millis_f64(), 0.03);
            near(cc.x, kbit as f64 * 1e3, 0.03);
        }
    }

    /// Figure 5 without its UDP flow: the third comes late and gets its third; the delay is that of 1 Mbit/s.
    #[test]
    fn latecomer_gets_its_share() {
        let mut link = Loop::new(vec![flow(2000), flow(4000), flow(100_000)], MDS, rate(3000));
        link.run_to(Time::from_millis(100_000));
        near(owd_ms(&link.flows[0].cc), 1550.0 / 13.0, 0.03);
        link.run_to(Time::from_millis(260_000));
        let (sum, squares) =
            link.flows.iter().fold((0.0, 0.0), |(s, q), f| (s + f.cc.x, q + f.cc.x * f.cc.x));
        assert!(sum * sum / (3.0 * squares) > 0.99, "{sum} {squares}");
        near(owd_ms(&link.flows[0].cc), 131.25, 0.03);
    }
}
