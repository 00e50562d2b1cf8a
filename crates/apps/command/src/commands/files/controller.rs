//! The congestion controller of an endpoint, in the syntax of an experiment file.

use std::path::Path;
use std::sync::Arc;

use clap::Args;
use congestion::{Algorithm, Entry, PathInfo};
use experiment::controllers::{find, unknown};

use crate::controllers::controllers;
use experiment::diagnostic::{Diagnostic, did_you_mean};
use experiment::file::Experiment;
use quic::connection::Settings;
use recovery::Config as Recovery;
use units::Ecn;

use crate::status::Error;

/// Experiment file with a flow of which only the controller is used, so that the rules and messages
/// of experiment files apply.
const FILE: &str = "title = \"t\"\nsource = \"s\"\nduration = \"60 s\"\n\n[link]\nrate = \"10 Mbit/s\"\ndelay = \"25 ms\"\n\
                    queue = \"2 BDP\"\n\n[[flow]]\ncontroller = { name = NAME }\n";

/// A controller and its parameters.
#[derive(Clone, Debug, Args)]
pub(crate) struct ControllerArgs {
    /// Set the congestion controller for the data that this end sends.
    ///
    /// `ackclock algorithms` lists all controllers.
    #[arg(long, value_name = "NAME", default_value = "cubic")]
    controller: String,
    /// Set a parameter of the controller, as in `--set threshold="20 ms"` (repeatable).
    #[arg(long = "set", value_name = "KEY=VALUE")]
    sets: Vec<String>,
}

impl ControllerArgs {
    /// Returns the controller after checking its parameters.
    pub(crate) fn algorithm(&self) -> Result<Algorithm, Error> {
        let name = &self.controller;
        let entry = find(controllers(), name)
            .ok_or_else(|| Error::bad(format!("--controller {name}: {}", unknown(controllers(), name))))?;
        let mut sets = Vec::new();
        for set in &self.sets {
            let (key, value) = set.split_once('=').ok_or_else(|| {
                Error::bad(format!("--set {set}: no value; write --set key=value, like --set beta=0.8"))
            })?;
            check_parameter(entry, set, key.trim())?;
            sets.push((format!("flow.controller.{}", key.trim()), value.trim().to_owned()));
        }
        let text = FILE.replace("NAME", &toml::Value::from(entry.name).to_string());
        let mut experiment =
            Experiment::parse_with(controllers(), "controller", Path::new("--controller"), &text)?;
        if !sets.is_empty() {
            experiment = experiment.with_overrides(&sets, false).map_err(without_path)?;
        }
        let case = experiment.cases().into_iter().next().ok_or_else(|| Error::bad("no controller"))?;
        let flows = experiment.scenario(&case, 0).flows;
        let flow = flows.into_iter().next().ok_or_else(|| Error::bad("no controller"))?;
        Ok(flow.algorithm)
    }
}

/// Checks that a controller has this parameter.
fn check_parameter(entry: &Entry, set: &str, key: &str) -> Result<(), Error> {
    let parameter = key.split('.').next().unwrap_or(key);
    let known: Vec<String> = entry.params.iter().map(|param| param.name.replace('_', "-")).collect();
    if known.iter().any(|name| name == parameter) {
        return Ok(());
    }
    let right = did_you_mean(parameter, known.iter().map(String::as_str));
    let right = if right.is_empty() { right } else { format!("; {right}") };
    Err(Error::bad(format!("--set {set}: {} has no parameter `{parameter}`{right}", entry.name)))
}

/// Removes the path in the experiment file from a message, because the user wrote only the
/// parameter.
fn without_path(mut problem: Diagnostic) -> Error {
    problem.file = problem.file.replacen("flow.controller.", "", 1);
    problem.key.clear();
    problem.into()
}

/// Returns the settings of connections with this controller. They try ECN on every path, and stop
/// where the path does not carry it (RFC 9000 section 13.4.2).
pub(crate) fn settings(algorithm: &Algorithm) -> Settings {
    let algorithm = algorithm.clone();
    let recovery = Recovery { ecn: Ecn::Ect0, ..Recovery::quic() };
    let settings = Settings { recovery: Arc::new(recovery), ..Settings::default() };
    settings.with_controller(move |path: PathInfo| algorithm.build(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_as_in_a_file() {
        let read = |name: &str, sets: &[&str]| {
            let sets = sets.iter().map(|set| (*set).to_owned()).collect();
            let args = ControllerArgs { controller: name.to_owned(), sets };
            args.algorithm().map(|algorithm| algorithm.name()).map_err(|error| error.message)
        };
        assert_eq!(read("cubic", &[]), Ok("cubic"));
        assert_eq!(read("bbr", &[]), Ok("bbr3"));
        assert_eq!(read("cubic", &["beta=0.8"]), Ok("cubic"));
        assert_eq!(read("quic-dc", &["threshold=20 ms"]), Ok("quic-dc"));
        for (name, set, says) in [
            ("cubik", "beta=0.8", "--controller cubik: unknown algorithm `cubik`; did you mean \"cubic\"?"),
            ("cubic", "beta=8.5", "--set beta=8.5: `8.5` is out of range"),
            ("cubic", "beta", "no value"),
            ("cubic", "bta=0.8", "--set bta=0.8: cubic has no parameter `bta`; did you mean \"beta\"?"),
            ("cubic", "name=bbr3", "cubic has no parameter `name`"),
            ("quic-dc", "threshold=20", "--set threshold=20: expected a value"),
            ("\"}", "beta=0.8", "unknown"),
        ] {
            let error = read(name, &[set]).unwrap_err();
            assert!(error.contains(says), "{error}");
        }
    }
}
