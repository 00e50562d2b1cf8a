//! The program under test, and its logs of a rough path.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns the program under test. Without one, prints why the test is skipped.
pub fn program() -> Option<PathBuf> {
    let program = std::env::var_os("ACKCLOCK").map(PathBuf::from);
    if program.is_none() {
        println!("skipped: ACKCLOCK does not name a program");
    }
    program
}

/// The experiment with a rough path, relative to the folder where [`run`] runs.
pub const ROUGH: &str = "readers/rough.toml";

/// Runs the program in the repository's folder and returns its output.
pub fn run(program: &Path, arguments: &[&str]) -> String {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let out = Command::new(program).args(arguments).current_dir(repository).output().expect("a program");
    assert!(out.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).expect("UTF-8")
}

/// A log of one end of a flow.
#[allow(dead_code)] // not every test uses all fields
pub struct Log {
    /// The row in the table, named after the controller.
    pub row: String,
    pub path: PathBuf,
    pub bytes: Vec<u8>,
    /// The run's line of `runs.csv`.
    pub metrics: Metrics,
    pub is_far: bool,
}

#[allow(dead_code)]
impl Log {
    /// Returns the name of its vantage point.
    pub fn end(&self) -> String {
        format!("{}{}", self.row, if self.is_far { ", receiver" } else { "" })
    }
}

/// Values of a run, by name.
#[derive(Clone)]
pub struct Metrics(csv::StringRecord, csv::StringRecord);

#[allow(dead_code)]
impl Metrics {
    pub fn text(&self, name: &str) -> &str {
        let column = self.0.iter().position(|column| column == name).unwrap_or_else(|| panic!("no {name}"));
        &self.1[column]
    }

    pub fn number(&self, name: &str) -> f64 {
        self.text(name).parse().unwrap_or_else(|e| panic!("{name}: {e}"))
    }
}

/// Runs the rough path with logs in this format, and returns the logs. Returns `None` without a
/// program.
#[allow(dead_code)]
pub fn rough(format: &str) -> Option<(tempfile::TempDir, Vec<Log>)> {
    let program = program()?;
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().to_str().expect("UTF-8");
    run(&program, &["run", ROUGH, "--out", out, &format!("--qlog={format}")]);
    let results = only_folder(&only_folder(&folder.path().join("readers")));
    let mut runs = csv::Reader::from_path(results.join("runs.csv")).expect("runs.csv");
    let names = runs.headers().expect("names").clone();
    let runs: Vec<Metrics> = runs.records().map(|run| Metrics(names.clone(), run.expect("a run"))).collect();
    let mut logs = Vec::new();
    for file in std::fs::read_dir(results.join("qlog")).expect("qlog") {
        let path = file.expect("a file").path();
        let name = path.file_name().and_then(|name| name.to_str()).expect("UTF-8").to_owned();
        let Some((row, rest)) = name.split_once("--run0--flow0") else { continue };
        let metrics = runs.iter().find(|run| run.text("row") == row).expect("its run").clone();
        let (bytes, is_far) = (std::fs::read(&path).expect("a log"), rest.starts_with("-receiver"));
        logs.push(Log { row: row.to_owned(), path, bytes, metrics, is_far });
    }
    logs.sort_by(|a, b| a.path.cmp(&b.path));
    assert_eq!(logs.len(), 8, "both ends of four flows");
    Some((folder, logs))
}

fn only_folder(path: &Path) -> PathBuf {
    let entries = std::fs::read_dir(path).expect("a folder").map(|entry| entry.expect("an entry").path());
    let folders: Vec<PathBuf> = entries.filter(|path| path.is_dir()).collect();
    assert_eq!(folders.len(), 1, "{folders:?}");
    folders[0].clone()
}

/// Parses every record: a separator, one line of JSON, and a newline.
#[allow(dead_code)]
pub fn records(log: &[u8]) -> Vec<serde_json::Value> {
    let text = std::str::from_utf8(log).expect("UTF-8");
    let records = text.strip_prefix('\u{1e}').expect("a separator").split('\u{1e}');
    records.map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"))).collect()
}
