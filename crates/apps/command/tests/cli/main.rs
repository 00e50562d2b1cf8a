//! The command as a user sees it: output, exit statuses, and no half-written files.

mod compare;
mod figures;
mod folders;
mod gate;
mod limits;
mod replay;
mod stability;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn ackclock(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_ackclock")).args(args).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A small experiment: two rows, two seconds.
const SMALL: &str = r#"
title = "small"
source = "a test"
duration = "2 s"
repetitions = 2

[link]
rate = "10 Mbit/s"
delay = "10 ms"
queue = "1 BDP"
jitter = "1 ms"

[[flow]]

[vary]
"flow.controller" = ["cubic", "bbr2"]

[[claim]]
id = "c"
says = "something arrives"
metric = "goodput"
left = { min = ["*"] }
is = "at-least"
right = RIGHT

[[chart]]
mark = "line"
x = "rtt"
title = "RTT"
"#;

/// Writes the experiment to a file. Its claim demands at least this goodput.
fn small(dir: &Path, at_least: &str) -> String {
    let file = dir.join("small.toml");
    fs::write(&file, SMALL.replace("RIGHT", at_least)).unwrap();
    file.to_str().unwrap().to_owned()
}

/// Every file below a folder with its content, sorted by name.
fn tree(dir: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    let mut open = vec![dir.to_owned()];
    while let Some(d) = open.pop() {
        for entry in fs::read_dir(&d).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                let name = path.strip_prefix(dir).unwrap().to_str().unwrap().to_owned();
                files.push((name, fs::read(&path).unwrap()));
            }
        }
    }
    files.sort();
    files
}

/// An interrupted benchmark leaves nothing behind.
#[cfg(unix)]
#[test]
fn an_interrupted_bench() {
    let dir = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_ackclock"));
    command.args(["bench", "--tries", "999", "1 flow, a study"]).env("TMPDIR", dir.path());
    let bench = command.stderr(std::process::Stdio::piped()).spawn().unwrap();
    let files = || fs::read_dir(dir.path()).unwrap().count();
    while files() == 0 {
        std::thread::yield_now();
    }
    let interrupt = format!("kill -INT {}", bench.id());
    assert!(Command::new("sh").args(["-c", &interrupt]).status().unwrap().success());
    let ended = bench.wait_with_output().unwrap();
    assert_eq!((ended.status.code(), files()), (Some(130), 0), "{}", text(&ended.stderr));
    assert!(text(&ended.stderr).ends_with("ackclock: interrupted\n"));
}

/// Same seed, same bytes: on one thread and two, and again.
#[test]
fn same_bytes_on_any_number_of_threads() {
    let dir = tempfile::tempdir().unwrap();
    let file = small(dir.path(), "0.1");
    let run = |jobs: &str| {
        let out = dir.path().join("results");
        let done = ackclock(&["run", &file, "--qlog", "--jobs", jobs, "--out", out.to_str().unwrap()]);
        assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
        let files = tree(&out);
        fs::remove_dir_all(&out).unwrap();
        (files, done.stdout)
    };
    let first = run("1");
    for suffix in [
        "manifest.toml",
        "summary.json",
        "runs.csv",
        "series.parquet",
        "rtt_cdf.parquet",
        "index.html",
        ".sqlog",
        ".svg",
    ] {
        assert!(first.0.iter().any(|f| f.0.ends_with(suffix)), "no {suffix}");
    }
    assert!(first == run("2"), "two threads");
    assert!(first == run("1"), "again");
}

#[test]
fn another_seed_is_another_result() {
    let dir = tempfile::tempdir().unwrap();
    let file = small(dir.path(), "0.1");
    let out = dir.path().join("r");
    let run = |seed: &str| {
        let done = ackclock(&["run", &file, "--json", "--seed", seed, "--out", out.to_str().unwrap()]);
        let summaries: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
        assert_eq!(summaries[0]["experiment"], "small");
        text(&done.stdout)
    };
    assert_ne!(run("1"), run("2"));
    assert_eq!(run("7"), run("7"));
}

#[test]
fn exit_status_tells_whether_claims_hold() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("r");
    let out = out.to_str().unwrap();
    assert_eq!(ackclock(&["run", &small(dir.path(), "0.1"), "--out", out]).status.code(), Some(0));
    let missed = ackclock(&["run", "-vv", &small(dir.path(), "99"), "--out", out]);
    assert_eq!(missed.status.code(), Some(1));
    assert!(text(&missed.stdout).contains("  missed !"), "{}", text(&missed.stdout));
    assert!(
        text(&missed.stdout)
            .contains("1 fails, 0 not judged\n1 claim fails or lacks a value, and has no recorded")
    );
}

/// Each message names the flag or argument that is wrong, and says what to write.
#[test]
fn wrong_arguments_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let (file, out) = (small(dir.path(), "0.1"), dir.path().join("r"));
    let out = out.to_str().unwrap();
    assert!(ackclock(&["run", &file, "--out", out]).status.success());
    let folders = fs::read_dir(Path::new(out).join("small")).unwrap();
    let manifest =
        folders.map(|e| e.unwrap().path().join("manifest.toml")).find(|path| path.is_file()).unwrap();
    let link = "rate=1 Mbit/s rtt=5 ms";
    for (args, says) in [
        (&["run", &file, "--repeat", "0"][..], "'--repeat <REPEAT>': must be an integer between 1 and 10000"),
        (&["run", &file, "--seed", "-1"], "'--seed <SEED>': write an integer of at least 0"),
        (&["run", &file, "--controller", "{ name = 'cubic'"], "invalid TOML table; write it like"),
        (
            &["run", manifest.to_str().unwrap()],
            "manifest.toml: a manifest of results, not an experiment; name the",
        ),
        (&["run", &file, "--stack", "noq"], "--stack: requires --on stack, --on wire or --on kernel"),
        (&["run", &file, "--on", "stack", "--stack", "ngtcp2"], "--stack ngtcp2: needs --on wire"),
        (
            &["compare", "cubic", "bbr", "--link", link, "--repeat", "0"],
            "'--repeat <REPEAT>': must be an integer between",
        ),
        (&["compare", "cubic", "bbr", "--link", "rate=20 rtt=5 ms"], "--link: rate: `20` has no unit"),
        (
            &["compare", "cubic", "bbr", "--link", ""],
            "--link \"\": not a link, a network or an experiment; `ackclock networks` lists the networks; or write a link like",
        ),
        (
            &["compare", "cubic", "bbr", "--link", link, "--vary", "queue=0.1..8"],
            "--vary: queue: `0.1` has no unit; write \"4 BDP\"",
        ),
        (
            &["compare", "cubic", "bbr", "--link", link, "--vary", "colour=1..2"],
            "--vary: colour: unknown key",
        ),
        (
            &["compare", "cubic", "bbr", "--link", "rate=20 Mbit/s"],
            "--link: the base RTT is 0; give the link a `delay`",
        ),
        (&["compare", "cubic", "bbr beta=2"], "for parameters write '{ name = \"bbr3\", beta = 2 }'"),
        (&["link", "--overhead", "x"], "'--overhead <BYTES>': must be an integer between 0 and 1000"),
        (
            &["run", "quic-dc/table-1", "--controller", "bbr3", "--controller", "bbr3"],
            "--controller bbr3: `bbr3` is given twice; remove one, or label it",
        ),
        (&["compare", "cubic", "bbr", "--link", link, "--flow", "rtt=5"], "--flow: rtt: `5` has no unit"),
        (&["bench", "--tries", "0"], "'--tries <TRIES>': write a number of at least 1"),
        (&["bench", "--tries", "x"], "'--tries <TRIES>': write a number of at least 1"),
        (&["man", "nosuch"], "unknown command `nosuch`; `ackclock help` lists all commands"),
        (&["man", "rnu"], "unknown command `rnu`; did you mean \"run\"? `ackclock help` lists"),
        (
            &["ledger", "--columns=foo", out],
            "--columns=foo: unknown metric `foo`; docs/src/reference/metrics.md",
        ),
        (&["ledger", dir.path().join("none").to_str().unwrap()], "no such folder; give a folder written by"),
    ] {
        let done = ackclock(args);
        assert_eq!(done.status.code(), Some(2), "{args:?}: {}", text(&done.stdout));
        assert!(text(&done.stderr).contains(says), "{args:?}: {}", text(&done.stderr));
    }
    // The claim of this file belongs to a source, so the folder is in the ledger.
    assert!(ackclock(&["ledger", out]).status.success());
}

/// `--json` names the results folder of each experiment.
#[test]
fn json_names_the_results_folder() {
    let dir = tempfile::tempdir().unwrap();
    let (file, out) = (small(dir.path(), "0.1"), dir.path().join("r"));
    let done = ackclock(&["run", &file, "--json", "--out", out.to_str().unwrap()]);
    let json: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    check_stored(&json[0], "small");
}

fn check_stored(json: &serde_json::Value, experiment: &str) {
    assert_eq!(json["experiment"], experiment, "{json}");
    let path = Path::new(json["path"].as_str().unwrap());
    assert!(path.join("summary.json").is_file(), "{json}");
    assert_eq!(json["id"], path.file_name().unwrap().to_str().unwrap(), "{json}");
}

/// Batch systems pass an unset number of processors as an empty value.
#[test]
fn empty_jobs_are_not_given() {
    let dir = tempfile::tempdir().unwrap();
    let (file, out) = (small(dir.path(), "0.1"), dir.path().join("r"));
    let done = ackclock(&["run", &file, "--jobs", "", "--out", out.to_str().unwrap()]);
    assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
    let wrong = ackclock(&["run", &file, "--jobs", "many"]);
    assert!(text(&wrong.stderr).contains("`many` is not a number of jobs"), "{}", text(&wrong.stderr));
}

/// Bad input ends with status 2 and a message, and leaves no results folder.
#[test]
fn bad_input_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("r");
    let out_text = out.to_str().unwrap();
    let file = small(dir.path(), "0.1");
    let empty = dir.path().join("empty");
    fs::create_dir(&empty).unwrap();
    for (args, words) in [
        (vec!["run", "quic-cd"], "quic-dc"),
        (vec!["run", empty.to_str().unwrap()], "contains no experiments"),
        (vec!["run", &file, "--set", "link.quue=1 BDP"], "did you mean \"queue\""),
        (vec!["run", &file, "--set", "link.rate=-3 Mbit/s"], "negative"),
        (vec!["run", &file, "--set", "link.rate"], "no value"),
        (vec!["run", &file, "--set", "link.rate=99999999 Gbit/s"], "at most 10000 Gbit/s"),
        (
            vec!["run", &file, "--set", "flow.recovery={packet-threshold='off', time-threshold='off'}"],
            "no loss would ever",
        ),
        (vec!["run", "reference/linux-1bdp", "--set", "flow.ack.ack-every=0"], "at least 1"),
        (vec!["run", "quic-dc/table-1", "--set", "flow.ack.timestamps=0"], "receive times"),
        (vec!["run", "quic-dc/table-1", "--set", "flow.transport=tcp"], "`stack` applies to QUIC only"),
        (vec!["run", "quic-dc/figure-5", "--set", "flow.transport=tcp"], "receive times"),
        (vec!["run", &file, "--repeat", "0"], "must be an integer between 1 and 10000"),
        (vec!["run", &file, "--jobs", "0"], "--jobs 0: must be at least 1"),
        (vec!["run", &file, "--on", "mars"], "sim"),
        (vec!["algorithms", "cubik"], "cubic"),
        (vec!["report", out_text], "r"),
    ] {
        let args: Vec<&str> =
            if args[0] == "run" { [&args[..], &["--out", out_text]].concat() } else { args };
        let refused = ackclock(&args);
        let said = text(&refused.stderr);
        assert_eq!(refused.status.code(), Some(2), "{args:?}: {said}");
        assert!(said.contains(words), "{args:?}: {said}");
        assert!(!out.exists(), "{args:?} left {out_text}");
    }
}

/// A results folder that cannot be written gives a clear error, and nothing is left.
#[test]
fn unwritable_results() {
    let dir = tempfile::tempdir().unwrap();
    let blocked = dir.path().join("file");
    fs::write(&blocked, "in the way").unwrap();
    let out = blocked.join("results");
    let refused = ackclock(&["run", &small(dir.path(), "0.1"), "--out", out.to_str().unwrap()]);
    assert_eq!(refused.status.code(), Some(2));
    let said = text(&refused.stderr);
    assert!(said.contains("cannot write results") && said.contains("--out"), "{said}");
    assert_eq!(fs::read_to_string(&blocked).unwrap(), "in the way");
}

/// On a changed network the file's claims and published numbers do not apply. With another seed
/// they do.
#[test]
fn a_changed_network_is_not_judged() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("r");
    let run = |args: &[&str]| {
        let file = small(dir.path(), "99");
        let all = [&["run", "-vv", &file, "--out", out.to_str().unwrap()], args].concat();
        let done = ackclock(&all);
        (done.status.code(), text(&done.stdout))
    };
    assert_eq!(run(&["--seed", "3"]).0, Some(1));
    let (status, said) = run(&["--set", "link.rate=20 Mbit/s"]);
    assert_eq!(status, Some(0));
    assert!(said.contains("Changed: link.rate = 20 Mbit/s") && !said.contains("missed"), "{said}");
    let (status, said) = run(&["--set", "link.rate=20 Mbit/s", "--keep-published"]);
    assert_eq!(status, Some(1));
    assert!(said.contains("are those of the unchanged file") && said.contains("missed"), "{said}");
}

/// Several programs that run one study at once all succeed, and leave one complete folder.
#[test]
fn runs_at_the_same_time() {
    let dir = tempfile::tempdir().unwrap();
    let (file, out) = (small(dir.path(), "0.1"), dir.path().join("r"));
    let start = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ackclock"));
        command.args(["run", &file, "--jobs", "1", "--out", out.to_str().unwrap()]);
        command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::piped()).spawn().unwrap()
    };
    let running: Vec<_> = (0..6).map(|_| start()).collect();
    for child in running {
        let done = child.wait_with_output().unwrap();
        assert!(done.status.success(), "{}", text(&done.stderr));
    }
    let folders: Vec<_> = fs::read_dir(out.join("small")).unwrap().map(|e| e.unwrap().path()).collect();
    assert_eq!(folders.len(), 1, "{folders:?}");
    assert!(folders[0].join("summary.json").is_file() && folders[0].join("series.parquet").is_file());
}

#[test]
fn lists_and_explains() {
    let list = text(&ackclock(&["list"]).stdout);
    for name in ["quic-dc/table-1", "quic-dc/figure-5", "reference/linux-1bdp"] {
        assert!(list.contains(name), "{list}");
    }
    let index = text(&ackclock(&["algorithms"]).stdout);
    for algorithm in congestion::Algorithm::all() {
        assert!(index.contains(&format!("{} ", algorithm.name())));
        let all = text(&ackclock(&["algorithms", algorithm.name()]).stdout);
        for param in algorithm.docs() {
            assert!(
                !param.doc.trim().is_empty() && all.contains(&param.name.replace('_', "-")),
                "{}",
                param.name
            );
        }
        let words = all.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(&algorithm.states().join(", ")), "{all}");
        // Lines can break after a hyphen.
        let letters = |text: &str| text.split_whitespace().collect::<String>();
        for variable in algorithm.variables() {
            let words = [variable.unit, if variable.always { "" } else { "later" }];
            let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
            let unit = if words.is_empty() { String::new() } else { format!(" ({})", words.join(", ")) };
            let item = format!("{}{unit}: {}", variable.name, variable.doc);
            assert!(letters(&all).contains(&letters(&item)), "{item}: {all}");
        }
    }
}

/// The report can be rebuilt from the folders alone.
#[test]
fn report_from_folders() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("r");
    assert!(ackclock(&["run", &small(dir.path(), "0.1"), "--out", out.to_str().unwrap()]).status.success());
    let again = dir.path().join("again");
    let done = ackclock(&["report", out.to_str().unwrap(), "--out", again.to_str().unwrap()]);
    assert!(done.status.success(), "{}", text(&done.stderr));
    assert!(fs::read_to_string(again.join("index.html")).unwrap().contains("small"));
}

/// The message about a damaged results folder names the file.
#[test]
fn broken_results_name_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let (file, out) = (small(dir.path(), "1"), dir.path().join("out"));
    let out = out.to_str().unwrap();
    assert!(ackclock(&["run", &file, "--out", out]).status.success());
    for name in ["summary.json", "series.parquet", "flows.parquet", "rtt_cdf.parquet"] {
        let path = Path::new(out)
            .join(tree(Path::new(out)).iter().find(|f| f.0.ends_with(name)).unwrap().0.as_str());
        let whole = fs::read(&path).unwrap();
        fs::write(&path, &whole[..whole.len() / 2]).unwrap();
        let done = ackclock(&["ledger", out]);
        assert_eq!(done.status.code(), Some(2));
        assert!(
            text(&done.stderr)
                .contains(&format!("damaged results: {name} does not match its checksum in SHA256SUMS; ")),
            "{}",
            text(&done.stderr)
        );
        fs::write(&path, whole).unwrap();
    }
}

/// An experiment counts once, by its newest results, however many folders have it.
#[test]
fn an_experiment_of_two_folders_counts_once() {
    let dir = tempfile::tempdir().unwrap();
    let file = small(dir.path(), "0.1");
    let [first, second] = ["first", "second"].map(|out| dir.path().join(out).to_str().unwrap().to_owned());
    for out in [&first, &second] {
        assert!(ackclock(&["run", &file, "--out", out]).status.success());
    }
    let once = text(&ackclock(&["ledger", &second]).stdout);
    assert!(once.contains(": 1 experiment\n  1 claim: 1 holds, "), "{once}");
    for dirs in [[&first, &second], [&second, &first]] {
        let both = ackclock(&["ledger", dirs[0], dirs[1]]);
        assert_eq!(text(&both.stdout), once);
        let said = text(&both.stderr);
        assert!(said.contains(&format!("{first}/small/")) && said.contains(": left out; "), "{said}");
    }
    assert_eq!(text(&ackclock(&["ledger", &second, &second]).stderr), "");
}

/// The index has a line for complete results, results without checksums, damaged ones, and an
/// unfinished study, also as JSON.
#[test]
fn index_of_a_results_root() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out");
    let index = |more: &[&str]| {
        let done = ackclock(&[&["list", "--results", out.to_str().unwrap()], more].concat());
        (text(&done.stdout), done.status.code())
    };
    let run = |at_least: &str, more: &[&str]| {
        let file = small(dir.path(), at_least);
        ackclock(&[&["run", &file, "--out", out.to_str().unwrap()], more].concat());
    };
    run("0.1", &[]);
    let (said, status) = index(&[]);
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!((status, lines.len()), (Some(0), 4), "{said}");
    assert!(lines.iter().all(|line| line.chars().count() <= 80), "{said}");
    let words: Vec<&str> = lines[1].split_whitespace().collect();
    assert_eq!((words[0], words[2], words[4], words[5]), ("small", "sim", "4", "1/0/0"), "{said}");
    assert!(
        lines[1].ends_with(" whole") && lines[3].starts_with("1 complete with matching checksums; "),
        "{said}"
    );

    run("99", &["--repeat", "1"]);
    fs::create_dir(out.join("small/.runs-0123456789ab")).unwrap();
    fs::write(out.join("small/.runs-0123456789ab/00003.run"), "x").unwrap();
    let json: serde_json::Value = serde_json::from_str(&index(&["--json"]).0).unwrap();
    let all = json.as_array().unwrap();
    let one = |state: &str, runs: u64| {
        all.iter()
            .find(|line| line["state"] == state && line["runs"] == runs)
            .unwrap_or_else(|| panic!("{json}"))
    };
    let missed = one("whole", 2);
    assert_eq!((&missed["claims"]["missed"], &missed["claims"]["open"]), (&1.into(), &1.into()));
    assert_eq!((&missed["repetitions"], &missed["on"]), (&1.into(), &"sim".into()));
    assert_eq!(one("partial", 1)["id"], "0123456789ab");
    let path = Path::new(missed["path"].as_str().unwrap()).to_owned();
    let bytes: usize = tree(&path).iter().filter(|f| !f.0.ends_with("SHA256SUMS")).map(|f| f.1.len()).sum();
    assert_eq!(missed["bytes"], bytes);

    let other = one("whole", 4)["path"].as_str().unwrap().to_owned();
    fs::remove_file(path.join("SHA256SUMS")).unwrap();
    fs::write(Path::new(&other).join("flows.parquet"), "x").unwrap();
    let (said, status) = index(&[]);
    assert_eq!(status, Some(1), "{said}");
    assert!(said.contains(" damaged: flows.parquet") && said.contains(" no-sums"), "{said}");
    let alone = dir.path().join("alone");
    fs::create_dir_all(alone.join("small")).unwrap();
    fs::rename(&path, alone.join("small/x")).unwrap();
    let ledger = ackclock(&["ledger", alone.to_str().unwrap()]);
    let warning = "no SHA256SUMS, so it is unknown whether its numbers were changed";
    let complaint = String::from_utf8_lossy(&ledger.stderr).into_owned();
    assert!(ledger.status.success() && complaint.contains(warning), "{complaint}");
    fs::rename(alone.join("small/x"), &path).unwrap();
    let states = "1 without checksums, from an older version, 1 damaged, 1 unfinished; ";
    assert!(said.contains(states), "{said}");
    assert!(
        said.replace("\n  ", " ")
            .contains("flows.parquet does not match its checksum in SHA256SUMS; run the experiment"),
        "{said}"
    );
    assert!(said.lines().all(|line| line.chars().count() <= 80), "{said}");
    fs::remove_file(path.join("summary.json")).unwrap();
    assert!(index(&["--json"]).0.contains("\"problem\": \"summary.json is missing\""));
    let nothing = ackclock(&["list", "--results", dir.path().join("none").to_str().unwrap()]);
    assert_eq!(nothing.status.code(), Some(2));
}

/// A single run has no spread, and every judgement says so.
#[test]
fn one_run_has_no_spread() {
    let dir = tempfile::tempdir().unwrap();
    let (file, out) = (small(dir.path(), "1"), dir.path().join("out"));
    let run = |more: &[&str]| {
        let done = ackclock(&[&["run", "-vv", &file, "--out", out.to_str().unwrap()][..], more].concat());
        (text(&done.stdout), done.status.success())
    };
    let (twice, once) = (run(&[]).0, run(&["--repeat", "1"]).0);
    assert!(once.contains(", one run: no spread"), "{once}");
    assert!(!twice.contains("of one run"), "{twice}");
    let json: serde_json::Value = serde_json::from_str(&run(&["--repeat", "1", "--json"]).0).unwrap();
    let judged = &json[0]["claims"][0]["parts"][0]["variants"][0];
    assert_eq!((&judged["one_run"], &judged["spread"]), (&true.into(), &serde_json::Value::Null));
}

/// Two sets of results: changes beyond the spread between runs, for people and for CI.
#[test]
fn differences_between_two_results() {
    let dir = tempfile::tempdir().unwrap();
    let out = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let file = small(dir.path(), "0.01");
    for (name, more) in [("a", &[][..]), ("same", &[]), ("b", &["--set", "link.rate=9 Mbit/s"])] {
        let done = ackclock(&[&["run", &file, "--out", &out(name)], more].concat());
        assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
    }
    let same = ackclock(&["diff", &out("a"), &out("same"), "--fail-if", "goodput -1 %"]);
    assert_eq!(same.status.code(), Some(0));
    assert!(text(&same.stdout).starts_with("0 of "), "{}", text(&same.stdout));

    let unused = ackclock(&["diff", &out("a"), &out("same"), "--fail-if", "udp_throughput -1 %"]);
    assert_eq!(unused.status.code(), Some(1), "a rule that was not checked must not pass");
    let said = text(&unused.stdout);
    assert!(said.contains("\"udp_throughput -1 %\" was not checked: no table in both results"), "{said}");
    let unclear = ackclock(&["diff", &out("a"), &out("same"), "--fail-if", "goodput -3"]);
    let said = text(&unclear.stderr);
    assert!(unclear.status.code() == Some(2) && said.contains("\"goodput -3 Mbit/s\""), "{said}");

    let xml = out("out.xml");
    let rules = ["--fail-if", "goodput -3 %", "--fail-if", "rtt_mean +200 %", "--junit", &xml];
    let diff = ackclock(&[&["diff", &out("a"), &out("b")], &rules[..]].concat());
    let said = text(&diff.stdout);
    assert_eq!(diff.status.code(), Some(1), "{said}");
    assert!(
        said.contains("! small, cubic\n    goodput ") && said.contains("breaks \"goodput -3 %\""),
        "{said}"
    );
    assert!(said.contains("2 of them break a rule"), "{said}");
    let xml = fs::read_to_string(&xml).unwrap();
    assert!(xml.contains("failures=\"2\"") && xml.contains("cubic, goodput"), "{xml}");
    let cases: Vec<&str> = xml.matches("<testcase name=\"cubic, ").collect();
    let about = |metric: &str| xml.matches(&format!("<testcase name=\"cubic, {metric}\"")).count();
    assert_eq!(
        (cases.len(), about("goodput"), about("rtt_mean")),
        (2, 1, 1),
        "the metrics of the rules: {xml}"
    );

    // The same study from another folder, by another name.
    let elsewhere = dir.path().join("folder");
    fs::create_dir(&elsewhere).unwrap();
    fs::copy(&file, elsewhere.join("other.toml")).unwrap();
    for (file, name) in [("folder/other.toml", "named"), ("small.toml", "plain")] {
        let mut run = Command::new(env!("CARGO_BIN_EXE_ackclock"));
        assert!(run.args(["run", file, "--out", name]).current_dir(dir.path()).status().unwrap().success());
    }
    let moved = ackclock(&["diff", &out("plain"), &out("named"), "--fail-if", "goodput -1 %"]);
    let said = text(&moved.stdout);
    assert!(moved.status.success() && said.contains("small is called folder/other in "), "{said}");
    assert!(said.starts_with("0 of ") && said.contains(" in 1 experiment changed"), "{said}");

    let markdown = text(&ackclock(&["diff", &out("a"), &out("b"), "--markdown"]).stdout);
    assert!(markdown.contains("| small, cubic | goodput Mbit/s |"), "{markdown}");
    let wrong = ackclock(&["diff", &out("a"), &out("nowhere")]);
    assert_eq!(wrong.status.code(), Some(2));
}

/// Returns the names in the qlog folder of the only results below `out`, without the file of
/// checksums.
fn qlogs(out: &Path) -> Vec<String> {
    let names = tree(out).into_iter().filter_map(|file| Some(file.0.split_once("/qlog/")?.1.to_owned()));
    names.filter(|name| name != "XXH128SUMS").collect()
}

/// Labels that give the same file name, and one that is longer than a file name may be.
#[test]
fn every_flow_has_its_qlog() {
    let dir = tempfile::tempdir().unwrap();
    let long = "l".repeat(300);
    let row = |label: &str| format!("{{ label = \"{label}\", set = {{ \"flow.controller\" = \"cubic\" }} }}");
    let rows = ["a/b", "a?b", &long].map(row).join(", ");
    let file = dir.path().join("labels.toml");
    let small = SMALL.replace("\"flow.controller\" = [\"cubic\", \"bbr2\"]", &format!("setting = [{rows}]"));
    fs::write(&file, small.replace("RIGHT", "0.1")).unwrap();
    for (flag, end) in [("--qlog", ".sqlog"), ("--qlog=current,gzip", ".sqlog.gz")] {
        let out = dir.path().join(end);
        let done = ackclock(&["run", file.to_str().unwrap(), flag, "--out", out.to_str().unwrap()]);
        assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
        let names = qlogs(&out);
        // Three rows, two runs each, both ends.
        assert_eq!(names.len(), 12, "{names:?}");
        assert!(names.contains(&format!("a_b~1--run1--flow0-receiver{end}")), "{names:?}");
        assert!(names.iter().all(|name| name.ends_with(end)), "{names:?}");
    }
}

/// The size of the files is announced, and too much is refused.
#[test]
fn qlogs_are_announced() {
    let dir = tempfile::tempdir().unwrap();
    let file = small(dir.path(), "0.1");
    let out = dir.path().join("r");
    let run = |more: &[&str]| {
        let done = ackclock(&[&["run", &file, "--out", out.to_str().unwrap()], more].concat());
        (done.status.code(), text(&done.stderr))
    };
    // 2 s of 10 Mbit/s, four times, in packets of 1294 bytes.
    assert_eq!(run(&["--qlog"]), (Some(0), "ackclock: --qlog will write about 7.5 MB\n".to_owned()));
    let written: usize = tree(&out).iter().filter(|f| f.0.ends_with(".sqlog")).map(|f| f.1.len()).sum();
    assert!((3_500_000..8_000_000).contains(&written), "{written}");
    fs::remove_dir_all(&out).unwrap();

    let (code, refusal) = run(&["--qlog", "--set", "link.rate=40Gbit/s"]);
    assert_eq!(code, Some(2));
    let words = "--qlog would take about 30 GB of disk, more than the limit of 10 GB; allow it with --max-disk 30GB, or compress the files to about a tenth with --qlog=gzip";
    assert!(refusal.contains(words), "{refusal}");
    assert!(!out.exists());
    let (code, refusal) = run(&["--qlog=gzip", "--max-disk", "100kB"]);
    assert!(code == Some(2) && refusal.contains("of disk, more than the limit of 100 kB"), "{refusal}");
    assert_eq!(run(&["--qlog=gzip", "--max-disk", "900 kB"]).0, Some(0));
    for (flags, why) in [
        (&["--qlog=0.4"][..], "unknown qlog format `0.4`; known: 0.3, current, gzip"),
        (&["--qlog", "--max-disk", "5"][..], "has no unit"),
    ] {
        let (code, words) = run(flags);
        assert!(code == Some(2) && words.contains(why), "{words}");
    }
}
