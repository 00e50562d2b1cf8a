//! The answer to a question, at the top of its page.
//!
//! It consists of sentences, small tables and the main charts, with links to the pages of all
//! parts.

use maud::{Markup, html};

use super::chart::{self, Cloud, Figure, Line};
use super::overview;
use super::section::{self, Section};

#[derive(Clone, Debug, PartialEq)]
pub enum Block {
    /// A paragraph.
    Text(String),
    /// A table. The first column names the rows.
    Table {
        caption: String,
        /// Names of the columns.
        head: Vec<String>,
        /// Cells, one per column.
        rows: Vec<Vec<String>>,
    },
    /// A long table, whose columns the reader can sort.
    Sortable { caption: String, head: Vec<String>, rows: Vec<Vec<String>> },
    /// The main chart of the first part, for one variant. It replaces the default charts.
    Chart { variant: String },
    /// All charts of the first part. They replace the default charts.
    Charts,
    /// Clouds of samples in a plane, with their convex hulls.
    Envelopes {
        title: String,
        /// Name of the horizontal axis.
        x: String,
        /// Name of the vertical axis.
        y: String,
        clouds: Vec<Cloud>,
    },
    /// Values over an axis, as lines.
    Lines {
        title: String,
        /// Name of the horizontal axis.
        x: String,
        /// Name of the vertical axis.
        y: String,
        lines: Vec<Line>,
    },
}

impl Block {
    /// Returns the figure that a block draws itself.
    pub(super) fn figure(&self) -> Option<Figure> {
        match self {
            Self::Envelopes { title, x, y, clouds } => Some(chart::draw_envelopes(title, [x, y], clouds)),
            Self::Lines { title, x, y, lines } => Some(chart::draw_lines(title, [x, y], lines)),
            _ => None,
        }
    }
}

/// Number of charts shown of the first part and of each other part.
const PICTURES: (usize, usize) = (2, 1);

/// Draws the whole answer.
pub(super) fn draw(heading: &str, answer: &[Block], sections: &[Section<'_>]) -> Markup {
    // A chart of one network says nothing about a set of them.
    let chosen = answer
        .iter()
        .any(|block| matches!(block, Block::Chart { .. } | Block::Charts | Block::Sortable { .. }));
    html! {
        section.answer {
            div.blocks { @for block in answer { (one(block)) } }
            div.charts {
                @for block in answer { (picture(block, sections)) }
                @for (i, part) in sections.iter().enumerate() {
                    @let most = if chosen { 0 } else if i == 0 { PICTURES.0 } else { PICTURES.1 };
                    @for chart in part.charts.iter().take(most) { (section::picture(part, chart)) }
                }
            }
            @if !sections.is_empty() {
                h3 { "All tables and charts" }
                ul { @for part in sections { li { a href=(part.page()) { (title(heading, part)) } } } }
            }
        }
    }
}

/// Returns the title of a part without the page's heading.
fn title(heading: &str, part: &Section<'_>) -> String {
    let title = &part.summary.title;
    let own =
        title.strip_prefix(heading).map_or(title.as_str(), |rest| rest.trim_start_matches([':', ',', ' ']));
    if own.is_empty() { part.summary.experiment.clone() } else { own.to_owned() }
}

/// Draws a block that is a chart.
fn picture(block: &Block, sections: &[Section<'_>]) -> Markup {
    html! {
        @if let (Block::Chart { variant }, Some(part)) = (block, sections.first()) {
            @for chart in part.charts.iter().take(1) { (section::picture_of(chart, Some(variant))) }
        }
        @if let (Block::Charts, Some(part)) = (block, sections.first()) {
            @for chart in &part.charts { (section::picture(part, chart)) }
        }
        @if let Some(figure) = block.figure() {
            (section::only_figure(&figure))
        }
    }
}

fn one(block: &Block) -> Markup {
    match block {
        Block::Chart { .. } | Block::Charts | Block::Envelopes { .. } | Block::Lines { .. } => html! {},
        Block::Text(text) => html! { p { (text) } },
        Block::Table { caption, head, rows } => overview::table(caption, head, rows, false),
        Block::Sortable { caption, head, rows } => overview::table(caption, head, rows, true),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Charts of a variant and envelopes are drawn on the page and as files. The only part has its
    /// own page.
    #[test]
    fn pictures_that_are_asked_for() {
        let all = vec![crate::fixture::realistic().remove(0)];
        let variant = all[0].summary.variants.last().unwrap().name.clone();
        let cloud = |name: &str, x: f64| Cloud {
            name: name.to_owned(),
            points: vec![(x, 90.0), (x + 10.0, 95.0), (x + 5.0, 99.0)],
            hull: vec![(x, 90.0), (x + 10.0, 95.0), (x + 5.0, 99.0)],
        };
        let envelopes = Block::Envelopes {
            title: "Envelopes".to_owned(),
            x: "Delay (%)".to_owned(),
            y: "Goodput (%)".to_owned(),
            clouds: vec![cloud("cubic", 40.0), cloud("cubic (noq)", 60.0)],
        };
        let dir = tempfile::tempdir().unwrap();
        let page =
            crate::write_answer(dir.path(), "Is it", &[Block::Chart { variant }, envelopes], &all).unwrap();
        let text = std::fs::read_to_string(page).unwrap();
        assert_eq!(
            text.matches("<svg class=\"chart\"").count(),
            2 + text.matches("div class=\"across\"").count()
        );
        assert!(text.contains("cubic (noq)") && text.contains("href=\"envelopes.svg\""));
        let own = text.split("<li><a href=\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
        assert!(dir.path().join(own).is_file() && dir.path().join("envelopes.svg").is_file(), "{own}");
    }
}
