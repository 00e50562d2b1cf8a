//! A single flow in a closed loop.

use crate::testing::closed_loop::{Flow, Loop};
use crate::{Controller, PathInfo};
use units::{Duration, Rate, Time};

pub(super) const MDS: u64 = 1200;
pub(super) const RTT: Duration = Duration::from_millis(40);

/// A controller of any type in its loop.
pub(super) type Alone = Loop<dyn Controller>;

/// Creates a loop with the algorithm in `algorithm`, on a link of `mbit` Mbit/s with a buffer of
/// `buffer_bdp` BDPs.
pub(super) fn alone(algorithm: &str, mbit: u64, buffer_bdp: f64) -> Alone {
    let algorithm = super::read::read(algorithm).expect(algorithm);
    let rate = Rate(mbit * 1_000_000);
    let cc = algorithm.build(PathInfo { max_datagram_size: MDS, paced: true, seed: 1 });
    let mut path = Loop::new(vec![Flow::new(cc, RTT, Time::ZERO)], MDS, rate);
    path.link.buffer = (buffer_bdp * rate.bytes_in(RTT) as f64) as u64 / MDS;
    path
}
