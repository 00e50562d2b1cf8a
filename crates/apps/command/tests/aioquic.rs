//! `--stack aioquic`: rows of a child process. Tests without Python or aioquic print `skipped:` and
//! the reason.
#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_methods, reason = "it watches a program in real time")]

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use stack::Stack;

const STUDY: &str = r#"
title = "study"
source = "a test"
transfer = "300 kB"
duration = "30 s"
repetitions = 2

[link]
rate = "10 Mbit/s"
delay = "10 ms"
queue = "1 BDP"
loss = "0.5 %"

[[flow]]

[vary]
"flow.controller" = ["new-reno", "cubic", "bbr3"]
"#;

fn study(dir: &Path, text: &str) -> String {
    let file = dir.join("study.toml");
    fs::write(&file, text).unwrap();
    file.to_str().unwrap().to_owned()
}

fn command(file: &str, out: &Path, more: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ackclock"));
    command.args(["run", file, "--on", "stack", "--stack", "aioquic", "--out", out.to_str().unwrap()]);
    command.args(more);
    command
}

fn said(output: &Output) -> (Option<i32>, String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

fn is_here() -> bool {
    let found = Stack::Aioquic.find();
    if let Err(why) = &found {
        println!("skipped: {why}");
    }
    found.is_ok()
}

/// Returns every file of the only results folder.
fn bytes(out: &Path) -> Vec<(String, Vec<u8>)> {
    let folders: Vec<_> = fs::read_dir(out.join("study")).unwrap().map(|e| e.unwrap().path()).collect();
    assert_eq!(folders.len(), 1, "{folders:?}");
    let files = fs::read_dir(&folders[0]).unwrap().map(|e| e.unwrap()).filter(|e| e.path().is_file());
    let mut files: Vec<_> =
        files.map(|e| (e.file_name().into_string().unwrap(), fs::read(e.path()).unwrap())).collect();
    files.sort();
    files
}

/// Each controller with a known name has a row, and the others are named. The bytes are the same on
/// one thread and on two.
#[test]
fn rows_beside_the_simulator() {
    if !is_here() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let file = study(dir.path(), STUDY);
    let outs = ["one", "two"].map(|name| dir.path().join(name));
    let (status, table, errors) = said(&command(&file, &outs[0], &["--jobs", "1", "-vv"]).output().unwrap());
    assert_eq!(status, Some(0), "{errors}");
    for row in ["new-reno (aioquic)", "cubic (aioquic)", "its own controllers of these names"] {
        assert!(table.contains(row), "{row}: {table}");
    }
    assert!(table.contains("Not on aioquic: bbr3 (bbr3 does not run in aioquic"), "{table}");
    let (status, _, errors) = said(&command(&file, &outs[1], &["--jobs", "2"]).output().unwrap());
    assert_eq!(status, Some(0), "{errors}");
    assert_eq!(bytes(&outs[0]), bytes(&outs[1]));
    let runs = bytes(&outs[0]).into_iter().find(|(name, _)| name == "runs.csv").unwrap();
    assert_eq!(String::from_utf8(runs.1).unwrap().lines().count(), 1 + 2 * (3 + 2), "two repetitions");
}

/// A child that dies is an error with its last line of output, and leaves no results.
#[test]
fn a_child_that_dies() {
    let dir = tempfile::tempdir().unwrap();
    let (file, out) = (study(dir.path(), STUDY), dir.path().join("out"));
    let python = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/impostor/python");
    let (status, _, errors) =
        said(&command(&file, &out, &[]).env("ACKCLOCK_PYTHON", python).output().unwrap());
    assert_eq!(status, Some(2), "{errors}");
    assert!(errors.contains("the aioquic process failed: it ended: MemoryError: all gone"), "{errors}");
    assert!(errors.contains("new-reno (aioquic)") || errors.contains("cubic (aioquic)"), "{errors}");
}

#[test]
fn without_python() {
    let dir = tempfile::tempdir().unwrap();
    let (file, out) = (study(dir.path(), STUDY), dir.path().join("out"));
    let (status, _, errors) =
        said(&command(&file, &out, &[]).env("ACKCLOCK_PYTHON", "/nowhere/python").output().unwrap());
    assert_eq!(status, Some(2), "{errors}");
    assert!(errors.contains("--stack aioquic: aioquic needs Python, but `/nowhere/python`"), "{errors}");
    assert!(errors.contains("-m pip install aioquic==1.7.2"), "{errors}");
    assert!(!out.exists());
}

/// Returns the child processes of a process.
fn children(parent: &Child) -> Vec<u32> {
    let tasks = fs::read_dir(format!("/proc/{}/task", parent.id())).unwrap().flatten();
    let of_task = |task: fs::DirEntry| fs::read_to_string(task.path().join("children")).unwrap_or_default();
    let ids: Vec<String> = tasks.map(of_task).collect();
    ids.iter().flat_map(|ids| ids.split_whitespace()).filter_map(|id| id.parse().ok()).collect()
}

fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !holds() {
        // The time is not a limit of speed. The machine may be busy.
        assert!(begin.elapsed() < Duration::from_secs(120), "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Whether the command is interrupted or killed, no child is left, neither running nor as a zombie.
#[test]
fn nothing_is_left_behind() {
    if !is_here() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let file = study(dir.path(), &STUDY.replace("300 kB", "30 MB"));
    for (signal, code) in [("-INT", Some(130)), ("-KILL", None)] {
        let out = dir.path().join(signal);
        let mut run = command(&file, &out, &["--jobs", "2"]).stderr(Stdio::null()).spawn().unwrap();
        // The first child only reports its version.
        let mut ids = Vec::new();
        wait_until("two runs", || {
            ids = children(&run);
            ids.len() == 2
        });
        let sent = Command::new("sh").args(["-c", &format!("kill {signal} {}", run.id())]).status().unwrap();
        assert!(sent.success());
        assert_eq!(run.wait().unwrap().code(), code);
        for id in ids {
            let is_running = |text: String| !text.contains("State:\tZ"); // its new parent has not looked yet
            let status = || fs::read_to_string(format!("/proc/{id}/status"));
            wait_until("no child", || !status().is_ok_and(is_running));
        }
    }
}
