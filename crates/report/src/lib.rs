//! The report: one HTML page that works offline, and each of its charts as an SVG file for a paper.

mod answer;
mod chart;
mod claims;
mod colours;
mod files;
mod ledger;
mod number;
mod page;
mod section;
mod stability;
mod styles;
mod table;
pub mod terminal;
mod variants;

#[cfg(test)]
mod fixture;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

pub use self::answer::Block;
pub use self::chart::Cloud;
use self::chart::{Figure, Source};
use self::files::put;
use self::section::{Drawn, Section};
pub use self::stability::write as write_stability;
use self::styles::Palette;
use results::summary::Results;

/// Writes these files into `dir`.
///
/// # Errors
/// What the file system refuses; no file is ever half written.
pub fn write_numbers(dir: &Path, files: &[(&str, String)]) -> io::Result<()> {
    std::fs::create_dir_all(dir)?;
    files.iter().try_for_each(|(name, text)| put(&dir.join(name), text))
}

/// Writes `dir/index.html`, `dir/ledger.html` and `dir/<experiment>-<chart>.svg`, and of several experiments
/// `dir/<experiment>.html` for each; returns the path of the first.
///
/// A page holds everything it shows: it can be mailed alone. Files of the same names are replaced; what else is in
/// the folder stays.
///
/// # Errors
/// What the file system refuses; no file is ever half written.
pub fn write(dir: &Path, heading: &str, experiments: &[Results]) -> io::Result<PathBuf> {
    write_answer(dir, heading, &[], experiments)
}

/// The same with an answer before everything else, under which the main pictures of the experiments stand.
///
/// # Errors
/// What the file system refuses; no file is ever half written.
pub fn write_answer(
    dir: &Path,
    heading: &str,
    answer: &[Block],
    experiments: &[Results],
) -> io::Result<PathBuf> {
    std::fs::create_dir_all(dir)?;
    let sections = sections(experiments);
    for drawn in sections.iter().flat_map(|s| &s.charts).flatten() {
        put(&dir.join(&drawn.file), &drawn.figure.standalone().0)?;
    }
    let sources = results::ledger::of(experiments.iter().map(|results| &results.summary));
    put(&dir.join("ledger.html"), &page::frame("Ledger", "", &ledger::draw(&sources)).0)?;
    for figure in answer.iter().filter_map(Block::figure) {
        put(&dir.join(Block::file(&figure)), &figure.standalone().0)?;
    }
    if sections.len() > 1 || !answer.is_empty() {
        for (i, section) in sections.iter().enumerate() {
            put(&dir.join(section.page()), &page::experiment(&sections, i).0)?;
        }
    }
    let index = dir.join("index.html");
    put(&index, &page::index(heading, answer, experiments, &sections).0)?;
    Ok(index)
}

fn sections(experiments: &[Results]) -> Vec<Section<'_>> {
    let palette = Palette::of(experiments);
    // Other pages have these names.
    let mut anchors = Names(["index", "ledger"].map(str::to_owned).into());
    let mut files = Names::default();
    let section = |results| {
        let column = Source::new(results, &palette, chart::WIDTH);
        let page = Source::new(results, &palette, chart::WIDE);
        let mut kinds = Names::default();
        let charts = results.summary.charts.iter().map(|c| {
            let across = if chart::gains_by_width(c) { chart::draw(&page, c) } else { Vec::new() };
            (chart::draw(&column, c), across)
        });
        let named =
            charts.map(|(column, page)| name(column, page, results, &mut kinds, &mut files)).collect();
        Section {
            summary: &results.summary,
            anchor: anchors.take(&results.summary.experiment),
            charts: named,
        }
    };
    experiments.iter().map(section).collect()
}

/// `quic-dc-table-1-line-time-2-limit-counts-queue.svg`: experiment, kind with its number, variant.
fn name(
    figures: Vec<Figure>,
    across: Vec<Figure>,
    results: &Results,
    kinds: &mut Names,
    files: &mut Names,
) -> Vec<Drawn> {
    let kind = figures.first().map(|f| kinds.unique(number::slug(&f.kind))).unwrap_or_default();
    let across = across.into_iter().map(Some).chain(std::iter::repeat_with(|| None));
    let named = figures.into_iter().zip(across).map(|(figure, across)| {
        // Each part cut on its own, so that a long one cannot push the others out of the name.
        let parts = [&results.summary.experiment, &kind, &figure.variant].map(|p| number::slug(p));
        let parts: Vec<String> = parts.into_iter().filter(|p| !p.is_empty()).collect();
        let file = format!("{}.svg", files.unique(parts.join("-")));
        Drawn { figure, across, file }
    });
    named.collect()
}

/// Names given so far: a second chart of the same kind gets a number.
#[derive(Default)]
struct Names(BTreeSet<String>);

impl Names {
    fn take(&mut self, text: &str) -> String {
        let slug = number::slug(text);
        self.unique(if slug.is_empty() { "experiment".to_owned() } else { slug })
    }

    fn unique(&mut self, name: String) -> String {
        let numbered = (2_u32..).map(|n| format!("{name}-{n}"));
        let free =
            std::iter::once(name.clone()).chain(numbered).find(|n| !self.0.contains(n)).unwrap_or(name);
        self.0.insert(free.clone());
        free
    }
}
