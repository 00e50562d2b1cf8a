//! An endpoint: many connections behind one address. [`Endpoint`] drives them; its parts say whose a datagram is, who may come in, what those
//! get that belong to nobody.

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
pub use routing::{Handle, Routed, Routing, Why};
pub use token::{Tokens, Verdict};
