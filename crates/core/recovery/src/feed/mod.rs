//! Controllers for stacks with their own loss detection: the stack reports packets, the controller
//! receives complete signals.

mod accounting;
mod controller_feed;
mod controller_timer;
mod rate;
mod recovery_period;

pub use accounting::RttEstimate;
pub(crate) use accounting::{Accounting, AckDetails, Batch, Reason, SentPacket};
pub use controller_feed::ControllerFeed;
pub use controller_timer::ControllerTimer;
pub use rate::{Sampler, Snapshot};
pub use recovery_period::Exit;
