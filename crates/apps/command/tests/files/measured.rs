//! Metrics and verdicts of runs of experiment files.

use crate::common::{APPLICATIONS, BOTH, CHAIN, MIXED, UDP, good, parse, scenario, small};
use experiment::file::{Check, Experiment, Sample};
use experiment::metric::Metric;
use experiment::row::RowLabel;
use results::measure::{Values, measure};
use results::verdict::{self, Outcome};
use scenario::Watch;

/// Runs a case and measures it.
fn values(exp: &Experiment, case: usize) -> Values {
    let run = scenario(exp, case);
    measure(&run, &sim::run(&run, &Watch::default()).unwrap(), exp.groups())
}

#[test]
fn applications() {
    let exp = parse(APPLICATIONS).unwrap();
    let values = values(&exp, 0);
    assert!((0.3..1.5).contains(&values["media_rate"]), "{values:?}");
    assert_eq!(values["media_rate"], values["media_rate of media"]);
    assert!(values["frame_delay_mean"] > 20.0 && values["frame_delay_p95"] >= values["frame_delay_mean"]);
    assert!((0.0..50.0).contains(&values["frame_loss"]));
    assert!(values["objects"] > 10.0 && values["object_time_mean"] > 60.0, "{values:?}");
    assert!(!values.contains_key("media_rate of web") && !values.contains_key("objects of bulk"));
}

#[test]
fn udp() {
    let exp = parse(UDP).unwrap();
    let (free, flooded) = (values(&exp, 0), values(&exp, 2));
    let near = |got: f64, expected: f64| assert!((got / expected - 1.0).abs() < 0.05, "{got} for {expected}");
    near(free["udp_throughput"], 3.0);
    near(free["udp_throughput of UDP"], 1.0);
    near(free["udp_throughput of x"], 2.0);
    assert!(flooded["udp_loss of x"] > 100.0 / 6.0, "{flooded:?}");
    assert!((20.0..60.0).contains(&free["owd_mean"]) && flooded["udp_queue_delay"] > 30.0);
    assert!(free["owd_p95"] >= free["owd_mean"] && free["owd_std"] > 0.0);
    let plain = small("[[flow]]", "[[flow]]").unwrap();
    assert!(!values(&plain, 0).keys().any(|metric| metric.word().starts_with("udp_")));
}

/// A media flow that starts after the measuring window does not change the others' mean rate.
#[test]
fn media_flows_that_have_not_begun() {
    let text = "title = \"t\"\nsource = \"s\"\nduration = \"4 s\"\nmeasure = { from = \"1 s\", to = \"2 s\" }\n\
                link = { rate = \"4 Mbit/s\", delay = \"9 ms\" }\n\
                [[flow]]\ncontroller = \"nada\"\napplication = \"media\"\ncount = 2\nstagger = \"3 s\"\n";
    let exp = parse(text).unwrap();
    let values = values(&exp, 0);
    assert!(values["media_rate"] >= 0.14 && values["rate_ratio"] == 1.0, "{values:?}");
}

/// A run that ends before all transfers do has no completion time: that of the quick ones would be
/// too small. A transfer that is stopped has not finished.
#[test]
fn transfers_that_do_not_finish() {
    let text = |more: &str| {
        format!(
            "title = \"t\"\nsource = \"s\"\nduration = \"4 s\"\n\
             link = {{ rate = \"4 Mbit/s\", delay = \"9 ms\", queue = \"1 BDP\" }}\n\
             [[flow]]\ncontroller = \"cubic\"\nlabel = \"a\"\ntransfer = \"100 kB\"\n\
             [[flow]]\ncontroller = \"cubic\"\nlabel = \"b\"\n{more}"
        )
    };
    for (more, finished, of_b) in [
        ("transfer = \"10 MB\"\n", 50.0, Some(0.0)),
        ("transfer = \"10 MB\"\nstop = \"2 s\"\n", 50.0, Some(0.0)),
        ("transfer = \"100 kB\"\n", 100.0, Some(100.0)),
        ("", 100.0, None),
    ] {
        let values = values(&parse(&text(more)).unwrap(), 0);
        assert_eq!(values["finished"], finished, "{more}");
        assert_eq!(values.get("finished of b").copied(), of_b, "{more}");
        assert_eq!(values.contains_key("completion"), finished == 100.0, "{more}");
        assert!(values["completion of a"] < 1.0 && values["finished of a"] == 100.0);
    }
}

/// A run whose flow stops goes on to its end, with UDP and windows. One whose transfers are
/// complete ends, and windows behind that say when.
#[test]
fn the_end_of_a_run() {
    let of = |flow: &str| {
        let text = format!(
            "title = \"t\"\nsource = \"s\"\nduration = \"10 s\"\n\
             link = {{ rate = \"10 Mbit/s\", delay = \"20 ms\" }}\n\
             [[flow]]\ncontroller = {{ name = \"fixed-window\", window = 10 }}\n{flow}\n\
             [[udp]]\nrate = \"1 Mbit/s\"\nsize = \"1000 bytes\"\nstart = \"3 s\"\n\
             [windows]\nlate = {{ from = \"4 s\", to = \"8 s\" }}\n\
             [table]\nmetrics = [\"goodput @ run\"]\n"
        );
        values(&parse(&text).unwrap(), 0)
    };
    for flow in ["stop = \"2 s\"", "lasts = \"2 s\"", "stop = \"2 s\"\ntransfer = \"100 MB\""] {
        let all = of(flow);
        let near =
            |metric: &str, expected: f64| assert!((all[metric] / expected - 1.0).abs() < 5e-3, "{all:?}");
        near("utilization @ late", 10.0);
        near("udp_throughput @ late", 1.0);
        near("udp_throughput", 0.7);
        near("total_goodput", all["goodput"] / 5.0);
        assert!(!all.keys().any(|metric| metric.word() == "ended"), "{all:?}");
    }
    let all = of("transfer = \"10 kB\"");
    assert_eq!(all["ended @ late"], all["completion"]);
    assert!(!all.contains_key("ended") && !all.contains_key("utilization @ late"), "{all:?}");
}

/// The capacity of a link whose rate changes is the integral of its rate: 30 MB in 20 s.
#[test]
fn utilization_of_steps() {
    let steps = "rate = [[\"0 s\", \"8 Mbit/s\"], [\"10 s\", \"16 Mbit/s\"]]";
    let text = format!(
        "title = \"t\"\nsource = \"s\"\nduration = \"20 s\"\nseries = \"off\"\n\
         link = {{ {steps}, delay = \"9 ms\", queue = \"20 kB\" }}\n\
         [[flow]]\ncontroller = \"cubic\"\n[windows]\nlate = {{ from = \"10 s\" }}\n"
    );
    let values = values(&parse(&text).unwrap(), 0);
    // Stream bytes and headers of each packet, without the packets at the end of the run.
    let carried = |window: &str| values[format!("total_goodput{window}").as_str()] * 1280.0 / 1217.0;
    for (window, rate) in [("", 12.0), (" @ late", 16.0)] {
        let used = values[format!("utilization{window}").as_str()];
        assert!((used - 100.0 * carried(window) / rate).abs() < 1.5 && used <= 100.0, "{window}: {used}");
    }
}

/// Packets count when they leave the link, not when they arrive at its end. A link that is always
/// full is used to 100 %, less or more than one packet, whatever its delay and its earlier rate.
#[test]
fn utilization_of_a_full_link_with_a_long_delay() {
    for (rates, slowest) in [("8 Mbit/s,2 Mbit/s", 2e6), ("2 Mbit/s,8 Mbit/s", 8e6)] {
        let (before, after) = rates.split_once(',').unwrap();
        let text = format!(
            "title = \"t\"\nsource = \"s\"\nduration = \"8 s\"\nseries = \"off\"\n\
             link = {{ rate = [[\"0 s\", \"{before}\"], [\"4 s\", \"{after}\"]], delay = \"300 ms\", \
             queue = \"20 kB\" }}\n\
             [[flow]]\ncontroller = \"cubic\"\n[[udp]]\nrate = \"20 Mbit/s\"\nsize = \"1500 bytes\"\n\
             [windows]\nlate = {{ from = \"4 s\", to = \"6 s\" }}\n"
        );
        let used = values(&parse(&text).unwrap(), 0)["utilization @ late"];
        let packet = 100.0 * 1500.0 * 8.0 / (2.0 * slowest);
        assert!((used - 100.0).abs() <= packet, "{rates}: {used}");
    }
}

/// `utilization` covers the measuring window, as every rate does. The link idles before it.
#[test]
fn utilization_in_the_measuring_window() {
    let text = |measure: &str| {
        format!(
            "title = \"t\"\nsource = \"s\"\nduration = \"8 s\"\nseries = \"off\"\n{measure}\
             link = {{ rate = \"8 Mbit/s\", delay = \"9 ms\", queue = \"20 kB\" }}\n\
             reverse = {{ rate = \"8 Mbit/s\", delay = \"9 ms\" }}\n\
             [[flow]]\ncontroller = \"cubic\"\nstart = \"4 s\"\n\
             [table]\nmetrics = [\"utilization @ measure\", \"utilization @ run\"]\n"
        )
    };
    let whole = values(&parse(&text("")).unwrap(), 0);
    assert_eq!([&whole["utilization @ measure"], &whole["utilization @ run"]], [&whole["utilization"]; 2]);
    let late = values(&parse(&text("measure = { from = \"4 s\" }\n")).unwrap(), 0);
    for link in ["utilization", "utilization of reverse"] {
        assert_eq!(late[link], late[format!("{link} @ measure").as_str()]);
        assert_eq!(late[format!("{link} @ run").as_str()], whole[link]);
        assert!((late[link] / whole[link] - 2.0).abs() < 1e-2, "{link}: {late:?}");
    }
    let past = values(&parse(&text("measure = { from = \"2 s\", to = \"3 s\" }\n")).unwrap(), 0);
    assert_eq!(past["utilization"], 0.0);
}

#[test]
fn links_in_a_row() {
    let exp = parse(CHAIN).unwrap();
    let values = values(&exp, 1);
    assert_eq!(values["utilization"], values["utilization of left"]);
    assert!(values["utilization of middle"] > 80.0 && values["utilization of right"] > 40.0, "{values:?}");
}

/// Shares of all groups in a run add up to 100 %, and an absent group has no value.
#[test]
fn groups_of_flows() {
    let exp = parse(MIXED).unwrap();
    assert_eq!(exp.groups(), ["CUBIC", "BBR"]);
    let (alone, gated) = (values(&exp, 0), values(&exp, 2));
    assert_eq!((alone["share of CUBIC"], alone.get("share of BBR")), (100.0, None));
    assert!((gated["share of CUBIC"] + gated["share of BBR"] - 100.0).abs() < 1e-9, "{gated:?}");
    let total = gated["goodput of CUBIC"] + 2.0 * gated["goodput of BBR"];
    assert!((total - 3.0 * gated["goodput"]).abs() < 1e-9);
    assert!(gated["ping_mean"] > 40.0 && !gated.contains_key("ping_mean of BBR"));
}

#[test]
fn links_in_both_directions() {
    let exp = parse(BOTH).unwrap();
    let values = values(&exp, 1);
    assert!(values["utilization of home"] > 1.0 && values["ack_loss"] > 0.0, "{values:?}");
    let up = values["utilization of up"];
    assert!((1.0..=100.0).contains(&up), "its rate has steps: {up}");
}

#[test]
fn one_link_back() {
    let plain = small("[[flow]]", "[[flow]]").unwrap();
    assert_eq!(values(&plain, 0)["ack_loss"], 0.0);
    let metrics = "[table]\nmetrics = [\"utilization of reverse\", \"ack_loss\"]\n";
    let text = format!("[reverse]\nrate = \"1 Mbit/s\"\ndelay = \"25 ms\"\n{metrics}[[flow]]");
    let exp = small("[[flow]]", &text).unwrap();
    // 966 packets of 1294 bytes per second, every second one acknowledged with 99 bytes.
    let used = values(&exp, 0)["utilization of reverse"];
    assert!((36.0..38.5).contains(&used), "{used}");
    let exp =
        small("[[flow]]", "[vary]\n\"reverse.rate\" = [\"1 Mbit/s\", \"50 kbit/s\"]\n[[flow]]").unwrap();
    let goodput = |case| values(&exp, case)["goodput"];
    // 63 acknowledgements per second, mostly of two packets each.
    assert!(goodput(0) > 9.0 && goodput(1) < 3.0, "{} {}", goodput(0), goodput(1));
}

#[test]
fn claims_are_judged_in_words() {
    let exp = good();
    let labels: Vec<RowLabel> = exp.cases().iter().take(4).map(|c| c.label()).collect();
    let part = |claim: usize| &exp.claims[claim].parts[0];
    let judge = |claim: usize, quic_dc: f64| {
        let value = |row: &RowLabel, _: &Metric| match row.as_str() {
            "Cubic" => Some(Sample { value: 1.03, spread: Some(0.1) }),
            "QUIC-DC 80" => Some(Sample { value: quic_dc, spread: Some(0.0) }),
            "QUIC-DC 10" => Some(Sample { value: 0.02, spread: Some(0.0) }),
            _ => None,
        };
        let numbers = part(claim).check.numbers(&part(claim).metric, &labels, value, |_| None)?;
        Some((verdict::judge(&numbers).outcome, numbers.in_words(&part(claim).metric)))
    };
    let said = |outcome, numbers: &str| Some((outcome, numbers.to_owned()));
    assert_eq!(judge(0, 0.03), said(Outcome::Holds, "1.03 % is at least 0.9 %"));
    assert_eq!(judge(0, 0.032), said(Outcome::WithinSpread, "1.03 % is at least 0.96 %"));
    assert_eq!(judge(0, 0.035), said(Outcome::WithinSpread, "1.03 % is not at least 1.05 %"));
    assert_eq!(judge(0, 0.5), said(Outcome::Missed, "1.03 % is not at least 15 %"));
    let lossless = |row: &RowLabel, _: &Metric| Some(Sample::exact(if *row == "Cubic" { 1.03 } else { 0.0 }));
    let numbers = part(0).check.numbers(&"loss".into(), &labels, lossless, |_| None).unwrap();
    assert_eq!(verdict::judge(&numbers).outcome, Outcome::NotJudged, "thirty times nothing");
    assert_eq!(judge(1, 0.03), said(Outcome::Holds, "0.02, 0.03 ms"));
    assert_eq!(judge(1, 0.02), said(Outcome::WithinSpread, "0.02, 0.02 ms"));
    assert_eq!(judge(1, 0.01), said(Outcome::Missed, "0.02, 0.01 ms"));
    let Check::Increasing(rows) = &part(1).check else { panic!() };
    let none = |row: &RowLabel, _: &Metric| (*row != rows[0]).then_some(Sample::exact(1.0));
    assert_eq!(part(1).check.numbers(&"rtt_mean".into(), &labels, none, |_| None), None);
}
