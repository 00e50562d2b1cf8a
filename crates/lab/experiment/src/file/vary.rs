//! `[vary]`: the product of lists, and the names of its combinations.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use congestion::Registry;

use crate::controllers;
use crate::diagnostic::{Diagnostic, Reach, did_you_mean};
use crate::file::cursor::Cursor;
use crate::file::node::{Entry, Node, Origin, Value};
use crate::file::range::{Range, latin_hypercube};
use crate::file::setup::Setup;
use crate::place::Place;
use crate::row::{self, RowLabel};
use units::{Bytes, Duration, Rate, split_number};

/// Most cases of one experiment.
pub(crate) const MAX_CASES: usize = 10_000;

/// Keys that may vary, because they affect a run. The other keys describe how to read the results.
pub(crate) const VARIABLE: &[&str] =
    &["duration", "transfer", "measure", "link", "reverse", "probe", "udp", "flow"];

/// Lists of tables, whose name may be followed by an index.
const NUMBERED: &[&str] = &["flow", "udp", "link", "reverse"];

/// The key whose values are the rows by default, if it varies.
const CONTROLLER: &str = "flow.controller";

/// One combination of the varied values.
#[derive(Clone, Debug)]
pub struct Case {
    /// The variant's name, `limit-counts = queue+delay`; empty if only the rows vary.
    pub variant: String,
    /// The row's label in the file, `QUIC-DC 10`.
    pub row: String,
    /// The name of the first flow's algorithm, `quic-dc`.
    pub algorithm: String,
    /// Varied keys with the labels of their values, the key of the rows last.
    pub values: Vec<(String, String)>,
    /// Place that runs it.
    pub on: Place,
    pub(crate) setup: Arc<Setup>,
    pub(crate) overrides: Vec<Arc<Override>>,
}

/// A combination before it is read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Combination {
    pub(crate) variant: String,
    pub(crate) row: String,
    pub(crate) values: Vec<(String, String)>,
    pub(crate) overrides: Vec<Arc<Override>>,
}

impl Case {
    /// Returns the same case on another backend, as a row of its own.
    #[must_use]
    pub fn run_on(&self, backend: Place) -> Self {
        Self { on: backend, ..self.clone() }
    }

    /// Returns the label of its row in results.
    pub fn label(&self) -> RowLabel {
        RowLabel::new(&self.row, self.on)
    }
}

/// A value and the key that it sets.
#[derive(Clone, Debug)]
pub(crate) struct Override {
    pub(crate) path: Vec<String>,
    pub(crate) at: Origin,
    pub(crate) value: Node,
}

impl Override {
    /// Creates the override by a value of a range: a number, or a text with its unit.
    fn new(key: &str, at: &Origin, value: &str) -> Self {
        Self { path: path_of(key), at: at.clone(), value: Node::argument(at, value) }
    }
}

/// A varied key, an axis (a name for several keys that vary together), or the keys of a sample.
#[derive(Clone, Debug)]
pub(crate) struct Varied {
    pub(crate) keys: Vec<String>,
    choices: Vec<Choice>,
}

#[derive(Clone, Debug)]
struct Choice {
    /// One label for each key.
    labels: Vec<String>,
    overrides: Vec<Arc<Override>>,
}

/// The key of `[vary]` that says how many points its ranges have together.
const SAMPLE: &str = "sample";

/// Splits a dotted key such as `link.rate`.
pub(crate) fn path_of(key: &str) -> Vec<String> {
    key.split('.').map(|part| part.trim().to_owned()).collect()
}

/// Reads the lists of `[vary]`, in file order.
pub(crate) fn read(cursor: Option<&Cursor<'_>>) -> Result<Vec<Varied>, Diagnostic> {
    let Some(cursor) = cursor else { return Ok(Vec::new()) };
    let sample = cursor.get(SAMPLE).map(|at| Sample::read(&at)).transpose()?;
    let mut all = Vec::new();
    collect(cursor, "", sample.as_ref(), &mut all)?;
    if let Some(sample) = sample {
        let drawn = sample.drawn()?;
        let point = drawn.choices.first().map_or(&[][..], |choice| &choice.overrides);
        let before = || all.iter().flat_map(|v| &v.choices).flat_map(|c| &c.overrides);
        for (i, set) in point.iter().enumerate() {
            check_overwritten(set, before().chain(&point[..i]), cursor.file())?;
        }
        all.push(drawn);
    }
    let cases = all.iter().try_fold(1_usize, |n, v: &Varied| n.checked_mul(v.choices.len()));
    if cases.is_none_or(|n| n > MAX_CASES) {
        return Err(too_many(cursor));
    }
    Ok(all)
}

fn too_many(cursor: &Cursor<'_>) -> Diagnostic {
    cursor.problem("too many combinations", format!("at most {MAX_CASES} in one experiment"))
}

/// Points that the ranges of `[vary]` have together.
struct Sample<'a> {
    at: Cursor<'a>,
    count: usize,
    seed: u64,
    ranges: RefCell<Vec<(String, Origin, Range)>>,
}

impl<'a> Sample<'a> {
    /// Reads `100`, or `{ count = 100, seed = 2 }`.
    fn read(at: &Cursor<'a>) -> Result<Self, Diagnostic> {
        let number = |at: &Cursor<'_>, least: usize| -> Result<usize, Diagnostic> {
            let number: i64 = at.read()?;
            let right = format!("write a number from {least} to {MAX_CASES}");
            let inside = usize::try_from(number).ok().filter(|n| (least..=MAX_CASES).contains(n));
            inside.ok_or_else(|| at.invalid(format!("{number} is out of range"), right))
        };
        let (count, seed) = match &at.node().value {
            Value::Table(_) => {
                let right = "write the number of points, like { count = 100, seed = 2 }";
                let fields = at.table(&["count", "seed"])?;
                let seed = fields.get("seed").map_or(Ok(1), |seed| number(&seed, 0))?;
                (number(&fields.need("count", right)?, 2)?, seed)
            }
            _ => (number(at, 2)?, 1),
        };
        Ok(Self { at: at.clone(), count, seed: seed as u64, ranges: RefCell::default() })
    }

    /// Draws the points.
    fn drawn(self) -> Result<Varied, Diagnostic> {
        let ranges = self.ranges.into_inner();
        if ranges.is_empty() {
            let right = "write ranges to sample, like \"link.rate\" = \"1..100 Mbit/s\", or remove `sample`";
            return Err(self.at.problem("no key of [vary] has a range", right));
        }
        let bounds: Vec<Range> = ranges.iter().map(|(.., range)| range.clone()).collect();
        let choice = |labels: Vec<String>| {
            let set = |((key, at, _), label): (&(String, Origin, Range), &String)| {
                Arc::new(Override::new(key, at, label))
            };
            Choice { overrides: ranges.iter().zip(&labels).map(set).collect(), labels }
        };
        let choices = latin_hypercube(&bounds, self.count, self.seed).into_iter().map(choice).collect();
        Ok(Varied { keys: ranges.iter().map(|(key, ..)| key.clone()).collect(), choices })
    }
}

/// Returns the range of an entry, if it is a text with two dots.
fn range(entry: &Entry, at: &Cursor<'_>) -> Result<Option<Range>, Diagnostic> {
    let Some(text) = entry.node.as_str().filter(|text| text.contains("..")) else { return Ok(None) };
    let refuse = |wrong| at.invalid(wrong, "write a range like \"0.1..8 BDP\", or a list");
    Range::parse(text).map(Some).map_err(refuse)
}

/// Collects varied keys. They are dotted names in quotes; without quotes, TOML turns them into
/// tables, which mean the same.
fn collect(
    cursor: &Cursor<'_>,
    above: &str,
    sample: Option<&Sample<'_>>,
    all: &mut Vec<Varied>,
) -> Result<(), Diagnostic> {
    for (entry, below) in cursor.entries()? {
        let key = crate::file::node::join(above, &entry.key);
        if key == SAMPLE {
            continue;
        }
        if matches!(entry.node.value, Value::Table(_)) {
            collect(&below, &key, sample, all)?;
            continue;
        }
        let range = range(entry, &below)?;
        if let (Some(sample), Some(range)) = (sample, &range) {
            check_key(&key, &entry.at, cursor.file())?;
            sample.ranges.borrow_mut().push((key, entry.at.clone(), range.clone()));
            continue;
        }
        // Before the values are read, which takes a while.
        if matches!(&entry.node.value, Value::Array(list) if list.len() > MAX_CASES) {
            return Err(too_many(&below));
        }
        let choices = if let Some(range) = range {
            check_key(&key, &entry.at, cursor.file())?;
            range.steps().into_iter().map(|value| Choice::stepped(&key, &entry.at, value)).collect()
        } else if is_axis(&key, &below) {
            read_axis(&below)?
        } else {
            check_key(&key, &entry.at, cursor.file())?;
            read_values(&key, &entry.at, &below)?
        };
        for o in choices.iter().flat_map(|c| &c.overrides) {
            let before = all.iter().flat_map(|v| &v.choices).flat_map(|c| &c.overrides);
            check_overwritten(o, before, cursor.file())?;
        }
        all.push(Varied { keys: vec![key], choices });
    }
    Ok(())
}

/// Reports whether the key is an axis: a name chosen by the file, whose values list the keys that
/// they set.
fn is_axis(key: &str, cursor: &Cursor<'_>) -> bool {
    let sets = |c: &Cursor<'_>| c.node().get("set").is_some();
    !VARIABLE.contains(&key) && cursor.list().is_ok_and(|list| list.iter().any(sets))
}

fn check_key(key: &str, at: &Origin, file: &str) -> Result<(), Diagnostic> {
    let root = key.split('.').next().unwrap_or("");
    if VARIABLE.contains(&root) && key.split('.').all(|part| !part.trim().is_empty()) {
        return Ok(());
    }
    let right = format!(
        "{}, each with a dotted key like \"link.rate\"; or use a name of your own for keys that vary together, \
         {key} = [{{ label = \"...\", set = {{ \"link.rate\" = \"...\" }} }}]",
        did_you_mean(root, VARIABLE.iter().copied())
    );
    let problem = at.problem(file, &format!("vary.\"{key}\""), format!("`{root}` cannot vary"), right);
    Err(problem.reaching(Reach::Value))
}

/// Refuses a later key that contains an earlier one, because it would overwrite it.
fn check_overwritten<'o>(
    new: &Override,
    mut before: impl Iterator<Item = &'o Arc<Override>>,
    file: &str,
) -> Result<(), Diagnostic> {
    let undone = |o: &&Arc<Override>| overlap(&o.path, &new.path) && new.path.len() <= o.path.len();
    match before.find(undone) {
        Some(o) => {
            let wrong = format!("overwrites `{}`, which is set above", o.path.join("."));
            let right = "set each key once, and a shorter key before a longer one";
            Err(new.at.problem(file, &format!("vary.\"{}\"", new.path.join(".")), wrong, right))
        }
        None => Ok(()),
    }
}

/// Advice if two values are the same.
const DUPLICATE_VALUE: &str = "the runs would be the same: remove one of them";

fn read_values(key: &str, at: &Origin, cursor: &Cursor<'_>) -> Result<Vec<Choice>, Diagnostic> {
    let choice = |value: &Cursor<'_>| Ok(Choice::new(key, at, value));
    let choices = distinct(cursor, choice, "{ label = \"...\", name = \"...\" }")?;
    let mut seen: BTreeMap<(String, u64), String> = BTreeMap::new();
    for value in cursor.filled_list()? {
        let text = label(value.node());
        let Some(quantity) = quantity(&text).filter(|_| !matches!(value.node().value, Value::Table(_)))
        else {
            continue;
        };
        if let Some(before) = seen.insert(quantity, text.clone()) {
            return Err(value.problem(format!("`{text}` equals `{before}`"), DUPLICATE_VALUE));
        }
    }
    Ok(choices)
}

/// Returns unit and number of a text. They are equal for `1 s` and `1000 ms`.
pub(crate) fn quantity(text: &str) -> Option<(String, u64)> {
    let known = |unit: &str, number: u64| (unit.to_owned(), number);
    let duration = text.parse().map(|Duration(ns)| known("ns", ns));
    duration
        .or_else(|_| text.parse().map(|Rate(bits)| known("bit/s", bits)))
        .or_else(|_| text.parse().map(|Bytes(bytes)| known("bytes", bytes)))
        .or_else(|_| split_number(text).map(|(number, unit)| known(unit, number.to_bits())))
        .ok()
}

fn read_axis(cursor: &Cursor<'_>) -> Result<Vec<Choice>, Diagnostic> {
    let right = "write a value of an axis as { label = \"...\", set = { \"link.rate\" = \"...\" } }";
    let choice = |value: &Cursor<'_>| {
        let fields = value.table(&["label", "set"]).map_err(|e| e.with_right(right))?;
        let mut overrides = Vec::new();
        collect_sets(&fields.need("set", right)?, "", &mut overrides)?;
        let label: String = fields.need("label", right)?.read()?;
        Ok(Choice { labels: vec![label.trim().to_owned()], overrides })
    };
    distinct(cursor, choice, right)
}

/// Collects keys with dots, in quotes or as tables.
fn collect_sets(cursor: &Cursor<'_>, above: &str, all: &mut Vec<Arc<Override>>) -> Result<(), Diagnostic> {
    for (entry, below) in cursor.entries()? {
        let key = crate::file::node::join(above, &entry.key);
        if matches!(entry.node.value, Value::Table(_)) && !is_value(&key, &entry.node) {
            collect_sets(&below, &key, all)?;
            continue;
        }
        check_key(&key, &entry.at, cursor.file())?;
        let new = Override { path: path_of(&key), at: entry.at.clone(), value: entry.node.clone() };
        check_overwritten(&new, all.iter(), cursor.file())?;
        all.push(Arc::new(new));
    }
    Ok(())
}

/// Reports whether a table is a value and not part of a dotted key. It then replaces the previous
/// value.
fn is_value(key: &str, table: &Node) -> bool {
    match key.rsplit('.').next() {
        Some("controller" | "aqm") => table.get("name").is_some(),
        Some("reorder" | "rate" | "on-off") => true,
        _ => false,
    }
}

fn distinct(
    cursor: &Cursor<'_>,
    choice: impl Fn(&Cursor<'_>) -> Result<Choice, Diagnostic>,
    right: &str,
) -> Result<Vec<Choice>, Diagnostic> {
    let mut choices: Vec<Choice> = Vec::new();
    for value in cursor.filled_list()? {
        let choice = choice(&value)?;
        if let Some(wrong) = row::reserved(choice.label()) {
            return Err(value.invalid(wrong, "choose another label"));
        }
        if choices.iter().any(|c| c.labels == choice.labels) {
            let right = match value.node().value {
                Value::Table(_) => format!("give each its own label: {right}"),
                _ => DUPLICATE_VALUE.to_owned(),
            };
            return Err(value.problem(format!("two values have the label `{}`", choice.label()), right));
        }
        choices.push(choice);
    }
    Ok(choices)
}

impl Choice {
    fn new(key: &str, at: &Origin, cursor: &Cursor<'_>) -> Self {
        let node = cursor.node();
        let mut value = node.clone();
        let is_controller = key.ends_with("controller");
        let label = if is_controller { controller_label(cursor.controllers(), node) } else { label(node) };
        // Only controllers have a key `label`. Elsewhere it names the value and is removed.
        if let (Value::Table(entries), false) = (&mut value.value, is_controller) {
            entries.retain(|e| e.key != "label");
        }
        let only = Override { path: path_of(key), at: at.clone(), value };
        Self { labels: vec![label], overrides: vec![Arc::new(only)] }
    }

    /// Creates a value of a range.
    fn stepped(key: &str, at: &Origin, value: String) -> Self {
        Self { overrides: vec![Arc::new(Override::new(key, at, &value))], labels: vec![value] }
    }

    /// Returns the first label, the only one unless several keys are sampled.
    fn label(&self) -> &str {
        self.labels.first().map_or("", String::as_str)
    }
}

/// Returns the label of a value: its `label`, its `name`, or its text.
fn label(node: &Node) -> String {
    let named = node.get("label").or_else(|| node.get("name")).and_then(Node::as_str);
    match named.or_else(|| node.as_str()) {
        Some(text) => text.trim().to_owned(),
        None => node.to_toml().to_string(),
    }
}

/// Returns the label of a controller: its `label`, or the canonical name of its algorithm.
pub(crate) fn controller_label(controllers: &Registry, node: &Node) -> String {
    let text = label(node);
    let entry = controllers::find(controllers, &text).filter(|_| node.get("label").is_none());
    entry.map_or(text, |entry| entry.name.to_owned())
}

/// Returns the key whose values are the rows, as `[table]` says or by default.
pub(crate) fn rows_key<'v>(
    varied: &'v [Varied],
    cursor: Option<&Cursor<'_>>,
) -> Result<Option<&'v Varied>, Diagnostic> {
    let Some(cursor) = cursor else {
        let alone = || varied.iter().find(|v| v.keys.len() == 1);
        return Ok(varied.iter().find(|v| v.keys == [CONTROLLER]).or_else(alone));
    };
    let key: String = cursor.read()?;
    let known = varied.iter().filter(|v| v.keys.len() == 1).map(|v| v.keys[0].as_str());
    let found = varied.iter().find(|v| v.keys == [key.as_str()]);
    found.map(Some).ok_or_else(|| {
        if varied.is_empty() {
            let wrong = format!("`{key}` does not vary: the file has no [vary]");
            return cursor.problem(wrong, "add a key to [vary] or remove `rows`");
        }
        let right = format!("choose a key of [vary]; {}", did_you_mean(&key, known));
        cursor.problem(format!("`{key}` does not vary"), right)
    })
}

/// Returns every combination: all rows of the first variant, then those of the next, each in file
/// order.
pub(crate) fn combinations(varied: &[Varied], rows: Option<&Varied>) -> Vec<Combination> {
    let mut cases = vec![Combination::default()];
    let is_row = |v: &Varied| rows.is_some_and(|r| r.keys == v.keys);
    let mut names =
        short_names(&varied.iter().flat_map(|v| &v.keys).map(String::as_str).collect::<Vec<_>>()).into_iter();
    for v in varied {
        let names: Vec<String> = names.by_ref().take(v.keys.len()).collect();
        if is_row(v) {
            continue;
        }
        cases = extend(&cases, v, |case, labels| {
            for (name, label) in names.iter().zip(labels) {
                let separator = if case.variant.is_empty() { "" } else { ", " };
                case.variant = format!("{}{separator}{name} = {label}", case.variant);
            }
        });
    }
    match rows {
        Some(v) => extend(&cases, v, |case, labels| case.row = labels.join(", ")),
        None => cases,
    }
}

fn extend(
    cases: &[Combination],
    varied: &Varied,
    name: impl Fn(&mut Combination, &[String]),
) -> Vec<Combination> {
    let mut all = Vec::new();
    for case in cases {
        for choice in &varied.choices {
            let mut next = case.clone();
            name(&mut next, &choice.labels);
            next.values.extend(varied.keys.iter().cloned().zip(choice.labels.iter().cloned()));
            next.overrides.extend(choice.overrides.iter().cloned());
            all.push(next);
        }
    }
    all
}

/// Reports whether two keys refer to the same value, or one to a part of the other's. `flow.` means
/// every flow, and so does `udp.` and `link.` for theirs. It therefore overlaps with any index.
pub(crate) fn overlap(a: &[String], b: &[String]) -> bool {
    let bare = |path: &[String]| -> Vec<String> {
        let numbered = path.first().is_some_and(|root| NUMBERED.contains(&root.as_str()))
            && path.get(1).is_some_and(|p| p.parse::<usize>().is_ok());
        path.iter()
            .enumerate()
            .filter(|(i, _)| !(numbered && *i == 1))
            .map(|(_, part)| part.clone())
            .collect()
    };
    let number = |path: &[String]| path.get(1).and_then(|p| p.parse::<usize>().ok());
    let other_flow = number(a).zip(number(b)).is_some_and(|(a, b)| a != b);
    !other_flow && bare(a).iter().zip(&bare(b)).all(|(a, b)| a == b)
}

/// Returns for each key its last part, or as many parts as make it unique.
pub(crate) fn short_names(keys: &[&str]) -> Vec<String> {
    let suffix = |key: &str, parts: usize| {
        let all: Vec<&str> = key.split('.').collect();
        all[all.len().saturating_sub(parts)..].join(".")
    };
    let unique =
        |key: &str, parts| keys.iter().filter(|k| suffix(k, parts) == suffix(key, parts)).count() == 1;
    keys.iter()
        .map(|key| {
            let most = key.split('.').count();
            let parts = (1..most).find(|parts| unique(key, *parts)).unwrap_or(most);
            suffix(key, parts)
        })
        .collect()
}
