//! The answer as a page: sentences that wrap, and tables with a column for each controller, narrow
//! enough for a phone.

use report::Block;
use results::summary::Results;

use super::answer::{Answer, Ranked};
use super::question::{Question, TRANSFERS};
use super::screen::{self, or_dash};
use super::sweep;
use super::varied::Varied;
use crate::text::significant;

/// Returns the page for a single network.
pub(super) fn blocks(question: &Question, answer: &Answer) -> Vec<Block> {
    let mut blocks = vec![Block::Text(screen::verdict(question, answer))];
    blocks.extend(screen::place(question, answer).map(Block::Text));
    blocks.push(alone(answer));
    blocks.extend(beside(answer));
    let whys = answer.ranking.iter().map(|ranked| format!("{}: {}", ranked.label, ranked.why));
    let others = [screen::kept(answer), screen::closed_forms(question, answer), screen::network(question)];
    let texts = whys.chain(others.into_iter().flatten()).chain([screen::foot(question, answer)]);
    blocks.extend(texts.map(Block::Text));
    blocks
}

/// Returns the page for a sweep. The charts show the numbers.
pub(super) fn blocks_over(question: &Question, varied: &Varied, all: &[Results], seeds: u32) -> Vec<Block> {
    let verdict = sweep::verdict(question, varied, &all[0].summary.variants, seeds);
    let texts = [Some(verdict), question.place.sentence(), Some(sweep::foot(question, seeds))];
    texts.into_iter().flatten().map(Block::Text).collect()
}

/// A line of a table: its name, and the value of each controller.
type Line<'a> = (String, Box<dyn Fn(&Ranked) -> String + 'a>);

fn table(caption: String, ranking: &[&Ranked], lines: &[Line<'_>]) -> Block {
    let labels = ranking.iter().map(|ranked| ranked.label.clone());
    let row = |(name, value): &Line<'_>| {
        std::iter::once(name.clone()).chain(ranking.iter().map(|ranked| value(ranked))).collect()
    };
    Block::Table {
        caption,
        head: std::iter::once(String::new()).chain(labels).collect(),
        rows: lines.iter().map(row).collect(),
    }
}

fn line<'a>(name: impl Into<String>, value: impl Fn(&Ranked) -> String + 'a) -> Line<'a> {
    (name.into(), Box::new(value))
}

fn alone(answer: &Answer) -> Block {
    let mut lines = vec![line("goodput, Mbit/s", |r| significant(r.long.goodput))];
    if answer.ranking.iter().any(|r| r.long.of_link.is_some()) {
        let share = |r: &Ranked| or_dash(r.long.of_link, |share| format!("{:.0}", share * 100.0));
        lines.push(line("share of the link, %", share));
    }
    let ms = |ms: f64| format!("{ms:.1}");
    lines.push(line("mean RTT, ms", move |r| or_dash(r.long.rtt_mean, ms)));
    lines.push(line("95th percentile RTT, ms", move |r| or_dash(r.long.rtt_p95, ms)));
    lines.push(line("loss, %", |r| or_dash(r.long.loss, |loss| format!("{loss:.3}"))));
    let size = |(i, size): (usize, &&str)| {
        let time = move |r: &Ranked| r.completion.get(i).copied().flatten();
        line(format!("{size} transfer, s"), move |r| or_dash(time(r), |seconds| format!("{seconds:.2}")))
    };
    lines.extend(TRANSFERS.iter().enumerate().map(size));
    table(
        "A long flow alone, and short transfers".to_owned(),
        &answer.ranking.iter().collect::<Vec<_>>(),
        &lines,
    )
}

fn beside(answer: &Answer) -> Option<Block> {
    let ranking: Vec<&Ranked> = answer.ranking.iter().filter(|ranked| ranked.beside.is_some()).collect();
    let cell = |shown: fn(&super::measured::Beside) -> String| {
        move |ranked: &Ranked| ranked.beside.as_ref().map_or_else(String::new, shown)
    };
    let lines = [
        line("own goodput, Mbit/s", cell(|b| significant(b.goodput))),
        line(format!("goodput of {}, Mbit/s", answer.against), cell(|b| significant(b.competitor))),
        line("own share, %", cell(screen::share)),
        line("mean RTT, ms", cell(|b| or_dash(b.rtt_mean, |ms| format!("{ms:.0}")))),
    ];
    let caption = format!("Sharing the link with one flow of {}", answer.against);
    (!ranking.is_empty()).then(|| table(caption, &ranking, &lines))
}
