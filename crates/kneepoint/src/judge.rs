//! From the runs of an experiment to its summary: means, spreads, published values, claims.

use std::collections::BTreeSet;

use crate::measure::{deviation, mean};
use crate::spec::{Case, Claim, Experiment};
use crate::store::RunRow;
use crate::summary::{Cell, ClaimResult, Row, Summary, Variant, Verdict};

/// The summary of these runs.
pub fn summary(exp: &Experiment, cases: &[Case], runs: &[RunRow]) -> Summary {
    let mut variants: Vec<Variant> = Vec::new();
    for case in cases {
        if variants.last().is_none_or(|v| v.name != case.variant) {
            variants.push(Variant { name: case.variant.clone(), rows: Vec::new() });
        }
        if let Some(variant) = variants.last_mut() {
            variant.rows.push(row(exp, case, runs));
        }
    }
    Summary {
        experiment: exp.name.clone(),
        title: exp.title.clone(),
        source: exp.source.clone(),
        note: exp.note.clone(),
        metrics: exp.metrics.clone(),
        claims: exp.claims.iter().map(|c| judge(exp, c, &variants)).collect(),
        charts: exp.charts.clone(),
        variants,
    }
}

/// Every metric, not only those of the table: claims and JSON may want others.
fn row(exp: &Experiment, case: &Case, runs: &[RunRow]) -> Row {
    let mine: Vec<&RunRow> = runs.iter().filter(|r| r.variant == case.variant && r.row == case.row).collect();
    let names: BTreeSet<&String> = mine.iter().flat_map(|r| r.values.keys()).collect();
    let cells = names.into_iter().map(|name| {
        let values: Vec<f64> = mine.iter().filter_map(|r| r.values.get(name).copied()).collect();
        let cell = Cell {
            mean: mean(&values),
            spread: deviation(&values),
            published: exp.published(&case.row, name),
            reason: exp.reason(&case.variant, &case.row, name).map(str::to_owned),
        };
        (name.clone(), cell)
    });
    Row { label: case.row.clone(), algorithm: case.algorithm.clone(), cells: cells.collect() }
}

/// A claim holds if it holds in at least one variant in which it is judged; one that must hold everywhere, in all.
fn judge(exp: &Experiment, claim: &Claim, variants: &[Variant]) -> ClaimResult {
    let judged: Vec<(String, bool, String)> = variants
        .iter()
        .filter(|v| claim.applies_to(&v.name))
        .map(|variant| {
            let labels: Vec<String> = variant.rows.iter().map(|r| r.label.clone()).collect();
            let of = |label: &str| cell(variant, label, &claim.metric);
            let verdict =
                claim.judge(&labels, |l| of(l).map(|c| c.mean), |l| of(l).and_then(|c| c.published));
            let (holds, numbers) = verdict.unwrap_or((false, "a value is missing".to_owned()));
            (variant.name.clone(), holds, numbers)
        })
        .collect();
    let holds = match claim.everywhere {
        true => judged.iter().all(|v| v.1),
        false => judged.iter().any(|v| v.1),
    };
    let verdict = match (holds, &claim.reason) {
        (true, _) => Verdict::Holds,
        (false, Some(_)) => Verdict::KnownMiss,
        (false, None) => Verdict::UnexpectedMiss,
    };
    ClaimResult {
        id: claim.id.clone(),
        says: claim.says.clone(),
        holds_published: exp.holds_published(claim),
        variants: judged,
        verdict,
        reason: claim.reason.clone(),
    }
}

fn cell<'v>(variant: &'v Variant, label: &str, metric: &str) -> Option<&'v Cell> {
    variant.rows.iter().find(|r| r.label == label)?.cells.get(metric)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    const FILE: &str = r#"
title = "t"
source = "s"
duration = "1 s"
[link]
rate = "1 Mbit/s"
delay = "5 ms"
queue = "2 BDP"
[[flow]]
controller = "cubic"
[vary]
"link.rate" = ["1 Mbit/s", "2 Mbit/s"]
"flow.controller" = ["cubic"]
[table]
rows = "flow.controller"
[[claim]]
id = "some"
says = "s"
metric = "goodput"
left = { min = ["*"] }
is = "above"
right = 1.5
[[claim]]
id = "all"
says = "s"
metric = "goodput"
left = { min = ["*"] }
is = "above"
right = 1.5
everywhere = true
"#;

    /// One variant is enough for a claim, unless it is to hold everywhere.
    #[test]
    fn somewhere_and_everywhere() {
        let exp = Experiment::parse("x", Path::new("x.toml"), FILE).unwrap();
        let cases = exp.cases();
        let run = |(case, goodput): (&Case, f64)| RunRow {
            variant: case.variant.clone(),
            row: case.row.clone(),
            repetition: 0,
            seed: 1,
            values: [("goodput".to_owned(), goodput)].into_iter().collect(),
        };
        let verdicts = |goodputs: [f64; 2]| {
            let runs: Vec<_> = cases.iter().zip(goodputs).map(run).collect();
            summary(&exp, &cases, &runs).claims.iter().map(|c| c.verdict).collect::<Vec<_>>()
        };
        assert_eq!(verdicts([1.0, 2.0]), [Verdict::Holds, Verdict::UnexpectedMiss]);
        assert_eq!(verdicts([1.6, 2.0]), [Verdict::Holds, Verdict::Holds]);
        assert_eq!(verdicts([1.0, 1.0]), [Verdict::UnexpectedMiss, Verdict::UnexpectedMiss]);
    }
}
