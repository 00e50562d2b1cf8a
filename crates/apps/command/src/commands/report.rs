//! `ackclock report`: rebuilds the report from results folders.

use std::path::{Path, PathBuf};

use crate::commands::folders::load;
use crate::commands::run::conclusion;
use crate::status::{Error, HOLDS, print};

/// Writes the report and prints the conclusion.
pub(crate) fn run(dirs: &[PathBuf], out: &Path) -> Result<u8, Error> {
    let all = load(dirs)?;
    let page = report::write(out, "Ackclock", &all)
        .map_err(|e| Error::bad(format!("cannot write the report to {}: {e}", out.display())))?;
    print(&conclusion(&all));
    print(&format!("report: {}\n", page.display()));
    Ok(HOLDS)
}
