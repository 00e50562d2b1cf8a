//! Reads the `controller` of a flow: an algorithm with its parameters, and optionally a label.

use congestion::components::slow_start::Kind;
use congestion::{Algorithm, Entry, ParamDoc};
use units::{Duration, Rate, split_number};

use crate::controllers::{find, refusal};
use crate::diagnostic::Diagnostic;
use crate::file::cursor::{Cursor, error_text};
use crate::file::merge::{merge_as, put_at};
use crate::file::node::{Node, Value};

/// An algorithm and its name in tables.
#[derive(Clone, Debug)]
pub(crate) struct Controller {
    pub(crate) label: Option<String>,
    /// Delays given as a share of the buffer are 0 until [`Shares::resolve`].
    pub(crate) algorithm: Algorithm,
    pub(crate) shares: Shares,
}

/// The parameters given as a share of the buffer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shares(Vec<Share>);

/// A delay given as a share of the bottleneck's buffer: `"20 % of buffer"`.
#[derive(Clone, Debug)]
struct Share {
    path: Vec<String>,
    percent: f64,
}

/// Unit of a share of the buffer.
const SHARE_UNIT: &str = "% of buffer";

const RIGHT: &str =
    "write \"cubic\", or { name = \"cubic\", ... } with parameters; see `ackclock algorithms`";

impl Controller {
    /// Reads a controller. `slow_start` is the flow's: it is the default of every algorithm with
    /// this parameter.
    pub(crate) fn read(cursor: &Cursor<'_>, slow_start: Option<&Cursor<'_>>) -> Result<Self, Diagnostic> {
        let slow_start: Option<Kind> = slow_start.map(Cursor::read).transpose()?;
        if let Some(name) = cursor.node().as_str() {
            let algorithm = starting(named(cursor, name)?, slow_start);
            return Ok(Self { label: None, algorithm, shares: Shares::default() });
        }
        let name_at = cursor.name(RIGHT)?;
        let entry = named(&name_at, &name_at.read::<String>()?)?;
        check_numbers(cursor, entry.params)?;
        let label = cursor.get("label").map(|at| label(&at)).transpose()?;
        let mut shares = Vec::new();
        let node = without_shares(cursor, &mut Vec::new(), &mut shares)?;
        let default = starting(entry, slow_start);
        let algorithm = merge_as(
            &default,
            &cursor.over(&node),
            &["name", "label"],
            |table| read(entry, table),
            |_| Ok(()),
        )?;
        // Delays that are shares of the buffer are not known yet, and stand for 0.
        let is_share = |key: &str| shares.iter().any(|share| share.path == [key]);
        check_limits(cursor, &algorithm, is_share)?;
        Ok(Self { label, algorithm, shares: Shares(shares) })
    }
}

impl Shares {
    /// Returns the path of the first parameter.
    pub(crate) fn first(&self) -> Option<&[String]> {
        self.0.first().map(|share| &share.path[..])
    }

    /// Returns the algorithm with its shares replaced by delays for this buffer.
    pub(crate) fn resolve(&self, algorithm: &Algorithm, buffer: Duration) -> Result<Algorithm, String> {
        let mut table = toml::Table::try_from(algorithm).map_err(|e| e.to_string())?;
        for Share { path, percent } in &self.0 {
            let delay = buffer.mul_f64(percent / 100.0).to_string();
            put_at(&mut table, path, toml::Value::String(delay));
        }
        read(algorithm.entry(), table)
    }
}

/// Returns the value with 0 in place of every share of the buffer, and collects the shares.
fn without_shares(
    cursor: &Cursor<'_>,
    path: &mut Vec<String>,
    shares: &mut Vec<Share>,
) -> Result<Node, Diagnostic> {
    let mut node = cursor.node().clone();
    match &mut node.value {
        Value::Table(entries) => {
            for (entry, (_, below)) in entries.iter_mut().zip(cursor.entries()?) {
                path.push(entry.key.clone());
                entry.node = without_shares(&below, path, shares)?;
                path.pop();
            }
        }
        Value::Leaf(leaf) => match leaf.as_str().map(split_number) {
            Some(Ok((percent, SHARE_UNIT))) => {
                shares.push(Share { path: path.clone(), percent });
                *leaf = toml::Value::String(Duration::ZERO.to_string());
            }
            Some(Ok((_, unit))) if unit.starts_with("% of") => {
                let right = format!("write a share of the buffer as \"20 {SHARE_UNIT}\"");
                return Err(cursor.invalid(format!("unknown unit `{unit}`"), right));
            }
            _ => {}
        },
        Value::Array(_) | Value::Gone => {}
    }
    Ok(node)
}

fn named<'a>(cursor: &Cursor<'a>, name: &str) -> Result<&'a Entry, Diagnostic> {
    find(cursor.controllers(), name).ok_or_else(|| {
        let (wrong, right) = refusal(cursor.controllers(), name);
        cursor.invalid(wrong, right)
    })
}

fn read(entry: &Entry, table: toml::Table) -> Result<Algorithm, String> {
    entry.read(toml::Value::Table(table)).map_err(|e| error_text(&e))
}

/// Returns the algorithm with another default for slow start, if it offers a choice.
fn starting(entry: &Entry, slow_start: Option<Kind>) -> Algorithm {
    const KEY: &str = "slow-start";
    let algorithm = entry.algorithm();
    let Some(word) = slow_start.and_then(|kind| toml::Value::try_from(kind).ok()) else { return algorithm };
    let Ok(mut table) = toml::Table::try_from(&algorithm) else { return algorithm };
    match table.insert(KEY.to_owned(), word) {
        Some(_) => read(entry, table).unwrap_or(algorithm),
        None => algorithm,
    }
}

pub(crate) fn label(cursor: &Cursor<'_>) -> Result<String, Diagnostic> {
    let label: String = cursor.read()?;
    let empty = || label.trim().is_empty().then(|| "the label is empty".to_owned());
    match empty().or_else(|| crate::row::reserved(&label)) {
        Some(wrong) => Err(cursor.invalid(wrong, "choose another label")),
        None => Ok(label),
    }
}

/// Checks each number against the range of its parameter, including those of a controller inside
/// (`base`).
fn check_numbers(cursor: &Cursor<'_>, params: &[ParamDoc]) -> Result<(), Diagnostic> {
    for (entry, below) in cursor.entries()? {
        let Some(param) = params.iter().find(|p| p.name.replace('_', "-") == entry.key) else { continue };
        match param.keys {
            [] => check_value(&below, &below.node().to_toml(), param)?,
            keys => check_numbers(&below, keys)?,
        }
    }
    Ok(())
}

/// Checks that no parameter exceeds the one that limits it, unless one of them is skipped.
fn check_limits(
    cursor: &Cursor<'_>,
    algorithm: &Algorithm,
    skipped: impl Fn(&str) -> bool,
) -> Result<(), Diagnostic> {
    let Ok(table) = toml::Table::try_from(algorithm) else { return Ok(()) };
    let key = |name: &str| name.replace('_', "-");
    let number_of = |key: &str| table.get(key).and_then(number);
    for param in algorithm.docs() {
        let Some(limit) = param.range.and_then(|range| range.limit()).map(key) else { continue };
        let own = key(param.name);
        if skipped(&own) || skipped(&limit) {
            continue;
        }
        if number_of(&own) > number_of(&limit).or(Some(f64::INFINITY)) {
            let at = cursor.get(&own).or_else(|| cursor.get(&limit)).unwrap_or_else(|| cursor.clone());
            let [value, most] = [&own, &limit].map(|key| table[key].to_string());
            let wrong = format!("`{own}` is {value}, more than `{limit}`, {most}");
            return Err(at.invalid(wrong, format!("allowed: at most `{limit}`")));
        }
    }
    Ok(())
}

/// Returns a number, the seconds of a time, or the bits per second of a rate.
fn number(value: &toml::Value) -> Option<f64> {
    let of_text = |text: &str| {
        let time = text.parse().map(Duration::as_secs_f64).ok();
        time.or_else(|| text.parse().map(|rate: Rate| rate.0 as f64).ok())
    };
    let plain = value.as_float().or_else(|| value.as_integer().map(|n| n as f64));
    plain.or_else(|| value.as_str().and_then(of_text))
}

/// Checks a number, or each number of an array.
fn check_value(cursor: &Cursor<'_>, value: &toml::Value, param: &ParamDoc) -> Result<(), Diagnostic> {
    if let toml::Value::Array(values) = value {
        return values.iter().try_for_each(|value| check_value(cursor, value, param));
    }
    let range = param.allowed();
    match number(value) {
        Some(n) if !range.contains(n) => {
            Err(cursor.invalid(format!("`{value}` is out of range"), format!("allowed: {range}")))
        }
        _ => Ok(()),
    }
}
