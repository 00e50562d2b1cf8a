//! Rows of results: the label in the experiment's file, and the backend that ran it.

use std::cmp::Ordering;
use std::fmt::{self, Display};

use serde::{Deserialize, Serialize};

use crate::metric::AT;
use crate::place::Place;

/// Label of a row. Rows with equal texts are equal: no label in a file may end like the row of
/// another backend.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct RowLabel {
    text: String,
    in_file: String,
    backend: Place,
}

impl RowLabel {
    /// Creates the label of the file's row `in_file` on this backend: `QUIC-DC 10`, `QUIC-DC 10
    /// (wire)`.
    pub fn new(in_file: &str, backend: Place) -> Self {
        Self { text: format!("{in_file}{}", suffix(backend)), in_file: in_file.to_owned(), backend }
    }

    /// Returns the same row on another backend.
    #[must_use]
    pub fn on(&self, backend: Place) -> Self {
        Self::new(&self.in_file, backend)
    }

    /// Returns the text used in tables, JSON and patterns.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the label in the experiment's file and in the published table.
    pub fn in_file(&self) -> &str {
        &self.in_file
    }

    /// Returns the backend that ran the row.
    pub fn backend(&self) -> Place {
        self.backend
    }
}

/// Returns the suffix that marks rows of a backend.
fn suffix(backend: Place) -> String {
    match backend {
        Place::SIM => String::new(),
        other => format!(" ({})", other.word()),
    }
}

/// Returns the problem with a label that would be read as the row of another backend, or as a label
/// and a window.
pub(crate) fn reserved(label: &str) -> Option<String> {
    if label.contains(AT) {
        return Some(format!("label `{label}` has `{AT}`, which precedes the window in `goodput{AT}window`"));
    }
    let row = RowLabel::from(label.trim());
    let backend = Some(row.backend).filter(|backend| *backend != Place::SIM)?;
    let world = backend.world().word();
    Some(format!("label `{row}` is reserved for a row of `run --on {world}`"))
}

impl PartialOrd for RowLabel {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for RowLabel {
    fn cmp(&self, other: &Self) -> Ordering {
        self.text.cmp(&other.text)
    }
}

/// Parses a text of a file or a stored table.
impl From<&str> for RowLabel {
    fn from(text: &str) -> Self {
        let split = text.strip_suffix(')').and_then(|text| text.rsplit_once(" ("));
        let found = split.and_then(|(in_file, word)| Some((in_file, Place::named(word)?)));
        let (in_file, backend) =
            found.filter(|(_, backend)| *backend != Place::SIM).unwrap_or((text, Place::SIM));
        Self::new(in_file, backend)
    }
}

impl From<String> for RowLabel {
    fn from(text: String) -> Self {
        text.as_str().into()
    }
}

impl From<RowLabel> for String {
    fn from(row: RowLabel) -> Self {
        row.text
    }
}

impl Display for RowLabel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl AsRef<str> for RowLabel {
    fn as_ref(&self) -> &str {
        &self.text
    }
}

impl PartialEq for RowLabel {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for RowLabel {}

impl PartialEq<str> for RowLabel {
    fn eq(&self, text: &str) -> bool {
        self.text == text
    }
}

impl PartialEq<&str> for RowLabel {
    fn eq(&self, text: &&str) -> bool {
        self.text == *text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_lead_back_to_their_rows() {
        for backend in Place::ALL {
            let row = RowLabel::from(RowLabel::new("TCP 5", backend).as_str());
            assert_eq!((row.in_file(), row.backend()), ("TCP 5", backend));
        }
        assert_eq!(RowLabel::from("TCP 5").on(Place::WIRE).as_str(), "TCP 5 (wire)");
    }

    #[test]
    fn stored_as_its_text() {
        let stored = serde_json::to_string(&RowLabel::new("TCP 5", Place::WIRE)).unwrap();
        assert_eq!(stored, "\"TCP 5 (wire)\"");
        let read: RowLabel = serde_json::from_str(&stored).unwrap();
        assert_eq!(read.backend(), Place::WIRE);
    }
}
