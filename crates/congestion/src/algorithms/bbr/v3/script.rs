//! A controller in a known condition, for this folder's tests.

use super::{Bbr3, Params};
pub(super) use crate::algorithms::bbr::common::script::{MDS, lost, sample};
use crate::testing::fixtures::path;
use units::{Duration, Time};

pub(super) fn bbr() -> Bbr3 {
    Bbr3::new(Params::default(), path(MDS))
}

/// The pipe has been full, at this rate (Mbit/s) and RTT (ms).
pub(super) fn known(mbit: u64, rtt: u64) -> Bbr3 {
    let mut cc = bbr();
    cc.full_pipe.full_bw_reached = true;
    cc.model.update_max_bw(&sample(mbit, 0));
    cc.model.bound_bw();
    let (p, rtt) = (&cc.params, Duration::from_millis(rtt));
    cc.model.min_rtt.update(Time::ZERO, Some(rtt), p.probe_rtt_interval, p.min_rtt_filter_len);
    cc
}
