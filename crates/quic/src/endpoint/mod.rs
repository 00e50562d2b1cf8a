//! Parts of an endpoint: whose a datagram is, who may come in, what those get that belong to nobody.

pub mod admission;
pub mod budget;
pub mod reset;
pub mod routing;
pub mod token;

pub use admission::{Admission, First};
pub use budget::Budget;
pub use reset::ResetKey;
pub use routing::{Handle, Routed, Routing, Why};
pub use token::{Tokens, Verdict};
