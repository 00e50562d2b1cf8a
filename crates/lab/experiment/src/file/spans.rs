//! Reads spans of time: `[["40 s", "60 s"]]`.

use units::{Duration, Time};

use crate::diagnostic::Diagnostic;
use crate::file::cursor::Cursor;

/// Reads a list of spans with start and end, in order. `what` names a span in messages.
pub(crate) fn spans(cursor: &Cursor<'_>, what: &str) -> Result<Vec<(Time, Time)>, Diagnostic> {
    let mut spans: Vec<(Time, Time)> = Vec::new();
    for span in cursor.list()? {
        let not_one = || {
            let right = format!("write a {what} as [\"40 s\", \"60 s\"]: its start and its end");
            span.invalid(format!("invalid {what}"), right)
        };
        let list = span.list().map_err(|_| not_one())?;
        let [from, to] = list.as_slice() else { return Err(not_one()) };
        let (from, to): (Duration, Duration) = (from.read()?, to.read()?);
        if from >= to {
            return Err(span.invalid(format!("a {what} from {from} to {to}"), "it must end after its start"));
        }
        if spans.last().is_some_and(|before| before.1 > Time::ZERO + from) {
            let wrong = format!("starts at {from}, before the previous {what} ends");
            return Err(span.problem(wrong, format!("list each {what} in order, without overlap")));
        }
        spans.push((Time::ZERO + from, Time::ZERO + to));
    }
    Ok(spans)
}
