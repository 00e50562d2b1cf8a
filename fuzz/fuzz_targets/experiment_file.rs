//! Parses text as an experiment file. It gives an experiment or a diagnostic, never a panic. The
//! file that a run writes into its manifest is read as the same run.
#![no_main]

use std::path::Path;

use experiment::diagnostics::Diagnostics;
use experiment::file::{Case, Experiment};
use libfuzzer_sys::fuzz_target;

/// Number of cases to check per file. Thousands of cases show nothing more than the first ones.
const CASES: usize = 4;

fn parse(text: &str) -> Result<Experiment, Diagnostics> {
    Experiment::parse("fuzz", Path::new("fuzz.toml"), text)
}

/// Returns the run of a case without its measurement windows. They come from the file's table,
/// which a resolved file does not have.
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
