//! Studies that exist already, were interrupted, or are made in parts: nothing is computed twice,
//! and the results have the same bytes.
#![cfg(unix)]
#![allow(clippy::disallowed_methods, reason = "it watches a program in real time")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// A study of 24 runs that take some milliseconds each.
const STUDY: &str = r#"
title = "study"
source = "a test"
duration = "5 s"
repetitions = 4

[link]
rate = "20 Mbit/s"
delay = "10 ms"
loss = "0.1 %"

[[flow]]

[vary]
"flow.controller" = ["cubic", "bbr2"]
"link.queue" = ["0.5 BDP", "1 BDP", "2 BDP"]
"#;

fn study(dir: &Path, text: &str) -> String {
    let file = dir.join("study.toml");
    fs::write(&file, text).unwrap();
    file.to_str().unwrap().to_owned()
}

fn command(file: &str, out: &Path, more: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ackclock"));
    command.args(["run", file, "--out", out.to_str().unwrap()]).args(more);
    command
}

fn run(file: &str, out: &Path, more: &[&str]) -> Output {
    let output = command(file, out, more).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    output
}

/// Returns the results folders of the study, and the folders of its finished runs.
fn folders(out: &Path) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let entries =
        fs::read_dir(out.join("study")).map(|dir| dir.flatten().map(|e| e.path()).collect::<Vec<_>>());
    let is_hidden = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().starts_with('.');
    let (hidden, shown) = entries.unwrap_or_default().into_iter().partition(is_hidden);
    (shown, hidden)
}

fn kept(out: &Path) -> Vec<PathBuf> {
    let (_, hidden) = folders(out);
    let runs = hidden.iter().filter_map(|dir| fs::read_dir(dir).ok()).flatten().flatten().map(|e| e.path());
    runs.filter(|path| path.extension().is_some_and(|end| end == "run")).collect()
}

/// Returns every file of the only results folder.
fn bytes(out: &Path) -> Vec<(String, Vec<u8>)> {
    let (shown, _) = folders(out);
    assert_eq!(shown.len(), 1, "{shown:?}");
    let mut files: Vec<_> = fs::read_dir(&shown[0])
        .unwrap()
        .map(|e| e.unwrap())
        .filter(|e| e.path().is_file())
        .map(|e| (e.file_name().into_string().unwrap(), fs::read(e.path()).unwrap()))
        .collect();
    files.sort();
    files
}

#[test]
fn a_second_time_it_is_there() {
    let dir = tempfile::tempdir().unwrap();
    let (file, out) = (study(dir.path(), STUDY), dir.path().join("out"));
    let first = run(&file, &out, &[]);
    let folder = folders(&out).0.remove(0);
    let time = |file: &str| fs::metadata(folder.join(file)).unwrap().modified().unwrap();
    let made = ["summary.json", "runs.csv"].map(time);
    assert!(kept(&out).is_empty(), "their results are in the folder");
    let again = run(&file, &out, &[]);
    assert_eq!(String::from_utf8_lossy(&first.stdout), String::from_utf8_lossy(&again.stdout));
    assert!(time("summary.json") > made[0], "they are the newest");
    assert_eq!(time("runs.csv"), made[1]);
    run(&file, &out, &["--fresh"]);
    assert!(time("runs.csv") > made[1]);
    // Damaged results do not count.
    let before = bytes(&out);
    fs::write(folder.join("runs.csv"), "variant,row\n").unwrap();
    run(&file, &out, &[]);
    assert_eq!(bytes(&out), before);
}

/// The folder depends on everything that determines the bytes, and on nothing else.
#[test]
fn the_id_is_of_what_decides_the_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let (file, out) = (study(dir.path(), STUDY), dir.path().join("out"));
    let count = || folders(&out).0.len();
    run(&file, &out, &[]);
    run(&file, &out, &["--seed", "1", "--repeat", "4"]);
    assert_eq!(count(), 1, "the file's own values");
    study(dir.path(), &format!("{STUDY}\n# a remark\n"));
    run(&file, &out, &[]);
    assert_eq!(count(), 1, "a remark");
    let runs = fs::read(folders(&out).0[0].join("runs.csv")).unwrap();
    for (from, to, what) in [
        ("title = \"study\"", "title = \"another\"", "a title"),
        ("[[flow]]", "[[chart]]\nmark = \"line\"\ntitle = \"RTT\"\n[[flow]]", "a chart"),
        ("[vary]", "[table]\nmetrics = [\"loss\"]\n[vary]", "a metric"),
    ] {
        study(dir.path(), &STUDY.replace(from, to));
        let summary = || fs::read_to_string(folders(&out).0[0].join("summary.json")).unwrap();
        let before = summary();
        run(&file, &out, &[]);
        assert_eq!(count(), 1, "{what}");
        assert!(
            summary() != before && runs == fs::read(folders(&out).0[0].join("runs.csv")).unwrap(),
            "{what}"
        );
    }
    study(dir.path(), &STUDY.replace("0.1 %", "0.2 %"));
    run(&file, &out, &[]);
    assert_eq!(count(), 2, "the network");
    let before = count();
    study(dir.path(), STUDY);
    run(&file, &out, &["--qlog"]);
    assert_eq!(count(), before + 1, "qlog");
    run(&file, &out, &[]);
    let with_qlog = folders(&out).0.iter().filter(|folder| folder.join("qlog").exists()).count();
    assert_eq!((count(), with_qlog), (before + 1, 1), "the qlog of an earlier run stays");
    run(&file, &out, &["--qlog=0.3"]);
    assert_eq!(count(), before + 1, "the same format");
    run(&file, &out, &["--qlog=current"]);
    assert_eq!(count(), before + 2, "another format");
    // The same file in another folder is the same study.
    fs::create_dir(dir.path().join("elsewhere")).unwrap();
    let elsewhere = study(&dir.path().join("elsewhere"), STUDY);
    run(&elsewhere, &out, &[]);
    assert_eq!(count(), before + 2, "another place");
}

#[test]
fn parts_make_the_whole() {
    let dir = tempfile::tempdir().unwrap();
    let file = study(dir.path(), STUDY);
    let (whole, merged) = (dir.path().join("whole"), dir.path().join("merged"));
    run(&file, &whole, &[]);
    // Each part has its own folder, as on separate machines. Results are merged by copying.
    let parts = 5;
    for k in 1..=parts {
        let out = dir.path().join(format!("part{k}"));
        let output = run(&file, &out, &["--shard", &format!("{k}/{parts}")]);
        assert!(folders(&out).0.is_empty(), "no results of a part");
        assert!(String::from_utf8_lossy(&output.stderr).contains("of 24 runs are done"));
        let copied = Command::new("cp").arg("-r").arg(out.join(".")).arg(&merged).status().unwrap();
        assert!(copied.success());
    }
    assert_eq!(kept(&merged).len(), 24);
    run(&file, &merged, &["--shard", "1/5"]);
    assert_eq!(bytes(&merged), bytes(&whole));
    assert!(kept(&merged).is_empty());
    for wrong in ["0/3", "4/3", "3", "x/2", "1/0"] {
        let output = command(&file, &merged, &["--shard", wrong]).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{wrong}");
    }
}

/// All parts run at once in one folder. The last one completes the study.
#[test]
fn parts_side_by_side_make_the_whole() {
    let dir = tempfile::tempdir().unwrap();
    let file = study(dir.path(), STUDY);
    let (whole, out) = (dir.path().join("whole"), dir.path().join("out"));
    run(&file, &whole, &[]);
    let start = |k: usize| {
        let mut command = command(&file, &out, &["--shard", &format!("{k}/4"), "--jobs", "1"]);
        command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let children: Vec<Child> = (1..=4).map(start).collect();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    assert_eq!(bytes(&out), bytes(&whole));
    assert!(kept(&out).is_empty());
}

/// Claims are judged by the spread of the reference variants, so the others have fewer repetitions.
/// `--repeat` applies to all.
#[test]
fn other_variants_run_less_often() {
    let dir = tempfile::tempdir().unwrap();
    let reference =
        "[reference]\nvariants = [\"queue = 1 BDP\"]\nrepetitions-of-others = 1\nwhy = \"a test\"\n";
    let file = study(dir.path(), &format!("{STUDY}{reference}"));
    let count = |more: &[&str], name: &str| {
        let out = dir.path().join(name);
        run(&file, &out, more);
        let (shown, _) = folders(&out);
        let runs = fs::read_to_string(shown[0].join("runs.csv")).unwrap();
        let of = |queue: &str| runs.lines().filter(|line| line.contains(queue)).count();
        (of("0.5 BDP"), of("1 BDP"), of("2 BDP"))
    };
    assert_eq!(count(&[], "a"), (2, 8, 2), "two controllers each");
    assert_eq!(count(&["--repeat", "3"], "b"), (6, 6, 6));
    let index = Command::new(env!("CARGO_BIN_EXE_ackclock"))
        .args(["list", "--json", "--results"])
        .arg(dir.path().join("a"))
        .output();
    let index = String::from_utf8(index.unwrap().stdout).unwrap();
    assert!(index.contains("\"runs\": 12"), "{index}");
    let wrong = reference.replace("others = 1", "others = 0");
    let output = command(&study(dir.path(), &format!("{STUDY}{wrong}")), dir.path(), &[]).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("reference.repetitions-of-others: 0 is out of range"), "{said}");
}

fn wait_for(what: impl Fn() -> bool, child: &mut Child) {
    let begin = Instant::now();
    while !what() && child.try_wait().unwrap().is_none() {
        assert!(begin.elapsed() < Duration::from_secs(120));
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// A study that is killed and restarted until it is done computes no run twice.
#[test]
fn goes_on_after_its_own_death() {
    let dir = tempfile::tempdir().unwrap();
    let file = study(dir.path(), STUDY);
    let (whole, out) = (dir.path().join("whole"), dir.path().join("out"));
    run(&file, &whole, &[]);
    let written = |path: &PathBuf| (path.clone(), fs::metadata(path).unwrap().modified().unwrap());
    for at_least in [3, 9, 17] {
        let mut child = command(&file, &out, &["--jobs", "1"]).stdout(Stdio::null()).spawn().unwrap();
        let before: Vec<_> = kept(&out).iter().map(written).collect();
        wait_for(|| kept(&out).len() >= at_least, &mut child);
        child.kill().unwrap();
        child.wait().unwrap();
        if folders(&out).0.is_empty() {
            let after: Vec<_> = kept(&out).iter().map(written).collect();
            assert!(before.iter().all(|run| after.contains(run)), "one was computed again");
        }
    }
    run(&file, &out, &[]);
    assert_eq!(bytes(&out), bytes(&whole));
}

/// Ten thousand flows with samples every 10 us still react to a signal.
#[test]
fn hears_an_interruption_among_many_samples() {
    let dir = tempfile::tempdir().unwrap();
    let text = STUDY
        .replace("duration = \"5 s\"", "duration = \"9 s\"\nseries = \"10 us\"")
        .replace("[[flow]]", "[[flow]]\ncount = 10000\nstagger = \"1 us\"");
    let file = study(dir.path(), &text);
    let out = dir.path().join("out");
    let refused = command(&file, &out, &[]).output().unwrap();
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(
        said.contains("of disk") && said.contains("--max-disk") && said.contains("`series` to a longer"),
        "{said}"
    );
    let mut child = command(&file, &out, &["--max-disk", "1000000 GB", "--jobs", "1"])
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // The command listens for signals before it makes the folder.
    let begin = Instant::now();
    while !out.join("study").exists() {
        assert!(begin.elapsed() < Duration::from_secs(120) && child.try_wait().unwrap().is_none());
        std::thread::sleep(Duration::from_millis(20));
    }
    std::thread::sleep(Duration::from_millis(700));
    let sent = Command::new("sh").args(["-c", &format!("kill -INT {}", child.id())]).status().unwrap();
    assert!(sent.success());
    let begin = Instant::now();
    let status = child.wait().unwrap();
    assert_eq!(status.code(), Some(130));
    // One second on an idle machine. The whole run takes many minutes.
    assert!(begin.elapsed() < Duration::from_secs(120), "{:?}", begin.elapsed());
    // No run had finished, so nothing is left of the recordings.
    let left: Vec<_> = fs::read_dir(out.join("study")).map_or(Vec::new(), |all| all.flatten().collect());
    assert!(left.is_empty(), "{left:?}");
}

/// Varied and changed keys are columns with numbers, for further processing.
#[test]
fn varied_and_set_keys_are_columns() {
    let dir = tempfile::tempdir().unwrap();
    let (file, out) = (study(dir.path(), STUDY), dir.path().join("out"));
    run(&file, &out, &["--set", "link.rate=10 Mbit/s"]);
    let folder = folders(&out).0.remove(0);
    let runs = fs::read_to_string(folder.join("runs.csv")).unwrap();
    let head: Vec<&str> = runs.lines().next().unwrap().split(',').collect();
    assert_eq!(head[..5], ["variant", "row", "link.queue", "flow.controller", "link.rate"], "{head:?}");
    let has = |cells: &str| runs.lines().any(|line| line.contains(cells));
    assert!(has(",0.5,cubic,10,") && has(",2,bbr2,10,"), "{runs}");
    assert!(!runs.contains("NaN"), "{runs}");
    let about: serde_json::Value =
        serde_json::from_slice(&fs::read(folder.join("columns.json")).unwrap()).unwrap();
    for file in ["runs.csv", "flows.parquet", "series.parquet", "rtt_cdf.parquet"] {
        let columns = about[file].as_array().unwrap();
        let unit = |name: &str| columns.iter().find(|c| c["name"] == name).map(|c| c["unit"].clone());
        assert_eq!(unit("link.queue"), Some("BDP".into()), "{file}");
        assert_eq!(unit("link.rate"), Some("Mbit/s".into()), "{file}");
    }
}

/// The page is the same from memory and from stored results.
#[test]
fn stored_results_make_the_same_page() {
    let dir = tempfile::tempdir().unwrap();
    let (file, out) = (study(dir.path(), STUDY), dir.path().join("out"));
    let page = || {
        run(&file, &out, &[]);
        let pages = fs::read_dir(out.join("report")).unwrap().map(|e| e.unwrap().path().join("index.html"));
        let pages: Vec<String> = pages.map(|page| fs::read_to_string(page).unwrap()).collect();
        fs::remove_dir_all(out.join("report")).unwrap();
        pages
    };
    let made = page();
    assert_eq!(made.len(), 1);
    assert!(made == page(), "the page of stored results is another");
}

/// The series have the names of states, and the summary those of every controller with states.
#[test]
fn states_have_names() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out");
    run(&study(dir.path(), STUDY), &out, &[]);
    let folder = folders(&out).0.remove(0);
    let summary: serde_json::Value =
        serde_json::from_slice(&fs::read(folder.join("summary.json")).unwrap()).unwrap();
    let names = congestion::Registry::default().get("bbr2").unwrap().states;
    assert_eq!(summary["states"], serde_json::json!({ "bbr2": names }));
    let of_bbr2 = &summary["variables"]["bbr2"]["max_bw"];
    assert_eq!(of_bbr2["unit"], "bit/s");
    assert_eq!(summary["variables"]["cubic"]["w_est"]["unit"], "bytes");
    let columns = fs::read_to_string(folder.join("columns.json")).unwrap();
    assert!(columns.contains("the controller's state; bbr2: Startup, Drain, ProbeBW_DOWN, "), "{columns}");
    let series = results::columns::read(&folder.join("series.parquet")).unwrap();
    let state = series.iter().find(|column| column.name == "state").unwrap();
    let results::columns::Column::Words(words) = &state.column else { panic!("{:?}", state.column) };
    let results::columns::Column::Text(rows) = &series[1].column else { panic!("{:?}", series[1].column) };
    for (row, word) in rows.iter().zip(words) {
        assert_eq!(word.is_some(), row.contains("bbr2"), "{row}: {word:?}");
        assert!(word.as_deref().is_none_or(|word| names.contains(&word)), "{word:?}");
    }
}

/// `r` is a ratio for one controller and a rate for others. In a study with both, its column has no
/// unit; in one with rates only, it has theirs. Variables of controllers stay real numbers,
/// whatever their unit.
#[test]
fn a_variable_has_the_unit_that_its_controllers_agree_on() {
    let dir = tempfile::tempdir().unwrap();
    let heads = |name: &str, controllers: &str| {
        let text = STUDY.replace("repetitions = 4", "").replace("[\"cubic\", \"bbr2\"]", controllers);
        let out = dir.path().join(name);
        run(&study(dir.path(), &text), &out, &[]);
        let folder = folders(&out).0.remove(0);
        results::columns::read(&folder.join("series.parquet")).unwrap()
    };
    let of =
        |table: &results::columns::Table, name: &str| table.iter().find(|c| c.name == name).unwrap().clone();
    let mixed = heads("mixed", "[\"cubic-ecn-gated\", \"nada-2013\"]");
    let r = of(&mixed, "r");
    assert_eq!(r.unit, "");
    assert!(r.description.contains("; cubic-ecn-gated (no unit): RTT "), "{}", r.description);
    assert!(r.description.contains("; nada-2013 (bit/s): Sending rate"), "{}", r.description);
    let ssthresh = of(&mixed, "ssthresh");
    assert_eq!(ssthresh.unit, "bytes");
    assert!(matches!(ssthresh.column, results::columns::Column::Real(_)), "{:?}", ssthresh.column);
    assert_eq!(of(&heads("rates", "[\"gcc-simplified\", \"nada-2013\"]"), "r").unit, "bit/s");
}

/// A study of bulk flows over QUIC.
const WORLDS: &str = r#"
title = "worlds"
source = "a test"
duration = "5 s"
repetitions = 2

[link]
rate = "20 Mbit/s"
delay = "10 ms"
queue = "1 BDP"

[[flow]]

[vary]
"flow.controller" = ["cubic", "bbr3"]
"#;

/// `--on stack` adds rows of real endpoints. The simulator's rows are the same as without them, and
/// the bytes on one thread as on two.
#[test]
fn rows_of_the_stack_stand_beside() {
    let dir = tempfile::tempdir().unwrap();
    let file = study(dir.path(), WORLDS);
    let outs = ["one", "two", "sim"].map(|name| dir.path().join(name));
    let said = run(&file, &outs[0], &["--on", "stack", "--jobs", "1", "-vv"]);
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    assert!(said.contains("cubic (stack)") && said.contains("bbr3 (stack)"), "{said}");
    run(&file, &outs[1], &["--on", "stack", "--jobs", "2"]);
    assert_eq!(bytes(&outs[0]), bytes(&outs[1]));
    run(&file, &outs[2], &[]);
    let runs = |out: &Path| {
        let files = bytes(out).into_iter().find(|(name, _)| name == "runs.csv").unwrap();
        String::from_utf8(files.1).unwrap()
    };
    let (both, simulated) = (runs(&outs[0]), runs(&outs[2]));
    let cells = |line: &str| line.split(',').map(str::to_owned).collect::<Vec<_>>();
    let names = cells(both.lines().next().unwrap());
    // A column that only endpoints have is empty in the simulator's rows.
    let foreign = names.iter().position(|name| name == "receive_times").unwrap();
    let rows = both.lines().filter(|line| !line.contains("(stack)"));
    let of_simulator: Vec<Vec<String>> = rows
        .map(|line| {
            let mut cells = cells(line);
            let cell = cells.remove(foreign);
            assert!(cell == "receive_times" || cell.is_empty(), "{line}");
            cells
        })
        .collect();
    assert_eq!(of_simulator, simulated.lines().map(cells).collect::<Vec<_>>());
    assert_eq!(both.lines().count(), 1 + 8, "{both}");
}

/// `--stack` adds a row for each stack that can run the controller, and names those that cannot.
/// The bytes are the same on one thread and on two.
#[cfg(feature = "others")]
#[test]
fn rows_of_other_stacks() {
    let dir = tempfile::tempdir().unwrap();
    let file = study(dir.path(), WORLDS);
    let outs = ["one", "two"].map(|name| dir.path().join(name));
    let stacks = ["--on", "stack", "--stack", "noq,quinn,ackclock"];
    let said = run(&file, &outs[0], &[&stacks[..], &["--jobs", "1", "-vv"]].concat());
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    for row in ["cubic (noq)", "cubic (quinn)", "cubic (stack)", "bbr3 (noq)", "bbr3 (stack)"] {
        assert!(said.contains(row), "{row}: {said}");
    }
    assert!(!said.contains("bbr3 (quinn)"), "{said}");
    assert!(said.contains("Not on quinn: bbr3 (bbr3 does not run in quinn"), "{said}");
    run(&file, &outs[1], &[&stacks[..], &["--jobs", "2"]].concat());
    assert_eq!(bytes(&outs[0]), bytes(&outs[1]));
    let runs = bytes(&outs[0]).into_iter().find(|(name, _)| name == "runs.csv").unwrap();
    assert_eq!(String::from_utf8(runs.1).unwrap().lines().count(), 1 + 2 * (4 + 3), "two repetitions");
}

/// Media flows run as messages of our endpoint and of noq. TCP flows next to them are simulated, as
/// the note says.
#[test]
fn media_and_tcp_on_the_stack() {
    let dir = tempfile::tempdir().unwrap();
    let tcp = "[[flow]]\nlabel = \"m\"\napplication = \"media\"\n\n[[flow]]\nlabel = \"t\"\ntransport = \"tcp\"\ncontroller = \"cubic\"";
    let text = WORLDS.replace("[[flow]]", tcp).replace("flow.controller", "flow.0.controller");
    let file = study(dir.path(), &text);
    let said = run(&file, &dir.path().join("out"), &["--on", "stack", "-vv"]);
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    assert!(said.contains("cubic (stack)"), "{said}");
    assert!(said.contains("TCP flows are simulated in the rows of stacks too"), "{said}");
    if cfg!(feature = "others") {
        let said = run(&file, &dir.path().join("noq"), &["--on", "stack", "--stack", "noq", "-vv"]);
        let said = String::from_utf8_lossy(&said.stdout).into_owned();
        assert!(said.contains("cubic (noq)"), "{said}");
    }
}

#[test]
fn what_has_no_place_on_the_stack_is_said() {
    let dir = tempfile::tempdir().unwrap();
    let file = study(dir.path(), &WORLDS.replace("[[flow]]", "[[flow]]\ntransport = \"tcp\""));
    let refused = command(&file, &dir.path().join("out"), &["--on", "stack"]).output().unwrap();
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(said.contains("can run on the stack") && said.contains("it uses TCP"), "{said}");
}
