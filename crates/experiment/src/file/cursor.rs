//! A reader's finger on a value: it knows file, line and key path, so that every error says where.

use serde::de::DeserializeOwned;

use crate::diagnostic::{Diagnostic, Reach, did_you_mean};
use crate::file::node::{At, Entry, Node, Value, join};

/// A value, and the way to it.
#[derive(Clone, Debug)]
pub(crate) struct Cursor<'a> {
    file: &'a str,
    path: String,
    node: &'a Node,
}

impl<'a> Cursor<'a> {
    /// On a whole document.
    pub(crate) fn root(file: &'a str, node: &'a Node) -> Self {
        Self { file, path: String::new(), node }
    }

    /// On another value in the same place.
    pub(crate) fn over<'b>(&self, node: &'b Node) -> Cursor<'b>
    where
        'a: 'b,
    {
        Cursor { file: self.file, path: self.path.clone(), node }
    }

    /// On what these keys lead to, as far as they do.
    pub(crate) fn below(&self, path: &[String]) -> Self {
        let down = |at: Self, key: &String| match at.node.get(key) {
            Some(node) => Self { file: at.file, path: join(&at.path, key), node },
            None => at,
        };
        path.iter().fold(self.clone(), down)
    }

    /// On something inside this value.
    fn down(&self, key: &str, node: &'a Node) -> Self {
        Self { file: self.file, path: join(&self.path, key), node }
    }

    pub(crate) fn node(&self) -> &'a Node {
        self.node
    }

    pub(crate) fn file(&self) -> &'a str {
        self.file
    }

    /// A problem with this value beside others of the file.
    pub(crate) fn problem(&self, wrong: impl Into<String>, right: impl Into<String>) -> Diagnostic {
        self.node.at.problem(self.file, &self.path, wrong, right)
    }

    /// A problem with this value, whatever else the file says.
    pub(crate) fn invalid(&self, wrong: impl Into<String>, right: impl Into<String>) -> Diagnostic {
        self.problem(wrong, right).reaching(Reach::Value)
    }

    /// A word here that is none of the program's.
    pub(crate) fn unknown<'n>(
        &self,
        what: &str,
        word: &str,
        known: impl IntoIterator<Item = &'n str>,
    ) -> Diagnostic {
        self.unknown_name(what, word, known).reaching(Reach::Value)
    }

    /// A name here that nothing in the file has.
    pub(crate) fn unknown_name<'n>(
        &self,
        what: &str,
        name: &str,
        known: impl IntoIterator<Item = &'n str>,
    ) -> Diagnostic {
        self.problem(format!("unknown {what} `{name}`"), did_you_mean(name, known))
    }

    /// A problem with one of this table's keys.
    fn key_problem(
        &self,
        key: &str,
        at: &At,
        wrong: impl Into<String>,
        right: impl Into<String>,
    ) -> Diagnostic {
        at.problem(self.file, &join(&self.path, key), wrong, right)
    }

    /// The keys of a table, none of them unknown.
    pub(crate) fn table(&self, known: &[&str]) -> Result<Fields<'a>, Diagnostic> {
        let Value::Table(entries) = &self.node.value else {
            return Err(self.invalid("not a table", format!("keys: {}", known.join(", "))));
        };
        match entries.iter().find(|e| !known.contains(&e.key.as_str())) {
            Some(e) => {
                let right = did_you_mean(&e.key, known.iter().copied());
                Err(self.key_problem(&e.key, &e.at, "unknown key", right).reaching(Reach::Value))
            }
            None => Ok(Fields { cursor: self.clone(), entries }),
        }
    }

    /// The entries of a table whose keys are free.
    pub(crate) fn entries(&self) -> Result<Vec<(&'a Entry, Self)>, Diagnostic> {
        match &self.node.value {
            Value::Table(entries) => Ok(entries.iter().map(|e| (e, self.down(&e.key, &e.node))).collect()),
            _ => Err(self.invalid("not a table", "")),
        }
    }

    /// The value of a key, if this is a table that has it.
    pub(crate) fn get(&self, key: &str) -> Option<Self> {
        self.node.get(key).map(|node| self.down(key, node))
    }

    /// The elements of a list.
    pub(crate) fn list(&self) -> Result<Vec<Self>, Diagnostic> {
        match &self.node.value {
            Value::Array(list) => {
                let all = list.iter().enumerate().filter(|(_, node)| !node.is_gone());
                Ok(all.map(|(i, node)| self.down(&i.to_string(), node)).collect())
            }
            _ => Err(self.invalid("not a list", "a list stands in brackets: [...]")),
        }
    }

    /// The elements of a list of tables, written `[[key]]`.
    pub(crate) fn tables(&self) -> Result<Vec<Self>, Diagnostic> {
        let key = &self.path;
        // Perhaps the header that makes the list is misspelt, and only one of a table inside it is not.
        let otherwise = || self.problem("not a list of tables", format!("write [[{key}]] for each"));
        self.list().map_err(|_| otherwise().reaching(Reach::Table))
    }

    /// A value of a type.
    pub(crate) fn read<T: DeserializeOwned>(&self) -> Result<T, Diagnostic> {
        let value = self.node.to_toml();
        T::deserialize(value.clone())
            .map_err(|e| self.invalid(without_unit::<T>(&value).unwrap_or_else(|| words(&e)), ""))
    }

    /// A list that must not be empty.
    pub(crate) fn filled_list(&self) -> Result<Vec<Self>, Diagnostic> {
        match self.list()? {
            list if list.is_empty() => Err(self.invalid("the list is empty", "name at least one")),
            list => Ok(list),
        }
    }

    /// One of these words.
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
    /// The table itself.
    pub(crate) fn cursor(&self) -> &Cursor<'a> {
        &self.cursor
    }

    /// The value of a key that may be absent.
    pub(crate) fn get(&self, key: &str) -> Option<Cursor<'a>> {
        self.entries.iter().find(|e| e.key == key).map(|e| self.cursor.down(key, &e.node))
    }

    /// The value of a key that must be there.
    pub(crate) fn need(&self, key: &str, right: &str) -> Result<Cursor<'a>, Diagnostic> {
        let missing = || self.cursor.key_problem(key, &self.cursor.node.at, "missing", right);
        self.get(key).ok_or_else(|| missing().reaching(Reach::Table))
    }

    /// Reads the value of a key that may be absent.
    pub(crate) fn read<T: DeserializeOwned>(&self, key: &str) -> Result<Option<T>, Diagnostic> {
        self.get(key).map(|c| c.read()).transpose()
    }
}

/// What serde says, without its program's words.
pub(crate) fn words(error: &toml::de::Error) -> String {
    let message = error.message().trim().replace('\n', " ");
    if message.contains("did not match any variant") { "not a value of this key".to_owned() } else { message }
}

/// For a bare number where a unit is needed: what the unit's own parser says about it.
fn without_unit<T: DeserializeOwned>(value: &toml::Value) -> Option<String> {
    let number = match value {
        toml::Value::Integer(n) => n.to_string(),
        toml::Value::Float(n) => n.to_string(),
        _ => return None,
    };
    let error = T::deserialize(toml::Value::String(number)).err()?;
    Some(words(&error)).filter(|message| !message.starts_with("invalid"))
}
