//! Parameters.

use crate::components::count::Count;
use crate::{Range, params};

params! {
    /// Number of gradients in the sums. Linux tcp_cdg.c.
    window: u64 = 8 => Range::from(1.0).to(256.0),
    /// Factor by which the window is multiplied after a backoff, 0..1. Linux tcp_cdg.c, 724 / 1024;
    /// 0.7 in the paper.
    backoff_beta: f64 = 724.0 / 1024.0 => Range::SHARE,
    /// Rate of the backoff probability, per second of the summed gradients. Linux tcp_cdg.c;
    /// 1000 / (3 window) in the paper.
    backoff_factor: f64 = 42.0 => Range::from(0.0),
    /// Number of ineffectual backoffs after which the delay is ignored, or `"off"`. Linux
    /// tcp_cdg.c.
    #[serde(with = "units::or_off")]
    use_ineff: Option<u64> = Some(5) => Range::COUNT,
    /// Whether a loss leaves the shadow window. Linux tcp_cdg.c.
    use_shadow: bool = true,
    /// Whether to ignore losses while the queue is not full. Linux tcp_cdg.c; on in the paper.
    use_tolerance: bool = false,
    /// Whether a train of ACKs ends slow start. Linux tcp_cdg.c, hystart_detect.
    ack_train: bool = true,
    /// Whether a rising RTT ends slow start. Linux tcp_cdg.c, hystart_detect.
    delay_exit: bool = true,
    /// Smallest window, packets. Linux tcp_cdg.c.
    min_window: u64 = 2 => Range::PACKETS,
    /// Initial window, packets. RFC 6928 section 2.
    initial_window: u64 = 10 => Range::PACKETS,
    /// Quantity that grows the window: `packets` acknowledged (Linux), `bytes`,
    #[doc = crate::components::count::others!()]
    count: Count = Count::Packets,
}
