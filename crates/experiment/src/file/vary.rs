//! `[vary]`: the product of lists, and the names of its combinations.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::backend::Backend;
use crate::diagnostic::{Diagnostic, Reach, did_you_mean};
use crate::file::cursor::Cursor;
use crate::file::node::{At, Node, Value};
use crate::file::setup::Setup;
use crate::row::{self, RowLabel};
use units::{Bytes, Duration, Rate, split_number};

/// Cases of one experiment at most.
pub(crate) const MAX_CASES: usize = 10_000;

/// What may vary: it decides a run. The rest of a file says how to read the results.
const VARIABLE: &[&str] = &["duration", "transfer", "measure", "link", "reverse", "probe", "udp", "flow"];

/// Lists of tables: a number may follow.
const NUMBERED: &[&str] = &["flow", "udp", "link", "reverse"];

/// The key that rows come from if it varies and nothing else is said.
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
    /// The varied keys and what their values are called here, the key of the rows last.
    pub values: Vec<(String, String)>,
    /// Where it runs.
    pub on: Backend,
    pub(crate) setup: Arc<Setup>,
    pub(crate) overrides: Vec<Override>,
}

/// A combination that has not been read yet.
#[derive(Clone, Debug, Default)]
pub(crate) struct Combination {
    pub(crate) variant: String,
    pub(crate) row: String,
    pub(crate) values: Vec<(String, String)>,
    pub(crate) overrides: Vec<Override>,
}

impl Case {
    /// The same on another backend, as a row of its own.
    #[must_use]
    pub fn run_on(&self, backend: Backend) -> Self {
        Self { on: backend, ..self.clone() }
    }

    /// What its row is called in results.
    pub fn label(&self) -> RowLabel {
        RowLabel::new(&self.row, self.on)
    }
}

/// A value and the key that it goes to.
#[derive(Clone, Debug)]
pub(crate) struct Override {
    pub(crate) path: Vec<String>,
    pub(crate) at: At,
    pub(crate) value: Node,
}

/// A varied key, or an axis: a name for several keys that vary together.
#[derive(Clone, Debug)]
pub(crate) struct Varied {
    pub(crate) key: String,
    choices: Vec<Choice>,
}

#[derive(Clone, Debug)]
struct Choice {
    label: String,
    overrides: Vec<Override>,
}

/// `link.rate` as its parts.
pub(crate) fn path_of(key: &str) -> Vec<String> {
    key.split('.').map(|part| part.trim().to_owned()).collect()
}

/// The lists of `[vary]`, in the order of the file.
pub(crate) fn read(cursor: Option<&Cursor<'_>>) -> Result<Vec<Varied>, Diagnostic> {
    let Some(cursor) = cursor else { return Ok(Vec::new()) };
    let mut all = Vec::new();
    collect(cursor, "", &mut all)?;
    let cases = all.iter().try_fold(1_usize, |n, v: &Varied| n.checked_mul(v.choices.len()));
    if cases.is_none_or(|n| n > MAX_CASES) {
        return Err(cursor.problem("too many combinations", format!("at most {MAX_CASES} in one experiment")));
    }
    Ok(all)
}

/// Keys are dotted words in quotes; without the quotes TOML makes tables of them, which say the same.
fn collect(cursor: &Cursor<'_>, above: &str, all: &mut Vec<Varied>) -> Result<(), Diagnostic> {
    for (entry, below) in cursor.entries()? {
        let key = crate::file::node::join(above, &entry.key);
        if matches!(entry.node.value, Value::Table(_)) {
            collect(&below, &key, all)?;
            continue;
        }
        let choices = if is_axis(&key, &below) {
            read_axis(&below)?
        } else {
            check_key(&key, &entry.at, cursor.file())?;
            read_values(&key, &entry.at, &below)?
        };
        for o in choices.iter().flat_map(|c| &c.overrides) {
            let before = all.iter().flat_map(|v| &v.choices).flat_map(|c| &c.overrides);
            check_undone(o, before, cursor.file())?;
        }
        all.push(Varied { key, choices });
    }
    Ok(())
}

/// A name of the file's own, whose values say themselves what they set.
fn is_axis(key: &str, cursor: &Cursor<'_>) -> bool {
    let sets = |c: &Cursor<'_>| c.node().get("set").is_some();
    !VARIABLE.contains(&key) && cursor.list().is_ok_and(|list| list.iter().any(sets))
}

fn check_key(key: &str, at: &At, file: &str) -> Result<(), Diagnostic> {
    let root = key.split('.').next().unwrap_or("");
    if VARIABLE.contains(&root) && key.split('.').all(|part| !part.trim().is_empty()) {
        return Ok(());
    }
    let right = format!(
        "{}, each with a dotted key like \"link.rate\"; or a name of your own for keys that vary together, \
         {key} = [{{ label = \"...\", set = {{ \"link.rate\" = \"...\" }} }}]",
        did_you_mean(root, VARIABLE.iter().copied())
    );
    let problem = at.problem(file, &format!("vary.\"{key}\""), format!("`{root}` cannot vary"), right);
    Err(problem.reaching(Reach::Value))
}

/// A later key that contains an earlier one would undo it.
fn check_undone<'o>(
    new: &Override,
    mut before: impl Iterator<Item = &'o Override>,
    file: &str,
) -> Result<(), Diagnostic> {
    let undone = |o: &&Override| overlap(&o.path, &new.path) && new.path.len() <= o.path.len();
    match before.find(undone) {
        Some(o) => {
            let wrong = format!("undoes `{}`, which is set above", o.path.join("."));
            let right = "vary the longer key after the shorter one, and each once";
            Err(new.at.problem(file, &format!("vary.\"{}\"", new.path.join(".")), wrong, right))
        }
        None => Ok(()),
    }
}

/// What is right where two values are the same.
const SAME_TWICE: &str = "the same runs twice: leave one of them out";

fn read_values(key: &str, at: &At, cursor: &Cursor<'_>) -> Result<Vec<Choice>, Diagnostic> {
    let choice = |value: &Cursor<'_>| Ok(Choice::new(key, at, value.node()));
    let choices = distinct(cursor, choice, "{ label = \"...\", name = \"...\" }")?;
    let mut seen: BTreeMap<(String, u64), String> = BTreeMap::new();
    for value in cursor.filled_list()? {
        let text = label(value.node());
        let Some(quantity) = quantity(&text).filter(|_| !matches!(value.node().value, Value::Table(_)))
        else {
            continue;
        };
        if let Some(before) = seen.insert(quantity, text.clone()) {
            return Err(value.problem(format!("`{text}` is `{before}` again"), SAME_TWICE));
        }
    }
    Ok(choices)
}

/// Unit and number of a text, the same of `1 s` and `1000 ms`.
fn quantity(text: &str) -> Option<(String, u64)> {
    let known = |unit: &str, number: u64| (unit.to_owned(), number);
    let duration = text.parse().map(|Duration(ns)| known("ns", ns));
    duration
        .or_else(|_| text.parse().map(|Rate(bits)| known("bit/s", bits)))
        .or_else(|_| text.parse().map(|Bytes(bytes)| known("bytes", bytes)))
        .or_else(|_| split_number(text).map(|(number, unit)| known(unit, number.to_bits())))
        .ok()
}

fn read_axis(cursor: &Cursor<'_>) -> Result<Vec<Choice>, Diagnostic> {
    let right = "a value of an axis is { label = \"...\", set = { \"link.rate\" = \"...\" } }";
    let choice = |value: &Cursor<'_>| {
        let fields = value.table(&["label", "set"]).map_err(|e| e.with_right(right))?;
        let mut overrides = Vec::new();
        collect_sets(&fields.need("set", right)?, "", &mut overrides)?;
        let label: String = fields.need("label", right)?.read()?;
        Ok(Choice { label: label.trim().to_owned(), overrides })
    };
    distinct(cursor, choice, right)
}

/// Keys with dots, in quotes or as tables.
fn collect_sets(cursor: &Cursor<'_>, above: &str, all: &mut Vec<Override>) -> Result<(), Diagnostic> {
    for (entry, below) in cursor.entries()? {
        let key = crate::file::node::join(above, &entry.key);
        if matches!(entry.node.value, Value::Table(_)) && !is_value(&key, &entry.node) {
            collect_sets(&below, &key, all)?;
            continue;
        }
        check_key(&key, &entry.at, cursor.file())?;
        let new = Override { path: path_of(&key), at: entry.at.clone(), value: entry.node.clone() };
        check_undone(&new, all.iter(), cursor.file())?;
        all.push(new);
    }
    Ok(())
}

/// Tables that are values and no parts of a dotted key: what was there before is gone.
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
        if let Some(wrong) = row::refused(&choice.label) {
            return Err(value.invalid(wrong, "give it another label"));
        }
        if choices.iter().any(|c| c.label == choice.label) {
            let right = match value.node().value {
                Value::Table(_) => format!("give each a label of its own: {right}"),
                _ => SAME_TWICE.to_owned(),
            };
            return Err(value.problem(format!("two values are called `{}`", choice.label), right));
        }
        choices.push(choice);
    }
    Ok(choices)
}

impl Choice {
    fn new(key: &str, at: &At, node: &Node) -> Self {
        let mut value = node.clone();
        let label = label(node);
        // Only a controller has a label of its own; elsewhere it names the value and is none of its keys.
        if let (Value::Table(entries), false) = (&mut value.value, key.ends_with("controller")) {
            entries.retain(|e| e.key != "label");
        }
        Self { label, overrides: vec![Override { path: path_of(key), at: at.clone(), value }] }
    }
}

/// What a value is called: its label, its name, or itself.
fn label(node: &Node) -> String {
    let named = node.get("label").or_else(|| node.get("name")).and_then(Node::as_str);
    match named.or_else(|| node.as_str()) {
        Some(text) => text.trim().to_owned(),
        None => node.to_toml().to_string(),
    }
}

/// The key whose values are the rows, as `[table]` says or by default.
pub(crate) fn rows_key<'v>(
    varied: &'v [Varied],
    cursor: Option<&Cursor<'_>>,
) -> Result<Option<&'v Varied>, Diagnostic> {
    let Some(cursor) = cursor else {
        return Ok(varied.iter().find(|v| v.key == CONTROLLER).or(varied.first()));
    };
    let key: String = cursor.read()?;
    let known = varied.iter().map(|v| v.key.as_str());
    let found = varied.iter().find(|v| v.key == key);
    found.map(Some).ok_or_else(|| {
        let right = format!("rows are the values of a key of [vary]; {}", did_you_mean(&key, known));
        cursor.problem(format!("`{key}` does not vary"), right)
    })
}

/// Every combination: variants one after the other, their rows together, each in the order of the file.
pub(crate) fn combinations(varied: &[Varied], rows: Option<&Varied>) -> Vec<Combination> {
    let mut cases = vec![Combination::default()];
    let is_row = |v: &Varied| rows.is_some_and(|r| r.key == v.key);
    let names = short_names(&varied.iter().map(|v| v.key.as_str()).collect::<Vec<_>>());
    for (v, name) in varied.iter().zip(&names).filter(|(v, _)| !is_row(v)) {
        cases = extend(&cases, v, |case, label| {
            let separator = if case.variant.is_empty() { "" } else { ", " };
            case.variant = format!("{}{separator}{name} = {label}", case.variant);
        });
    }
    match rows {
        Some(v) => extend(&cases, v, |case, label| case.row = label.to_owned()),
        None => cases,
    }
}

fn extend(cases: &[Combination], varied: &Varied, name: impl Fn(&mut Combination, &str)) -> Vec<Combination> {
    let mut all = Vec::new();
    for case in cases {
        for choice in &varied.choices {
            let mut next = case.clone();
            name(&mut next, &choice.label);
            next.values.push((varied.key.clone(), choice.label.clone()));
            next.overrides.extend(choice.overrides.iter().cloned());
            all.push(next);
        }
    }
    all
}

/// Whether two keys speak of the same value, or one of a part of the other's. `flow.` is every flow, so that of any
/// number too; `udp.` and `link.` likewise.
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

/// For each key its last part, or as many as tell it from the others.
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
