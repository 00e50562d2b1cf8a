//! A checked experiment file and its runs.

use std::cell::Cell;
use std::path::Path;
use std::sync::Arc;

use congestion::Registry;
use scenario::Scenario;

use crate::aggregate::Aggregate;
use crate::chart::Chart;
use crate::diagnostic::Diagnostic;
use crate::diagnostics::Diagnostics;
use crate::file::cases::Cases;
use crate::file::claim::{Claim, Part};
use crate::file::contents::Contents;
use crate::file::cursor::{Cursor, Fields};
use crate::file::groups::{Groups, MEASURE, RUN};
use crate::file::judgement::{Judgement, UnknownRows, View};
use crate::file::labels::{Labels, read_prose};
use crate::file::miss::{Bias, Miss};
use crate::file::node::Node;
use crate::file::reference::Reference;
use crate::file::rows::Rows;
use crate::file::sweep::SweepAxes;
use crate::file::tables::{File, Head, KEYS};
use crate::file::vary::{self, Case};
use crate::file::{cases, chart, mistakes, network, node, trace};
use crate::metric::Metric;
use crate::row::RowLabel;

const DEFAULT_METRICS: [&str; 4] = ["goodput", "loss", "rtt_mean", "rtt_std"];
/// Most cases that are read to find all mistakes of a file. Even the largest files are read three
/// times.
const MAX_CASES_READ: usize = 2 * vary::MAX_CASES;

/// A checked experiment file.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// Name, like `quic-dc/table-1`.
    pub name: String,
    /// Source of its text, for messages.
    pub file: String,
    pub title: String,
    /// The document that it reproduces.
    pub source: String,
    /// Explanation for readers, may be empty.
    pub note: String,
    /// Number of runs of each case of the reference variants.
    pub repetitions: u32,
    /// Number of runs of each other case, if fewer.
    pub(super) others: Option<u32>,
    /// Seed of the first repetition.
    pub seed: u64,
    /// Metrics of its table, in order.
    pub metrics: Vec<Metric>,
    /// Aggregation of the repetitions.
    pub aggregate: Aggregate,
    /// The source's own numbers.
    pub published: Option<Reference>,
    /// Statements of the source, as checks.
    pub claims: Vec<Claim>,
    /// Known differences from the published numbers.
    pub misses: Vec<Miss>,
    /// Known differences of whole columns.
    pub biases: Vec<Bias>,
    /// Reason for the choice of the reference variants, may be empty.
    pub why_reference: String,
    /// Variants in which claims are judged; `None` for all.
    reference: Option<Rows>,
    /// Charts of the report.
    pub charts: Vec<Chart>,
    pub(super) cases: Vec<Case>,
    groups: Vec<String>,
    /// Names of the windows that every run records.
    windows: Vec<String>,
    pub(super) document: Arc<Node>,
    /// Controllers that the file may name.
    controllers: Registry,
    /// Keys of the network and its traffic changed by `--set`, each once.
    pub(super) sets: Vec<(String, String)>,
    pub(super) unknown: UnknownRows,
}

impl Experiment {
    /// Parses a file's text with the controllers of this workspace, like
    /// [`parse_with`](Self::parse_with).
    ///
    /// # Errors Returns all mistakes of the file that do not follow from another.
    pub fn parse(name: &str, file: &Path, text: &str) -> Result<Self, Diagnostics> {
        Self::parse_with(&Registry::default(), name, file, text)
    }

    /// Parses a file's text, which may name these controllers. Published tables are searched next
    /// to `file`, then among the shipped ones.
    ///
    /// # Errors Returns all mistakes of the file that do not follow from another.
    pub fn parse_with(
        controllers: &Registry,
        name: &str,
        file: &Path,
        text: &str,
    ) -> Result<Self, Diagnostics> {
        let file = file.display().to_string();
        let counted = Cell::new(0);
        let document = network::named(&file, controllers, node::parse(&file, text)?)?;
        if ["experiment", "case"].iter().all(|key| document.get(key).is_some()) {
            let wrong = "a manifest of results, not an experiment";
            return Err(Diagnostic::new(file, wrong, "name the experiment files").into());
        }
        mistakes::read_or_report(document, |document| {
            let place = (&*file, controllers);
            let read = || Self::read(name, place, document, UnknownRows::Refused, &counted);
            (counted.get() <= MAX_CASES_READ).then(read)
        })
    }

    /// Returns the keys that vary over these cases or were changed by `--set`, with their values in
    /// each case.
    pub fn sweep_axes(&self, cases: &[Case]) -> SweepAxes {
        SweepAxes::new(cases, &self.sets)
    }

    /// Returns the file, and the controllers that it may name.
    pub(super) fn place(&self) -> (&str, &Registry) {
        (&self.file, &self.controllers)
    }

    /// Reads a document. Increments `counted` for each case.
    pub(super) fn read(
        name: &str,
        (file, controllers): (&str, &Registry),
        document: Node,
        unknown: UnknownRows,
        counted: &Cell<usize>,
    ) -> Result<Self, Diagnostic> {
        let root = Cursor::root(file, controllers, &document).table(&KEYS)?;
        let Head { title, source, repetitions, seed, .. } = Head::read(&root)?;
        let Cases { cases, groups, left_out } = cases::read(&root, counted)?;
        let table = Contents::read(&root.table("table", Contents::known())?, &groups)?;
        let (mut labels, aggregate) =
            (Labels::new(&cases, metrics(&root, table.metrics), groups), table.over_runs);
        let published =
            root.get("published").map(|at| unknown.kept(Reference::read(&at, &cases, &labels.groups)));
        labels.published = published.transpose()?.flatten();
        let note = root.get("note").map(|at| unknown.kept(read_prose(&at, &labels)));
        let view = View { labels: &labels, cases: &cases, unknown };
        let Judgement { reference, claim: claims, miss: misses, bias: biases, chart, .. } =
            Judgement::read(&root, &view)?;
        let charts = match root.get("chart") {
            Some(_) => chart,
            None => vec![chart::default_chart(&title, &cases, &labels, root.get("series").is_some())],
        };
        let reference = reference.map(|r| (Some(r.variants), r.why, r.repetitions_of_others));
        let (reference, why_reference, others) = reference.unwrap_or_default();
        let used =
            labels.metrics.iter().chain(aggregate.metric()).chain(claims.iter().flat_map(Claim::metrics));
        Ok(Self {
            windows: windows(&labels.groups, used),
            reference,
            why_reference,
            biases,
            name: name.to_owned(),
            file: file.to_owned(),
            title,
            source,
            note: format!("{} {left_out}", note.transpose()?.flatten().unwrap_or_default()).trim().to_owned(),
            repetitions,
            others,
            seed: seed.unsigned_abs(),
            claims,
            misses,
            charts,
            metrics: labels.metrics,
            aggregate,
            groups: labels.groups.flows,
            published: labels.published,
            cases,
            controllers: controllers.clone(),
            document: Arc::new(document),
            sets: Vec::new(),
            unknown,
        })
    }

    /// Returns every combination of the varied values: all rows of the first variant, then those of
    /// the next.
    pub fn cases(&self) -> Vec<Case> {
        self.cases.clone()
    }

    /// Returns the labels of flows in runs with several labels. Their metrics are also measured
    /// separately.
    pub fn groups(&self) -> &[String] {
        &self.groups
    }

    /// Returns the run of a case. `repetition` counts from 0.
    pub fn scenario(&self, case: &Case, repetition: u32) -> Scenario {
        case.setup.scenario(self.seed.wrapping_add(u64::from(repetition)), &self.windows)
    }

    /// Returns the file with the values of a case, and without any default. Paths are relative to
    /// the current folder.
    pub fn written(&self, case: &Case) -> toml::Table {
        let mut document = (*self.document).clone();
        for o in &case.overrides {
            // The case was read with these values, so nothing is in the way.
            let _ = document.set(&o.path, &o.at, &o.value);
        }
        self.for_here(&document)
    }

    /// Returns the file as it was written. Paths are relative to the current folder.
    pub fn as_written(&self) -> toml::Table {
        self.for_here(&self.document)
    }

    /// Returns the file as it was written, without comments and with changes. Keys keep their
    /// order, and paths are relative to the file.
    pub fn to_text(&self) -> String {
        self.document.to_text()
    }

    fn for_here(&self, document: &Node) -> toml::Table {
        let mut value = document.to_toml();
        trace::from_here(&self.file, &mut value);
        value.try_into().unwrap_or_default()
    }

    /// Keeps the cases of these variants.
    pub fn keep_variants(&mut self, keep: impl Fn(&str) -> bool) {
        self.cases.retain(|case| keep(&case.variant));
    }

    /// Returns the experiment of one run: a case by its index, and one of its repetitions. Returns
    /// `None` for an unknown case.
    pub fn only(&self, case: usize, repetition: u32) -> Option<Self> {
        let case = self.cases.get(case)?.clone();
        let seed = self.seed.wrapping_add(u64::from(repetition));
        Some(Self { cases: vec![case], repetitions: 1, others: None, seed, ..self.clone() })
    }

    /// Returns the experiment file of a single run, with every default written out.
    ///
    /// # Errors Fails for a value that TOML cannot hold.
    pub fn resolved(&self, case: &Case, seed: u64) -> Result<toml::Table, Diagnostic> {
        let names = [&self.name, &case.variant, &case.row].map(String::as_str);
        let names: Vec<_> = names.into_iter().filter(|name| !name.is_empty()).collect();
        // Braces in a note are placeholders.
        let note = names.join(", ").replace('{', "(").replace('}', ")");
        let (title, source) = (self.title.clone(), self.source.clone());
        // TOML integers are signed. A seed beyond their range becomes the largest integer.
        let seed = i64::try_from(seed).unwrap_or(i64::MAX);
        let head = Head { title, source, note, repetitions: 1, seed };
        let file = File { head, run: &case.setup.run, judgement: None };
        toml::Table::try_from(file).map_err(|e| Diagnostic::new(&self.file, e.to_string(), ""))
    }

    /// Returns the predefined windows that runs record because a metric uses them.
    pub fn predefined_windows(&self) -> impl Iterator<Item = &str> {
        self.windows.iter().map(String::as_str).filter(|name| [RUN, MEASURE].contains(name))
    }

    /// Returns everything that decides how results are read but not what runs, to compare two
    /// results.
    pub fn reading(&self) -> String {
        let table = (&self.title, &self.source, &self.note, &self.metrics, &self.aggregate, &self.published);
        let judgement = (&self.claims, &self.misses, &self.biases, &self.reference, &self.why_reference);
        format!("{table:?}{judgement:?}{:?}", self.charts)
    }

    /// Returns all prose: the note, and the reasons of the reference, claims and known deviations.
    pub fn prose(&self) -> impl Iterator<Item = &str> {
        let claims = self.claims.iter().filter_map(|claim| claim.reason.as_ref());
        let misses = self.misses.iter().map(|miss| &miss.reason);
        let biases = self.biases.iter().map(|bias| &bias.reason);
        [&self.note, &self.why_reference]
            .into_iter()
            .chain(claims)
            .chain(misses)
            .chain(biases)
            .map(String::as_str)
    }

    /// Returns the source's number for a cell.
    pub fn published(&self, variant: &str, row: &RowLabel, metric: &Metric) -> Option<f64> {
        self.published.as_ref()?.value(variant, row, metric)
    }

    /// Returns the recorded reason for a difference in a cell.
    pub fn miss(&self, variant: &str, row: &RowLabel, metric: &Metric) -> Option<&Miss> {
        self.misses.iter().find(|m| m.explains(variant, row, metric))
    }

    /// Reports whether a part of a claim holds on the source's own numbers: as the file says, or
    /// else as computed from them.
    pub fn holds_published(&self, part: &Part) -> Option<bool> {
        part.holds_published.or_else(|| part.judged_by(self.published.as_ref()?).map(|(holds, _)| holds))
    }

    /// Returns the number of runs of a case.
    pub fn repetitions_of(&self, case: &Case) -> u32 {
        let others = self.others.filter(|_| !self.is_reference(&case.variant));
        others.map_or(self.repetitions, |others| others.min(self.repetitions))
    }

    /// Reports whether the file's claims are judged in this variant.
    pub fn is_reference(&self, variant: &str) -> bool {
        self.reference.as_ref().is_none_or(|rows| rows.matches(variant))
    }
}

/// Returns the windows of `[windows]`, and the predefined ones that metrics use.
fn windows<'m>(groups: &Groups, metrics: impl Iterator<Item = &'m Metric>) -> Vec<String> {
    let mut windows = groups.windows.clone();
    for window in metrics.filter_map(Metric::window) {
        if !windows.iter().any(|known| known == window) {
            windows.push(window.to_owned());
        }
    }
    windows
}

/// Returns the metrics of `[table]`, or else those of `[published]`.
fn metrics(root: &Fields<'_>, own: Vec<Metric>) -> Vec<Metric> {
    if !own.is_empty() {
        return own;
    }
    let published = root.get("published").and_then(|table| table.get("columns")?.entries().ok());
    match published.filter(|columns| !columns.is_empty()) {
        Some(columns) => columns.iter().map(|(entry, _)| entry.key.as_str().into()).collect(),
        None => DEFAULT_METRICS.map(Metric::new).to_vec(),
    }
}
