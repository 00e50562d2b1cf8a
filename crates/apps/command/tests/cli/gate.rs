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
    assert!(said.contains("x x: completion: a value before, none after, which breaks the rule"), "{said}");
    assert!(xml.contains("failure message=\"a value before, none after\""), "{xml}");
    assert_eq!(gate("goodput +5000 %", "never").0.0, 0, "a rule about another metric");
    let ((status, said), _) = gate("goodput -50 %", "renamed");
    assert_eq!(status, 1, "{said}");
}
