//! `ackclock algorithms`: prints the family tree of the controllers, or describes one with its
//! equations, parameters and variables.

use congestion::{Entry, Family, Lineage, Needs, PathInfo, Variable};

use crate::controllers::controllers;
use crate::status::{Error, HOLDS, list_width, print, width};
use experiment::controllers::{find, unknown};
use questions::text::cut;

/// Widths of the columns of years and names.
const YEAR: usize = 5;
const NAME: usize = 16;

/// Prints the controllers by family, or the full description of the one with this name.
pub(crate) fn run(name: Option<&str>) -> Result<u8, Error> {
    let all = controllers();
    let Some(name) = name else {
        let own = |entry: &&Entry| Lineage::find(entry.name).is_none();
        print_family("yours: From your crate or program.", all.iter().filter(own));
        for family in Family::ALL {
            let mut members: Vec<(u16, &Entry)> = all
                .iter()
                .filter_map(|entry| Lineage::find(entry.name).map(|lineage| (lineage, entry)))
                .filter(|(lineage, _)| lineage.family == family)
                .map(|(lineage, entry)| (lineage.year, entry))
                .collect();
            members.sort_by_key(|(year, _)| *year);
            let heading = format!("{}: {}", family.name(), family.doc());
            print_family(&heading, members.into_iter().map(|(_, entry)| entry));
        }
        print("Equations, parameters and variables: `ackclock algorithms NAME`\n");
        return Ok(HOLDS);
    };
    let entry = find(controllers(), name).ok_or_else(|| Error::bad(unknown(controllers(), name)))?;
    if entry.name != name {
        print(&format!("`{name}` stands for {}\n\n", entry.name));
    }
    in_full(entry)
}

/// Prints the members of a family below its heading, unless it has none.
fn print_family<'a>(heading: &str, members: impl Iterator<Item = &'a Entry>) {
    let mut members = members.peekable();
    if members.peek().is_some() {
        print(&format!("{heading}\n"));
        members.for_each(|entry| print(&format!("  {}\n", line(entry, list_width() - 2))));
        print("\n");
    }
}

/// Smallest width of the document in a line that is too narrow for everything.
const DOCUMENT: usize = 34;

/// Formats name, description and document.
fn line(entry: &Entry, width: usize) -> String {
    let doc = without_brackets(entry.doc.trim().trim_end_matches('.'));
    let (what, source) = doc.split_once(": ").unwrap_or((&doc, ""));
    let document = source.split(", ").take(2).collect::<Vec<_>>().join(", ");
    let room = width.saturating_sub(YEAR + NAME + 3 + document.chars().count().min(DOCUMENT));
    let needs: Vec<&str> = entry.algorithm().build(PathInfo::default()).needs().words().collect();
    let needs = if needs.is_empty() { String::new() } else { format!("; needs {}", needs.join(", ")) };
    let end = if document.is_empty() { needs } else { format!(": {document}{needs}") };
    let year = Lineage::find(entry.name).map_or_else(String::new, |lineage| lineage.year.to_string());
    cut(&format!("{year:YEAR$}{:NAME$} {}{end}", entry.name, cut(what, room)), width)
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
    print(&format!("{}\n", paragraph(&place(entry))));
    if let Some(lineage) = Lineage::find(entry.name) {
        print(&format!("   equations and deviations\n{}", indented_markdown(&lineage.header())));
    }
    print("   parameters\n");
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

/// Returns family, ancestors, needed signals and worlds, as sentences.
fn place(entry: &Entry) -> String {
    let needs = entry.algorithm().build(PathInfo::default()).needs();
    let mut text = String::new();
    if let Some(lineage) = Lineage::find(entry.name) {
        text = format!("Family: {}, {}", lineage.family.name(), lineage.year);
        if !lineage.parents.is_empty() {
            text += &format!(", after {}", lineage.parents.join(" and "));
        }
        text += ". ";
    }
    let signals: Vec<&str> = needs.words().collect();
    if !signals.is_empty() {
        text += &format!("Needs: {}. ", signals.join(", "));
    }
    if let Some(mark) = needs.ecn.name() {
        text += &format!("Its packets carry {mark}, unless a file sets recovery.ecn. ");
    }
    text + &worlds(needs)
}

/// Returns where a controller with these needs runs, as a sentence.
fn worlds(needs: Needs) -> String {
    match needs.missing_in_linux_tcp() {
        Some(lacks) => format!("Runs on: sim, stack, wire; not on kernel, since it needs {lacks}."),
        None => "Runs on: sim, stack, wire, kernel.".to_owned(),
    }
}

/// Wraps and indents the paragraphs of a Markdown text. Code blocks keep their lines.
fn indented_markdown(text: &str) -> String {
    let mut out = String::new();
    let (mut code, mut prose) = (false, String::new());
    let flush = |prose: &mut String, out: &mut String| {
        if !prose.trim().is_empty() {
            *out += &format!("{}\n", paragraph(prose.trim()));
        }
        prose.clear();
    };
    for line in text.lines() {
        if line.starts_with("```") {
            flush(&mut prose, &mut out);
            code = !code;
        } else if code {
            out += format!("{INDENT}{line}").trim_end();
            out.push('\n');
        } else if line.is_empty() {
            flush(&mut prose, &mut out);
        } else {
            prose += &format!("{} ", line.replace("[`", "`").replace("`]", "`"));
        }
    }
    flush(&mut prose, &mut out);
    out
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
