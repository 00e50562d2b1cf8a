//! A controller in a known state, and signals for it, for the tests of this folder.

use super::{Bbr3, Params};
use crate::algorithms::bbr::common::script::know;
pub(super) use crate::algorithms::bbr::common::script::{MDS, lost, sample};
use crate::testing::fixtures::path;

pub(super) fn bbr() -> Bbr3 {
    bbr_with(Params::default())
}

pub(super) fn bbr_with(params: Params) -> Bbr3 {
    Bbr3::new(params, path(MDS))
}

/// A controller that has filled the pipe, at this rate (Mbit/s) and RTT (ms).
pub(super) fn known(mbit: u64, rtt: u64) -> Bbr3 {
    known_with(Params::default(), mbit, rtt)
}

pub(super) fn known_with(params: Params, mbit: u64, rtt: u64) -> Bbr3 {
    let mut cc = bbr_with(params);
    know(&mut cc.bbr, mbit, rtt);
    cc
}
