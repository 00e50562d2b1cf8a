//! `ackclock run --on kernel` and `ackclock kernel`, as a user runs them. Needs root, /dev/net/tun
//! and a kernel that takes the programs.
#![cfg(kernel)]
#![allow(clippy::disallowed_methods)]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use kernel::testing::{Object, held_by, objects};
use wire::emu::testing::{Turn, skipped, turn};

/// Waits for the turn of a test. Returns `None`, and says so, where programs cannot be loaded.
fn kernel_turn(test: &str) -> Option<Turn> {
    match kernel::check() {
        Ok(()) => turn(test),
        Err(why) => {
            skipped(test, &why.to_string());
            None
        }
    }
}

/// Waits for something that takes a moment, longer on a busy machine.
fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let until = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < until, "not after 60 s: {what}");
        thread::sleep(Duration::from_millis(20));
    }
}

/// Ends the process also if its test fails.
struct Killed(Child);

impl Killed {
    fn kill(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Killed {
    fn drop(&mut self) {
        self.kill();
    }
}

fn ackclock(dir: &Path, arguments: &[&str]) -> Killed {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ackclock"));
    command.current_dir(dir).args(arguments).stdout(Stdio::null()).stderr(Stdio::null());
    Killed(command.spawn().unwrap())
}

fn is_available(name: &str) -> bool {
    let names = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap();
    names.split_whitespace().any(|known| known == name)
}

/// Number of sockets that use a controller, in all network namespaces.
fn sockets(name: &str) -> u32 {
    let loaded = kernel::loaded().unwrap();
    loaded.iter().filter(|loaded| loaded.name == name).map(|loaded| loaded.sockets).sum()
}

/// Network namespaces that a process in `/proc` has open, other than this one's.
fn namespaces(process: &str) -> BTreeSet<PathBuf> {
    let own = fs::read_link("/proc/self/ns/net").unwrap();
    let files = fs::read_dir(format!("/proc/{process}/fd")).into_iter().flatten().flatten();
    let found = files.filter_map(|file| fs::read_link(file.path()).ok());
    found.filter(|found| found.to_string_lossy().starts_with("net:") && *found != own).collect()
}

fn all_namespaces() -> BTreeSet<PathBuf> {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    processes.flat_map(|process| namespaces(&process.file_name().to_string_lossy())).collect()
}

/// Programs, maps, links and network namespaces of a process.
struct Traces(BTreeSet<Object>, BTreeSet<PathBuf>);

impl Traces {
    fn held_by(process: u32) -> Self {
        Self(held_by(process), namespaces(&process.to_string()))
    }

    /// Waits until nothing is left of them.
    fn assert_gone(&self) {
        for kind in ["prog_id", "map_id", "link_id"] {
            assert!(self.0.iter().any(|object| object.0 == kind), "{kind}: {:?}", self.0);
        }
        wait_until("no program, map and link", || objects().is_disjoint(&self.0));
        wait_until("no namespace", || all_namespaces().is_disjoint(&self.1));
    }
}

const UPLOADS: &str = r#"
title = "two uploads"
duration = "120 s"
[link]
rate = "10 Mbit/s"
delay = "50 ms"
queue = "1 BDP"
[[flow]]
count = 2
transport = "tcp"
packet = { mss = "1448 bytes", overhead = "52 bytes" }
controller = "cubic"
[table]
metrics = ["goodput"]
"#;

/// Connections of a run that is killed are reset. They hold their controller no longer than that.
#[test]
fn a_killed_run_leaves_nothing() {
    let Some(_turn) = kernel_turn("a_killed_run_leaves_nothing") else { return };
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("x.toml"), UPLOADS).unwrap();
    let mut run = ackclock(dir.path(), &["run", "x.toml", "--on", "kernel", "--out", "out"]);
    let name = format!("ack{}_0", run.0.id());
    wait_until("two connections", || is_available(&name) && sockets(&name) >= 2);
    thread::sleep(Duration::from_secs(1));
    let before = Traces::held_by(run.0.id());
    assert!(!before.1.is_empty(), "the emulator has namespaces of its own");
    run.kill();
    wait_until("no name", || !is_available(&name));
    wait_until("no socket", || sockets(&name) == 0);
    before.assert_gone();
}

const SHORT_QUEUE: &str = r#"
title = "a queue that slow start fills"
duration = "2 s"
[link]
rate = "10 Mbit/s"
delay = "10 ms"
queue = "8 packets"
[[flow]]
label = "endless"
transport = "tcp"
packet = { mss = "1448 bytes", overhead = "52 bytes" }
controller = "cubic"
[[flow]]
label = "short"
transport = "tcp"
packet = { mss = "1448 bytes", overhead = "52 bytes" }
controller = "tcp-reno"
transfer = "200 kB"
[table]
metrics = ["goodput"]
"#;

/// Values of TCP's qlog on the wire are those of the kernel's tracepoints. Each retransmission in
/// the emulator's packet log is a loss with a number and the source of its rule, in both dialects.
#[test]
fn qlog_of_tcp_on_the_wire_is_from_tracepoints() {
    let Some(_turn) = kernel_turn("qlog_of_tcp_on_the_wire_is_from_tracepoints") else { return };
    for (option, prefix) in [("--qlog", "recovery:"), ("--qlog=current", "quic:")] {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("x.toml"), SHORT_QUEUE).unwrap();
        let mut run = ackclock(dir.path(), &["run", "x.toml", "--on", "wire", "--out", "out", option]);
        // An invalid run has a log, too.
        assert!(run.0.wait().unwrap().code().is_some_and(|code| code < 2));
        let results = fs::read_dir(dir.path().join("out/x")).unwrap().next().unwrap().unwrap().path();
        let logs = fs::read_dir(results.join("qlog")).unwrap().map(|entry| entry.unwrap().path());
        let is_wire = |path: &PathBuf| path.to_string_lossy().contains("_wire_");
        let logs: Vec<PathBuf> = logs.filter(is_wire).collect();
        assert_eq!(logs.len(), 2);
        logs.iter().for_each(|path| check_log(&fs::read_to_string(path).unwrap(), prefix));
    }
}

fn check_log(text: &str, prefix: &str) {
    let records = text.split('\u{1e}').skip(1).map(|record| serde_json::from_str(record).unwrap());
    let records: Vec<serde_json::Value> = records.collect();
    let named = |end: &str| -> Vec<&serde_json::Value> {
        let has =
            |record: &&serde_json::Value| record["name"].as_str().is_some_and(|name| name.ends_with(end));
        records.iter().filter(has).collect()
    };
    let remarks = [named("generic:message"), named("loglevel:info")].concat();
    assert!(remarks[0]["data"]["message"].as_str().unwrap().contains("tracepoints"), "{remarks:?}");
    let (mut sent_until, mut repeats) = (0, 0);
    for packet in named("packet_sent") {
        let frame = &packet["data"]["frames"][0];
        let length = frame["length"].as_u64().or(frame["raw"]["length"].as_u64()).unwrap();
        let end = frame["offset"].as_u64().unwrap() + length;
        repeats += usize::from(end <= sent_until);
        sent_until = sent_until.max(end);
    }
    let lost = named(&format!("{prefix}packet_lost"));
    assert!(repeats > 0);
    assert_eq!(lost.len(), repeats);
    for loss in lost {
        let basis = loss["basis"].as_str().unwrap();
        assert!(basis.starts_with("by rule: ") || basis.starts_with("observed: "), "{basis}");
        assert!(loss["data"]["header"]["packet_number"].is_u64(), "{loss}");
    }
    // Only the tracepoints tell this, from the first segment on.
    let metrics = named("metrics_updated");
    assert!(metrics[0]["data"]["cc_app_limited"].is_number(), "{}", metrics[0]);
    assert_eq!(metrics[0]["data"]["congestion_window"], 10 * 1448, "{}", metrics[0]);
    let counted = metrics.iter().filter_map(|record| record["data"]["cc_retransmitted"].as_f64());
    let counted = counted.fold(0.0, f64::max) as usize;
    // The kernel counts the FIN, and what leaves after the run.
    assert!(counted.abs_diff(repeats) <= 1, "{counted} counted, {repeats} in the packet log");
}
