//! Charts of runs: series, RTT samples and flows. Each variant has its own picture, unless `facet`
//! puts all into one.

use units::Duration;

use crate::chart::{Colour, Data, SIGNALS, ScriptStep};
use crate::diagnostic::Diagnostic;
use crate::file::chart::channel::read_together;
use crate::file::chart::columns;
use crate::file::cursor::{Cursor, Fields};
use crate::file::labels::{Labels, read_table_metric};
use crate::file::vary::Case;
use crate::metric::Metric;
use crate::quantity::Subject;

/// Columns of lines over time without `y`.
pub(super) const DEFAULT_COLUMNS: [&str; 3] = ["goodput_mbit_s", "latest_rtt_ms", "cwnd_bytes"];
/// Largest number of steps of a script.
const MOST_STEPS: usize = 400;
const GOODPUT: &str = "goodput_mbit_s";
/// Metrics of several flows, which are meaningless for one.
const GROUP_METRICS: [&str; 6] =
    ["jain", "rate_ratio", "power", "rtt_flow_std", "goodput_flow_std", "loss_flow_std"];

/// The data of a chart, and whether all variants share one picture.
type Drawn = Result<(Data, bool), Diagnostic>;

/// Reads `mark = "line", x = "time"`.
pub(super) fn series(fields: &Fields<'_>, cases: &[Case], interval: Option<Duration>) -> Drawn {
    let columns = match fields.get("y") {
        Some(at) => columns::read(&at, cases)?,
        None => DEFAULT_COLUMNS.map(str::to_owned).to_vec(),
    };
    let by_column = fields.get("colour").filter(|at| at.node().as_str() == Some("metric"));
    if let Some(at) = &by_column {
        columns::check_units(at, &columns, cases)?;
    }
    let overlaid = by_column.is_some();
    let colour = match by_column {
        Some(_) => None,
        None => read_colour(fields, &[("row", Colour::Row), ("flow", Colour::Flow)])?,
    };
    let ticks = fields.get("ticks").map_or(Ok(Vec::new()), |at| {
        let words = SIGNALS.map(|column| (column, column));
        at.filled_list()?.iter().map(|tick| tick.word("tick", &words).map(str::to_owned)).collect()
    })?;
    let facet = fields.get("facet");
    let facet = facet.map(|at| at.word("facet", &[("row", true), ("variant", false)])).transpose()?;
    let strips = match (facet, colour) {
        (Some(true), _) | (_, Some(Colour::Flow)) => Some(true),
        (_, Some(_)) => Some(false),
        _ => None,
    };
    Ok((Data::Series { columns, colour, strips, interval, overlaid, ticks }, facet == Some(false)))
}

/// Returns the data of these columns, drawn by default.
pub(super) fn plain(columns: Vec<String>) -> Data {
    Data::Series { columns, colour: None, strips: None, interval: None, overlaid: false, ticks: Vec::new() }
}

/// Reads `mark = "area", x = "time"`.
pub(super) fn areas(fields: &Fields<'_>, cases: &[Case], interval: Option<Duration>) -> Drawn {
    let column = fields.get("y").map(|at| columns::read_stackable(&at, cases)).transpose()?;
    let columns = vec![column.unwrap_or_else(|| GOODPUT.to_owned())];
    let colour = read_colour(fields, &[("flow", Colour::Flow)])?;
    let data = Data::Series { columns, colour, strips: None, interval, overlaid: false, ticks: Vec::new() };
    Ok((data, read_together(fields)?))
}

/// Reads `mark = "line", x = "rtt"`.
pub(super) fn samples(fields: &Fields<'_>) -> Drawn {
    let y = fields.get("y");
    if let Some(at) = y.filter(|at| at.node().as_str() != Some("cdf")) {
        let given = at.node().as_str().unwrap_or("a list");
        let wrong = format!("`{given}` cannot be the y axis of a chart over \"rtt\"");
        return Err(at.invalid(wrong, "write \"cdf\""));
    }
    let colour = read_colour(fields, &[("row", Colour::Row), ("variant", Colour::Variant)])?;
    let colour = colour.unwrap_or(Colour::Row);
    let together = read_together(fields)?;
    match fields.get("facet").filter(|_| colour == Colour::Variant) {
        Some(at) => {
            Err(at.problem("the colours already show the variants", "remove `facet`: each row has a panel"))
        }
        None => Ok((Data::Samples { colour }, together || colour == Colour::Variant)),
    }
}

/// Reads `mark = "point"`: one metric plotted against another.
pub(super) fn flows(fields: &Fields<'_>, labels: &Labels) -> Drawn {
    let metric = |key: &str, default: &str| match fields.get(key) {
        Some(at) if at.node().as_str() == Some("rtt") => Ok(Metric::new("rtt_mean")),
        Some(at) => read_any(&at, labels),
        None => Ok(Metric::new(default)),
    };
    let (x, y) = (metric("x", "rtt_mean")?, metric("y", "goodput")?);
    let of_flows = is_of_flows(&x) && is_of_flows(&y);
    for (key, metric) in [("x", &x), ("y", &y)] {
        // Each flow has its own metrics. For rows, only metrics of the table exist.
        if let (false, Some(at)) = (of_flows || labels.metrics.contains(metric), fields.get(key)) {
            return Err(at.problem(format!("`{metric}` is not in the table"), "add it to [table] metrics"));
        }
    }
    let colour = read_colour(fields, &[("row", Colour::Row), ("flow", Colour::Flow)])?;
    Ok((Data::Flows { x, y, of_flows, colour }, read_together(fields)?))
}

/// Reads `mark = "sequence"`.
pub(super) fn packets(fields: &Fields<'_>) -> Drawn {
    if let Some(at) = fields.get("script") {
        return script(fields, &at);
    }
    let right = r#"write the start and the end, like between = ["0 s", "0.2 s"]"#;
    let Some(at) = fields.get("between") else {
        return Err(fields.at("between").problem("a sequence needs a part of the run", right));
    };
    let (start, end): (Duration, Duration) = at.read().map_err(|problem| problem.with_right(right))?;
    if end <= start {
        return Err(at.invalid("the end is not after the start", right));
    }
    if let Some(y) = fields.get("y") {
        return Err(y.problem("mark = \"sequence\" does not use `y`", "remove it"));
    }
    Ok((Data::Packets { start, end }, false))
}

/// Reads the packets of `script`.
fn script(fields: &Fields<'_>, at: &Cursor<'_>) -> Drawn {
    let right = r#"write steps like { at = "0 s", from = "sender", arrives = "25 ms", text = "Initial 0" }"#;
    let steps: Vec<ScriptStep> = at.read().map_err(|problem| problem.with_right(right))?;
    for key in ["between", "rows", "y"] {
        if let Some(other) = fields.get(key) {
            let wrong = format!("a chart with `script` does not use `{key}`");
            return Err(other.problem(wrong, "remove one of them"));
        }
    }
    let back = |step: &&ScriptStep| step.arrives.is_some_and(|end| end <= step.at || step.from.is_none());
    if steps.is_empty() || steps.len() > MOST_STEPS {
        return Err(at.invalid(format!("{} steps", steps.len()), format!("1 to {MOST_STEPS} steps")));
    }
    if let Some(step) = steps.iter().find(back) {
        let wrong = format!("`{}` cannot arrive then", step.text);
        return Err(at.invalid(wrong, "`arrives` after `at`, and `from` with it"));
    }
    if !steps.is_sorted_by_key(|step| step.at) {
        return Err(at.invalid("steps out of order", "each at the time of the one before, or later"));
    }
    Ok((Data::Script { steps }, false))
}

/// Reads `mark = "bar", colour = "flow"`.
pub(super) fn shares(fields: &Fields<'_>, labels: &Labels) -> Drawn {
    let metric = match fields.get("y") {
        None => Metric::new("goodput"),
        Some(at) => {
            let metric = labels.groups.read_metric(&at)?;
            let adds_up = matches!(metric.unit(), "Mbit/s" | "packets" | "objects" | "events" | "kB");
            if !adds_up || !is_of_flows(&metric) {
                let wrong = format!("`{metric}` is not a sum over flows");
                return Err(at.problem(wrong, "use a metric like \"goodput\" or \"retransmissions\""));
            }
            metric
        }
    };
    Ok((Data::Shares { metric }, read_together(fields)?))
}

fn read_any(at: &Cursor<'_>, labels: &Labels) -> Result<Metric, Diagnostic> {
    let metric = labels.groups.read_metric(at)?;
    if is_of_flows(&metric) { Ok(metric) } else { read_table_metric(at, labels) }
}

/// Reports whether `flows.parquet` has the metric: measured for each flow over the whole run.
fn is_of_flows(metric: &Metric) -> bool {
    let subject = metric.quantity().map(|quantity| quantity.subject);
    let is_of_one = subject == Some(Subject::Flows) && !GROUP_METRICS.contains(&metric.word());
    is_of_one && metric.scope().is_none() && metric.window().is_none()
}

fn read_colour(fields: &Fields<'_>, words: &[(&str, Colour)]) -> Result<Option<Colour>, Diagnostic> {
    fields.get("colour").map(|at| at.word("colour", words)).transpose()
}
