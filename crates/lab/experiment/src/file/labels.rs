//! Names that claims, charts and sentences of a file may use: rows, variants, metrics, groups.
//! Reads the values that refer to them.

use crate::diagnostic::Diagnostic;
use crate::file::cursor::{Cursor, Fields};
use crate::file::groups::Groups;
use crate::file::reference::Reference;
use crate::file::rows::matches;
use crate::file::vary::Case;
use crate::metric::Metric;
use crate::place::Place;
use crate::prose;
use crate::row::RowLabel;

/// Contents of a table, used to check that a claim or a known deviation refers to them.
#[derive(Clone, Debug)]
pub(crate) struct Labels {
    pub(crate) rows: Vec<RowLabel>,
    pub(crate) variants: Vec<String>,
    pub(crate) metrics: Vec<Metric>,
    pub(crate) groups: Groups,
    pub(crate) published: Option<Reference>,
}

impl Labels {
    /// Adds the rows of this backend next to the simulator's.
    pub(crate) fn on(&self, world: Place) -> Self {
        let mut labels = self.clone();
        if world != Place::SIM {
            labels.rows.extend(self.rows.iter().map(|row| row.on(world)));
        }
        labels
    }

    /// Reports whether the source has a number for a row, whichever backend ran it.
    pub(crate) fn has_published(&self, row: &RowLabel, metric: &Metric) -> bool {
        self.published.as_ref().is_some_and(|published| published.has(row, metric))
    }

    pub(super) fn new(cases: &[Case], metrics: Vec<Metric>, groups: Groups) -> Self {
        let mut labels = Self { rows: Vec::new(), variants: Vec::new(), metrics, groups, published: None };
        for case in cases {
            if labels.variants.last() != Some(&case.variant) {
                labels.variants.push(case.variant.clone());
            }
            let row = case.label();
            // The first variant may lack a row that was left out.
            if !labels.rows.contains(&row) {
                labels.rows.push(row);
            }
        }
        labels
    }
}

/// Reads `on`. A claim or a known deviation is about the simulator's rows, unless `on` names
/// another backend. For example, `on = "wire"` means the rows of `run --on wire`.
pub(crate) fn read_world(fields: &Fields<'_>) -> Result<Place, Diagnostic> {
    let worlds = Place::WORLDS.map(|backend| (backend.word(), backend));
    fields.get("on").map_or(Ok(Place::SIM), |cursor| cursor.word("world", &worlds))
}

/// Reads a metric that the experiment's table shows.
pub(crate) fn read_table_metric(cursor: &Cursor<'_>, labels: &Labels) -> Result<Metric, Diagnostic> {
    let metric = labels.groups.read_metric(cursor)?;
    if labels.metrics.contains(&metric) {
        return Ok(metric);
    }
    let right = format!("the table shows {}; add it to [table] metrics", listed(&labels.metrics));
    Err(cursor.problem(format!("`{metric}` is not in the table"), right))
}

fn listed(metrics: &[Metric]) -> String {
    metrics.iter().map(Metric::as_str).collect::<Vec<_>>().join(", ")
}

/// Reads a sentence with placeholders like `{row: metric}`, and checks each of them.
pub(crate) fn read_prose(cursor: &Cursor<'_>, labels: &Labels) -> Result<String, Diagnostic> {
    let text: String = cursor.read()?;
    let depth = text.chars().try_fold(0_i32, |depth, c| match (c, depth) {
        ('{', 0) => Some(1),
        ('}', 1) => Some(0),
        ('{' | '}', _) => None,
        _ => Some(depth),
    });
    if depth != Some(0) {
        return Err(cursor.invalid("unbalanced brace", "write {row: metric} for a number of the run"));
    }
    for place in prose::places(&text) {
        let right = "write {row: metric}, {row: published metric} or {row: metric | variant}";
        let place =
            place.map_err(|inside| cursor.invalid(format!("invalid placeholder `{{{inside}}}`"), right))?;
        if !labels.rows.contains(&place.row) {
            return Err(cursor.unknown_name(
                "row",
                place.row.as_str(),
                labels.rows.iter().map(RowLabel::as_str),
            ));
        }
        labels.groups.check_metric(cursor, &place.metric)?;
        if place.published && !labels.has_published(&place.row, &place.metric) {
            let wrong = format!("no published {} for `{}`", place.metric, place.row);
            let right = "add the metric to published.columns, and name a row that the table has";
            return Err(cursor.problem(wrong, right));
        }
        let known = |pattern: &str| labels.variants.iter().any(|variant| matches(pattern, variant));
        if let Some(pattern) = place.variant.filter(|pattern| !known(pattern)) {
            return Err(cursor.unknown_name("variant", pattern, labels.variants.iter().map(String::as_str)));
        }
    }
    Ok(text)
}
