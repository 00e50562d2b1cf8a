//! Error messages about an input: where the problem is, what it is, and what to write instead.

use std::fmt;

use crate::printable::printable;
use crate::snippet;
use crate::text::Place;

/// An error in an experiment file, a published table, a name on the command line.
///
/// `experiments/x.toml:12: link.quue: unknown key; did you mean "queue"? known: rate, delay, queue`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// The file, or the command-line argument: `--set link.rate=20`.
    pub file: String,
    /// Line of the file, counted from 1, if a line is at fault.
    pub line: Option<usize>,
    /// Dotted path of the key, empty if no key is at fault: `flow.0.controller.beta`.
    pub key: String,
    /// The problem.
    pub wrong: String,
    /// The advice: what to write instead. Empty if `wrong` already says it.
    pub right: String,
    /// The part of the file's text that is at fault.
    blame: Option<Box<Blame>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Blame {
    place: Place,
    reach: Reach,
}

/// The parts of a file that a problem depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// The value alone: an unknown key, a wrong unit.
    Value,
    /// Other keys of the same table: a missing key.
    Table,
    /// Other tables.
    File,
}

impl Diagnostic {
    /// Creates a problem with a whole file.
    pub fn new(file: impl Into<String>, wrong: impl Into<String>, right: impl Into<String>) -> Self {
        let (wrong, right) = (wrong.into(), right.into());
        Self { file: file.into(), line: None, key: String::new(), wrong, right, blame: None }
    }

    /// Sets the line of the file.
    #[must_use]
    pub fn on_line(self, line: usize) -> Self {
        Self { line: Some(line), ..self }
    }

    /// Sets the place in the file's text.
    pub(crate) fn at_place(self, place: Place) -> Self {
        let line = Some(place.line());
        Self { line, blame: Some(Box::new(Blame { place, reach: Reach::File })), ..self }
    }

    /// Sets the part of the file that the problem depends on.
    pub(crate) fn reaching(mut self, reach: Reach) -> Self {
        self.blame.iter_mut().for_each(|blame| blame.reach = reach);
        self
    }

    /// Returns the part of the file's text that is at fault.
    pub(crate) fn place(&self) -> Option<&Place> {
        self.blame.as_ref().map(|blame| &blame.place)
    }

    /// Returns the part of the file that the problem depends on.
    pub(crate) fn reach(&self) -> Reach {
        self.blame.as_ref().map_or(Reach::File, |blame| blame.reach)
    }

    /// Replaces the advice.
    pub(crate) fn with_right(self, right: impl Into<String>) -> Self {
        Self { right: right.into(), ..self }
    }

    /// Removes the line, for a text that the user has not written.
    #[must_use]
    pub fn without_line(self) -> Self {
        Self { line: None, blame: None, ..self }
    }

    /// Renders the message on one line, followed by the line of the file with a caret under the
    /// problem. `columns` is the width of the screen. With `colour` the text has escape codes.
    pub fn shown(&self, columns: usize, colour: bool) -> String {
        // Keys and strings of a file may contain line breaks.
        let message = printable(&self.to_string()).replace('\n', "␊");
        match self.place().and_then(|place| snippet::draw(place, columns, colour)) {
            Some(drawn) => format!("{message}\n{drawn}"),
            None => message,
        }
    }

    /// Sets the key.
    #[must_use]
    pub fn at_key(self, key: impl Into<String>) -> Self {
        Self { key: key.into(), ..self }
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        if !self.key.is_empty() {
            write!(f, ": {}", self.key)?;
        }
        write!(f, ": {}", self.wrong)?;
        if !self.right.is_empty() {
            write!(f, "; {}", self.right)?;
        }
        Ok(())
    }
}

impl std::error::Error for Diagnostic {}

/// Most known names that an error lists.
const MAX_LISTED: usize = 30;

/// Suggests a known name: `did you mean "queue"? known: rate, delay, queue`. The question appears
/// only if a name is similar.
pub fn did_you_mean<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().filter(|name| !name.is_empty()).collect();
    let question = question(word, &known);
    if known.is_empty() {
        return question;
    }
    let more = if known.len() > MAX_LISTED { ", ..." } else { "" };
    format!(
        "{question}known: {}{more}",
        known.iter().take(MAX_LISTED).copied().collect::<Vec<_>>().join(", ")
    )
}

/// Asks whether a similar name was meant: `did you mean "queue"? `, with a space at the end. Empty if
/// no name is similar.
pub fn question(word: &str, known: &[&str]) -> String {
    nearest(word, known).map_or(String::new(), |name| format!("did you mean \"{name}\"? "))
}

/// Returns the known name most similar to a misspelt one.
pub fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let (word, most) = (fold(word), (word.chars().count() / 3).max(1));
    let distance = |name: &str| {
        let name = fold(name);
        // A longer name that contains the word counts as one typo.
        if word.len() >= 3 && name.contains(&word) { 1 } else { strsim::damerau_levenshtein(&word, &name) }
    };
    let near = known.iter().map(|name| (distance(name), *name)).min_by_key(|(distance, _)| *distance)?;
    (near.0 <= most).then_some(near.1)
}

/// Removes the most common differences: case, dashes, underscores.
fn fold(word: &str) -> String {
    word.trim().to_lowercase().replace(['_', ' '], "-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_like_a_compiler_message() {
        let problem = Diagnostic::new("x.toml", "unknown key", "did you mean \"queue\"?").on_line(12);
        assert_eq!(
            problem.clone().at_key("link.quue").to_string(),
            "x.toml:12: link.quue: unknown key; did you mean \"queue\"?"
        );
        assert_eq!(
            Diagnostic::new("x.toml", "the file is empty", "").to_string(),
            "x.toml: the file is empty"
        );
    }

    #[test]
    fn nearest_names() {
        let known = ["rate", "queue", "limit-counts", "new-reno"];
        for (word, name) in [("quue", "queue"), ("Limit_Counts", "limit-counts"), ("reno", "new-reno")] {
            assert_eq!(nearest(word, &known), Some(name));
        }
        assert_eq!(nearest("jitter", &known), None);
        assert_eq!(nearest("", &[]), None);
        assert_eq!((did_you_mean("x", [""]), did_you_mean("x", [])), (String::new(), String::new()));
        assert_eq!(
            did_you_mean("raet", known),
            "did you mean \"rate\"? known: rate, queue, limit-counts, new-reno"
        );
    }
}
