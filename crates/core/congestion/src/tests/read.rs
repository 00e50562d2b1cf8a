//! Reads algorithms from text.

use crate::{Algorithm, Registry};

/// Reads an algorithm as written in an experiment file: its name and its parameters.
pub(super) fn read(text: &str) -> Result<Algorithm, String> {
    let mut table: toml::Table = text.parse().map_err(|e: toml::de::Error| e.to_string())?;
    let name = table.remove("name").and_then(|name| name.as_str().map(str::to_owned)).ok_or("no name")?;
    let registry = Registry::default();
    let entry = registry.get(&name).ok_or_else(|| format!("no algorithm {name}"))?;
    entry.read(toml::Value::Table(table)).map_err(|e| e.to_string())
}

/// Writes an algorithm as read by [`read`].
pub(super) fn named(algorithm: &Algorithm) -> String {
    format!("name = '{}'\n{}", algorithm.name(), toml::to_string(algorithm).expect("writes"))
}
