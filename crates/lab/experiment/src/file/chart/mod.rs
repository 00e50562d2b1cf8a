//! Reads `[[chart]]`: a mark, and channels for its position and look. The data of a chart decides
//! its channels:
//!
//! ```text
//! mark   x                       y                   colour                  drawn from
//! line   "time"                  columns             "row", "flow"           the series, first repetition
//! area   "time"                  a column            "flow"                  the same, stacked
//! line   "rtt"                   "cdf"               "row", "variant"        the RTT samples
//! point  a metric, "rtt"         a metric            "row", "flow"           flows of all repetitions
//! bar    "row"                   a metric            "flow"                  shares of the flows of a run
//! line   a key                   metrics             anything else           cells of the table
//! point, "row", "variant",       metrics             anything else, "source" the same
//! bar    a key                                       (bars), "metric"
//! ```

mod cells;
mod channel;
mod columns;
mod runs;
#[cfg(test)]
mod tests;

use crate::chart::{Chart, Data, Mark, ScaleKind};
use crate::diagnostic::Diagnostic;
use crate::file::cursor::{Cursor, Fields};
use crate::file::labels::Labels;
use crate::file::rows::Rows;
use crate::file::tables::define::known_keys;
use crate::file::tables::judgement;
use crate::file::vary::Case;
use crate::row::RowLabel;

pub(crate) use cells::default_chart;
use channel::{Channel, X};

known_keys!(KEYS: judgement::Chart);

const MARKS: &[(&str, Mark)] =
    &[("line", Mark::Line), ("bar", Mark::Bar), ("area", Mark::Area), ("point", Mark::Point)];

const SCALES: &[(&str, ScaleKind)] = &[("linear", ScaleKind::Linear), ("log", ScaleKind::Log)];

/// Data of a chart, which decides its keys.
#[derive(Clone, Copy)]
enum View {
    Series,
    Areas,
    Samples,
    Flows,
    Shares,
    Cells(Channel),
}

impl View {
    /// Returns the keys in addition to `mark`, `title`, `x`, `y` and `rows`, which all charts have.
    fn keys(self, mark: Mark) -> &'static [&'static str] {
        match self {
            Self::Series => &["colour", "facet", "y-scale", "interval"],
            Self::Areas => &["colour", "facet", "interval"],
            Self::Samples => &["colour", "facet", "scale"],
            Self::Flows => &["colour", "facet", "scale", "y-scale"],
            Self::Shares => &["colour", "facet"],
            Self::Cells(Channel::Key(_)) if matches!(mark, Mark::Line | Mark::Point) => {
                &["colour", "facet", "scale", "y-scale"]
            }
            // A bar starts at zero, which a logarithmic scale does not have.
            Self::Cells(_) if mark == Mark::Bar => &["colour", "facet"],
            Self::Cells(_) => &["colour", "facet", "y-scale"],
        }
    }

    fn for_channels(mark: Mark, x: X, colour: Option<&str>) -> Option<Self> {
        Some(match (mark, x) {
            (Mark::Line, X::Time) => Self::Series,
            (Mark::Area, X::Time) => Self::Areas,
            (Mark::Line, X::Rtt) => Self::Samples,
            (Mark::Point, X::Rtt | X::Metric) => Self::Flows,
            (Mark::Bar, X::Cells(Channel::Row)) if colour == Some("flow") => Self::Shares,
            (Mark::Line, X::Cells(channel @ Channel::Key(_)))
            | (Mark::Bar | Mark::Point, X::Cells(channel)) => Self::Cells(channel),
            _ => return None,
        })
    }
}

/// Describes the possible x axes of a mark.
fn axes(mark: Mark) -> &'static str {
    match mark {
        Mark::Line => "\"time\", \"rtt\" or a key of [vary]",
        Mark::Area => "\"time\"",
        Mark::Bar => "\"row\", \"variant\" or a key of [vary]",
        Mark::Point => "\"rtt\", a metric, \"row\", \"variant\" or a key of [vary]",
    }
}

/// Reads a chart. Row patterns are replaced by the matching labels, because drawing code looks up
/// labels.
pub(crate) fn read(cursor: &Cursor<'_>, labels: &Labels, cases: &[Case]) -> Result<Chart, Diagnostic> {
    let fields = cursor.table(&KEYS)?;
    let words: Vec<&str> = MARKS.iter().map(|(word, _)| *word).collect();
    let mark = fields.need("mark", &format!("write one of {}", words.join(", ")))?.word("mark", MARKS)?;
    let title =
        fields.need("title", "write a title, usually the number of the figure, like \"Figure 5\"")?.read()?;
    let (x, word) = channel::read_x(&fields, mark, cases)?;
    let colour: Option<String> = fields.read("colour")?;
    let Some(view) = View::for_channels(mark, x, colour.as_deref()) else {
        let at = fields.get("x").unwrap_or_else(|| cursor.clone());
        let wrong = format!("mark = \"{}\" does not support x = \"{word}\"", mark.word());
        return Err(at.problem(wrong, format!("use x = {}", axes(mark))));
    };
    check_keys(cursor, view, mark, &word)?;
    let scale = |key: &str| fields.get(key).map(|at| at.word("scale", SCALES)).transpose();
    let asked = Asked { mark, scale: scale("scale")?, rows: read_rows(&fields, labels)? };
    let (data, together) = match view {
        View::Series => runs::series(&fields, cases)?,
        View::Areas => runs::areas(&fields, cases)?,
        View::Samples => runs::samples(&fields)?,
        View::Flows => runs::flows(&fields, labels)?,
        View::Shares => runs::shares(&fields, labels)?,
        View::Cells(x) => cells::cells(&fields, labels, cases, (mark, x), asked.scale)?,
    };
    Ok(asked.chart(title, scale("y-scale")?, together, data))
}

/// Settings that all charts share.
struct Asked {
    mark: Mark,
    scale: Option<ScaleKind>,
    rows: Vec<RowLabel>,
}

impl Asked {
    fn chart(self, title: String, y_scale: Option<ScaleKind>, together: bool, mut data: Data) -> Chart {
        let mut scale = self.scale.unwrap_or_default();
        if let Data::Cells { spots, .. } = &mut data {
            // The axis holds the scale, and the spots hold the rows.
            scale = ScaleKind::Linear;
            spots.retain(|spot| self.rows.is_empty() || self.rows.contains(&spot.row));
        }
        let y_scale = y_scale.unwrap_or_default();
        Chart { title, mark: self.mark, rows: self.rows, scale, y_scale, together, data }
    }
}

/// Refuses a known key that has no effect in this chart.
fn check_keys(cursor: &Cursor<'_>, view: View, mark: Mark, x: &str) -> Result<(), Diagnostic> {
    let all = ["mark", "title", "x", "y", "rows"];
    let own = view.keys(mark);
    let idle = KEYS.iter().find(|key| !all.contains(key) && !own.contains(key) && cursor.get(key).is_some());
    let Some((key, at)) = idle.and_then(|key| Some((key, cursor.get(key)?))) else { return Ok(()) };
    let wrong = format!("mark = \"{}\" over x = \"{x}\" does not use `{key}`", mark.word());
    Err(at.problem(wrong, format!("its keys: {}, {}", all.join(", "), own.join(", "))))
}

fn read_rows(fields: &Fields<'_>, labels: &Labels) -> Result<Vec<RowLabel>, Diagnostic> {
    let Some(cursor) = fields.get("rows") else { return Ok(Vec::new()) };
    let rows = Rows::read(&cursor, "row", &labels.rows)?;
    Ok(rows.pick(&labels.rows).into_iter().cloned().collect())
}
