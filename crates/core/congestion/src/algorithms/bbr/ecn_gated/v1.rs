//! BBRv1 behind the gate: `bbr1-ecn-gated`, the paper's BBR.
//!
//! R = 1.5 changes nothing, taken literally. One more ambiguity is a parameter, the end of a phase
//! with a scaled gain: `phase-end`. BBR ends a phase with a gain above 1 when that multiple of the
//! BDP is in flight, and one with a gain below 1 when at most the BDP is in flight. By the scaled
//! gain, a cycle at 0.75 has no phase above 1, and each of its phases may end with one ACK. By the
//! cycle's own gain, phases last as long as in BBR.
//!
//! In ProbeBW a mark as such has no effect. picoquic's own response (half the window, at most once
//! per srtt) is not implemented, because the paper's regular flows did not react.
//!
//! Deviations: the base is BBRv1 as in the draft and Linux, not as in picoquic (cycle 1.25, 0.75, 1
//! ...; see `bbr1`). A cycle begins when the phase wraps around, or when ProbeBW is entered at any
//! phase. While a policer's rate is used (`base.policer`), nothing is scaled.

use super::params::{Gate, Marks, Persistence, Scope, Unit, gated};
use super::{EcnGated, Estimator, Ratio};
use crate::algorithms::bbr::v1::{self, Bbr1};
use crate::{PathInfo, Range};
use units::Duration;

gated! {
    v1, Bbr1, scaled_ends: |p| p.phase_end == PhaseEnd::Scaled, base_marks: |_| true;
    /// Gain that decides how a phase ends: the cycle's `own` or the `scaled` one. Not in the paper.
    phase_end: PhaseEnd = PhaseEnd::Own,
    /// Parameters of the underlying `bbr1`.
    base: v1::Params = v1::Params::default(); v1::Params::DOCS,
}

/// The gain that decides how a phase ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum PhaseEnd {
    /// The cycle's own gain.
    Own,
    /// The scaled gain.
    Scaled,
}
