//! From the runs of an experiment to its summary: means, spreads, published values, claims.

use std::collections::BTreeSet;

use crate::measure::{deviation, mean};
use crate::spec::{Case, Claim, Experiment};
use crate::store::RunRow;
use crate::summary::{Cell, Chart, ClaimResult, OverRuns, Quartiles, Row, Summary, Trust, Variant, Verdict};
use crate::world::World;

/// The summary of these runs. Claims about the wire are judged there alone, the others in both worlds: the simulator's rows are
/// always there.
pub fn summary(exp: &Experiment, cases: &[Case], runs: &[RunRow], world: World) -> Summary {
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
        world,
        title: exp.title.clone(),
        source: exp.source.clone(),
        note: [Some(exp.note.clone()), exp.over_runs.remark()]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join(" "),
        metrics: exp.metrics.clone(),
        claims: exp.claims.iter().filter(|c| c.on <= world).map(|c| judge(exp, c, &variants)).collect(),
        charts: exp.charts.iter().map(|chart| with_rows_of(world, chart)).collect(),
        variants,
    }
}

/// A chart of some rows shows those of the wire beside them.
fn with_rows_of(world: World, chart: &Chart) -> Chart {
    let mut chart = chart.clone();
    if let (World::Wire, Some(rows)) = (world, chart.rows_mut()) {
        *rows = rows.iter().flat_map(|row| [row.clone(), world.label(row)]).collect();
    }
    chart
}

/// Every metric, not only those of the table: claims and JSON may want others.
fn row(exp: &Experiment, case: &Case, runs: &[RunRow]) -> Row {
    let all: Vec<&RunRow> = runs.iter().filter(|r| r.variant == case.variant && r.row == case.row).collect();
    let valid: Vec<&RunRow> = all.iter().copied().filter(|run| run.is_valid()).collect();
    let mine = if valid.is_empty() { &all } else { &valid };
    let names: BTreeSet<&String> = mine.iter().flat_map(|r| r.values.keys()).collect();
    let chosen = median_run(&exp.over_runs, mine);
    let cells = names.into_iter().map(|name| {
        let values: Vec<f64> = mine.iter().filter_map(|r| r.values.get(name).copied()).collect();
        let runs = Quartiles::of(&values);
        let cell = Cell {
            shown: match exp.over_runs {
                OverRuns::Mean => None,
                OverRuns::Median => runs.map(|runs| runs.median),
                OverRuns::MedianRun(_) => chosen.and_then(|run| run.values.get(name).copied()),
            },
            mean: mean(&values),
            spread: Some(deviation(&values)).filter(|spread| spread.is_finite()),
            runs,
            published: exp.published(&case.row, name),
            reason: exp.reason(&case.variant, &case.row, name).map(str::to_owned),
        };
        (name.clone(), cell)
    });
    Row {
        label: case.row.clone(),
        algorithm: case.algorithm.clone(),
        cells: cells.collect(),
        trust: trust(&all),
    }
}

/// The run that stands for all, if one does.
fn median_run<'r>(over_runs: &OverRuns, runs: &[&'r RunRow]) -> Option<&'r RunRow> {
    let OverRuns::MedianRun(metric) = over_runs else { return None };
    let mut with: Vec<(f64, &RunRow)> =
        runs.iter().filter_map(|run| Some((*run.values.get(metric)?, *run))).collect();
    with.sort_by(|a, b| a.0.total_cmp(&b.0));
    with.get(with.len() / 2).map(|(_, run)| *run)
}

/// Of runs that were audited.
fn trust(runs: &[&RunRow]) -> Option<Trust> {
    let audits = || runs.iter().filter_map(|run| run.audit.as_ref());
    audits().next()?;
    Some(Trust {
        valid: audits().filter(|audit| audit.objections.is_empty()).count() as u32,
        invalid: audits().filter(|a| !a.objections.is_empty()).map(|a| a.objections.join("; ")).collect(),
        repeated: audits().map(|audit| audit.repeated).sum(),
    })
}

/// Of a claim that cannot be judged.
const NOT_VALID: &str = "a run it needs is not valid";

/// A claim holds if it holds in at least one variant in which it is judged; one that must hold everywhere, in all.
fn judge(exp: &Experiment, claim: &Claim, variants: &[Variant]) -> ClaimResult {
    let judged: Vec<(String, bool, String)> = variants
        .iter()
        .filter(|v| claim.applies_to(&v.name))
        .map(|variant| {
            // A claim about the simulator does not see the rows of the wire beside its own.
            let seen = variant.rows.iter().filter(|row| World::of(&row.label).1 <= claim.on);
            let labels: Vec<String> = seen.map(|row| row.label.clone()).collect();
            let of = |label: &str| cell(variant, label, &claim.metric);
            let untrusted = variant.rows.iter().any(|row| !row.is_trusted());
            let missing = if untrusted { NOT_VALID } else { "a value is missing" };
            let verdict =
                claim.judge(&labels, |l| of(l).map(Cell::value), |l| of(l).and_then(|c| c.published));
            let (holds, numbers) = verdict.unwrap_or((false, missing.to_owned()));
            (variant.name.clone(), holds, numbers)
        })
        .collect();
    let holds = match claim.everywhere {
        true => judged.iter().all(|v| v.1),
        false => judged.iter().any(|v| v.1),
    };
    let verdict = match (holds, &claim.reason) {
        (true, _) => Verdict::Holds,
        // What was found where it could be judged does not hold; but it may hold where it could not.
        (false, _) if judged.iter().any(|v| v.2 == NOT_VALID) => Verdict::NotJudged,
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

/// None of rows without a valid run: no claim holds by them.
fn cell<'v>(variant: &'v Variant, label: &str, metric: &str) -> Option<&'v Cell> {
    variant.rows.iter().find(|r| r.label == label && r.is_trusted())?.cells.get(metric)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::store::Audit;

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
            audit: None,
        };
        let verdicts = |goodputs: [f64; 2]| {
            let runs: Vec<_> = cases.iter().zip(goodputs).map(run).collect();
            summary(&exp, &cases, &runs, World::Sim).claims.iter().map(|c| c.verdict).collect::<Vec<_>>()
        };
        assert_eq!(verdicts([1.0, 2.0]), [Verdict::Holds, Verdict::UnexpectedMiss]);
        assert_eq!(verdicts([1.6, 2.0]), [Verdict::Holds, Verdict::Holds]);
        assert_eq!(verdicts([1.0, 1.0]), [Verdict::UnexpectedMiss, Verdict::UnexpectedMiss]);
    }

    /// `*` in a claim about the simulator means its rows, not those of the wire beside them.
    #[test]
    fn claims_about_the_simulator_do_not_see_the_wire() {
        let exp = Experiment::parse("x", Path::new("x.toml"), FILE).unwrap();
        let cases: Vec<Case> =
            exp.cases().into_iter().flat_map(|case| [case.clone(), case.on_wire()]).collect();
        let run = |case: &Case| RunRow {
            variant: case.variant.clone(),
            row: case.row.clone(),
            repetition: 0,
            seed: 1,
            values: [("goodput".to_owned(), if case.on == World::Sim { 2.0 } else { 1.0 })]
                .into_iter()
                .collect(),
            audit: (case.on == World::Wire).then(Audit::default),
        };
        let runs: Vec<_> = cases.iter().map(run).collect();
        let judged = summary(&exp, &cases, &runs, World::Wire);
        assert_eq!(judged.variants[0].rows.len(), 2);
        assert!(judged.claims.iter().all(|claim| claim.verdict == Verdict::Holds));
    }

    /// Runs that are not valid count only where no other does, and never for a claim.
    #[test]
    fn invalid_runs_are_not_averaged() {
        let exp = Experiment::parse("x", Path::new("x.toml"), FILE).unwrap();
        let case = exp.cases().swap_remove(0);
        let run = |goodput: f64, objections: &[&str]| RunRow {
            variant: case.variant.clone(),
            row: case.row.clone(),
            repetition: 0,
            seed: 1,
            values: [("goodput".to_owned(), goodput)].into_iter().collect(),
            audit: Some(Audit {
                objections: objections.iter().map(|o| (*o).to_owned()).collect(),
                repeated: 1,
            }),
        };
        let row = |runs: &[RunRow]| {
            summary(&exp, std::slice::from_ref(&case), runs, World::Wire).variants[0].rows[0].clone()
        };
        let mixed = row(&[run(2.0, &[]), run(8.0, &["late"]), run(4.0, &[])]);
        assert_eq!(mixed.cells["goodput"].mean, 3.0);
        let remark = mixed.trust.as_ref().unwrap().remark().unwrap();
        assert_eq!((remark.as_str(), mixed.is_trusted()), ("1 of 3 runs not counted, not valid: late", true));
        assert_eq!(mixed.trust.unwrap().repeated, 3);
        let bad = row(&[run(8.0, &["late", "stolen"])]);
        assert_eq!((bad.cells["goodput"].mean, bad.is_trusted()), (8.0, false));
        assert_eq!(bad.trust.unwrap().remark().unwrap(), "none of its 1 runs is valid: late; stolen");
        let judged = summary(&exp, std::slice::from_ref(&case), &[run(8.0, &["late"])], World::Sim);
        assert!(judged.claims.iter().all(|c| c.verdict == Verdict::NotJudged));
        assert_eq!(judged.claims[0].variants[0].2, "a run it needs is not valid");
        assert_eq!(row(&[run(1.0, &[])]).trust.unwrap().remark(), None);
    }

    /// Mean, median, and the whole run that has the median of one metric.
    #[test]
    fn what_stands_for_the_repetitions() {
        let row = |over_runs: &str| {
            let file = FILE
                .replace("rows = \"flow.controller\"", &format!("rows = \"flow.controller\"\n{over_runs}"));
            let exp = Experiment::parse("x", Path::new("x.toml"), &file).unwrap();
            let case = exp.cases().swap_remove(0);
            let run = |(goodput, loss): (f64, f64)| RunRow {
                variant: case.variant.clone(),
                row: case.row.clone(),
                repetition: 0,
                seed: 1,
                values: [("goodput".to_owned(), goodput), ("loss".to_owned(), loss)].into_iter().collect(),
                audit: None,
            };
            let runs = [(3.0, 1.0), (1.0, 6.0), (2.0, 8.0), (9.0, 2.0), (5.0, 3.0)].map(run);
            let summary = summary(&exp, std::slice::from_ref(&case), &runs, World::Sim);
            let cell = |metric: &str| summary.variants[0].rows[0].cells[metric].value();
            (cell("goodput"), cell("loss"), summary.note.clone())
        };
        assert_eq!(row(""), (4.0, 4.0, String::new()));
        let (goodput, loss, note) = row("over-runs = \"median\"");
        assert!((goodput, loss) == (3.0, 3.0) && note.contains("medians"));
        let (goodput, loss, note) = row("over-runs = { median-of = \"goodput\" }");
        assert!((goodput, loss) == (3.0, 1.0) && note.contains("the median goodput"));
    }
}
