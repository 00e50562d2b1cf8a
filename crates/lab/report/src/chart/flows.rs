//! Styles of the flows of a row: by kind if kinds differ within a row, otherwise by number.

use super::Source;
use super::frame::{Frame, Layout};
use super::kinds::{Kind, Kinds, distinct};
use super::svg;
use crate::styles::{self, Style};

/// Styles of a chart's flows.
pub(super) enum Flows<'a> {
    /// Rows have flows of different labels or algorithms.
    Kinds(Kinds<'a>),
    /// All flows of a row have the same label and algorithm.
    Numbers,
}

impl<'a> Flows<'a> {
    /// Creates the styles for rows with flows of these kinds.
    pub(super) fn new(source: &Source<'_>, rows: &[Vec<Kind<'a>>]) -> Self {
        if rows.iter().any(|kinds| distinct(kinds.iter().copied()).len() > 1) {
            Self::Kinds(Kinds::new(source, rows.iter().flatten().copied()))
        } else {
            Self::Numbers
        }
    }

    /// Returns the style of a flow and its name.
    pub(super) fn style(&self, row: &[Kind<'_>], flow: usize) -> (Style, String) {
        match (self, row.get(flow)) {
            (Self::Kinds(kinds), Some(kind)) => {
                let before = row[..flow].iter().filter(|k| *k == kind).count();
                (Style { dash: styles::dash(before), ..kinds.style(*kind) }, kinds.name(*kind))
            }
            _ => (Style::nth(flow).solid(), format!("flow {}", flow + 1)),
        }
    }

    /// Creates a frame with the legend for these rows.
    pub(super) fn frame(&self, layout: impl Into<Layout>, rows: &[&Vec<Kind<'_>>]) -> Frame {
        let mut entries: Vec<(String, Style)> = Vec::new();
        for row in rows {
            for (style, name) in (0..row.len()).map(|flow| self.style(row, flow)) {
                if !entries.iter().any(|(known, _)| *known == name) {
                    entries.push((name, style));
                }
            }
        }
        let entries: Vec<_> = entries.iter().map(|(name, style)| (name.as_str(), style)).collect();
        Frame::with_legend(layout, &entries, svg::PIECE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use crate::styles::Palette;

    #[test]
    fn flows_that_are_alike_differ_by_number_and_others_by_kind() {
        let experiments = fixture::realistic();
        let palette = Palette::new(&experiments);
        let source = Source::new(&experiments[0], &palette, svg::WIDTH);
        let kind = |label, algorithm| Kind { label, algorithm };
        let alike = vec![vec![kind("Cubic", "cubic"); 3]];
        let flows = Flows::new(&source, &alike);
        let [first, second] = [0, 1].map(|flow| flows.style(&alike[0], flow));
        assert_eq!((first.1.as_str(), second.1.as_str()), ("flow 1", "flow 2"));
        assert_ne!(first.0.colour, second.0.colour);
        let mixed = vec![vec![kind("CUBIC", "cubic"), kind("BBR", "bbr2"), kind("BBR", "bbr2")]];
        let flows = Flows::new(&source, &mixed);
        let [cubic, bbr, other] = [0, 1, 2].map(|flow| flows.style(&mixed[0], flow));
        assert_eq!((cubic.1.as_str(), bbr.1.as_str()), ("CUBIC", "BBR"));
        assert!(
            cubic.0.colour != bbr.0.colour && bbr.0.colour == other.0.colour && bbr.0.dash != other.0.dash
        );
    }
}
