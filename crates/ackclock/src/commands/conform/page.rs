//! The answer as its page has it.

use report::{Block, Cloud};

use super::hull::{self, Point};
use super::judge::{Answer, Cause, Cell};
use super::question::Question;
use super::samples::Taken;
use super::screen;

/// Sentences, the windows of the network where both are furthest apart, their envelopes there, and the tables.
pub(super) fn blocks(question: &Question, answer: &Answer, grid: &Taken) -> Vec<Block> {
    let mut blocks: Vec<Block> = screen::sentences(question, answer).into_iter().map(Block::Text).collect();
    if let Some(worst) = answer.worst() {
        blocks.push(Block::Chart { variant: worst.variant.clone() });
        blocks.extend(envelopes(question, grid, &worst.variant, &screen::place(worst)));
    }
    blocks.push(networks(&answer.cells, "the standard's"));
    blocks.extend(answer.kernel.as_deref().map(|cells| networks(cells, "the kernel's TCP")));
    blocks.extend(answer.cause.as_ref().map(rules));
    blocks
}

fn networks(cells: &[Cell], reference: &str) -> Block {
    Block::Table {
        caption: format!("Each network: the stack's / {reference}; ! deviates"),
        head: screen::HEAD.map(str::to_owned).to_vec(),
        rows: cells.iter().map(|cell| screen::row(cell).to_vec()).collect(),
    }
}

/// Both in the plane of delay and throughput.
fn envelopes(question: &Question, grid: &Taken, variant: &str, place: &str) -> Option<Block> {
    let rows = [question.standard_row(), question.subject_row()];
    let clouds = rows.iter().filter_map(|row| cloud(row.as_str(), &grid.at(variant, row)?.points));
    let percent = |of: &str| format!("{of} (%)");
    Some(Block::Envelopes {
        title: format!("Envelopes, {place}"),
        x: percent("Delay, of that with a full queue"),
        y: percent("Goodput, of the link's rate"),
        clouds: clouds.collect(),
    })
}

/// In percent of the axes.
fn cloud(name: &str, points: &[Point]) -> Option<Cloud> {
    let kept = hull::without_far(points)?;
    let percent = |points: &[Point]| points.iter().map(|[x, y]| (x * 100.0, y * 100.0)).collect();
    Some(Cloud { name: name.to_owned(), points: percent(&kept), hull: percent(&hull::hull(&kept)) })
}

fn rules(cause: &Cause) -> Block {
    let standard = std::iter::once(("as the standard", cause.standard));
    let all = standard.chain(cause.rules.iter().map(|rule| (rule.name.as_str(), rule.distance)));
    Block::Table {
        caption: "From the stack where it deviates, windows or tempo, on the mean".to_owned(),
        head: ["our controller".to_owned(), "distance, %".to_owned()].to_vec(),
        rows: all.map(|(name, away)| vec![name.to_owned(), format!("{:.1}", away * 100.0)]).collect(),
    }
}
