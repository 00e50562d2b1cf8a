//! Language of comments, names and pages, as far as a program can check it. CONTRIBUTING.md has the
//! rules.

use std::fs;
use std::path::{Path, PathBuf};

/// Words that no doc comment should start with.
const OPENINGS: [&str; 15] = [
    "What", "Of", "It", "Its", "Those", "That", "Who", "Whose", "Whom", "Where", "How", "Which", "Why",
    "Whatever", "None",
];
/// Percentage of doc comments that may start with them.
const MAX_OPENINGS: f64 = 2.0;
/// Columns of a line of a comment or of a Markdown file.
const MAX_COLUMNS: usize = 100;

fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let is_root = |folder: &&Path| folder.join("Cargo.lock").exists() && folder.join("docs").exists();
    here.ancestors().find(is_root).expect("the tests run in the repository").to_owned()
}

/// Returns the files of this extension in the repository.
fn files(extension: &str) -> Vec<(PathBuf, String)> {
    let (mut all, mut folders) = (Vec::new(), vec![root()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() {
                if !name.starts_with('.') && !["target", "results", "snapshots"].contains(&name.as_str()) {
                    folders.push(path);
                }
            } else if path.extension().is_some_and(|e| e == extension) {
                all.extend(fs::read_to_string(&path).ok().map(|text| (path, text)));
            }
        }
    }
    all.sort();
    all
}

/// Returns the first word of every doc comment, with the number of its line.
fn openings(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut before = "";
    for (number, line) in text.lines().enumerate() {
        let line = line.trim_start();
        let marker = ["///", "//!"].into_iter().find(|marker| line.starts_with(marker)).unwrap_or("");
        let words = line.strip_prefix(marker).unwrap_or("").trim();
        if !marker.is_empty() && marker != before && !words.is_empty() {
            let is_letter = |c: char| c.is_alphabetic() || c == '\'';
            let word = words.trim_start_matches(|c| !is_letter(c) && c != '`');
            found.push((number + 1, word.split(|c| !is_letter(c)).next().unwrap_or("").to_owned()));
        }
        before = marker;
    }
    found
}

#[test]
fn doc_comments_start_with_a_verb_or_a_noun() {
    let (mut all, mut bad) = (0, Vec::new());
    for (path, text) in files("rs") {
        for (line, word) in openings(&text) {
            all += 1;
            if OPENINGS.contains(&word.as_str()) {
                bad.push(format!("{}:{line}: {word}", path.display()));
            }
        }
    }
    assert!(all > 5000, "{all}");
    let percent = 100.0 * bad.len() as f64 / f64::from(all);
    assert!(percent < MAX_OPENINGS, "{percent:.1} % of {all} doc comments:\n{}", bad.join("\n"));
}

#[test]
fn no_function_is_called_of() {
    let name = ["fn", "of"].join(" ");
    for (path, text) in files("rs") {
        for (number, line) in text.lines().enumerate() {
            let found =
                line.match_indices(&name).any(|(at, _)| line[at + name.len()..].starts_with(['(', '<']));
            assert!(!found, "{}:{}: name what it returns", path.display(), number + 1);
        }
    }
}

/// Returns lines of prose that are too long. Tables, code, links and aligned text may be longer.
fn long(lines: impl Iterator<Item = (usize, String)>) -> Vec<usize> {
    let mut in_code = false;
    let mut found = Vec::new();
    for (number, line) in lines {
        let text = line.trim_start_matches(['/', '!', ' ']);
        in_code ^= text.starts_with("```");
        let is_free = in_code || text.starts_with('|') || text.contains("](") || text.contains("://");
        // Every second part is a code span.
        let prose: usize = line.split('`').step_by(2).map(|part| part.chars().count()).sum();
        if !is_free && prose > MAX_COLUMNS {
            found.push(number);
        }
    }
    found
}

#[test]
fn lines_of_prose_fit() {
    let mut bad = Vec::new();
    for (path, text) in files("rs") {
        let comments = text.lines().enumerate().filter(|(_, line)| line.trim_start().starts_with("//"));
        let found = long(comments.map(|(number, line)| (number + 1, line.to_owned())));
        bad.extend(found.into_iter().map(|line| format!("{}:{line}", path.display())));
    }
    for (path, text) in files("md").into_iter().filter(|(path, _)| !path.ends_with("CHANGELOG.md")) {
        let lines = text.lines().enumerate().filter(|(_, line)| !line.starts_with("    "));
        let found = long(lines.map(|(number, line)| (number + 1, line.to_owned())));
        bad.extend(found.into_iter().map(|line| format!("{}:{line}", path.display())));
    }
    assert!(bad.is_empty(), "more than {MAX_COLUMNS} columns:\n{}", bad.join("\n"));
}

#[test]
fn openings_are_found() {
    let text = "//! A page.\n\n/// What it is.\n/// Of no account.\nfn a() {}\n    /// `None` if empty.\n///\n/// Why.\n";
    let words: Vec<_> = openings(text).into_iter().map(|(_, word)| word).collect();
    assert_eq!(words, ["A", "What", ""]);
}
