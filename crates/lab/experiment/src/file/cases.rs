//! Reads the cases of an experiment: one run for each combination of the varied values.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::sync::Arc;

use crate::diagnostic::Diagnostic;
use crate::file::cursor::{Cursor, Fields};
use crate::file::groups::{Groups, add_new};
use crate::file::node::{Node, Value};
use crate::file::setup::{Run, Setup};
use crate::file::vary::{self, Case, Combination};
use crate::place::Place;

/// The cases of an experiment.
pub(crate) struct Cases {
    pub(crate) cases: Vec<Case>,
    pub(crate) groups: Groups,
    /// Sentence about combinations that no network can have, empty if there is none.
    pub(crate) left_out: String,
}

/// Reads and checks every case, and collects the labels of their runs. Increments `counted` for
/// each case.
pub(crate) fn read(root: &Fields<'_>, counted: &Cell<usize>) -> Result<Cases, Diagnostic> {
    let varied = vary::read(root.get("vary").as_ref())?;
    let rows = vary::rows_key(&varied, root.get("table").and_then(|table| table.get("rows")).as_ref())?;
    let mut groups = Groups::default();
    // Each case changes a copy of the document, so only the keys of a run are kept.
    let mut document = root.cursor().node().clone();
    if let Value::Table(entries) = &mut document.value {
        entries.retain(|entry| Run::known().contains(&entry.key.as_str()));
    }
    let read = |combination| {
        counted.set(counted.get() + 1);
        read_case(combination, &mut groups, root.cursor(), document.clone())
    };
    let cases: Vec<Case> =
        vary::combinations(&varied, rows).into_iter().map(read).collect::<Result<_, _>>()?;
    root.get("vary").map_or(Ok(()), |vary_at| check_names(&cases, &vary_at))?;
    let (cases, left_out) = with_room(cases)?;
    Ok(Cases { cases, groups, left_out })
}

fn read_case(
    combination: Combination,
    groups: &mut Groups,
    root: &Cursor<'_>,
    mut document: Node,
) -> Result<Case, Diagnostic> {
    let Combination { variant, row, values, overrides } = combination;
    for o in &overrides {
        let refuse = |wrong| o.at.problem(root.file(), &o.path.join("."), wrong, "");
        document.set(&o.path, &o.at, &o.value).map_err(refuse)?;
    }
    mirror_delay(&mut document);
    let setup = Setup::read(&root.over(&document).table(Run::known())?)?;
    groups.add(setup.present().map(|flow| flow.config.group.as_str()));
    add_new(&mut groups.links, setup.link_names.iter().chain(&setup.reverse_names).map(String::as_str));
    add_new(&mut groups.windows, setup.run.windows.iter().map(|(name, _)| name.as_str()));
    add_new(&mut groups.udp, setup.run.udp.iter().map(|source| source.label.as_str()));
    let first = setup.present().next().map(|flow| flow.config.algorithm.name());
    Ok(Case {
        variant,
        row: if row.is_empty() { row_label(&setup) } else { row },
        algorithm: first.unwrap_or_default().to_owned(),
        values,
        on: Place::SIM,
        setup: Arc::new(setup),
        overrides,
    })
}

/// Lets steps of a single link's delay apply in both directions, by a return link that only delays.
/// Otherwise a delay that steps from 20 to 100 ms would be an RTT of 40 and then of 120 ms.
fn mirror_delay(document: &mut Node) {
    const NO_WAIT: &str = "1000 Gbit/s";
    let value = |step: &Node| match &step.value {
        Value::Array(pair) => pair.get(1).map(Node::to_toml),
        _ => None,
    };
    let changes = |delay: &&Node| match &delay.value {
        Value::Array(steps) => steps.windows(2).any(|pair| value(&pair[0]) != value(&pair[1])),
        _ => false,
    };
    let delay = document.get("link").and_then(|link| link.get("delay")).filter(changes);
    let Some(delay) = delay.filter(|_| document.get("reverse").is_none()) else { return };
    let (at, delay) = (delay.at.clone(), delay.clone());
    for (key, value) in [("delay", delay), ("rate", Node::text(at.clone(), NO_WAIT))] {
        // The whole file is a table, so nothing is in the way.
        let _ = document.set(&["reverse".to_owned(), key.to_owned()], &at, &value);
    }
}

/// Leaves out the cases with a queue that no full packet fits into: corners of a grid that deliver
/// nothing. Refuses a file that has no other case. Returns a sentence about those left out.
fn with_room(cases: Vec<Case>) -> Result<(Vec<Case>, String), Diagnostic> {
    let all = cases.len();
    let (kept, without): (Vec<Case>, Vec<Case>) =
        cases.into_iter().partition(|case| case.setup.no_room.is_none());
    let Some((first, problem)) = without.first().and_then(|case| Some((case, case.setup.no_room.clone()?)))
    else {
        return Ok((kept, String::new()));
    };
    if kept.is_empty() {
        return Err(problem);
    }
    // Whole variants are counted as one each: their rows are no networks of their own.
    let names = |cases: &[Case]| cases.iter().map(|case| case.variant.clone()).collect::<BTreeSet<_>>();
    let (some, none) = (names(&kept), names(&without));
    let (count, all) = match some.is_disjoint(&none) {
        true => (none.len(), none.len() + some.len()),
        false => (without.len(), all),
    };
    let verb = if count == 1 { "is" } else { "are" };
    let (name, wrong) = (if first.variant.is_empty() { &first.row } else { &first.variant }, &problem.wrong);
    Ok((kept, format!("{count} of {all} combinations {verb} left out; with {name}, {wrong}.")))
}

/// Refuses two cases with the same name, because results are found by name.
fn check_names(cases: &[Case], vary_at: &Cursor<'_>) -> Result<(), Diagnostic> {
    let mut names = BTreeSet::new();
    match cases.iter().find(|case| !names.insert((&case.variant, &case.row))) {
        Some(case) => {
            let wrong = format!("two combinations have the name `{}`, `{}`", case.variant, case.row);
            Err(vary_at.problem(wrong, "give the values distinct labels"))
        }
        None => Ok(()),
    }
}

/// Returns the row's label for an experiment in which nothing varies: the labels of its flows.
fn row_label(setup: &Setup) -> String {
    let mut labels = Vec::new();
    add_new(&mut labels, setup.present().map(|flow| flow.config.group.as_str()));
    labels.join(", ")
}
