//! Records of flows during a run, for any backend, from plain values.

mod flow;
mod histogram;
mod mean;
mod queue_delay;
mod timers;
mod totals;

pub use flow::{Record, Secrets, SentPacket};
pub use histogram::Histogram;
pub use mean::Mean;
pub use queue_delay::QueueDelay;
pub use timers::TimerMeans;
pub use totals::{Delivery, FlowInWindow, MediaTotals, ObjectTotals, Totals};
