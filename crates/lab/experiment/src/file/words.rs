//! A link written as words on a command line: `rate=10 Mbit/s delay=25 ms queue=2 BDP`.
//!
//! The words are converted to the TOML of a `[link]` table, so that keys, units and errors are
//! those of experiment files. A value extends to the next `key=`. Tables and lists are written as
//! in TOML. `trace=verizon.down` is short for the rate `{ trace = "verizon.down" }`.

use crate::diagnostic::Diagnostic;
use crate::diagnostics::Diagnostics;
use crate::file::tables::network::Link;

/// Key of a recorded link.
const TRACE: &str = "trace";

const EXAMPLE: &str = "write it like \"rate=10 Mbit/s delay=25 ms queue=2 BDP\"";

/// A sequence of keys with values.
#[derive(Clone, Debug)]
pub struct Words<'a> {
    text: &'a str,
    pairs: Vec<(String, String)>,
}

impl<'a> Words<'a> {
    /// Splits a line into keys and values, without checking their meaning. A link's key without `=`
    /// counts as a key without a value.
    ///
    /// # Errors Fails for a word that belongs to no key, and for keys without a value.
    pub fn split(text: &'a str) -> Result<Self, Diagnostics> {
        let problem = |wrong: String| Diagnostic::new(format!("link \"{text}\""), wrong, EXAMPLE);
        let mut pairs: Vec<(String, String)> = Vec::new();
        let mut depth = Depth::default();
        for word in text.split_whitespace() {
            let outside = depth.is_outside();
            match word.split_once('=').filter(|(key, _)| outside && is_key(key)) {
                Some((key, value)) => pairs.push((key.to_owned(), value.to_owned())),
                None if outside && (word == TRACE || Link::known().contains(&word)) => {
                    pairs.push((word.to_owned(), String::new()));
                }
                None => {
                    let Some((_, value)) = pairs.last_mut() else {
                        return Err(problem(format!("`{word}` is not a `key=value` pair")).into());
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
            return Err(problem("the link is empty".to_owned()).into());
        }
        let bare = pairs.iter().filter(|(_, value)| value.is_empty());
        match Diagnostics::from_vec(bare.map(|(key, _)| problem(format!("`{key}` has no value"))).collect()) {
            Some(problems) => Err(problems),
            None => Ok(Self { text, pairs }),
        }
    }

    /// Returns the value of a key.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.pairs.iter().find(|(k, _)| k == key).map(|(_, value)| value.as_str())
    }

    /// Returns the key and its value, if there is exactly one.
    pub fn single(&self) -> Option<(&str, &str)> {
        match self.pairs.as_slice() {
            [(key, value)] => Some((key, value)),
            _ => None,
        }
    }

    /// Adds a value for a key that is absent.
    #[must_use]
    pub fn with_default(mut self, key: &str, value: Option<&str>) -> Self {
        if let (None, Some(value)) = (self.get(key), value) {
            self.pairs.push((key.to_owned(), value.to_owned()));
        }
        self
    }

    /// Returns the keys of a `[link]` table as TOML, one per line.
    pub fn toml(&self) -> String {
        let pair = |(key, value): &(String, String)| match (key.as_str(), toml_value(value)) {
            (TRACE, file) => format!("rate = {{ {TRACE} = {file} }}\n"),
            (key, value) => format!("{key} = {value}\n"),
        };
        self.pairs.iter().map(pair).collect()
    }

    /// Returns the name used for the file in messages.
    pub fn name(&self) -> String {
        format!("link \"{}\"", self.text)
    }
}

fn is_key(word: &str) -> bool {
    !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
}

/// Returns the value as TOML: unchanged if it is TOML already, otherwise as a string.
fn toml_value(value: &str) -> String {
    let is_toml = value.starts_with(['{', '[', '"', '\'']) || ["true", "false"].contains(&value);
    if is_toml { value.to_owned() } else { toml::Value::String(value.to_owned()).to_string() }
}

/// Nesting in brackets and quotes, where `key=` does not start a new key.
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
