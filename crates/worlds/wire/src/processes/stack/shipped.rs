//! Stacks that are shipped with this crate, and the sources of their programs.

use include_dir::{Dir, include_dir};

use super::manifest::{Sources, Stack};
use crate::processes::error::Error;

static STACKS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/stacks");
pub(super) static PROGRAMS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/programs");

/// Returns all shipped stacks, sorted by name.
pub fn shipped() -> Vec<Stack> {
    let read = |file: &include_dir::File<'_>| {
        let name = file.path().display().to_string();
        let text = file.contents_utf8().unwrap_or_default();
        // A test checks that every shipped manifest is valid.
        Stack::parse(text, &name, Sources::Embedded).ok()
    };
    let mut all: Vec<Stack> = STACKS.files().filter_map(read).collect();
    all.sort_by(|a, b| a.name().cmp(b.name()));
    all
}

/// Returns the text of a shipped manifest, empty if there is none.
pub(super) fn manifest(name: &str) -> &'static str {
    STACKS.get_file(format!("{name}.toml")).and_then(|file| file.contents_utf8()).unwrap_or_default()
}

/// Returns the shipped stack with this name.
///
/// # Errors
/// An unknown name. The message lists the known ones.
pub fn stack(name: &str) -> Result<Stack, Error> {
    let all = shipped();
    let names: Vec<&str> = all.iter().map(Stack::name).collect();
    let unknown = Error::Refused(format!("unknown stack `{name}`; known stacks: {}", names.join(", ")));
    all.iter().find(|stack| stack.name() == name).cloned().ok_or(unknown)
}

#[cfg(test)]
mod tests {
    use congestion::Registry;

    use super::*;

    #[test]
    fn every_manifest_is_right_and_names_files_and_controllers_that_are_there() {
        assert_eq!(shipped().len(), STACKS.files().count());
        for file in STACKS.files() {
            let name = file.path().display().to_string();
            let stack = Stack::parse(file.contents_utf8().unwrap(), &name, Sources::Embedded).unwrap();
            assert_eq!(name, format!("{}.toml", stack.name()));
            for source in stack.files().values() {
                assert!(PROGRAMS.get_file(source).is_some(), "{name}: {source}");
            }
            for controller in stack.controllers() {
                assert!(Registry::default().get(controller).is_some(), "{name}: {controller}");
            }
        }
        assert_eq!(stack("quinn").unwrap().name(), "quinn");
        assert!(stack("quin").unwrap_err().to_string().contains("known stacks: aioquic, ngtcp2, noq"));
    }

    /// The manifest and the program's build files name the same version.
    #[test]
    fn versions_are_those_that_are_built() {
        let text = |path: &str| PROGRAMS.get_file(path).unwrap().contents_utf8().unwrap();
        for name in ["quinn", "noq", "s2n-quic"] {
            let version = stack(name).unwrap().version().to_owned();
            assert!(text(&format!("{name}/Cargo.toml.in")).contains(&format!("\"={version}\"")), "{name}");
            let locked = format!("name = \"{name}\"\nversion = \"{version}\"");
            assert!(text(&format!("{name}/Cargo.lock.in")).contains(&locked), "{name}");
        }
        let version = stack("quic-go").unwrap().version().to_owned();
        assert!(text("quic-go/go.mod").contains(&format!("quic-go v{version}")));
    }
}
