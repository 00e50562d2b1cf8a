//! Controllers of a media rate. The rate controls the sender, and the window only stops it when its
//! path has died. All but `c4` compute at the sender what a receiver would report; all but `c4` and
//! `tfrc` from the receive times in the ACKs.
//!
//! ```
//! use ackclock_congestion::algorithms::media::nada::{Nada, Params};
//! use ackclock_congestion::{Controller, PathInfo};
//! use ackclock_congestion::units::Rate;
//!
//! let nada = Nada::new(Params { rmin: Rate(500_000), ..Params::default() }, PathInfo::default());
//! assert_eq!(nada.control().pacing_rate, Some(Rate(500_000)));
//! ```

pub mod c4;
pub mod dccc;
pub mod gcc;
pub mod gcc_simplified;
pub mod nada;
pub mod nada_2013;
pub mod scream_v2;
pub mod tfrc;
