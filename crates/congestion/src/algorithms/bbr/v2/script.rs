//! A controller in a known condition, and signals for it, for this folder's tests.

use super::{Bbr2, Params};
pub(super) use crate::algorithms::bbr::common::script::{MDS, lost, sample};
use crate::testing::fixtures::path;
use units::{Duration, Time};

pub(super) fn bbr() -> Bbr2 {
    bbr_with(Params::default())
}

pub(super) fn bbr_with(params: Params) -> Bbr2 {
    Bbr2::new(params, path(MDS))
}

/// The pipe has been full, at this rate (Mbit/s) and RTT (ms).
pub(super) fn known(mbit: u64, rtt: u64) -> Bbr2 {
    known_with(Params::default(), mbit, rtt)
}

pub(super) fn known_with(params: Params, mbit: u64, rtt: u64) -> Bbr2 {
    let mut cc = bbr_with(params);
    cc.full_pipe.filled_pipe = true;
    cc.model.update_max_bw(&sample(mbit, 0));
    cc.model.bound_bw();
    let (p, rtt) = (&cc.params, Duration::from_millis(rtt));
    cc.model.min_rtt.update(Time::ZERO, Some(rtt), p.probe_rtt_interval, p.min_rtt_filter_len);
    cc
}
