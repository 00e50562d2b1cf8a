//! `ackclock new controller NAME`: a crate for a controller of one's own.

use std::fs;
use std::path::Path;

use clap::{Args, ValueEnum};

/// Files of the crate with their templates. `NAME` stands for the name of the controller.
const FILES: [(&str, &str); 3] = [
    ("Cargo.toml", include_str!("../../templates/controller/Cargo.toml.in")),
    ("src/main.rs", include_str!("../../templates/controller/main.rs")),
    ("experiment.toml", include_str!("../../templates/controller/experiment.toml")),
];
/// Folder of this program's sources, if it was built from a checkout.
const SOURCES: &str = env!("CARGO_MANIFEST_DIR");

/// Names that Cargo or Rust uses itself.
const TAKEN: &str = "build deps examples incremental alloc core proc_macro proc-macro std test abstract as async await become box \
    break const continue crate do dyn else enum extern false final fn for gen if impl in let loop macro match mod move mut override \
    priv pub ref return self static struct super trait true try type unsafe while";

/// Things that can be created.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum What {
    /// A congestion controller, in a crate with the whole command around it.
    Controller,
}

/// Arguments of `ackclock new`.
#[derive(Debug, Args)]
pub(crate) struct NewArgs {
    /// Thing to create.
    what: What,
    /// Name of the controller, its crate and its folder: lower-case letters, digits, `-` and `_`.
    name: String,
}

/// Creates the folder. Returns the commands to try next.
///
/// # Errors
/// An invalid name, an existing folder, or an error of the file system.
pub(crate) fn run(args: &NewArgs) -> Result<String, String> {
    let NewArgs { what: What::Controller, name } = args;
    check(name)?;
    let folder = Path::new(name);
    if folder.exists() {
        return Err(format!("`{name}` already exists; choose another name or remove it"));
    }
    for (file, text) in FILES {
        let path = folder.join(file);
        let written = path
            .parent()
            .map_or(Ok(()), fs::create_dir_all)
            .and_then(|()| fs::write(&path, filled(text, name)));
        written.map_err(|e| format!("cannot write {}: {e}", path.display()))?;
    }
    Ok(format!(
        "{name}/src/main.rs is the controller, {name}/experiment.toml a first experiment:\n\n\
         \x20   cd {name}\n    cargo run --release -- run experiment.toml\n    cargo run --release -- algorithms {name}\n"
    ))
}

fn check(name: &str) -> Result<(), String> {
    let first = name.chars().next().is_some_and(|c| c.is_ascii_lowercase());
    let rest = name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_');
    if !(first && rest) {
        return Err(format!(
            "invalid crate name `{name}`: use a lower-case letter followed by lower-case letters, digits, `-` or `_`"
        ));
    }
    if TAKEN.split(' ').any(|taken| taken == name) || name.starts_with("ackclock") {
        return Err(format!("`{name}` is taken by Rust, Cargo or this program; choose another name"));
    }
    match crate::controllers::controllers().get(name) {
        Some(entry) => {
            let document = entry.doc.trim().trim_end_matches('.').split(" (").next().unwrap_or_default();
            Err(format!("controller `{name}` already exists ({document}); choose another name"))
        }
        None => Ok(()),
    }
}

fn filled(text: &str, name: &str) -> String {
    let crates = Path::new(SOURCES).ancestors().nth(2);
    let crates = crates.filter(|crates| crates.join("core/congestion/Cargo.toml").exists());
    let dependency = |folder: &str, features: &str| match crates {
        Some(crates) => format!("{{ path = {:?}{features} }}", crates.join(folder).display().to_string()),
        None => format!("{{ version = {:?}{features} }}", env!("CARGO_PKG_VERSION")),
    };
    text.replace("NAME", name)
        .replace("ACKCLOCK", &dependency("apps/command", ", default-features = false"))
        .replace("CONGESTION", &dependency("core/congestion", ", features = [\"serde\", \"testing\"]"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        assert_eq!(check("mine"), Ok(()));
        assert_eq!(check("my_2nd-one"), Ok(()));
        for (name, says) in [
            ("Mine", "use a lower-case letter"),
            ("", "a lower-case letter"),
            ("../x", "a lower-case letter"),
            ("cubic", "controller `cubic` already exists (CUBIC: RFC 9438); choose another name"),
            ("deps", "taken by Rust"),
            ("fn", "taken by Rust"),
            ("ackclock-units", "taken by Rust"),
        ] {
            assert!(check(name).unwrap_err().contains(says), "{name}");
        }
    }
}
