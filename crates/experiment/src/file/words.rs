//! A link in words, as a command line has it: `rate=10 Mbit/s delay=25 ms queue=2 BDP`.
//!
//! The words become the TOML of a `[link]` table and are read as that, so that keys, units and errors are those of experiment files. A
//! value goes on until the next `key=`; a table or list is written as in TOML.

use crate::diagnostic::Diagnostic;
use crate::diagnostics::Diagnostics;

const EXAMPLE: &str = "write it like \"rate=10 Mbit/s delay=25 ms queue=2 BDP\"";

/// Keys with their values.
#[derive(Clone, Debug)]
pub struct Words<'a> {
    text: &'a str,
    pairs: Vec<(String, String)>,
}

impl<'a> Words<'a> {
    /// Takes a line apart.
    ///
    /// # Errors
    /// A word that belongs to no key, keys without a value. What keys and values mean is not looked at.
    pub fn split(text: &'a str) -> Result<Self, Diagnostics> {
        let problem = |wrong: String| Diagnostic::new(format!("link \"{text}\""), wrong, EXAMPLE);
        let mut pairs: Vec<(String, String)> = Vec::new();
        let mut depth = Depth::default();
        for word in text.split_whitespace() {
            let outside = depth.is_outside();
            match word.split_once('=').filter(|(key, _)| outside && is_key(key)) {
                Some((key, value)) => pairs.push((key.to_owned(), value.to_owned())),
                None => {
                    let Some((_, value)) = pairs.last_mut() else {
                        return Err(problem(format!("`{word}` is no key with a value")).into());
                    };
                    if !value.is_empty() {
                        value.push(' ');
                    }
                    value.push_str(word);
                }
            }
            depth.read(word);
        }
        if pairs.is_empty() {
            return Err(problem("nothing is said of the link".to_owned()).into());
        }
        let bare = pairs.iter().filter(|(_, value)| value.is_empty());
        match Diagnostics::of(bare.map(|(key, _)| problem(format!("`{key}` has no value"))).collect()) {
            Some(problems) => Err(problems),
            None => Ok(Self { text, pairs }),
        }
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.pairs.iter().find(|(k, _)| k == key).map(|(_, value)| value.as_str())
    }

    /// The key and its value, if there is one alone.
    pub fn single(&self) -> Option<(&str, &str)> {
        match self.pairs.as_slice() {
            [(key, value)] => Some((key, value)),
            _ => None,
        }
    }

    /// With a value for a key that is not there.
    #[must_use]
    pub fn with_default(mut self, key: &str, value: Option<&str>) -> Self {
        if let (None, Some(value)) = (self.get(key), value) {
            self.pairs.push((key.to_owned(), value.to_owned()));
        }
        self
    }

    /// The keys of a `[link]` table, a line each.
    pub fn toml(&self) -> String {
        self.pairs.iter().map(|(key, value)| format!("{key} = {}\n", toml_value(value))).collect()
    }

    /// What stands for the file in messages.
    pub fn name(&self) -> String {
        format!("link \"{}\"", self.text)
    }
}

fn is_key(word: &str) -> bool {
    !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
}

/// What is TOML already stays; all else is text.
fn toml_value(value: &str) -> String {
    let is_toml = value.starts_with(['{', '[', '"', '\'']) || ["true", "false"].contains(&value);
    if is_toml { value.to_owned() } else { toml::Value::String(value.to_owned()).to_string() }
}

/// How deep in brackets, and whether in quotes: a `key=` in there is not one of the link's.
#[derive(Debug, Default)]
struct Depth {
    brackets: u32,
    quote: Option<char>,
}

impl Depth {
    fn is_outside(&self) -> bool {
        self.brackets == 0 && self.quote.is_none()
    }

    fn read(&mut self, word: &str) {
        for c in word.chars() {
            match (self.quote, c) {
                (Some(quote), _) if quote == c => self.quote = None,
                (Some(_), _) => {}
                (None, '"' | '\'') => self.quote = Some(c),
                (None, '{' | '[') => self.brackets += 1,
                (None, '}' | ']') => self.brackets = self.brackets.saturating_sub(1),
                _ => {}
            }
        }
    }
}
