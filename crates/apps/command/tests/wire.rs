//! `ackclock run --on wire`: the kernel's TCP through the emulator, as a user runs it. Needs root
//! and /dev/net/tun.
//!
//! Other programs on the machine can make a run invalid, so no test requires a valid one. Times and
//! rates are judged by valid runs (`wire::emu::testing::timing`), and everything else by every run.
#![cfg(wire)]
#![allow(clippy::disallowed_methods)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use results::columns::Column;
use wire::emu::testing::{timing, timing_of_unaudited, turn};

fn run(dir: &Path, text: &str, arguments: &[&str]) -> Output {
    fs::write(dir.join("x.toml"), text).unwrap();
    Command::new(env!("CARGO_BIN_EXE_ackclock"))
        .current_dir(dir)
        .args(["run", "x.toml", "--on", "wire", "--out", "out"])
        .args(arguments)
        .output()
        .unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Returns the only results folder of the experiment. Finished runs of an interrupted one may be
/// beside it.
fn results(dir: &Path) -> std::path::PathBuf {
    let entries = fs::read_dir(dir.join("out/x")).unwrap().map(|entry| entry.unwrap().path());
    let is_kept =
        |path: &Path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(".runs-"));
    let mut entries = entries.filter(|path| !is_kept(path));
    let only = entries.next().unwrap();
    assert_eq!(entries.next(), None);
    only
}

const WINDOW: &str = r#"
title = "a fixed window"
source = "Little's law"
duration = "4 s"
[measure]
from = "1 s"
[link]
rate = "12 Mbit/s"
delay = "25 ms"
queue = "1 BDP"
[[flow]]
transport = "tcp"
controller = { name = "fixed-window", window = 42 }
packet = { mss = "1448 bytes", overhead = "52 bytes" }
[table]
metrics = ["goodput", "rtt_mean", "loss"]
[[claim]]
id = "sim"
says = "42 segments per round trip"
metric = "goodput"
left = 9.38
is = "near"
within-factor = 1.01
right = { max = ["*"] }
[[claim]]
id = "wire"
on = "wire"
says = "both worlds alike"
metric = "goodput"
left = { max = ["fixed-window (wire)"] }
is = "near"
within-factor = 2
right = { max = ["fixed-window"] }
"#;

fn goodput_error(rows: &[serde_json::Value], row: usize) -> f64 {
    let mean = |metric: &str| rows[row]["cells"][metric]["mean"].as_f64().unwrap();
    mean("goodput") / (42.0 * 1448.0 * 8e-3 / mean("rtt_mean")) - 1.0
}

/// Half a segment of a window of 42: what tells 42 segments from 41 and from 43, 1.2 %.
const HALF_A_SEGMENT: f64 = 0.5 / 42.0;

/// A fixed window with the kernel's TCP: 42 segments of 1448 bytes per round trip, within half a
/// segment of the formula at the measured RTT.
///
/// The host takes 0.1 to 0.3 ms from an ACK to the next segment, which the measured RTT of 52 ms
/// does not hold. Twelve valid runs fell short by 0.33 to 0.69 % for it, with and without load, and
/// the simulator by 0.13 %. A bound of 0.5 % judged the machine, not the emulator.
#[test]
fn forty_two_segments() {
    let Some(_turn) = turn("forty_two_segments") else { return };
    timing_of_unaudited("forty_two_segments", || {
        let dir = tempfile::tempdir().unwrap();
        let output = run(dir.path(), WINDOW, &["--qlog", "--pcap"]);
        assert!(output.status.code().is_some_and(|code| code < 2), "{}", stderr(&output));
        let folder = results(dir.path());
        let summary: serde_json::Value =
            serde_json::from_slice(&fs::read(folder.join("summary.json")).unwrap()).unwrap();
        let rows = summary["variants"][0]["rows"].as_array().unwrap();
        check_fixed_window(&folder, &summary, rows);
        assert!(goodput_error(rows, 0).abs() < 0.005, "simulated: {}", goodput_error(rows, 0));
        let mean = |metric: &str| rows[1]["cells"][metric]["mean"].as_f64().unwrap();
        let error = goodput_error(rows, 1);
        let (loss, repeats) = (mean("loss"), mean("retransmissions"));
        let holds = error.abs() < HALF_A_SEGMENT && loss == 0.0 && repeats == 0.0;
        let said = format!("off by {error}, {loss} % lost, {repeats} retransmissions");
        (invalid_reasons(&rows[1]), holds.then_some(()).ok_or(said))
    });
}

/// Returns why the run of a row is not valid.
fn invalid_reasons(row: &serde_json::Value) -> Vec<String> {
    let trust = &row["trust"];
    if trust["valid"] == 1 { Vec::new() } else { vec![format!("not valid: {trust}")] }
}

/// Checks the properties of such a run that do not depend on the load of the machine.
fn check_fixed_window(folder: &Path, summary: &serde_json::Value, rows: &[serde_json::Value]) {
    assert_eq!(rows.len(), 2);
    assert_eq!(
        (&rows[0]["label"], &rows[1]["label"]),
        (&"fixed-window".into(), &"fixed-window (wire)".into())
    );
    assert!(rows[0].get("trust").is_none() && rows[1].get("trust").is_some());
    let valid = rows[1]["trust"]["valid"] == 1;
    assert!(rows[1]["cells"].get("lost_by_packet_threshold").is_none(), "not measured");
    let claims = summary["claims"].as_array().unwrap();
    let judged: Vec<_> =
        claims.iter().map(|c| (c["id"].as_str().unwrap(), c["verdict"].as_str().unwrap())).collect();
    // Without a valid run the claim about the wire is not judged.
    assert_eq!(judged, [("sim", "holds"), ("wire", if valid { "holds" } else { "not-judged" })]);
    let logs =
        fs::read_dir(folder.join("qlog")).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
    let logs: Vec<_> = logs.filter(|name| name.ends_with(".sqlog")).collect();
    assert_eq!(logs.len(), 3, "{logs:?}"); // the simulated flow has one of its receiver, too
    let captures = fs::read_dir(folder.join("pcap")).map_or(0, Iterator::count);
    assert_eq!(captures, 1);
    let manifest = fs::read_to_string(folder.join("manifest.toml")).unwrap();
    assert!(manifest.contains("world = \"wire\"") && manifest.contains("Linux "), "{manifest}");
    let runs = fs::read_to_string(folder.join("runs.csv")).unwrap();
    let line = runs.lines().nth(2).unwrap();
    assert!(line.contains(",valid,") || line.contains("invalid: "), "{line}");
}

const QUIC: &str = r#"
title = "QUIC"
source = "test"
duration = "20 s"
[link]
rate = "10 Mbit/s"
delay = "10 ms"
queue = "0.5 BDP"
loss = "1 %"
[[flow]]
controller = "cubic"
transfer = "1 MB"
handshake = true
"#;

/// The secrets beside a capture decrypt it. Bytes and retransmissions are those of the endpoints,
/// whatever the load of the machine.
#[test]
fn a_capture_is_read_with_its_secrets() {
    let Some(_turn) = turn("a_capture_is_read_with_its_secrets") else { return };
    let dir = tempfile::tempdir().unwrap();
    let output = run(dir.path(), QUIC, &["--pcap"]);
    assert!(output.status.code().is_some_and(|code| code < 2), "{}", stderr(&output));
    let folder = results(dir.path()).join("pcap");
    let of_kind = |kind: &str| {
        let mut files = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
        files.find(|path| path.extension().is_some_and(|own| own == kind)).unwrap()
    };
    let (capture, keys) = (of_kind("pcapng"), of_kind("keys"));
    assert_eq!(fs::metadata(&keys).unwrap().permissions().mode() & 0o777, 0o600);
    let out = dir.path().join("analysed");
    let analysed = Command::new(env!("CARGO_BIN_EXE_ackclock"))
        .args(["analyse", "--json", "--keys"])
        .args([&keys, &capture])
        .arg("--out")
        .arg(out)
        .output()
        .unwrap();
    let answer: serde_json::Value =
        serde_json::from_slice(&analysed.stdout).unwrap_or_else(|e| panic!("{e}: {}", stderr(&analysed)));
    let connection = &answer["connections"][0];
    assert_eq!(connection["bytes"], 1_000_000, "{connection}");
    let metrics = connection["metrics"].as_array().unwrap();
    let value = |word: &str| metrics.iter().find(|metric| metric["metric"] == word).unwrap()["value"].clone();
    let runs = fs::read_to_string(folder.with_file_name("runs.csv")).unwrap();
    let cells: Vec<Vec<&str>> = runs.lines().map(|line| line.split(',').collect()).collect();
    let column = cells[0].iter().position(|name| *name == "retransmissions").unwrap();
    let wire = cells.iter().find(|row| row[1].contains("(wire)")).unwrap();
    // A probe after the last byte is in the capture alone.
    let more = value("retransmissions").as_f64().unwrap() - wire[column].parse::<f64>().unwrap();
    assert!((0.0..=2.0).contains(&more), "{more} more: {runs}");
}

const MIXED: &str = r#"
title = "TCP, UDP, a ping, a transfer"
source = "test"
duration = "3 s"
[link]
rate = "5 Mbit/s"
delay = "10 ms"
queue = "2 BDP"
aqm = { name = "codel" }
[reverse]
rate = "5 Mbit/s"
delay = "10 ms"
queue = "100 packets"
[probe]
interval = "100 ms"
size = "100 bytes"
[[udp]]
label = "video"
rate = "1 Mbit/s"
size = "1000 bytes"
[[flow]]
label = "late"
transport = "tcp"
controller = "cubic"
packet = { mss = "1256 bytes", overhead = "66 bytes" }
recovery = { ecn = "ect0" }
start = "1 s"
stop = "2 s"
[[flow]]
label = "short"
transport = "tcp"
controller = "tcp-reno"
packet = { mss = "1256 bytes", overhead = "66 bytes" }
recovery = { ecn = "ect0" }
transfer = "200 kB"
[table]
metrics = ["goodput of late", "completion of short", "ping_p50", "udp_throughput", "udp_loss", "loss"]
"#;

/// Staggered and limited flows next to UDP and a ping, marked by an AQM, with a reverse link.
#[test]
fn everything_that_goes() {
    let Some(_turn) = turn("everything_that_goes") else { return };
    timing("everything_that_goes", || {
        let dir = tempfile::tempdir().unwrap();
        let output = run(dir.path(), MIXED, &["--json"]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        check_series(&results(dir.path()));
        // Only the magnitude counts here, not the number.
        let factors = [
            ("completion of short", 2.0),
            ("udp_throughput", 1.05),
            ("ping_p50", 2.0),
            ("goodput of late", 2.0),
        ];
        alike(&output, &factors)
    });
}

/// Compares the means of a simulated run and of its run on the wire, each metric within a factor.
/// Returns also why that run is not valid.
fn alike(output: &Output, factors: &[(&str, f64)]) -> (Vec<String>, Result<(), String>) {
    let all: serde_json::Value = serde_json::from_str(&stdout(output)).unwrap();
    let rows = &all[0]["variants"][0]["rows"];
    let mean = |row: usize, metric: &str| rows[row]["cells"][metric]["mean"].as_f64();
    let differ = factors.iter().find_map(|(metric, factor)| {
        let (sim, wire) = (mean(0, metric).unwrap(), mean(1, metric).unwrap_or(0.0));
        let holds = wire > 0.0 && sim.max(wire) <= factor * sim.min(wire);
        (!holds).then(|| format!("{metric}: {sim} {wire}"))
    });
    (invalid_reasons(&rows[1]), differ.map_or(Ok(()), Err))
}

/// Checks that the series have rows of both flows on the wire, with something of everything.
fn check_series(folder: &Path) {
    let table = results::columns::read(&folder.join("series.parquet")).unwrap();
    let column = |name: &str| &table.iter().find(|column| column.name == name).unwrap().column;
    let Column::Text(rows) = column("row") else { panic!("rows are words") };
    let wire: Vec<usize> = (0..rows.len()).filter(|i| rows[*i].ends_with("(wire)")).collect();
    let Column::Int(flows) = column("flow") else { panic!("flows are numbers") };
    assert_eq!(wire.iter().map(|i| flows[*i]).collect::<std::collections::BTreeSet<_>>().len(), 2);
    for name in [
        "cwnd_bytes",
        "smoothed_rtt_ms",
        "latest_rtt_ms",
        "goodput_mbit_s",
        "queue_bytes",
        "ping_ms",
        "udp_mbit_s",
    ] {
        let has_some = |i: &usize| match column(name) {
            Column::Real(values) => !values[*i].is_nan(),
            Column::Count(values) => values[*i].is_some(),
            _ => false,
        };
        assert!(wire.iter().any(has_some), "{name}");
    }
}

/// A late flow on a link whose rate falls, with a ping and UDP that fill the queue to the end.
/// Nothing counts beyond the run, nothing ends early, and the steps come at their times.
#[test]
fn times_are_those_of_the_run() {
    let Some(_turn) = turn("times_are_those_of_the_run") else { return };
    let text = MIXED
        .replace("rate = \"5 Mbit/s\"\ndelay = \"10 ms\"\nqueue = \"2 BDP\"", "rate = [[\"0 s\", \"8 Mbit/s\"], [\"17 s\", \"2 Mbit/s\"]]\ndelay = \"10 ms\"\nqueue = \"400 packets\"")
        .replace("aqm = { name = \"codel\" }\n", "")
        .replace("rate = \"1 Mbit/s\"", "rate = \"3 Mbit/s\"")
        .replace("start = \"1 s\"\nstop = \"2 s\"", "start = \"15500 ms\"")
        .replace("duration = \"3 s\"", "duration = \"18 s\"");
    timing("times_are_those_of_the_run", || {
        let dir = tempfile::tempdir().unwrap();
        let output = run(dir.path(), &text, &["--json"]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let factors =
            [("goodput of late", 1.3), ("udp_throughput", 1.05), ("ping_mean", 1.5), ("ping_p99", 1.5)];
        alike(&output, &factors)
    });
}

#[test]
fn says_what_cannot_go() {
    let Some(_turn) = turn("says_what_cannot_go") else { return };
    let dir = tempfile::tempdir().unwrap();
    for (from, to, says) in [
        (
            "transport = \"tcp\"\ncontroller = { name = \"fixed-window\", window = 42 }\npacket = { mss = \"1448 bytes\", overhead = \"52 bytes\" }",
            "controller = \"cubic\"\npacket = { overhead = \"28 bytes\" }\nack = { jitter = \"1 ms\" }",
            "its receiver has jitter",
        ),
        ("{ name = \"fixed-window\", window = 42 }", "\"dstar\"", "the kernel has no dstar; use tcp-reno"),
        ("\"52 bytes\"", "\"40 bytes\"", "40 bytes of headers, but need at least 52"),
        ("\"1448 bytes\"", "\"1460 bytes\"", "a segment must have 88 to 1448 bytes, not 1460"),
        ("duration = \"4 s\"", "duration = \"11 min\"", "more than 600 s of real time"),
        ("12 Mbit/s", "900 Gbit/s", "packets, more than 5000000"),
    ] {
        let text = WINDOW.split("[[claim]]").next().unwrap();
        assert!(text.contains(from), "{from}");
        let output = run(dir.path(), &text.replacen(from, to, 1), &[]);
        assert_eq!(output.status.code(), Some(2), "{to}: {}", stdout(&output));
        let text = stderr(&output);
        assert!(text.contains("can run on the wire") && text.contains(says), "{says}: {text}");
        assert!(!dir.path().join("out").exists(), "{to}: nothing is written");
    }
}

/// A run that is killed leaves nothing, and the next one works in the same folder.
#[test]
fn survives_its_own_death() {
    let Some(_turn) = turn("survives_its_own_death") else { return };
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("x.toml"), WINDOW.replace("4 s", "60 s")).unwrap();
    let mut killed = Command::new(env!("CARGO_BIN_EXE_ackclock"))
        .current_dir(dir.path())
        .args(["run", "x.toml", "--on", "wire", "--out", "out"])
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    await_run(dir.path());
    killed.kill().unwrap();
    killed.wait().unwrap();
    let output = run(dir.path(), &WINDOW.replace("4 s", "2 s"), &[]);
    assert!(output.status.code().is_some_and(|code| code < 2), "{}", stderr(&output));
    // Only the finished folder is left. The unfinished one of the killed run was removed.
    assert!(results(dir.path()).join("summary.json").is_file());
}

/// Ctrl-C ends a run in real time at once, and leaves no results but the finished simulation.
#[test]
fn ends_at_an_interrupt() {
    let Some(_turn) = turn("ends_at_an_interrupt") else { return };
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("x.toml"), WINDOW.replace("4 s", "60 s")).unwrap();
    let child = Command::new(env!("CARGO_BIN_EXE_ackclock"))
        .current_dir(dir.path())
        .args(["run", "x.toml", "--on", "wire", "--out", "out"])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    await_run(dir.path());
    let began = Instant::now();
    interrupt(child.id());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    assert!(began.elapsed() < Duration::from_secs(45), "not the 59 s that are left");
    assert!(stderr(&output).contains("interrupted; one finished run is kept"), "{}", stderr(&output));
    let left = fs::read_dir(dir.path().join("out/x")).unwrap().map(|entry| entry.unwrap().file_name());
    let left: Vec<_> = left.collect();
    assert!(left.len() == 1 && left[0].to_string_lossy().starts_with(".runs-"), "{left:?}");
}

/// Waits until a run has begun: its folder is there, and a second of it has passed.
fn await_run(dir: &Path) {
    let has_begun = || fs::read_dir(dir.join("out/x")).is_ok_and(|mut e| e.next().is_some());
    let until = Instant::now() + Duration::from_secs(60);
    while !has_begun() {
        assert!(Instant::now() < until, "no run begins");
        thread::sleep(Duration::from_millis(50));
    }
    thread::sleep(Duration::from_secs(1));
}

/// Sends SIGINT. The shell has `kill` built in.
fn interrupt(pid: u32) {
    let sent = Command::new("sh").args(["-c", &format!("kill -INT {pid}")]).status().unwrap();
    assert!(sent.success());
}
