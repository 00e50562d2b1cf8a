//! Code shared by the curves of all versions: `C (t - K)^3` packets around a plateau, with t and K
//! in seconds.

/// Returns K after a change of the packet size, so that the curve continues in place.
///
/// The window keeps its distance from the plateau in bytes, and its slope is that of the curve in
/// new packets. `ratio` is the old size over the new one.
pub(super) fn k_after(t: f64, k: f64, ratio: f64) -> f64 {
    t - (t - k) * libm::cbrt(ratio)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1200 bytes become 1400, below the plateau and beyond it.
    #[test]
    fn same_bytes() {
        for (t, k) in [(0.0, 4.0), (3.0, 4.0), (4.0, 4.0), (9.0, 4.0)] {
            let away = |mds: f64, k: f64| mds * 0.4 * libm::pow(t - k, 3.0);
            let after = away(1400.0, k_after(t, k, 1200.0 / 1400.0));
            assert!((after - away(1200.0, k)).abs() < 1e-6, "{t} s: {after}");
        }
    }
}
