//! Parameters.

use crate::{Range, params};
use units::Duration;

params! {
    /// Q_low, queuing delay up to which the link counts as underutilised. Section V-A.
    q_low: Duration = Duration::from_millis(1) => Range::from(0.0).up_to("q_target"),
    /// Q_target, queuing delay above which the window shrinks. Section V-A.
    q_target: Duration = Duration::from_millis(5),
    /// phi, time in ms after which X is a byte. Section V-A.
    phi: f64 = 35.0 => Range::FACTOR,
    /// gamma, factor of the tailored decrease, 0..1. Section V-A.
    gamma: f64 = 973.0 / 1024.0 => Range::SHARE,
    /// t_sync, duration of CWND hold. Section V-A.
    t_sync: Duration = Duration::from_millis(250),
    /// t_measure, window of RTTnow. Section V-A.
    t_measure: Duration = Duration::from_millis(40),
    /// C, scale of the cubic increase, packets per cubic second. Section III-B.
    c: f64 = 0.4 => Range::FACTOR,
    /// Number of tailored decreases without an RTTnow close to RTTmin after which RTTmin is
    /// forgotten. Section IV; 10 in the module.
    reset_after: u64 = 100 => Range::COUNT,
    /// Distance from RTTmin up to which an RTTnow is close to it. Linux module.
    close: Duration = Duration::from_micros(100),
    /// Number of round trips after a reduction in which the queue is ignored. Linux module.
    blind_rounds: f64 = 2.0 => Range::FACTOR,
    /// Factor by which the window is multiplied after a loss or a mark, 0..1. Linux module,
    /// 717 / 1024.
    reduction: f64 = 717.0 / 1024.0 => Range::SHARE,
    /// Smallest window, packets. Linux module.
    min_window: u64 = 2 => Range::PACKETS,
    /// Initial window, packets, or `"auto"`: RFC 9002 section 7.2.
    #[serde(with = "units::or_auto")]
    initial_window: Option<u64> = None => Range::PACKETS,
}
