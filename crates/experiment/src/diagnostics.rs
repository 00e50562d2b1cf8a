//! All that is wrong with a file.

use std::fmt;

use crate::diagnostic::Diagnostic;

/// As many are shown at most.
const SHOWN: usize = 20;

/// The width of what is shown without a screen.
const COLUMNS: usize = 80;

/// The problems of a file in the order of its lines, at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostics {
    all: Vec<Diagnostic>,
    /// There may be more.
    is_part: bool,
}

impl Diagnostics {
    /// `first` and these others.
    pub(crate) fn new(first: Diagnostic, others: impl IntoIterator<Item = Diagnostic>) -> Self {
        let mut all: Vec<Diagnostic> = std::iter::once(first).chain(others).collect();
        let file = all[0].file.clone();
        all.sort_by_key(|p| (p.file != file, p.line, p.place().map(crate::text::Place::start)));
        Self { all, is_part: false }
    }

    /// The same, where the search for more has been given up.
    pub(crate) fn given_up(self, is_part: bool) -> Self {
        Self { is_part, ..self }
    }

    /// These, if there are any.
    pub fn of(all: Vec<Diagnostic>) -> Option<Self> {
        let mut all = all.into_iter();
        all.next().map(|first| Self::new(first, all))
    }

    /// Each of them.
    pub fn all(&self) -> &[Diagnostic] {
        &self.all
    }

    /// The one on the first line.
    pub fn first(&self) -> &Diagnostic {
        &self.all[0]
    }

    /// The same without lines: of a text that the user has not written.
    #[must_use]
    pub fn without_lines(self) -> Self {
        Self { all: self.all.into_iter().map(Diagnostic::without_line).collect(), ..self }
    }

    /// The first of them as [`Diagnostic::shown`], and how many there are if there are several.
    pub fn shown(&self, columns: usize, colour: bool) -> String {
        let mut text: Vec<String> = self.all.iter().take(SHOWN).map(|p| p.shown(columns, colour)).collect();
        let file = &self.first().file;
        let least = if self.is_part { "at least " } else { "" };
        match self.all.len() {
            1 => {}
            n if n > SHOWN => text.push(format!("the first {SHOWN} of {least}{n} errors in {file}")),
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

/// Without colours.
impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown(COLUMNS, false))
    }
}

impl std::error::Error for Diagnostics {}
