//! The manifest of a stack: how to find and install it, and how to start its two ends.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::placeholders::{self, NAMES, Placeholders};
use crate::processes::error::Error;
use crate::processes::regular;

/// Largest manifest, in bytes.
const MAX_MANIFEST: u64 = 1 << 20;

/// Kind of the key in the server's certificate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KeyKind {
    /// Ed25519. All signatures have the same length, and so all handshakes have the same size.
    #[default]
    Ed25519,
    /// ECDSA with P-256, for stacks whose TLS library lacks Ed25519.
    P256,
}

/// Criteria that show that a stack is installed. Only the given ones are checked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Find {
    /// Programs in `PATH`, `/usr/sbin` or `/usr/local/sbin`.
    pub executables: Vec<String>,
    /// Python module whose `__version__` must equal the manifest's `version`.
    pub python: Option<String>,
    /// File that exists once the stack is installed.
    pub file: Option<String>,
}

/// Command that starts one end.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EndCommand {
    /// Program and arguments, with placeholders. No shell interprets them.
    pub command: Vec<String>,
    /// Environment variables, with placeholders.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    /// True if the program reads a line from standard input before it sends its first packet.
    /// Otherwise the program's startup time delays the flow.
    #[serde(default)]
    pub waits: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Manifest {
    name: String,
    version: String,
    #[serde(default)]
    about: String,
    install: String,
    #[serde(default)]
    certificate: KeyKind,
    qlog: Option<String>,
    #[serde(default)]
    files: BTreeMap<String, String>,
    #[serde(default)]
    find: Find,
    controllers: BTreeMap<String, String>,
    server: EndCommand,
    client: EndCommand,
}

/// Location of the files of a manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Sources {
    /// Embedded in this program.
    Embedded,
    /// In the folder of a manifest on disk.
    Folder(PathBuf),
}

/// A stack described by a manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stack {
    manifest: Manifest,
    pub(super) sources: Sources,
}

impl Stack {
    /// Parses a manifest.
    ///
    /// # Errors
    /// An invalid line or value.
    pub(super) fn parse(text: &str, name: &str, sources: Sources) -> Result<Self, Error> {
        let wrong = |why: String| Error::Manifest(format!("{name}: {why}"));
        let manifest: Manifest = toml::from_str(text).map_err(|e| wrong(e.to_string()))?;
        let stack = Self { manifest, sources };
        stack.check().map_err(wrong)?;
        Ok(stack)
    }

    /// Reads a user's manifest. The files that it names are relative to its folder.
    ///
    /// # Errors
    /// A file that cannot be read, or an invalid line or value.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let text = regular::read(path, MAX_MANIFEST)
            .map_err(|e| Error::Manifest(format!("cannot read {}: {e}", path.display())))?;
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new(".")).to_owned();
        Self::parse(&text, &path.display().to_string(), Sources::Folder(folder))
    }

    fn check(&self) -> Result<(), String> {
        let Manifest { name, version, files, server, client, .. } = &self.manifest;
        let plain = |word: &str| {
            let known = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
            !word.is_empty() && !word.starts_with('.') && word.chars().all(known)
        };
        if !plain(name) || !plain(version) {
            return Err("`name` and `version` name a folder: use letters, digits, `-`, `.` and `_`, and no leading `.`"
                .to_owned());
        }
        let below = |path: &String| {
            let parts = Path::new(path).components();
            !path.is_empty() && parts.into_iter().all(|part| matches!(part, std::path::Component::Normal(_)))
        };
        if let Some(file) = files.iter().flat_map(|(to, from)| [to, from]).find(|path| !below(path)) {
            return Err(format!("`{file}` in [files] must be a path below the folder"));
        }
        let all: Placeholders = NAMES.iter().map(|name| (*name, String::new())).collect();
        for text in self.texts() {
            placeholders::fill(text, &all).map_err(|name| {
                format!("unknown placeholder {{{name}}}; use one of {{{}}}", NAMES.join("}, {"))
            })?;
        }
        if server.command.is_empty() || client.command.is_empty() {
            return Err("`command` needs a program".to_owned());
        }
        Ok(())
    }

    /// Returns all texts that may have placeholders.
    pub(super) fn texts(&self) -> impl Iterator<Item = &String> {
        let ends = [&self.manifest.server, &self.manifest.client];
        let of_ends = ends.into_iter().flat_map(|end| end.command.iter().chain(end.environment.values()));
        of_ends
            .chain(self.manifest.find.file.iter())
            .chain(self.manifest.qlog.iter())
            .chain([&self.manifest.install])
    }

    /// Returns the name used in rows and on the command line.
    pub fn name(&self) -> &str {
        &self.manifest.name
    }

    /// Returns the version.
    pub fn version(&self) -> &str {
        &self.manifest.version
    }

    /// Returns a short description.
    pub fn about(&self) -> &str {
        &self.manifest.about
    }

    /// Returns our names of the stack's controllers.
    pub fn controllers(&self) -> impl Iterator<Item = &str> {
        self.manifest.controllers.keys().map(String::as_str)
    }

    /// Returns the stack's own name of a controller, given ours.
    ///
    /// # Errors
    /// A controller that the stack lacks. The message lists those that it has.
    pub fn controller(&self, ours: &str) -> Result<&str, Error> {
        self.manifest.controllers.get(ours).map(String::as_str).ok_or_else(|| {
            let known: Vec<&str> = self.controllers().collect();
            Error::Refused(format!(
                "{} has no `{ours}`; it has its own versions of {}",
                self.name(),
                known.join(", ")
            ))
        })
    }

    /// Returns the kind of certificate that the stack needs.
    pub fn certificate(&self) -> KeyKind {
        self.manifest.certificate
    }

    /// Returns the qlog path, with placeholders, or `None` if the stack writes no qlog.
    pub fn qlog(&self) -> Option<&str> {
        self.manifest.qlog.as_deref()
    }

    /// Returns the command of the server.
    pub fn server(&self) -> &EndCommand {
        &self.manifest.server
    }

    /// Returns the command of the client.
    pub fn client(&self) -> &EndCommand {
        &self.manifest.client
    }

    pub(super) fn find(&self) -> &Find {
        &self.manifest.find
    }

    pub(super) fn install(&self) -> &str {
        &self.manifest.install
    }

    pub(super) fn files(&self) -> &BTreeMap<String, String> {
        &self.manifest.files
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"
name = "mine"
version = "1"
install = "true"
controllers = { cubic = "kubik" }
server = { command = ["serve", "{port}"] }
client = { command = ["fetch", "{url}"], waits = true }
"#;

    fn parse(text: &str) -> Result<Stack, String> {
        Stack::parse(text, "mine.toml", Sources::Embedded).map_err(|e| e.to_string())
    }

    #[test]
    fn a_short_one() {
        let stack = parse(GOOD).unwrap();
        assert_eq!((stack.name(), stack.controller("cubic").unwrap()), ("mine", "kubik"));
        assert_eq!((stack.certificate(), stack.qlog()), (KeyKind::Ed25519, None));
        assert!(stack.client().waits && !stack.server().waits);
        let why = stack.controller("bbr3").unwrap_err().to_string();
        assert_eq!(why, "mine has no `bbr3`; it has its own versions of cubic");
    }

    #[test]
    fn mistakes_are_named() {
        for (from, to, word) in [
            ("{port}", "{prot}", "unknown placeholder {prot}; use one of {address}"),
            ("name = \"mine\"", "name = \"../mine\"", "`version` name a folder"),
            ("[\"fetch\", \"{url}\"]", "[]", "`command` needs a program"),
            ("version", "versoin", "unknown field `versoin`"),
            ("waits = true", "waits = 1", "mine.toml: "),
            (
                "install = \"true\"",
                "install = \"true\"\nfiles = { \"../x\" = \"y\" }",
                "`../x` in [files] must be",
            ),
        ] {
            let why = parse(&GOOD.replace(from, to)).unwrap_err();
            assert!(why.contains(word), "{why}");
        }
    }
}
