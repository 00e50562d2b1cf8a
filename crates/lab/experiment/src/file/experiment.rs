//! A checked experiment file and its runs.

use std::cell::Cell;
use std::path::Path;
use std::sync::Arc;

use congestion::Registry;
use scenario::Scenario;

use crate::aggregate::Aggregate;
use crate::chart::Chart;
use crate::diagnostic::{Diagnostic, did_you_mean};
use crate::diagnostics::Diagnostics;
use crate::file::claim::{Claim, Part, ReferenceTable};
use crate::file::cursor::{Cursor, Fields};
use crate::file::groups::{Groups, MEASURE, RUN};
use crate::file::labels::{Labels, read_prose};
use crate::file::miss::{Bias, Miss};
use crate::file::node::{Node, Origin, Value};
use crate::file::reference::Reference;
use crate::file::resolved::Head;
use crate::file::rows::Rows;
use crate::file::setup::Setup;
use crate::file::sweep::SweepAxes;
use crate::file::tables::KEYS;
use crate::file::tables::define::known_keys;
use crate::file::tables::judgement::TableTable;
use crate::file::unknown_rows::{UnknownRows, each};
use crate::file::values::{MAX_REPETITIONS, repetitions};
use crate::file::vary::{Case, Combination, Override};
use crate::file::{chart, mistakes, node, reference, resolved, vary};
use crate::metric::Metric;
use crate::place::Place;
use crate::row::RowLabel;

known_keys!(TABLE_KEYS: TableTable);

/// Keys that `--set` may change: those of `[vary]`, and the number of runs. Claims and tables
/// belong to the file.
const SETTABLE: &[&str] = &[
    "duration",
    "transfer",
    "repetitions",
    "seed",
    "series",
    "measure",
    "link",
    "reverse",
    "probe",
    "udp",
    "flow",
];

/// Tables among these keys, each with an example of a change.
const TABLES: &[(&str, &str)] = &[
    ("measure", "measure.from=10s"),
    ("link", "link.rate=20Mbit/s"),
    ("reverse", "reverse.rate=1Mbit/s"),
    ("probe", "probe.interval=100ms"),
    ("udp", "udp.rate=1Mbit/s"),
    ("flow", "flow.rtt=30ms"),
];

const DEFAULT_METRICS: &[&str] = &["goodput", "loss", "rtt_mean", "rtt_std"];
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
    others: Option<u32>,
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
    cases: Vec<Case>,
    groups: Vec<String>,
    /// Names of the windows that every run records.
    windows: Vec<String>,
    pub(super) document: Arc<Node>,
    /// Controllers that the file may name.
    controllers: Registry,
    /// Keys of the network and its traffic changed by `--set`, each once.
    sets: Vec<(String, String)>,
    unknown: UnknownRows,
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
        let document = node::parse(&file, text)?;
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

    /// Returns the experiment with other values, as in `--set`: `("link.rate", "20 Mbit/s")`. A
    /// value is TOML, or otherwise text. Statements about the source's numbers are dropped, unless
    /// `keep_published`.
    ///
    /// # Errors Returns the mistakes of the changed file. The message names the argument.
    pub fn with_overrides(
        &self,
        sets: &[(String, String)],
        keep_published: bool,
    ) -> Result<Self, Diagnostic> {
        let mut document = (*self.document).clone();
        for (key, value) in sets {
            let at = Origin::Argument(format!("--set {key}={value}").into());
            let path = vary::path_of(key);
            let refuse = |wrong: String, right: String| at.problem(&self.file, "", wrong, right);
            let value = Node::argument(&at, value);
            if let (Some((_, like)), Value::Leaf(_)) =
                (TABLES.iter().find(|(table, _)| *table == key), &value.value)
            {
                let right = format!("write one of its keys, like {like}");
                return Err(refuse(format!("`{key}` is a table"), right));
            }
            self.check_settable(&path).map_err(|(wrong, right)| refuse(wrong, right))?;
            let set = document.set(&path, &at, &value);
            set.map_err(|wrong| refuse(wrong, String::new()))?;
        }
        let mut changed = self.read_again(document).map_err(|problem| with_cause(problem, sets))?;
        if sets.iter().any(|(key, _)| key == "repetitions") {
            changed.others = None;
        }
        Ok(changed.without_judgement(sets, keep_published))
    }

    /// Reads a changed document. With candidates, drops reasons, which describe the file's own
    /// controllers.
    fn read_again(&self, document: Node) -> Result<Self, Diagnostic> {
        let mut changed = Self::read(&self.name, self.place(), document, self.unknown, &Cell::new(0))?;
        changed.sets.clone_from(&self.sets);
        if self.unknown == UnknownRows::LeftOut {
            changed.claims.iter_mut().for_each(|claim| claim.reason = None);
            changed.misses.clear();
            changed.biases.clear();
            changed.note.clone_from(&self.note);
        }
        Ok(changed)
    }

    /// Drops the source's numbers, the claims about them and the recorded reasons, which do not
    /// apply to another network. The note says so. Changing only repetitions, seed or sampling
    /// keeps them.
    fn without_judgement(mut self, sets: &[(String, String)], keep: bool) -> Self {
        let harmless = ["repetitions", "seed", "series"];
        let is_harmless = |key: &str| harmless.contains(&vary::path_of(key)[0].as_str());
        let sets: Vec<_> = sets.iter().filter(|(key, _)| !is_harmless(key)).collect();
        let changes: Vec<String> = sets.iter().map(|(key, value)| format!("{key} = {value}")).collect();
        if changes.is_empty() {
            return self;
        }
        for (key, value) in sets {
            self.sets.retain(|(known, _)| known != key);
            self.sets.push((key.clone(), value.trim_matches('"').to_owned()));
        }
        let remark = if keep {
            "published values, claims and reasons are those of the unchanged file"
        } else {
            self.published = None;
            self.claims.clear();
            self.misses.clear();
            self.biases.clear();
            "published values and claims describe the unchanged file and are left out"
        };
        self.note = format!("{} Changed: {}; {remark}.", self.note, changes.join(", ")).trim().to_owned();
        self
    }

    /// Returns the keys that vary over these cases or were changed by `--set`, with their values in
    /// each case.
    pub fn sweep_axes(&self, cases: &[Case]) -> SweepAxes {
        SweepAxes::new(cases, &self.sets)
    }

    fn check_settable(&self, path: &[String]) -> Result<(), (String, String)> {
        let root = path.first().map_or("", String::as_str);
        if !SETTABLE.contains(&root) || path.iter().any(String::is_empty) {
            let right = format!(
                "{}; a key in a table has a dot, like link.rate",
                did_you_mean(root, SETTABLE.iter().copied())
            );
            return Err((format!("`{}` cannot be set", path.join(".")), right));
        }
        let varied =
            self.cases.iter().flat_map(|case| &case.overrides).find(|o| vary::overlap(&o.path, path));
        varied.map_or(Ok(()), |o| {
            let wrong =
                format!("`{}` is varied by {}, so this would have no effect", o.path.join("."), self.file);
            let right = "copy the file and change its [vary]; the copy keeps published values and claims";
            Err((wrong, right.to_owned()))
        })
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
        let title = root.need("title", "write a title for the experiment, in a few words")?.read()?;
        let source = root.read("source")?.unwrap_or_default();
        let (repetitions, seed) = (read_repetitions(&root)?, read_seed(&root)?);
        let varied = vary::read(root.get("vary").as_ref())?;
        let table = root.get("table").map(|c| c.table(&TABLE_KEYS)).transpose()?;
        let rows = vary::rows_key(&varied, table.as_ref().and_then(|t| t.get("rows")).as_ref())?;
        let mut groups = Groups::default();
        let combinations = vary::combinations(&varied, rows).into_iter();
        let counted = combinations.inspect(|_| counted.set(counted.get() + 1));
        let cases = checked(counted, &mut groups, (file, controllers), &document)?;
        if let Some(vary_at) = root.get("vary") {
            check_names(&cases, &vary_at)?;
        }
        let columns = reference::metrics(root.get("published").as_ref())?;
        let metrics = read_metrics(table.as_ref(), columns, &groups)?;
        let aggregate = table.as_ref().and_then(|t| t.get("over-runs"));
        let aggregate = aggregate.map(|c| read_aggregate(&c, &groups)).transpose()?.unwrap_or_default();
        let mut labels = Labels::new(&cases, metrics, groups);
        let published =
            root.get("published").map(|c| Reference::read(&c, file, &labels.rows, &labels.groups));
        labels.published = unknown.kept(published.into_iter())?.pop();
        let note = unknown.kept(root.get("note").map(|c| read_prose(&c, &labels)).into_iter())?.pop();
        let claims = read_claims(&root, &labels, unknown)?;
        let read = |c: Cursor<'_>| ReferenceTable::read(&c.table(ReferenceTable::known())?, &labels);
        let reference = unknown.kept(root.get("reference").map(read).into_iter())?.pop();
        let reference = reference.map(|r| (Some(r.variants), r.why, r.repetitions_of_others));
        let (reference, why_reference, others) = reference.unwrap_or_default();
        Ok(Self {
            windows: windows(
                &labels.groups,
                labels.metrics.iter().chain(aggregate.metric()).chain(claims.iter().flat_map(Claim::metrics)),
            ),
            reference,
            why_reference,
            biases: each(&root, "bias", unknown, |c| Bias::read(&c.table(Bias::known())?, &labels))?,
            name: name.to_owned(),
            file: file.to_owned(),
            title,
            source,
            note: note.unwrap_or_default(),
            repetitions,
            others,
            seed,
            claims,
            misses: each(&root, "miss", unknown, |c| Miss::read_whole(c, &labels))?,
            charts: read_charts(&root, &labels, &cases, unknown)?,
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

    /// Returns the experiment file of a single run, with every default written out.
    ///
    /// # Errors Fails for a value that TOML cannot hold.
    pub fn resolved(&self, case: &Case, seed: u64) -> Result<toml::Table, Diagnostic> {
        let names = [&self.name, &case.variant, &case.row].map(String::as_str);
        let names: Vec<_> = names.into_iter().filter(|name| !name.is_empty()).collect();
        // Braces in a note are placeholders.
        let note = names.join(", ").replace('{', "(").replace('}', ")");
        let head = Head { title: &self.title, source: &self.source, note, seed };
        resolved::table(head, &case.setup).map_err(|e| Diagnostic::new(&self.file, e.to_string(), ""))
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
    pub fn published(&self, row: &RowLabel, metric: &Metric) -> Option<f64> {
        self.published.as_ref()?.value(row, metric)
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

/// Reads and checks every case.
fn checked(
    combinations: impl Iterator<Item = Combination>,
    groups: &mut Groups,
    place: (&str, &Registry),
    document: &Node,
) -> Result<Vec<Case>, Diagnostic> {
    let document = run_part(document);
    combinations.map(|combination| read_case(combination, groups, place, &document)).collect()
}

/// Removes the tables that no run reads, because each case changes a copy of the document.
fn run_part(document: &Node) -> Node {
    let mut document = document.clone();
    if let Value::Table(entries) = &mut document.value {
        let unread = ["vary", "claim", "miss", "bias", "chart", "note"];
        entries.retain(|entry| !unread.contains(&entry.key.as_str()));
    }
    document
}

fn read_case(
    combination: Combination,
    groups: &mut Groups,
    place: (&str, &Registry),
    document: &Node,
) -> Result<Case, Diagnostic> {
    let Combination { variant, row, values, overrides } = combination;
    let setup = read_setup(place, document, &overrides)?;
    groups.add(setup.present().map(|flow| flow.config.group.as_str()));
    groups.add_links(setup.link_names.iter().chain(&setup.reverse_names).map(String::as_str));
    groups.add_windows(setup.windows.iter().map(|(name, _)| name.as_str()));
    groups.add_udp(setup.udp.iter().map(|source| source.label.as_str()));
    let first = setup.present().next().map(|flow| flow.config.algorithm.name());
    Ok(Case {
        variant,
        row: if row.is_empty() { row_label(&setup) } else { row },
        algorithm: first.unwrap_or_default().to_owned(),
        values,
        on: Place::SIM,
        setup: Arc::new(setup),
        overrides,
    })
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

/// Refuses two cases with the same name, because results are found by name.
fn check_names(cases: &[Case], vary_at: &Cursor<'_>) -> Result<(), Diagnostic> {
    let mut names = std::collections::BTreeSet::new();
    match cases.iter().find(|case| !names.insert((&case.variant, &case.row))) {
        Some(case) => {
            let wrong = format!("two combinations have the name `{}`, `{}`", case.variant, case.row);
            Err(vary_at.problem(wrong, "give the values distinct labels"))
        }
        None => Ok(()),
    }
}

/// Returns the row's label for an experiment in which nothing varies: the labels of its flows.
fn row_label(setup: &Setup) -> String {
    let mut labels: Vec<&str> = Vec::new();
    for flow in setup.present() {
        if !labels.contains(&flow.config.group.as_str()) {
            labels.push(&flow.config.group);
        }
    }
    labels.join(", ")
}

/// Reads the file with these values set.
fn read_setup(
    (file, controllers): (&str, &Registry),
    document: &Node,
    overrides: &[Arc<Override>],
) -> Result<Setup, Diagnostic> {
    let mut document = document.clone();
    for o in overrides {
        let refuse = |wrong| o.at.problem(file, &o.path.join("."), wrong, "");
        document.set(&o.path, &o.at, &o.value).map_err(refuse)?;
    }
    Setup::read(&Cursor::root(file, controllers, &document).table(&KEYS)?)
}

/// Adds the arguments to a problem in the file, which may occur only because of them.
fn with_cause(mut problem: Diagnostic, sets: &[(String, String)]) -> Diagnostic {
    if problem.line.is_some() {
        let sets: Vec<String> = sets.iter().map(|(key, value)| format!("--set {key}={value}")).collect();
        problem.wrong = format!("with {}: {}", sets.join(" "), problem.wrong);
    }
    problem
}

fn read_repetitions(root: &Fields<'_>) -> Result<u32, Diagnostic> {
    root.get("repetitions").map_or(Ok(1), |cursor| repetitions(&cursor))
}

fn read_seed(root: &Fields<'_>) -> Result<u64, Diagnostic> {
    let Some(cursor) = root.get("seed") else { return Ok(1) };
    let seed: i64 = cursor.read()?;
    // TOML integers are signed 64-bit, and the seed of the last repetition must fit too, for the
    // manifest.
    let most = i64::MAX - MAX_REPETITIONS;
    let fits = u64::try_from(seed).ok().filter(|_| seed <= most);
    fits.ok_or_else(|| {
        cursor.invalid(format!("{seed} is out of range"), format!("must be between 0 and {most}"))
    })
}

fn read_metrics(
    table: Option<&Fields<'_>>,
    published: Vec<Metric>,
    groups: &Groups,
) -> Result<Vec<Metric>, Diagnostic> {
    let Some(cursor) = table.and_then(|t| t.get("metrics")) else {
        let default = || DEFAULT_METRICS.iter().map(|word| Metric::new(word)).collect();
        return Ok(if published.is_empty() { default() } else { published });
    };
    cursor.filled_list()?.iter().map(|c| groups.read_metric(c)).collect()
}

/// Reads `"mean"`, `"median"`, or `{ median-of = "goodput" }`.
fn read_aggregate(cursor: &Cursor<'_>, groups: &Groups) -> Result<Aggregate, Diagnostic> {
    if let Value::Table(_) = cursor.node().value {
        let fields = cursor.table(&["median-of"])?;
        let metric =
            fields.need("median-of", "write the metric whose median selects the run, like \"goodput\"")?;
        return groups.read_metric(&metric).map(Aggregate::MedianRun);
    }
    match cursor.word("aggregate", &[("mean", false), ("median", true)])? {
        true => Ok(Aggregate::Median),
        false => Ok(Aggregate::Mean),
    }
}

/// Reads the charts of the file. A file without charts gets a suitable default.
fn read_charts(
    root: &Fields<'_>,
    labels: &Labels,
    cases: &[Case],
    unknown: UnknownRows,
) -> Result<Vec<Chart>, Diagnostic> {
    if root.get("chart").is_some() {
        return each(root, "chart", unknown, |c| chart::read(c, labels, cases));
    }
    let title: String = root.read("title")?.unwrap_or_default();
    Ok(vec![chart::default_chart(&title, cases, labels, root.get("series").is_some())])
}

fn read_claims(root: &Fields<'_>, labels: &Labels, unknown: UnknownRows) -> Result<Vec<Claim>, Diagnostic> {
    let mut ids = Vec::new();
    each(root, "claim", unknown, |cursor| {
        let claim = Claim::read_whole(cursor, labels)?;
        if ids.contains(&claim.id) {
            return Err(
                cursor.problem(format!("duplicate claim id `{}`", claim.id), "give each claim its own id")
            );
        }
        ids.push(claim.id.clone());
        claim.parts.iter().try_for_each(|part| check_published(cursor, part, labels))?;
        Ok(claim)
    })
}

/// Checks that a claim's statement about the published numbers is true.
fn check_published(cursor: &Cursor<'_>, part: &Part, labels: &Labels) -> Result<(), Diagnostic> {
    let published = labels.published.as_ref();
    let has_none = |row: &&RowLabel| published.and_then(|p| p.value(row, &part.metric)).is_none();
    if let Some(row) = part.rows_to_compare(&labels.rows).find(has_none) {
        let wrong = format!("no published {} for `{row}` to compare with", part.metric);
        return Err(cursor
            .problem(wrong, "add the metric to published.columns, and list only rows that the table has"));
    }
    match published.and_then(|p| part.judged_by(p)).zip(part.holds_published) {
        Some(((holds, numbers), says)) if holds != says => {
            let wrong =
                format!("the claim has holds-published = {says}, but in the published table {numbers}");
            Err(cursor.problem(wrong, format!("holds-published = {holds}")))
        }
        _ => Ok(()),
    }
}
