//! The ledger: for each source, the verdicts on its claims, the distance from its numbers, and the
//! largest differences.

use std::fmt::Write;

use serde::Serialize;

use crate::summary::{Cell, ClaimResult, Row, Summary, Variant, Verdict};
use experiment::metric::Metric;
use experiment::place::Place;
use experiment::printable::counted;
use experiment::row::RowLabel;

/// Limits of the relative difference of a cell, in percent.
pub const LIMITS: [f64; 4] = [2.0, 5.0, 10.0, 25.0];
/// Ratio above which a difference needs a reason.
const FAR: f64 = 1.1;
/// Number of largest differences to show per source.
const LARGEST: usize = 10;

/// Distance of our results from one source.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Source {
    /// Folder of its experiments: `quic-dc`.
    pub name: String,
    /// Number of experiments with results.
    pub experiments: usize,
    /// The source's claims by verdict.
    pub claims: Claims,
    /// Published numbers of the reference variants, by distance.
    pub cells: Cells,
    /// The largest differences, largest first. Pairs with one zero have no ratio and are in
    /// `zeros`.
    pub largest: Vec<Difference>,
    /// Cells where only ours or only the published number is zero, in the order of the experiments.
    pub zeros: Vec<Difference>,
    pub columns: Vec<Column>,
    /// Biased columns.
    pub biases: Biases,
}

/// Distance of a column from the published one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Column {
    /// Name of the experiment: `quic-dc/table-1`.
    pub experiment: String,
    pub variant: String,
    pub metric: Metric,
    /// Number of compared rows. Rows with a zero are left out.
    pub rows: usize,
    /// Mean of |ln(ours / published)| over these rows.
    pub distance: f64,
}

/// Biased columns.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Biases {
    pub all: usize,
    /// Number of these without a known cause: the reason leaves it open, or there is none.
    pub open: usize,
}

/// Number of claims with each verdict.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Claims {
    pub holds: usize,
    pub partly: usize,
    pub within_spread: usize,
    pub missed: usize,
    pub not_judged: usize,
    /// Number of these without a known cause: the reason leaves it open, or there is none.
    pub open: usize,
}

/// Number of cells by difference.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Cells {
    /// Cells with a published number.
    pub all: usize,
    /// Cells within each of [`LIMITS`].
    pub within: [usize; LIMITS.len()],
    /// Numbers that differ by more than 10 % without a known cause.
    pub open: usize,
    /// Numbers that differ by more than 10 % because the source's path is not known.
    pub path_unknown: usize,
}

/// A cell compared with its published number.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// Name of the experiment: `quic-dc/table-1`.
    pub experiment: String,
    pub variant: String,
    pub row: RowLabel,
    pub metric: Metric,
    pub ours: f64,
    pub published: f64,
    /// Explanation of a difference.
    pub state: State,
}

/// Explanation of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// A reason names the cause.
    Explained,
    /// The cause is not known. A reason says what was tried.
    Open,
    /// The source's path is not known, so the numbers are not comparable.
    PathUnknown,
    /// No reason is recorded.
    Unexplained,
}

/// Returns the ledger of these results. Sources are in the order of their first experiment. Sources
/// without claims and numbers are left out.
pub fn by_source<'s>(summaries: impl Iterator<Item = &'s Summary>) -> Vec<Source> {
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

/// Returns every number of the reference variants with a published one, in the order of the tables.
/// Rows of other stacks are left out: their differences are not ours.
pub fn differences(summary: &Summary) -> Vec<Difference> {
    let mut all = Vec::new();
    let is_ours = |row: &&Row| !row.label.backend().is_external();
    for variant in summary.variants.iter().filter(|variant| variant.reference) {
        for row in variant.rows.iter().filter(is_ours) {
            all.extend(
                summary.metrics.iter().filter_map(|m| Difference::from_cell(summary, variant, row, m)),
            );
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
            self.columns
                .extend(summary.metrics.iter().filter_map(|m| Column::from_variant(summary, variant, m)));
        }
        for found in differences(summary) {
            self.cells.add(&found);
            let list = if found.distance().is_finite() { &mut self.largest } else { &mut self.zeros };
            list.push(found);
        }
    }
}

impl Column {
    /// Compares the simulator's rows, which show the distance of the model from the source.
    fn from_variant(summary: &Summary, variant: &Variant, metric: &Metric) -> Option<Self> {
        let simulated = variant.rows.iter().filter(|row| row.label.backend() == Place::SIM);
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
    /// Counts claims.
    pub fn count<'c>(claims: impl IntoIterator<Item = &'c ClaimResult>) -> Self {
        let mut counts = Self::default();
        claims.into_iter().for_each(|claim| counts.add(claim));
        counts
    }

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

    /// Returns the number of all claims.
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
        self.path_unknown += usize::from(found.is_of_unknown_path());
    }
}

impl State {
    fn from_cell(cell: &Cell) -> Self {
        match &cell.reason {
            None => Self::Unexplained,
            Some(_) if cell.path_unknown => Self::PathUnknown,
            Some(_) if cell.open => Self::Open,
            Some(_) => Self::Explained,
        }
    }

    /// Returns the word used in sentences.
    pub fn word(self) -> &'static str {
        match self {
            Self::Explained => "explained",
            Self::Open => "cause unknown",
            Self::PathUnknown => "path unknown",
            Self::Unexplained => "unexplained",
        }
    }
}

impl Difference {
    fn from_cell(summary: &Summary, variant: &Variant, row: &Row, metric: &Metric) -> Option<Self> {
        let cell = row.cells.get(metric)?;
        Some(Self {
            published: cell.published?,
            experiment: summary.experiment.clone(),
            variant: variant.name.clone(),
            row: row.label.clone(),
            metric: metric.clone(),
            ours: cell.value(),
            state: State::from_cell(cell),
        })
    }

    /// Returns the larger number over the smaller, at least 1. It is infinite if only one of them
    /// is zero.
    pub fn distance(&self) -> f64 {
        let (ours, published) = (self.ours, self.published);
        if ours == published { 1.0 } else { (ours / published).max(published / ours) }
    }

    /// Reports whether the numbers differ by more than 10 %.
    pub fn is_far(&self) -> bool {
        self.distance() > FAR
    }

    /// Reports whether the numbers differ by more than 10 % without a known cause.
    pub fn is_open(&self) -> bool {
        self.is_far() && matches!(self.state, State::Open | State::Unexplained)
    }

    /// Reports whether the numbers differ by more than 10 % because the source's path is not known.
    fn is_of_unknown_path(&self) -> bool {
        self.is_far() && self.state == State::PathUnknown
    }
}

/// Numbers of the reference variants that differ from the published ones by more than 10 %. The
/// first screen and the report show these counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outliers {
    pub all: usize,
    /// Outliers without a known cause, including `unexplained`.
    pub open: usize,
    /// Outliers of a path that is not known, which are not comparable.
    pub path_unknown: usize,
    /// Outliers without a recorded reason.
    pub unexplained: usize,
}

impl Outliers {
    /// Counts the outliers of these experiments.
    pub fn count<'s>(summaries: impl IntoIterator<Item = &'s Summary>) -> Self {
        let mut outliers = Self::default();
        for found in summaries.into_iter().flat_map(differences).filter(Difference::is_far) {
            outliers.all += 1;
            outliers.open += usize::from(found.is_open());
            outliers.path_unknown += usize::from(found.is_of_unknown_path());
            outliers.unexplained += usize::from(found.state == State::Unexplained);
        }
        outliers
    }
}

/// Returns the table of the README as Markdown.
pub fn markdown(sources: &[Source]) -> String {
    let mut out = String::from(
        "| source | claims | hold | partly | within the spread | missed | not judged | claims with unknown cause | numbers | within 2 % | 5 % | 10 % | 25 % | numbers with unknown cause | numbers of unknown path |\n\
         |---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n",
    );
    for Source { name, claims: c, cells, .. } in sources {
        let [two, five, ten, quarter] = cells.within;
        let _ = writeln!(
            out,
            "| {name} | {} | {} | {} | {} | {} | {} | {} | {} | {two} | {five} | {ten} | {quarter} | {} | {} |",
            c.all(),
            c.holds,
            c.partly,
            c.within_spread,
            c.missed,
            c.not_judged,
            c.open,
            cells.all,
            cells.open,
            cells.path_unknown
        );
    }
    out
}

/// Returns text for the terminal: a paragraph per source.
pub fn text(sources: &[Source]) -> String {
    let mut out = String::new();
    for Source { name, experiments, claims: c, cells, largest, zeros, biases, columns: _ } in sources {
        let _ = writeln!(out, "\n{name}: {}", counted(experiments, ["experiment", "experiments"]));
        if c.all() > 0 {
            let _ = writeln!(
                out,
                "  {}: {}, {} partly, {} within the spread, {} missed, {} not judged; {} without a known cause",
                counted(c.all(), ["claim", "claims"]),
                counted(c.holds, ["holds", "hold"]),
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
                "  {}: {within}; {} by more than 10 % without a known cause, {} for an unknown path",
                counted(cells.all, ["published number", "published numbers"]),
                counted(cells.open, ["differs", "differ"]),
                cells.path_unknown
            );
        }
        if biases.all > 0 {
            let columns = counted(biases.all, ["biased column", "biased columns"]);
            let _ = writeln!(out, "  {columns}, {} without a known cause", biases.open);
        }
        largest.iter().filter(|d| d.distance() > FAR).for_each(|d| line_of(&mut out, d));
        if !zeros.is_empty() {
            let _ = writeln!(out, "  zero only in ours or only in the source: {}", zeros.len());
        }
        zeros.iter().take(LARGEST).for_each(|d| line_of(&mut out, d));
    }
    out
}

fn line_of(out: &mut String, d: &Difference) {
    let _ = writeln!(
        out,
        "    {} {}{}: {} {:.*} for {:.*} ({})",
        d.experiment,
        d.row,
        behind(&d.variant),
        d.metric,
        d.metric.decimals(d.ours),
        d.ours,
        d.metric.published_decimals(d.published),
        d.published,
        d.state.word()
    );
}

fn behind(variant: &str) -> String {
    if variant.is_empty() { String::new() } else { format!(", {variant}") }
}

/// Returns text for the terminal: the distance of each column of this metric, or of all metrics if
/// the word is empty.
pub fn columns(sources: &[Source], metric_word: &str) -> String {
    let mut out = String::from("\nmean |ln(ours / published)| of each column, zeros left out\n");
    for Column { experiment, variant, metric, rows, distance } in sources
        .iter()
        .flat_map(|s| &s.columns)
        .filter(|column| metric_word.is_empty() || column.metric.as_str() == metric_word)
    {
        let rows = counted(rows, ["row", "rows"]);
        let _ = writeln!(out, "  {distance:.3}  {experiment} {metric}, {rows}{}", behind(variant));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::BiasFound;

    fn cell(ours: f64, published: f64, reason: Option<&str>, open: bool) -> Cell {
        let reason = reason.map(str::to_owned);
        Cell { mean: ours, published: Some(published), reason, open, ..Cell::default() }
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
            world: Place::SIM,
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
            exchanges: Vec::new(),
        }
    }

    /// Numbers of other stacks are not compared with the source, and our endpoint's count in no
    /// column's distance.
    #[test]
    fn what_others_do_is_no_miss() {
        let mut summary = summary(true, vec![cell(2.0, 1.0, None, false), cell(9.0, 1.0, None, false)]);
        let shown = |summary: &Summary| {
            let [source] = &by_source([summary].into_iter())[..] else { panic!() };
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
        let [source] = &by_source([&summary(true, cells)].into_iter())[..] else { panic!() };
        assert_eq!((source.name.as_str(), source.experiments), ("paper", 1));
        assert_eq!(source.cells, Cells { all: 6, within: [2, 3, 3, 3], open: 2, path_unknown: 0 });
        let largest: Vec<_> = source.largest.iter().take(3).map(|d| (d.row.as_str(), d.state)).collect();
        let expected =
            [("row 5", State::Unexplained), ("row 2", State::Explained), ("row 1", State::Unexplained)];
        assert_eq!(largest, expected);
        let zeros: Vec<_> = source.zeros.iter().map(|d| d.row.as_str()).collect();
        assert_eq!(zeros, ["row 3"], "a zero beside a number is no ratio; two zeros are no difference");
        let shown = text(std::slice::from_ref(source));
        let apart = "zero only in ours or only in the source: 1\n    paper/table-1 row 3: loss 0.000 for 1.000 (cause unknown)";
        assert!(shown.contains(apart), "{shown}");
        assert!(markdown(std::slice::from_ref(source)).contains("| paper | 0 |"));
    }

    /// A number of an unknown path is neither explained nor open, and it cannot be biased.
    #[test]
    fn unknown_paths_are_counted_apart() {
        let mut cells = vec![cell(2.0, 1.0, Some("a model"), false), cell(1.01, 1.0, Some("a model"), false)];
        cells.iter_mut().for_each(|cell| cell.path_unknown = true);
        let summary = summary(true, cells);
        let sources = by_source([&summary].into_iter());
        assert_eq!((sources[0].cells.open, sources[0].cells.path_unknown), (0, 1));
        assert_eq!(sources[0].largest[0].state.word(), "path unknown");
        let outliers = Outliers::count([&summary]);
        assert_eq!((outliers.all, outliers.open, outliers.path_unknown), (1, 0, 1));
        assert!(
            markdown(&sources).contains("| 0 | 1 |\n") && text(&sources).contains(", 1 for an unknown path")
        );
    }

    /// The distance is the mean over comparable rows.
    #[test]
    fn columns_by_their_mean_distance() {
        let cells = vec![
            cell(2.0, 1.0, None, false),
            cell(1.0, 2.0, None, false),
            cell(1.0, 1.0, None, false),
            cell(0.0, 1.0, None, false),
        ];
        let sources = by_source([&summary(true, cells)].into_iter());
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

    /// A biased column is open until its cause is known.
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
        let sources = by_source([&summary].into_iter());
        assert_eq!(sources[0].biases, Biases { all: 3, open: 2 });
        assert!(text(&sources).contains("3 biased columns, 2 without a known cause"), "{}", text(&sources));
    }

    /// Variants other than the reference do not count.
    #[test]
    fn other_variants_do_not_count() {
        let sources = by_source([&summary(false, vec![cell(1.0, 1.0, None, false)])].into_iter());
        assert!(sources.is_empty());
    }
}
