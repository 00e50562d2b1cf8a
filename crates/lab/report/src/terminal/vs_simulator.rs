//! Compares rows of real endpoints with the simulator's rows of the same name (`--on stack`, `--on
//! wire`).

use std::collections::BTreeMap;

use experiment::metric::Metric;
use experiment::place::Place;
use experiment::printable::counted;
use results::summary::{Row, Summary, Variant};

use super::lines::Lines;

/// Metrics to compare. Every world has them, for any part of a run.
const COMPARED: [&str; 2] = ["goodput", "rtt_mean"];
/// Largest relative difference in both metrics for a row to count as close.
const CLOSE: f64 = 0.03;

/// Distances of one backend's rows from the simulator's.
#[derive(Debug, Default, PartialEq)]
struct Distance {
    rows: usize,
    close: usize,
    /// The largest relative difference, and where it is.
    furthest: Option<(f64, String)>,
}

/// Prints a line for each backend that has rows beside the simulator's.
pub(super) fn put(out: &mut Lines, all: &[&Summary]) {
    let mut found = BTreeMap::new();
    for summary in all {
        let several = summary.variants.len() > 1;
        for variant in &summary.variants {
            let what = match (all.len() > 1, several) {
                (false, false) => String::new(),
                (false, true) => format!(", {}", variant.name),
                (true, false) => format!(", {}", summary.experiment),
                (true, true) => format!(", {}, {}", summary.experiment, variant.name),
            };
            add(&mut found, variant, &what);
        }
    }
    if found.is_empty() {
        return;
    }
    out.line("\ncompared with the simulator: goodput and mean RTT");
    for (backend, distance) in found {
        out.put("  ", &format!("{}: {}", backend.name(), words(distance)));
    }
}

fn words(Distance { rows, close, furthest }: Distance) -> String {
    let furthest = furthest.filter(|(by, _)| by.abs() > CLOSE);
    let furthest = furthest.map(|(by, of)| format!("; largest difference: {of} {:+.0} %", 100.0 * by));
    let rows = counted(rows, ["row", "rows"]);
    format!("{close} of {rows} within {:.0} %{}", 100.0 * CLOSE, furthest.unwrap_or_default())
}

fn add(found: &mut BTreeMap<Place, Distance>, variant: &Variant, what: &str) {
    let rows = || variant.rows.iter().filter(|row| row.is_trusted());
    for row in rows().filter(|row| row.label.backend() != Place::SIM) {
        let simulated = rows().find(|other| other.label == row.label.on(Place::SIM));
        let Some((by, metric)) = simulated.and_then(|simulated| apart(row, simulated)) else { continue };
        let distance = found.entry(row.label.backend()).or_default();
        distance.rows += 1;
        distance.close += usize::from(by.abs() <= CLOSE);
        if distance.furthest.as_ref().is_none_or(|(most, _)| most.abs() < by.abs()) {
            distance.furthest = Some((by, format!("{metric} of {}{what}", row.label.in_file())));
        }
    }
}

/// Returns the largest relative difference and its metric.
fn apart<'r>(row: &'r Row, simulated: &Row) -> Option<(f64, &'r Metric)> {
    let compared = row.cells.iter().filter(|(metric, _)| is_compared(metric));
    let all = compared.filter_map(|(metric, cell)| {
        let by = cell.value() / simulated.cells.get(metric)?.value() - 1.0;
        by.is_finite().then_some((by, metric))
    });
    all.max_by(|a, b| a.0.abs().total_cmp(&b.0.abs()))
}

fn is_compared(metric: &Metric) -> bool {
    COMPARED.iter().any(|name| metric.as_str().split([' ', '[']).next() == Some(name))
}

#[cfg(test)]
mod tests {
    use results::summary::Cell;

    use super::*;

    fn row(label: &str, values: &[(&str, f64)]) -> Row {
        let cell = |value: f64| Cell { mean: value, ..Cell::default() };
        let cells = values.iter().map(|(name, value)| (Metric::from(*name), cell(*value))).collect();
        Row { label: label.into(), algorithm: String::new(), cells, trust: None }
    }

    /// The largest difference is printed only if it is not close.
    #[test]
    fn in_a_line() {
        let close = Distance { rows: 2, close: 2, furthest: Some((0.02, "goodput of a".to_owned())) };
        assert_eq!(words(close), "2 of 2 rows within 3 %");
        let alone = Distance { rows: 1, close: 1, furthest: None };
        assert_eq!(words(alone), "1 of 1 row within 3 %");
        let far = Distance { rows: 2, close: 1, furthest: Some((-0.184, "rtt_mean of b".to_owned())) };
        assert_eq!(words(far), "1 of 2 rows within 3 %; largest difference: rtt_mean of b -18 %");
    }

    #[test]
    fn the_furthest_row_counts_most() {
        let rows = vec![
            row("a", &[("goodput", 10.0), ("rtt_mean", 50.0), ("loss", 1.0)]),
            row("a (stack)", &[("goodput", 10.1), ("rtt_mean", 50.0), ("loss", 9.0)]),
            row("b", &[("goodput", 10.0), ("rtt_mean", 50.0)]),
            row("b (stack)", &[("goodput", 10.0), ("rtt_mean", 45.0)]),
            row("a (noq)", &[("goodput @ measure", 1.0)]),
        ];
        let variant = Variant { name: "v".to_owned(), reference: true, rows, biases: Vec::new() };
        let mut found = BTreeMap::new();
        add(&mut found, &variant, ", v");
        let distance = found.remove(&Place::STACK).unwrap();
        let (by, what) = distance.furthest.clone().unwrap();
        assert_eq!((distance.rows, distance.close, what.as_str()), (2, 1, "rtt_mean of b, v"));
        assert!((by + 0.1).abs() < 1e-9);
        assert!(found.is_empty(), "nothing to compare with");
    }
}
