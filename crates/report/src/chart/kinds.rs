//! Kinds of flows: those of one label and one algorithm. A kind looks the same in every panel of a chart.

use super::Source;
use super::svg::{self, BOX};
use crate::palette::{self, Style};
use results::summary::FlowRow;

/// A label and the algorithm behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kind<'a> {
    pub(super) label: &'a str,
    pub(super) algorithm: &'a str,
}

impl<'a> Kind<'a> {
    pub(super) fn of(flow: &'a FlowRow) -> Self {
        Self { label: &flow.label, algorithm: &flow.algorithm }
    }

    /// For flows of which the results say nothing: they are the row's.
    pub(super) fn of_row(source: &'a Source<'_>, row: &'a str) -> Self {
        Self { label: row, algorithm: source.algorithm(row) }
    }
}

/// The kinds of a chart, in the order in which they are met, but those of one label together.
#[derive(Debug, Default)]
pub(super) struct Kinds<'a>(Vec<Kind<'a>>);

impl<'a> Kinds<'a> {
    pub(super) fn of(kinds: impl Iterator<Item = Kind<'a>>) -> Self {
        let mut known: Vec<Kind<'a>> = Vec::new();
        for kind in kinds {
            if !known.contains(&kind) {
                let namesake = known.iter().rposition(|k| k.label == kind.label);
                known.insert(namesake.map_or(known.len(), |i| i + 1), kind);
            }
        }
        Self(known)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Kind<'a>> {
        self.0.iter().copied()
    }

    /// Its label, with the algorithm where another kind has the same label.
    pub(super) fn name(&self, kind: Kind<'_>) -> String {
        let namesakes = self.0.iter().filter(|k| k.label == kind.label).count();
        if namesakes > 1 { format!("{} ({})", kind.label, kind.algorithm) } else { kind.label.to_owned() }
    }

    /// The hue of its algorithm; kinds of one algorithm differ by shade, and so do the parts of a kind.
    pub(super) fn colour(&self, kind: Kind<'_>, part: usize, parts: usize) -> String {
        let akin: Vec<_> = self.0.iter().filter(|k| k.algorithm == kind.algorithm).collect();
        let index = akin.iter().position(|k| **k == kind).unwrap_or(0);
        // A step between two kinds is wider than one between two parts.
        let stride = parts + parts / 2;
        palette::shade(kind.algorithm, index * stride + part, (akin.len().max(1) - 1) * stride + parts)
    }

    /// Boxes with the kinds' names, and their height.
    pub(super) fn legend(&self, top: f64) -> (maud::Markup, f64) {
        let style = |kind: &Kind<'_>| Style { colour: self.colour(*kind, 0, 1), dash: None };
        let entries: Vec<_> = self.0.iter().map(|k| (self.name(*k), style(k))).collect();
        let entries: Vec<_> = entries.iter().map(|(name, style)| (name.as_str(), style)).collect();
        svg::legend(top, &entries, BOX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_has_its_name_and_colour() {
        let kind = |label, algorithm| Kind { label, algorithm };
        let all = [
            kind("tested", "bbr1"),
            kind("CUBIC", "cubic"),
            kind("tested", "bbr2"),
            kind("CUBIC 2", "cubic"),
        ];
        let kinds = Kinds::of(all.into_iter().chain(all));
        assert_eq!(kinds.iter().collect::<Vec<_>>(), [all[0], all[2], all[1], all[3]]);
        let names: Vec<_> = all.iter().map(|k| kinds.name(*k)).collect();
        assert_eq!(names, ["tested (bbr1)", "CUBIC", "tested (bbr2)", "CUBIC 2"]);
        let mut colours: Vec<_> =
            all.iter().flat_map(|k| (0..4).map(|part| kinds.colour(*k, part, 4))).collect();
        colours.sort();
        colours.dedup();
        assert_eq!(colours.len(), 16);
        assert_eq!(kinds.colour(all[0], 0, 1), palette::shade("bbr1", 0, 1));
    }
}
