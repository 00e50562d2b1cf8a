//! `cargo xtask reproductions`: pages of the book about each source, with the verdicts on its claims
//! and the distance from its numbers.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use crate::{Checked, summaries, write};
use results::ledger::{self, Source};
use results::summary::{ClaimResult, Summary, Verdict};

/// Columns of a line.
const WIDTH: usize = 100;
/// Sources by the folder of their experiments.
const TITLES: [(&str, &str); 8] = [
    ("catalogue", "The catalogue: best-known claims of every controller"),
    ("dccc", "DCCC: delay-constrained congestion control for media"),
    ("dstar", "TCP D*: a window from the measured bandwidth-delay product"),
    ("ecn-fairness", "Fairness of CUBIC and BBR with ECN"),
    ("quic-dc", "QUIC Delay Control"),
    ("reference", "Linux TCP and ns-3"),
    ("rfc8698", "NADA, RFC 8698"),
    ("thesis", "QUIC congestion control and loss recovery, a thesis"),
];
/// Verdicts in the order of a page, each with its heading.
const HEADINGS: [(Verdict, &str); 5] = [
    (Verdict::Missed, "Claims that are missed"),
    (Verdict::Partly, "Claims that hold partly"),
    (Verdict::WithinSpread, "Claims within the spread of the runs"),
    (Verdict::NotJudged, "Claims that could not be judged"),
    (Verdict::Holds, "Claims that hold"),
];

/// Writes the pages to the folder, or returns a complaint about each page that differs there.
pub(crate) fn run(dirs: &[PathBuf], book: &Path, check: bool) -> Checked {
    let pages = pages(&summaries(dirs)?);
    if check {
        return Ok(differing(&pages, book));
    }
    pages.iter().try_for_each(|(name, text)| write(&book.join(name), text))?;
    Ok(Vec::new())
}

fn differing(pages: &[(String, String)], book: &Path) -> Vec<String> {
    let paths = pages.iter().map(|(name, text)| (book.join(name), text));
    let differing = paths.filter(|(path, text)| fs::read_to_string(path).ok().as_ref() != Some(text));
    let complaint =
        |path: PathBuf| format!("{} differs; `cargo xtask reproductions RESULTS` writes it", path.display());
    differing.map(|(path, _)| complaint(path)).collect()
}

/// Returns the pages: name of the file and text, `index.md` first.
fn pages(summaries: &[Summary]) -> Vec<(String, String)> {
    let sources = ledger::by_source(summaries.iter());
    let mut pages = vec![("index.md".to_owned(), index(&sources))];
    pages.extend(sources.iter().map(|source| (format!("{}.md", source.name), page(source, summaries))));
    pages
}

fn title(source: &Source) -> &str {
    TITLES.iter().find(|(name, _)| *name == source.name).map_or(source.name.as_str(), |(_, title)| title)
}

fn index(sources: &[Source]) -> String {
    let mut out = String::from("# Reproductions\n\n");
    paragraph(
        &mut out,
        "Each row is a source: first its claims by verdict, then its published numbers by their \
         difference from ours. Only variants that the source describes count. A claim holds if it is \
         true in them by more than the spread between runs. A statement of a source counts once. A claim \
         has an unknown cause if it does not hold and the reason is not known. A number has an unknown \
         cause if it differs by more than 10 % and the reason is not known. It is of an unknown path if \
         it differs by more than 10 % and the source measured on a path that is not known, such as the \
         Internet. Such numbers are not comparable. `cargo xtask reproductions results` generates these pages \
         from the results of all shipped experiments.",
    );
    out.push_str(&ledger::markdown(sources));
    out.push('\n');
    for source in sources {
        let _ = writeln!(out, "- [{}]({}.md)", title(source), source.name);
    }
    out
}

fn page(source: &Source, summaries: &[Summary]) -> String {
    let of_source = |summary: &&Summary| summary.experiment.split('/').next() == Some(&source.name);
    let own: Vec<&Summary> = summaries.iter().filter(of_source).collect();
    let mut out = format!("# {}\n\n", title(source));
    let experiments = match source.experiments {
        1 => "the experiment".to_owned(),
        count => format!("the {count} experiments"),
    };
    let intro = format!(
        "`ackclock run {}` runs {experiments} on this page. Reasons were written for these runs.",
        source.name
    );
    paragraph(&mut out, &intro);
    out.push_str(&ledger::markdown(std::slice::from_ref(source)));
    out.push_str("\n## Experiments\n\n");
    for summary in &own {
        let [title, origin] = [&summary.title, &summary.source].map(|text| sentence(text));
        item(&mut out, &format!("`{}`: {title} {origin}", summary.experiment));
    }
    for (verdict, heading) in HEADINGS {
        claims(&mut out, heading, &own, |claim| !claim.ours && claim.verdict == verdict);
    }
    own.iter().filter(|summary| summary.source.starts_with("our ")).for_each(|own| ours(&mut out, own));
    differences(&mut out, source);
    out
}

/// Writes the section of an experiment of this project: its note, and its claims with verdicts.
fn ours(out: &mut String, summary: &Summary) {
    let _ = writeln!(out, "\n## {}\n", summary.title);
    wrapped(out, &format!("`{}`. {}", summary.experiment, escaped(&summary.note)), "", "");
    out.push('\n');
    for claim in &summary.claims {
        let says = sentence(&escaped(&claim.says));
        let reason = claim.reason.as_ref().filter(|_| claim.verdict != Verdict::Holds);
        let reason = reason.map_or_else(String::new, |reason| format!(" {}", escaped(reason)));
        item(out, &format!("`{}`, {}: {says}{reason}", claim.id, claim.verdict.words()));
    }
}

fn claims(out: &mut String, heading: &str, own: &[&Summary], which: impl Fn(&ClaimResult) -> bool) {
    let found = own.iter().flat_map(|summary| summary.claims.iter().map(move |claim| (summary, claim)));
    let found: Vec<_> = found.filter(|(_, claim)| which(claim)).collect();
    if found.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n## {heading}\n");
    for (summary, claim) in found {
        item(out, &format!("`{}` in `{}`: {}", claim.id, summary.experiment, escaped(&claim.says)));
        if let Some(reason) = claim.reason.as_ref().filter(|_| claim.verdict != Verdict::Holds) {
            let open = if claim.open { "Cause unknown. " } else { "" };
            out.push('\n');
            wrapped(out, &format!("{open}{}", escaped(reason)), "  ", "  ");
        }
    }
}

fn differences(out: &mut String, source: &Source) {
    let far: Vec<_> = source.largest.iter().filter(|found| found.is_far()).collect();
    if far.is_empty() {
        return;
    }
    out.push_str("\n## Largest differences\n\n| experiment | row | metric | ours | published | cause |\n");
    out.push_str("|---|---|---|--:|--:|---|\n");
    for found in far {
        let shown = |value: f64| format!("{value:.*}", found.metric.decimals(value));
        let variant = if found.variant.is_empty() { String::new() } else { format!(", {}", found.variant) };
        let (row, metric) = (escaped(found.row.as_ref()), &found.metric);
        let (ours, published) = (shown(found.ours), shown(found.published));
        let _ = writeln!(
            out,
            "| {}{} | {row} | {metric} | {ours} | {published} | {} |",
            found.experiment,
            escaped(&variant),
            found.state.word()
        );
    }
}

/// Returns the text with a capital first letter and a mark at its end.
fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    let mut out: String = chars.next().into_iter().flat_map(char::to_uppercase).chain(chars).collect();
    if !out.ends_with(['.', '?', '!']) {
        out.push('.');
    }
    out
}

/// Escapes characters that Markdown would read as markup.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '*' | '_' | '<' | '>' | '|' | '[' | ']') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

fn paragraph(out: &mut String, text: &str) {
    wrapped(out, text, "", "");
    out.push('\n');
}

fn item(out: &mut String, text: &str) {
    wrapped(out, text, "- ", "  ");
}

fn wrapped(out: &mut String, text: &str, first: &str, others: &str) {
    let options = textwrap::Options::new(WIDTH)
        .initial_indent(first)
        .subsequent_indent(others)
        .break_words(false)
        .word_splitter(textwrap::WordSplitter::NoHyphenation)
        .word_separator(textwrap::WordSeparator::AsciiSpace);
    out.push_str(&textwrap::fill(text, options));
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_that_differ_or_are_missing_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let pages = ["a.md", "b.md"].map(|name| (name.to_owned(), format!("{name}\n")));
        write(&folder.path().join("a.md"), "a.md\n").unwrap();
        let named = differing(&pages, folder.path());
        assert!(named.len() == 1 && named[0].contains("b.md differs"), "{named:?}");
        write(&folder.path().join("a.md"), "a\n").unwrap();
        assert_eq!(differing(&pages, folder.path()).len(), 2);
    }

    #[test]
    fn markup_is_escaped() {
        assert_eq!(escaped("TCP D*, a_b | <c>"), "TCP D\\*, a\\_b \\| \\<c\\>");
    }

    #[test]
    fn titles_and_sources_become_sentences() {
        assert_eq!(sentence("our experiment"), "Our experiment.");
        assert_eq!(sentence("Which controllers fail?"), "Which controllers fail?");
        assert_eq!(sentence(""), ".");
    }

    #[test]
    fn lines_are_wrapped() {
        let mut out = String::new();
        item(&mut out, &"word ".repeat(60));
        assert!(out.lines().all(|line| line.len() <= WIDTH) && out.lines().count() == 4, "{out}");
        assert!(out.starts_with("- word") && out.lines().skip(1).all(|line| line.starts_with("  word")));
    }
}
