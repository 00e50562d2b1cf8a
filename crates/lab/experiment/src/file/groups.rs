//! Groups: labels that metrics may refer to. In a run with several labels, flows with the same
//! label form a group: `goodput of BBR`. UDP sources have labels of their own (`udp_loss of
//! video`), and links have names (`utilization of left`).

use crate::diagnostic::{Diagnostic, did_you_mean};
use crate::file::cursor::Cursor;
use crate::metric::Metric;
use crate::quantity::{QUANTITIES, Quantity, Subject};

/// The labels, in order of appearance.
#[derive(Clone, Debug, Default)]
pub(crate) struct Groups {
    pub(crate) flows: Vec<String>,
    pub(crate) udp: Vec<String>,
    pub(crate) links: Vec<String>,
    pub(crate) windows: Vec<String>,
}

/// Predefined window: the whole run.
pub(crate) const RUN: &str = "run";
/// Predefined window: the measuring window, `[measure]`.
pub(crate) const MEASURE: &str = "measure";

impl Groups {
    /// Adds the labels of a run, unless there is only one, because then it means all flows.
    pub(crate) fn add<'l>(&mut self, labels: impl Iterator<Item = &'l str>) {
        let labels: Vec<&str> = labels.collect();
        if labels.iter().all(|label| *label == labels[0]) {
            return;
        }
        add_new(&mut self.flows, labels);
    }

    /// Refuses a metric with an unknown window, or with a window that the quantity does not
    /// support.
    pub(crate) fn check_window(&self, cursor: &Cursor<'_>, metric: &Metric) -> Result<(), Diagnostic> {
        let Some(window) = metric.window() else { return Ok(()) };
        let known = || self.windows.iter().map(String::as_str).chain([RUN, MEASURE]);
        if let Some(Quantity { name, has_windows: false, .. }) = metric.quantity() {
            return Err(cursor.invalid(format!("`{name}` covers the whole run and takes no window"), ""));
        }
        match known().any(|name| name == window) {
            true => Ok(()),
            false => Err(cursor.unknown_name("window", window, known())),
        }
    }

    /// Reads a metric: a name of [`QUANTITIES`], optionally with `of label` and `@ window`.
    pub(crate) fn read_metric(&self, cursor: &Cursor<'_>) -> Result<Metric, Diagnostic> {
        let metric = cursor.read::<String>()?.into();
        self.check_metric(cursor, &metric).map(|()| metric)
    }

    /// Refuses an unknown metric.
    pub(crate) fn check_metric(&self, cursor: &Cursor<'_>, metric: &Metric) -> Result<(), Diagnostic> {
        self.check_window(cursor, metric)?;
        let Some(quantity) = metric.quantity() else {
            return Err(cursor.unknown("metric", metric.word(), QUANTITIES.iter().map(|q| q.name)));
        };
        match metric.scope() {
            Some(label) => self.check_scope(cursor, quantity, label),
            None if quantity.subject == Subject::SomeFlows => {
                Err(cursor.invalid("`share` needs the label of a flow", "write \"share of BBR\""))
            }
            None => Ok(()),
        }
    }

    /// Refuses a label that the quantity cannot refer to.
    fn check_scope(&self, cursor: &Cursor<'_>, quantity: &Quantity, label: &str) -> Result<(), Diagnostic> {
        let (what, known) = match quantity.subject {
            Subject::Links if !self.links.is_empty() => ("link has the name", &self.links),
            Subject::Udp => ("UDP has the label", &self.udp),
            Subject::Flows | Subject::SomeFlows => ("flow has the label", &self.flows),
            Subject::Links | Subject::Run => {
                let wrong = format!("`{}` covers the whole run and takes no label", quantity.name);
                return Err(cursor.problem(wrong, ""));
            }
        };
        if known.iter().any(|k| k == label) {
            return Ok(());
        }
        let right = match quantity.subject {
            Subject::Flows | Subject::SomeFlows if known.is_empty() => {
                "`of` needs a run with several flow labels".to_owned()
            }
            _ => did_you_mean(label, known.iter().map(String::as_str)),
        };
        Err(cursor.problem(format!("no {what} `{label}`"), right))
    }
}

/// Adds the labels that are not known yet.
pub(crate) fn add_new<'l>(known: &mut Vec<String>, labels: impl IntoIterator<Item = &'l str>) {
    for label in labels {
        if !known.iter().any(|k| k == label) {
            known.push(label.to_owned());
        }
    }
}
