//! Parameters.

use crate::components::careful_resume;
use crate::components::count::Count;
use crate::{Range, params};

/// The document that defines the curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Curve {
    /// `K` from the reduced window, `W_est` from the acknowledged segments.
    Rfc9438,
    /// `K` as if `beta W_max` were left, `W_est` as a function of time over RTT from there.
    Rfc8312,
}

params! {
    /// C, which determines how fast the window returns, segments per second cubed. RFC 9438 section
    /// 5.1.
    c: f64 = 0.4 => Range::FACTOR,
    /// Factor by which the window is multiplied after a congestion event, 0..1. RFC 9438 section
    /// 4.6; 0.875 in picoquic.
    beta: f64 = 0.7 => Range::SHARE,
    /// Document that defines `K` and `W_est`: `rfc9438` or `rfc8312` (sections 4.1 and 4.2). After
    /// fast convergence, the curve of `rfc8312` begins below the window, which stays constant until
    /// the curve reaches it.
    curve: Curve = Curve::Rfc9438,
    /// Additive increase of the Reno-friendly estimate until it reaches the previous window,
    /// packets per round trip, or `"auto"`: 3 (1 - beta) / (1 + beta), RFC 9438 section 4.3.
    /// aioquic: 1.
    #[serde(with = "units::or_auto")]
    alpha: Option<f64> = None => Range::from(0.0),
    /// Whether to lower W_max further when the maximum falls, so that new flows can grow. RFC 9438
    /// section 4.7.
    fast_convergence: bool = true,
    /// Largest growth factor of the window in one round trip. RFC 9438 section 4.2.
    target_limit: f64 = 1.5 => Range::from(1.0),
    /// Minimum growth of the window per round trip before the first loss, as a share. Linux: 0.05;
    /// RFC 9438: none.
    initial_growth: f64 = 0.0 => Range::from(0.0),
    /// Smallest window after a loss, packets. RFC 9438 section 4.6, RFC 9002 section 7.2.
    min_window: u64 = 2 => Range::PACKETS,
    /// Smallest window after an ECN mark, packets. RFC 9002 section 7.2; RFC 9438 section 4.6 says
    /// 1.
    min_window_ecn: u64 = 2 => Range::PACKETS,
    /// Initial window, packets, or `"auto"`: RFC 9002 section 7.2.
    #[serde(with = "units::or_auto")]
    initial_window: Option<u64> = None => Range::PACKETS,
    /// Quantity that grows the window in slow start and in the Reno-friendly part: `bytes`
    /// acknowledged, `packets` (Linux),
    #[doc = crate::components::count::others!()]
    count: Count = Count::Bytes,
    /// L, largest growth per ACK in slow start, packets, or `"off"`. RFC 3465 section 2.2 has 2;
    /// RFC 9002 and Linux none.
    #[serde(with = "units::or_off")]
    abc_limit: Option<u64> = None => Range::COUNT,
    #[doc = crate::components::slow_start::values!()]
    slow_start: crate::components::slow_start::Kind = crate::components::slow_start::Kind::Standard,
    /// Window and RTT of an earlier connection to resume: draft-ietf-tsvwg-careful-resume.
    careful_resume: careful_resume::Params = careful_resume::Params::default(); careful_resume::Params::DOCS,
}
