//! Controllers behind another stack's loss detection: the stack reports what it found, its controller gets complete signals.

mod bookkeeping;
mod controller_feed;
mod controller_timer;
mod rate;
mod recovery_period;

pub use bookkeeping::RttEstimate;
pub(crate) use bookkeeping::{AckDetails, Batch, Bookkeeping, Left, Reason};
pub use controller_feed::ControllerFeed;
pub use rate::{Sampler, Snapshot};
pub use recovery_period::Exit;
