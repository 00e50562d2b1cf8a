//! The report: an HTML page that works offline, and each of its charts as an SVG file. [`pages`] and
//! [`svg`] return texts; `write` and its variants put them into a folder.

mod answer;
mod chart;
mod claims;
mod colours;
mod distinct;
mod files;
mod gaps;
mod ledger;
mod number;
mod overview;
mod page;
#[cfg(feature = "figures")]
pub mod print;
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
pub use self::chart::{Cloud, Line};
use self::chart::{Figure, Source};
use self::files::legal;
pub use self::files::write_all as write_numbers;
use self::section::{DrawnFigure, Section};
pub use self::stability::{pages as stability_pages, write as write_stability};
use self::styles::Palette;
use experiment::chart::Chart;
use results::summary::Results;

/// Writes the files that [`pages`] returns into `dir`, without an answer. Returns the path of the
/// index.
///
/// Files of the same names are replaced; other files in the folder stay.
///
/// # Errors
/// Fails if a file cannot be written. No file is left half written.
pub fn write(dir: &Path, heading: &str, experiments: &[Results]) -> io::Result<PathBuf> {
    write_answer(dir, heading, &[], experiments)
}

/// Writes the same with an answer first, followed by the main charts of the experiments.
///
/// # Errors
/// Fails if a file cannot be written. No file is left half written.
pub fn write_answer(
    dir: &Path,
    heading: &str,
    answer: &[Block],
    experiments: &[Results],
) -> io::Result<PathBuf> {
    write_numbers(dir, &pages(heading, answer, experiments))?;
    Ok(dir.join("index.html"))
}

/// Returns the names and texts of a report's files: each chart as `<experiment>-<chart>.svg`,
/// `ledger.html`, and at the end `index.html`. Several experiments, or one with an answer, get a
/// page each, `<experiment>.html`.
///
/// A page contains everything it shows, so it can be mailed alone.
pub fn pages(heading: &str, answer: &[Block], experiments: &[Results]) -> Vec<(String, String)> {
    let sections = sections(experiments);
    let drawn = sections.iter().flat_map(|s| &s.charts).flatten();
    let mut all: Vec<_> = drawn
        .map(|drawn| (drawn.file.clone(), drawn.printed.as_ref().unwrap_or(&drawn.figure).standalone()))
        .collect();
    let sources = results::ledger::by_source(experiments.iter().map(|results| &results.summary));
    all.push(("ledger.html".to_owned(), page::frame("Ledger", "", &ledger::draw(&sources))));
    all.extend(answer.iter().filter_map(Block::figure).map(|figure| (figure.file(), figure.standalone())));
    if sections.len() > 1 || !answer.is_empty() {
        let page = |i: usize| (sections[i].page(), page::experiment(&sections, i));
        all.extend((0..sections.len()).map(page));
    }
    all.push(("index.html".to_owned(), page::index(heading, answer, experiments, &sections)));
    all.into_iter().map(|(name, text)| (name, legal(&text))).collect()
}

/// A chart in its size on paper.
pub struct Printed {
    pub title: String,
    /// Name of its file, without an extension: `<experiment>-<chart>`.
    pub name: String,
    pub svg: String,
}

/// Returns the charts of these experiments in their sizes on paper, or in the width of a
/// paper's column.
pub fn figures(experiments: &[Results]) -> Vec<Printed> {
    let palette = Palette::new(experiments);
    let mut files = Names::default();
    let mut printed = Vec::new();
    for results in experiments {
        let source = Source::new(results, &palette, chart::WIDTH);
        let mut kinds = Names::default();
        for chart in &results.summary.charts {
            let figures = chart::draw_printed(&source, chart);
            for DrawnFigure { figure, file, .. } in
                name([figures, Vec::new(), Vec::new()], results, &mut kinds, &mut files)
            {
                let name = file.trim_end_matches(".svg").to_owned();
                printed.push(Printed { svg: legal(&figure.standalone()), title: figure.title, name });
            }
        }
    }
    printed
}

/// Returns a chart of these results as SVG: a text per variant, or one of all variants.
pub fn svg(results: &Results, chart: &Chart) -> Vec<String> {
    let palette = Palette::new(std::slice::from_ref(results));
    let figures = chart::draw(&Source::new(results, &palette, chart::WIDTH), chart);
    figures.iter().map(|figure| legal(&figure.standalone())).collect()
}

fn sections(experiments: &[Results]) -> Vec<Section<'_>> {
    let palette = Palette::new(experiments);
    // Names of other pages.
    let mut anchors = Names(["index", "ledger"].map(str::to_owned).into());
    let mut files = Names::default();
    let section = |results| {
        let column = Source::new(results, &palette, chart::WIDTH);
        let page = Source::new(results, &palette, chart::WIDE);
        let mut kinds = Names::default();
        let charts = results.summary.charts.iter().map(|c| {
            let across = if chart::gains_by_width(c) { chart::draw(&page, c) } else { Vec::new() };
            let printed = if c.print.is_sized() { chart::draw_printed(&column, c) } else { Vec::new() };
            [chart::draw(&column, c), across, printed]
        });
        let named = charts.map(|drawn| name(drawn, results, &mut kinds, &mut files)).collect();
        Section {
            summary: &results.summary,
            anchor: anchors.take(&results.summary.experiment),
            charts: named,
        }
    };
    experiments.iter().map(section).collect()
}

/// Names the files: experiment, kind with its number, variant, as in
/// `quic-dc-table-1-line-time-2-limit-counts-queue.svg`.
fn name(
    [figures, across, printed]: [Vec<Figure>; 3],
    results: &Results,
    kinds: &mut Names,
    files: &mut Names,
) -> Vec<DrawnFigure> {
    let kind = figures.first().map(|f| kinds.unique(number::slug(&f.kind))).unwrap_or_default();
    let or_none = |figures: Vec<Figure>| figures.into_iter().map(Some).chain(std::iter::repeat_with(|| None));
    let each = figures.into_iter().zip(or_none(across)).zip(or_none(printed));
    let named = each.map(|((figure, across), printed)| {
        // Each part is shortened on its own, so that a long one does not displace the others.
        let parts = [&results.summary.experiment, &kind, &figure.variant].map(|p| number::slug(p));
        let parts: Vec<String> = parts.into_iter().filter(|p| !p.is_empty()).collect();
        let file = format!("{}.svg", files.unique(parts.join("-")));
        DrawnFigure { figure, across, printed, file }
    });
    named.collect()
}

/// Names in use. A second chart of the same kind gets a number.
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
