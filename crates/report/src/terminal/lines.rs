//! Paragraphs within the width of a terminal, and words in colour.

use std::fmt::Write;

use anstyle::{AnsiColor, Style};
use results::summary::{ClaimResult, Verdict};
use textwrap::core::display_width;

/// Text that is wrapped as it is written.
#[derive(Debug)]
pub struct Lines {
    text: String,
    /// Columns of a line.
    width: usize,
}

impl Lines {
    /// Nothing yet; lines of so many columns at most, where words allow it.
    pub fn new(width: usize) -> Self {
        Self { text: String::new(), width }
    }

    /// A paragraph behind `lead`; further lines begin below the text. Control characters, which a file may hold, are left out.
    pub fn put(&mut self, lead: &str, text: &str) {
        let plain: String = text.chars().filter(|c| !c.is_control()).collect();
        let indent = " ".repeat(display_width(lead));
        let options = textwrap::Options::new(self.width.max(display_width(lead) + 20))
            .initial_indent(lead)
            .subsequent_indent(&indent)
            .break_words(false);
        let _ = writeln!(self.text, "{}", textwrap::fill(&plain, options).trim_end());
    }

    /// The beginning of a paragraph behind `lead`, in one line, with a sign where there is more.
    pub fn cut(&mut self, lead: &str, text: &str) {
        let plain: String = text.chars().filter(|c| !c.is_control()).collect();
        let room = self.width.saturating_sub(display_width(lead));
        let line = match display_width(&plain) <= room {
            true => plain,
            false => {
                let mut used = 1;
                let fits = plain.chars().take_while(|c| {
                    used += textwrap::core::display_width(c.encode_utf8(&mut [0; 4]));
                    used <= room
                });
                fits.collect::<String>().trim_end().to_owned() + "…"
            }
        };
        self.line(&format!("{lead}{line}"));
    }

    /// A line as it is.
    pub fn line(&mut self, line: &str) {
        let _ = writeln!(self.text, "{}", line.trim_end());
    }

    /// Columns of a line.
    pub fn width(&self) -> usize {
        self.width
    }

    /// All of it.
    pub fn into_text(self) -> String {
        self.text
    }
}

/// A word in a colour, as escape codes; the printer takes them away where nobody sees colours.
pub(super) fn paint(colour: AnsiColor, word: &str) -> String {
    let style: Style = colour.on_default();
    format!("{style}{word}{style:#}")
}

/// The verdict's colour.
pub(super) fn colour(verdict: Verdict) -> AnsiColor {
    match verdict {
        Verdict::Holds => AnsiColor::Green,
        Verdict::Missed => AnsiColor::Red,
        Verdict::Partly | Verdict::WithinSpread | Verdict::NotJudged => AnsiColor::Yellow,
    }
}

/// The verdict in a word or three.
pub(super) fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Holds => "holds",
        Verdict::Partly => "partly",
        Verdict::WithinSpread => "within the spread",
        Verdict::Missed => "missed",
        Verdict::NotJudged => "not judged",
    }
}

/// The verdict in a column of 8, in colour, `!` behind it where nobody has said why.
pub(super) fn short(claim: &ClaimResult) -> String {
    let word = match claim.verdict {
        Verdict::WithinSpread | Verdict::NotJudged => "unclear",
        verdict => word(verdict),
    };
    let bare = if claim.is_unexplained() { "!" } else { "" };
    paint(colour(claim.verdict), &format!("{:8}", format!("{word}{bare}")))
}
