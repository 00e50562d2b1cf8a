//! The network of a comparison in numbers, and its differences from the single drop-tail link of
//! the formulas.

use link::{Aqm, Limit, RateModel};
use scenario::{FlowConfig, Scenario, Transport};
use units::Duration;

use super::closed_form::Path;

/// The network of the runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Network {
    /// Path in the terms of the formulas, with the rate of the slowest link.
    pub(super) path: Path,
    /// Delay of a full queue, if it has a limit.
    pub(super) buffer: Option<Duration>,
    /// Differences from a single drop-tail link of constant rate, in words. With any of them no
    /// formula applies.
    pub(super) beyond_one_link: Vec<String>,
    /// Whether goodput can be given as a share of the capacity of `path`: rates are constant, and
    /// data flow forward.
    pub(super) has_capacity: bool,
    /// Packets and handshake of the flows, in a sentence: defaults that decide the numbers.
    pub(super) packets: String,
    /// Random elements that differ between repetitions, without the start times of the flows.
    pub(super) random: Vec<&'static str>,
}

impl Network {
    pub(super) fn new(scenario: &Scenario) -> Self {
        let flow = &scenario.flows[0];
        let payload = flow.transport.payload();
        let on_wire = flow.transport.wire_bytes(payload);
        let narrowest = scenario.forward().map(|link| link.rate.nominal()).min().unwrap_or_default();
        let capacity = narrowest.0 as f64 * f64::from(payload) / f64::from(on_wire);
        let bytes = match scenario.link.limit {
            Limit::Bytes(bytes) => Some(bytes.0 as f64),
            Limit::Packets(packets) => Some(packets as f64 * f64::from(on_wire)),
            Limit::Unlimited => None,
        };
        let (rtt, rate) = (flow.rtt.as_secs_f64(), scenario.link.rate.nominal().0);
        let queue = bytes.map(|bytes| bytes * 8.0 / (rate as f64 * rtt));
        // Corrupted packets are random losses too.
        let (lost, damaged) = (scenario.link.loss, scenario.link.corrupt);
        let loss = lost + damaged - lost * damaged;
        Self {
            path: Path { capacity, rtt, payload: f64::from(payload) * 8.0, loss, queue },
            buffer: bytes.map(|bytes| Duration::from_secs_f64(bytes * 8.0 / rate.max(1) as f64)),
            beyond_one_link: beyond_one_link(scenario),
            has_capacity: scenario.forward().all(|link| matches!(link.rate, RateModel::Constant(_)))
                && flow.route.first < scenario.first_reverse(),
            packets: packets(flow),
            random: random(scenario),
        }
    }

    /// Reports whether the formulas of a single drop-tail link apply.
    pub(super) fn is_one_link(&self) -> bool {
        self.beyond_one_link.is_empty()
    }
}

fn packets(flow: &FlowConfig) -> String {
    let (name, payload) = match flow.transport {
        Transport::Quic { .. } => ("QUIC", flow.transport.payload()),
        Transport::Tcp { .. } => ("TCP", flow.transport.payload()),
    };
    let with = if flow.handshake { "with" } else { "without" };
    let size = flow.transport.wire_bytes(payload);
    format!(
        "{name} packets of {size} bytes carry {payload} of the data; connections begin {with} a handshake."
    )
}

fn beyond_one_link(scenario: &Scenario) -> Vec<String> {
    let mut found = Vec::new();
    if !scenario.beyond.is_empty() {
        found.push(format!("{} links in series", 1 + scenario.beyond.len()));
    }
    for link in scenario.forward().filter(|link| !matches!(link.aqm, Aqm::DropTail(_))) {
        found.push(format!("`{}` in its queue", link.aqm.name()));
    }
    let rates = || scenario.forward().map(|link| &link.rate);
    if rates().any(|rate| matches!(rate, RateModel::Slots(_))) {
        found.push("a rate of random slots".to_owned());
    }
    if rates().any(|rate| matches!(rate, RateModel::Steps(_))) {
        found.push("a rate that changes".to_owned());
    }
    if scenario.forward().any(|link| !link.delay_steps.is_empty() || !link.limit_steps.is_empty()) {
        found.push("a delay or queue that changes".to_owned());
    }
    if scenario.forward().any(|link| !link.blackhole.is_empty() || !link.drop.is_empty()) {
        found.push("scheduled losses".to_owned());
    }
    let is_back = |first: u16| first >= scenario.first_reverse();
    if scenario.flows.iter().any(|flow| is_back(flow.route.first)) {
        found.push("flows in the reverse direction".to_owned());
    } else if !scenario.reverse.is_empty() {
        found.push("reverse links".to_owned());
    }
    if !scenario.udp.is_empty() {
        found.push("UDP cross-traffic".to_owned());
    }
    found.dedup();
    found
}

fn random(scenario: &Scenario) -> Vec<&'static str> {
    let any = |is: &dyn Fn(&link::LinkConfig) -> bool| scenario.links().any(is);
    let draws = |aqm: &Aqm| matches!(aqm, Aqm::Red(_) | Aqm::Pie(_) | Aqm::DualPi2(_));
    let is_random_udp = scenario.udp.iter().any(|udp| udp.on_off.is_some_and(|spans| spans.random));
    let all = [
        ("losses", any(&|link| link.loss > 0.0)),
        ("corruption", any(&|link| link.corrupt > 0.0)),
        ("duplicates", any(&|link| link.duplicate > 0.0)),
        ("jitter", any(&|link| link.jitter > Duration::ZERO)),
        ("the AQM", any(&|link| draws(&link.aqm))),
        ("the rates of the slots", any(&|link| matches!(link.rate, RateModel::Slots(_)))),
        ("UDP", is_random_udp),
    ];
    all.into_iter().filter(|(_, is)| *is).map(|(what, _)| what).collect()
}

#[cfg(test)]
mod tests {
    use experiment::file::Experiment;
    use std::path::Path as FilePath;

    use super::*;

    fn network(link: &str) -> Network {
        let text = format!(
            "title = \"t\"\nduration = \"1 s\"\n{link}\n[[flow]]\ncontroller = \"cubic\"\nrtt = \"40 ms\"\n"
        );
        let file = Experiment::parse("t", FilePath::new("t"), &text).unwrap();
        Network::new(&file.scenario(&file.cases()[0], 0))
    }

    #[test]
    fn one_drop_tail_link_and_others() {
        let plain = "[link]\nrate = \"10 Mbit/s\"\ndelay = \"5 ms\"\n";
        assert!(network(plain).is_one_link() && network(plain).random.is_empty());
        let quic =
            "QUIC packets of 1294 bytes carry 1215 of the data; connections begin without a handshake.";
        assert_eq!(network(plain).packets, quic);
        for (link, says) in [
            (format!("{plain}aqm = \"codel\"\n"), "`codel` in its queue"),
            (format!("{plain}blackhole = [[\"1 s\", \"2 s\"]]\n"), "scheduled losses"),
            (format!("{plain}drop = [7]\n"), "scheduled losses"),
            (
                "[link]\nrate = [[\"0 s\", \"1 Mbit/s\"], [\"1 s\", \"2 Mbit/s\"]]\ndelay = \"5 ms\"\n"
                    .into(),
                "a rate that changes",
            ),
            (format!("{plain}[reverse]\nrate = \"1 Mbit/s\"\ndelay = \"5 ms\"\n"), "reverse links"),
        ] {
            assert_eq!(network(&link).beyond_one_link, [says]);
        }
        let faulty = network(&format!("{plain}loss = \"1 %\"\ncorrupt = \"2 %\"\nduplicate = \"1 %\"\n"));
        assert_eq!(faulty.random, ["losses", "corruption", "duplicates"]);
        assert!(faulty.is_one_link() && (faulty.path.loss - 0.0298).abs() < 1e-9);
        let chain = "[[link]]\nname = \"a\"\nrate = \"10 Mbit/s\"\ndelay = \"5 ms\"\nloss = \"1 %\"\n\
                     [[link]]\nname = \"b\"\nrate = \"5 Mbit/s\"\ndelay = \"5 ms\"\njitter = \"1 ms\"\n";
        let chain = network(chain);
        assert_eq!(chain.beyond_one_link, ["2 links in series"]);
        assert_eq!(chain.random, ["losses", "jitter"]);
        assert!(chain.path.capacity < 5e6, "that of the slowest link: {}", chain.path.capacity);
    }
}
