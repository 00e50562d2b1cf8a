//! The parameters.

use crate::components::count::Count;
use crate::{Range, params};

params! {
    /// C, how fast the window returns, segments per second cubed. RFC 9438 section 5.1.
    c: f64 = 0.4 => Range::FACTOR,
    /// What is left of the window after a congestion event, 0..1. RFC 9438 section 4.6; 0.875 in picoquic.
    beta: f64 = 0.7 => Range::SHARE,
    /// Give up more than the window when the maximum fell, to let new flows in. RFC 9438 section 4.7.
    fast_convergence: bool = true,
    /// Most growth of the window in one round trip, as a factor. RFC 9438 section 4.2.
    target_limit: f64 = 1.5 => Range::from(1.0),
    /// Least growth of the window in a round trip while no loss has shown a maximum, as a share. Linux: 0.05; RFC 9438 has none.
    initial_growth: f64 = 0.0 => Range::from(0.0),
    /// Smallest window after a loss, packets. RFC 9438 section 4.6, RFC 9002 section 7.2.
    min_window: u64 = 2 => Range::PACKETS,
    /// Smallest window after an ECN mark, packets. RFC 9002 section 7.2; RFC 9438 section 4.6 says 1.
    min_window_ecn: u64 = 2 => Range::PACKETS,
    /// Initial window, packets, or `"auto"`: RFC 9002 section 7.2.
    #[serde(with = "units::or_auto")]
    initial_window: Option<u64> = None => Range::PACKETS,
    /// What opens the window in slow start and in the Reno-friendly part: `bytes` acknowledged, `packets` (Linux), `acks`, each as one packet (RFC 5681; ns-3, htsim), or `always`: bytes, also of an unused window (mvfst).
    count: Count = Count::Bytes,
    /// L, most packets of growth per ACK in slow start, or `"off"`. RFC 3465 section 2.2 has 2; RFC 9002 and Linux none.
    #[serde(with = "units::or_off")]
    abc_limit: Option<u64> = None => Range::COUNT,
    /// How slow start grows and ends: `standard`, `hystart++` (RFC 9406), `hystart` (Linux), `hystart-picoquic` or `hystart-mvfst`.
    slow_start: crate::components::slow_start::Kind = crate::components::slow_start::Kind::Standard,
}
