//! Size and layout of a printed chart, and the part of the run that it draws.

use std::str::FromStr;

use serde::{Deserialize, Serialize};
use units::{Duration, split_number};

/// Width of a column of a paper, in mm: the default.
const COLUMN: f64 = 84.0;
/// Size of the text in points: the default. The smallest numbers then have 7.
const TEXT: f64 = 9.0;
/// Points in a millimetre.
pub const POINTS: f64 = 72.0 / 25.4;
/// Smallest width of a chart, in sizes of its text. A narrower one has no room for its labels.
const NARROWEST: f64 = 20.0;

/// Position of a chart's legend.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Legend {
    #[default]
    Top,
    Bottom,
    Right,
    None,
}

impl Legend {
    /// Words used in files and on the command line.
    pub const WORDS: [(&str, Self); 4] =
        [("top", Self::Top), ("bottom", Self::Bottom), ("right", Self::Right), ("none", Self::None)];
}

impl FromStr for Legend {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = Self::WORDS.iter().find(|(word, _)| *word == text);
        known.map(|(_, legend)| *legend).ok_or_else(|| format!("unknown legend `{text}`"))
    }
}

/// Size, legend and part of the run of a chart. `None` where nothing was asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct Print {
    /// Start of the part of the run that is drawn, from the start of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<Duration>,
    /// End of the part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<Duration>,
    /// Width in millimetres.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub width: Option<f64>,
    /// Size of the text in points.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub font_size: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub legend: Option<Legend>,
}

impl Print {
    /// Returns these settings, and for those not asked for the `other` ones.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            from: self.from.or(other.from),
            to: self.to.or(other.to),
            width: self.width.or(other.width),
            font_size: self.font_size.or(other.font_size),
            legend: self.legend.or(other.legend),
        }
    }

    /// Reports whether a size on paper was asked for.
    pub fn is_sized(&self) -> bool {
        self.width.is_some() || self.font_size.is_some()
    }

    /// Returns the width in millimetres.
    pub fn width(&self) -> f64 {
        self.width.unwrap_or(COLUMN)
    }

    /// Returns the size of the text in points.
    pub fn font_size(&self) -> f64 {
        self.font_size.unwrap_or(TEXT)
    }

    /// Returns the part of the run in seconds. The end may be infinite.
    pub fn part(&self) -> (f64, f64) {
        let seconds = |at: Option<Duration>, open: f64| at.map_or(open, Duration::as_secs_f64);
        (seconds(self.from, 0.0), seconds(self.to, f64::INFINITY))
    }

    /// Checks that the part is not empty and that the text fits into the width.
    ///
    /// # Errors
    /// Returns the key that is wrong, what is wrong, and what to write.
    pub fn check(&self) -> Result<(), (&'static str, String, String)> {
        if let (from, Some(to)) = (self.from.unwrap_or_default(), self.to)
            && to <= from
        {
            return Err(("to", format!("the end is {to}, the start {from}"), "write a later end".to_owned()));
        }
        let largest = self.width() * POINTS / NARROWEST;
        if self.font_size() <= largest {
            return Ok(());
        }
        let (key, wanted) = match self.font_size {
            Some(size) => ("font-size", format!("write at most {} pt", tenths(largest.min(size)))),
            None => ("width", format!("write at least {} mm", (TEXT * NARROWEST / POINTS).ceil())),
        };
        let wrong = format!("text of {} pt is too large for {} mm", self.font_size(), tenths(self.width()));
        Err((key, wrong, wanted))
    }
}

/// Rounds down to tenths.
fn tenths(value: f64) -> f64 {
    (value * 10.0).floor() / 10.0
}

/// Parses a width on paper, 10 to 1000 mm: `84 mm`, `8.4 cm`, `3.3 in`. Returns millimetres.
///
/// # Errors
/// Returns a message if the text is no such width.
pub fn width(text: &str) -> Result<f64, String> {
    length(text, &[("mm", 1.0), ("cm", 10.0), ("in", 25.4)], "a width is written \"84 mm\"", (10.0, 1000.0))
}

/// Parses a size of text, 4 to 40 points: `8 pt`. Returns points.
///
/// # Errors
/// Returns a message if the text is no such size.
pub fn font_size(text: &str) -> Result<f64, String> {
    length(text, &[("pt", 1.0)], "a size of text is written \"8 pt\"", (4.0, 40.0))
}

fn length(text: &str, units: &[(&str, f64)], right: &str, (low, high): (f64, f64)) -> Result<f64, String> {
    let (number, unit) = split_number(text).map_err(|e| format!("{e}; {right}"))?;
    let known = units.iter().find(|(name, _)| *name == unit);
    let (_, factor) = known.ok_or_else(|| format!("`{text}` is in no known unit; {right}"))?;
    let value = number * factor;
    let wrong = || format!("`{text}` is out of range; {right}, from {low} to {high} {}", units[0].0);
    if (low..=high).contains(&value) { Ok(value) } else { Err(wrong()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_on_paper_are_read() {
        assert_eq!((width("84 mm"), width("8.4cm"), width("2 in")), (Ok(84.0), Ok(84.0), Ok(50.8)));
        assert_eq!(font_size("7.5 pt"), Ok(7.5));
        for (wrong, says) in [
            (width("84"), "a width is written \"84 mm\""),
            (width("5 mm"), "out of range; a width is written \"84 mm\", from 10 to 1000 mm"),
            (width("mm"), "does not begin with a number"),
            (font_size("8 mm"), "a size of text is written \"8 pt\""),
        ] {
            assert!(wrong.as_ref().is_err_and(|said| said.contains(says)), "{wrong:?}");
        }
    }

    #[test]
    fn text_fits_into_the_width() {
        // 20 sizes of 9 pt are 180 pt, which are 63.5 mm.
        let print = |width, font_size| Print { width, font_size, ..Print::default() }.check();
        assert_eq!(print(None, None), Ok(()));
        assert_eq!((print(Some(63.6), None), print(Some(84.0), Some(11.9))), (Ok(()), Ok(())));
        assert!(print(Some(63.4), None).is_err_and(|(key, ..)| key == "width"));
        let said = print(None, Some(12.0)).unwrap_err();
        assert_eq!((said.0, said.2.as_str()), ("font-size", "write at most 11.9 pt"));
        let part = |from, to| Print { from, to, ..Print::default() }.check();
        let second = Some(Duration::from_secs(1));
        assert!(part(second, second).is_err() && part(None, second).is_ok() && part(second, None).is_ok());
    }
}
