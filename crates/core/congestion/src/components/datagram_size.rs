//! Effect of a new datagram size on a window
//! ([`Controller::on_path_change`](crate::Controller::on_path_change)).
//!
//! ```text
//! cwnd = max(cwnd, min(cwnd, min * before) / before * after)                bytes
//! ```
//!
//! The path carries the same number of bytes as before, so the window stays the same in bytes. The
//! smallest window is counted in packets, however. A window that was no larger keeps its number of
//! packets, also if a timeout left it below the smallest window.

/// Returns a window in bytes after the datagram size changed from `before` to `after`. `min` is the
/// smallest window, in packets.
pub(crate) fn resized(cwnd: u64, min: u64, before: u64, after: u64) -> u64 {
    let held = cwnd.min(min.saturating_mul(before));
    let needed = u128::from(held) * u128::from(after) / u128::from(before.max(1));
    cwnd.max(u64::try_from(needed).unwrap_or(u64::MAX))
}

/// Returns a window in packets after the datagram size changed. `ratio` is `before / after`.
pub(crate) fn rescaled(cwnd: f64, min: f64, ratio: f64) -> f64 {
    (cwnd * ratio).max(cwnd.min(min))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A large window stays. The smallest window and one below it keep their packets. Smaller
    /// packets need less.
    #[test]
    fn windows() {
        for (cwnd, after, expected) in [
            (120_000, 1400, 120_000),
            (2600, 1400, 2800),
            (2400, 1400, 2800),
            (1200, 1400, 1400),
            (120_000, 1000, 120_000),
            (2400, 1000, 2400),
        ] {
            assert_eq!(resized(cwnd, 2, 1200, after), expected, "{cwnd} at {after}");
            let (before, after) = (1200.0, after as f64);
            let packets = rescaled(cwnd as f64 / before, 2.0, before / after);
            assert!((packets * after - expected as f64).abs() < 1e-6, "{packets}");
        }
    }
}
