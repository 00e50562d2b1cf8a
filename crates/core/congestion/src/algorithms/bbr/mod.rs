//! BBR, which paces by a model of the path: versions 1 to 3, and variants of version 1 in
//! implementations. `common` contains shared code.
//!
//! All of them need delivery-rate samples ([`Ack::rate`](crate::Ack::rate)) and set a pacing rate.
//!
//! ```
//! use ackclock_congestion::algorithms::bbr::v3::{Bbr3, Params};
//! use ackclock_congestion::{Controller, PathInfo};
//!
//! let bbr = Bbr3::new(Params::default(), PathInfo { seed: 7, ..PathInfo::default() });
//! assert!(bbr.needs().rate_samples && bbr.control().pacing_rate.is_some());
//! ```

pub(crate) mod common;
pub mod ecn_gated;
pub mod scale;
pub mod v1;
pub mod v1_picoquic;
pub mod v2;
pub mod v3;
