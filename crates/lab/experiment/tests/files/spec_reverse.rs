//! Experiment files with links on the return path.

use crate::common::{BOTH, parse, scenario, set, small};
use link::{Limit, RateModel};
use scenario::{Back, Route};
use units::{Bytes, Duration, Rate};

fn route(first: u16, last: u16) -> Route {
    Route { first, last }
}

#[test]
fn both_directions() {
    let exp = parse(BOTH).unwrap();
    let run = scenario(&exp, 1);
    assert_eq!((run.beyond.len(), run.reverse.len()), (1, 2));
    assert_eq!(
        (&run.link_names[..], &run.reverse_names[..]),
        (&["left".into(), "right".into()][..], &["up".into(), "home".into()][..])
    );
    let ways: Vec<_> =
        run.flows.iter().map(|f| (f.route, f.back.unwrap().route, f.back.unwrap().size)).collect();
    assert_eq!(
        ways,
        [(route(0, 1), route(2, 3), 99), (route(2, 2), route(1, 1), 70), (route(1, 1), route(3, 3), 52)]
    );
    let rtts: Vec<_> = run.flows.iter().map(|f| f.rtt.as_millis_f64()).collect();
    assert_eq!(rtts, [45.0, 100.0, 15.0], "the delays there and back");
    assert_eq!(run.udp[0].route, route(2, 2));
    let probe = run.probe.unwrap();
    assert_eq!(
        (probe.route, probe.back, probe.rtt),
        (route(0, 1), Some(route(3, 3)), Duration::from_millis(25))
    );
    let limits: Vec<_> = run.links().map(|link| link.limit).collect();
    let bytes = |n| Limit::Bytes(Bytes(n));
    // A BDP uses the RTT of the first flow whose data or feedback crosses the link. Only an
    // acknowledgement must fit.
    assert_eq!(limits, [bytes(112_500), bytes(45_000), bytes(11_250), bytes(99)]);
    assert!(run.reverse.iter().all(|link| link.jitter == Duration::from_millis(1)));
    assert_eq!(exp.cases()[1].row, "2 BDP");
}

/// The expanded file means the same run.
#[test]
fn expanded_it_means_the_same() {
    let single = small("[[flow]]", "[reverse]\nrate = \"1 Mbit/s\"\nqueue = \"20 packets\"\n[[flow]]\ndirection = \"backward\"\ncontroller = \"cubic\"\n[[flow]]").unwrap();
    for exp in [parse(BOTH).unwrap(), single] {
        let case = exp.cases().remove(0);
        let text = toml::to_string(&exp.resolved(&case, exp.seed).unwrap()).unwrap();
        let again = parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        let (a, b) = (scenario(&exp, 0), scenario(&again, 0));
        assert_eq!(format!("{a:?}"), format!("{b:?}"), "{text}");
    }
}

/// A single `[reverse]` is named `reverse`, and can be set and varied like `[link]`.
#[test]
fn one_link_back() {
    let plain = small("[[flow]]", "[[flow]]").unwrap();
    let run = scenario(&plain, 0);
    assert_eq!((run.reverse.len(), run.reverse_names.len(), run.flows[0].back), (0, 0, None));
    assert!(
        !toml::to_string(&plain.resolved(&plain.cases()[0], 1).unwrap()).unwrap().contains("\nack ="),
        "the manifest stays what it was"
    );

    let metrics = "[table]\nmetrics = [\"utilization of reverse\", \"ack_loss\"]\n";
    let text = format!("[reverse]\nrate = \"1 Mbit/s\"\ndelay = \"25 ms\"\n{metrics}[[flow]]");
    let exp = small("[[flow]]", &text).unwrap();
    let run = scenario(&exp, 0);
    let RateModel::Constant(Rate(rate)) = run.reverse[0].rate else { panic!() };
    assert_eq!(
        (rate, run.flows[0].rtt, run.flows[0].back),
        (1_000_000, Duration::from_millis(50), Some(Back { route: route(1, 1), size: 99 }))
    );

    let exp = plain.with_overrides(&set("reverse.rate", "2 Mbit/s"), false).unwrap();
    assert_eq!(
        (scenario(&exp, 0).reverse.len(), scenario(&exp, 0).flows[0].rtt),
        (1, Duration::from_millis(25))
    );
}

#[test]
fn mistakes() {
    let with = |from: &str, to: &str| {
        assert!(BOTH.contains(from), "{from}");
        parse(&BOTH.replacen(from, to, 1)).unwrap_err().to_string()
    };
    for (from, to, parts) in [
        ("route = [\"up\"]", "route = [\"right\"]", "x.toml:33: flow.1.route.0: unknown link `right`"),
        (
            "back-route = [\"right\"]",
            "back-route = [\"rihgt\"]",
            "x.toml:34: flow.1.back-route.0: unknown link `rihgt`; did you mean \"right\"?",
        ),
        ("back-route = [\"right\"]", "back-route = []", "x.toml:34: flow.1.back-route: the list is empty"),
        (
            "direction = \"backward\"\nroute",
            "direction = \"back\"\nroute",
            "x.toml:32: flow.1.direction: unknown direction `back`",
        ),
        (
            "ack = \"70 bytes\"",
            "ack = \"0 bytes\"",
            "x.toml:35: flow.1.packet.ack: the packet is empty; must be between 1 and",
        ),
        ("ack = \"70 bytes\"", "ack = \"70\"", "x.toml:35: flow.1.packet.ack: `70` has no unit"),
        (
            "ack = \"70 bytes\"",
            "ack = \"70 kB\"",
            "x.toml:35: flow.1.packet.ack: a packet of 70000 bytes is too large",
        ),
        (
            "rtt = \"100 ms\"",
            "rtt = \"29 ms\"",
            "x.toml:36: flow.1.rtt: an RTT of 29 ms is shorter than the links' round-trip delay of 30 ms",
        ),
        (
            "name = \"home\"",
            "name = \"left\"",
            "x.toml:22: reverse.1.name: duplicate link name `left`; give each",
        ),
        (
            "name = \"home\"",
            "name = \"up\"",
            "x.toml:22: reverse.1.name: duplicate link name `up`; give each",
        ),
        ("name = \"home\"", "", "x.toml:21: reverse.1.name: missing"),
        (
            "queue = \"99 bytes\"",
            "queue = \"98 bytes\"",
            "x.toml:25: reverse.1.queue: a queue of 98 bytes drops every full packet; at least one packet of 99 bytes",
        ),
        (
            "queue = \"99 bytes\"",
            "quue = \"99 bytes\"",
            "x.toml:25: reverse.1.quue: unknown key; did you mean \"queue\"?",
        ),
        ("aqm = \"codel\"", "aqm = \"coddle\"", "x.toml:20: reverse.0.aqm: unknown AQM"),
        (
            "size = \"1000 bytes\"",
            "size = \"1000 bytes\"\nback-route = [\"left\"]",
            "udp.0.back-route: unknown key",
        ),
        ("[probe]", "[probe]\nrtt = \"24 ms\"", "probe.rtt: a base RTT of 24 ms"),
        ("[probe]", "[probe]\ndirection = \"backward\"", "probe.direction: unknown key"),
        ("utilization of home", "utilization of hme", "no link has the name `hme`; did you mean \"home\"?"),
        ("\"reverse.jitter\"", "\"reverse.2.jitter\"", "`reverse` has no element 2: it has 2"),
    ] {
        let said = with(from, to);
        assert!(said.contains(parts), "{said}");
    }
}

/// Keys for links of the return path, without such links.
#[test]
fn without_links_back() {
    for (line, parts) in [
        (
            "direction = \"backward\"",
            "x.toml:11: flow.0.direction: there are no links in that direction; add [reverse]",
        ),
        (
            "back-route = [\"up\"]",
            "x.toml:11: flow.0.back-route: there are no links on the return path; add [reverse]",
        ),
        (
            "packet = { ack = \"70 bytes\" }",
            "x.toml:11: flow.0.packet.ack: the size of an ACK has no effect without links on the return path",
        ),
        ("direction = 3", "x.toml:11: flow.0.direction: must be a text in quotes, not 3"),
    ] {
        let said = small("[[flow]]", &format!("[[flow]]\n{line}")).unwrap_err().to_string();
        assert!(said.contains(parts), "{said}");
    }
    assert!(small("[[flow]]", "[[flow]]\ndirection = \"forward\"").is_ok());
    let udp = "[[udp]]\nrate = \"1 Mbit/s\"\nsize = \"1 kB\"\ndirection = \"backward\"\n[[flow]]";
    let said = small("[[flow]]", udp).unwrap_err().to_string();
    assert!(said.contains("x.toml:13: udp.0.direction: there are no links in that direction"), "{said}");
    let reverse =
        |text: &str| small("[[flow]]", &format!("[reverse]\n{text}\n[[flow]]")).unwrap_err().to_string();
    for (text, parts) in [
        ("delay = \"5 ms\"", "x.toml:10: reverse.rate: missing"),
        ("rate = \"0 Mbit/s\"", "x.toml:11: reverse.rate: the rate is 0"),
        ("rate = \"1 Mbit/s\"\nname = \"x\"", "x.toml:12: reverse.name: unknown key"),
        (
            "rate = \"1 Mbit/s\"\n[[flow]]\nback-route = [\"x\"]\ncontroller = \"cubic\"",
            "flow.0.back-route: a route needs named links, but there is a single [reverse]; write [[reverse]]",
        ),
        (
            "rate = \"1 Mbit/s\"\n[[flow]]\ndirection = \"backward\"\ncontroller = { name = \"quic-dc\", threshold = \"20 % of buffer\" }",
            "flow.0.controller.threshold: `% of buffer` is undefined: the flow does not cross [link]",
        ),
    ] {
        assert!(reverse(text).contains(parts), "{}", reverse(text));
    }
}
