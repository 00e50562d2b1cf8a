//! The tasks as programs: exit status and messages.

use std::path::Path;
use std::process::Command;

/// Returns exit status, standard output and standard error of a task.
fn task(args: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_xtask")).args(args).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn prose_lists_every_number_with_its_origin() {
    let (status, listed, said) = task(&["prose"]);
    assert_eq!((status, said.as_str()), (Some(0), ""));
    for by in ["source: ", "file: ", "arithmetic: ", "ackclock run ", "ackclock ledger --columns="] {
        assert!(listed.contains(by), "{by}");
    }
}

#[test]
fn folders_without_results_are_refused() {
    let empty = tempfile::tempdir().unwrap();
    let (empty, missing) = (empty.path().to_str().unwrap(), empty.path().join("none"));
    let missing = missing.to_str().unwrap();
    for (args, message) in [
        (["prose", "--results", empty], "no results"),
        (["reproductions", "--check", empty], "no results"),
        (["reproductions", "--check", missing], "cannot read"),
    ] {
        let (status, _, said) = task(&args);
        assert!(
            status == Some(2) && said.starts_with("xtask: ") && said.contains(message),
            "{args:?}: {said}"
        );
    }
}

/// The default folder is the book's, wherever the task runs.
#[test]
fn help_names_the_pages() {
    let (status, help, _) = task(&["help", "reproductions"]);
    assert!(status == Some(0) && help.contains("docs/src/reproductions"), "{help}");
    assert!(!help.contains(Path::new(env!("CARGO_MANIFEST_DIR")).to_str().unwrap()), "{help}");
}
