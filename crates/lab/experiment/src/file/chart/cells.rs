//! Charts of table cells: along rows, variants or a key of `[vary]`. Keys that are neither axis nor
//! colour make the panels.

use crate::chart::{Chart, Data, Mark, ScaleKind};
use crate::diagnostic::Diagnostic;
use crate::file::chart::channel::read_channel;
use crate::file::chart::runs;
use crate::file::cursor::{Cursor, Fields};
use crate::file::labels::{Labels, read_table_metric};
use crate::file::sweep::{self, Channel, Key, Roles};
use crate::file::vary::Case;
use crate::metric::Metric;
use crate::print::Print;

/// Most panels of a chart without `y`.
const MAX_PANELS: usize = 4;

/// Reads `line`, `bar` and `point`. Also returns whether all variants share one picture.
pub(super) fn cells(
    fields: &Fields<'_>,
    labels: &Labels,
    cases: &[Case],
    (mark, x): (Mark, Channel),
    scale: Option<ScaleKind>,
) -> Result<(Data, bool), Diagnostic> {
    let keys = sweep::keys(cases);
    let metrics = match fields.get("y") {
        Some(at) => read_metrics(&at, labels)?,
        None => table_metrics(labels),
    };
    let colour = read_colour(fields, labels, cases, (mark, x))?;
    if let (Colour::Metric, Some(at)) = (&colour, fields.get("colour")) {
        check_units(&at, &metrics)?;
    }
    let facet = fields
        .get("facet")
        .map(|at| read_other(&at, cases, &[("x axis", Some(x)), ("colour", colour.channel())]));
    let facet = facet.transpose()?;
    // A chart along rows has one picture per variant, unless colours or panels separate the
    // variants.
    let is_bare = matches!(colour, Colour::None | Colour::Source);
    let together = x != Channel::Row || !is_bare || facet.is_some();
    let roles = roles(&keys, x, colour.series(&keys, x), facet, together);
    let data = Data::Cells {
        x: sweep::axis(cases, &keys, x, scale),
        metrics,
        overlaid: matches!(colour, Colour::Metric),
        published: match colour {
            Colour::Source => true,
            Colour::None => mark == Mark::Bar && x == Channel::Row,
            _ => false,
        },
        spots: sweep::spots(cases, &keys, &roles),
    };
    Ok((data, together))
}

/// Assigns keys to axis, colours and panels. If panels are requested, the remaining keys become
/// colours.
fn roles(
    keys: &[Key<'_>],
    x: Channel,
    colour: Vec<Channel>,
    facet: Option<Channel>,
    together: bool,
) -> Roles {
    let taken: Vec<Channel> = [x].into_iter().chain(colour.iter().copied()).chain(facet).collect();
    let left = sweep::rest(keys, &taken);
    let (series, facets) = match facet {
        Some(facet) => (colour.into_iter().chain(left).collect(), vec![facet]),
        None if together => (colour, left),
        None => (colour, Vec::new()),
    };
    Roles { axis: x, series, facets }
}

/// Meaning of the colours of a chart.
#[derive(Clone, Copy)]
enum Colour {
    /// Not requested.
    None,
    /// Ours and published.
    Source,
    Metric,
    Channel(Channel),
}

impl Colour {
    fn channel(self) -> Option<Channel> {
        match self {
            Self::Channel(channel) => Some(channel),
            _ => None,
        }
    }

    fn series(self, keys: &[Key<'_>], x: Channel) -> Vec<Channel> {
        match (self, x) {
            (Self::Channel(channel), _) if channel == x => Vec::new(),
            (Self::Channel(channel), _) => vec![channel],
            (Self::Metric, _) | (_, Channel::Row) => Vec::new(),
            (_, Channel::Variant) => vec![Channel::Row],
            (_, Channel::Key(_)) => sweep::default_series(keys, x).into_iter().collect(),
        }
    }
}

fn read_colour(
    fields: &Fields<'_>,
    labels: &Labels,
    cases: &[Case],
    (mark, x): (Mark, Channel),
) -> Result<Colour, Diagnostic> {
    let Some(at) = fields.get("colour") else { return Ok(Colour::None) };
    match at.node().as_str() {
        Some("metric") => return Ok(Colour::Metric),
        Some("source") if mark != Mark::Bar => {
            return Err(at.problem("only bars show the published values", "use mark = \"bar\""));
        }
        Some("source") if labels.published.is_none() => {
            return Err(at.problem("the file has no published values", "add [published]"));
        }
        Some("source") => return Ok(Colour::Source),
        // Rows along the axis have different colours anyway.
        Some("row") if x == Channel::Row => return Ok(Colour::Channel(Channel::Row)),
        Some("flow") => {
            let right = "use x = \"row\" with mark = \"bar\", or x = \"time\"";
            return Err(at.problem("cells of the table cover all flows together", right));
        }
        _ => {}
    }
    read_other(&at, cases, &[("x axis", Some(x))]).map(Colour::Channel)
}

/// Reads a channel that shares no key with the others.
fn read_other(
    at: &Cursor<'_>,
    cases: &[Case],
    others: &[(&str, Option<Channel>)],
) -> Result<Channel, Diagnostic> {
    let channel = read_channel(at, cases, &[])?;
    let keys = sweep::keys(cases).len();
    let shares = |other: &Channel| *other == channel || sweep::share_keys(keys, *other, channel);
    match others.iter().find(|(_, other)| other.as_ref().is_some_and(shares)) {
        Some((what, _)) => {
            Err(at.problem(format!("the {what} already uses this key"), "choose another key of [vary]"))
        }
        None => Ok(channel),
    }
}

/// Reads `"goodput"` or `["goodput", "loss"]`.
fn read_metrics(at: &Cursor<'_>, labels: &Labels) -> Result<Vec<Metric>, Diagnostic> {
    if at.node().as_str().is_some() {
        return Ok(vec![read_table_metric(at, labels)?]);
    }
    at.filled_list()?.iter().map(|metric| read_table_metric(metric, labels)).collect()
}

/// Checks that metrics in one panel have the same unit.
fn check_units(at: &Cursor<'_>, metrics: &[Metric]) -> Result<(), Diagnostic> {
    match metrics.windows(2).find(|pair| pair[0].unit() != pair[1].unit()) {
        Some(pair) => {
            let wrong = format!("`{}` and `{}` have different units", pair[0], pair[1]);
            Err(at.problem(wrong, "remove `colour` to draw a panel for each metric"))
        }
        None => Ok(()),
    }
}

fn table_metrics(labels: &Labels) -> Vec<Metric> {
    labels.metrics.iter().take(MAX_PANELS).cloned().collect()
}

/// Returns the chart of a file without charts: lines over the first key with several numbers,
/// otherwise the time series, otherwise the table as bars.
pub(crate) fn default_chart(title: &str, cases: &[Case], labels: &Labels, with_series: bool) -> Chart {
    let (keys, metrics) = (sweep::keys(cases), table_metrics(labels));
    let cells = |x: Channel, published, together| {
        let roles = roles(&keys, x, Colour::None.series(&keys, x), None, together);
        let (x, spots) = (sweep::axis(cases, &keys, x, None), sweep::spots(cases, &keys, &roles));
        Data::Cells { x, metrics, overlaid: false, published, spots }
    };
    let (mark, together, data) = match sweep::first_numeric(&keys) {
        Some(x) => (Mark::Line, true, cells(Channel::Key(x), false, true)),
        None if with_series => {
            let columns = runs::DEFAULT_COLUMNS.map(str::to_owned).to_vec();
            (Mark::Line, false, runs::plain(columns))
        }
        None => (Mark::Bar, false, cells(Channel::Row, true, false)),
    };
    Chart {
        title: title.to_owned(),
        mark,
        rows: Vec::new(),
        scale: ScaleKind::Linear,
        y_scale: ScaleKind::Linear,
        together,
        print: Print::default(),
        data,
    }
}
