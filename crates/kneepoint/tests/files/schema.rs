//! `kneepoint schema`: every shipped experiment is what it says, what the reader refuses it refuses, and docs/keys.md is made from it.

use std::path::Path;

use experiment::file::Experiment;
use experiment::library::Library;
use experiment::quantity::QUANTITIES;
use experiment::schema;
use jsonschema::Validator;
use serde_json::Value;

fn validator() -> Validator {
    jsonschema::validator_for(&schema::schema()).expect("a schema")
}

fn json(toml: &str) -> Value {
    serde_json::to_value(toml.parse::<toml::Table>().expect("TOML")).expect("JSON")
}

#[test]
fn shipped_experiments_are_valid() {
    let validator = validator();
    let mut files = 0;
    for experiment in Library.shipped() {
        let errors: Vec<String> = validator
            .iter_errors(&json(&experiment.text))
            .map(|e| format!("{}: {e}", e.instance_path()))
            .collect();
        assert!(errors.is_empty(), "{}: {}", experiment.name, errors.join("\n"));
        files += 1;
    }
    assert!(files > 80, "{files} files");
}

/// What a run's manifest says is an experiment file too.
#[test]
fn resolved_runs_are_valid() {
    let validator = validator();
    for name in
        ["quic-dc/table-1", "thesis/table-9-10", "rfc8867/5-1-variable-capacity", "ecn-fairness/figure-6"]
    {
        let source = Library.resolve(&[name.to_owned()]).expect(name).remove(0);
        let experiment = Experiment::parse(&source.name, Path::new(&source.file), &source.text).expect(name);
        let run = experiment.resolved(&experiment.cases()[0], 1).expect(name);
        let run = serde_json::to_value(run).expect("JSON");
        let errors: Vec<String> =
            validator.iter_errors(&run).map(|e| format!("{}: {e}", e.instance_path())).collect();
        assert!(errors.is_empty(), "{name}: {}", errors.join("\n"));
    }
}

#[test]
fn mistakes_are_found() {
    let validator = validator();
    let plain = |link: &str, flow: &str| {
        json(&format!(
            "title = \"t\"\nsource = \"s\"\nduration = \"1 s\"\n[link]\nrate = \"1 Mbit/s\"\n{link}\n[[flow]]\n{flow}"
        ))
    };
    assert!(validator.is_valid(&plain("delay = \"1 ms\"", "controller = \"cubic\"")));
    for (link, flow) in [
        ("rat = \"1 ms\"", "controller = \"cubic\""),
        ("delay = 5", "controller = \"cubic\""),
        // A unit of something else, and none.
        ("delay = \"5 Mbit/s\"", "controller = \"cubic\""),
        ("delay = \"5\"", "controller = \"cubic\""),
        ("burst = \"5 ms\"", "controller = \"cubic\""),
        ("loss = \"5 kB\"", "controller = \"cubic\""),
        ("queue = \"5 Mbit/s\"", "controller = \"cubic\""),
        ("", "controller = \"cubic\"\ntransfer = \"5 s\""),
        ("", "controller = \"cubic\"\nstart = \"5 MB\""),
        ("", "controller = { name = \"cubik\" }"),
        ("", "controller = { name = \"cubic\", bta = 0.8 }"),
        ("", "controller = \"cubic\"\nrecovery = { packet-treshold = 3 }"),
        ("", "controller = \"cubic\"\nack = { ack-every = 0 }"),
        ("", "controller = \"cubic\"\ntransport = \"sctp\""),
        ("", "controller = \"cubic\"\napplication = { name = \"media\", fsp = 30 }"),
    ] {
        assert!(!validator.is_valid(&plain(link, flow)), "{link} {flow}");
    }
}

/// Each unit that a reader knows the schema knows, of its own type and no other.
#[test]
fn units_are_those_of_the_readers() {
    let validator = validator();
    let file = |key: &str, value: &str| {
        let keys = [("rate", "1 Mbit/s"), ("delay", "1 ms"), ("burst", "0 bytes"), ("queue", "1 BDP")];
        let line = |(known, own): (&str, &str)| {
            format!("{known} = \"{}\"\n", if known == key { value } else { own })
        };
        let link: String = keys.into_iter().map(line).collect();
        json(&format!("title = \"t\"\nduration = \"1 s\"\n[link]\n{link}[[flow]]\ncontroller = \"cubic\"\n"))
    };
    for number in ["5", "5 ", "0.5 ", "+5 "] {
        for unit in [
            "ns", "us", "µs", "ms", "s", "min", "bit/s", "Mbit/s", "Gbps", "kB/s", "B", "MB", "KiB", "%",
            "BDP", "packets",
        ] {
            let text = format!("{number}{unit}");
            let says = |key: &str| validator.is_valid(&file(key, &text));
            assert_eq!(says("delay"), text.parse::<units::Duration>().is_ok(), "{text}");
            assert_eq!(says("rate"), text.parse::<units::Rate>().is_ok(), "{text}");
            assert_eq!(says("burst"), text.parse::<units::Bytes>().is_ok(), "{text}");
            let is_queue = ["BDP", "packets"].contains(&unit) || says("delay") || says("burst");
            assert_eq!(says("queue"), is_queue, "{text}");
        }
    }
}

/// `BLESS=1` writes it.
#[test]
fn the_page_of_keys_is_made_from_it() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/keys.md");
    let made = schema::reference();
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &made).expect("docs/keys.md");
    }
    let page = std::fs::read_to_string(&path).unwrap_or_default();
    let line = page.lines().zip(made.lines()).position(|(has, is)| has != is);
    assert!(
        page == made,
        "docs/keys.md: line {} is not what the structs say; BLESS=1 cargo test -p kneepoint --test files schema writes it",
        line.unwrap_or_else(|| page.lines().count().min(made.lines().count())) + 1
    );
}

/// What is written by hand about metrics and marks leaves none of them out.
#[test]
fn the_page_of_experiments_has_every_metric_and_mark() {
    let page = include_str!("../../../../docs/experiments.md");
    let stem = |name: &str| name.split_once('_').map(|(stem, _)| format!("`{stem}_*`"));
    let known = |name: &str| {
        page.contains(&format!("`{name}`")) || stem(name).is_some_and(|stem| page.contains(&stem))
    };
    let missing: Vec<_> =
        QUANTITIES.iter().map(|quantity| quantity.name).filter(|name| !known(name)).collect();
    assert!(missing.is_empty(), "docs/experiments.md has no word of {missing:?}");

    let wrong = "title = \"t\"\nduration = \"1 s\"\n[link]\nrate = \"1 Mbit/s\"\nrtt = \"10 ms\"\n[[flow]]\n\
                 controller = \"cubic\"\n[[chart]]\nmark = \"none\"\ntitle = \"c\"\n";
    let said = crate::common::parse(wrong).unwrap_err().to_string();
    let marks = said.split_once("known: ").and_then(|(_, rest)| rest.lines().next()).expect(&said);
    assert!(marks.starts_with("line, "), "{said}");
    let keys = include_str!("../../../../docs/keys.md");
    for mark in marks.split(", ") {
        assert!(page.contains(&format!("`{mark}`")), "docs/experiments.md has no row for the mark {mark}");
        assert!(keys.contains(&format!("\"{mark}\"")), "{mark} is not in the documentation of `mark`");
    }
}
