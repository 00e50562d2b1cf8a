//! The network and the flow of a question as the user wrote them, in words or in a file.

use congestion::Registry;
use experiment::file::{Experiment, Words};
use experiment::library::{Library, NOT_FOUND};
use toml::{Table, Value};
use units::{Duration, Rate};

use super::varied::Varied;
use crate::Failure;

/// Field of the link.
const LINK: &str = "link";
/// Keys of a flow that a comparison sets itself.
pub(super) const OWN: [&str; 9] =
    ["label", "controller", "count", "stagger", "stop", "lasts", "transfer", "application", "pauses"];

/// Returns the queue of a link in words without one. Without a limit, a queue of minutes would
/// decide the answer. A BDP of a few packets is no queue that anybody builds.
fn default_queue(words: &Table) -> &'static str {
    const LEAST: f64 = 10.0 * 1500.0;
    let text = |key: &str| words.get(key).and_then(Value::as_str);
    let rate = text("rate").and_then(|rate| rate.parse::<Rate>().ok());
    let duration = |key| text(key).and_then(|delay| delay.parse::<Duration>().ok());
    let rtt = duration("rtt").or_else(|| Some(duration("delay")? * 2));
    let bdp = rate.zip(rtt).map(|(rate, rtt)| rate.bytes_per_sec() * rtt.as_secs_f64());
    if bdp.is_some_and(|bdp| bdp < LEAST) { "10 packets" } else { "1 BDP" }
}

/// Reports whether the BDP depends on a key of the link.
fn is_of_bdp(key: &str) -> bool {
    ["rate", "rtt", "delay"].contains(&key)
}

/// Adds the default queue to a link in words without one, and returns its name.
pub(super) fn add_queue(tables: &mut Table, vary: Option<&Varied>) -> Option<String> {
    let words = tables.get_mut(LINK).and_then(Value::as_table_mut)?;
    let varied = vary.map(|vary| vary.key.as_str());
    // A policer has a queue of nothing.
    if ["queue", "policer"].iter().any(|key| varied == Some(key) || words.contains_key(*key)) {
        return None;
    }
    let queue = default_queue(words);
    words.insert("queue".to_owned(), queue.into());
    let each = varied.is_some_and(is_of_bdp);
    Some(if each { "1 BDP, at least 10 packets".to_owned() } else { queue.to_owned() })
}

/// Returns the values of a sweep. With the words of a link with the default queue, each has its own
/// queue, if that depends on the value.
pub(super) fn values(varied: &Varied, words: Option<&Table>) -> Value {
    let Some(words) = words.filter(|_| is_of_bdp(&varied.key)) else { return varied.values.clone().into() };
    let key = |key: &str| format!("{LINK}.{key}");
    let at = |value: &String| {
        let mut words = words.clone();
        words.insert(varied.key.clone(), value.as_str().into());
        let set = [(key(&varied.key), value.as_str()), (key("queue"), default_queue(&words))];
        let set: Table = set.into_iter().map(|(key, value)| (key, value.into())).collect();
        let choice = [("label", value.as_str().into()), ("set", Value::from(set))];
        Value::Table(choice.map(|(key, value)| (key.to_owned(), value)).into_iter().collect())
    };
    Value::Array(varied.values.iter().map(at).collect())
}

/// Returns the tables of the network, and the keys of the first flow if the network is that of a
/// file.
pub(super) fn tables(registry: &Registry, text: &str) -> Result<(Table, Table), Failure> {
    if text.contains('=') {
        let words = Words::split(text).map_err(|e| Failure::bad(e.to_string()))?;
        return Ok((Table::from_iter([("link".to_owned(), table(&words)?.into())]), Table::new()));
    }
    let experiment = experiment(registry, text)?;
    // Without defaults: a default that is written out would outweigh what the question changes.
    let mut file = experiment.written(&experiment.cases()[0]);
    let mut flow = match file.remove("flow") {
        Some(Value::Array(flows)) => flows.into_iter().next().and_then(|flow| flow.try_into::<Table>().ok()),
        _ => None,
    }
    .unwrap_or_default();
    flow.retain(|key: &str, _| key != "start" && !OWN.contains(&key));
    file.retain(|key: &str, _| ["link", "reverse", "udp", "probe"].contains(&key));
    Ok((file, flow))
}

/// Reads the experiment that a link names.
pub(super) fn experiment(registry: &Registry, text: &str) -> Result<Experiment, Failure> {
    let source = Library.resolve(&[text.to_owned()]).map_err(|mut problem| match problem.wrong == NOT_FOUND {
        true => {
            let question = problem.right.split_inclusive("? ").next().filter(|part| part.ends_with("? "));
            Failure::Field(LINK, format!(
                " \"{text}\": not a link, a network or an experiment; {}`ackclock networks` lists the networks; or write a link like \"rate=20 Mbit/s rtt=40 ms queue=1 BDP\"",
                question.unwrap_or_default()
            ))
        }
        false => {
            problem.file = format!("{LINK} {}", problem.file);
            Failure::Fields(vec![problem])
        }
    })?;
    let source =
        source.into_iter().next().ok_or_else(|| Failure::Field(LINK, format!(" {text}: no experiment")))?;
    Ok(Experiment::parse_with(registry, &source.name, &source.file, &source.text)?)
}

fn table(words: &Words<'_>) -> Result<Table, Failure> {
    words
        .toml()
        .parse()
        .map_err(|e: toml::de::Error| Failure::bad(format!("{}: {}", words.name(), e.message())))
}

/// Returns the keys of the flows in words. Refuses those that the comparison sets itself.
pub(super) fn flow(words: &str) -> Result<Table, Failure> {
    let words = Words::split(words).map_err(|e| Failure::bad(e.to_string().replacen("link", "flow", 1)))?;
    match OWN.into_iter().find(|key| words.get(key).is_some()) {
        Some(key) => Err(Failure::Field("flow", format!(": {key}: {}", set_by_compare(key)))),
        None => table(&words),
    }
}

/// Says why a key of the flows cannot be given, and what to do instead.
fn set_by_compare(key: &str) -> &'static str {
    match key {
        "controller" => "the comparison sets it; name the controllers: ackclock compare cubic bbr3",
        "label" => "the comparison sets it; label a controller: '{ name = \"cubic\", label = \"...\" }'",
        "count" | "stagger" => {
            "the comparison runs one flow alone, and one beside --against; write an experiment for more"
        }
        _ => {
            "the comparison runs bulk flows and transfers of its own; set their duration with --time, \
              or write an experiment"
        }
    }
}

/// Refuses a varied delay that the RTT of the flow outweighs.
pub(super) fn check_effect(vary: &Varied, flow: &Table) -> Result<(), Failure> {
    match flow.get("rtt").filter(|_| ["delay", "rtt"].contains(&vary.key.as_str())) {
        Some(rtt) => {
            let wrong = format!(": {}: has no effect, because the flow has an `rtt` of {rtt}", vary.key);
            Err(Failure::Field("vary", wrong))
        }
        None => Ok(()),
    }
}
