//! Metrics: a quantity, optionally restricted to some flows and to a window. `goodput of BBR` is
//! the goodput of the flows with that label. `goodput of BBR @ before` is the same in the window
//! `before`.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::fmt::{self, Display};

use serde::{Deserialize, Serialize};

use crate::quantity::Quantity;

/// A metric of a run, identified by its text. Metrics with equal texts are equal, and tables are
/// sorted by text.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct Metric {
    text: String,
    word: String,
    scope: Option<String>,
    window: Option<String>,
}

/// Separator before the label.
const OF: &str = " of ";
/// Separator before the window. Names of windows do not contain it.
pub(crate) const AT: &str = " @ ";

impl Metric {
    /// Creates a metric of all flows in the default window.
    pub fn new(word: &str) -> Self {
        Self { text: word.to_owned(), word: word.to_owned(), scope: None, window: None }
    }

    /// Restricts the metric to this label: flows, UDP sources or a link.
    #[must_use]
    pub fn for_label(self, label: &str) -> Self {
        Self { scope: Some(label.to_owned()), ..self }.written()
    }

    /// Restricts the metric to this window.
    #[must_use]
    pub fn inside(self, window: &str) -> Self {
        Self { window: Some(window.to_owned()), ..self }.written()
    }

    fn written(mut self) -> Self {
        self.text.clone_from(&self.word);
        for (between, part) in [(OF, &self.scope), (AT, &self.window)] {
            self.text.extend(part.iter().flat_map(|part| [between, part]));
        }
        self
    }

    /// Returns the text used in files, tables and JSON.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the name of the quantity.
    pub fn word(&self) -> &str {
        &self.word
    }

    /// Returns the quantity, or `None` if this program does not know it.
    pub fn quantity(&self) -> Option<&'static Quantity> {
        Quantity::find(&self.word)
    }

    /// Returns the label that the metric is restricted to, if any.
    pub fn scope(&self) -> Option<&str> {
        self.scope.as_deref()
    }

    /// Returns the window that the metric is restricted to, if any.
    pub fn window(&self) -> Option<&str> {
        self.window.as_deref()
    }

    /// Returns the unit, empty for a ratio and for an unknown quantity.
    pub fn unit(&self) -> &'static str {
        self.quantity().map_or("", |quantity| quantity.unit)
    }

    /// Returns the number of decimals worth printing, see [`Quantity::decimals`].
    pub fn decimals(&self, value: f64) -> usize {
        self.quantity().map_or(3, |quantity| quantity.decimals(value))
    }

    /// Returns the number of decimals of a published value: those that its source printed, and at
    /// least those of the quantity.
    pub fn published_decimals(&self, value: f64) -> usize {
        const MOST: usize = 12;
        let printed = format!("{value}").split_once('.').map_or(0, |(_, digits)| digits.len());
        self.quantity().map_or(3, |quantity| quantity.decimals).max(printed.min(MOST))
    }
}

/// Parses a text of a file or a stored table. Any text is a metric; callers must check that its
/// quantity is known.
impl From<String> for Metric {
    fn from(text: String) -> Self {
        let (rest, window) = match text.rsplit_once(AT) {
            Some((rest, window)) => (rest, Some(window.to_owned())),
            None => (text.as_str(), None),
        };
        let (word, scope) = match rest.split_once(OF) {
            Some((word, label)) => (word.to_owned(), Some(label.to_owned())),
            None => (rest.to_owned(), None),
        };
        Self { text, word, scope, window }
    }
}

impl From<&str> for Metric {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl From<Metric> for String {
    fn from(metric: Metric) -> Self {
        metric.text
    }
}

impl Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl PartialEq for Metric {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Metric {}

impl PartialOrd for Metric {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Metric {
    fn cmp(&self, other: &Self) -> Ordering {
        self.text.cmp(&other.text)
    }
}

/// Lets tables be searched by text.
impl Borrow<str> for Metric {
    fn borrow(&self) -> &str {
        &self.text
    }
}

impl PartialEq<&str> for Metric {
    fn eq(&self, text: &&str) -> bool {
        self.text == *text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every unit keeps three significant digits. Counts are whole, means of counts are not.
    #[test]
    fn small_numbers_keep_their_digits() {
        let shown = |name: &str, value: f64| format!("{value:.*}", Metric::from(name).decimals(value));
        for (value, text) in
            [(0.030_17, "0.0302"), (0.001_26, "0.00126"), (0.5, "0.500"), (50.123, "50.1"), (0.0, "0.0")]
        {
            assert_eq!(shown("rtt_p50", value), text);
        }
        assert_eq!(shown("rtt_mean of BBR", 0.030_17), "0.0302");
        assert_eq!([shown("goodput", 0.001), shown("no such", 0.001)], ["0.00100", "0.001"]);
        let printed = [0.45, 1.03, 12.0, 0.000_34]
            .map(|published| format!("{published:.*}", Metric::new("loss").published_decimals(published)));
        assert_eq!(printed, ["0.450", "1.030", "12.000", "0.00034"], "those of the column, or its own");
        let counts = [253.0, 253.4, 5.25, 0.0].map(|count| shown("declared_lost", count));
        assert_eq!(counts, ["253", "253", "5.25", "0"]);
        assert_eq!([shown("completion", 0.014), shown("jain", -0.000_12)], ["0.0140", "-0.000120"]);
    }

    /// Writing and reading preserve the parts, in whichever order they were set.
    #[test]
    fn a_text_leads_back_to_its_parts() {
        let made = Metric::new("goodput").inside("before").for_label("BBR of Ann");
        assert_eq!(made.as_str(), "goodput of BBR of Ann @ before");
        let read = Metric::from(made.as_str());
        assert_eq!(
            (read.word(), read.scope(), read.window()),
            ("goodput", Some("BBR of Ann"), Some("before"))
        );
        let plain = Metric::from("jain");
        assert_eq!((plain.word(), plain.scope(), plain.window()), ("jain", None, None));
    }

    /// JSON contains the text, also as a key.
    #[test]
    fn stored_as_its_text() {
        let table = std::collections::BTreeMap::from([(Metric::new("loss").for_label("BBR"), 1)]);
        let stored = serde_json::to_string(&table).unwrap();
        assert_eq!(stored, r#"{"loss of BBR":1}"#);
        let read: std::collections::BTreeMap<Metric, u8> = serde_json::from_str(&stored).unwrap();
        assert_eq!(read.keys().next().and_then(Metric::scope), Some("BBR"));
        assert_eq!(read["loss of BBR"], 1);
    }
}
