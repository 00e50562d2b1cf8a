//! Wraps paragraphs to the width of a terminal, and colours words.

use std::fmt::Write;

use anstyle::{AnsiColor, Style};
use results::summary::{ClaimResult, Verdict};
use textwrap::core::display_width;

/// Text that is wrapped as it is added.
#[derive(Debug)]
pub struct Lines {
    text: String,
    width: usize,
}

impl Lines {
    /// Creates an empty text. Lines have at most `width` columns where words allow it.
    pub fn new(width: usize) -> Self {
        Self { text: String::new(), width }
    }

    /// Adds a paragraph after `lead`. Further lines are indented to the text. Control characters
    /// are removed, because a file may hold them.
    pub fn put(&mut self, lead: &str, text: &str) {
        let plain = plain(text).replace('\n', "");
        let indent = " ".repeat(display_width(lead));
        let options = textwrap::Options::new(self.width.max(display_width(lead) + 20))
            .initial_indent(lead)
            .subsequent_indent(&indent)
            .break_words(false);
        let _ = writeln!(self.text, "{}", textwrap::fill(&plain, options).trim_end());
    }

    /// Adds one line after `lead`. Longer text is cut and ends in an ellipsis.
    pub fn cut(&mut self, lead: &str, text: &str) {
        let plain = plain(text).replace('\n', "");
        let space = self.width.saturating_sub(display_width(lead));
        let line = match display_width(&plain) <= space {
            true => plain,
            false => {
                let mut used = 1;
                let fits = plain.chars().take_while(|c| {
                    used += textwrap::core::display_width(c.encode_utf8(&mut [0; 4]));
                    used <= space
                });
                fits.collect::<String>().trim_end().to_owned() + "…"
            }
        };
        self.line(&format!("{lead}{line}"));
    }

    /// Adds a line as it is.
    pub fn line(&mut self, line: &str) {
        let _ = writeln!(self.text, "{}", line.trim_end());
    }

    /// Returns the number of columns of a line.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Returns the whole text.
    pub fn into_text(self) -> String {
        self.text
    }
}

/// Removes control characters except line breaks.
pub(super) fn plain(text: &str) -> String {
    text.chars().filter(|c| *c == '\n' || !c.is_control()).collect()
}

/// Colours a word with escape codes. The printer removes them if the output shows no colours.
pub(super) fn paint(colour: AnsiColor, word: &str) -> String {
    let style: Style = colour.on_default();
    format!("{style}{word}{style:#}")
}

/// Returns the colour of a verdict.
pub(super) fn colour(verdict: Verdict) -> AnsiColor {
    match verdict {
        Verdict::Holds => AnsiColor::Green,
        Verdict::Missed => AnsiColor::Red,
        Verdict::Partly | Verdict::WithinSpread | Verdict::NotJudged => AnsiColor::Yellow,
    }
}

/// Returns the words for a verdict.
pub(crate) fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Holds => "holds",
        Verdict::Partly => "partly",
        Verdict::WithinSpread => "within the spread",
        Verdict::Missed => "missed",
        Verdict::NotJudged => "not judged",
    }
}

/// Returns the coloured verdict, padded to 8 columns. A `!` marks a claim that fails without a
/// recorded reason.
pub(super) fn short(claim: &ClaimResult) -> String {
    let bare = if claim.is_unexplained() { "!" } else { "" };
    paint(colour(claim.verdict), &format!("{:8}", format!("{}{bare}", word(claim.verdict))))
}
