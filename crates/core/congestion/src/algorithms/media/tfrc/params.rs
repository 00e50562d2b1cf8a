//! Parameters. Sections are those of RFC 5348.

use crate::{Range, params};
use units::Duration;

params! {
    /// b, number of packets that one TCP ACK acknowledges in the throughput equation. Section 3.1.
    b: f64 = 1.0 => Range::FACTOR,
    /// t_RTO of the throughput equation, in RTTs. Section 3.1.
    rto: f64 = 4.0 => Range::FACTOR,
    /// q, weight of the old RTT. Section 4.3.
    q: f64 = 0.9 => Range::from(0.0).below(1.0),
    /// q2, weight of the old mean of sqrt(RTT). Section 4.5.
    q2: f64 = 0.9 => Range::from(0.0).below(1.0),
    /// Whether the rate follows the newest RTT, to dampen oscillations. Section 4.5; optional.
    damping: bool = false,
    /// t_mbi, longest time between two packets. Section 4.3.
    t_mbi: Duration = Duration::from_secs(64),
    /// Factor of the receive rate that a loss leaves while the application limits the sender.
    /// Section 4.3, step 4.
    data_limited: f64 = 0.85 => Range::above(0.0).to(1.0),
    /// Time of the nofeedback timer before the first RTT sample. Section 4.2.
    first_timer: Duration = Duration::from_secs(2),
    /// RTT over which the initial window is spread before the first sample. RFC 9002 section 6.2.2;
    /// RFC 5348 section 4.2 sends one packet per second.
    initial_rtt: Duration = Duration::from_millis(333) => Range::above(0.0),
    /// Window, in multiples of the bytes sent in an RTT. Large enough not to limit the rate. Not in
    /// the RFC.
    window: f64 = 2.0 => Range::PACKETS,
    /// Smallest window, packets. Not in the RFC.
    min_window: u64 = 4 => Range::PACKETS,
}
