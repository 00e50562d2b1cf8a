//! GCC: a Google congestion control algorithm for real-time communication, draft-ietf-rmcat-gcc-02
//! (July 2016), sections 4 to 6, both controllers at the sender (section 3, first way).
//!
//! ```text
//! groups    packets sent within burst_time; d(i) = change of delay from group to group                      5.1, 5.2
//! kalman    m(i) = mean of d(i)                                                                             5.3
//! detector  over-use: M above the adaptive threshold del_var_th for overuse_time_th and rising;
//!           under-use: M below -del_var_th                                                                  5.4
//! state     Hold, Increase, Decrease                                                                        5.5
//! rate      A_hat: Increase by 8 % a second, half a packet per response time near convergence;
//!           Decrease to beta R_hat; A_hat <= 1.5 R_hat                                                      5.5
//!           As_hat: from losses                                                                               6
//! pacing_rate = min(A_hat, As_hat)
//! ```
//!
//! R_hat and the window are `receiver_report`'s. A_hat and As_hat are updated every `interval`, and
//! at once when over-use begins.
//!
//! **M**: the draft compares m itself, in ms per group, with the threshold, which is 6 ms at least.
//! With the largest rate allowed by A_hat <= 1.5 R_hat, groups sent 5 ms apart have m = 2.5 ms. So
//! over-use can only be detected if packets are sent more than 12 ms apart (0.5 Mbit/s of capacity
//! with 1200 bytes). Otherwise the queue grows without limit. WebRTC, the source of the threshold,
//! compares min(i, 60) m(i). This code does too, with `deltas` = 60; 1 is the draft's text.
//!
//! Deviations, some with a parameter: M as above. Near convergence a deviation is needed, but the
//! draft's may be zero after the first Decrease. WebRTC's bounds are used instead (`variance-min`,
//! `variance-max`). Each Decrease counts once in mean and deviation. A group merged from a burst
//! ends after WebRTC's `max-burst`. A step of the threshold covers at most WebRTC's `max-step`. In
//! the variance of the filter an outlier is limited on both sides. var_v(0) and the number of
//! groups in f_max are WebRTC's. As_hat grows from min(As_hat, A_hat); the draft lets it grow
//! without limit. R_hat counts window bytes, not payload. Initial, smallest and largest rate are
//! not in the draft. Packets are sent one by one at the pacing rate, not in groups every burst_time
//! (section 4). Marks have no effect (section 9 leaves ECN for later), so do not use ECT.
//! Persistent congestion or a timeout sets the rate to `min-rate`. Without receive times the rate
//! stays constant. The RTT in the response time is `smoothed_rtt`, without the ACK delay. There is
//! no probing and no REMB. R_hat restarts after the application was idle (see `receiver_report`).
//! As the draft measures it, a pause would leave 1.5 times a packet per window.

mod detector;
mod groups;
mod kalman;
mod params;
mod rate;
pub(crate) mod state;
#[cfg(test)]
mod tests;

use self::detector::Detector;
use self::groups::Groups;
use self::kalman::Kalman;
pub use self::params::Params;
use self::rate::{DelayBased, Input, loss_based};
use self::state::Signal;
use crate::components::receiver_report::{ReceiveRate, Report, Reports, Window, bits};
use crate::{Ack, AckedPacket, Cause, Congestion, Control, Controller, Lost, Needs, PathInfo, STATE, Sent};

impl Params {
    fn clip(&self, rate: f64) -> f64 {
        // In this order, a smallest rate above the largest does not panic.
        rate.min(self.max_rate.map_or(f64::INFINITY, bits)).max(bits(self.min_rate)).max(1.0)
    }
}

/// Names of the states, indexed by state number.
pub const STATES: &[&str] = state::State::NAMES;

crate::variables! {
    /// Rate of the delay-based controller, A_hat. Draft section 5.5.
    a_hat: "bit/s",
    /// Rate of the loss-based controller, As_hat. Draft section 6.
    as_hat: "bit/s",
    /// Rate at the receiver, R_hat; 0 before it is known. Draft section 5.5.
    r_hat: "bit/s",
    /// Estimated growth of the one-way delay from group to group, m(i). Draft section 5.3.
    m: "s",
    /// Variance of the noise in the delay variation, var_v. Draft section 5.3.
    var_v: "s^2",
    /// Threshold of the over-use detector, del_var_th. Draft section 5.4.
    del_var_th: "s",
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
    /// Rate of the loss-based controller, As_hat, in bit/s.
    loss_based: f64,
    reports: Reports,
    window: Window,
}

impl Gcc {
    /// Creates a controller at the initial rate, in Increase.
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

    /// Returns the rate in bit/s.
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

    /// The rate controls the sender, so the window must not be changed in recovery.
    fn shapes_recovery(&self) -> bool {
        true
    }

    fn on_path_change(&mut self, path: PathInfo) {
        self.window.on_path_change(path);
    }

    fn control(&self) -> Control {
        self.window.control(self.rate())
    }

    /// Reports rates in bit/s, delays in seconds, and `state` -1, 0, 1 for Decrease, Hold,
    /// Increase.
    fn trace(&self, put: &mut dyn FnMut(&'static str, f64)) {
        put("a_hat", self.delay_based.rate);
        put("as_hat", self.loss_based);
        put("r_hat", self.received.rate().unwrap_or(0.0));
        put("m", self.kalman.m * 1e-3);
        put("var_v", self.kalman.var_v * 1e-6);
        put("del_var_th", self.detector.threshold * 1e-3);
        put(STATE, self.delay_based.state.number());
    }
}
