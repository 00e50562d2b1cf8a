//! Lists of tables, and what happens to those that speak of rows which are not there.

use crate::diagnostic::Diagnostic;
use crate::file::cursor::{Cursor, Fields};

/// Reads each table of a list that may be absent.
pub(super) fn each<T>(
    root: &Fields<'_>,
    key: &str,
    unknown: UnknownRows,
    read: impl FnMut(&Cursor<'_>) -> Result<T, Diagnostic>,
) -> Result<Vec<T>, Diagnostic> {
    root.get(key).map_or(Ok(Vec::new()), |c| unknown.kept(c.tables()?.iter().map(read)))
}

/// What happens to claims, known deviations and charts that speak of rows which are not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UnknownRows {
    /// It is a mistake in the file.
    Refused,
    /// They are left out: the rows are others than those of the file.
    LeftOut,
}

impl UnknownRows {
    pub(super) fn kept<T>(
        self,
        all: impl Iterator<Item = Result<T, Diagnostic>>,
    ) -> Result<Vec<T>, Diagnostic> {
        match self {
            Self::Refused => all.collect(),
            Self::LeftOut => Ok(all.filter_map(Result::ok).collect()),
        }
    }
}
