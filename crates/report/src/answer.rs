//! The answer to a question, before everything else on its page: sentences and small tables, then the main pictures of the parts that
//! it is made of, and where these are.

use maud::{Markup, html};

use super::section::{self, Section};

/// A part of an answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Block {
    /// A paragraph.
    Text(String),
    /// The names of the columns, the first of which names the rows, and the rows: as wide as their words.
    Table {
        /// What it is of.
        caption: String,
        /// Of the columns.
        head: Vec<String>,
        /// As many cells as there are names.
        rows: Vec<Vec<String>>,
    },
}

/// Pictures of the first part, and of each other.
const PICTURES: (usize, usize) = (2, 1);

/// All of it.
pub(super) fn draw(heading: &str, answer: &[Block], sections: &[Section<'_>]) -> Markup {
    html! {
        section.answer {
            div.blocks { @for block in answer { (one(block)) } }
            div.charts {
                @for (i, part) in sections.iter().enumerate() {
                    @let most = if i == 0 { PICTURES.0 } else { PICTURES.1 };
                    @for chart in part.charts.iter().take(most) { (section::picture(part, chart)) }
                }
            }
            h3 { "All tables and charts" }
            ul { @for part in sections { li { a href=(part.page()) { (title(heading, part)) } } } }
        }
    }
}

/// Without what the page is called.
fn title(heading: &str, part: &Section<'_>) -> String {
    let title = &part.summary.title;
    let own = title.strip_prefix(heading).map_or(title.as_str(), |rest| rest.trim_start_matches([':', ' ']));
    if own.is_empty() { part.summary.experiment.clone() } else { own.to_owned() }
}

fn one(block: &Block) -> Markup {
    match block {
        Block::Text(text) => html! { p { (text) } },
        Block::Table { caption, head, rows } => html! {
            div.scroll tabindex="0" role="region" aria-label=(caption) {
                table.overview {
                    caption { (caption) }
                    thead { tr { @for name in head { th { (name) } } } }
                    tbody {
                        @for row in rows {
                            tr {
                                @for (i, cell) in row.iter().enumerate() {
                                    @if i == 0 { th scope="row" { (cell) } } @else { td.count { (cell) } }
                                }
                            }
                        }
                    }
                }
            }
        },
    }
}
