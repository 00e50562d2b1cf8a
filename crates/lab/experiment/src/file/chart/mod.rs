//! Reads `[[chart]]`: a mark, and channels for its position and look. The data of a chart decides
//! its channels:
//!
//! ```text
//! mark   x                       y                   colour                  drawn from
//! line   "time"                  columns             "row", "flow", "metric" the series, first repetition
//! area   "time"                  a column            "flow"                  the same, stacked
//! line   "rtt"                   "cdf"               "row", "variant"        the RTT samples
//! point  a metric, "rtt"         a metric            "row", "flow"           flows of all repetitions
//! bar    "row"                   a metric            "flow"                  shares of the flows of a run
//! sequence  "time"               -                   -                       packets between two times
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

use units::Duration;

use crate::chart::{Chart, Data, Mark, ScaleKind};
use crate::diagnostic::Diagnostic;
use crate::file::cursor::{Cursor, Fields};
use crate::file::labels::Labels;
use crate::file::rows::Rows;
use crate::file::tables::define::{Needs, table};
use crate::file::values::within;
use crate::file::vary::Case;
use crate::print::{self, Legend, Print};
use crate::row::RowLabel;

pub(crate) use cells::default_chart;
use channel::{Channel, X};

const SCALES: &[(&str, ScaleKind)] = &[("linear", ScaleKind::Linear), ("log", ScaleKind::Log)];

table! {
    /// `[[chart]]`.
    #[schemars(rename = "chart", transform = Needs("mark title"))]
    pub(crate) ChartTable(labels: &Labels) {
        /// Graphical form: `"line"`, `"bar"`, `"area"`, `"point"` or `"sequence"`.
        #[schemars(with = "String")]
        mark: Mark => "write one of line, bar, area, point, sequence", |at: &Cursor<'_>| at.word("mark", &Mark::WORDS);
        /// Title, usually the paper's figure.
        title: String => "write a title, usually the number of the figure, like \"Figure 5\"";
        /// X axis: `"time"`, `"rtt"`, `"row"`, `"variant"` or a key of `[vary]`; for points also a
        /// metric. Default: `"time"` for lines and areas, `"row"` for bars, `"rtt"` for points.
        x: Option<String> = None;
        /// Y axis: metrics of the table; over `"time"`, columns of the series.
        y: Option<serde_json::Value> = None => later;
        /// Meaning of the colours: `"row"`, `"variant"`, `"flow"`, `"source"` (ours and published),
        /// `"metric"` (those of `y` share a panel) or a key of `[vary]`.
        colour: Option<String> = None;
        /// Panels: one for each `"variant"`, `"row"` or value of a key of `[vary]`.
        facet: Option<String> = None => later;
        /// Patterns of the rows. Default: all.
        #[schemars(with = "Option<Vec<String>>")]
        rows: Vec<RowLabel> = Vec::new(), |at| {
            // Patterns are replaced by the matching labels, because drawing code looks up labels.
            let rows = Rows::read(at, "row", &labels.rows)?;
            Ok::<_, Diagnostic>(rows.pick(&labels.rows).into_iter().cloned().collect())
        };
        /// Scale of x: `"linear"` or `"log"`.
        #[schemars(with = "Option<String>")]
        scale: Option<ScaleKind> = None, |at: &Cursor<'_>| at.word("scale", SCALES).map(Some);
        /// Scale of y: `"linear"` or `"log"`.
        #[schemars(with = "Option<String>")]
        y_scale: ScaleKind = ScaleKind::Linear, |at: &Cursor<'_>| at.word("scale", SCALES);
        /// Averaging interval of values over time.
        #[schemars(with = "Option<String>")]
        interval: Option<Duration> = None, |at| {
            let wrong = |_: &Duration| "the interval is 0 s".to_owned();
            within(|time| *time > Duration::ZERO, wrong, "must be above 0, like \"1 s\"")(at).map(Some)
        };
        /// Events that lines over `"time"` mark by ticks at the lower and upper edge of each panel:
        /// `["lost_packets", "ce_packets"]`, for losses and CE marks; also `repeated_packets`.
        ticks: Option<serde_json::Value> = None => later;
        /// Start of the part of the run that a chart over `"time"` draws. Default: 0 s.
        #[schemars(with = "Option<String>")]
        from: Option<Duration> = None;
        /// End of the part of the run that a chart over `"time"` draws. Default: its end.
        #[schemars(with = "Option<String>")]
        to: Option<Duration> = None;
        /// Width of the chart's file on paper, in mm, cm or in. Default: `"84 mm"`, a column of a
        /// paper.
        #[schemars(with = "Option<String>")]
        width: Option<f64> = None, |at: &Cursor<'_>| read_length(at, print::width);
        /// Size of the text in the chart's file: `"8 pt"`. Numbers are a little smaller.
        /// Default: `"9 pt"`, and its smallest numbers have 7..
        #[schemars(with = "Option<String>")]
        font_size: Option<f64> = None, |at: &Cursor<'_>| read_length(at, print::font_size);
        /// Position of the legend: `"top"`, `"bottom"`, `"right"` or `"none"`. Default: `"top"`.
        #[schemars(with = "Option<String>")]
        legend: Option<Legend> = None, |at: &Cursor<'_>| at.word("legend", &Legend::WORDS).map(Some);
        /// Start and end of the part of the run that `"sequence"` draws: `["0 s", "0.2 s"]`.
        between: Option<(String, String)> = None => later;
        /// Packets that `"sequence"` draws in place of those of a run, each like `{ at = "0 s", from
        /// = "sender", arrives = "25 ms", text = "Initial 0" }`. One without `arrives` is lost, one
        /// without `from` is a decision of the sender. The picture says that it is no run.
        script: Option<Vec<serde_json::Value>> = None => later;
    }
}

fn read_length(at: &Cursor<'_>, parse: fn(&str) -> Result<f64, String>) -> Result<Option<f64>, Diagnostic> {
    parse(&at.read::<String>()?).map(Some).map_err(|said| {
        let (wrong, right) = said.split_once("; ").unwrap_or((&said, "write a number and a unit"));
        at.invalid(wrong, right)
    })
}

/// Data of a chart, which decides its keys.
#[derive(Clone, Copy)]
enum View {
    Series,
    Areas,
    Samples,
    Flows,
    Shares,
    Packets,
    Cells(Channel),
}

impl View {
    /// Returns the keys in addition to `mark`, `title`, `x`, `y`, `rows`, `width` and `font-size`,
    /// which all charts have.
    fn keys(self, mark: Mark) -> &'static [&'static str] {
        match self {
            Self::Series => &["colour", "facet", "y-scale", "interval", "ticks", "from", "to", "legend"],
            Self::Areas => &["colour", "facet", "interval", "from", "to", "legend"],
            Self::Samples => &["colour", "facet", "scale", "legend"],
            Self::Flows => &["colour", "facet", "scale", "y-scale"],
            Self::Shares => &["colour", "facet", "legend"],
            Self::Packets => &["between", "script"],
            Self::Cells(Channel::Key(_)) if matches!(mark, Mark::Line | Mark::Point) => {
                &["colour", "facet", "scale", "y-scale", "legend"]
            }
            // A bar starts at zero, which a logarithmic scale does not have.
            Self::Cells(_) if mark == Mark::Bar => &["colour", "facet", "legend"],
            Self::Cells(_) => &["colour", "facet", "y-scale", "legend"],
        }
    }

    fn for_channels(mark: Mark, x: X, colour: Option<&str>) -> Option<Self> {
        Some(match (mark, x) {
            (Mark::Line, X::Time) => Self::Series,
            (Mark::Area, X::Time) => Self::Areas,
            (Mark::Sequence, X::Time) => Self::Packets,
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
        Mark::Area | Mark::Sequence => "\"time\"",
        Mark::Bar => "\"row\", \"variant\" or a key of [vary]",
        Mark::Point => "\"rtt\", a metric, \"row\", \"variant\" or a key of [vary]",
    }
}

/// Reads a chart.
pub(crate) fn read(cursor: &Cursor<'_>, labels: &Labels, cases: &[Case]) -> Result<Chart, Diagnostic> {
    let fields = cursor.table(ChartTable::known())?;
    let table = ChartTable::read(&fields, labels)?;
    let mark = table.mark;
    let (x, word) = channel::read_x(&fields, mark, cases)?;
    let Some(view) = View::for_channels(mark, x, table.colour.as_deref()) else {
        let wrong = format!("mark = \"{}\" does not support x = \"{word}\"", mark.word());
        return Err(fields.at("x").problem(wrong, format!("use x = {}", axes(mark))));
    };
    check_keys(&fields, view, mark, &word)?;
    let (mut data, together) = match view {
        View::Series => runs::series(&fields, cases, table.interval)?,
        View::Areas => runs::areas(&fields, cases, table.interval)?,
        View::Samples => runs::samples(&fields)?,
        View::Flows => runs::flows(&fields, labels)?,
        View::Shares => runs::shares(&fields, labels)?,
        View::Packets => runs::packets(&fields)?,
        View::Cells(x) => cells::cells(&fields, labels, cases, (mark, x), table.scale)?,
    };
    let ChartTable { title, rows, y_scale, from, to, width, font_size, legend, .. } = table;
    let print = Print { from, to, width, font_size, legend };
    print.check().map_err(|(key, wrong, right)| fields.at(key).invalid(wrong, right))?;
    let mut scale = table.scale.unwrap_or_default();
    if let Data::Cells { spots, .. } = &mut data {
        // The axis holds the scale, and the spots hold the rows.
        scale = ScaleKind::Linear;
        spots.retain(|spot| rows.is_empty() || rows.contains(&spot.row));
    }
    Ok(Chart { title, mark, rows, scale, y_scale, together, print, data })
}

/// Refuses a known key that has no effect in this chart.
fn check_keys(fields: &Fields<'_>, view: View, mark: Mark, x: &str) -> Result<(), Diagnostic> {
    let all = ["mark", "title", "x", "y", "rows", "width", "font-size"];
    let own = view.keys(mark);
    let idle = ChartTable::known().iter().filter(|key| !all.contains(key) && !own.contains(key));
    let Some((key, at)) = idle.into_iter().find_map(|key| Some((key, fields.get(key)?))) else {
        return Ok(());
    };
    let wrong = format!("mark = \"{}\" over x = \"{x}\" does not use `{key}`", mark.word());
    Err(at.problem(wrong, format!("its keys: {}, {}", all.join(", "), own.join(", "))))
}
