//! The answer as a page.

use report::{Block, Cloud};

use super::hull::{self, Point};
use super::judge::{Answer, Cause, Cell};
use super::question::Question;
use super::samples::Taken;
use super::screen;

/// Returns the page: sentences, windows and envelopes for the network with the largest difference,
/// and the tables.
pub(super) fn blocks(question: &Question, answer: &Answer, grid: &Taken) -> Vec<Block> {
    let mut blocks: Vec<Block> = screen::sentences(question, answer).into_iter().map(Block::Text).collect();
    if let Some(worst) = answer.worst() {
        blocks.push(Block::Chart { variant: worst.variant.clone() });
        blocks.extend(envelopes(question, grid, &worst.variant, &screen::place(worst)));
    }
    blocks.push(networks(&answer.cells, "reference"));
    blocks.extend(answer.kernel.as_deref().map(|cells| networks(cells, "kernel")));
    blocks.extend(answer.cause.as_ref().map(rules));
    blocks
}

fn networks(cells: &[Cell], reference: &str) -> Block {
    Block::Table {
        caption: format!("Each network: stack / {reference}; ! marks a deviation"),
        head: screen::HEAD.map(str::to_owned).to_vec(),
        rows: cells.iter().map(|cell| screen::row(cell).to_vec()).collect(),
    }
}

/// Returns the chart of both envelopes in the plane of delay and throughput.
fn envelopes(question: &Question, grid: &Taken, variant: &str, place: &str) -> Option<Block> {
    let rows = [question.standard_row(), question.subject_row()];
    let clouds = rows.iter().filter_map(|row| cloud(row.as_str(), &grid.at(variant, row)?.points));
    Some(Block::Envelopes {
        title: format!("Envelopes, {place}"),
        x: "Delay (% of the delay with a full queue)".to_owned(),
        y: "Goodput (% of the link rate)".to_owned(),
        clouds: clouds.collect(),
    })
}

/// Converts samples and their hull to percent.
fn cloud(name: &str, points: &[Point]) -> Option<Cloud> {
    let kept = hull::without_outliers(points)?;
    let percent = |points: &[Point]| points.iter().map(|[x, y]| (x * 100.0, y * 100.0)).collect();
    Some(Cloud { name: name.to_owned(), points: percent(&kept), hull: percent(&hull::hull(&kept)) })
}

fn rules(cause: &Cause) -> Block {
    let standard = std::iter::once((screen::UNCHANGED, cause.standard));
    let all = standard.chain(cause.rules.iter().map(|rule| (rule.name.as_str(), rule.distance)));
    Block::Table {
        caption: "Mean difference from the stack where it deviates, in window or number of reductions"
            .to_owned(),
        head: ["changed rule".to_owned(), "difference, %".to_owned()].to_vec(),
        rows: all.map(|(name, share)| vec![name.to_owned(), format!("{:.1}", share * 100.0)]).collect(),
    }
}
