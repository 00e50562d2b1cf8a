//! Building blocks shared by several algorithms.

pub mod careful_resume;
pub mod count;
pub(crate) mod datagram_size;
pub(crate) mod delegate;
pub(crate) mod idle;
pub(crate) mod loss_intervals;
pub(crate) mod picoquic;
pub mod queuing_delay;
pub(crate) mod rate_limited;
pub(crate) mod receiver_report;
pub mod rtt_ratio;
pub mod slow_start;
pub(crate) mod undo;
pub mod window;
pub mod window_rule;
