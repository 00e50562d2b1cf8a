//! Parts of texts.

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
    fn one_seed_and_several() {
        assert_eq!([1, 5].map(super::seeds), ["1 seed", "5 seeds"]);
    }
}
