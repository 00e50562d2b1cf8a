//! Groups of flows: those with one label, in a run with several. `goodput of BBR` is the goodput of such a group.
//! Sources of UDP have labels of their own: `udp_loss of video`; links
//! have names: `utilization of left`.

use crate::diagnostic::{Diagnostic, did_you_mean};
use crate::file::cursor::Cursor;
use crate::metric;

/// The labels, in the order in which they are met.
#[derive(Clone, Debug, Default)]
pub(crate) struct Groups {
    pub(crate) flows: Vec<String>,
    udp: Vec<String>,
    links: Vec<String>,
    pub(crate) windows: Vec<String>,
}

/// Windows that every experiment has: the whole run, and `[measure]`.
pub(crate) const RUN: &str = "run";
/// See [`RUN`].
pub(crate) const MEASURE: &str = "measure";

impl Groups {
    /// Adds the labels of one run, unless there is but one: its flows are all flows.
    pub(crate) fn add<'l>(&mut self, labels: impl Iterator<Item = &'l str>) {
        let labels: Vec<&str> = labels.collect();
        if labels.iter().all(|label| *label == labels[0]) {
            return;
        }
        add_new(&mut self.flows, labels);
    }

    /// Adds the labels of one run's UDP.
    pub(crate) fn add_udp<'l>(&mut self, labels: impl Iterator<Item = &'l str>) {
        add_new(&mut self.udp, labels);
    }

    /// Adds the names of one run's links.
    pub(crate) fn add_links<'l>(&mut self, names: impl Iterator<Item = &'l str>) {
        add_new(&mut self.links, names);
    }

    /// Adds the names of `[windows]`.
    pub(crate) fn add_windows<'l>(&mut self, names: impl Iterator<Item = &'l str>) {
        add_new(&mut self.windows, names);
    }

    /// Refuses a metric of a window that is not there, or that has none.
    pub(crate) fn check_window(&self, cursor: &Cursor<'_>, metric: &str) -> Result<(), Diagnostic> {
        let (_, Some(window)) = metric::window(metric) else { return Ok(()) };
        let known = || self.windows.iter().map(String::as_str).chain([RUN, MEASURE]);
        let (word, _) = metric::scope(metric);
        if metric::is_of_whole_run(word) {
            return Err(cursor.problem(format!("`{word}` is of the whole run, not of a window"), ""));
        }
        match known().any(|name| name == window) {
            true => Ok(()),
            false => Err(cursor.unknown("window", window, known())),
        }
    }

    /// A word of [`metric::METRICS`], or `word of label`; perhaps `@` a window.
    pub(crate) fn read_metric(&self, cursor: &Cursor<'_>) -> Result<String, Diagnostic> {
        let text: String = cursor.read()?;
        self.check_metric(cursor, &text).map(|()| text)
    }

    /// Refuses what is no such metric.
    pub(crate) fn check_metric(&self, cursor: &Cursor<'_>, text: &str) -> Result<(), Diagnostic> {
        self.check_window(cursor, text)?;
        let (word, label) = metric::scope(text);
        if !metric::METRICS.iter().any(|m| m.name == word) {
            return Err(cursor.unknown("metric", word, metric::METRICS.iter().map(|m| m.name)));
        }
        let Some(label) = label else {
            return match word {
                "share" => {
                    Err(cursor.problem("a share of whom?", "\"share of BBR\", with the label of a flow"))
                }
                _ => Ok(()),
            };
        };
        let named = match word {
            "utilization" if !self.links.is_empty() => Some(("link has the name", &self.links)),
            _ if word.starts_with("udp_") => Some(("UDP has the label", &self.udp)),
            _ => None,
        };
        if let Some((what, known)) = named {
            let wrong = || format!("no {what} `{label}`");
            return match known.iter().any(|k| k == label) {
                true => Ok(()),
                false => Err(cursor.problem(wrong(), did_you_mean(label, known.iter().map(String::as_str)))),
            };
        }
        if metric::is_of_run(word) {
            return Err(cursor.problem(format!("`{word}` is of the whole run, not of some flows"), ""));
        }
        if self.flows.iter().any(|known| known == label) {
            return Ok(());
        }
        let right = match self.flows.is_empty() {
            true => "`of` picks flows by label where a run has several labels".to_owned(),
            false => did_you_mean(label, self.flows.iter().map(String::as_str)),
        };
        Err(cursor.problem(format!("no flow has the label `{label}`"), right))
    }
}

fn add_new<'l>(known: &mut Vec<String>, labels: impl IntoIterator<Item = &'l str>) {
    for label in labels {
        if !known.iter().any(|k| k == label) {
            known.push(label.to_owned());
        }
    }
}
