//! The text of a file, and places in it.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// A text with the start of each line.
pub(crate) struct Text {
    text: String,
    starts: Vec<usize>,
}

impl Text {
    pub(crate) fn new(text: &str) -> Arc<Self> {
        let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Arc::new(Self { text: text.to_owned(), starts })
    }

    /// Returns a place in the text, extended to whole characters.
    pub(crate) fn place(self: &Arc<Self>, span: Range<usize>) -> Place {
        let start = boundary(&self.text, span.start);
        Place { text: Arc::clone(self), start, end: boundary(&self.text, span.end).max(start) }
    }

    /// Returns the line of a byte, counted from 0.
    fn line(&self, at: usize) -> usize {
        self.starts.partition_point(|start| *start <= at).saturating_sub(1)
    }
}

/// Returns the last character boundary at or before this byte.
pub(crate) fn boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

/// A span of a text.
#[derive(Clone)]
pub(crate) struct Place {
    text: Arc<Text>,
    start: usize,
    end: usize,
}

impl Place {
    /// Returns the line of the start, counted from 1.
    pub(crate) fn line(&self) -> usize {
        self.text.line(self.start) + 1
    }

    /// Returns the byte offset of the start.
    pub(crate) fn start(&self) -> usize {
        self.start
    }

    /// Returns the first line without its line end, and the span within it. Returns `None` if the
    /// place is the text as a whole.
    pub(crate) fn first_line(&self) -> Option<(&str, Range<usize>)> {
        let from = self.text.starts[self.text.line(self.start)];
        let line = self.text.text[from..].lines().next()?;
        let within = |at: usize| at.saturating_sub(from).min(line.len());
        (self.end > 0).then(|| (line, within(self.start)..within(self.end)))
    }
}

impl PartialEq for Place {
    fn eq(&self, other: &Self) -> bool {
        (self.start, self.end) == (other.start, other.end) && Arc::ptr_eq(&self.text, &other.text)
    }
}

impl Eq for Place {}

/// Omits the text, which is the whole file.
impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}", self.start, self.end)
    }
}
