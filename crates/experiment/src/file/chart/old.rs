//! Rejects the syntax that charts had before marks, and says what to write instead.

use crate::diagnostic::{Diagnostic, Reach, nearest};
use crate::file::cursor::Cursor;

/// Kinds, with the keys that draw the same chart.
const KINDS: &[(&str, &str)] = &[
    ("rtt-cdf", "mark = \"line\", x = \"rtt\""),
    ("over-time", "mark = \"line\", x = \"time\", and y for metrics"),
    ("line", "mark = \"line\""),
    ("heatmap", "mark = \"rect\""),
    ("bars", "mark = \"bar\", x = \"row\", and y for metrics"),
    ("box", "mark = \"box\", x = \"row\", and y for metrics"),
    ("grouped-bars", "mark = \"bar\", x = \"variant\", and y for metrics"),
    ("stacked", "mark = \"area\", x = \"time\""),
    ("plane", "mark = \"point\", x = \"rtt\", y = \"goodput\""),
    ("shares", "mark = \"bar\", y = \"goodput\", colour = \"flow\""),
];

/// Refuses `kind` and `metrics`.
pub(super) fn refuse(cursor: &Cursor<'_>) -> Result<(), Diagnostic> {
    if let Some(at) = cursor.get("kind") {
        let kind: String = at.read()?;
        let words: Vec<&str> = KINDS.iter().map(|(word, _)| *word).collect();
        let meant = nearest(&kind, &words).and_then(|word| KINDS.iter().find(|(known, _)| *known == word));
        let right = meant
            .map_or("mark = \"line\", \"bar\", \"area\", \"point\", \"box\" or \"rect\"", |(_, now)| now);
        // Without its kind, the other keys cannot be checked.
        let wrong = at.problem("unknown key; charts have a `mark`", format!("write {right}"));
        return Err(wrong.reaching(Reach::Table));
    }
    match cursor.get("metrics") {
        Some(at) => Err(at.invalid("unknown key", "write y = [...]")),
        None => Ok(()),
    }
}
