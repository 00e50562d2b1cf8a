//! The ledger of reproduction: per source, what became of its claims and of its numbers, and the largest differences.

use std::fmt::Write;

use serde::Serialize;

use crate::summary::{Cell, ClaimResult, Row, Summary, Variant, Verdict};
use experiment::backend::Backend;
use experiment::metric::Metric;
use experiment::row::RowLabel;

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
    /// The largest differences, largest first; a zero beside a number is no ratio and stands in `zeros`.
    pub largest: Vec<Difference>,
    /// Cells where ours or the source's alone is zero, in the order of the experiments.
    pub zeros: Vec<Difference>,
    /// Columns of the reference variants with published numbers.
    pub columns: Vec<Column>,
    /// Columns that are off as a whole.
    pub biases: Biases,
}

/// How far a column is from the published one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Column {
    /// `quic-dc/table-1`.
    pub experiment: String,
    /// The variant.
    pub variant: String,
    /// The metric.
    pub metric: Metric,
    /// Rows that are compared: neither number is zero.
    pub rows: usize,
    /// The mean of |ln(ours / published)| over them.
    pub distance: f64,
}

/// Columns that are off to one side.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Biases {
    /// How many.
    pub all: usize,
    /// Of these, how many have a reason that leaves the cause open, or none.
    pub open: usize,
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
    pub row: RowLabel,
    /// Metric.
    pub metric: Metric,
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

/// Every number of the reference variants that the source prints too, in the order of the tables: of the simulator and of our endpoints, for
/// what another stack does in the source's place is no miss of ours.
pub fn differences(summary: &Summary) -> Vec<Difference> {
    let mut all = Vec::new();
    let is_ours = |row: &&Row| !row.label.backend().is_of_others();
    for variant in summary.variants.iter().filter(|variant| variant.reference) {
        for row in variant.rows.iter().filter(is_ours) {
            all.extend(summary.metrics.iter().filter_map(|m| Difference::of(summary, variant, row, m)));
        }
    }
    all
}

impl Source {
    fn add(&mut self, summary: &Summary) {
        self.experiments += 1;
        summary.claims.iter().filter(|claim| !claim.ours).for_each(|claim| self.claims.add(claim));
        for variant in summary.variants.iter().filter(|variant| variant.reference) {
            self.biases.all += variant.biases.len();
            self.biases.open += variant.biases.iter().filter(|b| b.open || b.reason.is_none()).count();
            self.columns.extend(summary.metrics.iter().filter_map(|m| Column::of(summary, variant, m)));
        }
        for found in differences(summary) {
            self.cells.add(&found);
            let list = if found.distance().is_finite() { &mut self.largest } else { &mut self.zeros };
            list.push(found);
        }
    }
}

impl Column {
    /// Of the simulator's rows: how far the model is from the source.
    fn of(summary: &Summary, variant: &Variant, metric: &Metric) -> Option<Self> {
        let simulated = variant.rows.iter().filter(|row| row.label.backend() == Backend::Sim);
        let cells = simulated.filter_map(|row| row.cells.get(metric));
        let distances: Vec<f64> = cells
            .filter_map(|cell| Some(libm::log(cell.value() / cell.published?).abs()))
            .filter(|distance| distance.is_finite())
            .collect();
        (!distances.is_empty()).then(|| Self {
            experiment: summary.experiment.clone(),
            variant: variant.name.clone(),
            metric: metric.clone(),
            rows: distances.len(),
            distance: distances.iter().sum::<f64>() / distances.len() as f64,
        })
    }
}

impl Claims {
    /// Counts one more.
    pub fn add(&mut self, claim: &ClaimResult) {
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
    fn add(&mut self, found: &Difference) {
        self.all += 1;
        for (limit, count) in LIMITS.iter().zip(&mut self.within) {
            *count += usize::from(found.distance() <= 1.0 + limit / 100.0);
        }
        self.open += usize::from(found.is_open());
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
    fn of(summary: &Summary, variant: &Variant, row: &Row, metric: &Metric) -> Option<Self> {
        let cell = row.cells.get(metric)?;
        Some(Self {
            published: cell.published?,
            experiment: summary.experiment.clone(),
            variant: variant.name.clone(),
            row: row.label.clone(),
            metric: metric.clone(),
            ours: cell.value(),
            state: State::of(cell),
        })
    }

    /// The larger over the smaller, 1 and above; infinite where one of them alone is zero.
    pub fn distance(&self) -> f64 {
        let (ours, published) = (self.ours, self.published);
        if ours == published { 1.0 } else { (ours / published).max(published / ours) }
    }

    /// Further than 10 % away.
    pub fn is_far(&self) -> bool {
        self.distance() > FAR
    }

    /// Further than 10 % away, and the cause is open or unsaid.
    pub fn is_open(&self) -> bool {
        self.is_far() && self.state != State::Explained
    }
}

/// How many numbers of the reference variants are further than 10 % from the source's: what the first screen and the report count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Far {
    /// All of them.
    pub all: usize,
    /// Those whose cause is not known, unsaid ones among them.
    pub open: usize,
    /// Those of which nobody has said anything.
    pub unexplained: usize,
}

impl Far {
    /// Of these experiments.
    pub fn of<'s>(summaries: impl IntoIterator<Item = &'s Summary>) -> Self {
        let mut far = Self::default();
        for found in summaries.into_iter().flat_map(differences).filter(Difference::is_far) {
            far.all += 1;
            far.open += usize::from(found.is_open());
            far.unexplained += usize::from(found.state == State::Unexplained);
        }
        far
    }
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
    for Source { name, experiments, claims: c, cells, largest, zeros, biases, columns: _ } in sources {
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
        if biases.all > 0 {
            let _ = writeln!(out, "  {} columns off to one side, {} open", biases.all, biases.open);
        }
        largest.iter().filter(|d| d.distance() > FAR).for_each(|d| line_of(&mut out, d));
        if !zeros.is_empty() {
            let _ = writeln!(out, "  zero in ours or in the source's alone: {}", zeros.len());
        }
        zeros.iter().take(LARGEST).for_each(|d| line_of(&mut out, d));
    }
    out
}

fn line_of(out: &mut String, d: &Difference) {
    let shown = |value: f64| format!("{value:.*}", d.metric.decimals(value));
    let _ = writeln!(
        out,
        "    {} {}{}: {} {} for {} ({})",
        d.experiment,
        d.row,
        behind(&d.variant),
        d.metric,
        shown(d.ours),
        shown(d.published),
        d.state.word()
    );
}

fn behind(variant: &str) -> String {
    if variant.is_empty() { String::new() } else { format!(", {variant}") }
}

/// For the terminal: how far each column of this metric is from the published one; without a word, of any.
pub fn columns(sources: &[Source], of: &str) -> String {
    let mut out = String::from("\nmean |ln(ours / published)| of each column, zeros left out\n");
    for Column { experiment, variant, metric, rows, distance } in
        sources.iter().flat_map(|s| &s.columns).filter(|column| of.is_empty() || column.metric.as_str() == of)
    {
        let _ = writeln!(out, "  {distance:.3}  {experiment} {metric}, {rows} rows{}", behind(variant));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::BiasFound;

    fn cell(ours: f64, published: f64, reason: Option<&str>, open: bool) -> Cell {
        let reason = reason.map(str::to_owned);
        Cell { mean: ours, spread: None, runs: None, shown: None, published: Some(published), reason, open }
    }

    fn summary(reference: bool, cells: Vec<Cell>) -> Summary {
        let rows = cells.into_iter().enumerate().map(|(i, cell)| Row {
            label: format!("row {i}").into(),
            algorithm: "cubic".to_owned(),
            cells: [("loss".into(), cell)].into_iter().collect(),
            trust: None,
        });
        Summary {
            experiment: "paper/table-1".to_owned(),
            world: Backend::Sim,
            title: String::new(),
            source: String::new(),
            note: String::new(),
            why_reference: String::new(),
            metrics: vec!["loss".into()],
            variants: vec![Variant {
                name: String::new(),
                reference,
                rows: rows.collect(),
                biases: Vec::new(),
            }],
            claims: Vec::new(),
            charts: Vec::new(),
            states: [].into(),
            variables: [].into(),
        }
    }

    /// Another stack's numbers are not held against the source's, and our endpoint's are in no column's distance.
    #[test]
    fn what_others_do_is_no_miss() {
        let mut summary = summary(true, vec![cell(2.0, 1.0, None, false), cell(9.0, 1.0, None, false)]);
        let shown = |summary: &Summary| {
            let [source] = &of([summary].into_iter())[..] else { panic!() };
            (source.cells.all, source.columns[0].rows)
        };
        assert_eq!(shown(&summary), (2, 2));
        summary.variants[0].rows[1].label = "row 0 (stack)".into();
        assert_eq!(shown(&summary), (2, 1));
        summary.variants[0].rows[1].label = "row 0 (noq)".into();
        assert_eq!(shown(&summary), (1, 1));
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
        let expected =
            [("row 5", State::Unexplained), ("row 2", State::Explained), ("row 1", State::Unexplained)];
        assert_eq!(largest, expected);
        let zeros: Vec<_> = source.zeros.iter().map(|d| d.row.as_str()).collect();
        assert_eq!(zeros, ["row 3"], "a zero beside a number is no ratio; two zeros are no difference");
        let shown = text(std::slice::from_ref(source));
        let apart =
            "zero in ours or in the source's alone: 1\n    paper/table-1 row 3: loss 0.000 for 1.000 (open)";
        assert!(shown.contains(apart), "{shown}");
        assert!(markdown(std::slice::from_ref(source)).contains("| paper | 0 |"));
    }

    /// The mean over the rows that can be compared.
    #[test]
    fn columns_by_their_mean_distance() {
        let cells = vec![
            cell(2.0, 1.0, None, false),
            cell(1.0, 2.0, None, false),
            cell(1.0, 1.0, None, false),
            cell(0.0, 1.0, None, false),
        ];
        let sources = of([&summary(true, cells)].into_iter());
        let [column] = &sources[0].columns[..] else { panic!() };
        assert_eq!((column.metric.as_str(), column.rows), ("loss", 3));
        assert!((column.distance - 2.0 * std::f64::consts::LN_2 / 3.0).abs() < 1e-12, "{}", column.distance);
        assert!(
            columns(&sources, "").contains("0.462  paper/table-1 loss, 3 rows\n"),
            "{}",
            columns(&sources, "")
        );
        assert_eq!(columns(&sources, "loss"), columns(&sources, ""));
        assert!(!columns(&sources, "goodput").contains("paper"));
    }

    /// A column that is off as a whole is open until its cause is known.
    #[test]
    fn biases_are_counted() {
        let mut summary = summary(true, vec![cell(1.0, 1.0, None, false)]);
        let bias = |reason: Option<&str>, open| BiasFound {
            metric: "loss".into(),
            mean: 0.02,
            range: (0.02, 0.02),
            reason: reason.map(str::to_owned),
            open,
        };
        summary.variants[0].biases =
            vec![bias(Some("why"), false), bias(Some("tried"), true), bias(None, false)];
        let sources = of([&summary].into_iter());
        assert_eq!(sources[0].biases, Biases { all: 3, open: 2 });
        assert!(text(&sources).contains("3 columns off to one side, 2 open"), "{}", text(&sources));
    }

    /// Variants that are not the reference say nothing of the source.
    #[test]
    fn other_variants_do_not_count() {
        let sources = of([&summary(false, vec![cell(1.0, 1.0, None, false)])].into_iter());
        assert!(sources.is_empty());
    }
}
