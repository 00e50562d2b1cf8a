//! Colours of algorithms and rows.
//!
//! An algorithm has one colour in all charts of a report. It gets the first colour that no
//! algorithm in the same experiment has. If an experiment has more algorithms than colours, two
//! share one. Then lines differ by dash and marker, and bars and areas by hatching.
//!
//! Rows of one algorithm share its colour too, unless the experiment has no other algorithm. Then
//! each row has its own. Dash and marker follow the order of the rows, as a second sign for every
//! line.

use std::collections::BTreeMap;

use results::summary::Results;

use super::colours::{self, COLOURS};
use super::distinct::distinct;

/// A solid line, and five dashes that are easy to distinguish at the weight of a curve.
const DASHES: [Option<&str>; 6] =
    [None, Some("7 3"), Some("2.5 2"), Some("8 3 2 3"), Some("12 4"), Some("6 2 2 2 2 2")];

/// Returns the `index`-th line style. The list repeats.
pub(super) fn dash(index: usize) -> Option<&'static str> {
    DASHES[index % DASHES.len()]
}

/// Appearance of a row.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Style {
    /// `#rrggbb`.
    pub(super) colour: String,
    /// Number of the hatching on its areas; 0 is none. Tints would be too close to another colour
    /// for some eyes.
    pub(super) stripes: usize,
    /// `stroke-dasharray`; none if solid.
    pub(super) dash: Option<&'static str>,
    /// Number of the marker's shape.
    pub(super) marker: usize,
}

impl Style {
    /// Returns a solid line of this colour.
    pub(super) fn plain(colour: &str) -> Self {
        Self { colour: colour.to_owned(), stripes: 0, dash: None, marker: 0 }
    }

    /// Returns the `index`-th colour, dash and marker.
    pub(super) fn nth(index: usize) -> Self {
        let colour = colours::colour(index).to_owned();
        Self { colour, stripes: index / COLOURS.len(), dash: dash(index), marker: index }
    }

    /// Removes the dash.
    pub(super) fn solid(self) -> Self {
        Self { dash: None, ..self }
    }
}

/// Colours of a report's algorithms.
#[derive(Debug, Default)]
pub(super) struct Palette {
    /// Algorithm to index in the list of colours.
    slots: BTreeMap<String, usize>,
}

impl Palette {
    /// Assigns colours to the algorithms of these experiments: first those of rows, then those of
    /// other flows.
    pub(super) fn new(experiments: &[Results]) -> Self {
        Self::from_sets(&experiments.iter().map(algorithms).collect::<Vec<_>>())
    }

    /// Assigns colours to sets of algorithms that share an experiment. Sets with more algorithms
    /// than colours come last and do not bind the others.
    fn from_sets(sets: &[Vec<&str>]) -> Self {
        let (mut small, large): (Vec<_>, Vec<_>) = sets.iter().partition(|set| set.len() <= COLOURS.len());
        small.sort_by_key(|set| std::cmp::Reverse(set.len())); // those with the least choice first
        let mut palette = Self::default();
        palette.assign(&small);
        palette.assign(&large);
        palette
    }

    fn assign(&mut self, sets: &[&Vec<&str>]) {
        let slots = &mut self.slots;
        for algorithm in sets.iter().copied().flatten() {
            if slots.contains_key(*algorithm) {
                continue;
            }
            let mut uses = [0_usize; COLOURS.len()];
            for other in sets.iter().filter(|set| set.contains(algorithm)).copied().flatten() {
                slots.get(*other).into_iter().for_each(|slot| uses[*slot] += 1);
            }
            // The first of the least used colours.
            let slot = (0..uses.len()).min_by_key(|slot| uses[*slot]).unwrap_or(0);
            slots.insert((*algorithm).to_owned(), slot);
        }
    }

    /// Returns the colour of an algorithm.
    pub(super) fn colour(&self, algorithm: &str) -> &'static str {
        colours::colour(self.slots.get(algorithm).copied().unwrap_or(0))
    }

    /// Returns the styles of a chart's series, given by their algorithms. Up to six series of one
    /// colour differ.
    pub(super) fn styles(&self, algorithms: &[&str]) -> Vec<Style> {
        let one = algorithms.windows(2).all(|w| w[0] == w[1]);
        let mut given: Vec<Style> = Vec::new();
        for (index, algorithm) in algorithms.iter().enumerate() {
            let style = if one && algorithms.len() > 1 {
                Style::nth(index)
            } else {
                let colour = self.colour(algorithm);
                let akin: Vec<_> = given.iter().filter(|style| style.colour == colour).collect();
                let is_free = |i: &usize| akin.iter().all(|style| style.dash != dash(*i));
                let number = (index..index + DASHES.len()).find(is_free).unwrap_or(index);
                Style { colour: colour.to_owned(), stripes: akin.len(), dash: dash(number), marker: number }
            };
            given.push(style);
        }
        given
    }
}

/// Returns the algorithms of an experiment without repeats.
fn algorithms(results: &Results) -> Vec<&str> {
    let rows = results.summary.variants.iter().flat_map(|v| &v.rows).map(|row| row.algorithm.as_str());
    distinct(rows.chain(results.flows.iter().map(|flow| flow.algorithm.as_str())))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use experiment::file::Experiment;
    use experiment::library;

    use super::*;
    use crate::colours::tests::distance;

    fn algorithms_of(exp: &Experiment) -> Vec<String> {
        let mut all: Vec<String> = Vec::new();
        for case in exp.cases() {
            let flows = exp.scenario(&case, 0).flows;
            all.extend(flows.iter().map(|flow| flow.algorithm.name().to_owned()));
        }
        let mut known = BTreeSet::new();
        all.retain(|name| known.insert(name.clone()));
        all
    }

    fn shipped() -> Vec<(String, Vec<String>)> {
        let read = |source: library::Source| {
            let exp = Experiment::parse(&source.name, &source.file, &source.text).unwrap();
            (source.name, algorithms_of(&exp))
        };
        library::Library.shipped().into_iter().map(read).collect()
    }

    /// Colours differ in the report of one experiment and in that of all.
    #[test]
    fn algorithms_that_share_an_experiment_are_told_apart() {
        let all = shipped();
        let sets: Vec<Vec<&str>> =
            all.iter().map(|(_, names)| names.iter().map(String::as_str).collect()).collect();
        let together = Palette::from_sets(&sets);
        let mut pairs = 0;
        for ((name, _), set) in all.iter().zip(&sets) {
            // The catalogue has more algorithms than there are colours; its lines differ in dashes.
            if set.len() > COLOURS.len() && name.starts_with("catalogue/") {
                continue;
            }
            assert!(set.len() <= COLOURS.len(), "{name} has more algorithms than there are colours");
            for palette in [&together, &Palette::from_sets(std::slice::from_ref(set))] {
                for (i, a) in set.iter().enumerate() {
                    for b in &set[..i] {
                        let far = distance(palette.colour(a), palette.colour(b));
                        assert!(far >= 15.0, "{name}: {a} and {b} are {far:.1} apart");
                        pairs += 1;
                    }
                }
            }
        }
        assert!(pairs > 100, "{pairs} pairs");
    }

    #[test]
    fn more_series_than_colours_differ_by_their_dashes() {
        let names: Vec<String> = (0..40).map(|i| format!("a{i}")).collect();
        let set: Vec<&str> = names.iter().map(String::as_str).collect();
        let palette = Palette::from_sets(std::slice::from_ref(&set));
        for series in [set, vec!["a0"; 12], vec!["a0", "a0", "a0", "a1", "a1", "a0", "a0", "a0"]] {
            let styles = palette.styles(&series);
            let unique: BTreeSet<_> = styles.iter().map(|s| (&s.colour, s.dash)).collect();
            assert_eq!(unique.len(), series.len(), "{styles:?}");
        }
    }

    #[test]
    fn an_algorithm_keeps_its_colour_and_a_lone_ones_rows_have_each_their_own() {
        let palette = Palette::from_sets(&[vec!["cubic", "bbr3"], vec!["bbr3", "reno"]]);
        let colour = |name: &str| palette.colour(name);
        assert_eq!([colour("cubic"), colour("bbr3"), colour("reno")], [0, 1, 0].map(colours::colour));
        let [first, second, other] = &palette.styles(&["bbr3", "bbr3", "cubic"])[..] else { panic!() };
        assert_eq!((&first.colour, first.dash), (&second.colour, None));
        assert!(second.dash.is_some() && (first.stripes, second.stripes) == (0, 1));
        assert_eq!(other.colour, colour("cubic"));
        let alone = palette.styles(&["cubic"; 3]);
        assert_eq!(
            alone.iter().map(|s| s.colour.as_str()).collect::<Vec<_>>(),
            [0, 1, 2].map(colours::colour)
        );
    }
}
