//! Algorithms from text.

use crate::{Algorithm, Registry};

/// An algorithm as an experiment file writes it: its name and its parameters.
pub(super) fn read(text: &str) -> Result<Algorithm, String> {
    let mut table: toml::Table = text.parse().map_err(|e: toml::de::Error| e.to_string())?;
    let name = table.remove("name").and_then(|name| name.as_str().map(str::to_owned)).ok_or("no name")?;
    let registry = Registry::default();
    let entry = registry.get(&name).ok_or_else(|| format!("no algorithm {name}"))?;
    entry.read(toml::Value::Table(table)).map_err(|e| e.to_string())
}

/// The same backwards.
pub(super) fn named(algorithm: &Algorithm) -> String {
    format!("name = '{}'\n{}", algorithm.name(), toml::to_string(algorithm).expect("writes"))
}
