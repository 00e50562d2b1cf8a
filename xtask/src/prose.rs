//! `cargo xtask prose`: checks where the numbers in the experiments' texts come from.

use std::io::Write;
use std::path::PathBuf;

use crate::numbers::{self, Entry};
use crate::{Checked, summaries};
use experiment::file::Experiment;
use experiment::library::Library;

/// Lists the numbers. Returns those that have no origin, are no longer printed, or break the bound
/// of their sentence.
pub(crate) fn check(dirs: &[PathBuf]) -> Checked {
    let register = numbers::register()?;
    let summaries = summaries(dirs)?;
    let mut wrong = Vec::new();
    for source in Library.shipped() {
        let exp = Experiment::parse(&source.name, &source.file, &source.text).map_err(|e| e.to_string())?;
        wrong.extend(numbers::compare(&exp, &register));
        let own = summaries.iter().find(|summary| summary.experiment == exp.name);
        wrong.extend(own.into_iter().flat_map(|own| numbers::self_derived_bounds(&exp, own)));
    }
    wrong.extend(summaries.iter().flat_map(numbers::broken_bounds));
    let mut out = std::io::stdout();
    for Entry { place, by, numbers } in &register {
        let list: Vec<&str> = numbers.iter().map(String::as_str).collect();
        writeln!(out, "{place:32} {by}: {}", list.join(" ")).map_err(|e| e.to_string())?;
        let stale = numbers::stale(numbers, &numbers::printed(by, &summaries));
        wrong.extend(stale.iter().map(|n| format!("{place}: {n} is not printed by `{by}`")));
    }
    Ok(wrong)
}
