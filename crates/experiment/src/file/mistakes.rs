//! All mistakes of a file at once: what the first one blames is taken out of the document, which is then read again.
//!
//! The first is always told. Of the others those that do not follow from what is missing by then: a value that is wrong by itself,
//! or beside keys of its own table, of which none has been taken out, or beside other tables, if those are as they were.

use crate::diagnostic::{Diagnostic, Reach};
use crate::diagnostics::Diagnostics;
use crate::file::node::{At, Node, Value, join};
use crate::file::tables::{File, known_keys};
use crate::text::Place;

known_keys!(KEYS: File<'static>);

/// A document is not read more often.
const READINGS: usize = 100;

/// Keys that decide what the other keys of their table mean, which is taken out with them.
const DECISIVE: &[&str] = &["name", "kind", "transport", "stack"];

/// A key and the value that it gets so that the rest can be read.
pub(super) type StandIns = &'static [(&'static [&'static str], &'static str)];

/// What stands where a key of a file must be.
const STAND_INS: StandIns = &[
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

/// Tables that nothing else depends on, and no two of them on each other.
const LAST: &[&str] = &["note", "claim", "miss", "bias", "chart"];

/// Keys, and numbers in lists.
type Path = Vec<String>;

/// What is read of a file, or all that is wrong with it. `read` is `None` when it has been asked for too much.
pub(super) fn told<T>(
    document: Node,
    read: impl FnMut(Node) -> Option<Result<T, Diagnostic>>,
) -> Result<T, Diagnostics> {
    told_with(document, STAND_INS, read)
}

/// The same of any document, with what stands in its place for a key that must be there.
pub(super) fn told_with<T>(
    mut document: Node,
    stand_ins: StandIns,
    mut read: impl FnMut(Node) -> Option<Result<T, Diagnostic>>,
) -> Result<T, Diagnostics> {
    let mut found: Vec<Diagnostic> = Vec::new();
    let mut taken: Vec<Path> = Vec::new();
    let mut is_part = true;
    for _ in 0..READINGS {
        let problem = match read(document.clone()) {
            Some(Ok(read)) if found.is_empty() => return Ok(read),
            Some(Err(problem)) => problem,
            rest => {
                is_part = rest.is_none();
                break;
            }
        };
        let at = blamed(&document, &problem);
        if found.is_empty() || at.as_ref().is_some_and(|at| stands_alone(&document, &problem, at, &taken)) {
            found.push(problem);
        }
        match at.and_then(|at| take_out(&mut document, at, &taken, stand_ins)) {
            Some(path) => taken.push(path),
            None => break,
        }
    }
    let mut found = found.into_iter();
    let first = found.next().unwrap_or_else(|| Diagnostic::new("", "not read", ""));
    Err(Diagnostics::new(first, found).given_up(is_part))
}

/// Whether a problem is there whatever stood where something has been taken out.
fn stands_alone(document: &Node, problem: &Diagnostic, at: &Path, taken: &[Path]) -> bool {
    let is_own = |t: &Path| t.starts_with(at);
    // Of a table on the way to it, but not of the whole file.
    let is_beside = |t: &Path| {
        let table = &t[..t.len() - 1];
        at.starts_with(table) && (!table.is_empty() || at.len() == 1)
    };
    // A key of [vary]; what is misspelt may have been that table.
    let is_unknown = |t: &Path| t.len() == 1 && !KEYS.contains(&t[0].as_str());
    let is_varied = |t: &Path| t[0] == "vary" || is_unknown(t) && document.get("vary").is_none();
    match problem.reach() {
        Reach::Value => !taken.iter().any(is_own),
        // Not where `[vary]` has made the table.
        Reach::Table => {
            dotted(at) == problem.key && !taken.iter().any(|t| is_own(t) || is_beside(t) || is_varied(t))
        }
        Reach::File => {
            taken.iter().all(|t| LAST.contains(&t[0].as_str()) && !at.starts_with(&t[..t.len().min(2)]))
        }
    }
}

/// Where the document has what a problem blames; for a key that is missing, where it would be.
fn blamed(document: &Node, problem: &Diagnostic) -> Option<Path> {
    let Some(place) = problem.place() else {
        // Of another file, which only this table names.
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

/// The paths of all that stands at a place: a list begins where its first element does.
fn at_place(node: &Node, place: &Place, path: &mut Path, all: &mut Vec<Path>) {
    let is_here = |at: &At| matches!(at, At::File(known) if known == place);
    if is_here(&node.at) {
        all.push(path.clone());
    }
    let mut below = |key: String, node: &Node, at: Option<&At>| {
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

/// Takes out what stands at a path, or what it is a part of where that has been tried; returns what it was.
fn take_out(document: &mut Node, mut path: Path, taken: &[Path], stand_ins: StandIns) -> Option<Path> {
    let is_decisive = |path: &Path| path.last().is_some_and(|key| DECISIVE.contains(&key.as_str()));
    while path.len() > 1 && is_decisive(&path) || taken.contains(&path) {
        path.pop();
    }
    let (key, above) = path.split_last()?;
    let stand_in = stand_in(&path, stand_ins);
    let table = above.iter().try_fold(&mut *document, |node, key| child(node, key))?;
    let at = table.at.clone();
    match (&mut table.value, stand_in) {
        (Value::Table(_), Some(text)) => {
            table.set(std::slice::from_ref(key), &at, &Node::argument(&at, text)).ok()?;
        }
        (Value::Table(entries), None) => match entries.iter().position(|e| e.key == *key) {
            Some(known) => drop(entries.remove(known)),
            // It is missing: then its table goes.
            None => return take_out(document, above.to_vec(), taken, stand_ins),
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

fn stand_in(path: &Path, stand_ins: StandIns) -> Option<&'static str> {
    let fits = |pattern: &[&str]| {
        pattern.len() == path.len() && pattern.iter().zip(path).all(|(p, key)| *p == "*" || p == key)
    };
    stand_ins.iter().find(|(pattern, _)| fits(pattern)).map(|(_, text)| *text)
}
