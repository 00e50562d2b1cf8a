//! Code shared by the versions of BBR. Names are those of
//! draft-cardwell-iccrg-bbr-congestion-control-02 (March 2022) and of Linux. Functions of the
//! drafts' pseudo-code are quoted without their prefix.
//!
//! | file | content | v1 | v2 | v3 |
//! |---|---|---|---|---|
//! | `filters` | windowed maximum, minimum RTT | x | x | x |
//! | `rounds` | packet-timed round trips | x | x | x |
//! | `aggregation` | ACKs beyond what the bandwidth predicts | x | x | x |
//! | `full_pipe` | detection of a full pipe | x | x | x |
//! | `probe_rtt` | duration of ProbeRTT | x | x | x |
//! | `window` | pacing rate, congestion window, recovery | x | x | x |
//! | `state` | the states |  | x | x |
//! | `model` | bandwidth, bounds |  | x | x |
//! | `signals` | bytes delivered and lost in a round |  | x | x |
//! | `probe` | the cycle of ProbeBW |  | x | x |
//! | `frame` | all of these combined, and the rules that use them |  | x | x |

pub(crate) mod aggregation;
pub(crate) mod filters;
pub(crate) mod frame;
pub(crate) mod full_pipe;
pub(crate) mod model;
pub(crate) mod probe;
pub(crate) mod probe_rtt;
pub(crate) mod rounds;
#[cfg(test)]
pub(crate) mod script;
pub(crate) mod signals;
pub(crate) mod state;
pub(crate) mod window;

use crate::Ack;

/// `RS.newly_acked`, Linux's `acked_sacked`: includes packets that arrived after they had been
/// declared lost.
pub(crate) fn newly_acked(ack: &Ack) -> u64 {
    ack.acked.saturating_add(ack.late)
}
