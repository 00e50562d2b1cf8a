//! `link.aqm`: the queue's management with its parameters, or just its name.

use link::{Aqm, Limit};

use crate::diagnostic::Diagnostic;
use crate::file::cursor::Cursor;
use crate::file::merge::merge;

/// `limit` is the queue's: a threshold in % is a part of it.
pub(crate) fn read(cursor: &Cursor<'_>, limit: Limit) -> Result<Aqm, Diagnostic> {
    let all = Aqm::all();
    let named = |at: &Cursor<'_>| {
        let name: String = at.read()?;
        let found = all.iter().find(|aqm| aqm.name() == name).cloned();
        found.ok_or_else(|| at.unknown("queue management", &name, all.iter().map(Aqm::name)))
    };
    let check = |aqm: &Aqm| aqm.check(limit);
    if cursor.node().as_str().is_some() {
        let aqm = named(cursor)?;
        return check(&aqm).map(|()| aqm).map_err(|wrong| cursor.problem(wrong, ""));
    }
    let right = "queue management is { name = \"codel\" } with its parameters, or just \"codel\"";
    let entries = cursor.entries().map_err(|_| cursor.invalid("not a queue management", right))?;
    let name = entries.iter().find(|(entry, _)| entry.key == "name").map(|(_, below)| below);
    let name = name.ok_or_else(|| cursor.invalid("`name` is missing", right))?;
    merge(&named(name)?, cursor, &["name"], check)
}
