//! Pictures of the controllers for the book, from the report of `catalogue/pictures`.

use std::fs;
use std::path::Path;

use crate::{Checked, write as write_file};

/// Folder of the pictures.
const PICTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/src/images/algorithms");

/// Copies the figure of each controller to the book, under the controller's name. Complains of
/// controllers without one.
pub(crate) fn write(results: &Path) -> Checked {
    let folder = results.join("report/catalogue--pictures");
    let mut missing = Vec::new();
    for entry in congestion::Registry::default().iter() {
        let figure = format!("catalogue-pictures-line-time-controller-{}.svg", entry.name);
        match fs::read_to_string(folder.join(&figure)) {
            Ok(text) => write_file(&Path::new(PICTURES).join(format!("{}.svg", entry.name)), &text)?,
            Err(why) => missing.push(format!("{}: {why}", folder.join(figure).display())),
        }
    }
    Ok(missing)
}
