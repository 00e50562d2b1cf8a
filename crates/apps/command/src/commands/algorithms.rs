//! `ackclock algorithms`: lists the controllers, or describes one with its parameters and
//! variables.

use congestion::{Entry, Variable};

use crate::controllers::controllers;
use crate::status::{Error, HOLDS, list_width, print, width};
use experiment::controllers::{find, unknown};
use questions::text::cut;

/// Width of the name column.
const NAME: usize = 16;

/// Prints one line per controller, or the full description of the one with this name.
pub(crate) fn run(name: Option<&str>) -> Result<u8, Error> {
    let all = controllers();
    let Some(name) = name else {
        all.iter().for_each(|entry| print(&format!("{}\n", line(entry, list_width()))));
        print("\nParameters, defaults, ranges and variables: `ackclock algorithms NAME`\n");
        return Ok(HOLDS);
    };
    let entry = find(controllers(), name).ok_or_else(|| Error::bad(unknown(controllers(), name)))?;
    if entry.name != name {
        print(&format!("`{name}` stands for {}\n\n", entry.name));
    }
    in_full(entry)
}

/// Smallest width of the document in a line that is too narrow for everything.
const DOCUMENT: usize = 34;

/// Formats name, description and document.
fn line(entry: &Entry, width: usize) -> String {
    let doc = without_brackets(entry.doc.trim().trim_end_matches('.'));
    let (what, source) = doc.split_once(": ").unwrap_or((&doc, ""));
    let document = source.split(", ").take(2).collect::<Vec<_>>().join(", ");
    let room = width.saturating_sub(NAME + 3 + document.chars().count().min(DOCUMENT));
    let end = if document.is_empty() { String::new() } else { format!(": {document}") };
    cut(&format!("{:NAME$} {}{end}", entry.name, cut(what, room)), width)
}

fn without_brackets(text: &str) -> String {
    let mut depth = 0;
    let mut outside = String::new();
    for c in text.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            c if depth == 0 => outside.push(c),
            _ => {}
        }
    }
    outside.replace(" ,", ",").trim_end().to_owned()
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
        let later =
            if entry.variables.iter().all(|v| v.always) { "" } else { "; `later`: no value at first" };
        print(&format!(
            "{}\n",
            indented(&format!("variables in series.parquet and qlog (`cc_...`){later}"), "   ", "   ")
        ));
        entry.variables.iter().for_each(|variable| print(&format!("{}\n", item(variable))));
    }
    Ok(HOLDS)
}

/// Formats name, unit and meaning of a variable, with `later` if it has no value at first.
fn item(variable: &Variable) -> String {
    let Variable { name, unit, doc, always } = variable;
    let words = [*unit, if *always { "" } else { "later" }];
    let words = words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(", ");
    let head = if words.is_empty() { (*name).to_owned() } else { format!("{name} ({words})") };
    indented(&format!("{head}: {}", doc.trim()), INDENT, "           ")
}

const INDENT: &str = "       ";

/// Wraps and indents a text below the name that it explains.
fn paragraph(text: &str) -> String {
    indented(text, INDENT, INDENT)
}

fn indented(text: &str, first: &str, rest: &str) -> String {
    textwrap::fill(text, textwrap::Options::new(width()).initial_indent(first).subsequent_indent(rest))
}
