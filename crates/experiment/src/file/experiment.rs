//! A checked experiment file: what it says, and the runs it stands for.

use std::cell::Cell;
use std::path::Path;
use std::sync::Arc;

use scenario::Scenario;

use crate::backend::Backend;
use crate::chart::Chart;
use crate::diagnostic::{Diagnostic, did_you_mean};
use crate::diagnostics::Diagnostics;
use crate::file::claim::{Claim, Part, read_prose};
use crate::file::cursor::{Cursor, Fields};
use crate::file::groups::Groups;
use crate::file::labels::Labels;
use crate::file::miss::{Bias, Miss};
use crate::file::node::{At, Node, Value};
use crate::file::reference::Reference;
use crate::file::resolved::Head;
use crate::file::rows::Rows;
use crate::file::setup::Setup;
use crate::file::swept::Swept;
use crate::file::tables::judgement::{ReferenceTable, TableTable};
use crate::file::tables::{File, known_keys};
use crate::file::unknown_rows::{UnknownRows, each};
use crate::file::vary::{Case, Combination, Override};
use crate::file::{chart, mistakes, node, reference, resolved, vary};
use crate::metric::Metric;
use crate::over_runs::OverRuns;
use crate::row::RowLabel;

known_keys!(KEYS: File<'static>);
known_keys!(TABLE_KEYS: TableTable);
known_keys!(REFERENCE_KEYS: ReferenceTable);

/// What `--set` may change: what `[vary]` may, and how often it runs. Claims and tables belong to the file.
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

const DEFAULT_METRICS: &[&str] = &["goodput", "loss", "rtt_mean", "rtt_std"];
const MAX_REPETITIONS: i64 = 10_000;
/// A file with mistakes is not read again once so many cases have been: the largest files are read three times.
const MOST_CASES: usize = 2 * vary::MAX_CASES;

/// A checked experiment file.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// `quic-dc/table-1`.
    pub name: String,
    /// Where its text comes from, for messages.
    pub file: String,
    /// Its title.
    pub title: String,
    /// The document it comes from.
    pub source: String,
    /// How to read it; may be empty.
    pub note: String,
    /// Runs of each case of the reference variants.
    pub repetitions: u32,
    /// Of each other case, if fewer.
    others: Option<u32>,
    /// Seed of the first repetition.
    pub seed: u64,
    /// Metrics of its table, in order.
    pub metrics: Vec<Metric>,
    /// What stands for the repetitions.
    pub over_runs: OverRuns,
    /// The source's own numbers.
    pub published: Option<Reference>,
    /// Its checks.
    pub claims: Vec<Claim>,
    /// Known differences.
    pub misses: Vec<Miss>,
    /// Known differences of whole columns.
    pub biases: Vec<Bias>,
    /// Why the reference variants are what they are; may be empty.
    pub why_reference: String,
    /// The variants that claims are judged in; `None`: all.
    reference: Option<Rows>,
    /// Its charts.
    pub charts: Vec<Chart>,
    cases: Vec<Case>,
    groups: Vec<String>,
    /// Names of windows that some metric is of.
    windows: Vec<String>,
    pub(super) document: Arc<Node>,
    /// What `--set` changed of the network and its traffic, each key once.
    sets: Vec<(String, String)>,
    unknown: UnknownRows,
}

impl Experiment {
    /// Reads a file's text. Published tables are looked for beside `file`, then among the shipped ones.
    ///
    /// # Errors
    /// All mistakes in the file that do not follow from another.
    pub fn parse(name: &str, file: &Path, text: &str) -> Result<Self, Diagnostics> {
        let file = file.display().to_string();
        let counted = Cell::new(0);
        mistakes::told(node::parse(&file, text)?, |document| {
            let read = || Self::read(name, &file, document, UnknownRows::Refused, &counted);
            (counted.get() <= MOST_CASES).then(read)
        })
    }

    /// The same experiment with other values: `("link.rate", "20 Mbit/s")`, from `--set`. A value is TOML, or else text. What the
    /// file says of the source's numbers is left out, unless `keep_published`.
    ///
    /// # Errors
    /// What the changed file would give; the message names the argument.
    pub fn with_overrides(
        &self,
        sets: &[(String, String)],
        keep_published: bool,
    ) -> Result<Self, Diagnostic> {
        let mut document = (*self.document).clone();
        for (key, value) in sets {
            let at = At::Set(format!("--set {key}={value}").into());
            let path = vary::path_of(key);
            let refuse = |wrong: String, right: String| at.problem(&self.file, "", wrong, right);
            self.check_settable(&path).map_err(|(wrong, right)| refuse(wrong, right))?;
            let set = document.set(&path, &at, &Node::argument(&at, value));
            set.map_err(|wrong| refuse(wrong, String::new()))?;
        }
        let mut changed = self.read_again(document).map_err(|problem| with_cause(problem, sets))?;
        if sets.iter().any(|(key, _)| key == "repetitions") {
            changed.others = None;
        }
        Ok(changed.without_judgement(sets, keep_published))
    }

    /// Of a changed document. Reasons on record are of the file's own controllers, not of candidates.
    fn read_again(&self, document: Node) -> Result<Self, Diagnostic> {
        let mut changed = Self::read(&self.name, &self.file, document, self.unknown, &Cell::new(0))?;
        changed.sets.clone_from(&self.sets);
        if self.unknown == UnknownRows::LeftOut {
            changed.claims.iter_mut().for_each(|claim| claim.reason = None);
            changed.misses.clear();
            changed.biases.clear();
            changed.note.clone_from(&self.note);
        }
        Ok(changed)
    }

    /// On another network the source's numbers, the claims about them and the reasons on record say nothing: they are
    /// left out, and the note says so. More repetitions, another seed or sampling change no such thing.
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
            "published values, claims and reasons are those of the file as it is"
        } else {
            self.published = None;
            self.claims.clear();
            self.misses.clear();
            self.biases.clear();
            "published values and claims, which speak of the file as it is, are left out"
        };
        self.note = format!("{} Changed: {}; {remark}.", self.note, changes.join(", ")).trim().to_owned();
        self
    }

    /// The keys that vary over these cases, and those that `--set` changed, with what each is in each case.
    pub fn swept(&self, cases: &[Case]) -> Swept {
        Swept::new(cases, &self.sets)
    }

    fn check_settable(&self, path: &[String]) -> Result<(), (String, String)> {
        let root = path.first().map_or("", String::as_str);
        if !SETTABLE.contains(&root) || path.iter().any(String::is_empty) {
            let right =
                format!("{}, with a dotted key like link.rate", did_you_mean(root, SETTABLE.iter().copied()));
            return Err((format!("`{}` cannot be set", path.join(".")), right));
        }
        let varied =
            self.cases.iter().flat_map(|case| &case.overrides).find(|o| vary::overlap(&o.path, path));
        varied.map_or(Ok(()), |o| {
            let wrong =
                format!("`{}` is varied by {}, so this would have no effect", o.path.join("."), self.file);
            let right = "change [vary] in a copy of the file, where published values and claims stay beside what varies";
            Err((wrong, right.to_owned()))
        })
    }

    /// `counted` grows with each case.
    pub(super) fn read(
        name: &str,
        file: &str,
        document: Node,
        unknown: UnknownRows,
        counted: &Cell<usize>,
    ) -> Result<Self, Diagnostic> {
        let root = Cursor::root(file, &document).table(&KEYS)?;
        let title = root.need("title", "what the experiment is, in a few words")?.read()?;
        let source = root.read("source")?.unwrap_or_default();
        let (repetitions, seed) = (read_repetitions(&root)?, read_seed(&root)?);
        let varied = vary::read(root.get("vary").as_ref())?;
        let table = root.get("table").map(|c| c.table(&TABLE_KEYS)).transpose()?;
        let rows = vary::rows_key(&varied, table.as_ref().and_then(|t| t.get("rows")).as_ref())?;
        let mut groups = Groups::default();
        let combinations = vary::combinations(&varied, rows).into_iter();
        let counted = combinations.inspect(|_| counted.set(counted.get() + 1));
        let cases = checked(counted, &mut groups, file, &document)?;
        if let Some(vary_at) = root.get("vary") {
            check_names(&cases, &vary_at)?;
        }
        let columns = reference::metrics(root.get("published").as_ref())?;
        let metrics = read_metrics(table.as_ref(), columns, &groups)?;
        let over_runs = table.as_ref().and_then(|t| t.get("over-runs"));
        let over_runs = over_runs.map(|c| read_over_runs(&c, &groups)).transpose()?.unwrap_or_default();
        let mut labels = Labels::of(&cases, metrics, groups);
        let published =
            root.get("published").map(|c| Reference::read(&c, file, &labels.rows, &labels.groups));
        labels.published = unknown.kept(published.into_iter())?.pop();
        let note = unknown.kept(root.get("note").map(|c| read_prose(&c, &labels)).into_iter())?.pop();
        let claims = read_claims(&root, &labels, unknown)?;
        let reference = unknown.kept(std::iter::once(read_reference(&root, &labels)))?.pop();
        let (reference, why_reference, others) = reference.unwrap_or_default();
        Ok(Self {
            windows: match table {
                // A file without a table, like that of a manifest, may be read for any of its windows.
                None => labels.groups.windows.clone(),
                Some(_) => windows_of(
                    labels
                        .metrics
                        .iter()
                        .chain(over_runs.metric())
                        .chain(claims.iter().flat_map(Claim::metrics)),
                ),
            },
            reference,
            why_reference,
            biases: each(&root, "bias", unknown, |c| Bias::read(c, &labels))?,
            name: name.to_owned(),
            file: file.to_owned(),
            title,
            source,
            note: note.unwrap_or_default(),
            repetitions,
            others,
            seed,
            claims,
            misses: each(&root, "miss", unknown, |c| Miss::read(c, &labels))?,
            charts: read_charts(&root, &labels, &cases, unknown)?,
            metrics: labels.metrics,
            over_runs,
            groups: labels.groups.flows,
            published: labels.published,
            cases,
            document: Arc::new(document),
            sets: Vec::new(),
            unknown,
        })
    }

    /// Every combination of the varied values: the rows of the first variant, then those of the next.
    pub fn cases(&self) -> Vec<Case> {
        self.cases.clone()
    }

    /// Labels of flows that run beside others: their metrics are also taken alone.
    pub fn groups(&self) -> &[String] {
        &self.groups
    }

    /// The run of a case: `repetition` counts from 0.
    pub fn scenario(&self, case: &Case, repetition: u32) -> Scenario {
        case.setup.scenario(self.seed.wrapping_add(u64::from(repetition)), &self.windows)
    }

    /// The experiment file of one run alone, with every default written out.
    ///
    /// # Errors
    /// A value that TOML cannot hold.
    pub fn resolved(&self, case: &Case, seed: u64) -> Result<toml::Table, Diagnostic> {
        let names = [&self.name, &case.variant, &case.row].map(String::as_str);
        let names: Vec<_> = names.into_iter().filter(|name| !name.is_empty()).collect();
        // In a note, what stands in braces is a number of the run.
        let note = names.join(", ").replace('{', "(").replace('}', ")");
        let head = Head { title: &self.title, source: &self.source, note, seed };
        resolved::table(head, &case.setup).map_err(|e| Diagnostic::new(&self.file, e.to_string(), ""))
    }

    /// All that decides how its runs are read, and nothing that decides the runs: for telling two results apart.
    pub fn reading(&self) -> String {
        let table = (&self.title, &self.source, &self.note, &self.metrics, &self.over_runs, &self.published);
        let judgement = (&self.claims, &self.misses, &self.biases, &self.reference, &self.why_reference);
        format!("{table:?}{judgement:?}{:?}{:?}", self.charts, self.windows)
    }

    /// Its note, the reason of its reference, and those of its claims and known deviations.
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

    /// What the source prints for a cell.
    pub fn published(&self, row: &RowLabel, metric: &Metric) -> Option<f64> {
        self.published.as_ref()?.value(row, metric)
    }

    /// Why ours differs in a cell, if it is on record.
    pub fn miss(&self, variant: &str, row: &RowLabel, metric: &Metric) -> Option<&Miss> {
        self.misses.iter().find(|m| m.explains(variant, row, metric))
    }

    /// Whether a part of a claim holds on the source's own numbers: as its file says, else as they say.
    pub fn holds_published(&self, part: &Part) -> Option<bool> {
        part.holds_published.or_else(|| part.judged_by(self.published.as_ref()?).map(|(holds, _)| holds))
    }

    /// Runs of a case.
    pub fn repetitions_of(&self, case: &Case) -> u32 {
        let others = self.others.filter(|_| !self.is_reference(&case.variant));
        others.map_or(self.repetitions, |others| others.min(self.repetitions))
    }

    /// Whether the file's claims are judged in this variant.
    pub fn is_reference(&self, variant: &str) -> bool {
        self.reference.as_ref().is_none_or(|rows| rows.matches(variant))
    }
}

/// The cases, each of which can run, with what they take from their first flow.
fn checked(
    combinations: impl Iterator<Item = Combination>,
    groups: &mut Groups,
    file: &str,
    document: &Node,
) -> Result<Vec<Case>, Diagnostic> {
    let document = run_part(document);
    combinations.map(|combination| case_of(combination, groups, file, &document)).collect()
}

/// The file without what no run reads: each case changes a copy.
fn run_part(document: &Node) -> Node {
    let mut document = document.clone();
    if let Value::Table(entries) = &mut document.value {
        let unread = ["vary", "claim", "miss", "bias", "chart", "note"];
        entries.retain(|entry| !unread.contains(&entry.key.as_str()));
    }
    document
}

fn case_of(
    combination: Combination,
    groups: &mut Groups,
    file: &str,
    document: &Node,
) -> Result<Case, Diagnostic> {
    let Combination { variant, row, values, overrides } = combination;
    let setup = setup_of(file, document, &overrides)?;
    groups.add(setup.present().map(|flow| flow.config.group.as_str()));
    groups.add_links(setup.link_names.iter().chain(&setup.reverse_names).map(String::as_str));
    groups.add_windows(setup.windows.iter().map(|(name, ..)| name.as_str()));
    groups.add_udp(setup.udp.iter().map(|source| source.label.as_str()));
    let first = setup.present().next().map(|flow| flow.config.algorithm.name());
    Ok(Case {
        variant,
        row: if row.is_empty() { row_label(&setup) } else { row },
        algorithm: first.unwrap_or_default().to_owned(),
        values,
        on: Backend::Sim,
        setup: Arc::new(setup),
        overrides,
    })
}

/// The windows that these metrics are of, in their order.
fn windows_of<'m>(metrics: impl Iterator<Item = &'m Metric>) -> Vec<String> {
    let mut windows: Vec<String> = Vec::new();
    for window in metrics.filter_map(Metric::window) {
        if !windows.iter().any(|known| known == window) {
            windows.push(window.to_owned());
        }
    }
    windows
}

/// Results are found by these names.
fn check_names(cases: &[Case], vary_at: &Cursor<'_>) -> Result<(), Diagnostic> {
    let mut names = std::collections::BTreeSet::new();
    match cases.iter().find(|case| !names.insert((&case.variant, &case.row))) {
        Some(case) => {
            let wrong = format!("two combinations are called `{}`, `{}`", case.variant, case.row);
            Err(vary_at.problem(wrong, "give the values other labels"))
        }
        None => Ok(()),
    }
}

/// Of a run in which nothing varies: its flows' labels.
fn row_label(setup: &Setup) -> String {
    let mut labels: Vec<&str> = Vec::new();
    for flow in setup.present() {
        if !labels.contains(&flow.config.group.as_str()) {
            labels.push(&flow.config.group);
        }
    }
    labels.join(", ")
}

/// The file with these values in it, read.
fn setup_of(file: &str, document: &Node, overrides: &[Override]) -> Result<Setup, Diagnostic> {
    let mut document = document.clone();
    for o in overrides {
        let key = o.path.join(".");
        document.set(&o.path, &o.at, &o.value).map_err(|wrong| o.at.problem(file, &key, wrong, ""))?;
    }
    Setup::read(&Cursor::root(file, &document).table(&KEYS)?)
}

/// A line of the file may be wrong only because of an argument.
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

fn repetitions(cursor: &Cursor<'_>) -> Result<u32, Diagnostic> {
    let number: i64 = cursor.read()?;
    let fits = u32::try_from(number).ok().filter(|_| (1..=MAX_REPETITIONS).contains(&number));
    fits.ok_or_else(|| {
        cursor.invalid(format!("{number} repetitions"), format!("from 1 to {MAX_REPETITIONS}"))
    })
}

fn read_seed(root: &Fields<'_>) -> Result<u64, Diagnostic> {
    let Some(cursor) = root.get("seed") else { return Ok(1) };
    let seed: i64 = cursor.read()?;
    // TOML integers end at 2^63: the seed of the last repetition must fit too, for the manifest.
    let most = i64::MAX - MAX_REPETITIONS;
    let fits = u64::try_from(seed).ok().filter(|_| seed <= most);
    fits.ok_or_else(|| cursor.invalid(format!("the seed is {seed}"), format!("from 0 to {most}")))
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

/// `"mean"`, `"median"`, or `{ median-of = "goodput" }`.
fn read_over_runs(cursor: &Cursor<'_>, groups: &Groups) -> Result<OverRuns, Diagnostic> {
    if let Value::Table(_) = cursor.node().value {
        let fields = cursor.table(&["median-of"])?;
        let metric = fields.need("median-of", "the metric of which the run has the median")?;
        return groups.read_metric(&metric).map(OverRuns::MedianRun);
    }
    match cursor.word("way over the runs", &[("mean", false), ("median", true)])? {
        true => Ok(OverRuns::Median),
        false => Ok(OverRuns::Mean),
    }
}

/// Those that the file asks for; one that asks for none gets one that fits.
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
        let claim = Claim::read(cursor, labels)?;
        if ids.contains(&claim.id) {
            return Err(
                cursor.problem(format!("a second claim `{}`", claim.id), "give each an id of its own")
            );
        }
        ids.push(claim.id.clone());
        claim.parts.iter().try_for_each(|part| check_published(cursor, part, labels))?;
        Ok(claim)
    })
}

/// What a claim says of the published numbers is what they say.
fn check_published(cursor: &Cursor<'_>, part: &Part, labels: &Labels) -> Result<(), Diagnostic> {
    let published = labels.published.as_ref();
    let has_none = |row: &&RowLabel| published.and_then(|p| p.value(row, &part.metric)).is_none();
    if let Some(row) = part.rows_to_compare(&labels.rows).find(has_none) {
        let wrong = format!("no published {} of `{row}` to be near to", part.metric);
        return Err(cursor.problem(wrong, "name the metric in published.columns, and only rows that it has"));
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

/// `[reference]`: the variants that are what the source states, why they are, and how often the others run.
fn read_reference(
    root: &Fields<'_>,
    labels: &Labels,
) -> Result<(Option<Rows>, String, Option<u32>), Diagnostic> {
    let Some(cursor) = root.get("reference") else { return Ok((None, String::new(), None)) };
    let fields = cursor.table(&REFERENCE_KEYS)?;
    let variants =
        fields.need("variants", "the variants that are what the source states, like [\"hystart,*\"]")?;
    let why = fields.need("why", "what the source states, and where it is silent, whose default is taken")?;
    let others = fields.get("repetitions-of-others").map(|cursor| repetitions(&cursor)).transpose()?;
    Ok((Some(Rows::read(&variants, "variant", &labels.variants)?), read_prose(&why, labels)?, others))
}
