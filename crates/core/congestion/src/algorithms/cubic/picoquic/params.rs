//! Parameters.

use crate::components::picoquic::LossFilter;
use crate::{Range, params};
use units::{Bytes, Duration};

params! {
    /// Version of picoquic: `b7bf3ded` (June 2023, that of Uchida et al.) or `d199d45b` (August
    /// 2026).
    revision: Revision = Revision::B7bf3ded,
    /// C, which determines how fast the window returns, packets per second cubed. picoquic cubic.c.
    c: f64 = 0.4 => Range::FACTOR,
    /// Factor by which the window is multiplied after an event, 0..1. picoquic cubic.c: 7/8.
    beta: f64 = 0.875 => Range::SHARE,
    /// Whether to lower the maximum when it falls, so that new flows can grow. picoquic cubic.c.
    fast_convergence: bool = true,
    /// Centre of the curve after a mark: `w-max` (picoquic cubic.c) or the window `cwnd` before the
    /// mark (Uchida et al., equation 1).
    centre: Centre = Centre::WMax,
    /// Origin of the curve's time t after a mark: a `new` epoch at the mark (picoquic cubic.c), or
    /// the `old` epoch before it.
    mark_epoch: MarkEpoch = MarkEpoch::New,
    /// Initial window. picoquic PICOQUIC_CWIN_INITIAL: 10 * 1536 bytes.
    initial_window: Bytes = Bytes(15_360),
    /// Smallest window. picoquic PICOQUIC_CWIN_MINIMUM: 2 * 1536 bytes.
    min_window: Bytes = Bytes(3_072),
    /// Whether to respond to CE marks; `false` is the baseline of Uchida et al. that ignores them.
    /// picoquic cubic.c: yes.
    ecn: bool = true,
    /// Smoothed loss rate above which a loss is an event, 0..1. 0: every loss. `"auto"`:
    /// PICOQUIC_SMOOTHED_LOSS_THRESHOLD of the revision, 0.2 or 0.15.
    #[serde(with = "units::or_auto")]
    loss_threshold: Option<f64> = None => Range::PART,
    /// Weight of one packet in the smoothed loss rate. picoquic PICOQUIC_SMOOTHED_LOSS_FACTOR:
    /// 1/16.
    loss_gain: f64 = 0.0625 => Range::SHARE,
    /// Largest distance in packet numbers between two losses that counts. picoquic
    /// PICOQUIC_SMOOTHED_LOSS_SCOPE.
    loss_scope: u64 = 32 => Range::COUNT,
    /// Number of RTT samples in the window of the slow-start test, and number of high windows that
    /// end slow start. picoquic PICOQUIC_MIN_MAX_RTT_SCOPE.
    rtt_window: u64 = 7 => Range::PACKETS,
    /// Shortest time between two samples of `rtt-window`. picoquic cc_common.c.
    rtt_spacing: Duration = Duration::from_millis(1),
    /// Multiple of the filtered minimum above which the RTT is high. picoquic cc_common.c.
    rtt_excess: f64 = 1.25 => Range::from(1.0),
    /// RTT above which the window is corrected at the end of slow start. picoquic
    /// PICOQUIC_TARGET_RENO_RTT.
    target_rtt: Duration = Duration::from_millis(100),
    /// Largest RTT in the correction. picoquic PICOQUIC_TARGET_SATELLITE_RTT.
    satellite_rtt: Duration = Duration::from_millis(610),
    /// Window to which slow start jumps at once, as a share of the peak delivery rate times srtt.
    /// 0: no jump. picoquic cubic.c: 1/2.
    bandwidth_seed: f64 = 0.5 => Range::from(0.0),
}

/// A version of picoquic's source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Revision {
    /// Commit of 29 June 2023.
    B7bf3ded,
    /// Commit of 16 August 2026.
    D199d45b,
}

/// Centre of the curve after a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Centre {
    /// Maximum, lowered by fast convergence.
    WMax,
    /// Window before the mark.
    Cwnd,
}

/// Start of the time of the curve after a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum MarkEpoch {
    /// The mark.
    New,
    /// Start of the previous curve.
    Old,
}

impl Params {
    /// Returns parameters with the response to marks given by equations 1 to 3 of Uchida et al.
    pub fn equation_1() -> Self {
        Self { centre: Centre::Cwnd, ..Self::default() }
    }

    pub(super) fn is_new(&self) -> bool {
        self.revision == Revision::D199d45b
    }

    pub(super) fn loss_filter(&self) -> LossFilter {
        let threshold = self.loss_threshold.unwrap_or(if self.is_new() { 0.15 } else { 0.2 });
        LossFilter::new(threshold, self.loss_gain, self.loss_scope)
    }
}
