//! Experiment files for the tests.
#![allow(dead_code, reason = "each test binary uses a part of it")]

use std::path::Path;

use experiment::diagnostics::Diagnostics;
use experiment::file::Experiment;
use scenario::Scenario;

/// A file that uses every table.
pub(crate) const GOOD: &str = include_str!("good.toml");
/// A video, a web page and a transfer.
pub(crate) const APPLICATIONS: &str = include_str!("applications.toml");
/// Two links in each direction.
pub(crate) const BOTH: &str = include_str!("both.toml");
/// A parking lot.
pub(crate) const CHAIN: &str = include_str!("chain.toml");
/// Two kinds of flows, chosen by an axis of several keys.
pub(crate) const MIXED: &str = include_str!("mixed.toml");
/// UDP sources beside a flow.
pub(crate) const UDP: &str = include_str!("udp.toml");

/// Parses a file with at most one mistake, which must give exactly one message.
pub(crate) fn parse(text: &str) -> Result<Experiment, Diagnostics> {
    let read = parse_all(text);
    let told = read.as_ref().err().map_or(0, |problems| problems.all().len());
    assert!(told <= 1, "{}", read.unwrap_err());
    read
}

pub(crate) fn parse_all(text: &str) -> Result<Experiment, Diagnostics> {
    Experiment::parse("quic-dc/x", Path::new("experiments/quic-dc/x.toml"), text)
}

pub(crate) fn good() -> Experiment {
    parse(GOOD).unwrap()
}

/// Parses a small file with one text replaced.
pub(crate) fn small(from: &str, to: &str) -> Result<Experiment, Diagnostics> {
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
