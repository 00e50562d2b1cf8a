//! Kinds of flows. Flows of one kind have the same label and algorithm, and look the same in every
//! panel.

use super::Source;
use super::frame::{Frame, Layout};
use super::svg::BANDS;
use crate::colours::towards_paper;
use crate::styles::Style;
use results::summary::FlowRow;

/// Share of its colour in every other part of a kind.
const LIGHTER: f64 = 0.86;

/// A label and its algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kind<'a> {
    pub(super) label: &'a str,
    pub(super) algorithm: &'a str,
}

impl<'a> Kind<'a> {
    pub(super) fn from_flow(flow: &'a FlowRow) -> Self {
        Self { label: &flow.label, algorithm: &flow.algorithm }
    }

    /// Returns the row's kind, for flows without results.
    pub(super) fn from_row(source: &'a Source<'_>, row: &'a str) -> Self {
        Self { label: row, algorithm: source.algorithm(row) }
    }
}

/// Removes repeats and keeps the order, except that kinds of one label become neighbours.
pub(super) fn distinct<'a>(kinds: impl Iterator<Item = Kind<'a>>) -> Vec<Kind<'a>> {
    let mut known: Vec<Kind<'a>> = Vec::new();
    for kind in kinds {
        if !known.contains(&kind) {
            let namesake = known.iter().rposition(|k| k.label == kind.label);
            known.insert(namesake.map_or(known.len(), |i| i + 1), kind);
        }
    }
    known
}

/// The kinds of a chart with their styles.
pub(super) struct Kinds<'a>(Vec<(Kind<'a>, Style)>);

impl<'a> Kinds<'a> {
    pub(super) fn new(source: &Source<'_>, kinds: impl Iterator<Item = Kind<'a>>) -> Self {
        let kinds = distinct(kinds);
        let styles = source.palette.styles(&kinds.iter().map(|k| k.algorithm).collect::<Vec<_>>());
        Self(kinds.into_iter().zip(styles).collect())
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Kind<'a>> {
        self.0.iter().map(|(kind, _)| *kind)
    }

    /// Returns the label, with the algorithm if another kind has the same label.
    pub(super) fn name(&self, kind: Kind<'_>) -> String {
        let namesakes = self.iter().filter(|k| k.label == kind.label).count();
        if namesakes > 1 { format!("{} ({})", kind.label, kind.algorithm) } else { kind.label.to_owned() }
    }

    /// Returns the style of a kind.
    pub(super) fn style(&self, kind: Kind<'_>) -> Style {
        let known = self.0.iter().find(|(k, _)| *k == kind);
        known.map_or_else(|| Style::nth(0), |(_, style)| style.clone())
    }

    /// Returns the colour of a kind's area. Neighbouring parts differ a little.
    pub(super) fn fill(&self, kind: Kind<'_>, part: usize) -> String {
        let fill = self.style(kind).colour;
        if part.is_multiple_of(2) { fill } else { towards_paper(&fill, LIGHTER) }
    }

    /// Creates a frame with the legend of the `shown` kinds.
    pub(super) fn frame(&self, layout: impl Into<Layout>, shown: &[Kind<'_>]) -> Frame {
        let drawn = self.0.iter().filter(|(kind, _)| shown.contains(kind));
        let entries: Vec<_> = drawn.map(|(kind, style)| (self.name(*kind), style)).collect();
        let entries: Vec<_> = entries.iter().map(|(name, style)| (name.as_str(), *style)).collect();
        Frame::with_legend(layout, &entries, BANDS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::WIDTH;

    #[test]
    fn each_kind_has_its_name_and_colour() {
        let kind = |label, algorithm| Kind { label, algorithm };
        let all = [
            kind("tested", "bbr1"),
            kind("CUBIC", "cubic"),
            kind("tested", "bbr2"),
            kind("CUBIC 2", "cubic"),
        ];
        let experiments = crate::fixture::realistic();
        let palette = crate::styles::Palette::new(&experiments);
        let kinds = Kinds::new(&Source::new(&experiments[0], &palette, WIDTH), all.into_iter().chain(all));
        assert_eq!(kinds.iter().collect::<Vec<_>>(), [all[0], all[2], all[1], all[3]]);
        let names: Vec<_> = all.iter().map(|k| kinds.name(*k)).collect();
        assert_eq!(names, ["tested (bbr1)", "CUBIC", "tested (bbr2)", "CUBIC 2"]);
        let mut fills: Vec<_> = all
            .iter()
            .flat_map(|k| [0, 1].map(|part| (kinds.fill(*k, part), kinds.style(*k).stripes)))
            .collect();
        fills.sort();
        fills.dedup();
        assert_eq!(fills.len(), 8);
        let legend = kinds.frame(WIDTH, &[all[0], all[3]]).figure("", "", "").body.0;
        assert!(legend.contains("tested (bbr1)") && legend.contains("CUBIC 2"), "{legend}");
        assert!(!legend.contains("bbr2") && !legend.contains(">CUBIC<"), "{legend}");
    }
}
