//! A TOML document in which every value knows its line, and whose values can be replaced (`[vary]`,
//! `--set`).

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use serde::{Serialize, Serializer};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::diagnostic::Diagnostic;
use crate::diagnostics::Diagnostics;
use crate::printable;
use crate::text::{Place, Text};

/// The origin of a value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Origin {
    /// A place in the file.
    File(Place),
    /// The whole argument, `--set key=value`.
    Argument(Arc<str>),
}

impl Origin {
    /// Creates a problem at this origin.
    pub(crate) fn problem(
        &self,
        file: &str,
        key: &str,
        wrong: impl Into<String>,
        right: impl Into<String>,
    ) -> Diagnostic {
        match self {
            Self::File(place) => Diagnostic::new(file, wrong, right).at_place(place.clone()).at_key(key),
            Self::Argument(argument) => Diagnostic::new(&**argument, wrong, right).at_key(key),
        }
    }
}

/// A value and its origin.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) at: Origin,
    pub(crate) value: Value,
}

/// A value of a document.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    /// A string, number, boolean or date.
    Leaf(toml::Value),
    /// A list, including lists of tables such as `[[flow]]`.
    Array(Vec<Node>),
    /// A table with keys in file order.
    Table(Vec<Entry>),
    /// A removed element of a list, kept so that later elements keep their numbers.
    Gone,
}

/// Writes the value without origins.
impl Serialize for Node {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match &self.value {
            Value::Leaf(leaf) => leaf.serialize(to),
            Value::Array(list) => to.collect_seq(list.iter().filter(|node| !node.is_gone())),
            Value::Gone => to.collect_seq(<[(); 0]>::default()),
            Value::Table(entries) => to.collect_map(entries.iter().map(|entry| (&entry.key, &entry.node))),
        }
    }
}

/// A key with its value.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) key: String,
    /// Origin of the key. The value may be on a later line.
    pub(crate) at: Origin,
    pub(crate) node: Node,
}

/// Parses a whole file.
pub(crate) fn parse(file: &str, text: &str) -> Result<Node, Diagnostics> {
    if text.trim().is_empty() {
        return Err(empty(file).into());
    }
    let mut reader = Reader { file, text: Text::new(text), problems: Vec::new() };
    if let Some(at) = too_deep(text) {
        reader.problem(at..at, "", "the key is nested too deeply".to_owned(), "");
        return reader.done(Vec::new());
    }
    let (table, errors) = DeTable::parse_recoverable(text);
    reader.not_toml(errors);
    if !reader.problems.is_empty() {
        return reader.done(Vec::new());
    }
    if table.get_ref().is_empty() {
        return Err(empty(file).into());
    }
    let entries = reader.entries(table.into_inner(), "");
    reader.done(entries)
}

/// Creates the problem with an empty file.
pub(crate) fn empty(file: &str) -> Diagnostic {
    Diagnostic::new(file, "the file is empty", "an experiment needs title, duration, [link] and [[flow]]")
        .on_line(1)
}

/// Most problems that are kept.
const MAX_PROBLEMS: usize = 1000;

/// Most dots in one key. The parser bounds the nesting of brackets but not of dotted keys, and
/// walks both recursively.
const MAX_DOTS: usize = 100;

/// Returns the position of a key nested too deeply. Dots in strings and comments do not count.
fn too_deep(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let (mut at, mut dots) = (0, 0);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'#' => at = find(text, at, "\n"),
            b'"' | b'\'' => at = end_of_string(text, at),
            b'.' => dots += 1,
            b'\n' | b'=' | b',' | b'[' | b']' | b'{' | b'}' => dots = 0,
            _ => {}
        }
        if dots > MAX_DOTS {
            return Some(at);
        }
        at += 1;
    }
    None
}

/// Returns the end of the next occurrence of an ASCII text, or the last byte.
fn find(text: &str, from: usize, what: &str) -> usize {
    let found = text.as_bytes()[from..].windows(what.len()).position(|window| window == what.as_bytes());
    found.map_or(text.len() - 1, |at| from + at + what.len() - 1)
}

/// Returns the last byte of the string that starts here. An escaped quote may end it early, which
/// at worst counts a few dots.
fn end_of_string(text: &str, at: usize) -> usize {
    for quotes in ["\"\"\"", "'''", "\"", "'"] {
        if text.as_bytes()[at..].starts_with(quotes.as_bytes()) && at + quotes.len() < text.len() {
            let end = find(text, at + quotes.len(), quotes);
            // A single-line string without a closing quote is left to the parser to report.
            let open = quotes.len() == 1 && text.as_bytes()[at..end].contains(&b'\n');
            return if open { at } else { end };
        }
    }
    at
}

/// Builds nodes from the parser's output.
struct Reader<'a> {
    file: &'a str,
    text: Arc<Text>,
    /// The problems so far.
    problems: Vec<Diagnostic>,
}

impl Reader<'_> {
    fn at(&self, span: Range<usize>) -> Origin {
        Origin::File(self.text.place(span))
    }

    fn problem(&mut self, span: Range<usize>, path: &str, wrong: String, right: &str) {
        if self.problems.len() < MAX_PROBLEMS {
            self.problems.push(self.at(span).problem(self.file, path, wrong, right));
        }
    }

    /// Reports the parser's errors. After the first error the parser guesses, so another error
    /// counts only if its line alone is invalid TOML too.
    fn not_toml(&mut self, mut errors: Vec<toml::de::Error>) {
        errors.sort_by_key(|error| error.span().map(|span| span.start));
        let mut last = 0;
        for error in errors {
            let span = error.span().unwrap_or_default();
            let place = self.text.place(span.clone());
            let is_own = || place.first_line().is_some_and(|(line, _)| DeTable::parse(line).is_err());
            if self.problems.is_empty() || place.line() > last && is_own() {
                let message = error.message().trim().replace('\n', ", ");
                self.problem(span, "", format!("invalid TOML: {message}"), "");
            }
            last = place.line();
        }
    }

    fn done(self, entries: Vec<Entry>) -> Result<Node, Diagnostics> {
        let root = Node { at: self.at(0..0), value: Value::Table(entries) };
        let is_incomplete = self.problems.len() == MAX_PROBLEMS;
        let mut problems = self.problems.into_iter();
        problems
            .next()
            .map_or(Ok(root), |first| Err(Diagnostics::new(first, problems).with_incomplete(is_incomplete)))
    }

    fn entries(&mut self, table: DeTable<'_>, path: &str) -> Vec<Entry> {
        let mut spanned: Vec<_> = table.into_iter().collect();
        spanned.sort_by_key(|(key, _)| key.span().start);
        let entry = |(key, value): (Spanned<Cow<'_, str>>, _)| {
            let at = self.at(key.span());
            let key = self.shown(key, path);
            let node = self.node(value, &join(path, &key));
            Entry { key, at, node }
        };
        spanned.into_iter().map(entry).collect()
    }

    /// Returns a text that is safe to display, with Unix line ends.
    fn shown(&mut self, text: Spanned<Cow<'_, str>>, path: &str) -> String {
        let (span, text) = (text.span(), text.into_inner().replace("\r\n", "\n"));
        if let Err(wrong) = printable::check(&text) {
            self.problem(span, path, wrong, "remove it");
        }
        text
    }

    fn node(&mut self, value: Spanned<DeValue<'_>>, path: &str) -> Node {
        let span = value.span();
        let value = match value.into_inner() {
            DeValue::String(text) => {
                Value::Leaf(toml::Value::String(self.shown(Spanned::new(span.clone(), text), path)))
            }
            DeValue::Integer(n) => {
                let read = i64::from_str_radix(n.as_str(), n.radix()).ok();
                self.number(span.clone(), n.as_str(), read.map(toml::Value::Integer), path)
            }
            DeValue::Float(n) => {
                let read = n.as_str().parse().ok();
                self.number(span.clone(), n.as_str(), read.map(toml::Value::Float), path)
            }
            DeValue::Boolean(truth) => Value::Leaf(toml::Value::Boolean(truth)),
            DeValue::Datetime(date) => Value::Leaf(toml::Value::Datetime(date)),
            DeValue::Array(list) => {
                let items = list.into_iter().enumerate();
                Value::Array(items.map(|(i, v)| self.node(v, &join(path, &i.to_string()))).collect())
            }
            DeValue::Table(table) => Value::Table(self.entries(table, path)),
        };
        Node { at: self.at(span), value }
    }

    fn number(&mut self, span: Range<usize>, text: &str, read: Option<toml::Value>, path: &str) -> Value {
        if read.is_none() {
            self.problem(span, path, format!("the number `{text}` is too large"), "");
        }
        read.map_or(Value::Gone, Value::Leaf)
    }
}

/// Joins `link` and `rate` to `link.rate`.
pub(crate) fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

impl Node {
    /// Creates a text.
    pub(crate) fn text(at: Origin, text: &str) -> Self {
        Self { at, value: Value::Leaf(toml::Value::String(text.to_owned())) }
    }

    /// Parses a command-line argument as TOML, or takes it as text.
    pub(crate) fn argument(at: &Origin, text: &str) -> Self {
        let parsed = format!("value = {text}").parse::<toml::Table>().ok();
        let value = parsed.filter(|table| table.len() == 1).and_then(|mut table| table.remove("value"));
        value.map_or_else(|| Self::text(at.clone(), text), |value| Self::from_toml(at, value))
    }

    fn from_toml(at: &Origin, value: toml::Value) -> Self {
        let value = match value {
            toml::Value::Array(list) => {
                Value::Array(list.into_iter().map(|v| Self::from_toml(at, v)).collect())
            }
            toml::Value::Table(table) => Value::Table(
                table
                    .into_iter()
                    .map(|(key, v)| Entry { key, at: at.clone(), node: Self::from_toml(at, v) })
                    .collect(),
            ),
            leaf => Value::Leaf(leaf),
        };
        Self { at: at.clone(), value }
    }

    /// Returns a document as a file, with keys in their order.
    pub(crate) fn to_text(&self) -> String {
        // A document that was parsed has no value that TOML lacks.
        toml::to_string(self).unwrap_or_default()
    }

    /// Returns the value without origins.
    pub(crate) fn to_toml(&self) -> toml::Value {
        match &self.value {
            Value::Leaf(leaf) => leaf.clone(),
            Value::Array(list) => {
                toml::Value::Array(list.iter().filter(|node| !node.is_gone()).map(Self::to_toml).collect())
            }
            Value::Gone => toml::Value::Array(Vec::new()),
            Value::Table(entries) => {
                toml::Value::Table(entries.iter().map(|e| (e.key.clone(), e.node.to_toml())).collect())
            }
        }
    }

    /// Reports whether the element was removed.
    pub(crate) fn is_gone(&self) -> bool {
        matches!(self.value, Value::Gone)
    }

    pub(crate) fn is_table(&self) -> bool {
        matches!(self.value, Value::Table(_))
    }

    /// Returns the value of a key, if this is a table that has it.
    pub(crate) fn get(&self, key: &str) -> Option<&Self> {
        match &self.value {
            Value::Table(entries) => entries.iter().find(|e| e.key == key).map(|e| &e.node),
            _ => None,
        }
    }

    /// Returns the text, if the value is one.
    pub(crate) fn as_str(&self) -> Option<&str> {
        match &self.value {
            Value::Leaf(leaf) => leaf.as_str(),
            _ => None,
        }
    }

    /// Sets a value at a path and creates missing tables. A list on the path means each of its
    /// tables, or one of them if the path contains its number.
    ///
    /// # Errors Describes the obstacle on the path.
    pub(crate) fn set(&mut self, path: &[String], at: &Origin, value: &Self) -> Result<(), String> {
        let [key, rest @ ..] = path else {
            *self = value.clone();
            return Ok(());
        };
        match &mut self.value {
            Value::Table(entries) => {
                let entry = entry(entries, key, at);
                if matches!(key.as_str(), "controller" | "application") && !rest.is_empty() {
                    entry.node.open_name();
                }
                if rest.is_empty() {
                    entry.at = at.clone();
                }
                entry
                    .node
                    .set(rest, at, value)
                    .map_err(|e| if e.starts_with('`') { e } else { format!("`{key}` {e}") })
            }
            Value::Array(list) => set_in_list(list, path, at, value),
            Value::Leaf(_) => Err("is a value, not a table with keys".to_owned()),
            Value::Gone => Ok(()),
        }
    }

    /// Expands `"cubic"` to `{ name = "cubic" }`, and `"media"` to `{ name = "media" }`.
    fn open_name(&mut self) {
        if let Some(name) = self.as_str() {
            let entry = Entry {
                key: "name".to_owned(),
                at: self.at.clone(),
                node: Self::text(self.at.clone(), name),
            };
            self.value = Value::Table(vec![entry]);
        }
    }
}

fn entry<'a>(entries: &'a mut Vec<Entry>, key: &str, at: &Origin) -> &'a mut Entry {
    let index = entries.iter().position(|e| e.key == key).unwrap_or_else(|| {
        let node = Node { at: at.clone(), value: Value::Table(Vec::new()) };
        entries.push(Entry { key: key.to_owned(), at: at.clone(), node });
        entries.len() - 1
    });
    &mut entries[index]
}

fn set_in_list(list: &mut [Node], path: &[String], at: &Origin, value: &Node) -> Result<(), String> {
    let count = list.len();
    match path[0].parse::<usize>() {
        Ok(index) => match list.get_mut(index) {
            Some(node) => node.set(&path[1..], at, value),
            None => Err(format!("has no element {index}: it has {count}, counted from 0")),
        },
        Err(_) => list.iter_mut().try_for_each(|node| node.set(path, at, value)),
    }
}
