//! What is wrong with an input, said to a person: where, what, and what is right.

use std::fmt;

use crate::printable::printable;
use crate::snippet;
use crate::text::Place;

/// An error in an experiment file, a published table, a name on the command line.
///
/// `experiments/x.toml:12: link.quue: unknown key; did you mean "queue"? known: rate, delay, queue`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// The file, or the argument of the command line: `--set link.rate=20`.
    pub file: String,
    /// Line of the file, from 1, if one is to blame.
    pub line: Option<usize>,
    /// Dotted path of the key, empty if none is to blame: `flow.0.controller.beta`.
    pub key: String,
    /// What is wrong.
    pub wrong: String,
    /// What is right; empty if `wrong` says it.
    pub right: String,
    /// What of the file's text is to blame.
    blame: Option<Box<Blame>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Blame {
    place: Place,
    reach: Reach,
}

/// What else of a file a problem depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Nothing: an unknown key, a wrong unit.
    Value,
    /// Other keys of its table, like one that is missing.
    Table,
    /// Other tables.
    File,
}

impl Diagnostic {
    /// With a file as a whole.
    pub fn new(file: impl Into<String>, wrong: impl Into<String>, right: impl Into<String>) -> Self {
        let (wrong, right) = (wrong.into(), right.into());
        Self { file: file.into(), line: None, key: String::new(), wrong, right, blame: None }
    }

    /// The same on a line of the file.
    #[must_use]
    pub fn on_line(self, line: usize) -> Self {
        Self { line: Some(line), ..self }
    }

    /// The same at a place of the file's text.
    pub(crate) fn at_place(self, place: Place) -> Self {
        let line = Some(place.line());
        Self { line, blame: Some(Box::new(Blame { place, reach: Reach::File })), ..self }
    }

    /// The same, where it is clear what it depends on.
    pub(crate) fn reaching(mut self, reach: Reach) -> Self {
        self.blame.iter_mut().for_each(|blame| blame.reach = reach);
        self
    }

    /// What of the file's text is to blame.
    pub(crate) fn place(&self) -> Option<&Place> {
        self.blame.as_ref().map(|blame| &blame.place)
    }

    /// What else of the file it depends on.
    pub(crate) fn reach(&self) -> Reach {
        self.blame.as_ref().map_or(Reach::File, |blame| blame.reach)
    }

    /// The same with other words for what is right.
    pub(crate) fn with_right(self, right: impl Into<String>) -> Self {
        Self { right: right.into(), ..self }
    }

    /// The same without line: of a text that the user has not written.
    #[must_use]
    pub fn without_line(self) -> Self {
        Self { line: None, blame: None, ..self }
    }

    /// The message in one line, below it the line of the file with a caret under what is wrong. `columns` is the width of the screen;
    /// with `colour` it has escape codes.
    pub fn shown(&self, columns: usize, colour: bool) -> String {
        // Keys and words of a file may have several lines.
        let message = printable(&self.to_string()).replace('\n', "␊");
        match self.place().and_then(|place| snippet::draw(place, columns, colour)) {
            Some(drawn) => format!("{message}\n{drawn}"),
            None => message,
        }
    }

    /// The same at a key.
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

/// How many known names an error lists before it stops.
const LISTED: usize = 30;

/// `did you mean "queue"? known: rate, delay, queue`; the question only if something is near.
pub fn did_you_mean<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    let question = nearest(word, &known).map_or(String::new(), |name| format!("did you mean \"{name}\"? "));
    let more = if known.len() > LISTED { ", ..." } else { "" };
    format!("{question}known: {}{more}", known.iter().take(LISTED).copied().collect::<Vec<_>>().join(", "))
}

/// The known name that a typo most likely meant.
pub fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let (word, most) = (fold(word), (word.chars().count() / 3).max(1));
    let distance = |name: &str| {
        let name = fold(name);
        // A longer name that contains the word needs no typo at all.
        if word.len() >= 3 && name.contains(&word) { 1 } else { strsim::damerau_levenshtein(&word, &name) }
    };
    let near = known.iter().map(|name| (distance(name), *name)).min_by_key(|(distance, _)| *distance)?;
    (near.0 <= most).then_some(near.1)
}

/// Case, dashes and underscores are the commonest mistakes.
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
        assert_eq!(
            did_you_mean("raet", known),
            "did you mean \"rate\"? known: rate, queue, limit-counts, new-reno"
        );
    }
}
