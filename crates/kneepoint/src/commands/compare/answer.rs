//! The results as a ranking.

use experiment::row::RowLabel;
use results::summary::{Cell, Results, Row, Summary};
use serde::Serialize;

use super::closed_form;
use super::interval::{self, Ratio};
use super::question::{Question, TRANSFERS};
use super::why;

/// What one screen says.
#[derive(Debug, Serialize)]
pub(super) struct Answer {
    /// The best goodput first.
    pub(super) ranking: Vec<Ranked>,
    /// The competitor of `beside`.
    pub(super) against: String,
    /// Repetitions of each case.
    pub(super) seeds: u32,
    /// Seconds from which the long flows count, and their end.
    pub(super) window: [f64; 2],
}

/// A controller and what it does.
#[derive(Debug, Serialize)]
pub(super) struct Ranked {
    pub(super) label: String,
    pub(super) algorithm: String,
    /// Goodput of the best over its own; nothing for the best itself.
    pub(super) best_over_this: Option<Ratio>,
    pub(super) long: Long,
    /// Seconds until short transfers have arrived, handshake included, in the order of [`TRANSFERS`].
    pub(super) completion: Vec<Option<f64>>,
    pub(super) beside: Option<Beside>,
    /// Goodput in Mbit/s by its closed form, and its source.
    pub(super) closed_form: Option<(f64, &'static str)>,
    /// Why, in a sentence.
    pub(super) why: String,
}

/// A long flow alone.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(super) struct Long {
    /// Mbit/s, and its sample deviation.
    pub(super) goodput: f64,
    pub(super) spread: Option<f64>,
    /// Of what the link carries in payload, 0 to 1.
    pub(super) of_link: f64,
    /// Milliseconds.
    pub(super) rtt_mean: f64,
    pub(super) rtt_p95: f64,
    /// Milliseconds of waiting, mean.
    pub(super) queue_wait: f64,
    /// Per cent.
    pub(super) loss: f64,
    pub(super) reductions_per_minute: f64,
}

/// A flow beside the competitor.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Beside {
    /// Per cent of both, and its sample deviation.
    pub(super) share: f64,
    pub(super) spread: Option<f64>,
    /// Milliseconds, mean of both.
    pub(super) rtt_mean: f64,
}

impl Answer {
    /// `all` are the results of the long flows, beside the competitor, and of short transfers.
    pub(super) fn of(question: &Question, all: &[Results], seeds: u32) -> Self {
        let long = &all[0].summary.variants[0].rows;
        let best = long.iter().max_by(|a, b| mean(a, "goodput").total_cmp(&mean(b, "goodput")));
        let mut ranking: Vec<Ranked> = question
            .controllers
            .iter()
            .zip(long)
            .map(|(controller, row)| {
                let long = Long::of(row, question);
                let beside =
                    all.get(1).and_then(|beside| row_of(&beside.summary, 0, &row.label)).map(Beside::of);
                let completion =
                    |i| Some(row_of(&all.get(2)?.summary, i, &row.label)?.cells.get("completion")?.mean);
                Ranked {
                    best_over_this: best.filter(|best| best.label != row.label).and_then(|best| {
                        Ratio::of(best.cells.get("goodput")?, row.cells.get("goodput")?, seeds)
                    }),
                    label: controller.label.clone(),
                    algorithm: controller.algorithm.clone(),
                    completion: (0..TRANSFERS.len()).map(completion).collect(),
                    beside,
                    closed_form: closed_form::goodput(&controller.algorithm, &question.path),
                    why: why::sentence(&controller.algorithm, &long, question),
                    long,
                }
            })
            .collect();
        ranking.sort_by(|a, b| b.long.goodput.total_cmp(&a.long.goodput));
        let window = [question.from, question.to].map(units::Duration::as_secs_f64);
        Self { ranking, against: question.against.label.clone(), seeds, window }
    }
}

impl Long {
    pub(super) fn of(row: &Row, question: &Question) -> Self {
        let goodput = row.cells.get("goodput");
        let minutes = (question.to - question.from).as_secs_f64() / 60.0;
        Self {
            goodput: mean(row, "goodput"),
            spread: goodput.and_then(|cell| cell.spread),
            of_link: mean(row, "goodput") * 1e6 / question.path.capacity,
            rtt_mean: mean(row, "rtt_mean"),
            rtt_p95: mean(row, "rtt_p95"),
            queue_wait: mean(row, "queue_wait"),
            loss: mean(row, "loss"),
            reductions_per_minute: mean(row, "reductions @ measure") / minutes,
        }
    }
}

impl Beside {
    pub(super) fn of(row: &Row) -> Self {
        let share = row.cells.get("share of candidate");
        Self {
            share: share.map_or(0.0, |cell| cell.mean),
            spread: share.and_then(|cell| cell.spread),
            rtt_mean: mean(row, "rtt_mean"),
        }
    }
}

pub(super) fn mean(row: &Row, metric: &str) -> f64 {
    row.cells.get(metric).map_or(0.0, |cell| cell.mean)
}

fn row_of<'a>(summary: &'a Summary, variant: usize, label: &RowLabel) -> Option<&'a Row> {
    summary.variants.get(variant)?.rows.iter().find(|row| row.label == *label)
}

/// Repetitions for which the ratio of every goodput to the best would be as narrow as this share of it.
pub(super) fn seeds_for(summary: &Summary, seeds: u32, share: f64) -> u32 {
    let of_variant = |rows: &[Row]| {
        let cells: Vec<&Cell> = rows.iter().filter_map(|row| row.cells.get("goodput")).collect();
        let best = cells.iter().max_by(|a, b| a.mean.total_cmp(&b.mean)).copied();
        let each = |cell: &&Cell| best.map_or(seeds, |best| interval::needed(best, cell, seeds, share));
        cells.iter().map(each).max().unwrap_or(seeds)
    };
    summary.variants.iter().map(|variant| of_variant(&variant.rows)).max().unwrap_or(seeds)
}
