//! A manifest and a program for a fork of a shipped stack.

use std::path::{Path, PathBuf};

use toml::{Table, Value};

use super::manifest::Stack;
use super::shipped::{manifest, stack};
use crate::processes::error::Error;

/// Folder of the program, beside the manifest.
const FOLDER: &str = "wire";

/// Returns the files of a stack named `name`: the manifest `wire.toml`, and the program of the
/// shipped stack `of` with its crate `patched` taken from `path`, which is relative to the program.
///
/// # Errors
/// An unknown stack, or one whose program is not Rust.
pub fn fork(of: &str, name: &str, (patched, path): (&str, &str)) -> Result<Vec<(PathBuf, String)>, Error> {
    let stack = stack(of)?;
    let mut files = Vec::new();
    for (to, from) in stack.files() {
        let contents = stack.contents(from)?;
        let mut text = String::from_utf8_lossy(&contents).into_owned();
        match to.as_str() {
            // The patch changes it.
            "Cargo.lock" => continue,
            "Cargo.toml" => text += &format!("\n[patch.crates-io]\n{patched} = {{ path = {path:?} }}\n"),
            _ => {}
        }
        files.push((Path::new(FOLDER).join(to), text));
    }
    files.push((PathBuf::from("wire.toml"), manifest_of(&stack, name)?));
    Ok(files)
}

/// Returns the shipped manifest, with the program beside it.
fn manifest_of(stack: &Stack, name: &str) -> Result<String, Error> {
    let wrong = |e: &dyn std::fmt::Display| Error::Manifest(format!("{}: {e}", stack.name()));
    let beside = format!("{{here}}/{FOLDER}/target");
    let text = manifest(stack.name()).replace("{folder}/target", &beside);
    let mut table: Table = text.parse().map_err(|e: toml::de::Error| wrong(&e))?;
    let install =
        format!("cargo build --release --manifest-path {{here}}/{FOLDER}/Cargo.toml --target-dir {beside}");
    table.insert("name".to_owned(), name.into());
    table.insert("about".to_owned(), format!("A fork of {}", stack.name()).into());
    table.insert("install".to_owned(), Value::String(install));
    table.remove("files");
    toml::to_string(&table).map_err(|e| wrong(&e))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The manifest is valid, and its program lies beside it.
    #[test]
    fn a_fork_of_each_rust_stack() {
        for of in ["quinn", "noq"] {
            let files = fork(of, "mine", ("proto", "../fork")).unwrap();
            let dir = tempfile::tempdir().unwrap();
            for (path, text) in &files {
                let path = dir.path().join(path);
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(path, text).unwrap();
            }
            let read = Stack::read(&dir.path().join("wire.toml")).unwrap();
            assert_eq!(read.name(), "mine");
            let why = read.locate().unwrap_err().to_string();
            let here = dir.path().display();
            assert!(why.contains(&format!("--manifest-path {here}/wire/Cargo.toml")), "{why}");
            let cargo = files.iter().find(|(path, _)| path.ends_with("Cargo.toml")).unwrap();
            assert!(cargo.1.contains("proto = { path = \"../fork\" }"), "{}", cargo.1);
        }
    }
}
