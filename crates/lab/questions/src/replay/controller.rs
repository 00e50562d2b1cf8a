//! Reads controllers as experiment files do, with the same checks.

use std::path::Path;

use congestion::{Algorithm, Registry};
use experiment::file::Experiment;
use toml::{Table, Value};

use crate::compare::Named;

/// Reads the controller of an argument: its name, or a table with parameters.
pub(super) fn of_argument(registry: &Registry, text: &str) -> Result<Algorithm, String> {
    parse(registry, Named::read(registry, text)?.value)
}

/// Reads the controller of a log from its name and its parameters as JSON.
pub(super) fn of_log(registry: &Registry, name: &str, parameters: Option<&str>) -> Result<Algorithm, String> {
    let name: String = name.chars().take(60).collect();
    if registry.get(&name).is_none() {
        return Err(format!("the log's controller `{name}` is none of this program"));
    }
    let wrong = |why: String| format!("the log's parameters of {name} do not fit: {why}");
    let mut value: Table = match parameters {
        Some(json) => serde_json::from_str(json).map_err(|e| wrong(e.to_string()))?,
        None => Table::new(),
    };
    value.insert("name".to_owned(), name.as_str().into());
    parse(registry, Value::Table(value)).map_err(wrong)
}

/// Reads a controller in an experiment, where its parameters have ranges.
fn parse(registry: &Registry, controller: Value) -> Result<Algorithm, String> {
    let flow = Table::from_iter([("controller".to_owned(), controller)]);
    let link = Table::from_iter([("rate", "100 Mbit/s"), ("rtt", "100 ms"), ("queue", "1 BDP")].map(own));
    let file = Table::from_iter([
        ("title".to_owned(), Value::from("replay")),
        ("duration".to_owned(), "1 s".into()),
        ("link".to_owned(), link.into()),
        ("flow".to_owned(), vec![flow].into()),
    ]);
    let text = toml::to_string(&file).map_err(|e| e.to_string())?;
    let parsed = Experiment::parse_with(registry, "replay", Path::new("replay"), &text);
    let experiment = parsed.map_err(|problems| {
        let problem = problems.all().first().map(|problem| {
            let key = problem.key.split("controller").last().unwrap_or_default().trim_start_matches('.');
            let key = if key.is_empty() { String::new() } else { format!("{key}: ") };
            format!("{key}{}; {}", problem.wrong, problem.right)
        });
        problem.unwrap_or_default()
    })?;
    let case = experiment.cases().first().cloned();
    let flows = case.map(|case| experiment.scenario(&case, 0).flows).unwrap_or_default();
    flows.into_iter().next().map(|flow| flow.algorithm).ok_or_else(|| "no controller".to_owned())
}

fn own((key, value): (&str, &str)) -> (String, Value) {
    (key.to_owned(), value.into())
}
