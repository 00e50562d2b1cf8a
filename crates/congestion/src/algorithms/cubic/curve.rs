//! What the curves of all versions have in common: `C (t - K)^3` packets around a plateau, t and K in seconds.

/// K after the packets have changed their size, so that the curve goes on where it is: as many bytes from its plateau, and as
/// steep as one of the new packets has it. `ratio` is the size before over the size after.
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
