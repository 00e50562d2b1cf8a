//! `ackclock algorithms`: an index of the controllers, or one of them with its parameters and variables.

use congestion::{Entry, Variable};

use crate::status::{Error, HOLDS, cut, print, width};
use experiment::controllers::{controllers, find, unknown};

/// Columns of a name.
const NAME: usize = 16;

/// All of them in a line each, or the one of this name in full.
pub(crate) fn run(name: Option<&str>) -> Result<u8, Error> {
    let all = controllers();
    let Some(name) = name else {
        all.iter().for_each(|entry| print(&format!("{}\n", line(entry, width()))));
        print("\n`ackclock algorithms NAME`: its parameters, defaults, ranges; its variables\n");
        return Ok(HOLDS);
    };
    let entry = find(name).ok_or_else(|| Error::bad(unknown(name)))?;
    if entry.name != name {
        print(&format!("`{name}` is the newest of its family, {}\n\n", entry.name));
    }
    in_full(entry)
}

/// What the document has at least, of a line that is too short for all.
const DOCUMENT: usize = 34;

/// Name, what it is, document.
fn line(entry: &Entry, width: usize) -> String {
    let said = without_brackets(entry.doc.trim().trim_end_matches('.'));
    let (what, of) = said.split_once(": ").unwrap_or((&said, ""));
    let document = of.split(", ").take(2).collect::<Vec<_>>().join(", ");
    let room = width.saturating_sub(NAME + 3 + document.chars().count().min(DOCUMENT));
    let end = if document.is_empty() { String::new() } else { format!(": {document}") };
    cut(&format!("{:NAME$} {}{end}", entry.name, cut(what, room)), width)
}

fn without_brackets(text: &str) -> String {
    let mut depth = 0;
    let mut said = String::new();
    for c in text.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            c if depth == 0 => said.push(c),
            _ => {}
        }
    }
    said.replace(" ,", ",").trim_end().to_owned()
}

fn in_full(entry: &Entry) -> Result<u8, Error> {
    print(&format!("{}\n{}\n", entry.name, paragraph(entry.doc.trim())));
    let defaults = toml::Table::try_from(entry.algorithm()).map_err(Error::bad)?;
    for param in entry.params {
        let key = param.name.replace('_', "-");
        let default = defaults.get(&key).map_or_else(|| "none".to_owned(), ToString::to_string);
        let number = defaults.get(&key).is_some_and(|value| value.is_integer() || value.is_float());
        let range = param.range.or(number.then(|| param.allowed()));
        let range = range.map_or_else(String::new, |range| format!(" Range: {range}."));
        print(&format!("   {key} = {default}\n{}\n", paragraph(&format!("{}{range}", param.doc.trim()))));
    }
    if !entry.states.is_empty() {
        print(&format!("   states\n{}\n", paragraph(&entry.states.join(", "))));
    }
    if !entry.variables.is_empty() {
        let later = if entry.variables.iter().all(|v| v.always) { "" } else { "; `later`: none at first" };
        print(&format!(
            "{}\n",
            indented(&format!("variables of series.parquet and qlog (`cc_...`){later}"), "   ", "   ")
        ));
        entry.variables.iter().for_each(|variable| print(&format!("{}\n", item(variable))));
    }
    Ok(HOLDS)
}

/// Name, unit and meaning of a variable; whether it has a value each time.
fn item(variable: &Variable) -> String {
    let Variable { name, unit, doc, always } = variable;
    let words = [*unit, if *always { "" } else { "later" }];
    let words = words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(", ");
    let head = if words.is_empty() { (*name).to_owned() } else { format!("{name} ({words})") };
    indented(&format!("{head}: {}", doc.trim()), INDENT, "           ")
}

const INDENT: &str = "       ";

/// Within the width, below what it explains.
fn paragraph(text: &str) -> String {
    indented(text, INDENT, INDENT)
}

fn indented(text: &str, first: &str, rest: &str) -> String {
    textwrap::fill(text, textwrap::Options::new(width()).initial_indent(first).subsequent_indent(rest))
}
