//! Which columns a time series has: those of every run, and what the controllers of the file tell of themselves.

use std::collections::BTreeSet;

use congestion::{PathInfo, STATE};

use crate::diagnostic::Diagnostic;
use crate::file::cursor::Cursor;
use crate::file::vary::Case;

/// Of each flow.
const OF_FLOWS: [&str; 7] = [
    "cwnd_bytes",
    "bytes_in_flight",
    "smoothed_rtt_ms",
    "latest_rtt_ms",
    "goodput_mbit_s",
    "media_mbit_s",
    "owd_ms",
];
/// Of the path: they stand in the track of each flow.
const OF_THE_PATH: [&str; 4] = ["queue_bytes", "drops", "ping_ms", "udp_mbit_s"];
/// One or several columns of the file's series.
pub(super) fn read(at: &Cursor<'_>, cases: &[Case]) -> Result<Vec<String>, Diagnostic> {
    let all = if at.node().as_str().is_some() { vec![at.clone()] } else { at.filled_list()? };
    all.iter().map(|column| read_one(column, cases)).collect()
}

fn read_one(at: &Cursor<'_>, cases: &[Case]) -> Result<String, Diagnostic> {
    let column: String = at.read()?;
    let common = || OF_FLOWS.iter().chain(&OF_THE_PATH).copied();
    if common().any(|name| name == column) {
        return Ok(column);
    }
    match variables(cases) {
        Some(own) if !own.contains(&column.as_str()) => {
            let known: Vec<&str> = common().chain(own).collect();
            Err(at.unknown_name("column of the series", &column, known))
        }
        _ => Ok(column),
    }
}

/// What the controllers of these cases tell; `None` with one that does not list it: it may tell more than a fresh one does.
fn variables(cases: &[Case]) -> Option<Vec<&'static str>> {
    let mut names: BTreeSet<&'static str> = BTreeSet::new();
    for flow in cases.iter().flat_map(|case| case.setup.present()) {
        let algorithm = &flow.config.algorithm;
        let listed = algorithm.variables();
        let mut lists_all = true;
        algorithm.build(PathInfo::default()).trace(&mut |name, _| {
            lists_all &= name == STATE || listed.iter().any(|v| v.name == name);
            names.insert(name);
        });
        names.extend(listed.iter().map(|v| v.name));
        let is_ours = congestion::Registry::default().get(algorithm.name()).is_some();
        if !lists_all || (listed.is_empty() && !is_ours) {
            return None;
        }
    }
    Some(names.into_iter().collect())
}

/// A column that flows have each for themselves and that adds up: what areas on top of each other need.
pub(super) fn read_stackable(at: &Cursor<'_>, cases: &[Case]) -> Result<String, Diagnostic> {
    let column = read_one(at, cases)?;
    let right = "a column of flows in bytes, packets or Mbit/s, like \"goodput_mbit_s\" or \"cwnd_bytes\"";
    if OF_THE_PATH.contains(&column.as_str()) {
        return Err(at.problem(format!("`{column}` is of the path, not of each flow"), right));
    }
    let adds_up =
        ["_bytes", "_packets", "_mbit_s", "bytes_in_flight"].iter().any(|end| column.ends_with(end));
    if adds_up {
        Ok(column)
    } else {
        Err(at.problem(format!("`{column}` of several flows does not add up"), right))
    }
}
