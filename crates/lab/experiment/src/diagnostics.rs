//! All problems of a file.

use std::fmt;

use crate::diagnostic::Diagnostic;

/// Most problems that are shown.
const MAX_SHOWN: usize = 20;

/// Width of messages in columns, if there is no screen.
const COLUMNS: usize = 80;

/// The problems of a file, at least one, in the order of its lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostics {
    all: Vec<Diagnostic>,
    /// Whether the search stopped early, so that there may be more.
    is_incomplete: bool,
}

impl Diagnostics {
    /// Creates a list from `first` and other problems.
    pub(crate) fn new(first: Diagnostic, others: impl IntoIterator<Item = Diagnostic>) -> Self {
        let mut all: Vec<Diagnostic> = std::iter::once(first).chain(others).collect();
        let file = all[0].file.clone();
        all.sort_by_key(|p| (p.file != file, p.line, p.place().map(crate::text::Place::start)));
        Self { all, is_incomplete: false }
    }

    /// Sets whether the search for more problems stopped early.
    pub(crate) fn with_incomplete(self, is_incomplete: bool) -> Self {
        Self { is_incomplete, ..self }
    }

    /// Creates a list from these problems, or returns `None` if there are none.
    pub fn from_vec(all: Vec<Diagnostic>) -> Option<Self> {
        let mut all = all.into_iter();
        all.next().map(|first| Self::new(first, all))
    }

    /// Returns all problems.
    pub fn all(&self) -> &[Diagnostic] {
        &self.all
    }

    /// Returns the problem on the first line.
    pub fn first(&self) -> &Diagnostic {
        &self.all[0]
    }

    /// Removes the lines, for a text that the user has not written.
    #[must_use]
    pub fn without_lines(self) -> Self {
        Self { all: self.all.into_iter().map(Diagnostic::without_line).collect(), ..self }
    }

    /// Renders the first problems as [`Diagnostic::shown`] does, and their number if there are
    /// several.
    pub fn shown(&self, columns: usize, colour: bool) -> String {
        let mut text: Vec<String> =
            self.all.iter().take(MAX_SHOWN).map(|p| p.shown(columns, colour)).collect();
        let file = &self.first().file;
        let least = if self.is_incomplete { "at least " } else { "" };
        match self.all.len() {
            1 => {}
            n if n > MAX_SHOWN => text.push(format!("the first {MAX_SHOWN} of {least}{n} errors in {file}")),
            n => text.push(format!("{least}{n} errors in {file}")),
        }
        text.join("\n")
    }
}

impl From<Diagnostic> for Diagnostics {
    fn from(problem: Diagnostic) -> Self {
        Self::new(problem, [])
    }
}

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown(COLUMNS, false))
    }
}

impl std::error::Error for Diagnostics {}
