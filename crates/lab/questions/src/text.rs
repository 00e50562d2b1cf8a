//! Parts of texts.

/// Shortens a line to `width` characters and marks the cut with an ellipsis.
pub fn cut(line: &str, width: usize) -> String {
    match line.chars().count() > width {
        true => line.chars().take(width.saturating_sub(1)).collect::<String>().trim_end().to_owned() + "…",
        false => line.trim_end().to_owned(),
    }
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
