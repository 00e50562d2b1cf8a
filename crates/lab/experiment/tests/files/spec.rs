//! The meaning of experiment files.

use crate::common::{APPLICATIONS, CHAIN, MIXED, UDP, good, parse, scenario, set, small};
use congestion::algorithms::delay::quic_dc;
use experiment::chart::{Chart, Mark};
use experiment::file::{Case, Experiment, Rows};
use experiment::library::Library;
use link::{Limit, LimitCounts};
use scenario::{Application, Connection, Transport};
use units::{Bytes, Duration, Time};

#[test]
fn a_file_becomes_runs() {
    let exp = good();
    let run = exp.scenario(&exp.cases()[0], 2);
    assert_eq!((exp.repetitions, run.seed, run.duration), (3, 9, Duration::from_secs(400)));
    assert_eq!(run.measure, Some((Time::from_millis(10_000), Time::from_millis(300_000))));
    assert_eq!(run.series, Some(Duration::from_millis(100)));
    assert_eq!(run.link.limit, Limit::Bytes(Bytes(250_000)));
    assert_eq!((run.link.loss, run.link.reorder.unwrap().every), (0.001, 100));
    let [flow] = &run.flows[..] else { panic!("{:?}", run.flows) };
    assert_eq!(
        (flow.label.as_str(), flow.rtt, flow.transfer),
        ("QUIC-DC 10", Duration::from_millis(50), Some(100_000_000))
    );
    assert_eq!(flow.transport, Transport::Quic { datagram: 1252, header: 37, overhead: 42 });
    assert_eq!(
        (flow.recovery.packet_threshold, flow.recovery.pacing.interval),
        (None, Duration::from_micros(200))
    );
    assert_eq!((flow.ack.ack_every.at(Time::ZERO), flow.ack.timestamps, flow.clock.drift_ppm), (4, 64, 50.0));
}

#[test]
fn what_the_file_says_about_its_results() {
    let exp = good();
    assert_eq!(exp.metrics, ["loss", "goodput", "rtt_mean", "jain"]);
    let published = |row: &str, metric: &str| exp.published("", &row.into(), &metric.into());
    let miss = |variant: &str, row: &str| exp.miss(variant, &row.into(), &"goodput".into());
    assert_eq!(published("QUIC-DC 10", "rtt_mean"), Some(55.75));
    assert_eq!(published("Cubic", "jain"), None);
    assert_eq!(miss("limit-counts = queue", "Cubic").map(|m| m.reason.as_str()), Some("headers"));
    assert_eq!(miss("limit-counts = queue+delay", "Cubic"), None);
    assert_eq!(miss("limit-counts = queue", "QUIC-DC 10"), None);
    assert!(
        exp.claims[0].applies_to("limit-counts = queue")
            && !exp.claims[0].applies_to("limit-counts = queue+delay")
    );
    assert_eq!(
        exp.claims.iter().map(|c| exp.holds_published(&c.parts[0])).collect::<Vec<_>>(),
        [Some(true), Some(true)]
    );
    let Chart { rows, mark: Mark::Line, .. } = &exp.charts[0] else { panic!("{:?}", exp.charts) };
    assert_eq!(rows, &["QUIC-DC 10", "QUIC-DC 80"]);
}

#[test]
fn cases_are_variants_times_rows() {
    let names: Vec<(String, String, String)> = good()
        .cases()
        .into_iter()
        .map(|Case { variant, row, algorithm, .. }| (variant, row, algorithm))
        .collect();
    assert_eq!(names.len(), 8);
    let name = |i: usize| (names[i].0.as_str(), names[i].1.as_str(), names[i].2.as_str());
    assert_eq!(name(0), ("limit-counts = queue", "QUIC-DC 10", "quic-dc"));
    assert_eq!(name(3), ("limit-counts = queue", "New Reno", "new-reno"));
    assert_eq!(name(4), ("limit-counts = queue+delay", "QUIC-DC 10", "quic-dc"));
}

#[test]
fn names_without_labels() {
    let vary = |lists: &str| {
        let exp = small("[link]", &format!("[vary]\n{lists}\n[link]")).unwrap();
        exp.cases().into_iter().map(|c| format!("{} | {}", c.variant, c.row)).collect::<Vec<_>>()
    };
    assert_eq!(vary(""), [" | cubic"]);
    assert_eq!(vary("link.rate = [\"10 Mbit/s\", \"20 Mbit/s\"]"), [" | 10 Mbit/s", " | 20 Mbit/s"]);
    assert_eq!(
        vary("\"flow.rtt\" = [\"60 ms\"]\n\"flow.controller\" = [\"cubic\", { name = \"bbr2\" }]"),
        ["rtt = 60 ms | cubic", "rtt = 60 ms | bbr2"]
    );
    // The last part of the key would not distinguish these two.
    assert_eq!(
        vary(
            "\"transfer\" = [\"1 MB\"]\n\"flow.0.transfer\" = [\"2 MB\"]\n\"flow.controller.beta\" = [0.5, 0.7]"
        ),
        ["0.transfer = 2 MB, beta = 0.5 | 1 MB", "0.transfer = 2 MB, beta = 0.7 | 1 MB"]
    );
    let slots = "{ label = \"Starlink\", median = \"50 Mbit/s\" }";
    assert_eq!(vary(&format!("\"link.rate\" = [\"9 Mbit/s\", {slots}]")), [" | 9 Mbit/s", " | Starlink"]);
}

#[test]
fn rows_can_be_another_key() {
    let vary = "[table]\nrows = \"link.queue\"\n[vary]\n\"link.queue\" = [\"1 BDP\", \"2 BDP\"]\n\
                \"flow.controller\" = [\"cubic\", \"new-reno\"]\n[link]";
    let exp = small("[link]", vary).unwrap();
    let names: Vec<String> = exp.cases().into_iter().map(|c| format!("{} | {}", c.variant, c.row)).collect();
    assert_eq!(names[..2], ["controller = cubic | 1 BDP", "controller = cubic | 2 BDP"]);
    assert_eq!(scenario(&exp, 3).link.limit, Limit::Bytes(Bytes(125_000)));
}

/// An index selects a flow, and `flow.` selects all of them.
#[test]
fn varied_flows() {
    let exp = small(
        "[[flow]]",
        "[vary]\n\"flow.1.rtt\" = [\"80 ms\"]\n\"flow.start\" = [\"1 s\"]\n[[flow]]\ncontroller = \"bbr2\"\n[[flow]]",
    );
    let run = scenario(&exp.unwrap(), 0);
    assert_eq!(run.flows.iter().map(|f| f.rtt).collect::<Vec<_>>(), [50, 80].map(Duration::from_millis));
    assert!(run.flows.iter().all(|f| f.start == Time::from_millis(1000)));
}

#[test]
fn slow_start_of_the_flow_is_the_default_of_its_controllers() {
    let vary = "[vary]\n\"flow.slow-start\" = [\"hystart++\"]\n\"flow.controller\" = [\"cubic\", \"bbr2\", \
                { label = \"own\", name = \"cubic\", slow-start = \"hystart\" }]\n[[flow]]";
    let exp = small("[[flow]]", vary).unwrap();
    let slow_start = |i: usize| {
        let table = toml::Table::try_from(&scenario(&exp, i).flows[0].algorithm).unwrap();
        table.get("slow-start").map(|v| v.as_str().unwrap().to_owned())
    };
    assert_eq!(slow_start(0).as_deref(), Some("hystart++"));
    assert_eq!(slow_start(1), None);
    assert_eq!(slow_start(2).as_deref(), Some("hystart"));
}

#[test]
fn counts_and_labels() {
    let flows = "[[flow]]\ncount = 3\nstart = \"1 s\"\nstagger = \"10 s\"\nlasts = \"20 s\"\ncontroller = \"cubic\"\n\
                 [[flow]]\ncontroller = \"cubic\"\n[[flow]]\nlabel = \"alone\"\nstop = \"9 s\"";
    let run = scenario(&small("[[flow]]", flows).unwrap(), 0);
    let of = |i: usize| (run.flows[i].label.as_str(), run.flows[i].start, run.flows[i].stop);
    let seconds = |s: u64| Time::from_millis(1000 * s);
    assert_eq!(of(0), ("cubic #1", seconds(1), Some(seconds(21))));
    assert_eq!(of(2), ("cubic #3", seconds(21), Some(seconds(41))));
    assert_eq!(of(3), ("cubic #4", Time::ZERO, None));
    assert_eq!(of(4), ("alone", Time::ZERO, Some(seconds(9))));
}

#[test]
fn tcp_has_its_own_defaults() {
    let run = scenario(
        &small("[[flow]]", "[[flow]]\ntransport = \"tcp\"\nrecovery = { paced = \"always\" }").unwrap(),
        0,
    );
    let flow = &run.flows[0];
    assert_eq!(flow.transport, Transport::Tcp { mss: 1448, overhead: 52 });
    assert_eq!(flow.recovery, recovery::Config { paced: recovery::Paced::Always, ..recovery::Config::tcp() });
    assert_eq!((flow.ack.max_ack_delay, flow.ack.timestamps), (Duration::from_millis(40), 0));
}

/// Returns the buffer as a time, from the threshold of a QUIC-DC at 100 %.
fn buffer(exp: &Experiment) -> Option<f64> {
    let whole = set("flow.controller", "{ name = 'quic-dc', threshold = '100 % of buffer' }");
    let run = scenario(&exp.with_overrides(&whole, false).ok()?, 0);
    let params: &quic_dc::Params = run.flows[0].algorithm.params()?;
    params.threshold.map(Duration::as_millis_f64)
}

/// BDP and buffer time refer to the first rate above 0 of the steps, the slots' median, and the
/// first flow's RTT.
#[test]
fn bandwidth_delay_products() {
    let limit = |from: &str, to: &str| {
        let exp = small(from, to).unwrap();
        (scenario(&exp, 0).link.limit, buffer(&exp))
    };
    let bytes = |n| Limit::Bytes(Bytes(n));
    assert_eq!(limit("\"2 BDP\"", "\"2 BDP\""), (bytes(125_000), Some(100.0)));
    assert_eq!(limit("\"2 BDP\"", "\"50 ms\""), (bytes(62_500), Some(50.0)));
    assert_eq!(limit("\"2 BDP\"", "\"10 packets\""), (Limit::Packets(10), Some(10.352)));
    assert_eq!(limit("\"2 BDP\"", "\"unlimited\""), (Limit::Unlimited, None));
    assert_eq!(limit("[[flow]]", "[[flow]]\nrtt = \"100 ms\""), (bytes(250_000), Some(200.0)));
    let steps = "[[\"0 s\", \"20 Mbit/s\"], [\"9 s\", \"0 bit/s\"]]";
    assert_eq!(limit("\"10 Mbit/s\"", steps), (bytes(250_000), Some(100.0)));
    let outage_first = "[[\"0 s\", \"0 bit/s\"], [\"1 s\", \"20 Mbit/s\"]]";
    assert_eq!(limit("\"10 Mbit/s\"", outage_first), (bytes(250_000), Some(100.0)));
    let slots = "{ median = \"40 Mbit/s\", min = \"1 Mbit/s\" }";
    assert_eq!(limit("\"10 Mbit/s\"", slots), (bytes(500_000), Some(100.0)));
    // The bits times nanoseconds exceed 64 bits.
    assert_eq!(limit("\"2 BDP\"", "\"2305843009 bytes\"").1, Some(1_844_674.407_2));
}

/// If the limit counts packets in propagation, a full link leaves less room for queueing: in the
/// file and in the simulator.
#[test]
fn usable_buffer_of_queue_and_delay() {
    for (counts, usable) in [("queue", 100.0), ("queue+delay", 75.0)] {
        let exp =
            small("queue = \"2 BDP\"", &format!("queue = \"2 BDP\"\nlimit-counts = \"{counts}\"")).unwrap();
        let mut run = scenario(&exp, 0);
        assert_eq!(buffer(&exp), Some(usable));
        assert_eq!(run.link.limit_counts == LimitCounts::QueueAndDelay, counts == "queue+delay");
        run.duration = Duration::from_secs(20);
        let outcome = sim::run(&run, &scenario::Watch::default()).unwrap();
        let longest = outcome.flows[0].totals.rtt.max_ms() - 50.0;
        assert!((longest - usable).abs() < 3.0, "{counts}: {longest} ms of queue, not {usable}");
    }
}

/// The expanded file of each case is a valid file and means the same run. Of many cases about
/// twelve are checked, the last among them, because the others differ only in numbers.
#[test]
fn expanded_files_mean_the_same() {
    let steps = "duration = \"60 s\"\nseries = \"off\"\nmeasure = { to = \"9 s\" }";
    let mut all = vec![good(), small("duration = \"60 s\"", steps).unwrap()];
    all.push(small("\"10 Mbit/s\"", "[[\"0 s\", \"20 Mbit/s\"], [\"9 s\", \"0 bit/s\"]]").unwrap());
    let changing = "[[\"0 s\", \"1 BDP\"], [\"9 s\", \"24 packets\"], [\"20 s\", \"unlimited\"]]";
    all.push(small("\"2 BDP\"", changing).unwrap());
    all.push(small("\"25 ms\"", "[[\"2 s\", \"25 ms\"], [\"9 s\", \"80 ms\"]]").unwrap());
    let aqm = "[link]\naqm = { name = \"red\", min = \"50 %\", max = \"50 %\", action = \"mark-only\" }\nbleach = true";
    all.push(small("[link]", &format!("[probe]\nsize = \"100 bytes\"\n{aqm}")).unwrap());
    let udp = "[[udp]]\nsize = \"500 bytes\"\nrate = [[\"0 s\", \"1 Mbit/s\"], [\"9 s\", \"0 bit/s\"]]\nstart = \"2 s\"\n\
               [[udp]]\nlabel = \"x\"\nsize = \"1 kB\"\nrate = \"1 Mbit/s\"\nstop = \"50 s\"\n\
               on-off = { on = \"5 s\", off = \"9 s\", random = true }\n[[flow]]";
    all.push(small("[[flow]]", udp).unwrap());
    for application in [
        "application = 'media'\npauses = [['4 s', '6 s'], ['8 s', '9 s']]",
        "application = { name = 'media', fps = 10, audio = 'off', variation = '2.5 %' }",
        "application = { name = 'media', key-frames = { every = '2 s', size = 4 } }\nrecovery = { max-pto = '5 s', idle-timeout = '9 s' }",
        "application = { name = 'on-off', object = ['1 kB', '2 kB'], begins = 'off', connection = 'kept' }",
    ] {
        all.push(small("[[flow]]", &format!("[[flow]]\n{application}")).unwrap());
    }
    all.push(small("[[flow]]", "[[flow]]\nstart-jitter = \"10 ms\"\ncount = 2").unwrap());
    all.push(parse(MIXED).unwrap());
    all.push(parse(CHAIN).unwrap());
    // The note of a run contains its labels, and braces in a note are placeholders.
    all.push(
        small("[[flow]]", "[vary]\nx = [{ label = 'a }{b', set = { 'link.loss' = '1 %' } }]\n[[flow]]")
            .unwrap(),
    );
    all.extend(Library.shipped().iter().map(|s| Experiment::parse(&s.name, &s.file, &s.text).unwrap()));
    for exp in &all {
        let cases = exp.cases();
        for case in cases.iter().rev().step_by(cases.len().div_ceil(12)) {
            let text = toml::to_string(&exp.resolved(case, exp.seed).unwrap()).unwrap();
            let again = parse(&text).unwrap_or_else(|problem| panic!("{problem}\n{text}"));
            let (mut ours, mut theirs) = (exp.scenario(case, 0), scenario(&again, 0));
            // Other windows come from the file's metrics (`@ run`), and an expanded file has no
            // table.
            ours.windows.clear();
            theirs.windows.clear();
            assert_eq!(format!("{ours:?}"), format!("{theirs:?}"), "{text}");
            assert_eq!(
                toml::to_string(&again.resolved(&again.cases()[0], again.seed).unwrap())
                    .unwrap()
                    .lines()
                    .nth(3),
                text.lines().nth(3)
            );
        }
    }
}

/// Applications: meaning of their keys, variation and metrics.
#[test]
fn applications() {
    let exp = parse(APPLICATIONS).unwrap();
    let run = exp.scenario(&exp.cases()[0], 0);
    let Application::Media(media) = &run.flows[0].application else { panic!("{:?}", run.flows[0]) };
    assert_eq!((media.fps, media.min_rate.0, media.max_rate.0), (10, 150_000, 1_500_000));
    assert_eq!((media.start_rate.0, media.audio.0, media.variation), (150_000, 20_000, 0.05));
    assert_eq!((media.reaction, media.max_queue), (Duration::from_millis(100), Duration::from_secs(1)));
    assert_eq!(run.flows[0].pauses, [(Time::from_millis(10_000), Time::from_millis(12_000))]);
    let Application::OnOff(objects) = &run.flows[1].application else { panic!("{:?}", run.flows[1]) };
    assert_eq!((objects.smallest, objects.largest), (Bytes(30_000), Bytes(50_000)));
    assert!(objects.begins_on && objects.connection == Connection::New);
    assert_eq!(run.flows.iter().map(|f| f.transfer).collect::<Vec<_>>(), [None, None, Some(1_000_000)]);
}

/// Audio can be disabled, objects can have a single size, and bulk can be a table.
#[test]
fn values_of_applications() {
    let of = |application: &str| {
        let exp = small("[[flow]]", &format!("[[flow]]\napplication = {application}")).unwrap();
        exp.scenario(&exp.cases()[0], 0).flows[0].application.clone()
    };
    for audio in ["0", "off", "0 bit/s"] {
        let Application::Media(media) = of(&format!("{{ name = 'media', audio = '{audio}' }}")) else {
            panic!()
        };
        assert_eq!(media.audio.0, 0);
    }
    let Application::Media(media) = of("{ name = 'media', min-rate = '1 Mbit/s' }") else { panic!() };
    assert_eq!(media.start_rate.0, 1_000_000, "no less than the smallest");
    let Application::OnOff(objects) =
        of("{ name = 'on-off', object = '5 kB', begins = 'off', connection = 'kept' }")
    else {
        panic!()
    };
    assert_eq!((objects.smallest, objects.largest), (Bytes(5000), Bytes(5000)));
    assert!(!objects.begins_on && objects.connection == Connection::Kept);
    assert_eq!(of("{ name = 'bulk' }"), Application::Bulk);
}

#[test]
fn udp() {
    let exp = parse(UDP).unwrap();
    let run = scenario(&exp, 3);
    assert_eq!((run.udp[0].label.as_str(), run.udp[1].label.as_str()), ("UDP", "x"));
    assert_eq!((run.udp[0].rate.len(), run.udp[0].rate[0].1.0), (1, 1_000_000));
    assert_eq!(run.udp[1].rate[0].1.0, 12_000_000);
    assert!(run.udp.iter().all(|u| u.on_off.is_some_and(|o| o.on == o.off && !o.random)));
    assert!(exp.with_overrides(&set("udp.0.rate", "2 Mbit/s"), false).is_ok());
    let problem = exp.with_overrides(&set("udp.1.rate", "2 Mbit/s"), false).unwrap_err().to_string();
    assert!(problem.contains("`udp.1.rate` is varied"), "{problem}");
}

#[test]
fn links_in_a_row() {
    let exp = parse(CHAIN).unwrap();
    let run = scenario(&exp, 1);
    assert_eq!(run.link_names, ["left", "middle", "right"]);
    let routes: Vec<_> = run.flows.iter().map(|f| (f.route.first, f.route.last)).collect();
    assert_eq!(routes, [(0, 2), (1, 1), (1, 2)]);
    assert_eq!((run.udp[0].route.first, run.probe.unwrap().route.last), (2, 1));
    assert_eq!(run.flows.iter().map(|f| f.rtt.as_millis_f64()).collect::<Vec<_>>(), [60.0, 20.0, 100.0]);
    assert_eq!(run.probe.unwrap().rtt, Duration::from_millis(40));
    let limits: Vec<_> = run.links().map(|link| link.limit).collect();
    let bytes = |n| Limit::Bytes(Bytes(n));
    assert_eq!(limits, [bytes(150_000), bytes(120_000), bytes(50_000)], "of the first flow across it");
    assert_eq!(buffer(&exp), None);
    assert!(run.links().all(|link| link.loss == 0.001));

    assert_eq!(exp.cases()[1].row, "2 BDP");
    assert!(
        exp.with_overrides(&set("link.1.queue", "3 BDP"), false)
            .unwrap_err()
            .to_string()
            .contains("is varied")
    );
    let wide = exp.with_overrides(&set("link.0.rate", "90 Mbit/s"), false).unwrap();
    let rates: Vec<_> = scenario(&wide, 0).links().map(|link| format!("{:?}", link.rate)).collect();
    assert!(rates[0].contains("90000000") && rates[1].contains("8000000"), "{rates:?}");
    let plain = small("[[flow]]", "[[flow]]").unwrap();
    let run = scenario(&plain, 0);
    assert_eq!((run.link_names.len(), run.beyond.len(), run.flows[0].route.last), (0, 0, 0));
}

#[test]
fn mistakes_in_chains() {
    let with = |from: &str, to: &str| {
        assert!(CHAIN.contains(from), "{from}");
        parse(&CHAIN.replacen(from, to, 1)).unwrap_err().to_string()
    };
    for (from, to, parts) in [
        (
            "route = [\"middle\"]",
            "route = [\"midle\"]",
            "x.toml:27: flow.1.route.0: unknown link `midle`; did you mean \"middle\"?",
        ),
        ("route = [\"middle\"]", "route = []", "x.toml:27: flow.1.route: the list is empty"),
        (
            "route = [\"left\", \"middle\"]",
            "route = [\"left\", \"right\"]",
            "x.toml:38: probe.route: `right` does not directly follow `left`; list adjacent links in their order: left, middle, right",
        ),
        (
            "route = [\"middle\"]",
            "route = [\"middle\", \"left\"]",
            "`left` does not directly follow `middle`",
        ),
        (
            "route = [\"middle\"]",
            "route = [\"middle\", \"middle\"]",
            "`middle` does not directly follow `middle`",
        ),
        ("route = [\"middle\"]", "route = \"middle\"", "x.toml:27: flow.1.route: expected a list"),
        ("route = [\"right\"]", "route = [7]", "x.toml:36: udp.0.route.0: must be a text in quotes, not 7"),
        (
            "name = \"right\"",
            "name = \"left\"",
            "x.toml:17: link.2.name: duplicate link name `left`; give each link its own name",
        ),
        ("name = \"right\"", "", "x.toml:16: link.2.name: missing; write the link's name in routes"),
        ("queue = \"50 kB\"", "queue = \"50\"", "x.toml:20: link.2.queue: `50` has no unit"),
        ("queue = \"1 BDP\"\naqm", "quue = \"1 BDP\"\naqm", "x.toml:14: link.1.quue: unknown key"),
        ("aqm = \"codel\"", "aqm = \"coddle\"", "x.toml:15: link.1.aqm: unknown AQM"),
        (
            "queue = \"50 kB\"",
            "queue = \"50 bytes\"",
            "x.toml:20: link.2.queue: a queue of 50 bytes drops every",
        ),
        (
            "rtt = \"100 ms\"",
            "rtt = \"15 ms\"",
            "x.toml:32: flow.2.rtt: an RTT of 15 ms is shorter than the link's delay of 20 ms",
        ),
        (
            "\"utilization of right\"",
            "\"utilization of rihgt\"",
            "no link has the name `rihgt`; did you mean \"right\"?",
        ),
        ("\"link.loss\"", "\"link.3.loss\"", "`link` has no element 3: it has 3"),
        (
            "controller = \"cubic\"",
            "controller = { name = \"quic-dc\", threshold = \"20 % of buffer\" }",
            "there are several links",
        ),
    ] {
        let said = with(from, to);
        assert!(said.contains(parts), "{said}");
    }
    // The queue of a link that no flow crosses.
    let idle =
        CHAIN.replacen("[[flow]]\nlabel = \"all\"", "[[flow]]\nroute = [\"right\"]\nlabel = \"all\"", 1);
    let said = parse(&idle).unwrap_err().to_string();
    assert!(said.contains("x.toml:9: link.0.queue: no flow crosses this link, so it has no BDP"), "{said}");
    let said = small("[[flow]]", "[[flow]]\nroute = [\"left\"]").unwrap_err().to_string();
    assert!(said.contains("flow.0.route: a route needs named links, but there is a single [link]"), "{said}");
    let said = small("[link]", "[link]\nname = \"left\"").unwrap_err().to_string();
    assert!(said.contains("link.name: unknown key"), "{said}");
    let said = small("[link]\nrate = \"10 Mbit/s\"\ndelay = \"25 ms\"\nqueue = \"2 BDP\"\n", "link = []")
        .unwrap_err()
        .to_string();
    assert!(said.contains("link: the list is empty"), "{said}");
}

#[test]
fn several_keys_vary_together() {
    let exp = parse(MIXED).unwrap();
    let names: Vec<_> = exp.cases().iter().map(|c| format!("{}: {}", c.variant, c.row)).collect();
    assert_eq!(names[..2], ["queue = 1 BDP: alone", "queue = 1 BDP: plain"]);
    assert_eq!((names.len(), names[5].as_str()), (6, "queue = 3 BDP: gated"));
    let plain = small("duration = \"60 s\"", "duration = \"60 s\"").unwrap();
    assert_eq!(plain.cases()[0].row, "cubic", "nothing varies: the flow's label");
    let labels = |case| scenario(&exp, case).flows.iter().map(|f| f.label.clone()).collect::<Vec<_>>();
    assert_eq!(labels(0), ["CUBIC"]);
    assert_eq!(labels(2), ["CUBIC", "BBR #1", "BBR #2"]);
    assert!(format!("{:?}", scenario(&exp, 5).flows[1].algorithm).contains("Both"));
}

/// Starts differ by seed, within the span.
#[test]
fn start_jitter() {
    let exp = small("[[flow]]", "[[flow]]\nstart-jitter = \"10 ms\"\ncount = 20").unwrap();
    let starts = |repetition| {
        let run = exp.scenario(&exp.cases()[0], repetition);
        run.flows.iter().map(|f| f.start).collect::<Vec<_>>()
    };
    let (first, second) = (starts(0), starts(1));
    assert_ne!(first, second);
    assert!(first.iter().all(|s| s.as_secs_f64() < 0.01) && first.iter().any(|s| s.as_secs_f64() > 0.007));
}

#[test]
fn overrides() {
    let exp = small("[link]", "[link]").unwrap();
    let with =
        |key: &str, value: &str| exp.with_overrides(&set(key, value), false).map(|exp| scenario(&exp, 0));
    assert_eq!(with("link.rate", "20Mbit/s").unwrap().link.limit, Limit::Bytes(Bytes(250_000)));
    assert_eq!(with("link.rate", "\"20 Mbit/s\"").unwrap().link.limit, Limit::Bytes(Bytes(250_000)));
    assert_eq!(with("flow.controller", "bbr2").unwrap().flows[0].algorithm.name(), "bbr2");
    assert_eq!(with("flow.0.controller.beta", "0.6").unwrap().flows[0].algorithm.name(), "cubic");
    assert_eq!(
        with("flow.recovery.pacing.interval", "1 ms").unwrap().flows[0].recovery.pacing.interval.0,
        1_000_000
    );
    assert_eq!(exp.with_overrides(&set("repetitions", "5"), false).unwrap().repetitions, 5);
    assert_eq!(
        good().with_overrides(&set("seed", "40"), false).unwrap().scenario(&good().cases()[0], 1).seed,
        41
    );
}

/// Controllers of one-way delay need receive times. A queue must hold a packet of everything that
/// crosses it. A flow with a count of 0 does not affect queues. No flow may stop before the last of
/// its group starts.
#[test]
fn what_cannot_run_is_refused() {
    let wrong = |from: &str, to: &str| small(from, to).unwrap_err().to_string();
    for name in ["dccc", "nada", "nada-2013", "gcc", "gcc-simplified", "ledbat"] {
        let tcp = wrong("controller = \"cubic\"", &format!("controller = \"{name}\"\ntransport = \"tcp\""));
        assert!(tcp.contains(&format!(":11: flow.0.controller: {name} needs the receive times")), "{tcp}");
    }
    let queue = "queue = \"1300 bytes\"\n";
    let udp = format!("{queue}[[udp]]\nrate = \"1 Mbit/s\"\nsize = \"1500 bytes\"");
    assert!(wrong("queue = \"2 BDP\"", &udp).contains("at least one packet of 1500 bytes must fit"));
    let probe = format!("{queue}[probe]\nsize = \"1600 bytes\"");
    assert!(wrong("queue = \"2 BDP\"", &probe).contains("at least one packet of 1600 bytes must fit"));
    let late = "controller = \"cubic\"\ncount = 4\nstart = \"1 s\"\nstagger = \"2 s\"\nstop = \"2 s\"";
    assert!(
        wrong("controller = \"cubic\"", late)
            .contains("the last flow starts at 7 s; must be before 2 s, when the flows stop")
    );
    let absent = "controller = \"cubic\"\ncount = 0\nrtt = \"1000 ms\"\n[[flow]]\ncontroller = \"cubic\"";
    let run = scenario(&small("controller = \"cubic\"", absent).unwrap(), 0);
    assert_eq!(run.link.limit, Limit::Bytes(Bytes(125_000)));
}

/// Candidates replace the file's controllers. Claims that name those are dropped, general rules
/// stay.
#[test]
fn candidates() {
    let tail =
        "\n[vary]\n\"flow.0.controller\" = [\"cubic\", \"bbr3\"]\n[table]\nrows = \"flow.0.controller\"\n";
    let claim = |id: &str, row: &str| {
        format!(
            "[[claim]]\nid = \"{id}\"\nsays = \"s\"\nmetric = \"goodput\"\nleft = {{ min = [\"{row}\"] }}\nis = \"above\"\n\
             right = 1\neverywhere = true\nreason = \"r\"\n"
        )
    };
    let text = format!("controller = \"cubic\"\n{tail}{}{}", claim("named", "cubic"), claim("general", "*"));
    let exp = small("controller = \"cubic\"\n", &text).unwrap();
    assert_eq!(exp.claims.len(), 2);
    let wanted = ["nada", "{ name = \"dccc\", threshold = \"50 ms\", label = \"D\" }"].map(str::to_owned);
    let tried = exp.with_controllers(&wanted).unwrap();
    assert_eq!(tried.cases().iter().map(|c| c.row.clone()).collect::<Vec<_>>(), ["nada", "D"]);
    let [general] = &tried.claims[..] else { panic!("{:?}", tried.claims) };
    assert_eq!((general.id.as_str(), general.everywhere, &general.reason), ("general", true, &None));
    assert!(tried.note.contains("1 claim that names other controllers is left out"), "{}", tried.note);
    for (key, value) in [("seed", "40"), ("repetitions", "3"), ("series", "off")] {
        let again = tried.with_overrides(&set(key, value), false).unwrap();
        let [claim] = &again.claims[..] else { panic!("{key}: {:?}", again.claims) };
        assert_eq!((&claim.reason, &again.note), (&None, &tried.note), "{key}");
    }
    let wrong = |candidate: &str| exp.with_controllers(&[candidate.to_owned()]).unwrap_err().to_string();
    assert!(wrong("nadda").contains("did you mean \"nada\""), "{}", wrong("nadda"));
    assert!(wrong("nadda").contains("--controller nadda"), "{}", wrong("nadda"));
    let plain = small("[link]", "[link]").unwrap().with_controllers(&wanted).unwrap_err().to_string();
    let right = "does not vary its controllers; use --set with the full key";
    assert!(plain.contains(right), "{plain}");
    let broken = wrong("{ name = \"cubic\" ");
    assert!(broken.contains("invalid TOML table; write it like '{ name = "), "{broken}");
}

/// Other spellings of an algorithm mean its canonical name: in rows, runs and manifests.
#[test]
fn spellings_of_algorithms() {
    let vary = |list: &str| small("[link]", &format!("[vary]\n\"flow.controller\" = [{list}]\n[link]"));
    let exp = vary("\"CUBIC\", \"BBRv3\", { name = \"newreno\", label = \"mine\" }").unwrap();
    let cases = exp.cases();
    let rows: Vec<_> = cases.iter().map(|case| (case.row.as_str(), case.algorithm.as_str())).collect();
    assert_eq!(rows, [("cubic", "cubic"), ("bbr3", "bbr3"), ("mine", "new-reno")]);
    assert_eq!(cases[1].values, [("flow.controller".to_owned(), "bbr3".to_owned())]);
    let canonical = vary("\"cubic\", \"bbr3\", { name = \"new-reno\", label = \"mine\" }").unwrap();
    for (case, same) in cases.iter().zip(canonical.cases()) {
        assert_eq!(exp.resolved(case, 1).unwrap(), canonical.resolved(&same, 1).unwrap());
    }
    let tried = exp.with_controllers(&["BBRv1".to_owned()]).unwrap();
    assert_eq!(tried.cases()[0].row, "bbr1");
    let set = exp_with(&small("[link]", "[link]").unwrap(), "NewReno");
    assert_eq!(set.cases()[0].algorithm, "new-reno");

    let twice = vary("\"bbr\", \"bbr3\"").unwrap_err().to_string();
    assert!(twice.contains("two values have the label `bbr3`"), "{twice}");
    for name in ["reno", "Reno"] {
        let said = small("\"cubic\"", &format!("\"{name}\"")).unwrap_err().to_string();
        let right = "write `new-reno` (QUIC, RFC 9002) or `tcp-reno` (TCP, RFC 5681)";
        assert!(
            said.contains(&format!("flow.0.controller: ambiguous algorithm `{name}`; {right}")),
            "{said}"
        );
    }
}

fn exp_with(exp: &Experiment, controller: &str) -> Experiment {
    exp.with_overrides(&set("flow.controller", controller), false).unwrap()
}

/// Rates as tc writes them are the same runs.
#[test]
fn rates_of_tc() {
    let resolved = |rate: &str| {
        let exp = small("\"10 Mbit/s\"", &format!("\"{rate}\"")).unwrap();
        exp.resolved(&exp.cases()[0], 1).unwrap()
    };
    for (rate, same) in
        [("20mbit", "20 Mbit/s"), ("20 Mbit", "20 Mbit/s"), ("1gbit", "1 Gbit/s"), ("900kbit", "900 kbit/s")]
    {
        assert_eq!(resolved(rate), resolved(same), "{rate}");
    }
}

#[test]
fn rows_default_to_all_but() {
    assert!(Rows::default().matches("anything"));
}
