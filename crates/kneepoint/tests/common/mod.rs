//! Experiment files for the tests.
#![allow(dead_code, reason = "each test binary uses a part of it")]

use std::path::Path;

use experiment::diagnostic::Diagnostic;
use experiment::file::Experiment;
use scenario::Scenario;

/// Has something of everything.
pub(crate) const GOOD: &str = include_str!("good.toml");

pub(crate) fn parse(text: &str) -> Result<Experiment, Diagnostic> {
    Experiment::parse("quic-dc/x", Path::new("experiments/quic-dc/x.toml"), text)
}

pub(crate) fn good() -> Experiment {
    parse(GOOD).unwrap()
}

/// A small file with other text in the place of some of it.
pub(crate) fn small(from: &str, to: &str) -> Result<Experiment, Diagnostic> {
    let text = "title = \"t\"\nsource = \"s\"\nduration = \"60 s\"\n\n[link]\nrate = \"10 Mbit/s\"\ndelay = \"25 ms\"\n\
                queue = \"2 BDP\"\n\n[[flow]]\ncontroller = \"cubic\"\n";
    assert!(text.contains(from), "{from}");
    parse(&text.replacen(from, to, 1))
}

pub(crate) fn scenario(exp: &Experiment, case: usize) -> Scenario {
    exp.scenario(&exp.cases()[case], 0)
}

pub(crate) fn set(key: &str, value: &str) -> Vec<(String, String)> {
    vec![(key.to_owned(), value.to_owned())]
}
