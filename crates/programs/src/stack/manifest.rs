//! What is written of a stack: how it is found and installed, how its two ends begin.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::words::{self, NAMES, Words};
use crate::error::Error;

/// Which key the server's certificate has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KeyKind {
    /// Ed25519: signatures of one length, so that handshakes have one number of bytes.
    #[default]
    Ed25519,
    /// ECDSA with P-256, for stacks whose TLS has no Ed25519.
    P256,
}

/// How a stack is found. What is not given is not looked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Find {
    /// Programs in `PATH`, in `/usr/sbin` or in `/usr/local/sbin`.
    pub executables: Vec<String>,
    /// A module of Python with an attribute `__version__` that is the manifest's `version`.
    pub python: Option<String>,
    /// A file that is there once the stack is installed.
    pub file: Option<String>,
}

/// How one end begins.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EndCommand {
    /// The program and its arguments, with placeholders. No shell reads them.
    pub command: Vec<String>,
    /// Variables of its environment, with placeholders.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    /// It reads a line from its standard input before it sends its first packet. Without it, the time that the program takes to begin
    /// is part of what a flow begins late.
    #[serde(default)]
    pub waits: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
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

/// Where the files of a manifest are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Sources {
    /// In this program.
    Embedded,
    /// Below the folder of a manifest on disk.
    Folder(PathBuf),
}

/// A stack, as its manifest has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stack {
    text: Text,
    pub(super) sources: Sources,
}

impl Stack {
    /// Reads a manifest.
    ///
    /// # Errors
    /// Which line or word is wrong.
    pub(super) fn parse(text: &str, name: &str, sources: Sources) -> Result<Self, Error> {
        let wrong = |why: String| Error::Manifest(format!("{name}: {why}"));
        let text: Text = toml::from_str(text).map_err(|e| wrong(e.to_string()))?;
        let stack = Self { text, sources };
        stack.check().map_err(wrong)?;
        Ok(stack)
    }

    /// Reads a manifest of a user's own; the files that it names are beside it.
    ///
    /// # Errors
    /// That it cannot be read, and which line or word is wrong.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let text = std::fs::read_to_string(path)
            .map_err(|e| Error::Manifest(format!("cannot read {}: {e}", path.display())))?;
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        Self::parse(&text, &path.display().to_string(), Sources::Folder(folder))
    }

    fn check(&self) -> Result<(), String> {
        let Text { name, version, files, server, client, .. } = &self.text;
        let plain = |word: &str| {
            let known = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
            !word.is_empty() && !word.starts_with('.') && word.chars().all(known)
        };
        if !plain(name) || !plain(version) {
            return Err("`name` and `version` are letters, digits, `-`, `.` and `_`: a folder is called so"
                .to_owned());
        }
        let below = |path: &String| {
            let parts = Path::new(path).components();
            !path.is_empty() && parts.into_iter().all(|part| matches!(part, std::path::Component::Normal(_)))
        };
        if let Some(file) = files.iter().flat_map(|(to, from)| [to, from]).find(|path| !below(path)) {
            return Err(format!("`{file}` of [files] leaves its folder"));
        }
        let all: Words = NAMES.iter().map(|name| (*name, String::new())).collect();
        for text in self.texts() {
            words::fill(text, &all).map_err(|name| {
                format!("{{{name}}} stands for nothing; there are {{{}}}", NAMES.join("}, {"))
            })?;
        }
        if server.command.is_empty() || client.command.is_empty() {
            return Err("`command` needs a program".to_owned());
        }
        Ok(())
    }

    /// Everything that may have placeholders.
    pub(super) fn texts(&self) -> impl Iterator<Item = &String> {
        let ends = [&self.text.server, &self.text.client];
        let of_ends = ends.into_iter().flat_map(|end| end.command.iter().chain(end.environment.values()));
        of_ends.chain(self.text.find.file.iter()).chain(self.text.qlog.iter()).chain([&self.text.install])
    }

    /// Its name in rows and on the command line.
    pub fn name(&self) -> &str {
        &self.text.name
    }

    /// Its version.
    pub fn version(&self) -> &str {
        &self.text.version
    }

    /// What it is, in a few words.
    pub fn about(&self) -> &str {
        &self.text.about
    }

    /// Its controllers, by our names.
    pub fn controllers(&self) -> impl Iterator<Item = &str> {
        self.text.controllers.keys().map(String::as_str)
    }

    /// What it calls a controller of ours.
    ///
    /// # Errors
    /// That it has none of this name, and which it has.
    pub fn controller(&self, ours: &str) -> Result<&str, Error> {
        self.text.controllers.get(ours).map(String::as_str).ok_or_else(|| {
            let known: Vec<&str> = self.controllers().collect();
            Error::Refused(format!(
                "{} has no {ours}: of ours it has {}, in versions of its own",
                self.name(),
                known.join(", ")
            ))
        })
    }

    /// Which certificate it needs.
    pub fn certificate(&self) -> KeyKind {
        self.text.certificate
    }

    /// Where it writes qlog, with placeholders; `None` where it writes none.
    pub fn qlog(&self) -> Option<&str> {
        self.text.qlog.as_deref()
    }

    /// How its server begins.
    pub fn server(&self) -> &EndCommand {
        &self.text.server
    }

    /// How its client begins.
    pub fn client(&self) -> &EndCommand {
        &self.text.client
    }

    pub(super) fn find(&self) -> &Find {
        &self.text.find
    }

    pub(super) fn install(&self) -> &str {
        &self.text.install
    }

    pub(super) fn files(&self) -> &BTreeMap<String, String> {
        &self.text.files
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
        assert_eq!(why, "mine has no bbr3: of ours it has cubic, in versions of its own");
    }

    #[test]
    fn mistakes_are_named() {
        for (from, to, word) in [
            ("{port}", "{prot}", "{prot} stands for nothing; there are {address}"),
            ("name = \"mine\"", "name = \"../mine\"", "a folder is called so"),
            ("[\"fetch\", \"{url}\"]", "[]", "`command` needs a program"),
            ("version", "versoin", "unknown field `versoin`"),
            ("waits = true", "waits = 1", "mine.toml: "),
            (
                "install = \"true\"",
                "install = \"true\"\nfiles = { \"../x\" = \"y\" }",
                "`../x` of [files] leaves",
            ),
        ] {
            let why = parse(&GOOD.replace(from, to)).unwrap_err();
            assert!(why.contains(word), "{why}");
        }
    }
}
