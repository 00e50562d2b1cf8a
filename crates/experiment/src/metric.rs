//! A metric: a quantity, perhaps of some flows alone, perhaps inside a window. `goodput of BBR` is the goodput of the flows with
//! that label, `goodput of BBR @ before` that in the window `before`.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::fmt::{self, Display};

use serde::{Deserialize, Serialize};

use crate::quantity::Quantity;

/// A metric of a run. It is what its text says: equal texts are equal metrics, and tables are in the order of the texts.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct Metric {
    text: String,
    word: String,
    scope: Option<String>,
    window: Option<String>,
}

/// Before the label of those that it is of.
const OF: &str = " of ";
/// Before its window; no name of a window holds it.
const AT: &str = " @ ";

impl Metric {
    /// The quantity of this word, of all that there is, in the window that metrics have without another.
    pub fn new(word: &str) -> Self {
        Self { text: word.to_owned(), word: word.to_owned(), scope: None, window: None }
    }

    /// The same of those with this label alone: flows, sources of UDP, a link.
    #[must_use]
    pub fn of(self, label: &str) -> Self {
        Self { scope: Some(label.to_owned()), ..self }.written()
    }

    /// The same in this window.
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

    /// As files, tables and JSON have it.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The word of its quantity.
    pub fn word(&self) -> &str {
        &self.word
    }

    /// Its quantity; none of a word that this program does not know.
    pub fn quantity(&self) -> Option<&'static Quantity> {
        Quantity::find(&self.word)
    }

    /// The label of those that it is of, if not of all.
    pub fn scope(&self) -> Option<&str> {
        self.scope.as_deref()
    }

    /// Its window, if it has one.
    pub fn window(&self) -> Option<&str> {
        self.window.as_deref()
    }

    /// Its unit; empty for a ratio and for what is not known.
    pub fn unit(&self) -> &'static str {
        self.quantity().map_or("", |quantity| quantity.unit)
    }

    /// Decimals worth printing of this value, see [`Quantity::decimals`].
    pub fn decimals(&self, value: f64) -> usize {
        self.quantity().map_or(3, |quantity| quantity.decimals(value))
    }
}

/// Of a text that a file or a stored table has. Any text is a metric; that its quantity is known is for who reads to check.
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

/// Tables are looked up by text too.
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

    #[test]
    fn short_times_keep_their_digits() {
        let shown = |name: &str, value: f64| format!("{value:.*}", Metric::from(name).decimals(value));
        for (value, text) in
            [(0.030_17, "0.0302"), (0.001_26, "0.00126"), (0.5, "0.50"), (50.123, "50.1"), (0.0, "0.0")]
        {
            assert_eq!(shown("rtt_p50", value), text);
        }
        assert_eq!(shown("rtt_mean of BBR", 0.030_17), "0.0302");
        assert_eq!([shown("goodput", 0.001), shown("no such", 0.001)], ["0.00", "0.001"]);
    }

    /// What is written is what is read, whichever part comes first.
    #[test]
    fn a_text_leads_back_to_its_parts() {
        let made = Metric::new("goodput").inside("before").of("BBR of Ann");
        assert_eq!(made.as_str(), "goodput of BBR of Ann @ before");
        let read = Metric::from(made.as_str());
        assert_eq!(
            (read.word(), read.scope(), read.window()),
            ("goodput", Some("BBR of Ann"), Some("before"))
        );
        let plain = Metric::from("jain");
        assert_eq!((plain.word(), plain.scope(), plain.window()), ("jain", None, None));
    }

    /// JSON has the text, also as a key.
    #[test]
    fn stored_as_its_text() {
        let table = std::collections::BTreeMap::from([(Metric::new("loss").of("BBR"), 1)]);
        let stored = serde_json::to_string(&table).unwrap();
        assert_eq!(stored, r#"{"loss of BBR":1}"#);
        let read: std::collections::BTreeMap<Metric, u8> = serde_json::from_str(&stored).unwrap();
        assert_eq!(read.keys().next().and_then(Metric::scope), Some("BBR"));
        assert_eq!(read["loss of BBR"], 1);
    }
}
