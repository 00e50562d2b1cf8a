//! Spans of time: `[["40 s", "60 s"]]`.

use units::{Duration, Time};

use crate::diagnostic::Diagnostic;
use crate::file::cursor::Cursor;

/// A list of times from when to when, in order; `what` one of them is.
pub(crate) fn spans(cursor: &Cursor<'_>, what: &str) -> Result<Vec<(Time, Time)>, Diagnostic> {
    let mut spans: Vec<(Time, Time)> = Vec::new();
    for span in cursor.list()? {
        let not_one = || {
            let right = format!("a {what} is [\"40 s\", \"60 s\"], from when to when");
            span.invalid(format!("not a {what}"), right)
        };
        let list = span.list().map_err(|_| not_one())?;
        let [from, to] = list.as_slice() else { return Err(not_one()) };
        let (from, to): (Duration, Duration) = (from.read()?, to.read()?);
        if from >= to {
            return Err(span.invalid(format!("a {what} from {from} to {to}"), "it ends after it begins"));
        }
        if spans.last().is_some_and(|before| before.1 > Time::ZERO + from) {
            let wrong = format!("begins at {from}, before the {what} before it ends");
            return Err(span.problem(wrong, format!("{what}s in order, none inside another")));
        }
        spans.push((Time::ZERO + from, Time::ZERO + to));
    }
    Ok(spans)
}
