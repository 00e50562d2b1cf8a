//! The loops of a stability analysis as curves.

use crate::colours;
use crate::styles::Style;
use stability::Analysis;
use stability::margins::{Margins, frequencies};
use stability::open_loop::OpenLoop;

/// A loop with its name and style.
pub(super) struct Curve {
    pub(super) name: &'static str,
    pub(super) open: OpenLoop,
    pub(super) margins: Margins,
    pub(super) style: Style,
}

/// Returns the continuous loop and the sampled one.
pub(super) fn curves(analysis: &Analysis) -> [Curve; 2] {
    // The loop that runs has the controller's colour, the theoretical one a muted colour.
    let curve = |name, updates: Option<u32>, margins| {
        let style = match updates {
            None => Style { dash: Some("7 3"), ..Style::plain(colours::MUTED) },
            Some(_) => Style::nth(0),
        };
        Curve { name, open: analysis.setting.open_loop(updates), margins, style }
    };
    [
        curve("continuous, equation 46", None, analysis.continuous),
        curve("one update per RTT, equation 26", Some(1), analysis.sampled),
    ]
}

impl Curve {
    /// Returns the frequencies to draw, in multiples of 1/RTT.
    pub(super) fn frequencies(&self, low: f64, high: f64) -> impl Iterator<Item = f64> {
        frequencies(low, high.min(self.open.top()), 0.01)
    }
}
