//! Limits of the shell: a write that is refused ends the command with a message.

use std::fs::{self, File};
use std::process::Command;

use super::{small, text, tree};

/// Beyond the limit of file sizes the command names the file, and leaves nothing half written.
#[test]
fn files_that_are_too_large() {
    let dir = tempfile::tempdir().unwrap();
    let file = small(dir.path(), "0.1");
    let (out, stdout) = (dir.path().join("out"), dir.path().join("stdout"));
    // 4 kB or 8 kB: shells differ in their unit.
    let shell = format!("ulimit -f 8 && exec {} \"$@\"", env!("CARGO_BIN_EXE_ackclock"));
    let run = |args: &[&str]| {
        let mut sh = Command::new("sh");
        sh.args(["-c", &shell, "sh"]).args(args).arg("--out").arg(&out);
        sh.stdout(File::create(&stdout).unwrap()).output()
    };
    if run(&["--version"]).is_err() {
        println!("skipped: this machine has no sh");
        return;
    }
    let results = format!("ackclock: cannot write results to {}", out.display());
    for args in [&["run", &file][..], &["run", &file, "--qlog"], &["run", &file, "--jobs", "1"]] {
        let done = run(args).unwrap();
        assert_eq!(done.status.code(), Some(2), "{args:?}: {}", done.status);
        let said = text(&done.stderr);
        assert!(said.contains(&results) && said.contains("File too large"), "{args:?}: {said}");
        let left: Vec<String> = tree(&out).into_iter().map(|(name, _)| name).collect();
        assert!(left.is_empty(), "{args:?}: {left:?}");
    }
    let schema = format!("ulimit -f 8 && exec {} schema", env!("CARGO_BIN_EXE_ackclock"));
    let mut sh = Command::new("sh");
    let done = sh.args(["-c", &schema]).stdout(File::create(&stdout).unwrap()).output().unwrap();
    assert_eq!(done.status.code(), Some(2), "{}", done.status);
    assert!(text(&done.stderr).contains("cannot write to standard output: File too large"));
    assert!(fs::metadata(&stdout).unwrap().len() <= 8192);
}
