//! Parameters. Equations are the paper's.

use super::feedback::Feedback;
use crate::{Range, params};
use units::{Duration, Rate};

params! {
    /// h, weight of the utility h log x. Table I; 5 to 50 kbit/s.
    h: Rate = Rate(20_000),
    /// Price of delay, 0..1. Table I; 0.05 to 0.2. Delay alone never pushes the rate below h /
    /// beta.
    beta: f64 = 0.1 => Range::SHARE,
    /// T_r, the one-way delay that has no price. Table I has 50 to 100 ms, section V-B 100 ms.
    threshold: Duration = Duration::from_millis(100),
    /// kr times RTT, 0..1. Table I: 1/2.5; down to 1/10.
    gain: f64 = 0.4 => Range::FACTOR,
    /// T_s, a fixed feedback period (Table I: 50 to 500 ms), or `"off"`: one RTT.
    #[serde(with = "units::or_off")]
    fixed_period: Option<Duration> = None,
    /// alpha, weight of the past in the receive rate, 0..1. Equation 61 has 0.5 against noise; 0 is
    /// off.
    smoothing: f64 = 0.0 => Range::from(0.0).below(1.0),
    /// Meaning of one-way delay: `absolute`, `anchored` (minus the smallest delay so far), or
    /// `windowed` (minus the smallest delay of a recent window). Appendix B.
    owd: Owd = Owd::Absolute,
    /// Window of `owd = "windowed"`. Chosen by this project.
    owd_window: Duration = Duration::from_secs(60),
    /// Source of x(t - RTT): the rate x in the `header` of each packet (appendix C), or `measured`
    /// from the send times, which an idle application does not distort.
    sending_rate: SendingRate = SendingRate::Header,
    /// Initial rate. Chosen by this project; the paper gives none.
    initial_rate: Rate = Rate(100_000),
    /// Smallest rate. Chosen by this project; the paper gives none.
    min_rate: Rate = Rate(10_000) => Range::from(0.0).up_to("max_rate"),
    /// Largest rate, normally that of the application, or `"off"`. Chosen by this project; the
    /// paper gives none.
    #[serde(with = "units::or_off")]
    max_rate: Option<Rate> = None,
    /// Window, in round trips at the sending rate. Large enough not to limit the rate. Chosen by
    /// this project; the paper has no window.
    window: f64 = 2.0 => Range::PACKETS,
    /// Smallest window, packets. Chosen by this project.
    min_window: u64 = 10 => Range::PACKETS,
    /// Number of round trips without an ACK, with packets in flight, after which each further round
    /// trip halves the rate, or `"off"`. Chosen by this project.
    #[serde(with = "units::or_off")]
    silence: Option<f64> = Some(4.0) => Range::from(0.0),
    /// Minimum of the time that `silence` sets. Chosen by this project.
    min_silence: Duration = Duration::from_millis(500),
}

/// The one-way delay that is compared with the threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Owd {
    /// Difference of the two clocks.
    Absolute,
    /// Minus the smallest delay so far.
    Anchored,
    /// Minus the smallest delay of the last `owd-window`.
    Windowed,
}

/// Source of the rate at which the acknowledged packets were sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum SendingRate {
    /// The controller's rate when each of them was sent, averaged.
    Header,
    /// These packets and the lost ones among them, divided by the time in which they were sent.
    Measured,
}

/// Returns the one-way delay at which a flow with this rate is in equilibrium, by equation 19.
/// `back` is the delay of the way back.
///
/// Returns `None` if equation 20 excludes the rate.
pub fn equilibrium_delay(params: &Params, rate: Rate, back: Duration) -> Option<Duration> {
    let overshoot = params.h.0 as f64 / (params.beta * rate.0 as f64);
    let delay = (back.as_secs_f64() * overshoot + params.threshold.as_secs_f64()) / (1.0 - overshoot);
    (overshoot < 1.0).then(|| Duration::from_secs_f64(delay))
}

impl Params {
    /// Returns the next rate by equation 26, before the limits.
    pub(super) fn next_rate(&self, x: f64, f: &Feedback) -> f64 {
        let rtt = f.rtt.max(1e-9);
        let step = self.gain * self.fixed_period.map_or(1.0, |t| (t.as_secs_f64() / rtt).min(1.0));
        let delay = self.beta * ((f.owd - self.threshold.as_secs_f64()) / rtt).max(0.0);
        let held_back = (f.sent - f.received) / f.received;
        x + step * (self.h.0 as f64 - x * (delay + held_back))
    }
}
