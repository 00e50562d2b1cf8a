//! The parameters.

use crate::components::picoquic::LossFilter;
use crate::{Range, params};
use units::{Bytes, Duration};

params! {
    /// Which picoquic: `b7bf3ded` (June 2023, that of Uchida et al.) or `d199d45b` (August 2026).
    revision: Revision = Revision::B7bf3ded,
    /// C, how fast the window returns, packets per second cubed. picoquic cubic.c.
    c: f64 = 0.4 => Range::FACTOR,
    /// What is left of the window after an event, 0..1. picoquic cubic.c: 7/8.
    beta: f64 = 0.875 => Range::SHARE,
    /// Lower the maximum where it fell, to let new flows in. picoquic cubic.c.
    fast_convergence: bool = true,
    /// Centre of the curve after a mark: `w-max` (picoquic cubic.c) or the window `cwnd` that the mark finds (Uchida et al., equation 1).
    centre: Centre = Centre::WMax,
    /// Where t of the curve begins at a mark: with it, a `new` epoch (picoquic cubic.c), or where it began before, the `old` one.
    mark_epoch: MarkEpoch = MarkEpoch::New,
    /// Initial window. picoquic PICOQUIC_CWIN_INITIAL: 10 * 1536 bytes.
    initial_window: Bytes = Bytes(15_360),
    /// Smallest window. picoquic PICOQUIC_CWIN_MINIMUM: 2 * 1536 bytes.
    min_window: Bytes = Bytes(3_072),
    /// Answer CE marks; `false` is the CE-blind baseline of Uchida et al. picoquic cubic.c: yes.
    ecn: bool = true,
    /// Smoothed loss rate above which a loss is an event, 0..1; 0: every loss. `"auto"`: PICOQUIC_SMOOTHED_LOSS_THRESHOLD of the revision, 0.2 or 0.15.
    #[serde(with = "units::or_auto")]
    loss_threshold: Option<f64> = None => Range::PART,
    /// Weight of one packet in that rate. picoquic PICOQUIC_SMOOTHED_LOSS_FACTOR: 1/16.
    loss_gain: f64 = 0.0625 => Range::SHARE,
    /// Most packet numbers between two losses that count. picoquic PICOQUIC_SMOOTHED_LOSS_SCOPE.
    loss_scope: u64 = 32 => Range::COUNT,
    /// RTT samples in the window of the slow-start test, and high windows that end slow start. picoquic PICOQUIC_MIN_MAX_RTT_SCOPE.
    rtt_window: u64 = 7 => Range::PACKETS,
    /// Least time between two of these samples. picoquic cc_common.c.
    rtt_spacing: Duration = Duration::from_millis(1),
    /// What is high, as a factor of the filtered minimum. picoquic cc_common.c.
    rtt_excess: f64 = 1.25 => Range::from(1.0),
    /// RTT above which the window is corrected when slow start ends. picoquic PICOQUIC_TARGET_RENO_RTT.
    target_rtt: Duration = Duration::from_millis(100),
    /// RTT above which the correction refers to this instead. picoquic PICOQUIC_TARGET_SATELLITE_RTT.
    satellite_rtt: Duration = Duration::from_millis(610),
    /// Part of peak delivery rate times srtt that slow start opens at once; 0: none. picoquic cubic.c: 1/2.
    bandwidth_seed: f64 = 0.5 => Range::from(0.0),
}

/// A state of picoquic's source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Revision {
    /// 29 June 2023.
    B7bf3ded,
    /// 16 August 2026.
    D199d45b,
}

/// What the curve after a mark is centred on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Centre {
    /// The maximum, lowered by fast convergence.
    WMax,
    /// The window that the mark found.
    Cwnd,
}

/// Where the time of the curve after a mark begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum MarkEpoch {
    /// With the mark.
    New,
    /// Where it began before the mark.
    Old,
}

impl Params {
    /// With the answer to marks that equations 1 to 3 of Uchida et al. give.
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
