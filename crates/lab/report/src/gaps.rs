//! Values that a table lacks, and why.

use experiment::metric::Metric;
use experiment::place::Place;
use results::measure::mean;
use results::summary::Row;

/// Returns a sentence for each metric that some of these rows, or some of their runs, lack.
pub(super) fn of_rows(rows: &[&Row], metrics: &[Metric]) -> Vec<String> {
    metrics.iter().flat_map(|metric| of_metric(rows, metric)).collect()
}

fn of_metric(all: &[&Row], metric: &Metric) -> Vec<String> {
    let Some(quantity) = metric.quantity() else { return Vec::new() };
    let why = |rows: &[&Row]| {
        if let ("completion", Some(share)) = (metric.word(), finished(rows, metric)) {
            return format!("{share:.1} % of the transfers finished");
        }
        let elsewhere = rows.iter().any(|row| row.label.backend() != Place::SIM);
        format!("{}{}", quantity.why_absent(), if elsewhere { ", or this place cannot tell" } else { "" })
    };
    let lacking: Vec<&Row> = all.iter().copied().filter(|row| !row.cells.contains_key(metric)).collect();
    let rows = match lacking.as_slice() {
        [row] if all.len() > 1 => format!(" of {}", row.label),
        some if some.len() < all.len() => format!(" of {} rows", some.len()),
        _ => String::new(),
    };
    let without = |row: &Row| row.cells.get(metric).map_or(0, |cell| cell.without);
    let partly = all.iter().filter(|row| without(row) > 0).map(|row| {
        let label = &row.label;
        format!("{metric} of {label}: the mean leaves out {} runs without one: {}", without(row), why(&[row]))
    });
    let none = (!lacking.is_empty()).then(|| format!("no {metric}{rows}: {}", why(&lacking)));
    none.into_iter().chain(partly).collect()
}

/// Returns the share of the transfers of these rows that finished, in percent, if there are any.
fn finished(rows: &[&Row], completion: &Metric) -> Option<f64> {
    let label = completion.scope();
    let finished = label.map_or(Metric::new("finished"), |label| Metric::new("finished").for_label(label));
    let shares: Vec<f64> = rows.iter().filter_map(|row| Some(row.cells.get(&finished)?.mean)).collect();
    (!shares.is_empty()).then(|| mean(&shares))
}
