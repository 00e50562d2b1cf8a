//! Controllers behind somebody else's loss detection: a stack says what it found out, its controller hears complete signals.

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
