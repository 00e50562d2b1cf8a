//! The `controller` of a flow: an algorithm with its parameters, and optionally a label.

use congestion::hystart::Kind;
use congestion::{Algorithm, ParamDoc};

use crate::problem::Problem;
use crate::spec::cursor::Cursor;
use crate::spec::merge::merge;

/// An algorithm and what tables call it.
#[derive(Clone, Debug)]
pub(crate) struct Controller {
    pub(crate) label: Option<String>,
    pub(crate) algorithm: Algorithm,
}

const RIGHT: &str =
    "a controller is { name = \"cubic\" } with its parameters, or just \"cubic\"; see `kneepoint algorithms`";

impl Controller {
    /// `slow_start` is that of the flow: the default of every algorithm that has this parameter.
    pub(crate) fn read(cursor: &Cursor<'_>, slow_start: Option<&Cursor<'_>>) -> Result<Self, Problem> {
        let slow_start: Option<Kind> = slow_start.map(Cursor::read).transpose()?;
        let named = |cursor: &Cursor<'_>, name: &str| Ok(starting(named(cursor, name)?, slow_start));
        if let Some(name) = cursor.node().as_str() {
            return Ok(Self { label: None, algorithm: named(cursor, name)? });
        }
        let entries = cursor.entries().map_err(|_| cursor.problem("not a controller", RIGHT))?;
        let find = |key: &str| entries.iter().find(|(e, _)| e.key == key).map(|(_, below)| below);
        let name_at = find("name").ok_or_else(|| cursor.problem("`name` is missing", RIGHT))?;
        let default = named(name_at, &name_at.read::<String>()?)?;
        check_numbers(cursor, default.params())?;
        let label = find("label").map(label).transpose()?;
        Ok(Self { label, algorithm: merge(&default, cursor, &["name", "label"], |_| Ok(()))? })
    }
}

fn named(cursor: &Cursor<'_>, name: &str) -> Result<Algorithm, Problem> {
    let all = Algorithm::all();
    let known = all.iter().map(Algorithm::name);
    all.iter().find(|a| a.name() == name).cloned().ok_or_else(|| cursor.unknown("algorithm", name, known))
}

/// With another default for slow start, if the algorithm has one to choose.
fn starting(algorithm: Algorithm, slow_start: Option<Kind>) -> Algorithm {
    const KEY: &str = "slow-start";
    let Some(word) = slow_start.and_then(|kind| toml::Value::try_from(kind).ok()) else { return algorithm };
    let mut table = toml::Table::try_from(&algorithm).unwrap_or_default();
    if table.insert(KEY.to_owned(), word).is_none() {
        return algorithm;
    }
    toml::Value::Table(table).try_into().unwrap_or(algorithm)
}

pub(crate) fn label(cursor: &Cursor<'_>) -> Result<String, Problem> {
    let label: String = cursor.read()?;
    let empty = || label.trim().is_empty().then(|| "the label is empty".to_owned());
    match empty().or_else(|| crate::world::World::objection(&label)) {
        Some(wrong) => Err(cursor.problem(wrong, "give it another label")),
        None => Ok(label),
    }
}

/// Each number against the range that its parameter declares; also those of a controller inside (`base`).
fn check_numbers(cursor: &Cursor<'_>, params: &[ParamDoc]) -> Result<(), Problem> {
    for (entry, below) in cursor.entries()? {
        let Some(param) = params.iter().find(|p| p.name.replace('_', "-") == entry.key) else { continue };
        match param.keys {
            [] => check_value(&below, &below.node().to_toml(), param)?,
            keys => check_numbers(&below, keys)?,
        }
    }
    Ok(())
}

/// A number, or each of an array.
fn check_value(cursor: &Cursor<'_>, value: &toml::Value, param: &ParamDoc) -> Result<(), Problem> {
    if let toml::Value::Array(values) = value {
        return values.iter().try_for_each(|value| check_value(cursor, value, param));
    }
    let range = param.allowed();
    match value.as_float().or_else(|| value.as_integer().map(|n| n as f64)) {
        Some(n) if !range.contains(n) => {
            Err(cursor.problem(format!("`{value}` is out of range"), format!("allowed: {range}")))
        }
        _ => Ok(()),
    }
}
