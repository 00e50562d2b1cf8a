//! Is a stack on this machine? And how it gets there: on request alone.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::manifest::{EndCommand, Sources, Stack};
use super::shipped::PROGRAMS;
use super::words::{self, Words};
use crate::error::Error;

/// Where programs of ours are built, when it is not `ackclock/programs` in the user's cache.
const FOLDER_VARIABLE: &str = "ACKCLOCK_PROGRAMS";
/// Who begins Python when it is not `python3`.
const PYTHON_VARIABLE: &str = "ACKCLOCK_PYTHON";
/// Where distributions have servers, beside `PATH`.
const SBIN: [&str; 2] = ["/usr/sbin", "/usr/local/sbin"];

/// A stack that is on this machine.
#[derive(Clone, Debug)]
pub struct Located {
    pub(crate) stack: Stack,
    words: Words,
}

impl Stack {
    /// Looks for it. The sources of its program, if it has one of ours, are written to the folder where it would be built.
    ///
    /// # Errors
    /// [`Error::Missing`], which says the command that installs it; what the system refuses.
    pub fn locate(&self) -> Result<Located, Error> {
        let words = self.words();
        self.write_files(Path::new(&words["folder"]))?;
        match self.missing(&words)? {
            None => Ok(Located { stack: self.clone(), words }),
            Some(what) => {
                let install = self.filled(self.install(), &words)?;
                Err(Error::Missing { stack: self.name().to_owned(), what, install })
            }
        }
    }

    /// Installs it from its registry, by the one command of its manifest; what that prints is seen. Nobody but a user asks for this.
    ///
    /// # Errors
    /// That the command failed, or that the stack is not there afterwards.
    pub fn install_now(&self) -> Result<Located, Error> {
        let words = self.words();
        self.write_files(Path::new(&words["folder"]))?;
        let command = self.filled(self.install(), &words)?;
        let status = Command::new("sh").args(["-c", &command]).stdin(Stdio::null()).status();
        let status = status.map_err(|e| Error::system(format_args!("run `{command}`"), e))?;
        if !status.success() {
            return Err(Error::System(format!("`{command}` failed ({status})")));
        }
        self.locate()
    }

    /// The same of every end: where things are on this machine.
    fn words(&self) -> Words {
        let folder = folder().join(format!("{}-{}", self.name(), self.version()));
        Words::from([
            ("folder", folder.display().to_string()),
            ("python", env::var(PYTHON_VARIABLE).unwrap_or_else(|_| "python3".to_owned())),
            ("version", self.version().to_owned()),
        ])
    }

    fn filled(&self, text: &str, words: &Words) -> Result<String, Error> {
        words::fill(text, words)
            .map_err(|name| Error::Manifest(format!("{}: {{{name}}} stands for nothing here", self.name())))
    }

    /// Only what differs, so that what was built of it stays valid.
    fn write_files(&self, folder: &Path) -> Result<(), Error> {
        for (to, from) in self.files() {
            let (to, contents) = (folder.join(to), self.contents(from)?);
            if fs::read(&to).ok().as_ref() == Some(&contents) {
                continue;
            }
            let written =
                fs::create_dir_all(to.parent().unwrap_or(folder)).and_then(|()| fs::write(&to, &contents));
            written.map_err(|e| Error::system(format_args!("write {}", to.display()), e))?;
        }
        Ok(())
    }

    fn contents(&self, from: &str) -> Result<Vec<u8>, Error> {
        match &self.sources {
            Sources::Embedded => {
                let file = PROGRAMS.get_file(from);
                let missing = || Error::Manifest(format!("{}: {from} is not in this program", self.name()));
                file.map(|file| file.contents().to_vec()).ok_or_else(missing)
            }
            Sources::Folder(folder) => {
                let path = folder.join(from);
                fs::read(&path).map_err(|e| Error::Manifest(format!("cannot read {}: {e}", path.display())))
            }
        }
    }

    /// What of it is not there.
    fn missing(&self, words: &Words) -> Result<Option<String>, Error> {
        let find = self.find();
        if let Some(name) = find.executables.iter().find(|name| executable(name).is_none()) {
            return Ok(Some(format!("the program {name}")));
        }
        if let Some(module) = &find.python {
            let wanted = self.version();
            return Ok(match python_has(&words["python"], module) {
                Some(version) if version == wanted => None,
                Some(version) => {
                    Some(format!("{module} {wanted} of {}, which has {version}", words["python"]))
                }
                None => Some(format!("{module} {wanted} of {}", words["python"])),
            });
        }
        let file = find.file.as_ref().map(|file| self.filled(file, words)).transpose()?;
        let missing = file.as_deref().map(Path::new).filter(|file| !file.exists());
        // The command says in which folder.
        Ok(missing.and_then(Path::file_name).map(|name| format!("the file {}", name.display())))
    }
}

impl Located {
    /// The stack.
    pub fn stack(&self) -> &Stack {
        &self.stack
    }

    /// The command of an end; `words` are those of the run.
    ///
    /// # Errors
    /// A placeholder that this end has nothing for.
    pub(crate) fn command(&self, end: &EndCommand, words: &Words) -> Result<Command, Error> {
        let mut all = self.words.clone();
        all.extend(words.iter().map(|(name, value)| (*name, value.clone())));
        let fill = |text: &String| self.stack.filled(text, &all);
        let filled = end.command.iter().map(fill).collect::<Result<Vec<_>, _>>()?;
        let Some((program, arguments)) = filled.split_first() else {
            return Err(Error::Manifest(format!("{}: `command` needs a program", self.stack.name())));
        };
        let mut command = Command::new(executable(program).unwrap_or_else(|| program.into()));
        command.args(arguments);
        for (name, value) in &end.environment {
            command.env(name, fill(value)?);
        }
        Ok(command)
    }
}

fn folder() -> PathBuf {
    let of = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = || of("XDG_CACHE_HOME").or_else(|| Some(of("HOME")?.join(".cache")));
    let folder = of(FOLDER_VARIABLE).or_else(|| Some(cache()?.join("ackclock/programs")));
    folder.unwrap_or_else(|| env::temp_dir().join("ackclock-programs"))
}

/// Where a program is that a command names without a folder.
fn executable(name: &str) -> Option<PathBuf> {
    if name.contains('/') {
        return Path::new(name).exists().then(|| name.into());
    }
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = env::split_paths(&path).chain(SBIN.map(PathBuf::from));
    folders.map(|folder| folder.join(name)).find(|file| file.is_file())
}

/// The version of a module, if this Python has it.
fn python_has(python: &str, module: &str) -> Option<String> {
    let code = format!("import {module}; print({module}.__version__)");
    // The folder that this program runs in has no modules for it.
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

    #[test]
    fn what_is_missing_is_named_with_the_command_that_installs_it() {
        for (find, what) in [
            ("executables = [\"sh\", \"no-such-program\"]", "the program no-such-program is missing"),
            ("file = \"{folder}/program\"", "(the file program is missing)"),
            ("python = \"no_such_module\"", "no_such_module 1 of "),
        ] {
            let why = stack(find).locate().unwrap_err();
            let Error::Missing { stack, install, .. } = &why else { panic!("{why}") };
            assert_eq!(stack, "none");
            assert!(install.starts_with("install ") && install.ends_with("none-1/x"), "{install}");
            assert!(why.to_string().contains(what), "{why}");
        }
    }

    #[test]
    fn commands_are_filled_and_found() {
        let located = stack("executables = [\"sh\"]").locate().unwrap();
        let words = Words::from([("port", "7000".to_owned())]);
        let command = located.command(located.stack().server(), &words).unwrap();
        assert!(Path::new(command.get_program()).is_absolute());
        assert_eq!(command.get_args().collect::<Vec<_>>(), ["7000"]);
        assert!(command.get_envs().any(|(name, value)| name == "A" && value == Some("1".as_ref())));
        let why = located.command(located.stack().server(), &Words::new()).unwrap_err();
        assert_eq!(why.to_string(), "none: {port} stands for nothing here");
    }
}
