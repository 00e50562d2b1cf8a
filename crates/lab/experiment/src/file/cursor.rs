//! A cursor on a value of the document. It knows file, line and key path, so that every error can
//! name them.

use congestion::Registry;
use serde::de::DeserializeOwned;
use units::split_number;

use crate::diagnostic::{Diagnostic, Reach, did_you_mean};
use crate::file::missing;
use crate::file::node::{Entry, Node, Origin, Value, join};

/// A value and its key path.
#[derive(Clone, Debug)]
pub(crate) struct Cursor<'a> {
    file: &'a str,
    controllers: &'a Registry,
    path: String,
    node: &'a Node,
}

impl<'a> Cursor<'a> {
    /// Creates a cursor on a whole document, which may name these controllers.
    pub(crate) fn root(file: &'a str, controllers: &'a Registry, node: &'a Node) -> Self {
        Self { file, controllers, path: String::new(), node }
    }

    /// Returns a cursor on another value in the same place.
    pub(crate) fn over<'b>(&self, node: &'b Node) -> Cursor<'b>
    where
        'a: 'b,
    {
        Cursor { file: self.file, controllers: self.controllers, path: self.path.clone(), node }
    }

    /// Follows these keys as far as they exist.
    pub(crate) fn below(&self, path: &[String]) -> Self {
        let down = |at: Self, key: &String| match at.node.get(key) {
            Some(node) => at.down(key, node),
            None => at,
        };
        path.iter().fold(self.clone(), down)
    }

    /// Returns a cursor on a child of this value.
    fn down(&self, key: &str, node: &'a Node) -> Self {
        Self { path: join(&self.path, key), node, ..*self }
    }

    pub(crate) fn node(&self) -> &'a Node {
        self.node
    }

    pub(crate) fn controllers(&self) -> &'a Registry {
        self.controllers
    }

    pub(crate) fn file(&self) -> &'a str {
        self.file
    }

    /// Reports whether the value is that of a root key, or below it.
    pub(crate) fn is_below(&self, key: &str) -> bool {
        self.path.split('.').next() == Some(key)
    }

    /// Creates a problem that depends on this value and on other parts of the file.
    pub(crate) fn problem(&self, wrong: impl Into<String>, right: impl Into<String>) -> Diagnostic {
        self.node.at.problem(self.file, &self.path, wrong, right)
    }

    /// Creates a problem that depends on this value alone.
    pub(crate) fn invalid(&self, wrong: impl Into<String>, right: impl Into<String>) -> Diagnostic {
        self.problem(wrong, right).reaching(Reach::Value)
    }

    /// Creates a problem for a word that the program does not know.
    pub(crate) fn unknown<'n>(
        &self,
        what: &str,
        word: &str,
        known: impl IntoIterator<Item = &'n str>,
    ) -> Diagnostic {
        self.unknown_name(what, word, known).reaching(Reach::Value)
    }

    /// Creates a problem for a name that the file does not define.
    pub(crate) fn unknown_name<'n>(
        &self,
        what: &str,
        name: &str,
        known: impl IntoIterator<Item = &'n str>,
    ) -> Diagnostic {
        self.problem(format!("unknown {what} `{name}`"), did_you_mean(name, known))
    }

    /// Creates a problem with one of this table's keys.
    fn key_problem(
        &self,
        key: &str,
        at: &Origin,
        wrong: impl Into<String>,
        right: impl Into<String>,
    ) -> Diagnostic {
        at.problem(self.file, &join(&self.path, key), wrong, right)
    }

    /// Returns the keys of a table. Refuses unknown keys.
    pub(crate) fn table(&self, known: &[&str]) -> Result<Fields<'a>, Diagnostic> {
        let Value::Table(entries) = &self.node.value else {
            return Err(self.invalid("expected a table", format!("keys: {}", known.join(", "))));
        };
        match entries.iter().find(|e| !known.contains(&e.key.as_str())) {
            Some(e) => {
                let similar = || did_you_mean(&e.key, known.iter().copied());
                let right = missing::instead(&e.key).map_or_else(similar, str::to_owned);
                Err(self.key_problem(&e.key, &e.at, "unknown key", right).reaching(Reach::Value))
            }
            None => Ok(Fields { cursor: self.clone(), entries }),
        }
    }

    /// Returns the name of a table that may be written as its name alone. `right` shows the forms.
    pub(crate) fn name(&self, right: &str) -> Result<Self, Diagnostic> {
        match self.node.value {
            Value::Table(_) => self.get("name").ok_or_else(|| self.invalid("`name` is missing", right)),
            _ if self.node.as_str().is_some() => Ok(self.clone()),
            _ => Err(self.invalid("expected a name or a table", right)),
        }
    }

    /// Returns the keys of a table, none if only its name is given.
    pub(crate) fn table_or_name(&self, known: &[&str]) -> Result<Fields<'a>, Diagnostic> {
        match self.node.as_str() {
            Some(_) => Ok(Fields { cursor: self.clone(), entries: &[] }),
            None => self.table(known),
        }
    }

    /// Returns the entries of a table with arbitrary keys.
    pub(crate) fn entries(&self) -> Result<Vec<(&'a Entry, Self)>, Diagnostic> {
        match &self.node.value {
            Value::Table(entries) => Ok(entries.iter().map(|e| (e, self.down(&e.key, &e.node))).collect()),
            _ => Err(self.invalid("expected a table", "")),
        }
    }

    /// Returns the value of a key, if this is a table that has it.
    pub(crate) fn get(&self, key: &str) -> Option<Self> {
        self.node.get(key).map(|node| self.down(key, node))
    }

    /// Returns the elements of a list.
    pub(crate) fn list(&self) -> Result<Vec<Self>, Diagnostic> {
        match &self.node.value {
            Value::Array(list) => {
                let all = list.iter().enumerate().filter(|(_, node)| !node.is_gone());
                Ok(all.map(|(i, node)| self.down(&i.to_string(), node)).collect())
            }
            _ => Err(self.invalid("expected a list", "write it in brackets: [...]")),
        }
    }

    /// Returns the elements of a list of tables, written `[[key]]`.
    pub(crate) fn tables(&self) -> Result<Vec<Self>, Diagnostic> {
        let key = &self.path;
        // The header that makes the list may be misspelt, while that of a table inside it is
        // correct.
        let otherwise = || self.problem("expected a list of tables", format!("write [[{key}]] for each"));
        self.list().map_err(|_| otherwise().reaching(Reach::Table))
    }

    /// Deserialises the value.
    pub(crate) fn read<T: DeserializeOwned>(&self) -> Result<T, Diagnostic> {
        let read = |value| T::deserialize(value).map_err(|e| error_text(&e));
        read(self.node.to_toml()).map_err(|wrong| {
            let (wrong, right) = explain(&self.node.to_toml(), wrong, |value| read(value).map(drop));
            self.invalid(wrong, right.unwrap_or_default())
        })
    }

    /// Returns the elements of a list. Refuses an empty list.
    pub(crate) fn filled_list(&self) -> Result<Vec<Self>, Diagnostic> {
        match self.list()? {
            list if list.is_empty() => Err(self.invalid("the list is empty", "write at least one element")),
            list => Ok(list),
        }
    }

    /// Reads one of these words.
    pub(crate) fn word<T: Copy>(&self, what: &str, words: &[(&str, T)]) -> Result<T, Diagnostic> {
        let text: String = self.read()?;
        let found = words.iter().find(|(word, _)| *word == text).map(|(_, value)| *value);
        found.ok_or_else(|| self.unknown(what, &text, words.iter().map(|(word, _)| *word)))
    }
}

/// The keys of a table.
#[derive(Clone, Debug)]
pub(crate) struct Fields<'a> {
    cursor: Cursor<'a>,
    entries: &'a [Entry],
}

impl<'a> Fields<'a> {
    /// Returns a cursor on the table itself.
    pub(crate) fn cursor(&self) -> &Cursor<'a> {
        &self.cursor
    }

    /// Returns the value of an optional key, which may also be named like a field: `long_name`.
    pub(crate) fn get(&self, key: &str) -> Option<Cursor<'a>> {
        let is_same = |(own, asked)| own == asked || (own, asked) == (b'-', b'_');
        let is_named = |e: &&Entry| e.key.len() == key.len() && e.key.bytes().zip(key.bytes()).all(is_same);
        self.entries.iter().find(is_named).map(|e| self.cursor.down(&e.key, &e.node))
    }

    /// Returns the value of a required key. `right` says what to write if it is missing.
    pub(crate) fn need(&self, key: &str, right: &str) -> Result<Cursor<'a>, Diagnostic> {
        self.get(key).ok_or_else(|| self.missing(key, right))
    }

    /// Creates the problem of a required key that is missing.
    pub(crate) fn missing(&self, key: &str, right: &str) -> Diagnostic {
        let problem = self.cursor.key_problem(&key.replace('_', "-"), &self.cursor.node.at, "missing", right);
        problem.reaching(Reach::Table)
    }

    /// Returns the keys of an optional table, none if the file has no such table.
    pub(crate) fn table(&self, key: &str, known: &[&str]) -> Result<Self, Diagnostic> {
        let none = || Ok(Self { cursor: self.cursor.clone(), entries: &[] });
        self.get(key).map_or_else(none, |at| at.table(known))
    }

    /// Returns the value of a key, or the table itself if the key is absent.
    pub(crate) fn at(&self, key: &str) -> Cursor<'a> {
        self.get(key).unwrap_or_else(|| self.cursor.clone())
    }
}

/// Returns serde's message without implementation terms.
pub(crate) fn error_text(error: &toml::de::Error) -> String {
    // The parser adds a line with the key, which the message has already.
    let message = error.message().split("\nin `").next().unwrap_or_default().trim().replace('\n', " ");
    if message.contains("did not match any variant") { "invalid value".to_owned() } else { in_words(message) }
}

/// Translates the kinds of messages that serde itself writes: `must be an integer, not "a"`.
fn in_words(message: String) -> String {
    if let Some(name) = message.strip_prefix("missing field ") {
        return format!("{name} is missing");
    }
    let Some((start, expected)) = message.split_once(", expected ") else { return message };
    if let Some(word) = start.strip_prefix("unknown variant ") {
        let known: Vec<&str> = expected.split('`').skip(1).step_by(2).collect();
        return format!("unknown value {word}; known: {}", known.join(", "));
    }
    let found = ["invalid type: ", "invalid value: ", "invalid length "];
    let Some(found) = found.iter().find_map(|kind| start.strip_prefix(kind)) else { return message };
    format!("must be {}, not {}", kind_in_words(expected), found_in_words(found))
}

/// Translates serde's name of an expected type.
fn kind_in_words(expected: &str) -> String {
    match expected {
        "i8" | "i16" | "i32" | "i64" | "isize" => "an integer".to_owned(),
        "u8" | "u16" | "u32" | "u64" | "usize" => "an integer of at least 0".to_owned(),
        "f32" | "f64" => "a number".to_owned(),
        "a boolean" => "true or false".to_owned(),
        "a string" => "a text in quotes".to_owned(),
        "a sequence" => "a list".to_owned(),
        "a map" => "a table".to_owned(),
        struct_or_tuple => match struct_or_tuple.rsplit_once(" of size ") {
            Some((_, size)) => format!("a list of {size} elements"),
            None if struct_or_tuple.starts_with("struct ") => "a table".to_owned(),
            None => struct_or_tuple.to_owned(),
        },
    }
}

/// Translates serde's description of a value: `string "a"`, ``integer `3` ``.
fn found_in_words(found: &str) -> String {
    match found {
        "sequence" => "a list".to_owned(),
        "map" => "a table".to_owned(),
        value => {
            let kinds = ["string ", "integer ", "floating point ", "boolean "];
            let bare = kinds.iter().find_map(|kind| value.strip_prefix(kind)).unwrap_or(value);
            bare.trim_matches('`').to_owned()
        }
    }
}

/// Units of numbers that files write without a unit.
const NO_UNITS: [&str; 4] = ["", "packet", "packets", "RTT"];

/// Explains why `read` refused a value: returns a message, `wrong` unless there is a better one, and
/// advice. For a value without quotes, the parser of texts explains better: it knows units and
/// words.
pub(crate) fn explain(
    value: &toml::Value,
    wrong: String,
    read: impl Fn(toml::Value) -> Result<(), String>,
) -> (String, Option<String>) {
    let is_bare = value.is_integer() || value.is_float() || value.is_bool();
    let of_text = if is_bare { read(toml::Value::String(value.to_string())).err() } else { None };
    let wrong = of_text.filter(|message| !message.starts_with("must be ")).unwrap_or(wrong);
    let plain = plain_numbers(value).into_iter().find(|number| read(number.clone()).is_ok());
    (wrong, plain.map(|number| format!("write {number}")))
}

/// Returns the number of `"1000 packets"`, `"70 %"` or `3.0`, as an integer and with decimals, and the
/// integer nearest to `29.97`.
fn plain_numbers(value: &toml::Value) -> Vec<toml::Value> {
    let number = match value {
        toml::Value::Float(number) => Some(*number),
        toml::Value::String(text) => match split_number(text) {
            Ok((number, "%")) => Some(number / 100.0),
            Ok((number, unit)) if NO_UNITS.contains(&unit) => Some(number),
            _ => None,
        },
        _ => None,
    };
    let Some(number) = number else { return Vec::new() };
    let whole = (number.fract() == 0.0).then_some(toml::Value::Integer(number as i64));
    let nearest = value.is_float().then(|| toml::Value::Integer(number.round() as i64));
    whole.into_iter().chain([toml::Value::Float(number)]).chain(nearest).collect()
}
