//! Reads a network from a file with `[[link]]` and `[[flow]]` tables.

use congestion::algorithms::media::dccc::Params;
use serde::Deserialize;
use units::{Duration, Rate};

use super::{Flow, Link, Network};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    link: Vec<LinkTable>,
    flow: Vec<FlowTable>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LinkTable {
    name: String,
    rate: Rate,
    delay: Duration,
    /// Default: unlimited, without loss.
    buffer: Option<Duration>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FlowTable {
    route: Vec<String>,
    /// Default: the sum of the delays on the route.
    back: Option<Duration>,
    threshold: Option<Duration>,
    gain: Option<f64>,
    h: Option<Rate>,
    beta: Option<f64>,
    /// Number of equal flows.
    #[serde(default = "one")]
    count: u32,
}

fn one() -> u32 {
    1
}

/// Limits, because larger networks take minutes.
const MOST_LINKS: usize = 20;
const MOST_FLOWS: u64 = 100;

/// A mistake in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// Line of the file, counted from 1, if a line is at fault.
    pub line: Option<usize>,
    /// The problem and the advice.
    pub what: String,
}

impl From<String> for Mistake {
    fn from(what: String) -> Self {
        Self { line: None, what }
    }
}

impl Mistake {
    /// Translates the parser's message.
    fn from_toml(text: &str, error: &toml::de::Error) -> Self {
        let line = error.span().map(|span| text[..span.start.min(text.len())].matches('\n').count() + 1);
        let message = error.message().trim().replace('\n', ", ");
        let what = match message.strip_prefix("missing field `").and_then(|rest| rest.strip_suffix('`')) {
            Some(key) => format!("{key}: missing; {}", advice(key)),
            None => message,
        };
        Self { line, what }
    }
}

/// Says what to write for a missing key.
fn advice(key: &str) -> &'static str {
    match key {
        "name" => "write the name of the link, like \"left\"",
        "rate" => "write the rate of the link, like \"2 Mbit/s\"",
        "delay" => "write the propagation delay, like \"15 ms\"",
        "route" => "write the links that the flow crosses, like [\"left\"]",
        "link" => "write a [[link]] table for each link",
        _ => "write a [[flow]] table for each kind of flow",
    }
}

/// Reads a network from the text of a file.
///
/// # Errors
/// The first mistake in the text. For a mistake that the parser finds, with the line.
pub fn read(text: &str) -> Result<Network, Mistake> {
    let file: File = toml::from_str(text).map_err(|e| Mistake::from_toml(text, &e))?;
    let links: Vec<Link> = file.link.iter().map(link).collect::<Result<_, _>>()?;
    if let Some(link) = (1..links.len()).find(|&i| links[..i].iter().any(|l| l.name == links[i].name)) {
        return Err(format!("link `{}`: duplicate name; give each link its own", links[link].name).into());
    }
    let counts = file.flow.iter().map(|table| u64::from(table.count));
    let (l, f) = (links.len(), counts.fold(0, u64::saturating_add));
    if !(1..=MOST_LINKS).contains(&l) || !(1..=MOST_FLOWS).contains(&f) {
        return Err(format!("{l} links and {f} flows: give 1 to {MOST_LINKS} and 1 to {MOST_FLOWS}").into());
    }
    let mut flows = Vec::new();
    for (i, table) in file.flow.iter().enumerate() {
        let flow = flow(table, &links).map_err(|wrong| format!("flow {}: {wrong}", i + 1))?;
        flows.extend(std::iter::repeat_n(flow, table.count as usize));
    }
    Ok(Network { links, flows })
}

fn link(table: &LinkTable) -> Result<Link, String> {
    let LinkTable { name, rate, delay, buffer } = table;
    if *rate == Rate(0) || *buffer == Some(Duration::ZERO) {
        return Err(format!(
            "link `{name}`: rate and buffer must be above 0; for an unlimited buffer, remove `buffer`"
        ));
    }
    Ok(Link {
        name: name.clone(),
        rate: rate.0 as f64,
        delay: delay.as_secs_f64(),
        buffer: buffer.map_or(f64::INFINITY, Duration::as_secs_f64),
    })
}

fn flow(table: &FlowTable, links: &[Link]) -> Result<Flow, String> {
    let number = |name: &String| {
        let known = || links.iter().map(|link| link.name.as_str());
        let found = known().position(|n| n == name);
        found.ok_or_else(|| {
            format!("unknown link `{name}`; {}", experiment::diagnostic::did_you_mean(name, known()))
        })
    };
    let route: Vec<usize> = table.route.iter().map(number).collect::<Result<_, _>>()?;
    if route.is_empty() || (1..route.len()).any(|i| route[..i].contains(&route[i])) {
        return Err("`route` must list one link or more, each only once".into());
    }
    let default = Params::default();
    let params = Params {
        gain: table.gain.unwrap_or(default.gain),
        h: table.h.unwrap_or(default.h),
        beta: table.beta.unwrap_or(default.beta),
        threshold: table.threshold.unwrap_or(default.threshold),
        ..default
    };
    if !(params.gain > 0.0 && params.gain <= 10.0 && params.beta > 0.0 && params.beta <= 1.0) {
        return Err("`gain` must be above 0 and at most 10, and `beta` above 0 and at most 1".into());
    }
    if params.h == Rate(0) {
        return Err("with h = 0 the flow would send nothing; give a rate, like h = \"20 kbit/s\"".into());
    }
    let ahead: f64 = route.iter().map(|&l| links[l].delay).sum();
    let back = table.back.map_or(ahead, Duration::as_secs_f64);
    if ahead + back <= 0.0 {
        return Err("the RTT is 0; give a link a `delay`, or the flow a `back` delay".into());
    }
    Ok(Flow { route, back, params })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
[[link]]
name = "left"
rate = "2 Mbit/s"
delay = "15 ms"
[[link]]
name = "right"
rate = "1500 kbit/s"
delay = "10 ms"
buffer = "300 ms"
[[flow]]
route = ["left", "right"]
[[flow]]
route = ["right"]
count = 2
back = "40 ms"
gain = 0.3
threshold = "80 ms"
"#;

    #[test]
    fn reads() {
        let net = read(TEXT).unwrap();
        assert_eq!((net.links.len(), net.flows.len(), net.longest()), (2, 3, 2));
        assert!(net.links[0].buffer.is_infinite() && (net.links[1].buffer - 0.3).abs() < 1e-12);
        assert_eq!((&net.flows[0].route, net.flows[0].back), (&vec![0, 1], 0.025));
        let last = &net.flows[2];
        assert_eq!((last.back, last.params.gain, last.threshold()), (0.04, 0.3, 0.08));
        assert!(net.crosses(1, 2) && !net.crosses(0, 2));
    }

    /// The line is that of the table.
    #[test]
    fn a_missing_key_is_named_with_its_line() {
        let wrong = read(&TEXT.replacen("delay = \"15 ms\"\n", "", 1)).unwrap_err();
        let what = "delay: missing; write the propagation delay, like \"15 ms\"".to_owned();
        assert_eq!(wrong, Mistake { line: Some(2), what });
    }

    #[test]
    fn says_what_is_wrong() {
        for (from, to, says) in [
            ("rate = \"2 M", "rte = \"2 M", "rte"),
            ("\"left\", \"right\"", "\"left\", \"rigth\"", "did you mean \"right\"?"),
            ("\"left\", \"right\"", "\"left\", \"left\"", "each only once"),
            ("\"left\", \"right\"", "", "one link or more"),
            ("name = \"right\"", "name = \"left\"", "duplicate name"),
            ("2 Mbit/s", "0 bit/s", "must be above 0"),
            ("gain = 0.3", "gain = 0", "flow 2: `gain` must be above 0"),
            ("count = 2", "count = 200", "201 flows"),
            ("threshold = \"80 ms\"", "h = \"0 bit/s\"", "h = 0"),
        ] {
            assert!(TEXT.contains(from));
            let wrong = read(&TEXT.replacen(from, to, 1)).unwrap_err();
            assert!(wrong.what.contains(says), "{to}: {wrong:?}");
        }
    }
}
