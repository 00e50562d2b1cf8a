//! NADA in its version of 2013: Zhu and Pan, "NADA: A unified congestion control scheme for
//! low-latency interactive video", Packet Video Workshop (December 2013), and
//! draft-zhu-rmcat-nada-03 (March 2014). It is used as in D'Aronco et al., arXiv 1506.02799v3
//! (January 2017), appendix C-B.
//!
//! ```text
//! receiver, per packet
//!   d~    = d + d_M [marked] + d_L [lost]                seconds; d is the one-way delay, propagation included
//!   x     = (1 - alpha) x + alpha d~
//! sender, per report, `delta` apart
//!   static    x^ = x + tau_o dx/dt                       prediction of x one RTT later
//!             R  = R_min + w (R_max - R_min) x_ref / x^                                   bit/s
//!   gradual   x^ = x + eta tau_o dx/dt
//!             R += kappa delta / tau_o^2 (w (R_max - R_min) x_ref - (R - R_min) x^)       bit/s
//!   then      R_min <= R <= min(R_max, R_min + (R_max - R_min) t / T)                     T: slow start
//! ```
//!
//! Both have their equilibrium at (R - R_min) x = w (R_max - R_min) x_ref: the lower the capacity,
//! the longer the queue. The paper sets x_ref to the smallest delay of the run, so that a flow
//! reaches R_max without a queue.
//!
//! Choice of the form: according to secondary notes, `gradual` is from draft -03. The paper says
//! that a later draft than the one it uses changed the rate equation "remarkably" and queues less
//! at low capacity. It names tau_o and alpha, but neither kappa nor eta. So `static` is the
//! default. In a closed loop it settles with the paper's constants, although slowly. `gradual` with
//! tau_o = 0.1 s does not settle at 1 Mbit/s. It needs its own tau_o = 0.5 s and alpha = 0.1 (draft
//! -06, as in WebRTC's simulator).
//!
//! **Clocks**: d is receive time minus send time. A clock offset shifts both x and x_ref, so the
//! rate is wrong. In that case set `x-ref`: the smallest delay then counts as x_ref, whatever the
//! offset.
//!
//! The receiver runs at the sender, see `receiver_report`. Without receive times the rate stays at
//! R_min. Delays are one-way, and the rate does not depend on an RTT.
//!
//! Deviations: neither paper nor draft was available. The equations come from secondary notes and,
//! for the receiver, from the authors' slides at IETF 87 (July 2013). Slow start follows general
//! knowledge of the drafts; its T is this project's. A packet carries the penalty of one loss that
//! the sender detected before, and of one mark of its own ACK. There is no shaping buffer (appendix
//! C-B). Persistent congestion or a timeout sets the rate to R_min until the next report.

use crate::components::receiver_report::{Report, Reports, Window, bits};
use crate::{Ack, AckedPacket, Cause, Congestion, Control, Controller, Lost, Needs, PathInfo};
use crate::{Range, params};
use units::{Duration, Rate, Time};

params! {
    /// R_min, the smallest rate. Appendix C-B.
    rmin: Rate = Rate(100_000),
    /// R_max, the largest rate. Appendix C-B.
    rmax: Rate = Rate(6_000_000),
    /// w, weight of priority of the flow. Attributed to Zhu and Pan (2013); the paper was not
    /// available.
    w: f64 = 1.0 => Range::FACTOR,
    /// x_ref, the delay at which a flow reaches R_max, or `"off"`: the smallest one-way delay.
    /// Appendix C-B.
    #[serde(with = "units::or_off")]
    x_ref: Option<Duration> = None,
    /// alpha, weight of the newest packet in the signal, 0..1. Appendix C-B.
    alpha: f64 = 0.001 => Range::above(0.0).to(1.0),
    /// tau_o, prediction time of the signal. Appendix C-B: 0.1, taken as seconds.
    tau_o: Duration = Duration::from_millis(100),
    /// Update of the rate from the signal: `static` or `gradual`.
    update: Update = Update::Static,
    /// kappa, gain of the gradual update. WebRTC's simulator of draft -06.
    kappa: f64 = 1.0 => Range::from(0.0),
    /// eta, weight of the signal's change in the gradual update. WebRTC's simulator of draft -06.
    eta: f64 = 2.0 => Range::from(0.0),
    /// d_L, delay penalty of a lost packet. Attributed to Zhu and Pan (2013); the paper was not
    /// available.
    d_l: Duration = Duration::from_secs(1),
    /// d_M, delay penalty of a marked packet. Attributed to Zhu and Pan (2013); the paper was not
    /// available.
    d_m: Duration = Duration::from_millis(200),
    /// Interval between reports. WebRTC's simulator of draft -06.
    delta: Duration = Duration::from_millis(100),
    /// T, time in which the limit of slow start grows from R_min to R_max; 0 is off. Chosen by this
    /// project.
    slow_start: Duration = Duration::from_secs(10),
    /// Window, in multiples of the bytes sent in an RTT and a report interval. Large enough not to
    /// limit the rate. Chosen by this project.
    window: f64 = 2.0 => Range::PACKETS,
    /// Smallest window, packets. Chosen by this project.
    min_window: u64 = 10 => Range::PACKETS,
}

/// Update of the rate from the signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Update {
    /// The rate is a function of the predicted signal.
    Static,
    /// The rate moves towards that function's value.
    Gradual,
}

crate::variables! {
    /// Sending rate, R. D'Aronco et al., appendix C-B; draft-zhu-rmcat-nada-03.
    r: "bit/s",
    /// Smoothed one-way delay with penalties for losses and marks, x; 0 before the first packet.
    /// Zhu and Pan 2013.
    x: "s",
    /// Delay at which a flow reaches its largest rate, x_ref; 0 before it is known. D'Aronco et
    /// al., appendix C-B.
    x_ref: "s",
}

/// The controller. Delays are in seconds, rates in bit/s.
#[derive(Clone, Debug)]
pub struct Nada2013 {
    params: Params,
    reports: Reports,
    window: Window,
    start: Option<Time>,
    /// Smallest one-way delay.
    d_min: f64,
    /// Losses whose penalty no packet has carried yet.
    losses: u64,
    x: Option<f64>,
    /// Signal x at the last report.
    x_prev: Option<f64>,
    r: f64,
}

impl Nada2013 {
    /// Creates a controller at R_min.
    pub fn new(params: Params, path: PathInfo) -> Self {
        Self {
            reports: Reports::new(params.delta),
            window: Window::new(path, params.delta, params.window, params.min_window),
            start: None,
            d_min: f64::INFINITY,
            losses: 0,
            x: None,
            x_prev: None,
            r: bits(params.rmin).max(1.0),
            params,
        }
    }

    fn on_packet(&mut self, packet: &AckedPacket, marked: bool) {
        let Some(received) = packet.received else { return };
        let d = received.saturating_sub(i64::try_from(packet.sent.0).unwrap_or(i64::MAX)) as f64 * 1e-9;
        if let (Some(x), true) = (&mut self.x, d < self.d_min && self.params.x_ref.is_some()) {
            // The base of x has moved.
            *x += self.d_min - d;
        }
        self.d_min = self.d_min.min(d);
        let mut sample = self.params.x_ref.map_or(d, |x_ref| x_ref.as_secs_f64() + d - self.d_min);
        if marked {
            sample += self.params.d_m.as_secs_f64();
        }
        if self.losses > 0 {
            self.losses -= 1;
            sample += self.params.d_l.as_secs_f64();
        }
        self.x = Some(self.x.map_or(sample, |x| (1.0 - self.params.alpha) * x + self.params.alpha * sample));
    }

    fn x_ref(&self) -> f64 {
        self.params.x_ref.map_or(self.d_min, Duration::as_secs_f64)
    }

    /// Returns w (R_max - R_min) x_ref.
    fn theta(&self) -> f64 {
        self.params.w * (bits(self.params.rmax) - bits(self.params.rmin)) * self.x_ref()
    }

    /// Updates the rate after a report, `delta` after the previous one.
    fn update(&mut self, x: f64, slope: f64, delta: f64) {
        let tau_o = self.params.tau_o.as_secs_f64();
        let (rmin, theta) = (bits(self.params.rmin), self.theta());
        match self.params.update {
            Update::Static => {
                let ahead = x + tau_o * slope;
                self.r = if ahead > 0.0 { rmin + theta / ahead } else { f64::INFINITY };
            }
            Update::Gradual => {
                let ahead = x + self.params.eta * tau_o * slope;
                self.r += self.params.kappa * delta / (tau_o * tau_o) * (theta - (self.r - rmin) * ahead);
            }
        }
    }

    /// Limits the rate. `age` of the flow is in seconds.
    fn clip(&mut self, age: f64) {
        let (rmin, rmax) = (bits(self.params.rmin), bits(self.params.rmax));
        let slow_start = self.params.slow_start.as_secs_f64();
        let ramp = if age < slow_start { rmin + (rmax - rmin) * age / slow_start } else { rmax };
        // In this order, R_min above R_max does not panic.
        self.r = self.r.min(rmax).min(ramp).max(rmin).max(1.0);
    }

    fn report(&mut self, report: &Report) {
        let Some(x) = self.x else { return };
        let delta = report.interval.as_secs_f64();
        let slope = self.x_prev.map_or(0.0, |x_prev| (x - x_prev) / delta.max(1e-9));
        self.x_prev = Some(x);
        self.update(x, slope, delta);
        self.clip((report.now - self.start.unwrap_or(report.now)).as_secs_f64());
    }
}

impl Controller for Nada2013 {
    fn needs(&self) -> Needs {
        Needs { receive_times: true, every_receive_time: true, ..Needs::default() }
    }

    fn on_ack(&mut self, ack: &Ack) -> Option<Cause> {
        self.window.on_ack(ack);
        self.start.get_or_insert(ack.now);
        for (packet, nth) in ack.packets.iter().zip(0..) {
            self.on_packet(packet, nth < ack.ce);
        }
        if let Some(report) = self.reports.on_ack(ack, false) {
            self.report(&report);
        }
        None
    }

    fn on_lost(&mut self, lost: &Lost) {
        self.losses += lost.packets.len() as u64;
    }

    fn on_congestion(&mut self, event: &Congestion) {
        if matches!(event.cause, Cause::PersistentCongestion | Cause::Timeout) {
            self.r = bits(self.params.rmin).max(1.0);
        }
    }

    /// The rate controls the sender, so the window must not be changed in recovery.
    fn shapes_recovery(&self) -> bool {
        true
    }

    fn on_path_change(&mut self, path: PathInfo) {
        self.window.on_path_change(path);
    }

    fn control(&self) -> Control {
        self.window.control(self.r)
    }

    /// Reports the rate in bit/s and delays in seconds.
    fn trace(&self, put: &mut dyn FnMut(&'static str, f64)) {
        put("r", self.r);
        put("x", self.x.unwrap_or(0.0));
        put("x_ref", if self.d_min.is_finite() { self.x_ref() } else { 0.0 });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::closed_loop::{Flow, Loop};
    use crate::testing::fixtures::MDS;
    use crate::testing::fixtures::{acked, congestion, path, stamped};
    use crate::{Detection, LostPacket};

    fn nada(params: Params) -> Nada2013 {
        Nada2013::new(params, path(MDS))
    }

    /// Parameters without smoothing and slow start, so that a single packet determines the signal.
    fn raw() -> Params {
        Params { alpha: 1.0, slow_start: Duration::ZERO, ..Params::default() }
    }

    /// Acknowledges a packet with this one-way delay at that time, both in ms.
    fn receive(cc: &mut Nada2013, at: u64, delay: i64, ce: u64) {
        let sent = Time::from_millis(at);
        let packets = [stamped(at, sent, sent.0 as i64 + delay * 1_000_000)];
        cc.on_ack(&Ack { now: sent, packets: &packets, ce, ..acked(1200) });
    }

    fn near(a: f64, b: f64, tolerance: f64) {
        assert!((a - b).abs() <= tolerance, "{a}, not {b}");
    }

    /// Closed form x = 147.5 / (C - 0.1) ms for a flow that fills C Mbit/s, x_ref = 25 ms. Both
    /// forms.
    #[test]
    fn equilibrium() {
        for (mbit, ms) in [(1.0, 163.9), (2.0, 77.6), (4.0, 37.8), (6.0, 25.0)] {
            let x = 0.1475 / (mbit - 0.1);
            near(x * 1e3, ms, 0.05);
            for update in [Update::Static, Update::Gradual] {
                let mut cc = nada(Params { update, ..raw() });
                cc.d_min = 0.025;
                cc.r = mbit * 1e6;
                cc.update(x, 0.0, 0.1);
                near(cc.r, mbit * 1e6, 1e-3);
            }
        }
    }

    /// By hand: x = 50 ms that grows by 100 ms/s is predicted as 60 ms: 0.1 + 5.9 * 25 / 60 Mbit/s.
    /// Gradual, at 1 Mbit/s, predicted as 70 ms: 1 * 0.1 / 0.01 * (5.9 * 0.025 - 0.9 * 0.07) Mbit/s
    /// more.
    #[test]
    fn prediction() {
        for (update, rate) in [(Update::Static, 0.1 + 5.9 * 25.0 / 60.0), (Update::Gradual, 1.845)] {
            let mut cc = nada(Params { update, ..raw() });
            (cc.d_min, cc.r) = (0.025, 1e6);
            cc.update(0.05, 0.1, 0.1);
            near(cc.r, rate * 1e6, 1e-3);
        }
        let mut cc = nada(raw());
        cc.d_min = 0.025;
        cc.update(0.01, -0.2, 0.1);
        cc.clip(0.0);
        assert_eq!(cc.r, 6e6, "nothing left ahead");
    }

    /// Each packet counts with weight 0.001, the first one fully.
    #[test]
    fn smoothing() {
        let mut cc = nada(Params::default());
        receive(&mut cc, 0, 30, 0);
        near(cc.x.expect("packets"), 0.03, 1e-12);
        receive(&mut cc, 1, 130, 0);
        near(cc.x.expect("packets"), 0.0301, 1e-12);
    }

    /// Penalties: 1 s for a packet after each lost one, 200 ms for a marked one.
    #[test]
    fn penalties() {
        let mut cc = nada(raw());
        let packet = LostPacket {
            pn: 0,
            bytes: 1200,
            sent: Time::ZERO,
            detection: Detection::PacketThreshold,
            tx_in_flight: 0,
            lost_at_send: 0,
            app_limited: false,
        };
        let packets = [packet; 2];
        receive(&mut cc, 0, 25, 1);
        near(cc.x.expect("packets"), 0.225, 1e-12);
        cc.on_lost(&Lost {
            now: Time::ZERO,
            packets: &packets,
            total_lost: 0,
            delivered: 0,
            bytes_in_flight: 0,
        });
        for (at, x) in [(1, 1.025), (2, 1.025), (3, 0.025)] {
            receive(&mut cc, at, 25, 0);
            near(cc.x.expect("packets"), x, 1e-12);
        }
    }

    /// The rate after a report: R_max at the smallest delay, lower at larger ones. R_min and T
    /// limit it.
    #[test]
    fn reports() {
        let mut cc = nada(raw());
        receive(&mut cc, 0, 25, 0);
        assert_eq!(cc.r, 100e3);
        receive(&mut cc, 100, 25, 0);
        assert_eq!(cc.r, 6e6);
        receive(&mut cc, 200, 50, 0);
        near(cc.r, 0.1e6 + 5.9e6 * 25.0 / 75.0, 1e-3);
        receive(&mut cc, 300, 50, 0);
        near(cc.r, 0.1e6 + 5.9e6 / 2.0, 1e-3);
        let mut cc = nada(Params::default());
        for (at, rate) in [(0, 100e3), (5000, 3.05e6), (9000, 5.41e6), (10_000, 6e6)] {
            receive(&mut cc, at, 25, 0);
            near(cc.r, rate, 1e-3);
        }
        cc.on_congestion(&congestion(Cause::Timeout, 0));
        assert_eq!(cc.r, 100e3);
    }

    /// With x_ref set, neither the clock offset matters nor a smallest delay that arrives late.
    #[test]
    fn declared_reference() {
        let rates = |offset: i64| {
            let mut cc = nada(Params { x_ref: Some(Duration::from_millis(25)), ..raw() });
            let run = |(at, delay): (u64, i64)| {
                receive(&mut cc, at, delay + offset, 0);
                cc.r
            };
            [(0, 60), (100, 60), (200, 25), (300, 50), (400, 50)].map(run)
        };
        for (a, b) in rates(0).into_iter().zip(rates(-1_000_000)) {
            // Delays are f64 seconds with an offset of 1000 s: 13 digits remain.
            near(a, b, 1e-3);
        }
        assert_eq!(rates(0)[1], 6e6, "the smallest so far");
        near(rates(0)[4], 0.1e6 + 5.9e6 / 2.0, 1e-3);
        let mut cc = nada(Params { x_ref: Some(Duration::from_millis(25)), ..raw() });
        receive(&mut cc, 0, 60, 0);
        receive(&mut cc, 1, 25, 0);
        near(cc.x.expect("packets"), 0.025, 1e-12);
        let mut cc = nada(Params { x_ref: Some(Duration::from_millis(25)), alpha: 0.5, ..raw() });
        receive(&mut cc, 0, 60, 0);
        receive(&mut cc, 1, 25, 0);
        near(cc.x.expect("packets"), 0.025 + 0.035 / 2.0, 1e-12);
    }

    /// A single flow gets the link's rate and the equilibrium's delay, with the smallest delay as
    /// x_ref: propagation and a packet's transmission time. A memory of 1000 packets settles within
    /// some minutes.
    #[test]
    fn settles_at_the_equilibrium() {
        for (kbits, seconds, tolerance) in [(1500, 300, 2.5), (2000, 150, 1.0), (4000, 60, 0.5)] {
            let flow = Flow::new(Box::new(nada(Params::default())), Duration::from_millis(50), Time::ZERO);
            let mut link = Loop::new(vec![flow], MDS, Rate(kbits * 1000));
            let smallest = 25.0 + link.packet_time().as_millis_f64();
            let expected = smallest * 5900.0 / (kbits as f64 - 100.0);
            link.run_to(Time::from_millis(seconds * 1000));
            while link.now < Time::from_millis(seconds * 1000 + 60_000) {
                link.step(Time::NEVER);
                let delay = link.flows[0].latest_rtt - Duration::from_millis(25);
                near(delay.as_millis_f64(), expected, tolerance);
            }
            near(link.flows[0].cc.r, kbits as f64 * 1e3, 10e3);
        }
    }

    /// `gradual` settles with its own constants, but not with the paper's tau_o.
    #[test]
    fn gradual_alone() {
        for (tau_o, settles) in [(500, true), (100, false)] {
            let tau_o = Duration::from_millis(tau_o);
            let params = Params { update: Update::Gradual, alpha: 0.1, tau_o, ..Params::default() };
            let flow = Flow::new(Box::new(nada(params)), Duration::from_millis(50), Time::ZERO);
            let mut link = Loop::new(vec![flow], MDS, Rate(1_000_000));
            link.run_to(Time::from_millis(60_000));
            let mut furthest = 0f64;
            while link.now < Time::from_millis(120_000) {
                link.step(Time::NEVER);
                let delay = link.flows[0].latest_rtt - Duration::from_millis(25);
                furthest = furthest.max((delay.as_millis_f64() - 33.0 * 5900.0 / 900.0).abs());
            }
            assert_eq!(furthest < 1.0, settles, "{tau_o}: {furthest} ms away");
        }
    }
}
