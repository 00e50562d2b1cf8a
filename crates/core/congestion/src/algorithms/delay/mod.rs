//! Controllers that respond to delay. `ledbat` and `quic_dc` use the one-way delay, for which the
//! receiver must report the arrival times of packets
//! ([`Needs::receive_times`](crate::Needs)). The others use the RTT.
//!
//! ```
//! use ackclock_congestion::algorithms::delay::ledbat::{Ledbat, Params};
//! use ackclock_congestion::{Controller, PathInfo};
//! use ackclock_congestion::units::Duration;
//!
//! let ledbat = Ledbat::new(Params { target: Duration::from_millis(25), ..Params::default() }, PathInfo::default());
//! assert!(ledbat.needs().receive_times);
//! ```

pub mod cdg;
pub mod compound;
pub mod copa;
pub mod dstar;
pub mod dual;
pub mod fast;
pub mod ledbat;
pub mod ledbat_plus_plus;
pub mod lola;
pub mod pert;
pub mod quic_dc;
pub mod timely;
pub mod vegas;
pub mod vegas_plus;
pub mod veno;
pub mod yeah;
