//! The cells of a table in words.

use experiment::metric::Metric;
use results::summary::{BiasFound, Cell, Row};

/// A difference from the published value that wants a reason.
const NOTABLE: f64 = 0.10;

/// What stands below a table with deviations.
pub(super) const DEVIATION: &str = "±: sample standard deviation over the repetitions";

/// Behind a label: some of the row's runs do not count, or none does.
pub(super) fn mark(row: &Row) -> &'static str {
    match &row.trust {
        Some(_) if !row.is_trusted() => " !! INVALID",
        Some(trust) if !trust.invalid.is_empty() => " !",
        _ => "",
    }
}

/// The deviation with the decimals of the value, unless these show none.
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

/// `+12 % [1]`: the difference and the number of its reason, which is added to `reasons` when it is new.
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

/// A column that is off as a whole, in a sentence. `told` are reasons that are on the screen already.
pub(super) fn bias(bias: &BiasFound, told: &[String]) -> String {
    let percent = |share: f64| format!("{:+.1}", share * 100.0);
    let reason = bias.reason.as_deref().unwrap_or("unexplained !");
    let place = told.iter().position(|known| known == reason).map(|i| format!("[{}]", i + 1));
    let reason = place.as_deref().unwrap_or(reason);
    let open = if bias.open { " (open)" } else { "" };
    let BiasFound { metric, mean, range: (low, high), .. } = bias;
    format!(
        "every {metric} is off to one side: {} % ({} to {}): {reason}{open}",
        percent(*mean),
        percent(*low),
        percent(*high)
    )
}
