//! Any text as an experiment file: an experiment or a diagnostic, never a panic; and the file that a run leaves in its manifest
//! is read as the same run again.
#![no_main]

use std::path::Path;

use experiment::diagnostics::Diagnostics;
use experiment::file::{Case, Experiment};
use libfuzzer_sys::fuzz_target;

/// A file of thousands of cases says nothing more than its first ones.
const CASES: usize = 4;

fn parse(text: &str) -> Result<Experiment, Diagnostics> {
    Experiment::parse("fuzz", Path::new("fuzz.toml"), text)
}

/// The run of a case. What is counted besides is what the file's metrics ask for, and a resolved file has no table.
fn scenario(exp: &Experiment, case: &Case) -> String {
    let mut scenario = exp.scenario(case, 0);
    scenario.windows.clear();
    format!("{scenario:?}")
}

fuzz_target!(|text: &str| {
    let Ok(exp) = parse(text) else { return };
    for case in exp.cases().iter().take(CASES) {
        let resolved = exp.resolved(case, exp.seed).expect("every case was checked when the file was read");
        let resolved = toml::to_string(&resolved).expect("a table has a text");
        let again = parse(&resolved).unwrap_or_else(|problem| panic!("{problem}\n{resolved}"));
        assert_eq!(scenario(&exp, case), scenario(&again, &again.cases()[0]), "{resolved}");
    }
});
