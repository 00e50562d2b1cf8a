//! `ackclock prose`: checks where the numbers in the experiments' texts come from.

use std::path::PathBuf;

use crate::commands::folders::load_summaries;
use crate::commands::sources;
use crate::status::{Error, HOLDS, MISS, complain, print};
use experiment::library::Library;
use results::{ledger, numbers};

/// Lists the numbers. Reports those that have no origin or are no longer printed.
pub(crate) fn run(dirs: &[PathBuf]) -> Result<u8, Error> {
    let origins = numbers::register().map_err(Error::bad)?;
    let summaries = if dirs.is_empty() { Vec::new() } else { load_summaries(dirs)? };
    let mut wrong = Vec::new();
    for source in Library.shipped() {
        let exp = sources::parsed(&source)?;
        wrong.extend(numbers::compare(&exp, &origins));
        if let Some(own) = summaries.iter().find(|summary| summary.experiment == exp.name) {
            let copied = numbers::self_derived_bounds(&exp, own);
            wrong.extend(
                copied.iter().map(|(id, bound)| format!("{} {id}: {bound} is our own number", exp.name)),
            );
        }
        for (by, known) in origins.get(&exp.name).into_iter().flatten() {
            let list: Vec<&str> = known.iter().map(String::as_str).collect();
            print(&format!("{:32} {by}: {}\n", exp.name, list.join(" ")));
            let run = summaries.iter().find(|s| numbers::printed_by(by) == Some(s.experiment.as_str()));
            let stale = run.map_or_else(Vec::new, |run| numbers::stale(known, run));
            wrong.extend(stale.iter().map(|n| format!("{}: {n} is not printed by `{by}`", exp.name)));
        }
    }
    let sources = ledger::by_source(summaries.iter());
    let columns = || sources.iter().flat_map(|source| &source.columns);
    for (page, by, known) in numbers::page_entries(&origins) {
        let list: Vec<&str> = known.iter().map(String::as_str).collect();
        print(&format!("{page:32} {by}: {}\n", list.join(" ")));
        let stale = numbers::stale_of_ledger(by, known, columns());
        wrong.extend(stale.iter().map(|n| format!("{page}: {n} is not printed by `{by}`")));
    }
    wrong.iter().for_each(|line| complain(line));
    Ok(if wrong.is_empty() { HOLDS } else { MISS })
}
