//! What is kept of each flow while a run goes on, by whatever backend: plain values go in.

mod flow;
mod histogram;
mod mean;
mod queue_delay;
mod timers;
mod totals;

pub use flow::{Record, SentPacket};
pub use histogram::Histogram;
pub use mean::Mean;
pub use queue_delay::QueueDelay;
pub use timers::TimerMeans;
pub use totals::{Delivery, FlowInside, MediaTotals, ObjectTotals, Totals};
