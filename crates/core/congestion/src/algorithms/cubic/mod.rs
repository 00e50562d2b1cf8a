//! CUBIC, whose window is a cubic function of the time since the last event: RFC 9438, and variants
//! in implementations.
//!
//! ```
//! use ackclock_congestion::algorithms::cubic::rfc9438::{Cubic, Params};
//! use ackclock_congestion::{Controller, PathInfo};
//!
//! // Leaves slow start as Linux does.
//! let slow_start = ackclock_congestion::components::slow_start::Kind::Hystart;
//! let cubic = Cubic::new(Params { slow_start, ..Params::default() }, PathInfo::default());
//! assert!(cubic.control().in_slow_start());
//! ```

mod curve;
pub mod ecn_gated;
pub mod mvfst;
pub mod picoquic;
pub mod rfc9438;
