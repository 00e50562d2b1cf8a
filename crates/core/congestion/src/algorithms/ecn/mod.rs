//! Scalable controllers, which respond to the share of marked packets (L4S, RFC 9330). `dctcp` is in
//! [`reno`](super::reno), because it grows like Reno.
//!
//! ```
//! use ackclock_congestion::algorithms::ecn::prague::{Params, Prague};
//! use ackclock_congestion::{Controller, PathInfo};
//!
//! let prague = Prague::new(Params { alpha_on_init: 0.5, ..Params::default() }, PathInfo::default());
//! assert!(prague.needs().mark_counts);
//! ```

pub mod prague;
