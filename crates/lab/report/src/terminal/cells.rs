//! Formats the cells of a table.

use experiment::metric::Metric;
use results::summary::{BiasFound, Cell, Row};

/// Relative difference above which a reason is expected.
const NOTABLE: f64 = 0.10;

/// Explanation below a table with deviations.
pub(super) const DEVIATION: &str = "±: sample standard deviation over the repetitions";

/// Mark after the label of a row with invalid runs.
pub(super) fn mark(row: &Row) -> &'static str {
    match &row.trust {
        Some(_) if !row.is_trusted() => " !! INVALID",
        Some(trust) if !trust.invalid.is_empty() => " !",
        _ => "",
    }
}

/// Formats a value with its deviation. The deviation is left out if it rounds to zero.
pub(super) fn value(metric: &Metric, cell: &Cell) -> String {
    let decimals = metric.decimals(cell.value());
    let value = number(metric, cell.value());
    let spread = cell.spread.map(|spread| format!("{spread:.decimals$}"));
    match spread.filter(|spread| spread.contains(|c: char| ('1'..='9').contains(&c))) {
        Some(spread) => format!("{value} ±{spread}"),
        None => value,
    }
}

pub(super) fn number(metric: &Metric, value: f64) -> String {
    let decimals = metric.decimals(value);
    format!("{value:.decimals$}")
}

/// Formats a published value with the digits that its source has, and at least those of the column.
pub(super) fn published(metric: &Metric, value: f64) -> String {
    format!("{value:.*}", metric.published_decimals(value))
}

/// Formats a difference: `+12 % [1]`. The number refers to its reason, which is added to `reasons`.
pub(super) fn difference(cell: &Cell, reasons: &mut Vec<String>) -> String {
    let Some(difference) = cell.difference() else { return String::new() };
    let percent = difference * 100.0;
    let text = if percent.abs() >= 999.5 { "> x10".to_owned() } else { format!("{percent:+.0} %") };
    if difference.abs() <= NOTABLE {
        return text;
    }
    let Some(reason) = &cell.reason else { return format!("{text} !") };
    let known = reasons.iter().position(|r| r == reason).unwrap_or_else(|| {
        reasons.push(reason.clone());
        reasons.len() - 1
    });
    format!("{text} [{}]", known + 1)
}

/// Describes a biased column. Reasons in `known_reasons` are referred to by number.
pub(super) fn bias(bias: &BiasFound, known_reasons: &[String]) -> String {
    let percent = |share: f64| format!("{:+.1}", share * 100.0);
    let reason = bias.reason.as_deref().unwrap_or("unexplained !");
    let place = known_reasons.iter().position(|known| known == reason).map(|i| format!("[{}]", i + 1));
    let reason = place.as_deref().unwrap_or(reason);
    let open = if bias.open { " (cause unknown)" } else { "" };
    let BiasFound { metric, mean, range: (low, high), .. } = bias;
    format!(
        "every {metric} is biased: {} % on average ({} to {}): {reason}{open}",
        percent(*mean),
        percent(*low),
        percent(*high)
    )
}
