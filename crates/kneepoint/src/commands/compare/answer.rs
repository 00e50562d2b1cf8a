//! The results as a ranking.

use experiment::row::RowLabel;
use results::summary::{Cell, Results, Row, Summary};
use serde::Serialize;

use super::closed_form;
use super::measured::{Beside, Long, mean};
use super::question::{Question, TRANSFERS};
use super::why;
use crate::commands::ratio::{self, Ratio};

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

impl Answer {
    /// `all` are the results of the long flows, beside the competitor, and of short transfers.
    pub(super) fn of(question: &Question, all: &[Results], seeds: u32) -> Self {
        let long = &all[0].summary.variants[0].rows;
        let (network, own) = (&question.network, question.own_row());
        // Of equal ones the first, as in the ranking.
        let best = long.iter().rev().max_by(|a, b| mean(a, "goodput").total_cmp(&mean(b, "goodput")));
        let mut ranking: Vec<Ranked> = question
            .controllers
            .iter()
            .zip(long)
            .map(|(controller, row)| {
                let long = Long::of(row, question);
                let beside_row = |label| all.get(1).and_then(|beside| row_of(&beside.summary, 0, label));
                let own = own.as_ref().and_then(beside_row);
                let beside = beside_row(&row.label).map(|row| Beside::of(row, own, seeds));
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
                    closed_form: controller
                        .of_formulas()
                        .filter(|_| network.is_one_link())
                        .and_then(|name| closed_form::goodput(name, &network.path)),
                    why: why::sentence(controller.of_formulas(), &long, network),
                    long,
                }
            })
            .collect();
        ranking.sort_by(|a, b| b.long.goodput.total_cmp(&a.long.goodput));
        let window = [question.from, question.to].map(units::Duration::as_secs_f64);
        Self { ranking, against: question.against.label.clone(), seeds, window }
    }
}

fn row_of<'a>(summary: &'a Summary, variant: usize, label: &RowLabel) -> Option<&'a Row> {
    summary.variants.get(variant)?.rows.iter().find(|row| row.label == *label)
}

/// Repetitions for which the ratio of every goodput to the best would be as narrow as this share of it.
pub(super) fn seeds_for(summary: &Summary, seeds: u32, share: f64) -> u32 {
    let of_variant = |rows: &[Row]| {
        let cells: Vec<&Cell> = rows.iter().filter_map(|row| row.cells.get("goodput")).collect();
        let best = cells.iter().max_by(|a, b| a.mean.total_cmp(&b.mean)).copied();
        let each = |cell: &&Cell| best.map_or(seeds, |best| ratio::needed(best, cell, seeds, share));
        cells.iter().map(each).max().unwrap_or(seeds)
    };
    summary.variants.iter().map(|variant| of_variant(&variant.rows)).max().unwrap_or(seeds)
}
