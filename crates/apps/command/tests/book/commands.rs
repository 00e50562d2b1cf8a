//! Command blocks of tutorials and how-to guides, which run as written unless they are marked.
//!
//! `cargo test -p ackclock --features full --test book -- --ignored` runs them.

use std::env;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::page::{Block, Page, book, pages};

/// Largest number of blocks that are not run.
const MAX_BY_HAND: usize = 17;
/// Packages that the Python programs of pages need.
const PACKAGES: &str = "polars, pandas, duckdb, pyarrow";

fn runnable() -> Vec<Page> {
    let folders = ["tutorials", "how-to"].map(|folder| book().join(folder));
    folders.iter().flat_map(|folder| pages(folder)).collect()
}

fn is_shell(block: &Block) -> bool {
    matches!(block.info.as_str(), "sh" | "bash" | "console")
}

#[test]
fn few_blocks_are_run_by_hand() {
    let pages = runnable();
    assert!(pages.len() >= 8, "{}", pages.len());
    let mut by_hand = Vec::new();
    for page in &pages {
        for block in page.blocks() {
            assert!(block.info != "console", "{}:{}: use `sh`, without a prompt", page.name(), block.line);
            if let Some(reason) = &block.by_hand {
                assert!(reason.len() > 3, "{}:{}: give a reason", page.name(), block.line);
                by_hand.push(format!("{}:{}: {reason}", page.name(), block.line));
            }
        }
    }
    assert!(by_hand.len() <= MAX_BY_HAND, "more than {MAX_BY_HAND}:\n{}", by_hand.join("\n"));
}

/// Returns a folder whose `python3` has the packages, or `None` if no Python has them.
fn python(scratch: &Path) -> Option<PathBuf> {
    let python = env::var("ACKCLOCK_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let code = format!("import sys, {PACKAGES}; print(sys.executable)");
    let output = Command::new(python).args(["-c", &code]).output().ok()?;
    let found = output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())?;
    let folder = scratch.join("python");
    fs::create_dir(&folder).unwrap();
    // A script and not a link: a virtual environment knows itself by the path of its program.
    let script = folder.join("python3");
    fs::write(&script, format!("#!/bin/sh\nexec '{found}' \"$@\"\n")).unwrap();
    fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    Some(folder)
}

#[test]
#[ignore = "takes minutes: CI runs it"]
fn commands_run_as_written() {
    let scratch = tempfile::tempdir().unwrap();
    let bin = scratch.path().join("bin");
    fs::create_dir(&bin).unwrap();
    symlink(env!("CARGO_BIN_EXE_ackclock"), bin.join("ackclock")).unwrap();
    let python = python(scratch.path());
    if python.is_none() {
        println!("skipped: blocks with python3, since no Python has {PACKAGES}");
    }
    let mut failed = Vec::new();
    for page in runnable() {
        let name = page.path.file_stem().unwrap().to_string_lossy().into_owned();
        let folder = scratch.path().join(&name);
        fs::create_dir(&folder).unwrap();
        let path = python.iter().chain([&bin]).map(|folder| folder.display().to_string());
        let path = path.chain(env::var("PATH")).collect::<Vec<_>>().join(":");
        for block in page.blocks() {
            let failure = run(&block, &folder, &path, python.is_some());
            failed.extend(failure.map(|why| format!("{}:{}: {why}", page.name(), block.line)));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// Writes the file of a block, or runs its commands. Returns what failed.
fn run(block: &Block, folder: &Path, path: &str, has_python: bool) -> Option<String> {
    if let Some((_, file)) = block.info.split_once(",file=") {
        let path = folder.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, &block.text).unwrap();
        return None;
    }
    let needs_python = block.text.contains("python3");
    if !is_shell(block) || block.by_hand.is_some() || (needs_python && !has_python) {
        return None;
    }
    let mut shell = Command::new("bash");
    shell.args(["-euo", "pipefail", "-c", &block.text]).current_dir(folder).env("PATH", path);
    let output = shell.env("NO_COLOR", "1").output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    (!output.status.success()).then(|| format!("{}\n{}\n{said}", output.status, block.text))
}
