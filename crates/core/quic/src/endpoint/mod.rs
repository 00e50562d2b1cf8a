//! An endpoint: many connections behind one address.
//!
//! [`Endpoint`] drives the connections. Its parts route datagrams, admit clients, and answer
//! datagrams that belong to no connection.

pub mod admission;
pub mod budget;
mod driver;
mod incoming;
mod members;
mod outgoing;
mod program;
pub mod reset;
pub mod routing;
pub mod token;

pub use admission::{Admission, First};
pub use budget::Budget;
pub use driver::{ConnectError, Dropped, Endpoint, EndpointSettings};
pub use program::Program;
pub use reset::ResetKey;
pub use routing::{DropReason, Handle, Routed, Routing};
pub use token::{Tokens, Verdict};
