//! Columns of a time series: those of every run, and the variables of the file's controllers.

use std::collections::BTreeSet;

use congestion::{PathInfo, STATE};

use crate::chart::SIGNALS;
use crate::diagnostic::Diagnostic;
use crate::file::cursor::Cursor;
use crate::file::vary::Case;

/// Columns of each flow.
const FLOW_COLUMNS: [&str; 9] = [
    "cwnd_bytes",
    "bytes_in_flight",
    "pacing_rate_mbit_s",
    "smoothed_rtt_ms",
    "latest_rtt_ms",
    "goodput_mbit_s",
    "media_mbit_s",
    "owd_ms",
    "datagram_bytes",
];
/// Columns of the path, repeated for each flow.
const PATH_COLUMNS: [&str; 4] = ["queue_bytes", "drops", "ping_ms", "udp_mbit_s"];
/// Reads one or several columns of the file's series.
pub(super) fn read(at: &Cursor<'_>, cases: &[Case]) -> Result<Vec<String>, Diagnostic> {
    let all = if at.node().as_str().is_some() { vec![at.clone()] } else { at.filled_list()? };
    all.iter().map(|column| read_one(column, cases)).collect()
}

fn read_one(at: &Cursor<'_>, cases: &[Case]) -> Result<String, Diagnostic> {
    let column: String = at.read()?;
    let common = || FLOW_COLUMNS.iter().chain(&SIGNALS).chain(&PATH_COLUMNS).copied();
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

/// Returns the variables of the controllers of these cases. Returns `None` if a controller does not
/// list them, because it may report more than a new instance does.
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

/// Refuses columns of different units, which cannot share a panel.
pub(super) fn check_units(at: &Cursor<'_>, columns: &[String], cases: &[Case]) -> Result<(), Diagnostic> {
    let own = |column: &str| {
        let flows = cases.iter().flat_map(|case| case.setup.present());
        let mut known = flows.flat_map(|flow| flow.config.algorithm.variables());
        known.find(|variable| variable.name == column).map_or("", |variable| variable.unit)
    };
    let unit = |column: &String| match column.as_str() {
        "bytes_in_flight" => "bytes",
        "drops" => "packets",
        name if FLOW_COLUMNS.iter().chain(&SIGNALS).chain(&PATH_COLUMNS).any(|known| *known == name) => {
            ["mbit_s", "ms", "bytes", "packets"].into_iter().find(|unit| name.ends_with(unit)).unwrap_or("")
        }
        name => own(name),
    };
    match columns.iter().find(|column| unit(column) != unit(&columns[0])) {
        Some(other) => {
            let wrong = format!("`{}` and `{other}` have different units", columns[0]);
            Err(at.problem(wrong, "draw them in two charts, or remove `colour`"))
        }
        None => Ok(()),
    }
}

/// Reads a column that each flow has and that can be summed, as stacked areas require.
pub(super) fn read_stackable(at: &Cursor<'_>, cases: &[Case]) -> Result<String, Diagnostic> {
    let column = read_one(at, cases)?;
    let right = "use a flow's column in bytes, packets or Mbit/s, like \"goodput_mbit_s\" or \"cwnd_bytes\"";
    if PATH_COLUMNS.contains(&column.as_str()) {
        return Err(at.problem(format!("`{column}` belongs to the path, not to each flow"), right));
    }
    let adds_up =
        ["_bytes", "_packets", "_mbit_s", "bytes_in_flight"].iter().any(|end| column.ends_with(end));
    if adds_up {
        Ok(column)
    } else {
        Err(at.problem(format!("`{column}` cannot be summed over flows"), right))
    }
}
