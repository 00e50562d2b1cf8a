//! Reads `link.aqm`: active queue management with its parameters, or only its name.

use link::{Aqm, Limit};

use crate::diagnostic::Diagnostic;
use crate::file::cursor::Cursor;
use crate::file::merge::merge;

/// Reads the queue management. `limit` is the queue's limit, which thresholds in % refer to.
pub(crate) fn read(cursor: &Cursor<'_>, limit: Limit) -> Result<Aqm, Diagnostic> {
    let all = Aqm::all();
    let named = |at: &Cursor<'_>| {
        let name: String = at.read()?;
        let found = all.iter().find(|aqm| aqm.name() == name).cloned();
        found.ok_or_else(|| at.unknown("AQM", &name, all.iter().map(Aqm::name)))
    };
    let check = |aqm: &Aqm| aqm.check(limit);
    if cursor.node().as_str().is_some() {
        let aqm = named(cursor)?;
        return check(&aqm).map(|()| aqm).map_err(|wrong| cursor.problem(wrong, ""));
    }
    let right = "write \"codel\", or { name = \"codel\", ... } with parameters";
    merge(&named(&cursor.name(right)?)?, cursor, &["name"], check)
}
