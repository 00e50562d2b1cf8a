//! Unmodified endpoints of quinn and noq, driven in virtual time.
//!
//! noq is a fork of quinn, and a driver calls functions of the same names in both. [`foreign!`] is
//! that driver, and the file of each stack holds the differences.
//!
//! Runs are deterministic. The stacks' random number generators are seeded, MTU discovery is off,
//! and the TLS messages with the certificates have a fixed length. Time is an unobservable moment
//! of the process's clock plus the virtual time.

mod controller_log;
mod driver;
#[cfg(feature = "noq")]
pub(crate) mod noq;
#[cfg(feature = "quinn")]
pub(crate) mod quinn;
mod tls;

use driver::{foreign, passed_on};
