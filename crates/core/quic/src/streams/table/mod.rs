//! All streams of a connection: pending data, readable data, and credit (RFC 9000 sections 2 to 4).

mod application;
mod incoming;
mod outgoing;
mod state;

pub use application::StreamError;
pub use outgoing::{Control, MAX_CONTROL, MIN_DATA};
pub use state::{StreamEvent, StreamTable, TableConfig};
