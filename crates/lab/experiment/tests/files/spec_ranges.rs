//! Ranges and samples in `[vary]`.

use crate::common::parse;

/// Returns a file that varies these keys.
fn vary(keys: &str) -> String {
    format!(
        "title = \"t\"\nduration = \"60 s\"\n[link]\nrate = \"10 Mbit/s\"\ndelay = \"5 ms\"\nqueue = \"50 packets\"\n\
         [[flow]]\ncontroller = \"cubic\"\n[vary]\n{keys}\n"
    )
}

fn refused(keys: &str) -> String {
    parse(&vary(keys)).map_or_else(|wrong| wrong.to_string(), |read| format!("{} cases", read.cases().len()))
}

#[test]
fn a_range_has_eight_values() {
    let read =
        parse(&vary("\"link.rate\" = \"1..100 Mbit/s\"\n\"flow.controller.beta\" = \"0.5..0.9\"")).unwrap();
    assert_eq!(read.cases().len(), 64);
    let numbers = parse(&vary("\"flow.initial-window\" = \"2..64\"")).map(|read| read.cases().len());
    assert!(numbers.is_err(), "no such key");
    let rows: Vec<String> = read.cases()[..8].iter().map(|case| case.row.clone()).collect();
    assert_eq!(rows[0], "1 Mbit/s");
    assert_eq!(rows[7], "100 Mbit/s");
}

/// The ranges have 100 points together, and each list multiplies them.
#[test]
fn a_sample_of_networks() {
    let keys = "sample = 100\n\"link.rate\" = \"1 Mbit/s..1 Gbit/s\"\n\"link.delay\" = \"1..100 ms\"\n\
                \"flow.controller\" = [\"cubic\", \"bbr3\"]";
    let read = parse(&vary(keys)).unwrap();
    let cases = read.cases();
    assert_eq!((cases.len(), cases[0].row.as_str(), cases[1].row.as_str()), (200, "cubic", "bbr3"));
    let keys_of_a_case: Vec<&str> = cases[0].values.iter().map(|(key, _)| key.as_str()).collect();
    assert_eq!(keys_of_a_case, ["link.rate", "link.delay", "flow.controller"]);
    assert!(cases[0].variant.starts_with("rate = ") && cases[0].variant.contains(", delay = "));
    let rate = |i: usize| read.scenario(&cases[i], 0).link.rate;
    assert_eq!(rate(0), rate(1), "both controllers have the same networks");
    assert_ne!(rate(0), rate(2));
    let other = parse(&vary(&keys.replace("100\n", "{ count = 100, seed = 2 }\n"))).unwrap();
    assert_ne!(other.cases()[0].variant, cases[0].variant);
}

#[test]
fn mistakes_of_ranges() {
    for (keys, says) in [
        ("\"link.rate\" = \"100..1 Mbit/s\"", "a range must rise"),
        ("\"link.rate\" = \"1 ms..1 Mbit/s\"", "the units `ms` and `Mbit/s` differ"),
        ("\"link.rate\" = \"1..2 furlong\"", "`furlong` is not a unit of a rate"),
        ("\"link.rate\" = \"1 Mbit/s\"", "list"),
        ("sample = 10", "no key of [vary] has a range"),
        ("sample = 1\n\"link.rate\" = \"1..2 Mbit/s\"", "1 is out of range"),
        ("sample = 10\nlink = \"1..2\"", "link"),
        ("sample = 10\n\"link.rate\" = \"1..2 Mbit/s\"\n\"link\" = \"1..2\"", "overwrites `link.rate`"),
        ("sample = { seed = 1 }\n\"link.rate\" = \"1..2 Mbit/s\"", "number of points"),
        (
            "sample = 9999\n\"link.rate\" = \"1..2 Mbit/s\"\n\"link.delay\" = [\"1 ms\", \"2 ms\"]",
            "too many combinations",
        ),
    ] {
        assert!(refused(keys).contains(says), "{keys}: {}", refused(keys));
    }
}
