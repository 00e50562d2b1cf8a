//! Values that a table lacks, and why.

use std::collections::BTreeSet;

use experiment::metric::Metric;
use experiment::place::Place;
use experiment::printable::counted;
use results::measure::mean;
use results::summary::{Cell, Row};

/// Returns a sentence for each metric that some of these rows, or some of their runs, lack, and for
/// each row with connections that the idle timeout closed.
pub(super) fn of_rows(rows: &[&Row], metrics: &[Metric]) -> Vec<String> {
    let lacking = metrics.iter().flat_map(|metric| of_metric(rows, metric));
    lacking.chain(rows.iter().filter_map(|row| closed(row))).collect()
}

/// Says when the idle timeout closed connections of this row, if it did.
fn closed(row: &Row) -> Option<String> {
    let cell = row.cells.get(&Metric::new("closed"))?;
    let some = match cell.without {
        0 => String::new(),
        runs => format!(", but not in {}", counted(runs, ["run", "runs"])),
    };
    Some(format!("{}: the idle timeout closed the connection after {:.1} s{some}", row.label, cell.mean))
}

fn of_metric(all: &[&Row], metric: &Metric) -> Vec<String> {
    let Some(quantity) = metric.quantity() else { return Vec::new() };
    let why = |rows: &[&Row]| {
        if let Some(end) = end_before(rows, metric) {
            return format!("{end}, because every transfer was complete");
        }
        if let ("completion", Some(share)) = (metric.word(), finished(rows, metric)) {
            return format!("{share:.1} % of the transfers finished");
        }
        let elsewhere = rows.iter().any(|row| row.label.backend() != Place::SIM);
        let why = quantity.why_absent().filter(|_| !has_no_jain(rows, metric));
        let why = why.unwrap_or_else(|| packets(rows, metric));
        format!("{why}{}", if elsewhere { ", or this place cannot tell" } else { "" })
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
        let runs = counted(without(row), ["run", "runs"]);
        format!("{metric} of {label}: the mean leaves out {runs} without one: {}", why(&[row]))
    });
    let none = (!lacking.is_empty()).then(|| format!("no {metric}{rows}: {}", why(&lacking)));
    none.into_iter().chain(partly).collect()
}

/// Reports whether the metric is `jain_1s` of rows that have no `jain` either, for want of packets.
fn has_no_jain(rows: &[&Row], metric: &Metric) -> bool {
    let jain = like(metric, "jain");
    metric.word() == "jain_1s" && !rows.iter().any(|row| row.cells.contains_key(&jain))
}

/// Says what became of the packets of these rows, since none arrived. A throughput of 0 means that
/// none was sent, and no throughput that no flow ran.
fn packets(rows: &[&Row], metric: &Metric) -> &'static str {
    let sent = like(metric, "throughput");
    let sent = rows.iter().map(|row| row.cells.get(&sent).map(|cell| cell.mean > 0.0));
    let sent: BTreeSet<Option<bool>> = sent.collect();
    match sent.into_iter().collect::<Vec<_>>()[..] {
        [Some(true)] => "these flows sent packets in the window, but none arrived",
        [Some(false)] => "these flows sent no packet in the window",
        [None] => "these flows did not run in the window",
        _ => "no packet of these flows arrived in the window",
    }
}

/// Says when these runs ended, if all of them ended before the window of the metric began.
fn end_before(rows: &[&Row], metric: &Metric) -> Option<String> {
    let ended = Metric::new("ended");
    let ended = metric.window().map_or(ended.clone(), |window| ended.inside(window));
    let ends = rows.iter().map(|row| row.cells.get(&ended).filter(|cell| cell.without == 0));
    let ends = ends.collect::<Option<Vec<&Cell>>>()?;
    let last = |cell: &&Cell| cell.runs.map_or(cell.mean, |runs| runs.max);
    let last = ends.iter().map(last).max_by(f64::total_cmp)?;
    let one = ends.iter().all(|cell| cell.mean == last);
    Some(if one { format!("the run ended at {last:.1} s") } else { format!("the runs ended by {last:.1} s") })
}

/// Returns another quantity of the same flows in the same window.
fn like(metric: &Metric, word: &str) -> Metric {
    let all = Metric::new(word);
    let labelled = match metric.scope() {
        Some(label) => all.for_label(label),
        None => all,
    };
    match metric.window() {
        Some(window) => labelled.inside(window),
        None => labelled,
    }
}

/// Returns the share of the transfers of these rows that finished, in percent, if there are any.
fn finished(rows: &[&Row], completion: &Metric) -> Option<f64> {
    let finished = like(completion, "finished");
    let shares: Vec<f64> = rows.iter().filter_map(|row| Some(row.cells.get(&finished)?.mean)).collect();
    (!shares.is_empty()).then(|| mean(&shares))
}

#[cfg(test)]
mod tests {
    use super::*;
    use experiment::row::RowLabel;

    fn row(label: &str, cells: &[(&str, f64)]) -> Row {
        let cell =
            |(metric, mean): &(&str, f64)| (Metric::from(*metric), Cell { mean: *mean, ..Cell::default() });
        let label = RowLabel::new(label, Place::SIM);
        Row { label, algorithm: "cubic".to_owned(), cells: cells.iter().map(cell).collect(), trust: None }
    }

    fn says(rows: &[Row], metric: &str) -> String {
        of_rows(&rows.iter().collect::<Vec<_>>(), &[Metric::from(metric)]).join("\n")
    }

    /// Flows that sent in vain, flows that sent nothing, and flows that did not run, each in the
    /// window of the metric.
    #[test]
    fn what_became_of_the_packets() {
        let lost = || row("a", &[("throughput", 1.0), ("throughput of x @ late", 0.0)]);
        let idle = || row("b", &[("throughput", 0.0)]);
        for (rows, metric, end) in [
            (
                vec![lost()],
                "owd_mean",
                "no owd_mean: these flows sent packets in the window, but none arrived",
            ),
            (vec![idle()], "loss", "no loss: these flows sent no packet in the window"),
            (vec![idle()], "goodput @ late", "no goodput @ late: these flows did not run in the window"),
            (vec![lost()], "owd_mean of x @ late", "these flows sent no packet in the window"),
            (vec![lost(), idle()], "jain", "no jain: no packet of these flows arrived in the window"),
            (vec![lost()], "rtt_mean", "no rtt_mean: no ACK gave an RTT sample"),
            (vec![lost()], "jain_1s", "no jain_1s: these flows sent packets in the window, but none arrived"),
            (vec![row("a", &[("jain", 1.0)])], "jain_1s", "a whole second in which data arrived"),
        ] {
            assert!(says(&rows, metric).ends_with(end), "{}", says(&rows, metric));
        }
        let ends = |ends: &[f64]| ends.iter().map(|end| row("a", &[("ended @ w", *end)])).collect::<Vec<_>>();
        let because = "because every transfer was complete";
        for (rows, when) in
            [(ends(&[4.2, 4.2]), "the run ended at 4.2 s"), (ends(&[4.2, 1.0]), "the runs ended by 4.2 s")]
        {
            for metric in ["utilization @ w", "udp_loss of x @ w", "completion @ w"] {
                assert_eq!(says(&rows, metric), format!("no {metric}: {when}, {because}"));
            }
            assert!(!says(&rows, "utilization").contains("ended"));
        }
        let idle = row("a", &[("goodput", 1.0), ("closed", 35.06)]);
        assert_eq!(says(&[idle], "goodput"), "a: the idle timeout closed the connection after 35.1 s");
        let mut partly = row("a", &[("rtt_mean", 1.0)]);
        partly.cells.values_mut().for_each(|cell| cell.without = 1);
        assert!(says(&[partly], "rtt_mean").contains("the mean leaves out 1 run without one"));
    }
}
