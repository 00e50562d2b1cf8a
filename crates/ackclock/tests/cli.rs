//! The command as a user sees it: output, exit statuses, and no half-written files.

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
    assert!(text(&missed.stdout).contains("1 fails, 0 not judged\n1 failing claim has no recorded"));
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
        (&["run", &file, "--repeat", "0"][..], "'--repeat <REPEAT>': must be between 1 and 10000"),
        (&["run", &file, "--seed", "-1"], "'--seed <SEED>': write an integer of at least 0"),
        (&["run", &file, "--controller", "{ name = 'cubic'"], "invalid TOML table; write it like"),
        (
            &["run", manifest.to_str().unwrap()],
            "manifest.toml: a manifest of results, not an experiment; name the",
        ),
        (&["run", &file, "--stack", "noq"], "--stack: requires --on stack or --on wire"),
        (&["run", &file, "--on", "stack", "--stack", "ngtcp2"], "--stack ngtcp2: needs --on wire"),
        (
            &["compare", "cubic", "bbr", "--link", link, "--repeat", "0"],
            "'--repeat <REPEAT>': must be between",
        ),
        (&["compare", "cubic", "bbr", "--link", "rate=20 rtt=5 ms"], "--link: rate: `20` has no unit"),
        (
            &["compare", "cubic", "bbr", "--link", ""],
            "--link \"\": not a link or an experiment; write a link like",
        ),
        (
            &["compare", "cubic", "bbr", "--link", link, "--vary", "queue=0.1..8"],
            "--vary \"queue=0.1..8\": no unit",
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
        (vec!["run", &file, "--set", "link.rate=99999999 Gbit/s"], "at most 1000 Gbit/s"),
        (
            vec!["run", &file, "--set", "flow.recovery={packet-threshold='off', time-threshold='off'}"],
            "no loss would ever",
        ),
        (vec!["run", "reference/linux-1bdp", "--set", "flow.ack.ack-every=0"], "at least 1"),
        (vec!["run", "quic-dc/table-1", "--set", "flow.ack.timestamps=0"], "receive times"),
        (vec!["run", "quic-dc/table-1", "--set", "flow.transport=tcp"], "`stack` applies to QUIC only"),
        (vec!["run", "quic-dc/figure-5", "--set", "flow.transport=tcp"], "receive times"),
        (vec!["run", &file, "--repeat", "0"], "must be between 1 and 10000"),
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
            let unit =
                if variable.always { variable.unit.to_owned() } else { format!("{}, later", variable.unit) };
            let unit = if unit.is_empty() { unit } else { format!(" ({unit})") };
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

/// The index has a line for complete results, results without checksums, damaged ones, and an
/// unfinished study, also as JSON.
#[test]
fn index_of_a_results_root() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out");
    let index = |more: &[&str]| {
        let done = ackclock(&[&["index", out.to_str().unwrap()], more].concat());
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
    let nothing = ackclock(&["index", dir.path().join("none").to_str().unwrap()]);
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

/// The margins of the paper's own example, its page, and the numbers behind it.
#[test]
fn stability_of_dccc() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("s");
    let run = |more: &[&str]| {
        let asked = ["stability", "dccc", "--rate", "1Mbit/s", "--out", out.to_str().unwrap()];
        let done = ackclock(&[&asked[..], more].concat());
        assert!(done.status.success(), "{}", text(&done.stderr));
        text(&done.stdout)
    };
    let table = run(&["--rtt", "100ms"]);
    for words in ["poles at 0 and −0.08000 rad/s", "3.804 (11.6 dB)", "242.7", "1.537", "0.9566", "stable"]
    {
        assert!(table.contains(words), "{words}: {table}");
    }
    let files: Vec<String> = tree(&out).into_iter().map(|f| f.0).collect();
    assert_eq!(files, ["bode.svg", "index.html", "nyquist.svg", "response.csv"]);
    let json = |more: &[&str]| serde_json::from_str::<serde_json::Value>(&run(more)).unwrap();
    let rest = json(&["--base-rtt", "50ms", "--threshold", "100ms", "--json"]);
    assert_eq!((&rest["setting"]["rtt"], &rest["sampled"]["closed-poles"]), (&"156.25 ms".into(), &0.into()));
    let asked = "--base-rtt 50ms --simulate 30s --start 0s --start 5s --json";
    let simulated = json(&asked.split(' ').collect::<Vec<_>>());
    for model in ["fluid-end", "packets-end"] {
        let delay = simulated["simulation"][model]["delay-ms"].as_f64().unwrap();
        assert!((delay / 131.25 - 1.0).abs() < 0.05, "{model}: {delay}");
    }
    assert!(out.join("fluid-and-packets.svg").exists());
    let wild = json(&["--rtt", "100ms", "--gain", "1.2", "--json"]);
    assert_eq!(
        (&wild["continuous"]["closed-poles"], &wild["sampled"]["closed-poles"]),
        (&0.into(), &2.into())
    );
}

/// Prints the analysis of dccc with these arguments, and writes its files to `out`.
fn analysed(out: &Path, more: &[&str]) -> String {
    let done = ackclock(&[&["stability", "dccc", "--out", out.to_str().unwrap()][..], more].concat());
    assert!(done.status.success(), "{}", text(&done.stderr));
    text(&done.stdout)
}

/// A network from a file: on the terminal, as JSON and as numbers.
#[cfg(feature = "networks")]
#[test]
fn stability_of_networks() {
    let dir = tempfile::tempdir().unwrap();
    let (file, out) = (dir.path().join("net.toml"), dir.path().join("s"));
    let one = "[[link]]\nname = \"l\"\nrate = \"1 Mbit/s\"\ndelay = \"25 ms\"\n[[flow]]\nroute = [\"l\"]\n";
    std::fs::write(&file, one).unwrap();
    let file = file.to_str().unwrap();
    let table = analysed(&out, &["--network", file]);
    for words in ["131.25", "156.25", "3.804 (11.6 dB)", "56.7", "379.18", "V_bent only falls"] {
        assert!(table.contains(words), "{words}: {table}");
    }
    let json = analysed(&out, &["--network", file, "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["margins"]["closed-poles"], 0);
    let files: Vec<String> = tree(&out).into_iter().map(|f| f.0).collect();
    assert_eq!(files, ["eigenvalues.csv", "passivity.csv"]);
}

/// The curves of Figure 2, on the terminal and as numbers.
#[test]
fn penalty_curves() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("s");
    let curves = analysed(&out, &["--threshold", "80ms", "--penalty", "10ms", "50ms"]);
    assert!(curves.contains("threshold 80 ms") && curves.contains("p = 50 ms"), "{curves}");
    assert!(analysed(&out, &["--penalty"]).contains("p = 25 ms"));
    let files: Vec<String> = tree(&out).into_iter().map(|f| f.0).collect();
    assert_eq!(files, ["penalty.csv"]);
}

#[test]
fn stability_refuses_in_one_sentence() {
    for (arguments, words) in [
        ("cubic --rtt 100ms --rate 1Mbit/s", "no stability analysis"),
        ("dcc --rtt 100ms --rate 1Mbit/s", "did you mean \"dccc\"?"),
        ("dccc --rtt 100 --rate 1Mbit/s", "`100` has no unit"),
        ("dccc --rtt 100ms --rate 200kbit/s", "200 kbit/s or less (equation 20)"),
        ("dccc --rtt 100ms --rate 1Mbit/s --gain NaN", "above 0 and up to 10"),
        ("dccc --rtt 100ms --rate 1Mbit/s --gain -1", "above 0 and up to 10"),
        ("dccc --rtt 100ms", "give --rate with --rtt or --base-rtt, or use --network or --penalty"),
        ("dccc --rate 1Mbit/s --simulate 60s", "--simulate needs --base-rtt"),
        ("dccc --rtt 100ms --rate 1Mbit/s --beta 2", "above 0 and up to 1"),
        ("dccc --rtt 100ms --rate 1Mbit/s --links 0", "1 to 1000"),
        ("dccc --rtt 0ms --rate 1Mbit/s", "above zero"),
        ("dccc --rtt 100ms --rate 1Mbit/s --h 0bit/s", "give a rate"),
        ("dccc --rtt 100ms --rate 1Mbit/s --threshold 50ms", "--threshold needs --base-rtt instead of --rtt"),
        ("dccc --base-rtt 400ms --rate 5Mbit/s", "give a larger threshold"),
        ("dccc --rtt 100ms --rate 1Mbit/s --simulate 60s", "--simulate needs --base-rtt instead of --rtt"),
        ("dccc --base-rtt 50ms --rate 1Mbit/s --start 1s", "--simulate"),
        ("dccc --base-rtt 50ms --rate 1Mbit/s --simulate 60s --start 50s", "give a start before 45 s"),
        ("dccc --base-rtt 50ms --rate 1Mbit/s --simulate 1ms", "give at least 1 s"),
        ("dccc --base-rtt 50ms --rate 1Mbit/s --simulate 60s --links 3", "has one link"),
        ("dccc --base-rtt 50ms --rate 9Gbit/s --simulate 600s", "give a shorter time"),
        ("dccc --base-rtt 1ns --rate 1Mbit/s --simulate 60s", "give a shorter time"),
        #[cfg(feature = "networks")]
        ("dccc --network none.toml", "none.toml: no such file"),
        #[cfg(not(feature = "networks"))]
        ("dccc --network none.toml", "--features networks"),
        ("dccc --network none.toml --rtt 100ms", "cannot be used with"),
        ("dccc --penalty 10ms --threshold 0ms", "above zero"),
    ] {
        let done = ackclock(&[&["stability"], &arguments.split(' ').collect::<Vec<_>>()[..]].concat());
        assert_eq!(done.status.code(), Some(2), "{arguments}");
        assert!(text(&done.stderr).contains(words), "{arguments}: {}", text(&done.stderr));
    }
}

/// The answer fits one screen of 80 columns: verdict, ranking and reasons.
#[test]
fn compares() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().to_str().unwrap();
    let link = "rate=10 Mbps rtt=40 ms queue=1 BDP loss=0.5 %";
    let compare = |more: &[&str]| {
        let args =
            ["compare", "new-reno", "bbr", "--link", link, "--time", "12 s", "--repeat", "3", "--out", out];
        ackclock(&[&args, more].concat())
    };
    let done = compare(&[]);
    let screen = text(&done.stdout);
    assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
    assert!(screen.lines().all(|line| line.chars().count() <= 80), "{screen}");
    assert!(screen.lines().count() <= 27, "{screen}");
    // The goodput of the competitor, and the random elements.
    let flat = screen.replace("-\n  ", "-").replace("\n  ", " ");
    let kept = flat.split_once("Against bbr3, new-reno gets ").expect("the goodput of the competitor").1;
    let end = " % of its goodput against another new-reno.";
    assert!(kept.contains(end) || kept.contains(") of its goodput against another new-reno."), "{screen}");
    assert!(flat.contains(" of new-reno, "), "{screen}");
    assert!(flat.contains("Random between runs: losses and start times."), "{screen}");
    let long = tree(dir.path())
        .into_iter()
        .find(|(name, _)| name.ends_with("summary.json") && name.contains("long"));
    assert!(text(&long.unwrap().1).contains("\"utilization @ measure\""), "the window of the goodput");
    assert!(screen.starts_with("bbr3 achieves ") && screen.contains("the goodput of new-reno"), "{screen}");
    assert!(flat.contains("losses are random") && flat.contains("Mathis et al. 1997"), "{screen}");
    let page = fs::read_to_string(dir.path().join("report/compare/index.html")).unwrap();
    let verdict = screen.lines().next().unwrap();
    assert!(
        page.contains(&format!("<p>{verdict}")) && page.find("<p>") < page.find("<svg"),
        "the answer first"
    );

    let json: serde_json::Value = serde_json::from_slice(&compare(&["--json"]).stdout).unwrap();
    let best = &json["ranking"][0];
    let ratio = &json["ranking"][1]["best_over_this"];
    assert_eq!(best["label"], "bbr3");
    let quotient =
        best["long"]["goodput"].as_f64().unwrap() / json["ranking"][1]["long"]["goodput"].as_f64().unwrap();
    assert!((ratio["value"].as_f64().unwrap() / quotient - 1.0).abs() < 1e-9, "{json}");
    assert!(ratio["low"].as_f64().unwrap() > 1.0 && ratio["low"].as_f64() < ratio["high"].as_f64(), "{json}");
    for (number, name) in ["compare/long-flows", "compare/beside", "compare/start-up"].iter().enumerate() {
        check_stored(&json["results"][number], name);
    }

    let swept = text(&compare(&["--vary", "queue=0.5, 2 BDP", "--against", "cubic"]).stdout);
    assert!(
        swept.contains("with one of cubic") && swept.contains("0.5 BDP") && swept.contains("2 BDP"),
        "{swept}"
    );
    assert!(swept.lines().all(|line| line.chars().count() <= 80) && swept.lines().count() <= 40, "{swept}");
    assert!(swept.contains("Highest goodput") && swept.contains("bbr3 "), "{swept}");
    let numbers = |line: &str| line.starts_with("     0.5 BDP").then(|| !line.contains(" 0 "));
    let rows: Vec<bool> = swept.lines().filter_map(numbers).collect();
    assert!(!rows.is_empty() && rows.iter().all(|all| *all), "no row without numbers: {swept}");
    for says in ["mean RTT, ms", "loss, %", "competitor, Mbit/s", "Lowest mean RTT: "] {
        assert!(swept.contains(says), "{says}: {swept}");
    }
    let pages: String = tree(&dir.path().join("report/compare")).iter().map(|(_, page)| text(page)).collect();
    assert!(pages.contains("Mean RTT on ") && pages.contains("Loss on "), "charts of delay and loss");
}

/// Formulas of a single drop-tail link are not applied to other networks, and the text says what
/// the intervals cover.
#[test]
fn compares_on_other_networks() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().to_str().unwrap();
    let on = |link: &str| {
        let args =
            ["compare", "cubic", "bbr", "--link", link, "--time", "9 s", "--repeat", "2", "--out", out];
        let done = ackclock(&args);
        assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
        text(&done.stdout).replace("\n  ", " ")
    };
    let managed = on("rate=10 Mbps rtt=40 ms queue=4 BDP loss=0.5 % aqm=pie");
    assert!(
        managed
            .contains("The network has `pie` in its queue: formulas and reasons for a single drop-tail link"),
        "{managed}"
    );
    assert!(!managed.contains("Closed form") && !managed.contains("BDP in flight"), "{managed}");
    assert!(managed.contains("Random between runs: losses, the AQM and start times."), "{managed}");
    let plain = on("rate=10 Mbps rtt=40 ms queue=1 BDP");
    assert!(
        plain.contains("Only start times vary between runs") && !plain.contains("The network has"),
        "{plain}"
    );
}

/// A comparison on real endpoints: screen and page name the stacks, and each stack has its own
/// rows.
#[test]
fn compares_on_the_stack() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().to_str().unwrap();
    let compare = |more: &[&str]| {
        let link = "rate=4 Mbps rtt=20 ms queue=1 BDP";
        let args = ["compare", "cubic", "new-reno", "--link", link, "--time", "6 s", "--repeat", "2"];
        let done = ackclock(&[&args, &["--out", out, "--on", "stack"][..], more].concat());
        assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
        text(&done.stdout)
    };
    let screen = compare(&[]);
    assert!(screen.lines().all(|line| line.chars().count() <= 80), "{screen}");
    let flat = screen.replace("\n  ", " ");
    let place = "run on real QUIC endpoints (ackclock)";
    assert!(flat.contains(place) && flat.contains("Goodput in the simulator, Mbit/s: "), "{screen}");
    let page = fs::read_to_string(dir.path().join("report/compare/index.html")).unwrap();
    assert!(page.replace("&#39;", "'").contains(place), "the page says it too");
    let json: serde_json::Value = serde_json::from_str(&compare(&["--json"])).unwrap();
    let [best, next] = [0, 1].map(|i| &json["ranking"][i]);
    assert!(best["on"] == "stack" && next["on"] == "stack", "the simulator's rows are not compared: {json}");
    let [here, there] = [&best["long"]["goodput"], &best["simulated"]].map(|n| n.as_f64().unwrap());
    assert!(here != there && (here / there - 1.0).abs() < 0.02, "{here} for {there}");

    if cfg!(feature = "others") {
        let both = compare(&["--stack", "noq,ackclock,noq", "--vary", "queue=0.5, 2 BDP"]);
        let says = ["cubic (noq)", "new-reno (s", "run on real QUIC endpoints (noq and ackclock)"];
        let flat = both.replace("\n  ", " ");
        assert!(says.iter().all(|says| flat.contains(says)), "{both}");
    }
}

#[test]
fn comparisons_that_cannot_be_made() {
    for (args, says) in [
        (&["cubic", "--link", "rate=1 Mbit/s rtt=5 ms"][..], "name two or more"),
        (&["cubic", "cubic", "--link", "rate=1 Mbit/s rtt=5 ms"], "`cubic` is given twice"),
        (
            &["cubic", "bbr9", "--link", "rate=1 Mbit/s rtt=5 ms"],
            "unknown algorithm `bbr9`; did you mean \"bbr",
        ),
        (
            &["cubic", "bbr", "--link", "rate=1 Mbit/s rt=5 ms"],
            "--link: rt: unknown key; did you mean \"rtt\"?",
        ),
        (&["cubic", "bbr", "--link", "rate=1 Mbit/s rtt=5 ms", "--vary", "queue=2..1 BDP"], "and rise"),
        (
            &["cubic", "bbr", "--link", "rate=1 Mbit/s rtt=5 ms", "--vary", "quee=1..2 BDP"],
            "did you mean \"queue\"",
        ),
        (
            &["cubic", "bbr", "--link", "no-such-file"],
            "--link \"no-such-file\": not a link or an experiment; write a link like",
        ),
        (
            &["cubic", "bbr", "--link", "rate=1 Mbit/s rtt=5 ms", "--stack", "noq"],
            "--stack: requires --on stack",
        ),
        (
            &["cubic", "bbr", "--link", "rate=1 Mbit/s rtt=5 ms", "--on", "stack", "--flow", "transport=tcp"],
            "cubic cannot run on the stack: flow: it uses TCP",
        ),
        #[cfg(feature = "others")]
        (
            &["cubic", "bbr", "--link", "rate=1 Mbit/s rtt=5 ms", "--on", "stack", "--stack", "quinn"],
            "bbr3 does not run in quinn",
        ),
        (&["cubic", "{ name = }", "--link", "rate=1 Mbit/s rtt=5 ms"], "is not valid TOML"),
        (&["cubic", "bbr", "--time", "0 s"], "must be longer than 0 s"),
    ] {
        let done = ackclock(&[&["compare"], args].concat());
        assert_eq!(done.status.code(), Some(2), "{args:?}");
        assert!(text(&done.stderr).contains(says), "{args:?}: {}", text(&done.stderr));
    }
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
    let rules = ["--fail-if", "goodput -3 %", "--fail-if", "rtt_mean +90 %", "--junit", &xml];
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
    assert_eq!(run(&["--qlog"]), (Some(0), "ackclock: --qlog will write about 5.5 MB\n".to_owned()));
    let written: usize = tree(&out).iter().filter(|f| f.0.ends_with(".sqlog")).map(|f| f.1.len()).sum();
    assert!((3_500_000..8_000_000).contains(&written), "{written}");
    fs::remove_dir_all(&out).unwrap();

    let (code, refusal) = run(&["--qlog", "--set", "link.rate=40Gbit/s"]);
    assert_eq!(code, Some(2));
    let words = "--qlog would take about 22 GB of disk, more than the limit of 10 GB; allow it with --max-disk 22GB, or compress the files to about a tenth with --qlog=gzip";
    assert!(refusal.contains(words), "{refusal}");
    assert!(!out.exists());
    let (code, refusal) = run(&["--qlog=gzip", "--max-disk", "100kB"]);
    assert!(code == Some(2) && refusal.contains("of disk, more than the limit of 100 kB"), "{refusal}");
    assert_eq!(run(&["--qlog=gzip", "--max-disk", "600 kB"]).0, Some(0));
    for (flags, why) in [
        (&["--qlog=0.4"][..], "unknown qlog format `0.4`; known: 0.3, current, gzip"),
        (&["--qlog", "--max-disk", "5"][..], "has no unit"),
    ] {
        let (code, words) = run(flags);
        assert!(code == Some(2) && words.contains(why), "{words}");
    }
}
