//! BBRv3 behind the gate: `bbr3-ecn-gated`.
//!
//! The paper does not name BBRv3; section 7 plans "BBRv2 or other congestion control algorithms".
//! This project chose the same gate, with the readings of [`v2`](super::v2). UP ends on a plateau
//! of the bandwidth, whatever its gain, unless `base.probe-up-inflight-gain` is set.

use super::params::{Gate, Marks, Persistence, Scope, Unit, gated};
use super::{EcnGated, Estimator, Ratio};
use crate::algorithms::bbr::v3::{self, Bbr3};
use crate::{PathInfo, Range};
use units::Duration;

gated! {
    v3, Bbr3, scaled_ends: |_| false, base_marks: |p| p.base_marks;
    /// Whether a mark also counts as a loss, if `base.ecn` is on. Not in the paper; chosen by this
    /// project.
    base_marks: bool = false,
    /// Parameters of the underlying `bbr3`.
    base: v3::Params = v3::Params::default(); v3::Params::DOCS,
}
