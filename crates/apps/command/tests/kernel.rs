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
