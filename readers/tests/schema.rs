//! Validates experiment files against `ackclock schema` with the crate `jsonschema`. Every shipped
//! experiment is valid, and the schema refuses files that the program refuses.

mod common;

use std::path::{Path, PathBuf};

use jsonschema::Validator;
use serde_json::Value;

fn validator() -> Option<Validator> {
    let program = common::program()?;
    let schema: Value = serde_json::from_str(&common::run(&program, &["schema"])).expect("JSON");
    Some(jsonschema::validator_for(&schema).expect("a schema"))
}

fn json(toml: &str) -> Value {
    serde_json::to_value(toml.parse::<toml::Table>().expect("TOML")).expect("JSON")
}

fn assert_valid(validator: &Validator, file: &Value, name: &str) {
    let errors: Vec<String> =
        validator.iter_errors(file).map(|e| format!("{}: {e}", e.instance_path())).collect();
    assert!(errors.is_empty(), "{name}: {}", errors.join("\n"));
}

/// Returns the `.toml` files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    let below = |path: PathBuf| if path.is_dir() { files(&path) } else { vec![path] };
    entries.flat_map(below).filter(|path| path.extension().is_some_and(|end| end == "toml")).collect()
}

#[test]
fn shipped_experiments_are_valid() {
    let Some(validator) = validator() else { return };
    let shipped = files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/lab/experiment/experiments"));
    for path in &shipped {
        let text = std::fs::read_to_string(path).expect("a file");
        assert_valid(&validator, &json(&text), &path.display().to_string());
    }
    assert!(shipped.len() > 80, "{} files", shipped.len());
}

/// The resolved runs of a manifest are experiment files too.
#[test]
fn resolved_runs_are_valid() {
    let (Some(validator), Some(program)) = (validator(), common::program()) else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().to_str().expect("UTF-8");
    let experiments = [common::ROUGH, "dccc/figure-11", "thesis/figure-29"];
    common::run(&program, &[&["run"], &experiments[..], &["--repeat", "1", "--out", out]].concat());
    let manifests = files(folder.path());
    assert_eq!(manifests.len(), experiments.len());
    for path in manifests {
        let manifest = json(&std::fs::read_to_string(&path).expect("a manifest"));
        let cases = manifest["case"].as_array().expect("cases");
        assert!(!cases.is_empty());
        cases.iter().for_each(|case| assert_valid(&validator, &case["spec"], &path.display().to_string()));
    }
}

#[test]
fn mistakes_are_found() {
    let Some(validator) = validator() else { return };
    let plain = |link: &str, flow: &str| {
        json(&format!(
            "title = \"t\"\nsource = \"s\"\nduration = \"1 s\"\n[link]\nrate = \"1 Mbit/s\"\n{link}\n[[flow]]\n{flow}"
        ))
    };
    assert!(validator.is_valid(&plain("delay = \"1 ms\"", "controller = \"cubic\"")));
    for (link, flow) in [
        ("rat = \"1 ms\"", "controller = \"cubic\""),
        ("delay = 5", "controller = \"cubic\""),
        // A unit of another quantity, and no unit.
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

/// The schema accepts each unit that the program accepts, for its own quantity and no other.
#[test]
fn units_are_those_of_the_readers() {
    let Some(validator) = validator() else { return };
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
