//! Parts of texts.

use std::fmt::Write as _;

/// Appends a paragraph, wrapped to 80 columns.
pub(crate) fn put(out: &mut String, lead: &str, text: &str) {
    let options = textwrap::Options::new(79).subsequent_indent("  ");
    let _ = writeln!(out, "{}", textwrap::fill(&format!("{lead}{text}"), options));
}

/// Shortens a line to `width` characters and marks the cut with an ellipsis.
pub fn cut(line: &str, width: usize) -> String {
    match line.chars().count() > width {
        true => line.chars().take(width.saturating_sub(1)).collect::<String>().trim_end().to_owned() + "…",
        false => line.trim_end().to_owned(),
    }
}

/// Formats a number of seeds: `1 seed`, `5 seeds`.
pub(crate) fn seeds(count: u32) -> String {
    if count == 1 { "1 seed".to_owned() } else { format!("{count} seeds") }
}

/// Joins names, as in `a, b and c`.
pub(crate) fn join(names: &[&str]) -> String {
    match names {
        [names @ .., last] if !names.is_empty() => format!("{} and {last}", names.join(", ")),
        names => names.join(", "),
    }
}

pub(crate) fn join_all(sentences: &[String]) -> String {
    join(&sentences.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Formats a time in seconds, like `7 s` or `0.333 s`.
pub(crate) fn seconds(time: f64) -> String {
    let is_whole = (time - time.round()).abs() < 1e-9;
    if is_whole { format!("{time:.0} s") } else { format!("{} s", significant(time)) }
}

/// Formats a number with three digits, or with four decimals if it is small.
pub(crate) fn significant(value: f64) -> String {
    let decimals = match value {
        v if v >= 99.95 || v <= 0.0 => 0,
        v if v >= 9.995 => 1,
        v if v >= 0.9995 => 2,
        v if v >= 0.09995 => 3,
        _ => 4,
    };
    format!("{value:.decimals$}")
}

#[cfg(test)]
mod tests {
    #[test]
    fn whole_seconds_and_parts() {
        assert_eq!(
            [7.0, 20.0 / 3.0, 1.0 / 3.0, 301.0].map(super::seconds),
            ["7 s", "6.67 s", "0.333 s", "301 s"]
        );
    }

    #[test]
    fn one_seed_and_several() {
        assert_eq!([1, 5].map(super::seeds), ["1 seed", "5 seeds"]);
    }
}
