//! The networks of a file, as experiments with the controllers of the question.

use std::path::Path as FilePath;

use congestion::Registry;
use experiment::file::Experiment;
use toml::{Table, Value};
use units::Duration;

use crate::Failure;
use crate::compare::question::{CANDIDATE, COMPETITOR, Kind, Named, Seeds};
use crate::compare::written::OWN;

/// Keys of the file that describe networks and what crosses them besides the flows.
const NETWORK: [&str; 7] = ["link", "reverse", "udp", "probe", "duration", "measure", "series"];
/// Metrics of a flow alone.
const ALONE: [&str; 5] = ["goodput", "rtt_mean", "rtt_p95", "loss", "queue_wait"];
/// Metrics of a flow that shares the link with the competitor.
const BESIDE: [&str; 4] = ["share of candidate", "goodput of candidate", "goodput of competitor", "goodput"];

/// Networks of a file: its tables without controllers.
#[derive(Clone, Debug)]
pub(super) struct File {
    /// Tables of the network.
    tables: Table,
    /// Keys that vary, without controllers.
    vary: Table,
    /// Keys of the flows.
    flow: Table,
    /// Keys of the file that have no effect.
    pub(super) unused: Vec<String>,
}

impl File {
    /// Reads the networks of an experiment.
    pub(super) fn new(experiment: &Experiment) -> Self {
        let mut tables = experiment.as_written();
        let (mut vary, mut unused) = (Table::new(), Vec::new());
        if let Some(Value::Table(keys)) = tables.remove("vary") {
            sort_out(keys, "", &mut vary, &mut unused);
        }
        let flow = first_flow(&mut tables, &mut unused);
        unused.sort();
        unused.dedup();
        tables.retain(|key: &str, _| NETWORK.contains(&key));
        tables.entry("series").or_insert("off".into());
        Self { tables, vary, flow, unused }
    }

    /// Adds keys to the flows.
    pub(super) fn set_flow(&mut self, keys: Table) {
        self.flow.extend(keys);
    }

    /// Sets the duration of the runs, and measures its last two thirds.
    pub(super) fn set_time(&mut self, time: Duration) {
        self.tables.insert("duration".to_owned(), time.to_string().into());
        self.tables.remove("measure");
        self.vary.retain(|key: &str, _| key != "duration" && !key.starts_with("measure"));
    }

    /// Builds the experiment for one kind of runs.
    pub(super) fn experiment(
        &self,
        registry: &Registry,
        title: &str,
        (controllers, against): (&[Named], &Named),
        (kind, seeds): (Kind, Seeds),
    ) -> Result<Experiment, Failure> {
        let mut file = self.tables.clone();
        let mut put = |key: &str, value: Value| file.insert(key.to_owned(), value);
        let rows = if kind == Kind::Beside { "flow.0.controller" } else { "flow.controller" };
        put("title", format!("{title}: {}", kind.title()).into());
        put("source", "ackclock compare".into());
        put("repetitions", i64::from(seeds.count).into());
        if seeds.skipped > 0 {
            put("seed", i64::from(1 + seeds.skipped).into());
        }
        let mut vary = self.vary.clone();
        let values = controllers.iter().map(|controller| controller.value.clone());
        vary.insert(rows.to_owned(), Value::Array(values.collect()));
        put("vary", vary.into());
        let metrics: &[&str] = if kind == Kind::Beside { &BESIDE } else { &ALONE };
        let table = [("rows", rows.into()), ("metrics", metrics.to_vec().into())];
        put("table", Table::from_iter(table.map(|(key, value)| (key.to_owned(), value))).into());
        put("flow", self.flows(kind, against).into());
        // Points of a sample lie on no line.
        if self.vary.contains_key("sample") {
            put("chart", Value::Array(Vec::new()));
        }
        if !file.contains_key("measure")
            && let Some(time) = file.get("duration").and_then(Value::as_str)
            && let Ok(time) = time.parse::<Duration>()
        {
            let from = Table::from_iter([("from".to_owned(), (time / 3).to_string().into())]);
            file.insert("measure".to_owned(), from.into());
        }
        let text = toml::to_string(&file).map_err(|e| Failure::bad(e.to_string()))?;
        let name = kind.name();
        Ok(Experiment::parse_with(registry, name, FilePath::new("compare"), &text)?)
    }

    fn flows(&self, kind: Kind, against: &Named) -> Vec<Table> {
        let mut flow = self.flow.clone();
        // Real flows never start at the same nanosecond, nor in phase with the queue.
        flow.entry("start-jitter").or_insert("100 ms".into());
        if kind != Kind::Beside {
            return vec![flow];
        }
        let mut rival = flow.clone();
        flow.insert("label".to_owned(), CANDIDATE.into());
        rival.insert("label".to_owned(), COMPETITOR.into());
        rival.insert("controller".to_owned(), against.value.clone());
        vec![flow, rival]
    }
}

/// Returns the keys of the first flow that a comparison does not set itself.
fn first_flow(tables: &mut Table, unused: &mut Vec<String>) -> Table {
    let flows = match tables.remove("flow") {
        Some(Value::Array(flows)) => flows,
        _ => Vec::new(),
    };
    match flows.len() {
        0 | 1 => {}
        2 => unused.push("the second flow".to_owned()),
        count => unused.push(format!("flows 2 to {count}")),
    }
    let mut flow = flows.into_iter().find_map(|flow| flow.try_into::<Table>().ok()).unwrap_or_default();
    flow.retain(|key: &str, _| {
        let used = key != "start" && !OWN.contains(&key);
        if !used && !["controller", "label"].contains(&key) {
            unused.push(format!("flow.{key}"));
        }
        used
    });
    flow
}

/// Sorts the varied keys into those of networks and those without effect. Tables are dotted keys.
fn sort_out(keys: Table, above: &str, vary: &mut Table, unused: &mut Vec<String>) {
    for (key, value) in keys {
        let key = if above.is_empty() { key } else { format!("{above}.{key}") };
        match value {
            Value::Table(below) if key != "sample" => sort_out(below, &key, vary, unused),
            _ if is_controller(&key) => {}
            _ if is_own(&key) => unused.push(key),
            Value::Array(values) if values.iter().any(|value| value.get("set").is_some()) => {
                if let Some(axis) = axis_of_networks(values, unused) {
                    vary.insert(key, axis);
                }
            }
            value => drop(vary.insert(key, value)),
        }
    }
}

/// Returns an axis without what it sets of controllers and of the comparison's own keys. Returns
/// `None` if it sets nothing else.
fn axis_of_networks(values: Vec<Value>, unused: &mut Vec<String>) -> Option<Value> {
    let mut kept: Vec<Value> = Vec::new();
    for mut value in values {
        if let Some(Value::Table(set)) = value.get_mut("set") {
            set.retain(|key, _| {
                let own = is_own(key);
                if own && !is_controller(key) && !unused.iter().any(|known| known == key) {
                    unused.push(key.to_owned());
                }
                !own && !is_controller(key)
            });
        }
        // Values that differ in the controller alone are one network.
        if !kept.iter().any(|known| known.get("set") == value.get("set")) {
            kept.push(value);
        }
    }
    let sets_nothing = |value: &Value| value.get("set").and_then(Value::as_table).is_none_or(Table::is_empty);
    (!kept.iter().all(sets_nothing)).then_some(Value::Array(kept))
}

fn is_controller(key: &str) -> bool {
    key.split('.').any(|part| part == "controller")
}

/// Reports whether the comparison sets a key of the flows itself, or has no such flow.
fn is_own(key: &str) -> bool {
    let mut parts = key.split('.');
    let is_flow = parts.next() == Some("flow");
    let other = |part: &str| part.parse::<usize>().is_ok_and(|number| number > 0);
    is_flow && parts.any(|part| part == "start" || OWN.contains(&part) || other(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> File {
        let registry = Registry::default();
        File::new(&Experiment::parse_with(&registry, "x", FilePath::new("x.toml"), text).unwrap())
    }

    const FILE: &str = "title = 't'\nduration = '9 s'\n[link]\nrate = '1 Mbit/s'\nrtt = '40 ms'\nqueue = '1 BDP'\n\
                        [[flow]]\ncontroller = 'cubic'\ncount = 2\nack = { ack-every = 1 }\n[vary]\n";

    /// Networks stay, controllers and their parameters go, and keys without effect are named.
    #[test]
    fn keys_are_sorted_out() {
        let vary = "link.rate = ['1 Mbit/s', '2 Mbit/s']\n'flow.controller' = ['cubic', 'bbr3']\n\
                    'flow.count' = [1, 2]\nsample = 3\n'link.rtt' = '1..9 ms'\n";
        let file = read(&format!("{FILE}{vary}"));
        assert_eq!(file.vary.keys().collect::<Vec<_>>(), ["link.rate", "link.rtt", "sample"]);
        assert_eq!(file.unused, ["flow.count"]);
        assert_eq!(file.flow.keys().collect::<Vec<_>>(), ["ack"]);
    }

    /// Controllers are removed from an axis, and values that differ in nothing else are one.
    #[test]
    fn axes_of_controllers() {
        let value = |label: &str, set: &str| format!("{{ label = '{label}', set = {{ {set} }} }}");
        let axis = |values: &[String]| read(&format!("{FILE}pair = [{}]", values.join(", "))).vary;
        let alone = [value("a", "'flow.controller' = 'cubic'"), value("b", "'flow.controller' = 'bbr3'")];
        assert!(axis(&alone).is_empty());
        let both = |label, name, rate| {
            value(label, &format!("'flow.controller' = '{name}', 'link.rate' = '{rate}'"))
        };
        let vary = axis(&[
            both("a", "cubic", "2 Mbit/s"),
            both("b", "bbr3", "2 Mbit/s"),
            both("c", "bbr3", "3 Mbit/s"),
        ]);
        let kept: Vec<&str> =
            vary["pair"].as_array().unwrap().iter().map(|v| v["label"].as_str().unwrap()).collect();
        assert_eq!(kept, ["a", "c"]);
    }
}
