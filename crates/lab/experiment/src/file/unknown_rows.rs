//! Reads lists of tables, and handles tables that refer to unknown rows.

use crate::diagnostic::Diagnostic;
use crate::file::cursor::{Cursor, Fields};

/// Reads each table of an optional list.
pub(super) fn each<T>(
    root: &Fields<'_>,
    key: &str,
    unknown: UnknownRows,
    read: impl FnMut(&Cursor<'_>) -> Result<T, Diagnostic>,
) -> Result<Vec<T>, Diagnostic> {
    root.get(key).map_or(Ok(Vec::new()), |c| unknown.kept(c.tables()?.iter().map(read)))
}

/// Treatment of claims, known deviations and charts that refer to unknown rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UnknownRows {
    /// Report a mistake in the file.
    Refused,
    /// Drop them, because the rows differ from those of the file.
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
