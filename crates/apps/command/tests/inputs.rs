//! Inputs that are not regular files, and texts with control characters: each is refused with a
//! message, and none blocks the command.
#![cfg(target_os = "linux")]

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Command, Output, Stdio};

const GOOD: &str = "title = \"t\"\nduration = \"1 s\"\nlink = { rate = \"1 Mbit/s\", delay = \"5 ms\" }\n[[flow]]\ncontroller = \"cubic\"\n";

/// Exit status of `timeout` if it had to end the command.
const HUNG: i32 = 124;

fn command(dir: &Path, args: &[&str]) -> Command {
    let mut command = Command::new("timeout");
    command.arg("60").arg(env!("CARGO_BIN_EXE_ackclock")).args(args).current_dir(dir);
    command
}

fn plan(dir: &Path, name: &str) -> Output {
    command(dir, &["plan", name]).output().unwrap()
}

/// Returns the message about a file that is refused.
fn refused(dir: &Path, name: &str) -> String {
    let output = plan(dir, name);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_ne!(output.status.code(), Some(HUNG), "{name}");
    assert_eq!(output.status.code(), Some(2), "{said}");
    said
}

fn fifo(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

#[test]
fn what_is_no_file_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    fifo(&at("pipe"));
    fifo(&at("pipe.toml"));
    symlink("/dev/zero", at("zero.toml")).unwrap();
    fs::create_dir(at("folder.toml")).unwrap();
    let _socket = UnixListener::bind(at("socket.toml")).unwrap();
    File::create(at("large.toml")).unwrap().set_len(1 << 30).unwrap();
    fs::write(at("latin.toml"), b"title = \"t\"\nsource = \"caf\xe9\"\n").unwrap();
    for (name, says) in [
        ("pipe", "pipe: a pipe without a writer; start the writer first"),
        ("pipe.toml", "pipe.toml: a pipe without a writer; "),
        ("zero.toml", "zero.toml: a device, not a file; "),
        ("/dev/zero", "/dev/zero: a device, not a file; "),
        ("folder.toml", "folder.toml: folder contains no experiments; "),
        ("socket.toml", "socket.toml: a socket, not a file; "),
        ("large.toml", "large.toml: larger than 4 MiB; "),
        ("latin.toml", "latin.toml:2: not UTF-8: byte 0xe9 in column 14; save it as UTF-8"),
        ("none.toml", "none.toml: no such file; `ackclock list` shows the shipped experiments"),
    ] {
        let said = refused(dir.path(), name);
        assert!(said.starts_with(&format!("ackclock: {says}")), "{said}");
    }
}

#[test]
fn what_may_not_be_read_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("x.toml");
    fs::write(&file, GOOD).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o0)).unwrap();
    if File::open(&file).is_ok() {
        eprintln!("not tested: root may read every file");
        return;
    }
    assert_eq!(refused(dir.path(), "x.toml"), "ackclock: x.toml: no permission to read it\n");
}

/// Standard input as `-` and by its name, process substitution, and a named pipe with a writer are
/// read.
#[test]
fn pipes_with_a_writer_are_read() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["-", "/dev/stdin"] {
        let mut child = command(dir.path(), &["plan", name]);
        let mut child = child.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(GOOD.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{name}");
        assert!(String::from_utf8(output.stdout).unwrap().contains("\"duration_s\": 1.0"), "{name}");
    }
    fs::write(dir.path().join("good"), GOOD).unwrap();
    fifo(&dir.path().join("pipe"));
    for (shell, script) in [
        ("bash", "$0 plan <(cat good)"),
        ("sh", "cat good > pipe & $0 plan pipe"),
        ("sh", "$0 plan /dev/stdin < good"),
    ] {
        if Command::new(shell).args(["-c", "exit"]).status().is_err() {
            eprintln!("skipped: no {shell} here");
            continue;
        }
        // The writer may start after the reader. The reader then reports it, and is started again.
        let again = format!("for i in 1 2 3 4 5; do {script} && exit; sleep 0.2; done; exit 1");
        let mut command = Command::new("timeout");
        command.args(["60", shell, "-c", &again, env!("CARGO_BIN_EXE_ackclock")]);
        let output = command.current_dir(dir.path()).output().unwrap();
        assert!(output.status.success(), "{script}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn a_published_table_is_a_file() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("published")).unwrap();
    let published = "[published]\ntable = \"t.csv\"\nrows = [\"cca\"]\ncolumns = { jain = \"g\" }\n";
    fs::write(dir.path().join("x.toml"), format!("{GOOD}{published}")).unwrap();
    let table = dir.path().join("published/t.csv");
    fifo(&table);
    let said = refused(dir.path(), "x.toml");
    assert!(
        said.contains("x.toml:7: published.table: ") && said.contains("t.csv: a pipe without a writer"),
        "{said}"
    );
    fs::remove_file(&table).unwrap();
    fs::write(&table, b"cca,g\ncubic,\xff\n").unwrap();
    let said = refused(dir.path(), "x.toml");
    assert!(said.contains("t.csv:2: not UTF-8: byte 0xff in column 7"), "{said}");
}

/// A results folder with a pipe instead of a file does not block the command.
#[test]
fn results_are_files() {
    for (pipe, says) in [
        ("runs.csv", "runs.csv: not a regular file"),
        ("SHA256SUMS", "damaged results: SHA256SUMS: not a regular file"),
        ("manifest.toml", "manifest.toml: not a regular file"),
        ("summary.json", "summary.json is missing"),
    ] {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("x.toml"), GOOD).unwrap();
        assert!(command(dir.path(), &["run", "x.toml"]).output().unwrap().status.success());
        let id = fs::read_dir(dir.path().join("results/x")).unwrap().next().unwrap().unwrap().path();
        if pipe == "manifest.toml" {
            fs::remove_file(id.join("SHA256SUMS")).unwrap();
        }
        fs::remove_file(id.join(pipe)).unwrap();
        fifo(&id.join(pipe));
        for args in [&["report"][..], &["ledger", "results"], &["diff", "results", "results"]] {
            if pipe == "manifest.toml" && args[0] != "report" {
                // Without checksums nothing reads it.
                continue;
            }
            let output = command(dir.path(), args).output().unwrap();
            let said = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(2), "{pipe}: {said}");
            assert!(said.contains(says), "{said}");
        }
    }
}

const OBEYED: &str = "\u{1b}[2J\u{1b}[31m\u{1b}]0;x\u{7}\r\u{9b}\u{202e}";

/// Checks that the output has no control characters except line ends, tabs and the program's own
/// colours.
fn is_clean(output: &Output) {
    for text in [&output.stdout, &output.stderr] {
        let text = String::from_utf8(text.clone()).unwrap();
        let wrong = |c: char| experiment::printable::is_terminal_control(c);
        assert!(!text.contains(wrong), "{text:?}");
    }
}

/// Messages and the last lines repeat names of files and words of the command line.
#[test]
fn words_of_the_command_line_are_shown_and_not_obeyed() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("x.toml"), GOOD).unwrap();
    let bad = format!("bad{OBEYED}.toml");
    fs::write(dir.path().join(&bad), GOOD.replace("rate", "raet")).unwrap();
    let set = format!("flow.controller={OBEYED}");
    let out = format!("out{OBEYED}");
    for args in [
        &["run", &bad][..],
        &["plan", OBEYED],
        &["list", OBEYED],
        &["run", "x.toml", "--set", &set],
        &["run", "x.toml", "--out", &out],
        &["run", "x.toml", "-v", "--out", &out],
        &["run", "x.toml", "-vv", "--out", &out],
        &["report", &out],
        &["report", OBEYED],
        &["diff", &out, OBEYED],
        &["compare", "cubic", OBEYED, "--link", "rate=1 Mbit/s rtt=20 ms"],
        &["ledger", OBEYED],
    ] {
        is_clean(&command(dir.path(), args).output().unwrap());
    }
}

/// Texts of a file with control characters are refused, and shown with visible signs instead.
#[test]
fn texts_that_a_terminal_obeys_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let escaped = "\\u001b[2J\\u001b[31m\\u0007\\r\\u009b\u{202e}";
    let changes = [
        ("title = \"t\"", format!("title = \"{escaped}\"")),
        ("title = \"t\"", format!("title = \"t\"\nnote = \"{escaped}\"")),
        ("controller = \"cubic\"", format!("controller = \"cubic\"\nlabel = \"{escaped}\"")),
        (
            "controller = \"cubic\"",
            format!("controller = \"cubic\"\n[[claim]]\nid = \"a\"\nsays = \"{escaped}\""),
        ),
        ("title = \"t\"", format!("title = \"t\"\n\"{escaped}\" = 1")),
    ];
    for (from, to) in changes {
        fs::write(dir.path().join("x.toml"), GOOD.replacen(from, &to, 1)).unwrap();
        let output = command(dir.path(), &["run", "x.toml", "-vv"]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("the text contains the control character U+001B; remove it"), "{said}");
        is_clean(&output);
    }
}

/// Foreign results can contain texts that no file of this program produces.
#[test]
fn texts_of_results_that_a_terminal_obeys_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("x.toml"), GOOD).unwrap();
    assert!(command(dir.path(), &["run", "x.toml"]).output().unwrap().status.success());
    let id = fs::read_dir(dir.path().join("results/x")).unwrap().next().unwrap().unwrap().path();
    let summary = fs::read_to_string(id.join("summary.json")).unwrap();
    // Without its checksums the folder is read as it is.
    for file in fs::read_dir(&id).unwrap().map(|entry| entry.unwrap().path()) {
        if fs::read_to_string(&file).is_ok_and(|text| text.contains("  summary.json\n")) {
            fs::remove_file(file).unwrap();
        }
    }
    fs::write(id.join("summary.json"), summary.replacen("\"t\"", "\"\\u001b[31mt\"", 1)).unwrap();
    for args in [&["report"][..], &["ledger", "results"], &["diff", "results", "results"]] {
        let output = command(dir.path(), args).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            said.contains("summary.json: the text contains the control character U+001B"),
            "{args:?}: {said}"
        );
        is_clean(&output);
    }
}
