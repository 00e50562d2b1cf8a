//! Rules of `ackclock diff`: what they see, and what they cannot.

use std::fs;
use std::path::Path;

use crate::{ackclock, text};

/// A link whose runs differ by random losses, or not at all.
fn study(dir: &Path, link: &str) -> String {
    let file = dir.join("gate.toml");
    let text = format!(
        "title = \"gate\"\nduration = \"5 s\"\nrepetitions = 3\n[link]\nrate = \"10 Mbit/s\"\ndelay = \"10 ms\"\n\
         queue = \"1 BDP\"\n{link}\n[[flow]]\ncontroller = \"cubic\"\n[table]\nmetrics = [\"goodput\", \"rtt_mean\"]\n"
    );
    fs::write(&file, text).unwrap();
    file.to_str().unwrap().to_owned()
}

/// Runs the study into folders of these names, with more arguments each.
fn runs(dir: &Path, link: &str, folders: &[(&str, &[&str])]) {
    let file = study(dir, link);
    for (name, more) in folders {
        let out = dir.join(name);
        let done = ackclock(&[&["run", &file, "--out", out.to_str().unwrap()], *more].concat());
        assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
    }
}

/// Compares the folders `a` and `b`. Returns the exit status and the output.
fn diff(dir: &Path, b: &str, more: &[&str]) -> (i32, String) {
    let [a, b] = ["a", b].map(|name| dir.join(name).to_str().unwrap().to_owned());
    let done = ackclock(&[&["diff", &a, &b], more].concat());
    (done.status.code().unwrap(), text(&done.stdout) + &text(&done.stderr))
}

/// A gate fails if it would not see the change that it guards against, although nothing breaks it.
/// A rule that the runs can check passes, and so does every rule if nothing has changed.
#[test]
fn a_rule_that_is_too_fine_fails() {
    let dir = tempfile::tempdir().unwrap();
    let other: &[&str] = &["--set", "flow.controller.beta=0.69"];
    let folders = [("a", &[][..]), ("same", &[]), ("other", other), ("more", &["--repeat", "4"])];
    runs(dir.path(), "loss = \"0.2 %\"", &folders);
    let junit = dir.path().join("gate.xml");
    let junit = junit.to_str().unwrap();
    let fine = ["--fail-if", "goodput -0.01 %", "--junit", junit];
    let (status, said) = diff(dir.path(), "same", &fine);
    let equal = "(gate, cubic: 3 equal pairs of runs, so that nothing has changed)";
    assert!(status == 0 && said.starts_with("0 of ") && said.contains(equal), "{said}");

    let (status, said) = diff(dir.path(), "other", &fine);
    assert_eq!(status, 1, "{said}");
    assert!(said.contains(" run by run with the same seed\n"), "{said}");
    let words = "! \"goodput -0.01 %\" is too fine for 1 of 1 rows. gate, cubic: 3 pairs of runs show only a fall of ";
    assert!(said.contains(words), "{said}");
    let xml = fs::read_to_string(junit).unwrap();
    assert!(xml.contains("failures=\"1\"") && xml.contains("&quot;goodput -0.01 %&quot;"), "{xml}");
    let (_, markdown) = diff(dir.path(), "other", &["--fail-if", "goodput -0.01 %", "--markdown"]);
    assert!(markdown.contains("\n* ! \"goodput -0.01 %\" is too fine"), "{markdown}");

    let (status, said) = diff(dir.path(), "other", &["--fail-if", "goodput -99 %", "--junit", junit]);
    assert_eq!(status, 0, "{said}");
    assert!(said.contains("\"goodput -99 %\" sees a fall of "), "{said}");
    assert!(said.contains("or more, four times out of five (gate, cubic: 3 pairs of runs)"), "{said}");
    let xml = fs::read_to_string(junit).unwrap();
    let output = "<system-out>&quot;goodput -99 %&quot; sees";
    assert!(xml.contains("failures=\"0\"") && xml.contains(output), "{xml}");
    let (_, said) = diff(dir.path(), "other", &[]);
    assert!(said.contains("smallest change that every row shows four times out of five: goodput "), "{said}");

    let (_, said) = diff(dir.path(), "more", &["--fail-if", "goodput -99 %"]);
    assert!(said.contains("by their means, because their seeds differ\n"), "{said}");
    assert!(said.contains("(gate, cubic: 3 and 4 runs)"), "{said}");
}

/// Marks every row of a folder's summary as one without a valid run.
fn invalidate(folder: &Path) {
    let path = fs::read_dir(folder.join("gate")).unwrap().next().unwrap().unwrap().path();
    fs::remove_file(path.join("SHA256SUMS")).unwrap();
    let path = path.join("summary.json");
    let mut summary: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    let trust = serde_json::json!({ "valid": 0, "invalid": ["late", "late", "late"], "repeated": 0 });
    summary["variants"][0]["rows"][0]["trust"] = trust;
    fs::write(&path, summary.to_string()).unwrap();
}

/// Results whose summary is gone are no missing experiment: a gate that skips them would pass.
#[test]
fn results_without_a_summary_are_damaged() {
    let dir = tempfile::tempdir().unwrap();
    runs(dir.path(), "", &[("a", &[]), ("b", &[])]);
    let path = fs::read_dir(dir.path().join("b/gate")).unwrap().next().unwrap().unwrap().path();
    fs::remove_file(path.join("summary.json")).unwrap();
    let (status, said) = diff(dir.path(), "b", &["--fail-if", "goodput -5 %"]);
    assert!(status == 2 && said.contains("summary.json is missing"), "{said}");
    fs::remove_file(path.join("manifest.toml")).unwrap();
    let (status, said) = diff(dir.path(), "b", &["--fail-if", "goodput -5 %"]);
    assert!(status == 2 && said.contains("summary.json is missing"), "{said}");
}

/// A claim about a value that no run has is not judged, which is no success.
#[test]
fn a_claim_without_its_value_fails_the_run() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("late.toml");
    let text = "title = \"late\"\nduration = \"1 s\"\n[link]\nrate = \"10 Mbit/s\"\ndelay = \"20 ms\"\n\
        [[flow]]\ncontroller = \"cubic\"\ntransfer = \"10 MB\"\n[table]\nmetrics = [\"completion\"]\n\
        [[claim]]\nid = \"c\"\nsays = \"10 MB arrive within 2 s\"\nours = true\nmetric = \"completion\"\n\
        left = { max = [\"*\"] }\nis = \"at-most\"\nright = 2\n";
    fs::write(&file, text).unwrap();
    let run = |file: &Path| {
        let out = dir.path().join("out");
        ackclock(&["run", file.to_str().unwrap(), "--out", out.to_str().unwrap()])
    };
    let done = run(&file);
    let said = crate::text(&done.stdout);
    assert_eq!(done.status.code(), Some(1), "{said}");
    assert!(said.contains("1 claim fails or lacks a value, and has no recorded reason (marked !)"), "{said}");
    let reason = "reason = \"the run is too short\"\nmetric = \"completion\"";
    fs::write(&file, text.replace("metric = \"completion\"", reason)).unwrap();
    assert_eq!(run(&file).status.code(), Some(0));
}

/// No rule holds for a row without a valid run. It is named, also if there is no rule.
#[test]
fn rows_without_a_valid_run_are_not_compared() {
    let dir = tempfile::tempdir().unwrap();
    runs(dir.path(), "", &[("a", &[]), ("b", &[])]);
    invalidate(&dir.path().join("b"));
    let junit = dir.path().join("gate.xml");
    let junit = junit.to_str().unwrap();
    let rule = ["--fail-if", "goodput -99 %", "--junit", junit];
    let (status, said) = diff(dir.path(), "b", &rule);
    assert_eq!(status, 1, "{said}");
    assert!(said.contains("gate, cubic: no valid run after, not checked\n"), "{said}");
    assert!(said.starts_with("0 of 0 numbers in 1 experiment") && !said.contains("no table"), "{said}");
    let xml = fs::read_to_string(junit).unwrap();
    assert!(
        xml.contains("failures=\"1\"") && xml.contains("<failure message=\"no valid run after\">"),
        "{xml}"
    );
    let (status, said) = diff(dir.path(), "b", &["--markdown", "--junit", junit]);
    assert_eq!(status, 0, "{said}");
    assert!(said.contains("\n* gate, cubic: no valid run after, not compared\n"), "{said}");
    let xml = fs::read_to_string(junit).unwrap();
    assert!(
        xml.contains("failures=\"0\"") && xml.contains("<skipped message=\"no valid run after\">"),
        "{xml}"
    );
    let (status, said) = diff(dir.path(), "b", &["--fail-if", "goodput of other -3 %"]);
    assert!(status == 1 && said.contains("\"goodput of other -3 %\" was not checked"), "{said}");
    invalidate(&dir.path().join("a"));
    let (_, said) = diff(dir.path(), "b", &rule);
    assert!(said.contains("no valid run on either side, not checked"), "{said}");
}

/// A row whose flows could have a metric and have none on either side is not checked. Rows of other
/// kinds do not concern the rule.
#[test]
fn rows_without_a_metric_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("gate.toml");
    let text = "title = \"t\"\nduration = \"1 s\"\nlink = { rate = \"10 Mbit/s\", delay = \"9 ms\" }\n\
                [[flow]]\ncontroller = \"cubic\"\nlabel = \"g\"\n[[flow]]\ncontroller = \"cubic\"\n[vary]\n\
                x = [{ label = \"short\", set = { \"flow.transfer\" = \"100 kB\", \"flow.0.label\" = \"f\" } }, \
                { label = \"long\", set = { \"flow.transfer\" = \"1 GB\" } }, { label = \"bulk\", set = {} }]\n\
                [table]\nrows = \"x\"\nmetrics = [\"completion\", \"goodput\"]\n";
    fs::write(&file, text).unwrap();
    for folder in ["a", "b"] {
        let out = dir.path().join(folder);
        let done = ackclock(&["run", file.to_str().unwrap(), "--out", out.to_str().unwrap()]);
        assert_eq!(done.status.code(), Some(0), "{}", self::text(&done.stderr));
    }
    let (status, said) = diff(dir.path(), "b", &["--fail-if", "completion +50 %"]);
    assert_eq!(status, 1, "{said}");
    assert!(said.contains("gate, long: completion: no value on either side, not checked"), "{said}");
    assert!(!said.contains("bulk: completion") && !said.contains("short: completion"), "{said}");
    for rule in ["completion of f +50 %", "goodput of f -50 %", "goodput -50 %"] {
        assert_eq!(diff(dir.path(), "b", &["--fail-if", rule]).0, 0, "{rule}");
    }
}

/// Networks that differ explain more than a controller does, so their keys are named.
#[test]
fn other_networks_are_said() {
    let dir = tempfile::tempdir().unwrap();
    let beta: &[&str] = &["--set", "flow.controller.beta=0.5"];
    let other: &[&str] = &["--set", "link.delay=20 ms", "--set", "duration=4 s", "--set", "link.jitter=1 ms"];
    runs(dir.path(), "", &[("a", &[]), ("beta", beta), ("other", other)]);
    assert!(!diff(dir.path(), "beta", &[]).1.contains("the runs differ"));
    let (_, said) = diff(dir.path(), "other", &[]);
    let words = "the runs differ in more than their controllers: duration, flow.rtt, link.delay and 2 more\n";
    assert!(said.contains(words), "{said}");
}

/// A rule that no change could break guards nothing.
#[test]
fn a_fall_by_more_than_there_is_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    runs(dir.path(), "", &[("a", &[]), ("b", &[])]);
    let (status, said) = diff(dir.path(), "b", &["--fail-if", "goodput -100 Mbit/s"]);
    assert_eq!(status, 2, "{said}");
    assert!(said.contains("`goodput -100 Mbit/s` accepts every change: before, goodput is 9."), "{said}");
    assert_eq!(diff(dir.path(), "b", &["--fail-if", "goodput -3 Mbit/s"]).0, 0);
}

/// Without randomness every change is seen. A single run has no spread either, and that is said.
#[test]
fn runs_without_a_spread() {
    let dir = tempfile::tempdir().unwrap();
    let slower: &[&str] = &["--set", "link.rate=9.99 Mbit/s"];
    let single: &[&str] = &["--repeat", "1"];
    runs(dir.path(), "", &[("a", &[]), ("same", &[]), ("slower", slower), ("single", single)]);
    let rule = ["--fail-if", "goodput -0.01 %"];
    let (status, said) = diff(dir.path(), "same", &rule);
    assert_eq!(status, 0, "{said}");
    assert!(said.contains("\"goodput -0.01 %\" sees any fall, because its runs have no spread ("), "{said}");
    let (status, said) = diff(dir.path(), "slower", &rule);
    assert_eq!(status, 1, "{said}");
    assert!(said.contains("breaks \"goodput -0.01 %\""), "{said}");
    let (status, said) = diff(dir.path(), "single", &rule);
    assert_eq!(status, 0, "{said}");
    assert!(said.contains("by single runs, so that every difference counts\n"), "{said}");
    assert!(said.contains("sees every difference, because a side has a single run"), "{said}");
}

/// The differences of pairs vary less than the runs, because both runs of a pair lose the same
/// packets.
#[test]
fn pairs_see_more_than_means() {
    let dir = tempfile::tempdir().unwrap();
    let beta = "flow.controller.beta=0.69";
    let folders = [
        ("a", &["--repeat", "8"][..]),
        ("paired", &["--repeat", "8", "--set", beta]),
        ("unpaired", &["--repeat", "9", "--set", beta]),
    ];
    runs(dir.path(), "loss = \"0.2 %\"", &folders);
    let sees = |folder: &str| {
        let (_, said) = diff(dir.path(), folder, &["--fail-if", "goodput -50 %"]);
        let (_, size) = said.split_once("sees a fall of ").unwrap_or_else(|| panic!("{said}"));
        size.split(' ').next().unwrap().parse::<f64>().unwrap()
    };
    let (paired, unpaired) = (sees("paired"), sees("unpaired"));
    assert!(paired < unpaired / 2.0, "{paired} and {unpaired}");
}

#[test]
fn rules_need_numbers_and_units() {
    let dir = tempfile::tempdir().unwrap();
    for (rule, why) in [
        (
            "goodput -3",
            "write \"goodput -3 %\" for a relative change or \"goodput -3 Mbit/s\" for an absolute one",
        ),
        ("goodput -nan %", "`-nan %` is not a number"),
        ("goodput -inf %", "`-inf %` is not a number"),
        ("goodput -%", "`-%` is not a number"),
        ("goodput -1e308 %", "accepts every change"),
        ("goodput -100 %", "accepts every change"),
    ] {
        let (status, said) = diff(dir.path(), "b", &["--fail-if", rule]);
        assert!(status == 2 && said.contains(why), "{rule}: {said}");
    }
}

/// A transfer that no longer finishes has no completion time. That breaks a rule about it, and so
/// does an experiment that is gone.
#[test]
fn a_value_that_is_gone_breaks_its_rule() {
    let dir = tempfile::tempdir().unwrap();
    let never: &[&str] = &["--set", "flow.transfer=1 GB"];
    let text = |label: &str| {
        format!(
            "title = \"t\"\nduration = \"2 s\"\nlink = {{ rate = \"10 Mbit/s\", delay = \"9 ms\", queue = \"1 BDP\" }}\n\
             [[flow]]\ncontroller = \"cubic\"\nlabel = \"{label}\"\ntransfer = \"100 kB\"\n\
             [table]\nmetrics = [\"completion\", \"goodput\"]\n"
        )
    };
    for (folder, name, more) in [("a", "x", &[][..]), ("never", "x", never), ("renamed", "y", &[])] {
        let file = dir.path().join("x.toml");
        fs::write(&file, text(name)).unwrap();
        let out = dir.path().join(folder);
        let run = ["run", file.to_str().unwrap(), "--out", out.to_str().unwrap()];
        assert_eq!(ackclock(&[&run, more].concat()).status.code(), Some(0));
    }
    let junit = dir.path().join("gate.xml");
    let gate = |rule: &str, b: &str| {
        let found = diff(dir.path(), b, &["--fail-if", rule, "--junit", junit.to_str().unwrap()]);
        (found, fs::read_to_string(&junit).unwrap())
    };
    let ((status, said), xml) = gate("completion +50 %", "never");
    assert_eq!(status, 1, "{said}");
    assert!(said.contains("x, x: completion: a value before, none after, which breaks the rule"), "{said}");
    assert!(xml.contains("failure message=\"a value before, none after\""), "{xml}");
    assert_eq!(gate("goodput +5000 %", "never").0.0, 0, "a rule about another metric");
    fs::rename(dir.path().join("a"), dir.path().join("all")).unwrap();
    fs::rename(dir.path().join("never"), dir.path().join("a")).unwrap();
    let ((status, said), _) = gate("completion +50 %", "all");
    assert_eq!(status, 1, "{said}");
    assert!(said.contains("x, x: completion: a value after, none before, not checked\n"), "{said}");
    fs::rename(dir.path().join("a"), dir.path().join("never")).unwrap();
    fs::rename(dir.path().join("all"), dir.path().join("a")).unwrap();
    let ((status, said), _) = gate("goodput -50 %", "renamed");
    assert_eq!(status, 1, "{said}");
}
