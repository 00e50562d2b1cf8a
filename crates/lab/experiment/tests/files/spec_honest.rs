//! No refusal forbids an experiment that the simulator computes correctly, and every refusal says
//! what to write.

use experiment::file::Experiment;

use crate::common::{parse, small};

const VARY: &str = "\"link.rate\" = [\"1 Mbit/s\", \"100 Mbit/s\"]\n";

/// Returns the small file's text with a grid of rates and these queues.
fn grid(queues: &str) -> String {
    format!(
        "title = \"t\"\nsource = \"s\"\nduration = \"60 s\"\n[link]\ndelay = \"5 ms\"\n[[flow]]\n\
         controller = \"cubic\"\n[vary]\n{VARY}\"link.queue\" = [{queues}]\n"
    )
}

fn said(from: &str, to: &str) -> String {
    small(from, to).map_or_else(|e| e.to_string(), |_| "accepted".to_owned())
}

/// 0.1 BDP is 125 bytes at the lower rate, and ten packets at the higher.
#[test]
fn a_corner_of_a_grid_may_have_no_room() {
    let study = parse(&grid("\"0.1 BDP\", \"2 BDP\"")).unwrap();
    assert_eq!(study.cases().len(), 3, "the corner is left out and counted");
    assert!(study.note.starts_with("1 of 4 combinations is left out; with "), "{}", study.note);
    // Where one key varies, cases have rows alone.
    let alone = parse(
        &grid("\"0.1 BDP\"")
            .replace("[link]", "[link]\nqueue = \"0.1 BDP\"")
            .replace("\"link.queue\" = [\"0.1 BDP\"]\n", ""),
    )
    .unwrap();
    assert!(alone.note.starts_with("1 of 2 combinations is left out; with 1 Mbit/s, "), "{}", alone.note);
    let nowhere = parse(&grid("\"0.001 BDP\", \"0 packets\"")).unwrap_err().to_string();
    assert!(nowhere.contains("a queue of 1 bytes drops every full packet"), "{nowhere}");
}

/// A flow with a count of 0 is not there: its packets need no room, and it never starts.
#[test]
fn an_absent_flow_refuses_nothing() {
    let absent = "controller = \"cubic\"\n[[flow]]\ncontroller = \"cubic\"\ncount = 0\nstart = \"90 s\"\n\
                  packet.datagram = \"9000 bytes\"\n";
    let queue = "queue = \"5 kB\"\n\n[[flow]]\n";
    let whole = format!("{queue}{absent}");
    assert_eq!(said("queue = \"2 BDP\"\n\n[[flow]]\ncontroller = \"cubic\"\n", &whole), "accepted");
    let present = whole.replace("count = 0", "count = 1").replace("90 s", "9 s");
    let refused = said("queue = \"2 BDP\"\n\n[[flow]]\ncontroller = \"cubic\"\n", &present);
    assert!(refused.contains("a queue of 5 kB drops every full packet"), "{refused}");
}

/// Links of 1.6 Tbit/s, and bursts, probes and requests at the time scale of a data centre.
#[test]
fn fast_networks() {
    for (from, to) in [
        ("10 Mbit/s", "1600 Gbit/s"),
        ("[[flow]]", "[[udp]]\nrate = \"40 Gbit/s\"\nsize = \"1500 bytes\"\n[[flow]]"),
        (
            "[[flow]]",
            "[[udp]]\nrate = \"4 Gbit/s\"\nsize = \"1 kB\"\non-off = { on = \"50 us\", off = \"1 us\" }\n[[flow]]",
        ),
        ("[[flow]]", "[probe]\ninterval = \"100 us\"\n[[flow]]"),
        ("[[flow]]", "[[flow]]\napplication = { name = \"on-off\", idle = \"200 us\" }"),
        ("\"10 Mbit/s\"", "{ median = \"10 Mbit/s\", period = \"125 us\" }"),
    ] {
        assert_eq!(said(from, to), "accepted", "{to}");
    }
}

/// Loss ratios of optical links are written with an exponent.
#[test]
fn numbers_with_an_exponent() {
    for text in ["queue = \"2 BDP\"\nloss = \"1e-6 %\"", "queue = \"1e2 packets\"", "queue = \"5e-1 BDP\""] {
        assert_eq!(said("queue = \"2 BDP\"", text), "accepted", "{text}");
    }
}

/// Each refusal says what to write instead.
#[test]
fn remedies() {
    let controller = |text: &str| format!("controller = {{ {text} }}");
    let flow = "controller = \"cubic\"";
    for (from, to, parts) in [
        (flow, controller("name = \"fixed-window\", window = \"1000 packets\""), "; write 1000"),
        (flow, controller("name = \"fixed-window\", window = 1000.0"), "; write 1000"),
        (flow, controller("name = \"fixed-window\", window = \"100 kB\""), "; default: 10"),
        (flow, controller("name = \"cubic\", beta = \"70 %\""), "; write 0.7"),
        ("[[flow]]", "[[flow]]\ncount = \"3\"".to_owned(), "; write 3"),
        (
            "[[flow]]",
            "[[flow]]\nrecovery.packet-threshold = \"4 packets\"".to_owned(),
            "or \"off\", found `4 packets`; write 4",
        ),
        ("[[flow]]", "[[flow]]\nrecovery.paced = true".to_owned(), "unknown value `true`; known: "),
        ("[[flow]]", "[[flow]]\nrecovery.initial-rtt = 100".to_owned(), "`100` has no unit; a duration"),
        ("[[flow]]", "[[flow]]\nrebind = [\"5 s\", \"port\"]".to_owned(), "; write [[\"5 s\", \"port\"]"),
        ("\"2 BDP\"", "[\"1 BDP\"]".to_owned(), "[\"30 s\", \"1 BDP\"]: its time and its queue"),
        ("\"2 BDP\"", "[\"1 BDP\"]".to_owned(), "values to compare go into [vary]"),
        ("delay = \"25 ms\"", "rtt = [[\"0 s\", \"50 ms\"]]".to_owned(), "write `delay` in steps"),
        ("duration", "series = \"none\"\nduration".to_owned(), "or to \"off\""),
        (
            "queue",
            "aqm = { name = \"red\", min = \"20 packets\" }\nqueue".to_owned(),
            "above `max`, by default 15 packets",
        ),
    ] {
        let said = said(from, &to);
        assert!(said.contains(parts), "{to}: {said}");
    }
    for outage in [
        "[[\"0 s\", \"0 bit/s\"], [\"5 s\", \"1 Mbit/s\"]]",
        "[[\"0 s\", \"10 Mbit/s\"], [\"1 ns\", \"0 bit/s\"], [\"5 s\", \"10 Mbit/s\"]]",
    ] {
        assert_eq!(said("\"10 Mbit/s\"", outage), "accepted");
    }
}

/// Keys that readers expect and that do not exist are answered with what to write today.
#[test]
fn keys_that_do_not_exist_yet() {
    for (from, to, says) in [
        ("queue", "trace = \"lte.down\"\nqueue", "write rate = { trace = \"verizon.down\" }"),
        ("queue", "gilbert = { p = \"1 %\" }\nqueue", "write loss = { p = \"1 %\", r = \"10 %\" }"),
    ] {
        let said = said(from, to);
        assert!(said.contains(says), "{to}: {said}");
    }
    // What the messages say to write.
    for loss in ["{ p = \"1 %\", r = \"10 %\" }", "{ bad-time = \"17 ms\", good-time = \"600 ms\" }"] {
        assert_eq!(said("queue", &format!("loss = {loss}\nqueue")), "accepted");
    }
}

/// A table with a row for each controller and loss, from which the keys take their numbers.
#[test]
fn published_by_two_keys() {
    let dir = tempfile::tempdir().unwrap();
    let csv = "cc, loss_rate, goodput_kbps\ncubic, 0.0001, 34140\ncubic, 0.01, 1620\nbbr, 0.01, 85370\n";
    std::fs::create_dir(dir.path().join("published")).unwrap();
    std::fs::write(dir.path().join("published/loss.csv"), csv).unwrap();
    let file = dir.path().join("x.toml");
    let read = |vary: &str, column: &str| {
        let published = "[published]\ntable = \"loss.csv\"\nrows = [\"cc\", \"loss_rate\"]\n";
        let text = format!(
            "title = \"t\"\nsource = \"s\"\nduration = \"1 s\"\n[link]\nrate = \"10 Mbit/s\"\n\
             delay = \"9 ms\"\n[[flow]]\ncontroller = \"cubic\"\n[vary]\n{vary}\n{published}\
             columns = {{ goodput = {column} }}\n"
        );
        std::fs::write(&file, &text).unwrap();
        Experiment::parse("x", &file, &text).map_err(|wrong| wrong.to_string())
    };
    let controllers = "\"flow.controller\" = [{ name = \"cubic\", label = \"cubic\" }, { name = \"bbr1\", label = \"bbr\" }]";
    let keys = format!("{controllers}\n\"link.loss\" = [\"0.01 %\", \"1 %\"]");
    let unit = "{ column = \"goodput_kbps\", unit = \"kbit/s\" }";
    let both = read(&keys, unit).unwrap();
    let published = |variant: &str, row: &str| both.published(variant, &row.into(), &"goodput".into());
    assert_eq!(published("loss = 0.01 %", "cubic"), Some(34.14));
    assert_eq!(published("loss = 1 %", "cubic"), Some(1.62));
    assert_eq!(published("loss = 1 %", "bbr"), Some(85.37));
    assert_eq!(published("loss = 0.01 %", "bbr"), None, "the table has no such row");
    let line = "goodput = { column = \"goodput_kbps\", unit = \"kbit/s\" }";
    assert!(read(&keys, "\"goodput_kbps\"").unwrap_err().contains(line));
    assert!(
        read(&keys, &unit.replace("kbit/s", "ms")).unwrap_err().contains("`ms` is not a unit for Mbit/s")
    );
    let said = read(&keys.replace("0.01 %", "2 %").replace("\"1 %", "\"3 %"), unit).unwrap_err();
    assert!(said.contains("no row of loss.csv matches") && said.contains("cubic 0.01"), "{said}");
    let axis = "case = [{ label = \"bbr 0.01\", set = { \"link.loss\" = \"1 %\" } }]";
    let labelled = read(axis, unit).unwrap();
    assert_eq!(labelled.published("", &"bbr 0.01".into(), &"goodput".into()), Some(85.37));
}
