//! Finds all mistakes of a file at once: removes the part of the document that the first mistake
//! concerns, and reads the rest again.
//!
//! The first mistake is always reported. Others are reported only if they do not follow from a
//! removal. A wrong value alone always qualifies. A mistake that involves keys of its own table
//! qualifies if none of these was removed. A mistake that involves other tables qualifies if they
//! are unchanged.

use crate::diagnostic::{Diagnostic, Reach};
use crate::diagnostics::Diagnostics;
use crate::file::node::{Node, Origin, Value, join};
use crate::file::tables::KEYS;
use crate::text::Place;

/// Most readings of a document.
const MAX_READINGS: usize = 100;

/// Keys that decide the meaning of the other keys of their table, which is then removed with them.
const DECISIVE: &[&str] = &["name", "kind", "transport", "stack"];

/// Keys with values that replace a removed one, so that the rest can be read.
pub(super) type Placeholders = &'static [(&'static [&'static str], &'static str)];

/// Placeholders for the required keys of a file.
const PLACEHOLDERS: Placeholders = &[
    (&["title"], "none"),
    (&["duration"], "60 s"),
    (&["link"], "{ rate = \"10 Mbit/s\", delay = \"1 ms\" }"),
    (&["link", "rate"], "10 Mbit/s"),
    (&["link", "delay"], "1 ms"),
    (&["link", "*", "rate"], "10 Mbit/s"),
    (&["link", "*", "delay"], "1 ms"),
    (&["flow"], "[{ controller = \"cubic\" }]"),
    (&["flow", "*", "controller"], "cubic"),
    (&["chart", "*", "title"], "none"),
];

/// Tables that nothing else depends on, and that do not depend on each other.
const LAST: &[&str] = &["note", "claim", "miss", "bias", "chart"];

/// Keys, and indices of lists.
type Path = Vec<String>;

/// Reads a file, or returns all its mistakes. `read` returns `None` when it has done too much work.
pub(super) fn read_or_report<T>(
    document: Node,
    read: impl FnMut(Node) -> Option<Result<T, Diagnostic>>,
) -> Result<T, Diagnostics> {
    read_or_report_with(document, PLACEHOLDERS, read)
}

/// Does the same for any document, with its own placeholders for required keys.
pub(super) fn read_or_report_with<T>(
    mut document: Node,
    placeholders: Placeholders,
    mut read: impl FnMut(Node) -> Option<Result<T, Diagnostic>>,
) -> Result<T, Diagnostics> {
    let mut found: Vec<Diagnostic> = Vec::new();
    let mut taken: Vec<Path> = Vec::new();
    let mut is_incomplete = true;
    for _ in 0..MAX_READINGS {
        let problem = match read(document.clone()) {
            Some(Ok(read)) if found.is_empty() => return Ok(read),
            Some(Err(problem)) => problem,
            rest => {
                is_incomplete = rest.is_none();
                break;
            }
        };
        let at = blamed(&document, &problem);
        if found.is_empty() || at.as_ref().is_some_and(|at| is_independent(&document, &problem, at, &taken)) {
            found.push(problem);
        }
        match at.and_then(|at| remove(&mut document, at, &taken, placeholders)) {
            Some(path) => taken.push(path),
            None => break,
        }
    }
    let mut found = found.into_iter();
    let first = found.next().unwrap_or_else(|| Diagnostic::new("", "not read", ""));
    Err(Diagnostics::new(first, found).with_incomplete(is_incomplete))
}

/// Reports whether a problem is independent of everything that was removed.
fn is_independent(document: &Node, problem: &Diagnostic, at: &Path, taken: &[Path]) -> bool {
    let is_own = |t: &Path| t.starts_with(at);
    // A key of a table on the path, but not of the root table.
    let is_beside = |t: &Path| {
        let table = &t[..t.len() - 1];
        at.starts_with(table) && (!table.is_empty() || at.len() == 1)
    };
    // A key of [vary]. A misspelt key may have been that table.
    let is_unknown = |t: &Path| t.len() == 1 && !KEYS.contains(&t[0].as_str());
    let is_varied = |t: &Path| t[0] == "vary" || is_unknown(t) && document.get("vary").is_none();
    match problem.reach() {
        Reach::Value => !taken.iter().any(is_own),
        // A table that `[vary]` has created does not qualify.
        Reach::Table => {
            dotted(at) == problem.key && !taken.iter().any(|t| is_own(t) || is_beside(t) || is_varied(t))
        }
        Reach::File => {
            taken.iter().all(|t| LAST.contains(&t[0].as_str()) && !at.starts_with(&t[..t.len().min(2)]))
        }
    }
}

/// Returns the path that a problem concerns. For a missing key, returns the path that it would
/// have.
fn blamed(document: &Node, problem: &Diagnostic) -> Option<Path> {
    let Some(place) = problem.place() else {
        // The problem is in another file, which only this table names.
        return document.get("published").map(|_| vec!["published".to_owned()]);
    };
    let mut all = Vec::new();
    at_place(document, place, &mut Vec::new(), &mut all);
    let (above, key) = problem.key.rsplit_once('.').unwrap_or(("", &problem.key));
    let named = |name: &str| all.iter().find(|path| dotted(path) == name);
    let missing = || Some([named(above)?.as_slice(), &[key.to_owned()]].concat());
    named(&problem.key).cloned().or_else(missing).or_else(|| all.last().cloned())
}

fn dotted(path: &Path) -> String {
    path.iter().fold(String::new(), |above, key| join(&above, key))
}

/// Collects the paths of everything at a place. A list starts at the same place as its first
/// element.
fn at_place(node: &Node, place: &Place, path: &mut Path, all: &mut Vec<Path>) {
    let is_here = |at: &Origin| matches!(at, Origin::File(known) if known == place);
    if is_here(&node.at) {
        all.push(path.clone());
    }
    let mut below = |key: String, node: &Node, at: Option<&Origin>| {
        path.push(key);
        if at.is_some_and(is_here) && !is_here(&node.at) {
            all.push(path.clone());
        }
        at_place(node, place, path, all);
        path.pop();
    };
    match &node.value {
        Value::Table(entries) => entries.iter().for_each(|e| below(e.key.clone(), &e.node, Some(&e.at))),
        Value::Array(list) => {
            list.iter().enumerate().for_each(|(i, node)| below(i.to_string(), node, None));
        }
        Value::Leaf(_) | Value::Gone => {}
    }
}

/// Removes the value at a path, or its parent if that was already tried. Returns the removed path.
fn remove(document: &mut Node, mut path: Path, taken: &[Path], placeholders: Placeholders) -> Option<Path> {
    let is_decisive = |path: &Path| path.last().is_some_and(|key| DECISIVE.contains(&key.as_str()));
    while path.len() > 1 && is_decisive(&path) || taken.contains(&path) {
        path.pop();
    }
    let (key, above) = path.split_last()?;
    let placeholder = placeholder(&path, placeholders);
    let table = above.iter().try_fold(&mut *document, |node, key| child(node, key))?;
    let at = table.at.clone();
    match (&mut table.value, placeholder) {
        (Value::Table(_), Some(text)) => {
            table.set(std::slice::from_ref(key), &at, &Node::argument(&at, text)).ok()?;
        }
        (Value::Table(entries), None) => match entries.iter().position(|e| e.key == *key) {
            Some(known) => drop(entries.remove(known)),
            // The key is missing, so remove its table.
            None => return remove(document, above.to_vec(), taken, placeholders),
        },
        (Value::Array(list), _) => list.get_mut(key.parse::<usize>().ok()?)?.value = Value::Gone,
        (Value::Leaf(_) | Value::Gone, _) => return None,
    }
    Some(path)
}

fn child<'n>(node: &'n mut Node, key: &str) -> Option<&'n mut Node> {
    match &mut node.value {
        Value::Table(entries) => entries.iter_mut().find(|e| e.key == key).map(|e| &mut e.node),
        Value::Array(list) => list.get_mut(key.parse::<usize>().ok()?),
        Value::Leaf(_) | Value::Gone => None,
    }
}

fn placeholder(path: &Path, placeholders: Placeholders) -> Option<&'static str> {
    let fits = |pattern: &[&str]| {
        pattern.len() == path.len() && pattern.iter().zip(path).all(|(p, key)| *p == "*" || p == key)
    };
    placeholders.iter().find(|(pattern, _)| fits(pattern)).map(|(_, text)| *text)
}
