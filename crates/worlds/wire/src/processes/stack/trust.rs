//! Decides whether a program may be run: only this user, root, or the user that it runs as could
//! have changed it.

use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Mode bits that let the group or others write.
const WRITABLE: u32 = 0o022;

/// Rules for trusted files.
#[derive(Clone, Copy, Debug)]
pub(super) struct Trust<'a> {
    /// IDs of the users whose files are trusted.
    pub(super) owners: &'a [u32],
    /// Environment variable with which the user can choose another folder.
    pub(super) variable: &'a str,
}

impl Trust<'_> {
    /// Checks a folder, a path below it, and all folders between them. A missing file is no risk.
    ///
    /// # Errors
    /// A file or folder that is not trusted, and the remedy.
    pub(super) fn check(self, folder: &Path, path: &Path) -> Result<(), String> {
        let below = path.strip_prefix(folder).unwrap_or(Path::new(""));
        let mut at = folder.to_owned();
        self.check_one(&at, false)?;
        for part in below.components() {
            at.push(part);
            self.check_one(&at, true)?;
        }
        Ok(())
    }

    /// Checks one file or folder. The owner of a link is checked, too, except for the topmost path,
    /// which the user has chosen.
    fn check_one(self, path: &Path, link: bool) -> Result<(), String> {
        let refuse = |why: String| Err(format!("refusing to use {}: {why}", path.display()));
        let links = if link { found(fs::symlink_metadata(path)) } else { Ok(None) };
        let both = links.and_then(|link| Ok([link, found(fs::metadata(path))?]));
        let found = match both {
            Ok(found) => found,
            Err(e) => return refuse(e.to_string()),
        };
        if let Some(owner) =
            found.iter().flatten().map(MetadataExt::uid).find(|uid| !self.owners.contains(uid))
        {
            let variable = self.variable;
            return refuse(format!("uid {owner} owns it; set {variable} to a folder of your own"));
        }
        // The mode of a link itself has no meaning.
        match found[1].as_ref().map(|target| target.mode() & 0o7777).filter(|mode| mode & WRITABLE != 0) {
            Some(mode) => {
                let path = path.display();
                refuse(format!(
                    "its group or other users may write to it (mode {mode:o}); run `chmod go-w {path}`"
                ))
            }
            None => Ok(()),
        }
    }
}

/// Turns "no such file" into `None`.
fn found(metadata: io::Result<fs::Metadata>) -> io::Result<Option<fs::Metadata>> {
    match metadata {
        Ok(metadata) => Ok(Some(metadata)),
        Err(e) if matches!(e.kind(), ErrorKind::NotFound) => Ok(None),
        Err(e) => Err(e),
    }
}
