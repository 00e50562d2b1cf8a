//! Formats numbers and names for readers.

use experiment::metric::Metric;
use results::variables::{self, Variables};

/// Formats a number with a true minus sign. NaN is a dash.
pub(super) fn fixed(value: f64, decimals: usize) -> String {
    if value.is_nan() {
        return "–".to_owned();
    }
    let sign = if value < 0.0 { "−" } else { "" };
    if value.is_infinite() {
        return format!("{sign}∞");
    }
    // No metric is that large. A number with hundreds of digits would only break the table.
    if value.abs() >= 1e15 {
        return format!("{sign}{:.2e}", value.abs());
    }
    let digits = format!("{:.decimals$}", value.abs());
    let is_zero = digits.bytes().all(|b| b == b'0' || b == b'.');
    format!("{}{digits}", if is_zero { "" } else { sign })
}

/// Formats a number as short as possible, with up to six significant digits: `0.25`, not
/// `0.25000000000000006`.
pub(super) fn plain(value: f64) -> String {
    const DIGITS: i32 = 6;
    if value == 0.0 || !value.is_finite() || value.abs() >= 1e15 {
        return fixed(value, 0);
    }
    let decimals = (DIGITS - 1 - libm::log10(value.abs()).floor() as i32).clamp(0, 12) as usize;
    let digits = fixed(value, decimals);
    if digits.contains('.') { digits.trim_end_matches('0').trim_end_matches('.').to_owned() } else { digits }
}

/// Returns the decimals for a value and its deviation. They show two digits of the deviation, but
/// no more than the metric's own decimals.
pub(super) fn decimals(metric: &Metric, value: f64, spread: Option<f64>) -> usize {
    let own = metric.decimals(value);
    let Some(spread) = spread.filter(|spread| spread.is_finite() && *spread > 0.0) else { return own };
    let shown = (1 - libm::log10(spread).floor() as i32).clamp(0, 12) as usize;
    own.min(shown.max(metric.decimals(0.0)))
}

/// Formats a relative difference in percent with its sign: `+3.2`, `−98`.
pub(super) fn percent(difference: f64) -> String {
    let percent = difference * 100.0;
    let digits = fixed(percent, usize::from(percent.abs() < 99.95));
    let is_zero = digits.chars().all(|c| c == '0' || c == '.');
    let plus = if percent > 0.0 && !is_zero { "+" } else { "" };
    format!("{plus}{digits}")
}

/// Most decimals of a number that a source printed.
pub(super) const MOST_DECIMALS: usize = 12;

/// Returns the decimals that a source printed: the most of any value, up to `most`.
pub(super) fn printed_decimals(values: impl Iterator<Item = f64>, most: usize) -> usize {
    let decimals = |v: f64| format!("{v}").split_once('.').map_or(0, |(_, digits)| digits.len());
    values.filter(|v| v.is_finite()).map(decimals).max().unwrap_or(0).min(most)
}

/// Name, unit, decimals and description of a metric.
pub(super) struct MetricText {
    /// Label: `RTT mean`.
    pub(super) label: String,
    /// Unit; may be empty.
    pub(super) unit: &'static str,
    pub(super) decimals: usize,
    /// Description; empty if the metric is unknown.
    pub(super) doc: &'static str,
}

/// Returns name, unit, decimals and description of a metric.
pub(super) fn metric(metric: &Metric) -> MetricText {
    let known = metric.quantity();
    MetricText {
        label: match metric.as_str().strip_prefix("share of ") {
            Some(flows) => format!("Goodput share of {flows}"),
            None => sentence(metric.as_str()),
        },
        unit: metric.unit(),
        decimals: known.map_or(3, |m| m.decimals),
        doc: known.map_or("", |m| m.doc),
    }
}

/// Turns a metric's name into a label: `rtt_flow_std` to `RTT flow std. dev.`.
fn sentence(name: &str) -> String {
    let words: Vec<String> = name.split('_').filter(|w| !w.is_empty()).map(word).collect();
    let text = words.join(" ");
    let mut letters = text.chars();
    letters.next().map_or_else(|| name.to_owned(), |first| first.to_uppercase().chain(letters).collect())
}

fn word(word: &str) -> String {
    match word {
        "rtt" | "owd" | "bw" | "bdp" | "ecn" | "ce" => word.to_uppercase(),
        "std" => "std. dev.".to_owned(),
        "cwnd" => "congestion window".to_owned(),
        "ssthresh" => "slow-start threshold".to_owned(),
        _ => word.to_owned(),
    }
}

/// Appends the unit in brackets, if there is one: `RTT mean (ms)`.
pub(super) fn with_unit(label: &str, unit: &str) -> String {
    if unit.is_empty() { label.to_owned() } else { format!("{label} ({unit})") }
}

/// Formats a value with its unit: `9.20 Mbit/s`.
pub(super) fn valued(metric: &Metric, value: f64) -> String {
    format!("{} {}", fixed(value, metric.decimals(value)), metric.unit()).trim().to_owned()
}

/// Label, unit and scaling of a column of the time series.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Column {
    pub(super) label: String,
    /// Unit; may be empty.
    pub(super) unit: String,
    /// Divisor that converts values to this unit.
    pub(super) divisor: f64,
}

/// Returns label and unit for a column whose values reach up to `largest`. Controllers describe
/// their own variables.
pub(super) fn column(name: &str, largest: f64, own: &Variables) -> Column {
    match variables::column(own, name) {
        None => common(name, largest),
        Some(about) => controller_column(name, largest, about.unit),
    }
}

/// Returns label and unit of a controller's variable. Without a common unit it has none.
fn controller_column(name: &str, largest: f64, unit: Option<&str>) -> Column {
    let label = sentence(name);
    let column = |unit: &str, divisor| Column { label: label.clone(), unit: unit.to_owned(), divisor };
    match unit {
        None => Column { label: format!("{label}, unit depends on the controller"), ..column("", 1.0) },
        Some("bytes") => bytes(label, largest),
        Some("bit/s") => column("Mbit/s", 1e6),
        Some("s") if largest < 1.0 => column("ms", 1e-3),
        Some(unit) => column(unit, 1.0),
    }
}

fn bytes(label: String, largest: f64) -> Column {
    let (unit, divisor) = if largest >= 1e7 { ("MB", 1e6) } else { ("kB", 1e3) };
    Column { label, unit: unit.to_owned(), divisor }
}

fn common(name: &str, largest: f64) -> Column {
    let units = [
        ("_mbit_s", "Mbit/s"),
        ("_percent", "%"),
        ("_packets", "packets"),
        ("_us", "µs"),
        ("_ms", "ms"),
        ("_s", "s"),
    ];
    if let Some(stem) = name.strip_suffix("_bytes") {
        return bytes(series(stem), largest);
    }
    let (stem, unit) = match units.iter().find_map(|(end, unit)| Some((name.strip_suffix(end)?, *unit))) {
        Some(known) => known,
        None if name == "drops" => (name, "packets"),
        None => (name, ""),
    };
    Column { label: series(stem), unit: unit.to_owned(), divisor: 1.0 }
}

fn series(stem: &str) -> String {
    match stem {
        "queue" => "Bottleneck queue".to_owned(),
        "drops" => "Drops at the bottleneck since the start".to_owned(),
        _ => sentence(stem),
    }
}

/// Turns text into lower-case letters and digits of any script and single hyphens, for file names
/// and anchors.
pub(super) fn slug(text: &str) -> String {
    let mut slug = String::new();
    for c in text.chars().take(200) {
        if slug.len() >= 80 {
            break;
        }
        if c.is_alphanumeric() {
            slug.extend(c.to_lowercase());
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    slug.trim_end_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use results::variables::Variable;

    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!(fixed(-0.004, 2), "0.00");
        assert_eq!(fixed(-1.5, 1), "−1.5");
        assert_eq!(fixed(f64::NAN, 2), "–");
        assert_eq!(fixed(f64::NEG_INFINITY, 2), "−∞");
        assert_eq!(fixed(1e300, 2), "1.00e300");
        assert_eq!(
            [0.1 + 0.2, 20.0, 0.0, -1.5, 1e6, 2.0 / 3.0].map(plain).join(" "),
            "0.3 20 0 −1.5 1000000 0.666667"
        );
        assert_eq!(percent(0.032), "+3.2");
        assert_eq!(percent(-0.000_1), "0.0");
        assert_eq!(percent(1.0), "+100");
        assert_eq!(printed_decimals([9.2, 55.75, f64::NAN].into_iter(), 3), 2);
        assert_eq!(printed_decimals([0.123_456].into_iter(), 3), 3);
    }

    #[test]
    fn a_deviation_says_how_many_digits_count() {
        let shown = |value, spread| decimals(&"queue_wait".into(), value, spread);
        assert_eq!(
            [shown(0.0678, Some(0.1709)), shown(0.0678, None), shown(0.0678, Some(0.0012))],
            [2, 4, 4]
        );
        assert_eq!(decimals(&"goodput".into(), 9.2, Some(3.0)), 2, "columns stay aligned");
    }

    /// Controllers' variables use the units of the other columns.
    #[test]
    fn controllers_variables_have_their_unit() {
        let variable = |unit: &str| Variable { unit: unit.to_owned(), description: "Something.".to_owned() };
        let one = |all: &[(&str, &str)]| {
            all.iter().map(|(name, unit)| ((*name).to_owned(), variable(unit))).collect()
        };
        let own = Variables::from([
            (
                "bbr3".to_owned(),
                one(&[("max_bw", "bit/s"), ("min_rtt", "s"), ("extra_acked", "bytes"), ("pacing_gain", "")]),
            ),
            ("gated".to_owned(), one(&[("r", ""), ("full_bw_count", "rounds")])),
            ("nada".to_owned(), one(&[("r", "bit/s")])),
        ]);
        for (name, largest, words, divisor) in [
            ("max_bw", 1e7, "Max BW (Mbit/s)", 1e6),
            ("min_rtt", 0.05, "Min RTT (ms)", 1e-3),
            ("min_rtt", 3.0, "Min RTT (s)", 1.0),
            ("extra_acked", 3e4, "Extra acked (kB)", 1e3),
            ("extra_acked", 3e7, "Extra acked (MB)", 1e6),
            ("pacing_gain", 2.9, "Pacing gain", 1.0),
            ("full_bw_count", 3.0, "Full BW count (rounds)", 1.0),
            ("r", 2.0, "R, unit depends on the controller", 1.0),
            ("cwnd_bytes", 3e5, "Congestion window (kB)", 1e3),
        ] {
            let Column { label, unit, divisor: by } = column(name, largest, &own);
            assert_eq!((with_unit(&label, &unit), by), (words.to_owned(), divisor));
        }
    }

    #[test]
    fn names_read_well() {
        assert_eq!(metric(&"rtt_mean".into()).label, "RTT mean");
        assert_eq!(metric(&"share of candidate".into()).label, "Goodput share of candidate");
        let named = |name: &str, largest: f64| {
            let Column { label, unit, divisor } = column(name, largest, &Variables::new());
            (with_unit(&label, &unit), divisor)
        };
        assert_eq!(named("cwnd_bytes", 3e5), ("Congestion window (kB)".to_owned(), 1e3));
        assert_eq!(named("latest_rtt_ms", 0.0), ("Latest RTT (ms)".to_owned(), 1.0));
        assert_eq!(named("pacing_rate_mbit_s", 0.0).0, "Pacing rate (Mbit/s)");
        assert_eq!(named("drops", 0.0).0, "Drops at the bottleneck since the start (packets)");
        assert_eq!(named("", 0.0).0, "");
        assert_eq!(named("max_bw", 1e7), ("Max BW".to_owned(), 1.0), "an older folder");
        assert_eq!(valued(&"goodput".into(), 9.2), "9.20 Mbit/s");
        assert_eq!(valued(&"jain".into(), 0.9), "0.900");
        assert_eq!(slug("limit-counts = queue+delay"), "limit-counts-queue-delay");
        assert_eq!(slug("../../etc/passwd"), "etc-passwd");
        assert_eq!([slug("日本 2"), slug("?!")], ["日本-2", ""]);
    }
}
