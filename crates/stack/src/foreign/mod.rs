//! Ends of other people's stacks, unmodified, driven in virtual time.
//!
//! noq is a fork of quinn, and what a driver calls has the same names in both: [`foreign!`] is that driver, and the file of each stack has
//! what differs.
//!
//! Deterministic: their generators are seeded, nothing is looked for (no discovery of the MTU), TLS has certificates whose messages have one
//! length. Time is a moment of the process's clock, which nobody sees, and what virtual time adds to it.

mod driver;
#[cfg(feature = "noq")]
pub(crate) mod noq;
mod notes;
#[cfg(feature = "quinn")]
pub(crate) mod quinn;
mod tls;
mod watch;

use driver::foreign;
