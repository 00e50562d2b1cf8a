//! Parameters. Their sources are the sections of the specification, or picoquic c4.c, as in
//! `mod.rs`.

use crate::{Range, params};
use units::{Duration, Rate};

params! {
    /// Gain in Initial. "Initial state".
    initial_gain: f64 = 2.0 => Range::FACTOR,
    /// Gain in Recovery. "Recovery state".
    recovery_gain: f64 = 15.0 / 16.0 => Range::FACTOR,
    /// Gain of a push after a successful one. "Pushing state".
    push_gain: f64 = 1.25 => Range::FACTOR,
    /// Gain of another push, and largest gain after which any growth is a success. "Pushing state".
    push_gain_low: f64 = 17.0 / 16.0 => Range::FACTOR,
    /// Largest reduction of the rate by a signal, 0..1. "Rate Reduction on Congestion".
    beta: f64 = 0.25 => Range::SHARE,
    /// Number of eras in Cruising. "Cruising state"; picoquic c4.c has 2.
    cruise_eras: u64 = 4 => Range::COUNT,
    /// Number of eras without growth that end Initial. "Initial state".
    eras_without_growth: u64 = 3 => Range::COUNT,
    /// Number of packets acknowledged in Initial before a loss can end it. "Initial state".
    packets_before_loss: u64 = 20 => Range::from(0.0),
    /// Number of successful pushes that restart Initial. "Recovery state".
    successful_pushes: u64 = 3 => Range::COUNT,
    /// Smallest RTT as a share of the largest below which Initial is restarted once, 0..1.
    /// "Restarting Initial if High Jitter".
    jitter_restart: f64 = 0.4 => Range::PART,
    /// MAX_JITTER, most by which the largest RTT exceeds the smallest. "Nominal max RTT".
    max_jitter: Duration = Duration::from_millis(250),
    /// Time by which the window exceeds the pacing rate times max_rtt, so that delayed ACKs and
    /// whole packets leave room for a push. Picoquic c4.c; 0 in the specification.
    window_margin: Duration = Duration::from_millis(15),
    /// Largest delay threshold. "Detecting Excessive Delays".
    delay_threshold_max: Duration = Duration::from_millis(25),
    /// Whether marks are a signal. Picoquic c4.c; open in the specification.
    ecn: bool = true,
    /// Smallest pacing rate in Initial. Picoquic c4.c, C4_INITIAL_PACING; the specification has the
    /// rate of the interface.
    initial_rate: Rate = Rate(1_048_576),
    /// Initial window, packets, or `"auto"`: RFC 9002 section 7.2, as in the specification.
    #[serde(with = "units::or_auto")]
    initial_window: Option<u64> = None => Range::PACKETS,
}
