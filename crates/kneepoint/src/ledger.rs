//! The ledger of reproduction: per source, what became of its claims and of its numbers, and the largest differences.

use std::fmt::Write;

use serde::Serialize;

use crate::metric;
use crate::summary::{Cell, ClaimResult, Summary, Verdict};

/// Limits of the relative difference of a cell, percent.
pub const LIMITS: [f64; 4] = [2.0, 5.0, 10.0, 25.0];
/// A factor beyond which a difference wants a reason.
const FAR: f64 = 1.1;
/// Largest differences shown of a source.
const LARGEST: usize = 10;

/// What stands between ours and a source.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Source {
    /// `quic-dc`: the folder of its experiments.
    pub name: String,
    /// Experiments with results.
    pub experiments: usize,
    /// Its own claims, by verdict.
    pub claims: Claims,
    /// Cells of the reference variants with a published number, by how far ours is from it.
    pub cells: Cells,
    /// The largest differences, largest first.
    pub largest: Vec<Difference>,
}

/// Claims by verdict.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Claims {
    /// Holds.
    pub holds: usize,
    /// Partly.
    pub partly: usize,
    /// Within the spread.
    pub within_spread: usize,
    /// Missed.
    pub missed: usize,
    /// Not judged.
    pub not_judged: usize,
    /// Of these, how many have a reason that leaves the cause open, or none.
    pub open: usize,
}

/// Cells by difference.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Cells {
    /// With a published number.
    pub all: usize,
    /// No further away than each of [`LIMITS`].
    pub within: [usize; LIMITS.len()],
    /// Further than 10 % away, and the cause is open or unsaid.
    pub open: usize,
}

/// A cell far from the published one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// `quic-dc/table-1`.
    pub experiment: String,
    /// Variant, row and metric.
    pub variant: String,
    /// Row.
    pub row: String,
    /// Metric.
    pub metric: String,
    /// Ours.
    pub ours: f64,
    /// The source's.
    pub published: f64,
    /// What is known of it.
    pub state: State,
}

/// What is known of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// A reason names the cause.
    Explained,
    /// A reason says what was tried; the cause is not known.
    Open,
    /// Nobody has said why.
    Unexplained,
}

/// The ledger of these results; sources in the order of their first experiment, those that claim and print nothing left out.
pub fn of<'s>(summaries: impl Iterator<Item = &'s Summary>) -> Vec<Source> {
    let mut sources: Vec<Source> = Vec::new();
    for summary in summaries {
        let name = summary.experiment.split_once('/').map_or(summary.experiment.as_str(), |parts| parts.0);
        let at = sources.iter().position(|source| source.name == name).unwrap_or_else(|| {
            sources.push(Source { name: name.to_owned(), ..Source::default() });
            sources.len() - 1
        });
        sources[at].add(summary);
    }
    for source in &mut sources {
        source.largest.sort_by(|a, b| b.distance().total_cmp(&a.distance()));
        source.largest.truncate(LARGEST);
    }
    sources.retain(|source| source.claims.all() + source.cells.all > 0);
    sources
}

impl Source {
    fn add(&mut self, summary: &Summary) {
        self.experiments += 1;
        summary.claims.iter().filter(|claim| !claim.ours).for_each(|claim| self.claims.add(claim));
        for variant in summary.variants.iter().filter(|variant| variant.reference) {
            for row in &variant.rows {
                let shown =
                    summary.metrics.iter().filter_map(|metric| Some((metric, row.cells.get(metric)?)));
                for (metric, cell) in shown {
                    let Some(published) = cell.published else { continue };
                    self.cells.add(cell);
                    let ours = cell.value();
                    let names = (summary.experiment.clone(), variant.name.clone(), row.label.clone());
                    let (experiment, variant, row) = names;
                    let metric = metric.clone();
                    let state = State::of(cell);
                    self.largest.push(Difference {
                        experiment,
                        variant,
                        row,
                        metric,
                        ours,
                        published,
                        state,
                    });
                }
            }
        }
    }
}

impl Claims {
    fn add(&mut self, claim: &ClaimResult) {
        let count = match claim.verdict {
            Verdict::Holds => &mut self.holds,
            Verdict::Partly => &mut self.partly,
            Verdict::WithinSpread => &mut self.within_spread,
            Verdict::Missed => &mut self.missed,
            Verdict::NotJudged => &mut self.not_judged,
        };
        *count += 1;
        self.open += usize::from(claim.open || claim.is_unexplained());
    }

    /// All of them.
    pub fn all(&self) -> usize {
        self.holds + self.partly + self.within_spread + self.missed + self.not_judged
    }
}

impl Cells {
    fn add(&mut self, cell: &Cell) {
        let Some(published) = cell.published else { return };
        self.all += 1;
        let away = distance(cell.value(), published);
        for (limit, count) in LIMITS.iter().zip(&mut self.within) {
            *count += usize::from(away <= 1.0 + limit / 100.0);
        }
        self.open += usize::from(away > FAR && State::of(cell) != State::Explained);
    }
}

impl State {
    fn of(cell: &Cell) -> Self {
        match (&cell.reason, cell.open) {
            (None, _) => Self::Unexplained,
            (Some(_), true) => Self::Open,
            (Some(_), false) => Self::Explained,
        }
    }

    /// As a sentence has it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Explained => "explained",
            Self::Open => "open",
            Self::Unexplained => "unexplained",
        }
    }
}

impl Difference {
    fn distance(&self) -> f64 {
        distance(self.ours, self.published)
    }
}

/// The larger over the smaller, 1 and above; infinite where one of them alone is zero.
fn distance(ours: f64, published: f64) -> f64 {
    if ours == published { 1.0 } else { (ours / published).max(published / ours) }
}

/// The table of the README, as Markdown.
pub fn markdown(sources: &[Source]) -> String {
    let mut out = String::from(
        "| source | claims | hold | partly | within the spread | missed | not judged | open | numbers | within 2 % | 5 % | 10 % | 25 % | open |\n\
         |---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n",
    );
    for Source { name, claims: c, cells, .. } in sources {
        let [two, five, ten, quarter] = cells.within;
        let _ = writeln!(
            out,
            "| {name} | {} | {} | {} | {} | {} | {} | {} | {} | {two} | {five} | {ten} | {quarter} | {} |",
            c.all(),
            c.holds,
            c.partly,
            c.within_spread,
            c.missed,
            c.not_judged,
            c.open,
            cells.all,
            cells.open
        );
    }
    out
}

/// For the terminal: a paragraph per source.
pub fn text(sources: &[Source]) -> String {
    let mut out = String::new();
    for Source { name, experiments, claims: c, cells, largest } in sources {
        let _ = writeln!(out, "\n{name}: {experiments} experiments");
        if c.all() > 0 {
            let _ = writeln!(
                out,
                "  {} claims: {} hold, {} partly, {} within the spread, {} missed, {} not judged; {} open",
                c.all(),
                c.holds,
                c.partly,
                c.within_spread,
                c.missed,
                c.not_judged,
                c.open
            );
        }
        if cells.all > 0 {
            let within =
                LIMITS.iter().zip(cells.within).map(|(limit, count)| format!("{count} within {limit} %"));
            let within = within.collect::<Vec<_>>().join(", ");
            let _ = writeln!(
                out,
                "  {} published numbers: {within}; {} further than 10 %, open",
                cells.all, cells.open
            );
        }
        for d in largest.iter().filter(|d| d.distance() > FAR) {
            let shown = |value: f64| format!("{value:.*}", metric::decimals(&d.metric, value));
            let _ = writeln!(
                out,
                "    {} {}{}: {} {} for {} ({})",
                d.experiment,
                d.row,
                if d.variant.is_empty() { String::new() } else { format!(", {}", d.variant) },
                d.metric,
                shown(d.ours),
                shown(d.published),
                d.state.word()
            );
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::{Row, Variant};
    use crate::world::World;

    fn cell(ours: f64, published: f64, reason: Option<&str>, open: bool) -> Cell {
        let reason = reason.map(str::to_owned);
        Cell { mean: ours, spread: None, runs: None, shown: None, published: Some(published), reason, open }
    }

    fn summary(reference: bool, cells: Vec<Cell>) -> Summary {
        let rows = cells.into_iter().enumerate().map(|(i, cell)| Row {
            label: format!("row {i}"),
            algorithm: "cubic".to_owned(),
            cells: [("loss".to_owned(), cell)].into_iter().collect(),
            trust: None,
        });
        Summary {
            experiment: "paper/table-1".to_owned(),
            world: World::Sim,
            title: String::new(),
            source: String::new(),
            note: String::new(),
            why_reference: String::new(),
            metrics: vec!["loss".to_owned()],
            variants: vec![Variant {
                name: String::new(),
                reference,
                rows: rows.collect(),
                biases: Vec::new(),
            }],
            claims: Vec::new(),
            charts: Vec::new(),
        }
    }

    #[test]
    fn cells_by_distance_and_the_largest_first() {
        let cells = vec![
            cell(1.01, 1.0, None, false),
            cell(1.0, 1.05, None, false),
            cell(0.5, 1.0, Some("why"), false),
            cell(0.0, 1.0, Some("tried"), true),
            cell(0.0, 0.0, None, false),
            cell(3.0, 1.0, None, false),
        ];
        let [source] = &of([&summary(true, cells)].into_iter())[..] else { panic!() };
        assert_eq!((source.name.as_str(), source.experiments), ("paper", 1));
        assert_eq!(source.cells, Cells { all: 6, within: [2, 3, 3, 3], open: 2 });
        let largest: Vec<_> = source.largest.iter().take(3).map(|d| (d.row.as_str(), d.state)).collect();
        let expected = [("row 3", State::Open), ("row 5", State::Unexplained), ("row 2", State::Explained)];
        assert_eq!(largest, expected);
        assert!(text(std::slice::from_ref(source)).contains("row 3: loss 0.000 for 1.000 (open)"));
        assert!(markdown(std::slice::from_ref(source)).contains("| paper | 0 |"));
    }

    /// Variants that are not the reference say nothing of the source.
    #[test]
    fn other_variants_do_not_count() {
        let sources = of([&summary(false, vec![cell(1.0, 1.0, None, false)])].into_iter());
        assert!(sources.is_empty());
    }
}
