//! Merges a file's keys into a struct's defaults, and attributes every mistake to the key that
//! causes it.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::diagnostic::{Diagnostic, Reach};
use crate::file::cursor::{Cursor, error_text, explain};
use crate::file::node::{Entry, Value};

/// A key of the file and the destination of its value.
struct Overlay<'a> {
    path: Vec<String>,
    cursor: Cursor<'a>,
}

/// Merges the cursor's table into the defaults. `also` are keys with another reader. `check` tests
/// the ranges.
pub(crate) fn merge<T: Clone + Serialize + DeserializeOwned>(
    default: &T,
    cursor: &Cursor<'_>,
    also: &[&str],
    check: impl Fn(&T) -> Result<(), String>,
) -> Result<T, Diagnostic> {
    let read = |table| T::deserialize(toml::Value::Table(table)).map_err(|e| error_text(&e));
    merge_as(default, cursor, also, read, check)
}

/// Does the same for a type that only `read` can construct.
pub(crate) fn merge_as<T: Clone + Serialize>(
    default: &T,
    cursor: &Cursor<'_>,
    also: &[&str],
    read: impl Fn(toml::Table) -> Result<T, String>,
    check: impl Fn(&T) -> Result<(), String>,
) -> Result<T, Diagnostic> {
    let is_other = |e: &Entry| also.contains(&e.key.as_str());
    let is_plain = matches!(&cursor.node().value, Value::Table(entries) if entries.iter().all(is_other));
    if is_plain && check(default).is_ok() {
        return Ok(default.clone());
    }
    let defaults = || toml::Table::try_from(default).map_err(|e| cursor.problem(e.to_string(), ""));
    let (mut all, mut overlays) = (defaults()?, Vec::new());
    collect(&all, cursor, also, &mut Vec::new(), &mut overlays)?;
    overlays.iter().for_each(|overlay| put(&mut all, overlay));
    // The key at fault is searched only after a failure.
    let merged = read(all).map_err(|wrong| {
        let found = defaults().ok().and_then(|base| unreadable(&base, &overlays, &read));
        found.unwrap_or_else(|| cursor.problem(wrong, ""))
    })?;
    let checked = |table| read(table).map_or(Ok(()), |value| check(&value));
    match check(&merged) {
        Ok(()) => Ok(merged),
        Err(wrong) => {
            let at = blame(defaults()?, &overlays, checked, &wrong).unwrap_or(cursor);
            Err(at.problem(wrong, "").reaching(Reach::Table))
        }
    }
}

/// Returns the first key, in file order, whose value cannot be read over the defaults.
fn unreadable<T>(
    base: &toml::Table,
    overlays: &[Overlay<'_>],
    read: impl Fn(toml::Table) -> Result<T, String>,
) -> Option<Diagnostic> {
    overlays.iter().find_map(|overlay| {
        let with = |value| {
            let mut alone = base.clone();
            put_at(&mut alone, &overlay.path, value);
            read(alone).map(drop)
        };
        let found = overlay.cursor.node().to_toml();
        let (wrong, right) = explain(&found, with(found.clone()).err()?, with);
        Some(overlay.cursor.invalid(wrong, right.unwrap_or_else(|| usual(base, &overlay.path))))
    })
}

/// Returns the first key, in file order, with which the values are wrong for the reason of the
/// whole table. Before it, a value may not fit a default that a later key replaces.
fn blame<'o, 'a>(
    mut table: toml::Table,
    overlays: &'o [Overlay<'a>],
    check: impl Fn(toml::Table) -> Result<(), String>,
    wrong: &str,
) -> Option<&'o Cursor<'a>> {
    let overlay = overlays.iter().find(|overlay| {
        put(&mut table, overlay);
        check(table.clone()).is_err_and(|why| why == wrong)
    });
    overlay.map(|overlay| &overlay.cursor)
}

/// Collects the file's keys down to those that are not tables. Refuses unknown keys.
fn collect<'a>(
    base: &toml::Table,
    cursor: &Cursor<'a>,
    also: &[&str],
    path: &mut Vec<String>,
    overlays: &mut Vec<Overlay<'a>>,
) -> Result<(), Diagnostic> {
    let own = base.keys().map(String::as_str).filter(|key| !also.contains(key));
    let known: Vec<&str> = also.iter().copied().chain(own).collect();
    cursor.table(&known)?;
    for (entry, below) in cursor.entries()?.into_iter().filter(|(e, _)| !also.contains(&e.key.as_str())) {
        path.push(entry.key.clone());
        match base.get(&entry.key) {
            Some(toml::Value::Table(inner)) => collect(inner, &below, &[], path, overlays)?,
            _ => overlays.push(Overlay { path: path.clone(), cursor: below }),
        }
        path.pop();
    }
    Ok(())
}

fn put(table: &mut toml::Table, overlay: &Overlay<'_>) {
    put_at(table, &overlay.path, overlay.cursor.node().to_toml());
}

/// Sets a value in an existing table.
pub(crate) fn put_at(table: &mut toml::Table, path: &[String], value: toml::Value) {
    let [above @ .., key] = path else { return };
    let mut inner = Some(table);
    for key in above {
        inner = inner.and_then(|t| t.get_mut(key)).and_then(toml::Value::as_table_mut);
    }
    if let Some(inner) = inner {
        inner.insert(key.clone(), value);
    }
}

fn usual(base: &toml::Table, path: &[String]) -> String {
    let mut value = None;
    let mut table = Some(base);
    for key in path {
        value = table.and_then(|t| t.get(key));
        table = value.and_then(toml::Value::as_table);
    }
    value.map_or(String::new(), |v| format!("default: {v}"))
}
