//! Decides whether the panels of a chart share a scale. They do, so that they can be compared,
//! unless a panel would show only a line at the bottom.

use super::axis::is_drawable;

/// Ratio of heights above which panels do not share a scale.
const MOST: f64 = 4.0;

/// Reports whether panels with these ends are too different for one scale. A panel of zeros fits
/// every scale.
pub(super) fn are_apart(ends: impl Iterator<Item = (f64, f64)>) -> bool {
    let heights = ends.map(|(low, high)| low.abs().max(high.abs()));
    let (least, most) = heights
        .filter(|height| *height > 0.0 && is_drawable(*height))
        .fold((f64::INFINITY, 0.0_f64), |(least, most), height| (least.min(height), most.max(height)));
    most > MOST * least
}

/// Returns the remark that each `what` (panel, strip, figure) has its own scale: for these
/// quantities of the `all` shown.
pub(super) fn remark<'q>(
    what: &str,
    quantities: impl Iterator<Item = &'q str>,
    all: usize,
) -> Option<String> {
    let names: Vec<&str> = quantities.collect();
    match names.len() {
        0 => None,
        some if some == all => Some(format!("Each {what} has its own scale.")),
        _ => Some(format!("{}: each {what} has its own scale.", names.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panels_of_like_heights_share_a_scale() {
        let apart = |heights: &[f64]| are_apart(heights.iter().map(|height| (0.0, *height)));
        assert!(!apart(&[]) && !apart(&[5.0]) && !apart(&[10.0, 40.0]) && !apart(&[0.0, 3.0]));
        assert!(apart(&[10.0, 41.0]) && apart(&[10_000.0, 100.0, 1000.0]));
        assert!(!apart(&[f64::NAN, 3.0, f64::INFINITY]));
    }
}
