//! `ackclock new`: a crate for a controller or for a fork of a stack.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use experiment::input::open_regular;
use experiment::place::Place;

/// Files of the crate with their templates. `NAME` stands for the name of the controller.
const FILES: [(&str, &str); 3] = [
    ("Cargo.toml", include_str!("../../templates/controller/Cargo.toml.in")),
    ("src/main.rs", include_str!("../../templates/controller/main.rs")),
    ("experiment.toml", include_str!("../../templates/controller/experiment.toml")),
];
/// Files of the crate around a fork. `STACK` stands for the stack.
const STACK_FILES: [(&str, &str); 4] = [
    ("Cargo.toml", include_str!("../../templates/stack/Cargo.toml.in")),
    ("src/main.rs", include_str!("../../templates/stack/main.rs")),
    ("gate.toml", include_str!("../../templates/stack/gate.toml")),
    ("github.yml", include_str!("../../templates/stack/github.yml")),
];
/// Crates that a fork can replace, with their stacks and the versions that this program needs.
const FORKS: [(&str, &str, &str); 2] = [("quinn-proto", "quinn", "0.11.19"), ("noq-proto", "noq", "1.4.0")];
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
    /// A fork of quinn or noq, in a crate with the whole command around it, and as processes on the
    /// wire.
    Stack,
}

/// Arguments of `ackclock new`.
#[derive(Debug, Args)]
pub(crate) struct NewArgs {
    /// Thing to create.
    what: What,
    /// Name of the controller or stack, its crate and its folder: lower-case letters, digits, `-` and
    /// `_`.
    name: String,
    /// For a stack: the folder of the fork's quinn-proto or noq-proto, or of its repository.
    #[arg(long, value_name = "FOLDER")]
    fork: Option<PathBuf>,
}

/// Creates the folder. Returns the commands to try next.
///
/// # Errors
/// An invalid name, an existing folder, or an error of the file system.
pub(crate) fn run(args: &NewArgs) -> Result<String, String> {
    let NewArgs { what, name, fork } = args;
    check(name)?;
    let folder = Path::new(name);
    if folder.exists() {
        return Err(format!("`{name}` already exists; choose another name or remove it"));
    }
    let (files, next) = match (what, fork) {
        (What::Controller, None) => controller(name),
        (What::Controller, Some(_)) => {
            return Err("--fork: only a stack has a fork; write `new stack`".to_owned());
        }
        (What::Stack, Some(fork)) => stack(name, fork)?,
        (What::Stack, None) => {
            return Err("write the folder of the fork, like --fork ../quinn/quinn-proto".to_owned());
        }
    };
    for (file, text) in files {
        let path = folder.join(file);
        let written = path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(&path, text));
        written.map_err(|e| format!("cannot write {}: {e}", path.display()))?;
    }
    Ok(next)
}

/// Files with their contents, and the commands to try next.
type Made = (Vec<(PathBuf, String)>, String);

fn controller(name: &str) -> Made {
    let files = FILES.map(|(file, text)| (PathBuf::from(file), filled(text, name, "")));
    let next = format!(
        "{name}/src/main.rs is the controller, {name}/experiment.toml a first experiment:\n\n\
         \x20   cd {name}\n    cargo run --release -- run experiment.toml\n    cargo run --release -- algorithms {name}\n"
    );
    (files.to_vec(), next)
}

/// Makes the crate around a fork and, in a build with the wire, its manifest and program.
fn stack(name: &str, fork: &Path) -> Result<Made, String> {
    let (patched, stack, path) = patched(fork)?;
    let from = |up: &str| match path.is_absolute() {
        true => path.display().to_string(),
        false => Path::new(up).join(&path).display().to_string(),
    };
    let fill = |text: &str| {
        filled(text, name, ", features = [\"others\"]")
            .replace("PATCHED", patched)
            .replace("PATH", &format!("{:?}", from("..")))
            .replace("STACK", stack)
    };
    let files = STACK_FILES.map(|(file, text)| (PathBuf::from(file), fill(text))).to_vec();
    let next = format!(
        "{name}/Cargo.toml puts the fork into the command, {name}/gate.toml is a first experiment,\n\
         {name}/github.yml a workflow for pull requests:\n\n\
         \x20   cargo build --release --manifest-path {name}/Cargo.toml\n    \
         ./{name}/target/release/{name} conform {stack} --quick\n"
    );
    let (on_wire, then) = processes(name, stack, (patched, &from("../..")))?;
    Ok(([files, on_wire].concat(), next + &then))
}

/// Makes the manifest and the program of a fork.
#[cfg(wire)]
fn processes(name: &str, stack: &str, patch: (&str, &str)) -> Result<Made, String> {
    let files = wire::processes::stack::fork(stack, name, patch).map_err(|e| e.to_string())?;
    let next = format!(
        "\nOn the wire, {name}/wire.toml runs it as processes:\n\n\
         \x20   cargo build --release --manifest-path {name}/wire/Cargo.toml --target-dir {name}/wire/target\n    \
         ackclock conform ./{name}/wire.toml --quick\n"
    );
    Ok((files, next))
}

#[cfg(not(wire))]
fn processes(_: &str, _: &str, _: (&str, &str)) -> Result<Made, String> {
    Ok(Made::default())
}

/// Reads a regular file of at most a megabyte.
fn manifest(path: &Path) -> Option<String> {
    const MOST: u64 = 1 << 20;
    let mut text = String::new();
    open_regular(path).ok()?.take(MOST).read_to_string(&mut text).ok()?;
    Some(text)
}

/// Returns the crate that a fork replaces, its stack, and the crate's folder.
fn patched(fork: &Path) -> Result<(&'static str, &'static str, PathBuf), String> {
    let folders = FORKS.map(|(name, ..)| fork.join(name)).into_iter().chain([fork.to_owned()]);
    let found = folders.filter_map(|folder| Some((manifest(&folder.join("Cargo.toml"))?, folder)));
    for (text, folder) in found {
        let Ok(manifest) = text.parse::<toml::Table>() else { continue };
        let package = |key: &str| manifest.get("package")?.get(key)?.as_str();
        let Some((name, stack, version)) = FORKS.into_iter().find(|fork| package("name") == Some(fork.0))
        else {
            continue;
        };
        return match package("version").filter(|own| *own != version) {
            Some(own) => Err(format!(
                "--fork {}: {name} has version {own:?}, but this program needs {version}; write {version} there, or \
                 change the version in `[workspace.dependencies]` of your own copy of Ackclock",
                folder.display()
            )),
            None => Ok((name, stack, folder)),
        };
    }
    let names = FORKS.map(|(name, ..)| name).join(" or ");
    Err(format!("--fork {}: no {names} there; write the folder with its Cargo.toml", fork.display()))
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
    if Place::ALL.into_iter().any(|place| place.stack() == Some(name)) {
        return Err(format!("`{name}` is a shipped stack; choose another name, like {name}-fork"));
    }
    match crate::controllers::controllers().get(name) {
        Some(entry) => {
            let document = entry.doc.trim().trim_end_matches('.').split(" (").next().unwrap_or_default();
            Err(format!("controller `{name}` already exists ({document}); choose another name"))
        }
        None => Ok(()),
    }
}

/// Fills the names and the dependencies of a template. `features` are those of the command.
fn filled(text: &str, name: &str, own: &str) -> String {
    let crates = Path::new(SOURCES).ancestors().nth(2);
    let crates = crates.filter(|crates| crates.join("core/congestion/Cargo.toml").exists());
    let dependency = |folder: &str, features: &str| match crates {
        Some(crates) => format!("{{ path = {:?}{features} }}", crates.join(folder).display().to_string()),
        None => format!("{{ version = {:?}{features} }}", env!("CARGO_PKG_VERSION")),
    };
    text.replace("NAME", name)
        .replace("ACKCLOCK", &dependency("apps/command", &format!(", default-features = false{own}")))
        .replace("CONGESTION", &dependency("core/congestion", ", features = [\"serde\", \"testing\"]"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The versions are those of this workspace.
    #[test]
    fn versions_of_forks() {
        let manifest = fs::read_to_string(Path::new(SOURCES).join("../../../Cargo.toml")).unwrap();
        for (name, _, version) in FORKS {
            assert!(manifest.contains(&format!("{name} = {{ version = \"={version}\"")), "{name}");
        }
    }

    /// The book shows the same study and the same workflow.
    #[test]
    fn the_book_has_the_same_files() {
        for (file, page) in [("gate.toml", "test-a-fork"), ("github.yml", "gate-a-pull-request")] {
            let (_, text) = STACK_FILES.into_iter().find(|(name, _)| *name == file).unwrap();
            let text = text.replace("NAME", "gate").replace("STACK", "quinn");
            let own = text.split_inclusive('\n').filter(|line| !line.starts_with('#')).collect::<String>();
            let book = Path::new(SOURCES).join(format!("../../../docs/src/how-to/{page}.md"));
            assert!(fs::read_to_string(book).unwrap().contains(&own), "{file}");
        }
    }

    #[test]
    fn folders_of_forks() {
        let dir = tempfile::tempdir().unwrap();
        let write = |folder: &str, text: &str| {
            let folder = dir.path().join(folder);
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("Cargo.toml"), text).unwrap();
        };
        let found = |folder: &str| patched(&dir.path().join(folder)).map(|(name, stack, _)| (name, stack));
        write("a/quinn-proto", "[package]\nname = \"quinn-proto\"\nversion.workspace = true\n");
        write("a", "[workspace]\n");
        write("b", "[package]\nname = \"noq-proto\"\nversion = \"0.1.0\"\n");
        write("c", "[package]\nname = \"other\"\n");
        assert_eq!(
            [found("a"), found("a/quinn-proto")],
            [Ok(("quinn-proto", "quinn")), Ok(("quinn-proto", "quinn"))]
        );
        assert!(found("b").unwrap_err().contains("has version \"0.1.0\", but this program needs 1.4.0"));
        assert!(found("c").unwrap_err().contains("no quinn-proto or noq-proto there"));
        assert!(found("nowhere").is_err());
    }

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
            ("quinn", "is a shipped stack; choose another name, like quinn-fork"),
            ("fn", "taken by Rust"),
            ("ackclock-units", "taken by Rust"),
        ] {
            assert!(check(name).unwrap_err().contains(says), "{name}");
        }
    }
}
