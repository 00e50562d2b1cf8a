//! Snapshots of help texts and error messages, in `snapshots/`. `just snapshots` shows the
//! differences and accepts them; CI only compares.

use std::fs;
use std::path::Path;
use std::process::Command;

/// Returns standard output or, after a failure, standard error with the exit status.
fn said(dir: &Path, args: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_ackclock")).args(args).current_dir(dir).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    match output.status.code() {
        Some(0) => text(&output.stdout),
        status => format!("{}exit status {}", text(&output.stderr), status.unwrap()),
    }
}

fn help(args: &[&str]) -> String {
    said(Path::new("."), &[args, &["--help"]].concat())
}

#[test]
fn help_of_every_command() {
    insta::assert_snapshot!("help", help(&[]));
    for command in [
        "run",
        "plan",
        "diff",
        "digest",
        "schema",
        "list",
        "algorithms",
        "report",
        "ledger",
        "stability",
        "new",
        "bench",
        "compare",
        "conform",
        "analyse",
        "replay",
        "completions",
        "man",
    ] {
        insta::assert_snapshot!(format!("help_{command}"), help(&[command]));
    }
}

#[cfg(wire)]
#[test]
fn help_of_the_wire() {
    for command in ["link", "doctor"] {
        insta::assert_snapshot!(format!("help_{command}"), help(&[command]));
    }
}

#[cfg(transfer)]
#[test]
fn help_of_file_transfer() {
    for command in ["serve", "fetch"] {
        insta::assert_snapshot!(format!("help_{command}"), help(&[command]));
    }
}

/// A file without mistakes.
const FILE: &str = r#"title = "a study"
source = "nobody"
duration = "10 s"

[link]
rate = "10 Mbit/s"
delay = "25 ms"
queue = "2 BDP"

[[flow]]
controller = { name = "cubic", beta = 0.7 }

[[claim]]
id = "c"
says = "something arrives"
metric = "goodput"
left = { min = ["*"] }
is = "at-least"
right = 1
"#;

/// Files with one mistake: name, correct text, and the wrong text that replaces it.
const MISTAKES: [(&str, &str, &str); 9] = [
    ("unknown_key", "queue = ", "queu = "),
    ("no_unit", "\"25 ms\"", "25"),
    ("unknown_unit", "10 Mbit/s", "10 Mbits"),
    ("not_a_size_of_a_queue", "2 BDP", "2 BPD"),
    ("parameter_out_of_range", "beta = 0.7", "beta = 2.0"),
    ("unknown_controller", "name = \"cubic\"", "name = \"cubik\""),
    ("missing_key", "rate = \"10 Mbit/s\"\n", ""),
    ("unknown_row", "min = [\"*\"]", "min = [\"reno\"]"),
    ("not_toml", "[[claim]]", "[[claim]"),
];

#[test]
fn mistakes_in_a_file() {
    for (name, right, wrong) in MISTAKES {
        assert!(FILE.contains(right), "{right}");
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("study.toml"), FILE.replacen(right, wrong, 1)).unwrap();
        insta::assert_snapshot!(format!("file_{name}"), said(dir.path(), &["run", "study.toml"]));
    }
}

#[test]
fn mistakes_on_the_command_line() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("study.toml"), FILE).unwrap();
    for (name, args) in [
        ("no_such_file", &["run", "stduy.toml"][..]),
        ("set_without_value", &["run", "study.toml", "--set", "link.rate"]),
        ("set_without_unit", &["run", "study.toml", "--set", "link.rate=20"]),
        ("set_unknown_key", &["run", "study.toml", "--set", "link.raet=20 Mbit/s"]),
        ("pcap_of_the_simulator", &["run", "study.toml", "--pcap"]),
        ("no_results", &["ledger", "."]),
        ("stability_without_rate", &["stability", "dccc", "--rtt", "100ms"]),
    ] {
        insta::assert_snapshot!(format!("line_{name}"), said(dir.path(), args));
    }
}

#[cfg(wire)]
#[test]
fn mistakes_in_a_link() {
    for (name, link) in [("no_unit", "rate=10"), ("unknown_key", "rate=10 Mbit/s dealy=5 ms")] {
        insta::assert_snapshot!(format!("link_{name}"), said(Path::new("."), &["link", link, "--", "true"]));
    }
}
