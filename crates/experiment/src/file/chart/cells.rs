//! Charts of the table's cells: along rows, variants or a key of `[vary]`. What is neither axis nor colour makes the panels.

use crate::chart::{Chart, Data, Mark, RTT_SAMPLES, ScaleKind};
use crate::diagnostic::Diagnostic;
use crate::file::chart::channel::read_channel;
use crate::file::chart::runs;
use crate::file::claim::read_metric_of;
use crate::file::cursor::{Cursor, Fields};
use crate::file::labels::Labels;
use crate::file::swept::{self, Channel, Key, Roles};
use crate::file::vary::Case;
use crate::metric::Metric;

/// Panels of a chart that does not say of which metrics.
const MOST_PANELS: usize = 4;

/// `line`, `bar`, `point` and `box`.
pub(super) fn cells(
    fields: &Fields<'_>,
    labels: &Labels,
    cases: &[Case],
    (mark, x): (Mark, Channel),
    scale: Option<ScaleKind>,
) -> Result<(Data, bool), Diagnostic> {
    let keys = swept::keys(cases);
    let metrics = match fields.get("y") {
        Some(at) => read_metrics(&at, labels, mark)?,
        None if mark == Mark::Box => vec![Metric::new(RTT_SAMPLES)],
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
    // Rows have a picture for each variant, if nothing else tells variants apart.
    let is_bare = matches!(colour, Colour::None | Colour::Source);
    let together = x != Channel::Row || !is_bare || facet.is_some();
    let roles = roles(&keys, x, colour.series(&keys, x), facet, together);
    let data = Data::Cells {
        x: swept::axis(cases, &keys, x, scale),
        metrics,
        overlaid: matches!(colour, Colour::Metric),
        published: match colour {
            Colour::Source => true,
            Colour::None => mark == Mark::Bar && x == Channel::Row,
            _ => false,
        },
        spots: swept::spots(cases, &keys, &roles),
    };
    Ok((data, together))
}

/// `rect`.
pub(super) fn fields(
    fields: &Fields<'_>,
    labels: &Labels,
    cases: &[Case],
    x: Channel,
) -> Result<(Data, bool), Diagnostic> {
    let keys = swept::keys(cases);
    let at = fields.need("y", "\"row\", \"variant\" or another key of [vary]")?;
    let y = read_other(&at, cases, &[("x axis", Some(x))])?;
    let metric = match fields.get("colour") {
        Some(at) => read_metric_of(&at, labels)?,
        None => labels.metrics.first().cloned().unwrap_or_else(|| Metric::new("goodput")),
    };
    let facet =
        fields.get("facet").map(|at| read_other(&at, cases, &[("x axis", Some(x)), ("y axis", Some(y))]));
    let facet = facet.transpose()?;
    let panels = facet.map_or_else(|| swept::rest(&keys, &[x, y]), |facet| vec![facet]);
    let roles = Roles { axes: vec![x, y], series: Vec::new(), facets: panels };
    let axis = |channel| swept::axis(cases, &keys, channel, Some(ScaleKind::Linear));
    Ok((Data::Fields { x: axis(x), y: axis(y), metric, spots: swept::spots(cases, &keys, &roles) }, true))
}

/// Which keys make axis, colours and panels. Where panels are asked for, what is left parts the colours.
fn roles(
    keys: &[Key<'_>],
    x: Channel,
    colour: Vec<Channel>,
    facet: Option<Channel>,
    together: bool,
) -> Roles {
    let taken: Vec<Channel> = [x].into_iter().chain(colour.iter().copied()).chain(facet).collect();
    let left = swept::rest(keys, &taken);
    let (series, facets) = match facet {
        Some(facet) => (colour.into_iter().chain(left).collect(), vec![facet]),
        None if together => (colour, left),
        None => (colour, Vec::new()),
    };
    Roles { axes: vec![x], series, facets }
}

/// What the colours of a chart tell apart.
#[derive(Clone, Copy)]
enum Colour {
    /// Nothing was asked for.
    None,
    /// Ours and published.
    Source,
    Metric,
    Of(Channel),
}

impl Colour {
    fn channel(self) -> Option<Channel> {
        match self {
            Self::Of(channel) => Some(channel),
            _ => None,
        }
    }

    fn series(self, keys: &[Key<'_>], x: Channel) -> Vec<Channel> {
        match (self, x) {
            (Self::Of(channel), _) if channel == x => Vec::new(),
            (Self::Of(channel), _) => vec![channel],
            (Self::Metric, _) | (_, Channel::Row) => Vec::new(),
            (_, Channel::Variant) => vec![Channel::Row],
            (_, Channel::Key(_)) => swept::default_series(keys, x).into_iter().collect(),
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
            return Err(at.problem("only bars show the published values", "mark = \"bar\""));
        }
        Some("source") if labels.published.is_none() => {
            return Err(at.problem("the file has no published values", "a table [published]"));
        }
        Some("source") => return Ok(Colour::Source),
        // Rows along the axis have their colours anyway.
        Some("row") if x == Channel::Row => return Ok(Colour::Of(Channel::Row)),
        Some("flow") => {
            let right = "x = \"row\" and mark = \"bar\", or x = \"time\"";
            return Err(at.problem("cells of the table are of all flows together", right));
        }
        _ => {}
    }
    read_other(&at, cases, &[("x axis", Some(x))]).map(Colour::Of)
}

/// A channel that shares no key with the others.
fn read_other(
    at: &Cursor<'_>,
    cases: &[Case],
    others: &[(&str, Option<Channel>)],
) -> Result<Channel, Diagnostic> {
    let channel = read_channel(at, cases, &[])?;
    let keys = swept::keys(cases).len();
    let shares = |other: &Channel| *other == channel || swept::share_keys(keys, *other, channel);
    match others.iter().find(|(_, other)| other.as_ref().is_some_and(shares)) {
        Some((what, _)) => Err(at.problem(format!("the key of the {what}"), "another key of [vary]")),
        None => Ok(channel),
    }
}

/// `"goodput"` or `["goodput", "loss"]`; of boxes the RTT samples too.
fn read_metrics(at: &Cursor<'_>, labels: &Labels, mark: Mark) -> Result<Vec<Metric>, Diagnostic> {
    let one = |at: &Cursor<'_>| match at.node().as_str() {
        Some(RTT_SAMPLES) if mark == Mark::Box => Ok(Metric::new(RTT_SAMPLES)),
        Some(RTT_SAMPLES) => {
            Err(at.problem("only boxes show RTT samples", "a metric like \"rtt_mean\", or mark = \"box\""))
        }
        _ => read_metric_of(at, labels),
    };
    if at.node().as_str().is_some() {
        return Ok(vec![one(at)?]);
    }
    at.filled_list()?.iter().map(one).collect()
}

/// Metrics of one panel have one axis.
fn check_units(at: &Cursor<'_>, metrics: &[Metric]) -> Result<(), Diagnostic> {
    match metrics.windows(2).find(|pair| pair[0].unit() != pair[1].unit()) {
        Some(pair) => {
            let wrong = format!("`{}` and `{}` have different units", pair[0], pair[1]);
            Err(at.problem(wrong, "leave colour out: a panel for each metric"))
        }
        None => Ok(()),
    }
}

fn table_metrics(labels: &Labels) -> Vec<Metric> {
    labels.metrics.iter().take(MOST_PANELS).cloned().collect()
}

/// The chart of a file that asks for none: lines over the first key with several numbers; without one, what was recorded over
/// time; else the table as bars.
pub(crate) fn default_chart(title: &str, cases: &[Case], labels: &Labels, with_series: bool) -> Chart {
    let (keys, metrics) = (swept::keys(cases), table_metrics(labels));
    let cells = |x: Channel, published, together| {
        let roles = roles(&keys, x, Colour::None.series(&keys, x), None, together);
        let (x, spots) = (swept::axis(cases, &keys, x, None), swept::spots(cases, &keys, &roles));
        Data::Cells { x, metrics, overlaid: false, published, spots }
    };
    let (mark, together, data) = match swept::first_numeric(&keys) {
        Some(x) => (Mark::Line, true, cells(Channel::Key(x), false, true)),
        None if with_series => {
            let columns = runs::DEFAULT_COLUMNS.map(str::to_owned).to_vec();
            (Mark::Line, false, Data::Series { columns, colour: None, strips: None, interval: None })
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
        data,
    }
}
