//! The cases of a study: those of the file in the simulator, next to the same cases on other
//! places.

use std::collections::BTreeMap;

use experiment::file::{Case, Experiment};
use experiment::place::Place;
use scenario::World;

use crate::options::{Failure, Options};

/// Note of a table about variants that were not measured.
const REFERENCE_ALONE: &str =
    "Only the reference variants were measured, because runs on the wire take real time.";

/// Reasons why rows cannot run, by place.
type LeftOut = BTreeMap<Place, BTreeMap<String, Vec<String>>>;

/// Returns every case, each followed by the same case on the places of the options that can run it.
/// Adds the notes for the table.
///
/// # Errors
/// The reasons why no case can run there.
pub(crate) fn cases(exp: &Experiment, options: &Options) -> Result<(Vec<Case>, String), Failure> {
    if options.world == Place::SIM {
        return Ok((exp.cases(), String::new()));
    }
    let worlds: Vec<(Place, &dyn World)> =
        options.backends.iter().map(|on| Ok((*on, options.world(*on)?))).collect::<Result<_, Failure>>()?;
    let (mut cases, mut left_out) = (Vec::new(), LeftOut::new());
    let (mut notes, mut is_left, mut found) = (Vec::new(), false, false);
    for case in exp.cases() {
        let scenario = exp.scenario(&case, 0);
        cases.push(case.clone());
        for &(on, world) in &worlds {
            if let Err(why) = world.check(&scenario) {
                let rows = left_out.entry(on).or_default().entry(why).or_default();
                if !rows.contains(&case.row) {
                    rows.push(case.row.clone());
                }
                continue;
            }
            // In real time, only the reference variants are worth their time.
            if world.is_real_time() && !exp.is_reference(&case.variant) {
                is_left = true;
                continue;
            }
            found = true;
            notes.extend(world.notes(&scenario).into_iter().filter(|note| !note.is_empty()));
            if world.has_virtual_twin(&scenario) {
                cases.push(case.run_on(Place::STACK));
            }
            cases.push(case.run_on(on));
        }
    }
    if !found {
        return Err(Failure::World(nowhere(exp, &left_out, is_left)));
    }
    let mut once: Vec<&str> = Vec::new();
    for note in notes.into_iter().chain(is_left.then_some(REFERENCE_ALONE)) {
        if !once.contains(&note) {
            once.push(note);
        }
    }
    let left_out = not_there(&left_out);
    let all = once.into_iter().chain([left_out.as_str()]).collect::<Vec<_>>();
    Ok((cases, all.join(" ").trim().to_owned()))
}

/// Checks that every case can run on all of these places.
///
/// # Errors
/// The first case that cannot, and why.
pub fn check_all(exp: &Experiment, options: &Options) -> Result<(), Failure> {
    for case in exp.cases() {
        let scenario = exp.scenario(&case, 0);
        for on in options.backends.iter().copied() {
            let why = |why| Failure::World(format!("{} cannot run on {}: {why}", case.row, on.name()));
            options.world(on)?.check(&scenario).map_err(why)?;
        }
    }
    Ok(())
}

/// Lists the places and the rows that cannot run there.
fn sentences(left_out: &LeftOut) -> impl Iterator<Item = (&'static str, String)> {
    left_out.iter().map(|(backend, reasons)| {
        let reasons: Vec<String> =
            reasons.iter().map(|(why, rows)| format!("{} ({why})", rows.join(", "))).collect();
        (backend.name(), reasons.join("; "))
    })
}

fn not_there(left_out: &LeftOut) -> String {
    let notes = sentences(left_out).map(|(place, reasons)| format!("Not on {place}: {reasons}."));
    notes.collect::<Vec<_>>().join(" ")
}

fn nowhere(exp: &Experiment, left_out: &LeftOut, is_left: bool) -> String {
    if is_left {
        let not_there = not_there(left_out);
        return format!("no reference variant of {} can run on the wire: {not_there}", exp.file);
    }
    let no_case = |(place, reasons)| format!("no case of {} can run on {place}: {reasons}", exp.file);
    sentences(left_out).map(no_case).collect::<Vec<_>>().join("; ")
}
