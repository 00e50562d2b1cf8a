//! The network of a comparison in numbers, and its differences from the single drop-tail link of
//! the formulas.

use link::{Aqm, Limit, LimitCounts, LinkConfig, RateModel};
use scenario::{FlowConfig, Scenario, Transport};
use units::{Bytes, Duration, Time};

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
    /// Whether the bucket of a single link has no queue, so that it drops what has no tokens.
    pub(super) polices: bool,
    /// Mean capacity for payload of the slowest link in the measured window, in bits per second.
    /// `None` if it is zero or random, or if the data flow backward.
    pub(super) capacity: Option<f64>,
    /// Reason why no packet can arrive in the measured window, with what to change.
    pub(super) obstacle: Option<&'static str>,
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
        let link = crossed(scenario).map(|(_, link)| link).min_by_key(|link| link.rate.nominal());
        let link = link.unwrap_or(&scenario.link);
        let rate = link.rate.nominal().0 as f64;
        let capacity = rate * f64::from(payload) / f64::from(on_wire);
        let bytes = room(link, on_wire);
        let rtt = flow.rtt.as_secs_f64();
        let queue = bytes.map(|bytes| bytes * 8.0 / (rate * rtt));
        // Corrupted packets are random losses too.
        let (lost, damaged) = (link.mean_loss(), link.corrupt);
        let loss = lost + damaged - lost * damaged;
        Self {
            path: Path { capacity, rtt, payload: f64::from(payload) * 8.0, loss, queue },
            buffer: bytes.map(|bytes| Duration::from_secs_f64(bytes * 8.0 / rate.max(1.0))),
            beyond_one_link: beyond_one_link(scenario),
            polices: bytes.is_some_and(|bytes| bytes < f64::from(on_wire)) && link.burst > Bytes(0),
            capacity: None,
            obstacle: None,
            packets: packets(flow),
            random: random(scenario),
        }
    }

    /// Adds what depends on the measured window.
    pub(super) fn measured(self, scenario: &Scenario, window: [Time; 2]) -> Self {
        Self { capacity: capacity(scenario, window), obstacle: obstacle(scenario, window), ..self }
    }

    /// Reports whether the formulas of a single drop-tail link apply.
    pub(super) fn is_one_link(&self) -> bool {
        self.beyond_one_link.is_empty()
    }
}

/// Returns the links on the way of the first flow's data, with their numbers.
fn crossed(scenario: &Scenario) -> impl Iterator<Item = (usize, &LinkConfig)> {
    let route = scenario.bounded(scenario.flows[0].route);
    scenario.links().enumerate().filter(move |(i, _)| route.crosses(*i))
}

/// Returns the bytes that can wait in a queue, if it has a limit. A limit that counts packets in
/// propagation leaves the rest.
fn room(link: &LinkConfig, on_wire: u32) -> Option<f64> {
    let bytes = match link.limit {
        Limit::Bytes(bytes) => bytes.0 as f64,
        Limit::Packets(packets) => packets as f64 * f64::from(on_wire),
        Limit::Unlimited => return None,
    };
    let flying = link.rate.nominal().bytes_per_sec() * link.delay.as_secs_f64();
    let counted = if link.limit_counts == LimitCounts::QueueAndDelay { flying } else { 0.0 };
    Some((bytes - counted).max(0.0))
}

fn capacity(scenario: &Scenario, window: [Time; 2]) -> Option<f64> {
    let flow = &scenario.flows[0];
    let is_random = crossed(scenario)
        .any(|(_, link)| matches!(link.rate, RateModel::Slots(_) | RateModel::Aggregates(_)));
    if is_random || flow.route.first >= scenario.first_reverse() {
        return None;
    }
    // Data that arrive in the window left the link earlier by its delay.
    let delay = scenario.delay(flow.route);
    let slowest = mean_rates(scenario, window.map(|time| time - delay)).fold(f64::INFINITY, f64::min);
    let payload = flow.transport.payload();
    let capacity = slowest * f64::from(payload) / f64::from(flow.transport.wire_bytes(payload));
    Some(capacity).filter(|capacity| *capacity > 0.0)
}

/// Returns the mean rate of each crossed link in a window, in bits per second.
fn mean_rates(scenario: &Scenario, window @ [from, to]: [Time; 2]) -> impl Iterator<Item = f64> {
    crossed(scenario).map(move |(i, link)| match &link.rate {
        RateModel::Constant(rate) => rate.0 as f64,
        _ => {
            let bytes = link.capacity_between(window, scenario.seed, &scenario.link_streams(i));
            bytes * 8.0 / (to - from).as_secs_f64()
        }
    })
}

fn obstacle(scenario: &Scenario, window @ [from, to]: [Time; 2]) -> Option<&'static str> {
    let covers = |span: &(Time, Time)| span.0 <= from && to <= span.1;
    let of_link = |(link, rate): (&LinkConfig, f64)| match link {
        _ if link.mean_loss() >= 1.0 => Some("`loss` is 100 %; lower it"),
        _ if link.corrupt >= 1.0 => Some("`corrupt` is 100 %; lower it"),
        _ if rate <= 0.0 => Some("`rate` is 0 all the time; raise it, or lengthen --time"),
        _ if link.blackhole.iter().any(covers) => {
            Some("`blackhole` covers all of it; shorten it, or lengthen --time")
        }
        _ => None,
    };
    crossed(scenario).map(|(_, link)| link).zip(mean_rates(scenario, window)).find_map(of_link)
}

fn packets(flow: &FlowConfig) -> String {
    let (name, payload) = match flow.transport {
        Transport::Quic { .. } => ("QUIC", flow.transport.payload()),
        Transport::Tcp { .. } => ("TCP", flow.transport.payload()),
    };
    let handshake = match flow.handshake {
        true => "connections begin with a handshake",
        false => "long flows begin without a handshake, short transfers with one",
    };
    let size = flow.transport.wire_bytes(payload);
    format!("{name} packets of {size} bytes carry {payload} of the data; {handshake}.")
}

fn beyond_one_link(scenario: &Scenario) -> Vec<String> {
    let mut found = Vec::new();
    let links = || crossed(scenario).map(|(_, link)| link);
    if links().count() > 1 {
        found.push(format!("{} links in series", links().count()));
    }
    for link in links().filter(|link| !matches!(link.aqm, Aqm::DropTail(_))) {
        found.push(format!("`{}` in its queue", link.aqm.name()));
    }
    let rates = || links().map(|link| &link.rate);
    if rates().any(|rate| matches!(rate, RateModel::Slots(_))) {
        found.push("a rate of random slots".to_owned());
    }
    if rates().any(|rate| matches!(rate, RateModel::Aggregates(_))) {
        found.push("aggregates with gaps".to_owned());
    }
    if rates().any(|rate| matches!(rate, RateModel::Steps(_) | RateModel::Trace(_))) {
        found.push("a rate that changes".to_owned());
    }
    if links().any(|link| !link.delay_steps.is_empty() || !link.limit_steps.is_empty()) {
        found.push("a delay or queue that changes".to_owned());
    }
    if links().any(|link| link.mtu.is_some()) {
        found.push("an MTU".to_owned());
    }
    if links().any(|link| link.bursts.is_some()) {
        found.push("losses in bursts".to_owned());
    }
    if links().any(|link| !link.blackhole.is_empty() || !link.drop.is_empty()) {
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
    let any = |is: &dyn Fn(&LinkConfig) -> bool| scenario.links().any(is);
    let draws = |aqm: &Aqm| matches!(aqm, Aqm::Red(_) | Aqm::Pie(_) | Aqm::DualPi2(_));
    let is_random_udp = scenario.udp.iter().any(|udp| udp.on_off.is_some_and(|spans| spans.random));
    let all = [
        ("losses", any(&|link| link.mean_loss() > 0.0)),
        ("corruption", any(&|link| link.corrupt > 0.0)),
        ("duplicates", any(&|link| link.duplicate > 0.0)),
        ("jitter", any(&|link| link.jitter > Duration::ZERO)),
        ("the AQM", any(&|link| draws(&link.aqm))),
        ("the rates of the slots", any(&|link| matches!(link.rate, RateModel::Slots(_)))),
        (
            "the backoffs of aggregates",
            any(&|link| matches!(&link.rate, RateModel::Aggregates(model) if model.backoff > Duration::ZERO)),
        ),
        ("UDP", is_random_udp),
    ];
    all.into_iter().filter(|(_, is)| *is).map(|(what, _)| what).collect()
}

#[cfg(test)]
mod tests {
    use experiment::file::Experiment;
    use std::path::Path as FilePath;

    use super::*;

    fn scenario(link: &str) -> Scenario {
        let text = format!(
            "title = \"t\"\nduration = \"9 s\"\n{link}\n[[flow]]\ncontroller = \"cubic\"\nrtt = \"40 ms\"\n"
        );
        let file = Experiment::parse("t", FilePath::new("t"), &text).unwrap();
        file.scenario(&file.cases()[0], 0)
    }

    fn network(link: &str) -> Network {
        let scenario = scenario(link);
        Network::new(&scenario).measured(&scenario, [3000, 9000].map(Time::from_millis))
    }

    /// Links that the flow does not cross do not count.
    #[test]
    fn links_on_the_route() {
        let link = |name: &str, keys: &str| format!("[[link]]\nname = \"{name}\"\n{keys}\n");
        let links = link("a", "rate = \"50 Mbit/s\"\ndelay = \"5 ms\"\nqueue = \"10 ms\"")
            + &link("b", "rate = \"5 Mbit/s\"\nloss = \"100 %\"\naqm = \"codel\"");
        let scenario = |route: &str| {
            let flow = format!("[[flow]]\ncontroller = \"cubic\"\nrtt = \"40 ms\"\nroute = [{route}]\n");
            let text = format!("title = \"t\"\nduration = \"9 s\"\n{links}{flow}");
            let file = Experiment::parse("t", FilePath::new("t"), &text).unwrap();
            file.scenario(&file.cases()[0], 0)
        };
        let network = |route: &str| {
            let scenario = scenario(route);
            Network::new(&scenario).measured(&scenario, [3000, 9000].map(Time::from_millis))
        };
        let first = network("\"a\"");
        assert_eq!(first.capacity, Some(first.path.capacity));
        assert!((first.path.capacity - 50e6 * 1215.0 / 1294.0).abs() < 1.0, "{first:?}");
        assert!(first.is_one_link() && first.obstacle.is_none() && first.path.loss == 0.0, "{first:?}");
        assert_eq!(first.buffer, Some(Duration::from_millis(10)));
        let second = network("\"b\"");
        assert!(
            second.obstacle.is_some() && second.beyond_one_link == ["`codel` in its queue"],
            "{second:?}"
        );
        assert_eq!(network("\"a\", \"b\"").beyond_one_link[0], "2 links in series");
    }

    /// A limit of the queue and the delay leaves a queue of the rest: 40 ms less 20 ms.
    #[test]
    fn a_limit_that_counts_the_delay() {
        let keys = "rate = \"10 Mbit/s\"\ndelay = \"20 ms\"\nqueue = \"1 BDP\"\nlimit-counts = ";
        let of = |counts: &str| network(&format!("[link]\n{keys}\"{counts}\"\n"));
        assert_eq!(of("queue").buffer, Some(Duration::from_millis(40)));
        assert_eq!(of("queue+delay").buffer, Some(Duration::from_millis(20)));
        assert_eq!([of("queue"), of("queue+delay")].map(|n| n.path.queue), [Some(1.0), Some(0.5)]);
    }

    /// The capacity is the integral of the rate, of the link that carries least.
    #[test]
    fn capacity_in_the_window() {
        let capacity = |link: &str| network(link).capacity.map(|bits| (bits / 1215.0 * 1294.0).round());
        let link = |keys: &str| format!("[link]\n{keys}\n");
        assert_eq!(capacity(&link("rate = \"10 Mbit/s\"\ndelay = \"5 ms\"")), Some(1e7));
        // 5 s of 10 and 1 s of 4 Mbit/s arrive in the window.
        let steps = "[[\"0 s\", \"10 Mbit/s\"], [\"7995 ms\", \"4 Mbit/s\"]]";
        let stepped = format!("rate = {steps}\ndelay = \"5 ms\"\n");
        assert_eq!(capacity(&link(&stepped)), Some(9e6));
        let name = |name: &str, keys: &str| format!("[[link]]\nname = \"{name}\"\n{keys}\n");
        let chain = name("a", "rate = \"9.5 Mbit/s\"") + &name("b", &stepped);
        assert_eq!(capacity(&chain), Some(9e6));
        let none = "[[\"0 s\", \"10 Mbit/s\"], [\"2 s\", \"0 bit/s\"]]";
        assert_eq!(capacity(&link(&format!("rate = {none}"))), None);
        assert_eq!(capacity(&link("rate = { median = \"9 Mbit/s\", sigma = 0.5 }")), None, "random");
        assert_eq!(capacity(&link("rate = { phy = \"9 Mbit/s\", backoff = \"1 ms\" }")), None, "random");
    }

    #[test]
    fn what_lets_nothing_arrive() {
        let obstacle = |keys: &str| network(&format!("[link]\ndelay = \"5 ms\"\n{keys}\n")).obstacle;
        let plain = |more: &str| obstacle(&format!("rate = \"1 Mbit/s\"\n{more}"));
        for (found, says) in [
            (plain("loss = \"100 %\""), "`loss` is 100 %; lower it"),
            (plain("loss = { p = \"100 %\", r = \"0 %\" }"), "`loss` is 100 %; lower it"),
            (plain("corrupt = \"100 %\""), "`corrupt` is 100 %; lower it"),
            (plain("blackhole = [[\"1 s\", \"9 s\"]]"), "shorten it, or lengthen --time"),
            (
                obstacle("rate = [[\"0 s\", \"1 Mbit/s\"], [\"1 s\", \"0 bit/s\"]]"),
                "`rate` is 0 all the time",
            ),
        ] {
            assert!(found.is_some_and(|found| found.contains(says)), "{says}: {found:?}");
        }
        assert_eq!(plain("loss = \"99 %\"\nblackhole = [[\"1 s\", \"8 s\"]]"), None);
    }

    #[test]
    fn policers() {
        let polices =
            |more: &str| network(&format!("[link]\nrate = \"1 Mbit/s\"\ndelay = \"5 ms\"\n{more}\n")).polices;
        assert!(polices("burst = \"30 kB\"\nqueue = \"0 packets\"") && polices("policer = \"30 kB\""));
        assert!(!polices("burst = \"30 kB\"\nqueue = \"1 packets\"") && !polices("queue = \"1 packets\""));
        assert!(!polices("burst = \"30 kB\""), "no limit");
    }

    #[test]
    fn one_drop_tail_link_and_others() {
        let plain = "[link]\nrate = \"10 Mbit/s\"\ndelay = \"5 ms\"\n";
        assert!(network(plain).is_one_link() && network(plain).random.is_empty());
        let quic = "QUIC packets of 1294 bytes carry 1215 of the data; long flows begin without a handshake, short \
             transfers with one.";
        assert_eq!(network(plain).packets, quic);
        for (link, says) in [
            (format!("{plain}aqm = \"codel\"\n"), "`codel` in its queue"),
            (format!("{plain}blackhole = [[\"1 s\", \"2 s\"]]\n"), "scheduled losses"),
            (format!("{plain}drop = [7]\n"), "scheduled losses"),
            (format!("{plain}loss = {{ p = \"1 %\", r = \"9 %\" }}\n"), "losses in bursts"),
            (
                "[link]\nrate = { phy = \"10 Mbit/s\", gap = \"1 ms\" }\ndelay = \"5 ms\"\n".into(),
                "aggregates with gaps",
            ),
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
        let bursts = network(&format!("{plain}loss = {{ p = \"1 %\", r = \"9 %\" }}\n"));
        assert!(bursts.random == ["losses"] && (bursts.path.loss - 0.1).abs() < 1e-9, "p / (p + r)");
        let chain = "[[link]]\nname = \"a\"\nrate = \"10 Mbit/s\"\ndelay = \"5 ms\"\nloss = \"1 %\"\n\
                     [[link]]\nname = \"b\"\nrate = \"5 Mbit/s\"\ndelay = \"5 ms\"\njitter = \"1 ms\"\n";
        let chain = network(chain);
        assert_eq!(chain.beyond_one_link, ["2 links in series"]);
        assert_eq!(chain.random, ["losses", "jitter"]);
        assert!(chain.path.capacity < 5e6, "that of the slowest link: {}", chain.path.capacity);
    }
}
