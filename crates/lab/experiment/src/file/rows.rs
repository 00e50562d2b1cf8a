//! Row patterns of claims, known deviations and charts: `["QUIC-DC *"]`, `["!QUIC-DC *"]`.

use crate::diagnostic::{Diagnostic, did_you_mean};
use crate::file::cursor::Cursor;

/// Patterns of labels. `*` matches any text, and `!` excludes labels. A list with only negative
/// patterns matches all other labels.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct Rows(Vec<String>);

impl Rows {
    /// Reports whether a label matches.
    pub fn matches(&self, label: &str) -> bool {
        let (negative, positive): (Vec<&String>, Vec<&String>) =
            self.0.iter().partition(|p| p.starts_with('!'));
        let is_wanted = positive.is_empty() || positive.iter().any(|p| matches(p, label));
        is_wanted && !negative.iter().any(|p| matches(&p[1..], label))
    }

    /// Returns the matching labels, in order.
    pub fn pick<'l, L: AsRef<str>>(&self, labels: &'l [L]) -> Vec<&'l L> {
        labels.iter().filter(|label| self.matches(label.as_ref())).collect()
    }

    /// Reads a list of patterns, each of which must match one of the labels. `what` names the
    /// labels in messages: row, variant.
    pub(crate) fn read(
        cursor: &Cursor<'_>,
        what: &str,
        labels: &[impl AsRef<str>],
    ) -> Result<Self, Diagnostic> {
        let mut patterns = Vec::new();
        for item in cursor.filled_list()? {
            let pattern: String = item.read()?;
            let bare = pattern.strip_prefix('!').unwrap_or(&pattern);
            if !labels.iter().any(|label| matches(bare, label.as_ref())) {
                let known = labels.iter().map(AsRef::as_ref);
                // A file that varies nothing but the rows has a single variant without a name.
                if what == "variant" && known.clone().all(str::is_empty) {
                    let right = "remove the pattern, or add a key to [vary]";
                    let wrong = format!("`{pattern}` matches no {what}: nothing varies apart from the rows");
                    return Err(item.problem(wrong, right));
                }
                return Err(item.problem(
                    format!("`{pattern}` matches no {what} of the table"),
                    did_you_mean(bare, known),
                ));
            }
            patterns.push(pattern);
        }
        let rows = Self(patterns);
        if rows.pick(labels).is_empty() {
            return Err(cursor.problem(format!("the patterns match no {what}"), ""));
        }
        Ok(rows)
    }
}

/// Reports whether a label matches a pattern, in which each asterisk matches any text.
pub fn matches(pattern: &str, label: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| label.strip_prefix(first)) else { return false };
    if !pattern.contains('*') {
        return rest.is_empty();
    }
    let Some(last) = parts.next_back() else { return false };
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn asterisks() {
        for (pattern, label) in
            [("*", ""), ("*", "x"), ("QUIC-DC *", "QUIC-DC 10"), ("*0*", "108"), ("a*b*c", "abbc")]
        {
            assert!(matches(pattern, label), "{pattern} {label}");
        }
        for (pattern, label) in
            [("", "x"), ("QUIC-DC", "QUIC-DC 10"), ("QUIC-DC *", "QUIC-DC"), ("ab*ba", "aba")]
        {
            assert!(!matches(pattern, label), "{pattern} {label}");
        }
    }

    #[test]
    fn some_all_but_and_some_but() {
        let labels = ["QUIC-DC 10", "QUIC-DC 80", "Cubic"].map(str::to_owned);
        let pick = |patterns: &[&str]| {
            Rows(patterns.iter().map(|p| (*p).to_owned()).collect())
                .pick(&labels)
                .into_iter()
                .cloned()
                .collect::<Vec<_>>()
                .join(",")
        };
        assert_eq!(pick(&["QUIC-DC *"]), "QUIC-DC 10,QUIC-DC 80");
        assert_eq!(pick(&["!QUIC-DC *"]), "Cubic");
        assert_eq!(pick(&["QUIC-DC *", "!*80"]), "QUIC-DC 10");
        assert_eq!(pick(&[]), "QUIC-DC 10,QUIC-DC 80,Cubic");
    }
}
