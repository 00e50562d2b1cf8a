//! Finds installed QUIC stacks, and installs one when the user asks for it.

use std::env;
use std::ffi::OsString;
use std::fs::{self, DirBuilder};
use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::emu::Identity;
use crate::emu::privilege::Way;

use super::manifest::{EndCommand, Sources, Stack};
use super::placeholders::{self, Placeholders};
use super::shipped::PROGRAMS;
use super::trust::Trust;
use crate::processes::error::Error;
use crate::processes::regular;

/// Environment variable with the folder in which programs are built. The default is
/// `ackclock/programs` in the user's cache.
const FOLDER_VARIABLE: &str = "ACKCLOCK_PROGRAMS";
/// Environment variable with the Python to use instead of `python3`.
const PYTHON_VARIABLE: &str = "ACKCLOCK_PYTHON";
/// Folders besides `PATH` in which distributions install servers.
const SBIN: [&str; 2] = ["/usr/sbin", "/usr/local/sbin"];
/// Maximum number of bytes read from a source file.
const MAX_SOURCE: u64 = 16 << 20;

/// A stack that is installed.
#[derive(Clone, Debug)]
pub struct Located {
    pub(crate) stack: Stack,
    placeholders: Placeholders,
    /// Folder of all programs, if this stack uses it.
    programs: Option<PathBuf>,
}

impl Stack {
    /// Looks for the stack. Writes nothing.
    ///
    /// # Errors
    /// [`Error::Missing`] with the command that installs the stack; a folder that other users may
    /// change.
    pub fn locate(&self) -> Result<Located, Error> {
        self.locate_in(programs_folder(|name| env::var_os(name)))
    }

    fn locate_in(&self, programs: Result<PathBuf, Error>) -> Result<Located, Error> {
        let programs = self.has_folder().then_some(programs).transpose()?;
        let placeholders = self.placeholders(programs.as_deref());
        match self.missing(&placeholders)? {
            None => {
                let located = Located { stack: self.clone(), placeholders, programs };
                located.check(located.folder().as_deref())?;
                Ok(located)
            }
            Some(what) => {
                let install = self.how_to_install(&placeholders)?;
                Err(Error::Missing { stack: self.name().to_owned(), what, install })
            }
        }
    }

    /// Installs the stack from its registry with the command of its manifest, and shows the output.
    /// Call this only at a user's request.
    ///
    /// # Errors
    /// A command that failed, or a stack that is still missing.
    pub fn install_now(&self) -> Result<Located, Error> {
        let programs = self.has_folder().then(|| programs_folder(|name| env::var_os(name))).transpose()?;
        let located =
            Located { stack: self.clone(), placeholders: self.placeholders(programs.as_deref()), programs };
        located.prepare()?;
        let command = self.filled(self.install(), &located.placeholders)?;
        // Other users may not change what this builds.
        let script = format!("umask 022; {command}");
        let status = Command::new("sh").args(["-c", &script]).stdin(Stdio::null()).status();
        let status = status.map_err(|e| Error::system(format_args!("run `{command}`"), e))?;
        if !status.success() {
            return Err(Error::System(format!("`{command}` failed ({status})")));
        }
        self.locate()
    }

    /// Returns the install command to show to a user. If sources must be written first, that is
    /// this crate's example.
    fn how_to_install(&self, placeholders: &Placeholders) -> Result<String, Error> {
        let needs_sources = !self.files().is_empty() && self.install().contains("{folder}");
        match self.sources {
            Sources::Embedded if needs_sources => {
                Ok(format!("cargo run -p ackclock-wire --example programs -- {}", self.name()))
            }
            _ => self.filled(self.install(), placeholders),
        }
    }

    /// Reports whether the stack has its own subfolder in the folder of all programs.
    fn has_folder(&self) -> bool {
        !self.files().is_empty() || self.texts().any(|text| text.contains("{folder}"))
    }

    /// Returns the placeholders that are the same for both ends.
    fn placeholders(&self, programs: Option<&Path>) -> Placeholders {
        let mut placeholders = Placeholders::from([
            ("python", env::var(PYTHON_VARIABLE).unwrap_or_else(|_| "python3".to_owned())),
            ("version", self.version().to_owned()),
        ]);
        if let Sources::Folder(folder) = &self.sources {
            let here = std::path::absolute(folder).unwrap_or_else(|_| folder.clone());
            placeholders.insert("here", here.display().to_string());
        }
        let folder = programs.map(|programs| programs.join(format!("{}-{}", self.name(), self.version())));
        placeholders.extend(folder.map(|folder| ("folder", folder.display().to_string())));
        placeholders
    }

    fn filled(&self, text: &str, placeholders: &Placeholders) -> Result<String, Error> {
        placeholders::fill(text, placeholders).map_err(|name| {
            Error::Manifest(format!("{}: placeholder {{{name}}} has no value here", self.name()))
        })
    }

    pub(super) fn contents(&self, from: &str) -> Result<Vec<u8>, Error> {
        match &self.sources {
            Sources::Embedded => {
                let file = PROGRAMS.get_file(from);
                let missing =
                    || Error::Manifest(format!("{}: {from} is not embedded in this program", self.name()));
                file.map(|file| file.contents().to_vec()).ok_or_else(missing)
            }
            Sources::Folder(folder) => {
                let path = folder.join(from);
                fs::read(&path).map_err(|e| Error::Manifest(format!("cannot read {}: {e}", path.display())))
            }
        }
    }

    /// Returns the first missing part of the stack.
    fn missing(&self, placeholders: &Placeholders) -> Result<Option<String>, Error> {
        let find = self.find();
        if let Some(name) = find.executables.iter().find(|name| executable(name).is_none()) {
            return Ok(Some(format!("the program {name}")));
        }
        if let Some(module) = &find.python {
            let wanted = self.version();
            return Ok(match python_has(&placeholders["python"], module) {
                Some(version) if version == wanted => None,
                Some(version) => {
                    Some(format!("{module} {wanted} of {}, which has {version}", placeholders["python"]))
                }
                None => Some(format!("{module} {wanted} of {}", placeholders["python"])),
            });
        }
        let file = find.file.as_ref().map(|file| self.filled(file, placeholders)).transpose()?;
        let missing = file.as_deref().map(Path::new).filter(|file| !file.exists());
        // The install command shows the folder.
        Ok(missing.and_then(Path::file_name).map(|name| format!("the file {}", name.display())))
    }
}

impl Located {
    /// Returns the stack.
    pub fn stack(&self) -> &Stack {
        &self.stack
    }

    fn folder(&self) -> Option<PathBuf> {
        self.programs.as_ref().and(self.placeholders.get("folder").map(PathBuf::from))
    }

    /// Writes the sources of the stack's program to its folder, where they differ, so that builds
    /// made from them stay valid.
    ///
    /// # Errors
    /// The error of the system call; a folder that other users may change.
    pub(crate) fn prepare(&self) -> Result<(), Error> {
        let (Some(programs), Some(folder)) = (&self.programs, self.folder()) else { return Ok(()) };
        for (to, from) in self.stack.files() {
            let (to, contents) = (folder.join(to), self.stack.contents(from)?);
            let failed = |e| Error::system(format_args!("write {}", to.display()), e);
            self.check(Some(&to))?;
            if same(&to, &contents) {
                continue;
            }
            let parent = to.parent().unwrap_or(&folder);
            DirBuilder::new().recursive(true).mode(0o755).create(parent).map_err(failed)?;
            self.check(Some(parent))?;
            let owner = fs::metadata(programs).map_err(failed)?.uid();
            if owner != Identity::own().uid() {
                return Err(Error::System(format!(
                    "{} is from another version, and uid {owner} owns {}: install {} again as that user",
                    to.display(),
                    programs.display(),
                    self.stack.name()
                )));
            }
            replace(&to, parent, &contents).map_err(failed)?;
        }
        Ok(())
    }

    /// Refuses a file below the folder of all programs if another user could have changed it.
    fn check(&self, path: Option<&Path>) -> Result<(), Error> {
        let (Some(programs), Some(path)) = (&self.programs, path) else { return Ok(()) };
        if !path.starts_with(programs) {
            return Ok(());
        }
        let owners = [0, Identity::own().uid(), Identity::of_caller(Way::Root)?.uid()];
        Trust { owners: &owners, variable: FOLDER_VARIABLE }.check(programs, path).map_err(Error::System)
    }

    /// Returns the command of an end. `placeholders` holds the placeholders of the run.
    ///
    /// # Errors
    /// A placeholder without a value for this end.
    pub(crate) fn command(&self, end: &EndCommand, placeholders: &Placeholders) -> Result<Command, Error> {
        let mut all = self.placeholders.clone();
        all.extend(placeholders.iter().map(|(name, value)| (*name, value.clone())));
        let fill = |text: &String| self.stack.filled(text, &all);
        let filled = end.command.iter().map(fill).collect::<Result<Vec<_>, _>>()?;
        let Some((program, arguments)) = filled.split_first() else {
            return Err(Error::Manifest(format!("{}: `command` needs a program", self.stack.name())));
        };
        filled.iter().try_for_each(|word| self.check(Some(Path::new(word))))?;
        let mut command = Command::new(executable(program).unwrap_or_else(|| program.into()));
        command.args(arguments);
        for (name, value) in &end.environment {
            command.env(name, fill(value)?);
        }
        Ok(command)
    }
}

/// Returns the folder of all programs. `get` reads a variable of the environment.
///
/// There is no default in the folder for temporary files: anybody could put a program there.
fn programs_folder(get: impl Fn(&str) -> Option<OsString>) -> Result<PathBuf, Error> {
    let get = |name: &str| get(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(folder) = get(FOLDER_VARIABLE) {
        return std::path::absolute(&folder)
            .map_err(|e| Error::system(format_args!("find the folder {}", folder.display()), e));
    }
    // A relative path is to be ignored (XDG Base Directory Specification).
    let absolute = |name: &str| get(name).filter(|path| path.is_absolute());
    let cache = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")));
    cache.map(|cache| cache.join("ackclock/programs")).ok_or_else(|| {
        Error::System(format!(
            "no folder for the programs of other stacks, because neither HOME nor XDG_CACHE_HOME is an absolute path: \
             set {FOLDER_VARIABLE}"
        ))
    })
}

/// Reports whether a file has these contents.
fn same(path: &Path, contents: &[u8]) -> bool {
    let mut found = Vec::new();
    let read = regular::open(path).and_then(|file| file.take(MAX_SOURCE).read_to_end(&mut found));
    read.is_ok() && found == contents
}

/// Replaces a file in one step. Does not write through a link.
fn replace(path: &Path, parent: &Path, contents: &[u8]) -> std::io::Result<()> {
    let mut file =
        tempfile::Builder::new().permissions(fs::Permissions::from_mode(0o644)).tempfile_in(parent)?;
    file.write_all(contents)?;
    file.persist(path).map(drop).map_err(|e| e.error)
}

/// Returns the path of a program. A name without a folder is searched for.
fn executable(name: &str) -> Option<PathBuf> {
    if name.contains('/') {
        return Path::new(name).exists().then(|| name.into());
    }
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = env::split_paths(&path).chain(SBIN.map(PathBuf::from));
    folders.map(|folder| folder.join(name)).find(|file| file.is_file())
}

/// Returns the version of a module, if this Python has it.
fn python_has(python: &str, module: &str) -> Option<String> {
    let code = format!("import {module}; print({module}.__version__)");
    // The current folder is not searched for modules.
    let output =
        Command::new(python).args(["-c", &code]).env("PYTHONSAFEPATH", "1").stderr(Stdio::null()).output();
    let output = output.ok().filter(|output| output.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stack(find: &str) -> Stack {
        let text = format!(
            "name = \"none\"\nversion = \"1\"\ninstall = \"install {{folder}}/x\"\ncontrollers = {{}}\n[find]\n{find}\n\
             [server]\ncommand = [\"sh\", \"{{port}}\"]\nenvironment = {{ A = \"{{version}}\" }}\n[client]\ncommand = [\"x\"]"
        );
        Stack::parse(&text, "none.toml", Sources::Embedded).unwrap()
    }

    fn folder(variables: &[(&str, &str)]) -> Result<PathBuf, Error> {
        programs_folder(|name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value))
        })
    }

    #[test]
    fn the_folder_is_named_or_in_the_users_cache_and_never_one_that_anybody_can_make() {
        for (variables, expected) in [
            (&[("HOME", "/home/a")][..], "/home/a/.cache/ackclock/programs"),
            (&[("HOME", "/home/a"), ("XDG_CACHE_HOME", "/cache")], "/cache/ackclock/programs"),
            (&[("HOME", "/home/a"), ("XDG_CACHE_HOME", "cache")], "/home/a/.cache/ackclock/programs"),
            (&[("HOME", "/home/a"), ("XDG_CACHE_HOME", "")], "/home/a/.cache/ackclock/programs"),
            (&[("HOME", "/home/a"), ("ACKCLOCK_PROGRAMS", "/p")], "/p"),
        ] {
            assert_eq!(folder(variables).unwrap(), Path::new(expected), "{variables:?}");
        }
        let relative = folder(&[("ACKCLOCK_PROGRAMS", "p")]).unwrap();
        assert!(relative.is_absolute() && relative.ends_with("p"), "{}", relative.display());
        for variables in
            [&[][..], &[("TMPDIR", "/tmp")], &[("HOME", ""), ("XDG_CACHE_HOME", "x")], &[("HOME", "x")]]
        {
            let why = folder(variables).unwrap_err().to_string();
            assert!(why.ends_with("set ACKCLOCK_PROGRAMS"), "{why}");
        }
    }

    /// A stack that needs no folder is found without one.
    #[test]
    fn a_folder_is_needed_only_for_what_is_in_it() {
        let none = || folder(&[]);
        let mut free = stack("executables = [\"sh\"]");
        assert!(free.locate_in(none()).is_err(), "its install command names the folder");
        free = Stack::parse(
            "name = \"none\"\nversion = \"1\"\ninstall = \"x\"\ncontrollers = {}\n[server]\ncommand = [\"x\"]\n[client]\ncommand = [\"x\"]",
            "none.toml",
            Sources::Embedded,
        )
        .unwrap();
        assert!(free.locate_in(none()).is_ok());
    }

    /// Looking for a stack writes nothing. A program that another user could have changed is not
    /// run, and nothing is written beside it.
    #[test]
    fn a_program_is_run_only_from_a_folder_that_nobody_else_can_change() {
        let text = "name = \"none\"\nversion = \"1\"\ninstall = \"x\"\ncontrollers = {}\nfiles = { \"src/a\" = \"a\" }\n\
             [find]\nfile = \"{folder}/bin/program\"\n[server]\ncommand = [\"{folder}/bin/program\"]\n[client]\ncommand = [\"x\"]";
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("a"), "source").unwrap();
        let stack = Stack::parse(text, "none.toml", Sources::Folder(dir.path().to_owned())).unwrap();
        let programs = dir.path().join("programs");
        let locate = || stack.locate_in(Ok(programs.clone()));
        assert!(matches!(locate().unwrap_err(), Error::Missing { .. }));
        assert!(!programs.exists(), "looking writes nothing");

        let program = programs.join("none-1/bin/program");
        fs::create_dir_all(program.parent().unwrap()).unwrap();
        fs::write(&program, "").unwrap();
        let mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        let folders = [&programs, &programs.join("none-1"), &programs.join("none-1/bin")];
        folders.iter().for_each(|folder| mode(folder, 0o755));
        mode(&program, 0o755);
        let located = locate().unwrap();
        located.prepare().unwrap();
        assert_eq!(fs::read(programs.join("none-1/src/a")).unwrap(), b"source");
        let run = |located: &Located| located.command(stack.server(), &Placeholders::new()).map(drop);
        run(&located).unwrap();

        for path in folders.into_iter().chain([&program]) {
            for open in [0o775, 0o757, 0o777] {
                mode(path, open);
                let why = run(&located).unwrap_err().to_string();
                assert!(why.contains(&format!("chmod go-w {}", path.display())), "{why}");
                mode(path, 0o755);
            }
            run(&located).unwrap();
        }
        mode(&programs, 0o777);
        fs::write(dir.path().join("a"), "newer").unwrap();
        assert!(located.prepare().is_err() && locate().is_err());
        assert_eq!(fs::read(programs.join("none-1/src/a")).unwrap(), b"source", "nothing was written");
        mode(&programs, 0o755);
        located.prepare().unwrap();
        assert_eq!(fs::read(programs.join("none-1/src/a")).unwrap(), b"newer");

        // A link is replaced, and what it leads to stays.
        let outside = dir.path().join("outside");
        fs::write(&outside, "precious").unwrap();
        fs::remove_file(programs.join("none-1/src/a")).unwrap();
        std::os::unix::fs::symlink(&outside, programs.join("none-1/src/a")).unwrap();
        located.prepare().unwrap();
        assert_eq!(fs::read(&outside).unwrap(), b"precious");

        if Identity::own().uid() != 0 || std::os::unix::fs::chown(&programs, Some(65_534), None).is_err() {
            println!("skipped: only root can give a folder to another user");
            return;
        }
        for why in [locate().unwrap_err(), run(&located).unwrap_err(), located.prepare().unwrap_err()] {
            let why = why.to_string();
            assert!(why.contains("uid 65534 owns it") && why.contains("ACKCLOCK_PROGRAMS"), "{why}");
        }
    }

    #[test]
    fn what_is_missing_is_named_with_the_command_that_installs_it() {
        for (find, what) in [
            ("executables = [\"sh\", \"no-such-program\"]", "the program no-such-program is missing"),
            ("file = \"{folder}/program\"", ": the file program is missing;"),
            ("python = \"no_such_module\"", "no_such_module 1 of "),
        ] {
            let why = stack(find).locate_in(Ok("/no/such/folder".into())).unwrap_err();
            let Error::Missing { stack, install, .. } = &why else { panic!("{why}") };
            assert_eq!(stack, "none");
            assert!(install.starts_with("install ") && install.ends_with("none-1/x"), "{install}");
            assert!(why.to_string().contains(what), "{why}");
        }
    }

    #[test]
    fn commands_are_filled_and_found() {
        let located = stack("executables = [\"sh\"]").locate_in(Ok("/no/such/folder".into())).unwrap();
        let placeholders = Placeholders::from([("port", "7000".to_owned())]);
        let command = located.command(located.stack().server(), &placeholders).unwrap();
        assert!(Path::new(command.get_program()).is_absolute());
        assert_eq!(command.get_args().collect::<Vec<_>>(), ["7000"]);
        assert!(command.get_envs().any(|(name, value)| name == "A" && value == Some("1".as_ref())));
        let why = located.command(located.stack().server(), &Placeholders::new()).unwrap_err();
        assert_eq!(why.to_string(), "none: placeholder {port} has no value here");
    }
}
