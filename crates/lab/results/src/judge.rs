//! Summarises the runs of an experiment: means, spreads, published values, claims.

mod as_simulated;
mod bias;
mod claims;

use std::collections::{BTreeMap, BTreeSet};

use crate::measure::{deviation, mean};
use crate::store::RunRow;
use crate::summary::{Cell, Quartiles, Row, Summary, Trust, Variant};
use crate::variables::{self, Variables};
use experiment::aggregate::Aggregate;
use experiment::file::{Case, Experiment, matches};
use experiment::metric::Metric;
use experiment::place::Place;
use experiment::prose;
use experiment::row::RowLabel;
use scenario::{FlowConfig, Transport};

/// Summarises these runs. A claim with `on` is judged only in that world. Other claims are judged
/// in every world, because the simulator's rows are always there.
pub fn summary(exp: &Experiment, cases: &[Case], runs: &[RunRow], world: Place) -> Summary {
    let mut variants: Vec<Variant> = Vec::new();
    for case in cases {
        if variants.last().is_none_or(|v| v.name != case.variant) {
            let reference = exp.is_reference(&case.variant);
            let name = case.variant.clone();
            variants.push(Variant { name, reference, rows: Vec::new(), biases: Vec::new() });
        }
        if let Some(variant) = variants.last_mut() {
            variant.rows.push(row(exp, case, runs));
        }
    }
    for variant in &mut variants {
        as_simulated::inherit_reasons(variant);
        variant.biases = bias::find(exp, variant);
    }
    let others: BTreeSet<Place> = cases.iter().map(|case| case.on).collect();
    let others: Vec<Place> = others.into_iter().filter(|on| *on != Place::SIM).collect();
    let (states, variables) = controller_info(exp, cases);
    let mut summary = Summary {
        experiment: exp.name.clone(),
        world,
        title: exp.title.clone(),
        source: exp.source.clone(),
        note: [Some(exp.note.clone()), exp.aggregate.remark()]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join(" "),
        why_reference: exp.why_reference.clone(),
        metrics: exp.metrics.clone(),
        claims: exp
            .claims
            .iter()
            .filter(|c| world.shows(c.on))
            .map(|c| claims::judge(exp, c, &variants))
            .collect(),
        charts: exp.charts.iter().map(|chart| chart.with_rows_on(&others)).collect(),
        states,
        variables,
        variants,
        exchanges: Vec::new(),
    };
    fill_in(&mut summary);
    summary
}

/// Returns the number that a sentence refers to: in `here`, unless it names another variant.
fn number(place: &prose::Place<'_>, here: &Variant, all: &[Variant]) -> Option<String> {
    let variant = match place.variant {
        None => Some(here),
        Some(pattern) => all.iter().find(|variant| matches(pattern, &variant.name)),
    };
    let cell = variant?.rows.iter().find(|row| row.label == place.row)?.cells.get(&place.metric)?;
    let value = if place.published { cell.published? } else { cell.value() };
    Some(place.shown(value))
}

/// Returns the names of each controller's states, and the variables in its series.
fn controller_info(exp: &Experiment, cases: &[Case]) -> (BTreeMap<String, Vec<String>>, Variables) {
    let (mut states, mut variables) = (BTreeMap::new(), Variables::new());
    for case in cases {
        let scenario = exp.scenario(case, 0);
        for algorithm in scenario.flows.iter().map(|flow| &flow.algorithm) {
            let name = algorithm.name().to_owned();
            if !algorithm.states().is_empty() {
                let names = || algorithm.states().iter().map(|name| (*name).to_owned()).collect();
                states.entry(name.clone()).or_insert_with(names);
            }
            let is_kernels = |flow: &FlowConfig| matches!(flow.transport, Transport::Tcp { .. });
            match (scenario.series, case.on) {
                (None, _) => {}
                (Some(_), on)
                    if [Place::WIRE, Place::KERNEL_OWN].contains(&on)
                        && scenario.flows.iter().any(is_kernels) =>
                {
                    let name = format!("{name} ({})", on.word());
                    variables.entry(name).or_insert_with(variables::for_kernel);
                }
                // Processes do not show their controllers' variables.
                (Some(_), on) if on.world() == Place::WIRE && on != Place::WIRE => {}
                (Some(_), _) => {
                    variables.entry(name).or_insert_with(|| variables::for_algorithm(algorithm));
                }
            }
        }
    }
    variables.retain(|_, own| !own.is_empty());
    (states, variables)
}

/// Inserts the run's numbers into its sentences.
fn fill_in(summary: &mut Summary) {
    let all = summary.variants.clone();
    let fill =
        |text: &mut String, here: &Variant| *text = prose::fill(text, |place| number(place, here, &all));
    for (variant, here) in summary.variants.iter_mut().zip(&all) {
        let cells = variant.rows.iter_mut().flat_map(|row| row.cells.values_mut());
        let biases = variant.biases.iter_mut().filter_map(|bias| bias.reason.as_mut());
        cells.filter_map(|cell| cell.reason.as_mut()).chain(biases).for_each(|reason| fill(reason, here));
    }
    let Some(here) = all.iter().find(|variant| variant.reference).or(all.first()) else { return };
    let reasons = summary.claims.iter_mut().filter_map(|claim| claim.reason.as_mut());
    reasons.chain([&mut summary.note, &mut summary.why_reference]).for_each(|text| fill(text, here));
}

/// Summarises all metrics, not only those of the table: claims and JSON may need others.
fn row(exp: &Experiment, case: &Case, runs: &[RunRow]) -> Row {
    let label = case.label();
    let all: Vec<&RunRow> = runs.iter().filter(|r| r.variant == case.variant && r.row == label).collect();
    let valid: Vec<&RunRow> = all.iter().copied().filter(|run| run.is_valid()).collect();
    let mine = if valid.is_empty() { &all } else { &valid };
    let names: BTreeSet<&Metric> = mine.iter().flat_map(|r| r.values.keys()).collect();
    let chosen = median_run(&exp.aggregate, mine);
    let cells = names.into_iter().filter_map(|name| {
        let values: Vec<f64> = mine.iter().filter_map(|r| r.values.get(name).copied()).collect();
        let without = mine.len() - values.len();
        if without > 0 && name.quantity().is_some_and(|quantity| quantity.needs_every_run) {
            return None;
        }
        let runs = Quartiles::from_values(&values);
        let miss = exp.miss(&case.variant, &label, name);
        let cell = Cell {
            shown: match exp.aggregate {
                Aggregate::Mean => None,
                Aggregate::Median => runs.map(|runs| runs.median),
                Aggregate::MedianRun(_) => chosen.and_then(|run| run.values.get(name).copied()),
            },
            mean: mean(&values),
            spread: Some(deviation(&values)).filter(|spread| spread.is_finite()),
            runs,
            published: exp.published(&case.variant, &label, name),
            reason: miss.map(|miss| miss.reason.clone()),
            open: miss.is_some_and(|miss| miss.open),
            path_unknown: miss.is_some_and(|miss| miss.path_unknown),
            without: without as u32,
        };
        Some((name.clone(), cell))
    });
    let cells = cells.collect();
    Row { label, algorithm: case.algorithm.clone(), cells, trust: trust(&all) }
}

/// Returns the run that represents all, if the file asks for one.
fn median_run<'r>(aggregate: &Aggregate, runs: &[&'r RunRow]) -> Option<&'r RunRow> {
    let Aggregate::MedianRun(metric) = aggregate else { return None };
    let mut with: Vec<(f64, &RunRow)> =
        runs.iter().filter_map(|run| Some((*run.values.get(metric)?, *run))).collect();
    with.sort_by(|a, b| a.0.total_cmp(&b.0));
    with.get(with.len() / 2).map(|(_, run)| *run)
}

/// Returns the validity of audited runs. Runs without an audit count as valid.
fn trust(runs: &[&RunRow]) -> Option<Trust> {
    let audits = || runs.iter().filter_map(|run| run.audit.as_ref());
    audits().next()?;
    Some(Trust {
        valid: runs.iter().filter(|run| run.is_valid()).count() as u32,
        invalid: audits()
            .filter(|a| !a.invalid_reasons.is_empty())
            .map(|a| a.invalid_reasons.join("; "))
            .collect(),
        repeated: audits().map(|audit| audit.repeated).sum(),
    })
}

/// Returns a cell of a row with valid runs. Rows without one are left out, so that no claim holds
/// by them.
fn trusted_cell<'v>(variant: &'v Variant, label: &RowLabel, metric: &Metric) -> Option<&'v Cell> {
    variant.rows.iter().find(|r| r.label == *label && r.is_trusted())?.cells.get(metric)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::store::Audit;
    use crate::summary::Verdict;

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

    /// A claim is judged in the reference, or in all variants with `everywhere`. Without a
    /// reference all variants count alike.
    #[test]
    fn reference_and_everywhere() {
        let verdicts = |file: &str, goodputs: [f64; 2]| {
            let exp = Experiment::parse("x", Path::new("x.toml"), file).unwrap();
            let cases = exp.cases();
            let run = |(case, goodput): (&Case, f64)| RunRow {
                variant: case.variant.clone(),
                row: case.label(),
                repetition: 0,
                seed: 1,
                values: [("goodput".into(), goodput)].into_iter().collect(),
                audit: None,
            };
            let runs: Vec<_> = cases.iter().zip(goodputs).map(run).collect();
            summary(&exp, &cases, &runs, Place::SIM).claims.iter().map(|c| c.verdict).collect::<Vec<_>>()
        };
        let reference =
            "[reference]\nvariants = [\"rate = 2 Mbit/s\"]\nwhy = \"the source says so\"\n[[claim]]";
        let file = FILE.replacen("[[claim]]", reference, 1);
        assert_eq!(verdicts(&file, [1.0, 2.0]), [Verdict::Holds, Verdict::Partly]);
        assert_eq!(verdicts(&file, [2.0, 1.0]), [Verdict::Missed, Verdict::Partly]);
        assert_eq!(verdicts(&file, [1.6, 2.0]), [Verdict::Holds, Verdict::Holds]);
        assert_eq!(verdicts(&file, [1.0, 1.0]), [Verdict::Missed, Verdict::Missed]);
        assert_eq!(verdicts(FILE, [1.0, 2.0]), [Verdict::Partly, Verdict::Partly]);
    }

    /// `*` in a claim about the simulator selects its rows, not those of the wire.
    #[test]
    fn claims_about_the_simulator_do_not_see_the_wire() {
        let exp = Experiment::parse("x", Path::new("x.toml"), FILE).unwrap();
        let cases: Vec<Case> =
            exp.cases().into_iter().flat_map(|case| [case.clone(), case.run_on(Place::WIRE)]).collect();
        let run = |case: &Case| RunRow {
            variant: case.variant.clone(),
            row: case.label(),
            repetition: 0,
            seed: 1,
            values: [("goodput".into(), if case.on == Place::SIM { 2.0 } else { 1.0 })].into_iter().collect(),
            audit: (case.on == Place::WIRE).then(Audit::default),
        };
        let runs: Vec<_> = cases.iter().map(run).collect();
        let judged = summary(&exp, &cases, &runs, Place::WIRE);
        assert_eq!(judged.variants[0].rows.len(), 2);
        assert!(judged.claims.iter().all(|claim| claim.verdict == Verdict::Holds));
    }

    /// The kernel's own controllers show `ssthresh`. Ours show the same in the kernel as in the
    /// simulator.
    #[test]
    fn variables_of_each_place() {
        let file = FILE
            .replace("duration", "series = \"10 ms\"\nduration")
            .replace("controller = \"cubic\"", "controller = \"cubic\"\ntransport = \"tcp\"");
        let exp = Experiment::parse("x", Path::new("x.toml"), &file).unwrap();
        let case = exp.cases().swap_remove(0);
        let on = |place| controller_info(&exp, &[case.clone().run_on(place)]).1;
        let simulated = on(Place::SIM);
        assert!(simulated["cubic"].len() > 1);
        assert_eq!([on(Place::KERNEL), on(Place::KERNEL_NATIVE)], [simulated.clone(), simulated]);
        let own = on(Place::KERNEL_OWN);
        assert_eq!(own["cubic (kernel-own)"], variables::for_kernel());
    }

    /// Invalid runs count only if no run is valid, and never for a claim.
    #[test]
    fn invalid_runs_are_not_averaged() {
        let exp = Experiment::parse("x", Path::new("x.toml"), FILE).unwrap();
        let case = exp.cases().swap_remove(0);
        let run = |goodput: f64, invalid_reasons: &[&str]| RunRow {
            variant: case.variant.clone(),
            row: case.label(),
            repetition: 0,
            seed: 1,
            values: [("goodput".into(), goodput)].into_iter().collect(),
            audit: Some(Audit {
                invalid_reasons: invalid_reasons.iter().map(|o| (*o).to_owned()).collect(),
                repeated: 1,
            }),
        };
        let row = |runs: &[RunRow]| {
            summary(&exp, std::slice::from_ref(&case), runs, Place::WIRE).variants[0].rows[0].clone()
        };
        let mixed = row(&[run(2.0, &[]), run(8.0, &["late"]), run(4.0, &[])]);
        assert_eq!(mixed.cells["goodput"].mean, 3.0);
        let remark = mixed.trust.as_ref().unwrap().remark().unwrap();
        assert_eq!(
            (remark.as_str(), mixed.is_trusted()),
            ("1 of 3 runs are invalid and not counted: late", true)
        );
        assert_eq!(mixed.trust.unwrap().repeated, 3);
        let bad = row(&[run(8.0, &["late", "stolen"])]);
        assert_eq!((bad.cells["goodput"].mean, bad.is_trusted()), (8.0, false));
        assert_eq!(bad.trust.unwrap().remark().unwrap(), "none of 1 runs is valid: late; stolen");
        let judged = summary(&exp, std::slice::from_ref(&case), &[run(8.0, &["late"])], Place::SIM);
        assert!(judged.claims.iter().all(|c| c.verdict == Verdict::NotJudged));
        assert_eq!(judged.claims[0].parts[0].variants[0].numbers, "a required run is invalid");
        assert_eq!(row(&[run(1.0, &[])]).trust.unwrap().remark(), None);
    }

    /// Cells show the mean, the median, or the whole run with the median of one metric.
    #[test]
    fn what_stands_for_the_repetitions() {
        let row = |over_runs: &str| {
            let file = FILE
                .replace("rows = \"flow.controller\"", &format!("rows = \"flow.controller\"\n{over_runs}"));
            let exp = Experiment::parse("x", Path::new("x.toml"), &file).unwrap();
            let case = exp.cases().swap_remove(0);
            let run = |(goodput, loss): (f64, f64)| RunRow {
                variant: case.variant.clone(),
                row: case.label(),
                repetition: 0,
                seed: 1,
                values: [("goodput".into(), goodput), ("loss".into(), loss)].into_iter().collect(),
                audit: None,
            };
            let runs = [(3.0, 1.0), (1.0, 6.0), (2.0, 8.0), (9.0, 2.0), (5.0, 3.0)].map(run);
            let summary = summary(&exp, std::slice::from_ref(&case), &runs, Place::SIM);
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
