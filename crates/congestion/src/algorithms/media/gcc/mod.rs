//! GCC: a Google congestion control algorithm for real-time communication, draft-ietf-rmcat-gcc-02 (July 2016),
//! sections 4 to 6, both controllers at the sender (section 3, first way).
//!
//! ```text
//! groups    packets that left within burst_time; d(i) = change of delay from group to group                 5.1, 5.2
//! kalman    m(i) = mean of d(i)                                                                             5.3
//! detector  over-use: M above the adaptive threshold del_var_th for overuse_time_th and rising;
//!           under-use: M below -del_var_th                                                                  5.4
//! state     Hold, Increase, Decrease                                                                        5.5
//! rate      A_hat: Increase by 8 % a second, half a packet per response time near convergence;
//!           Decrease to beta R_hat; A_hat <= 1.5 R_hat                                                      5.5
//!           As_hat: by losses                                                                               6
//! pacing_rate = min(A_hat, As_hat)
//! ```
//!
//! R_hat and the window are `receiver_report`'s. A_hat and As_hat are updated every `interval`, and at once when over-use begins.
//!
//! **M**: the draft compares m itself, in ms per group, with the threshold, which is 6 ms at least. At the most that
//! A_hat <= 1.5 R_hat allows, groups that leave 5 ms apart have m = 2.5 ms. Only where packets leave more than 12 ms
//! apart can over-use be seen at all (0.5 Mbit/s of capacity with 1200 bytes); elsewhere the queue grows without end.
//! WebRTC, whose threshold it is, compares min(i, 60) m(i). So does this, with `deltas` = 60; 1 is the draft's text.
//!
//! Deviations, each with a parameter where it says so. M as above. Near convergence needs a deviation, which the draft
//! lets be zero after the first Decrease: WebRTC's bounds (`variance-min`, `variance-max`). One Decrease is one
//! occasion in mean and deviation. A group merged from a burst ends after WebRTC's `max-burst`. A step of the
//! threshold covers at most WebRTC's `max-step`. In the variance of the filter an outlier is limited on both sides.
//! var_v(0) and the number of groups in f_max are WebRTC's. As_hat grows from min(As_hat, A_hat): the draft lets it
//! grow without limit. R_hat counts window bytes, not payload. Start, smallest and largest rate are not in the draft.
//! Packets leave one by one as the rate has it, not in groups every burst_time (section 4). Marks do nothing (section 9
//! leaves ECN for later): do not use with ECT. Persistent congestion or a timeout sets the rate to `min-rate`. Without
//! receive times the rate stays. The RTT of the response time is `smoothed_rtt`, without the delay of ACKs. No probing, no REMB. R_hat begins anew after the application was idle (see `receiver_report`):
//! as the draft measures it, a pause would leave 1.5 times a packet per window.

mod detector;
mod groups;
mod kalman;
mod rate;
pub(crate) mod state;
#[cfg(test)]
mod tests;

use self::detector::Detector;
use self::groups::Groups;
use self::kalman::Kalman;
use self::rate::{DelayBased, Input, loss_based};
use self::state::Signal;
use crate::components::receiver_report::{ReceiveRate, Report, Reports, Window, bits};
use crate::{Ack, AckedPacket, Cause, Congestion, Control, Controller, Lost, Needs, PathInfo, Sent};
use crate::{Range, params};
use units::{Duration, Rate};

params! {
    /// Packets that leave within it are a group. Draft table 1.
    burst_time: Duration = Duration::from_millis(5),
    /// Longest group gathered from packets that arrive in a burst. WebRTC inter_arrival.cc; the draft has none.
    max_burst: Duration = Duration::from_millis(100),
    /// State noise, ms^2. Draft table 1.
    q: f64 = 1e-3 => Range::from(0.0),
    /// e(0), error covariance at the start, ms^2. Draft table 1.
    e: f64 = 0.1 => Range::from(0.0),
    /// Weight of the newest sample in the variance at 30 groups a second, 0..1. Draft table 1: 0.001 to 0.1.
    chi: f64 = 0.01 => Range::PART,
    /// var_v(0), variance of the measurement at the start, ms^2. WebRTC bwe_defines.h; the draft has none.
    var_v: f64 = 50.0 => Range::from(0.0),
    /// K, groups over which f_max is taken. WebRTC overuse_estimator.cc; the draft has no number.
    memory: usize = 60 => Range::COUNT,
    /// Most groups by which m is multiplied before it is compared. WebRTC overuse_detector.cc; 1 is the draft.
    deltas: u64 = 60 => Range::COUNT,
    /// del_var_th(0), threshold at the start. Draft table 1.
    del_var_th: Duration = Duration::from_micros(12_500),
    /// Smallest threshold. Draft section 5.4.
    del_var_th_min: Duration = Duration::from_millis(6),
    /// Largest threshold. Draft section 5.4.
    del_var_th_max: Duration = Duration::from_millis(600),
    /// So far above the threshold, the estimate does not move it. Draft section 5.4.
    spike: Duration = Duration::from_millis(15),
    /// Largest time step of the threshold. WebRTC overuse_detector.cc; the draft has none.
    max_step: Duration = Duration::from_millis(100),
    /// Time above the threshold until over-use is signaled. Draft table 1.
    overuse_time_th: Duration = Duration::from_millis(10),
    /// K_u, gain of the threshold upwards, per ms. Draft table 1.
    k_u: f64 = 0.01 => Range::from(0.0),
    /// K_d, gain of the threshold downwards, per ms. Draft table 1.
    k_d: f64 = 0.00018 => Range::from(0.0),
    /// Interval between updates of the rate. Draft section 3: 30 to 100 ms.
    interval: Duration = Duration::from_millis(100),
    /// T, window of the receive rate. Draft table 1: 0.5 to 1 s.
    rate_window: Duration = Duration::from_millis(500),
    /// What Decrease leaves of the receive rate, 0..1. Draft table 1.
    beta: f64 = 0.85 => Range::SHARE,
    /// Multiplicative increase per second. Draft section 5.5.
    eta: f64 = 1.08 => Range::FACTOR,
    /// Largest A_hat, of the receive rate. Draft section 5.5.
    headroom: f64 = 1.5 => Range::FACTOR,
    /// Reaction time of the detector, which makes the response time with the RTT. Draft section 5.5.
    reaction_time: Duration = Duration::from_millis(100),
    /// Least additive increase per update. Draft section 5.5.
    min_step: Rate = Rate(1000),
    /// Frames per second, for the expected packet size. Draft section 5.5.
    fps: f64 = 30.0 => Range::above(0.0),
    /// Largest packet, bytes, for the expected packet size. Draft section 5.5.
    packet: u64 = 1200 => Range::COUNT,
    /// Weight of the past in mean and variance of the receive rate at a Decrease, 0..1. Draft section 5.5.
    smoothing: f64 = 0.95 => Range::from(0.0).below(1.0),
    /// Smallest variance over mean, kbit/s. WebRTC link_capacity_estimator.cc; the draft has none.
    variance_min: f64 = 0.4 => Range::from(0.0),
    /// Largest variance over mean, kbit/s. WebRTC link_capacity_estimator.cc; the draft has none.
    variance_max: f64 = 2.5 => Range::from(0.0),
    /// Loss ratio below which As_hat grows, 0..1. Draft section 6.
    loss_low: f64 = 0.02 => Range::PART,
    /// Loss ratio above which As_hat falls, 0..1. Draft section 6.
    loss_high: f64 = 0.1 => Range::PART,
    /// Growth of As_hat per update. Draft section 6.
    loss_increase: f64 = 1.05 => Range::FACTOR,
    /// Rate at the start. WebRTC's; the draft has none.
    initial_rate: Rate = Rate(300_000),
    /// Smallest rate. Not in the draft.
    min_rate: Rate = Rate(10_000),
    /// Largest rate, that of the application, or `"off"`. Not in the draft.
    #[serde(with = "units::or_off")]
    max_rate: Option<Rate> = None,
    /// Window, in what the rate sends in an RTT and an interval; should never bind. Not in the draft.
    window: f64 = 2.0 => Range::PACKETS,
    /// Smallest window, packets. Not in the draft.
    min_window: u64 = 10 => Range::PACKETS,
}

impl Params {
    fn clip(&self, rate: f64) -> f64 {
        // In this order, so that a smallest above the largest is no panic.
        rate.min(self.max_rate.map_or(f64::INFINITY, bits)).max(bits(self.min_rate)).max(1.0)
    }
}

/// The controller.
#[derive(Clone, Debug)]
pub struct Gcc {
    params: Params,
    groups: Groups,
    kalman: Kalman,
    detector: Detector,
    received: ReceiveRate,
    delay_based: DelayBased,
    /// As_hat, bit/s.
    loss_based: f64,
    reports: Reports,
    window: Window,
}

impl Gcc {
    /// At the initial rate, in Increase.
    pub fn new(params: Params, path: PathInfo) -> Self {
        Self {
            groups: Groups::new(params.burst_time, params.max_burst),
            kalman: Kalman::new(&params),
            detector: Detector::new(params.clone()),
            received: ReceiveRate::new(params.rate_window),
            delay_based: DelayBased::new(params.clone()),
            loss_based: bits(params.initial_rate),
            reports: Reports::new(params.interval),
            window: Window::new(path, params.interval, params.window, params.min_window),
            params,
        }
    }

    fn on_packet(&mut self, packet: &AckedPacket) {
        self.received.on_packet(packet);
        if let Some(variation) = self.groups.on_packet(packet) {
            self.kalman.update(&variation);
            self.detector.update(self.kalman.m, self.kalman.groups, &variation);
        }
    }

    fn update(&mut self, report: &Report) {
        let lost = report.counts.lost_ratio();
        self.loss_based = loss_based(&self.params, self.rate(), lost);
        if let Some(received) = self.received.rate() {
            let (signal, rtt) = (self.detector.signal, self.window.rtt());
            let interval = report.interval.as_secs_f64();
            self.delay_based.update(Input { signal, received, interval, rtt });
            self.delay_based.rate = self.params.clip(self.delay_based.rate);
        }
    }

    /// Bit/s.
    fn rate(&self) -> f64 {
        self.params.clip(self.delay_based.rate.min(self.loss_based))
    }
}

impl Controller for Gcc {
    fn needs(&self) -> Needs {
        Needs { receive_times: true, every_receive_time: true, ..Needs::default() }
    }

    fn on_sent(&mut self, sent: &Sent) {
        self.received.on_sent(sent);
    }

    fn on_ack(&mut self, ack: &Ack) -> Option<Cause> {
        self.window.on_ack(ack);
        let before = self.detector.signal;
        for packet in ack.packets {
            self.on_packet(packet);
        }
        let begins = before != Signal::Over && self.detector.signal == Signal::Over;
        if let Some(report) = self.reports.on_ack(ack, begins) {
            self.update(&report);
        }
        None
    }

    fn on_lost(&mut self, lost: &Lost) {
        self.reports.on_lost(lost);
    }

    fn on_congestion(&mut self, event: &Congestion) {
        if matches!(event.cause, Cause::PersistentCongestion | Cause::Timeout) {
            self.delay_based.rate = self.params.clip(0.0);
            self.loss_based = self.delay_based.rate;
        }
    }

    /// The rate is the control; the window must not be touched.
    fn shapes_recovery(&self) -> bool {
        true
    }

    fn on_path_change(&mut self, path: PathInfo) {
        self.window.on_path_change(path);
    }

    fn control(&self) -> Control {
        self.window.control(self.rate())
    }

    /// Rates in bit/s, delays in seconds; `state` -1, 0, 1 for Decrease, Hold, Increase.
    fn trace(&self, put: &mut dyn FnMut(&'static str, f64)) {
        put("a_hat", self.delay_based.rate);
        put("as_hat", self.loss_based);
        put("r_hat", self.received.rate().unwrap_or(0.0));
        put("m", self.kalman.m * 1e-3);
        put("var_v", self.kalman.var_v * 1e-6);
        put("del_var_th", self.detector.threshold * 1e-3);
        put("state", self.delay_based.state.number());
    }
}
