//! `kneepoint schema`: every shipped experiment is what it says, what the reader refuses it refuses, and docs/keys.md is made from it.

use std::path::Path;

use experiment::file::Experiment;
use experiment::library::Library;
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

/// `BLESS=1` writes it.
#[test]
fn the_page_of_keys_is_made_from_it() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/keys.md");
    let made = schema::reference();
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &made).expect("docs/keys.md");
    }
    let page = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(
        page, made,
        "docs/keys.md is not what `kneepoint schema --markdown` prints; BLESS=1 writes it"
    );
}
