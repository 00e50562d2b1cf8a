//! The `controller` of a flow: an algorithm with its parameters, and optionally a label.

use congestion::Algorithm;
use congestion::hystart::Kind;

use crate::problem::Problem;
use crate::spec::cursor::Cursor;
use crate::spec::merge::merge;

/// An algorithm and what tables call it.
#[derive(Clone, Debug)]
pub(crate) struct Controller {
    pub(crate) label: Option<String>,
    pub(crate) algorithm: Algorithm,
}

/// Packets. A run that begins with more at once would fill the memory before it does anything else.
const MAX_WINDOW: f64 = 1e6;

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
        let usual = toml::Table::try_from(&default).unwrap_or_default();
        check_numbers(cursor, &usual)?;
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
    if label.trim().is_empty() { Err(cursor.problem("the label is empty", "")) } else { Ok(label) }
}

/// Also those of a controller inside (`base`).
fn check_numbers(cursor: &Cursor<'_>, usual: &toml::Table) -> Result<(), Problem> {
    for (entry, below) in cursor.entries()? {
        let default = usual.get(&entry.key);
        if let Some(toml::Value::Table(inner)) = default {
            check_numbers(&below, inner)?;
            continue;
        }
        refuse_odd_number(&below)?;
        refuse_out_of_range(&entry.key, default, &below)?;
    }
    Ok(())
}

/// What parameters of these names have in common in every algorithm: a factor that shrinks is below 1, a window holds a
/// packet, a gain and CUBIC's C are above 0.
fn refuse_out_of_range(key: &str, usual: Option<&toml::Value>, cursor: &Cursor<'_>) -> Result<(), Problem> {
    let value = cursor.node().to_toml();
    let Some(number) = value.as_float().or_else(|| value.as_integer().map(|n| n as f64)) else {
        return Ok(());
    };
    let usual = usual.and_then(|v| v.as_float().or_else(|| v.as_integer().map(|n| n as f64))).unwrap_or(0.0);
    let shrinks = key.contains("beta") && usual > 0.0 && usual < 1.0;
    let wrong = if shrinks && !(number > 0.0 && number < 1.0) {
        "a share of the window: above 0, below 1"
    } else if (key.contains("window") || key.ends_with("cwnd")) && !(1.0..=MAX_WINDOW).contains(&number) {
        "a window: from 1 to 1000000 packets"
    } else if (key == "c" || key.contains("gain")) && !(number > 0.0 && number <= 1e6) {
        "above 0, at most 1000000"
    } else {
        return Ok(());
    };
    Err(cursor.problem(format!("`{value}` is out of range"), wrong))
}

/// No parameter of any algorithm is negative, infinite or no number at all.
fn refuse_odd_number(cursor: &Cursor<'_>) -> Result<(), Problem> {
    let value = cursor.node().to_toml();
    let number = value.as_float().or_else(|| value.as_integer().map(|n| n as f64));
    match number {
        Some(n) if n < 0.0 => Err(cursor.problem(format!("`{n}` is negative"), "")),
        Some(n) if !n.is_finite() => Err(cursor.problem(format!("`{n}` is not a finite number"), "")),
        _ => Ok(()),
    }
}
