//! The answer at the top of its page.

use report::Block;

use super::analysed::{Analysed, MAIN, number};
use super::answer::Answer;
use super::screen::{at, nothing_found, verdict};

/// Largest number of connections with columns of their own.
const COLUMNS: usize = 4;

/// Returns the blocks of the page.
pub(super) fn blocks(answer: &Answer) -> Vec<Block> {
    let mut blocks = vec![Block::Text(verdict(answer))];
    blocks.extend(problems(answer));
    blocks.push(metrics(&answer.connections));
    blocks.extend(gaps(&answer.connections));
    blocks.extend(unknown(&answer.connections));
    blocks.push(Block::Charts);
    blocks
}

fn cell(one: &Analysed, word: &str) -> String {
    one.value(word).map_or_else(|| "not known".to_owned(), |value| number(word, value))
}

/// Returns the metrics: a column for each connection, or a row if there are many.
fn metrics(all: &[Analysed]) -> Block {
    let known = MAIN.iter().filter(|(word, _)| all.iter().any(|one| one.value(word).is_some()));
    let labels = all.iter().map(|one| one.label.clone());
    if all.len() <= COLUMNS {
        let row = |(word, name): &(&str, &str)| {
            std::iter::once(name.trim_start().to_owned())
                .chain(all.iter().map(|one| cell(one, word)))
                .collect()
        };
        return Block::Table {
            caption: "Metrics".to_owned(),
            head: std::iter::once(String::new()).chain(labels).collect(),
            rows: known.map(row).collect(),
        };
    }
    let known: Vec<_> = known.collect();
    let head =
        std::iter::once(String::new()).chain(known.iter().map(|(_, name)| name.trim_start().to_owned()));
    let row = |one: &Analysed| {
        std::iter::once(one.label.clone()).chain(known.iter().map(|(word, _)| cell(one, word))).collect()
    };
    Block::Sortable {
        caption: "Metrics of each connection".to_owned(),
        head: head.collect(),
        rows: all.iter().map(row).collect(),
    }
}

/// Returns a sentence for each problem.
fn problems(answer: &Answer) -> Vec<Block> {
    let several = answer.connections.len() > 1;
    let all: Vec<Block> = answer
        .connections
        .iter()
        .flat_map(|one| {
            one.problems.iter().map(move |problem| {
                let label = if several { format!(" of {}", one.label) } else { String::new() };
                Block::Text(format!("Problem{label}: {}{}", problem.text, at(&problem.times)))
            })
        })
        .collect();
    if all.is_empty() { vec![Block::Text(nothing_found(answer).to_owned())] } else { all }
}

fn gaps(all: &[Analysed]) -> Option<Block> {
    let rows: Vec<Vec<String>> =
        all.iter().flat_map(|one| one.gaps.iter().map(|gap| vec![one.label.clone(), gap.clone()])).collect();
    let head = ["", "Missing in the log"].map(str::to_owned).to_vec();
    (!rows.is_empty()).then_some(Block::Table { caption: "Gaps".to_owned(), head, rows })
}

fn unknown(all: &[Analysed]) -> Option<Block> {
    let rows: Vec<Vec<String>> = MAIN
        .iter()
        .filter_map(|(word, name)| {
            let why = all.iter().find_map(|one| one.why_unknown(word))?;
            Some(vec![name.trim_start().to_owned(), why.to_owned()])
        })
        .collect();
    let head = ["Metric", "Not known, because"].map(str::to_owned).to_vec();
    (!rows.is_empty()).then_some(Block::Table { caption: "Not known".to_owned(), head, rows })
}
