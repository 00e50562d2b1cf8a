//! Controllers that grow like Reno: by one packet per round trip, with a proportional reduction
//! after a loss.
//!
//! `new_reno` is QUIC's version and `tcp_reno` TCP's. `westwood` sets the window to the measured
//! bandwidth-delay product. `hstcp` adapts to large windows, `htcp` to the time since the last
//! loss, `hybla` to the RTT, `bic` to the window of the last loss, and `illinois` to the queueing
//! delay. `scalable` grows by a share of its window. `dctcp` reduces by the share of marks. `tahoe`
//! begins again after each loss. `window` contains shared code.
//!
//! ```
//! use ackclock_congestion::algorithms::reno::new_reno::{NewReno, Params};
//! use ackclock_congestion::{Cause, Congestion, Controller, PathInfo};
//! use ackclock_congestion::units::{Duration, Time};
//!
//! let mut reno = NewReno::new(Params { initial_window: Some(20), ..Params::default() }, PathInfo::default());
//! let rtt = Duration::from_millis(50);
//! let (now, cause, prior_in_flight) = (Time::ZERO + rtt, Cause::Loss, 24_000);
//! reno.on_congestion(&Congestion { now, cause, prior_in_flight, min_rtt: rtt, smoothed_rtt: rtt });
//! assert_eq!(reno.control().cwnd, 12_000);
//! ```

pub mod bic;
pub mod dctcp;
pub mod hstcp;
pub mod htcp;
pub mod hybla;
pub mod illinois;
pub mod new_reno;
pub mod scalable;
pub mod tahoe;
pub mod tcp_reno;
pub mod westwood;
pub mod window;
