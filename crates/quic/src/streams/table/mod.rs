//! All streams of a connection: who has something to send, who has something to read, what credit there is (RFC 9000 sections 2 to 4).

mod application;
mod incoming;
mod outgoing;
mod state;

pub use application::Unknown;
pub use outgoing::{Control, MAX_CONTROL, MIN_DATA};
pub use state::{StreamEvent, StreamTable, TableConfig};
