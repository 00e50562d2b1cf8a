//! BBRv2 behind the gate: `bbr2-ecn-gated`.
//!
//! The paper only names BBRv2 as future work (section 7). This project chose the same gate, with
//! the same readings, and three more:
//! * ProbeBW is the cycle DOWN, CRUISE, REFILL, UP. It begins with DOWN, or with CRUISE after
//!   ProbeRTT. The factor scales the pacing gain of all four, as it scales all gains of BBRv1.
//! * BBRv2's own response to marks, which counts them as losses, is off (`base-marks`). A mark then
//!   acts by the gate alone, as in the paper.
//! * UP ends with 1.25 BDP in flight, which it never reaches at a gain of 0.9375. A UP whose gain
//!   is scaled to at most 1 lasts a min_rtt.

use super::params::{Gate, Marks, Persistence, Scope, Unit, gated};
use super::{EcnGated, Estimator, Ratio};
use crate::algorithms::bbr::v2::{self, Bbr2};
use crate::{PathInfo, Range};
use units::Duration;

gated! {
    v2, Bbr2, scaled_ends: |_| false, base_marks: |p| p.base_marks;
    /// Whether a mark also counts as a loss, if `base.ecn` is on. Not in the paper; chosen by this
    /// project.
    base_marks: bool = false,
    /// Parameters of the underlying `bbr2`.
    base: v2::Params = v2::Params::default(); v2::Params::DOCS,
}
