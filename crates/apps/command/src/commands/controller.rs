//! A congestion controller named on the command line, in the syntax of an experiment file.

use std::path::Path;

use congestion::{Algorithm, Entry};
use experiment::controllers::{find, unknown};
use experiment::diagnostic::{Diagnostic, did_you_mean};
use experiment::file::Experiment;

use crate::controllers::controllers;
use crate::status::Error;

/// Experiment file with a flow of which only the controller is used, so that the rules and messages
/// of experiment files apply. Its receiver reports whatever a controller may need.
const FILE: &str = "title = \"t\"\nsource = \"s\"\nduration = \"60 s\"\n\n[link]\nrate = \"10 Mbit/s\"\ndelay = \"25 ms\"\n\
                    queue = \"2 BDP\"\n\n[[flow]]\ntransport = \"TRANSPORT\"\n\
                    controller = { name = NAME }\nack = { timestamps = 1, ack-every = 1 }\n";

/// Returns the controller of this name for a transport, `quic` or `tcp`, after checking its
/// parameters (`beta=0.8`). `flag` is what the user wrote before the name: `--controller `, or
/// nothing.
pub(crate) fn algorithm(
    flag: &str,
    name: &str,
    sets: &[String],
    transport: &str,
) -> Result<Algorithm, Error> {
    let entry = find(controllers(), name)
        .ok_or_else(|| Error::bad(format!("{flag}{name}: {}", unknown(controllers(), name))))?;
    let mut overrides = Vec::new();
    for set in sets {
        let (key, value) = set.split_once('=').ok_or_else(|| {
            Error::bad(format!("--set {set}: no value; write --set key=value, like --set beta=0.8"))
        })?;
        let key = key.trim().replace('_', "-");
        check_parameter(entry, set, &key)?;
        overrides.push((format!("flow.controller.{key}"), value.trim().to_owned()));
    }
    let name = toml::Value::from(entry.name).to_string();
    let text = FILE.replace("NAME", &name).replace("TRANSPORT", transport);
    let mut experiment =
        Experiment::parse_with(controllers(), "controller", Path::new("--controller"), &text)?;
    if !overrides.is_empty() {
        experiment = experiment.with_overrides(&overrides, false).map_err(without_path)?;
    }
    let case = experiment.cases().into_iter().next().ok_or_else(|| Error::bad("no controller"))?;
    let flows = experiment.scenario(&case, 0).flows;
    let flow = flows.into_iter().next().ok_or_else(|| Error::bad("no controller"))?;
    Ok(flow.algorithm)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_controller_for_every_transport() {
        for entry in controllers().iter() {
            for transport in ["quic", "tcp"] {
                let found = algorithm("", entry.name, &[], transport).map_err(|error| error.message);
                assert_eq!(found.map(|algorithm| algorithm.name()), Ok(entry.name), "{transport}");
            }
        }
    }

    #[test]
    fn parameters_as_in_a_file() {
        let read = |name: &str, sets: &[&str]| {
            let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
            let found = algorithm("--controller ", name, &sets, "quic");
            found.map(|algorithm| algorithm.name()).map_err(|error| error.message)
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
