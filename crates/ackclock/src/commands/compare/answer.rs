//! The results as a ranking.

use experiment::backend::Backend;
use experiment::row::RowLabel;
use results::summary::{Cell, Results, Row, Summary};
use serde::Serialize;

use super::closed_form;
use super::measured::{Beside, Long, mean};
use super::question::{Named, Question, TRANSFERS};
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
    /// What ran it.
    pub(super) on: Backend,
    pub(super) algorithm: String,
    /// Goodput of the best over its own; nothing for the best itself.
    pub(super) best_over_this: Option<Ratio>,
    pub(super) long: Long,
    /// Of one that a stack ran: its goodput in the simulator, Mbit/s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) simulated: Option<f64>,
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
        let compared = |row: &&Row| question.place.compares(row);
        // Of equal ones the first, as in the ranking.
        let best = long
            .iter()
            .filter(compared)
            .rev()
            .max_by(|a, b| mean(a, "goodput").total_cmp(&mean(b, "goodput")));
        let contestants = question.contestants().into_iter();
        let mut ranking: Vec<Ranked> =
            contestants.filter_map(|contestant| Ranked::of(question, contestant, all, best, seeds)).collect();
        ranking.sort_by(|a, b| b.long.goodput.total_cmp(&a.long.goodput));
        let window = [question.from, question.to].map(units::Duration::as_secs_f64);
        Self { ranking, against: question.against.label.clone(), seeds, window }
    }
}

impl Ranked {
    fn of(
        question: &Question,
        (controller, on): (&Named, Backend),
        all: &[Results],
        best: Option<&Row>,
        seeds: u32,
    ) -> Option<Self> {
        let label = RowLabel::new(&controller.label, on);
        let network = &question.network;
        let row = row_of(&all[0].summary, 0, &label)?;
        let long = Long::of(row, question);
        let beside_row = |label: &RowLabel| all.get(1).and_then(|beside| row_of(&beside.summary, 0, label));
        let own = question.own_row(on);
        let own = own.as_ref().and_then(beside_row);
        let beside = beside_row(&label).map(|row| Beside::of(row, own, seeds));
        let completion = |i| Some(row_of(&all.get(2)?.summary, i, &label)?.cells.get("completion")?.mean);
        let simulated = (on != Backend::Sim).then(|| row_of(&all[0].summary, 0, &label.on(Backend::Sim)));
        Some(Self {
            best_over_this: best
                .filter(|best| best.label != row.label)
                .and_then(|best| Ratio::of(best.cells.get("goodput")?, row.cells.get("goodput")?, seeds)),
            label: question.place.shown(&controller.label, on),
            on,
            simulated: simulated.flatten().map(|row| mean(row, "goodput")),
            algorithm: controller.algorithm.clone(),
            completion: (0..TRANSFERS.len()).map(completion).collect(),
            beside,
            closed_form: controller
                .of_formulas()
                .filter(|_| network.is_one_link())
                .and_then(|name| closed_form::goodput(name, &network.path)),
            why: why::sentence(controller.of_formulas(), &long, network),
            long,
        })
    }
}

fn row_of<'a>(summary: &'a Summary, variant: usize, label: &RowLabel) -> Option<&'a Row> {
    summary.variants.get(variant)?.rows.iter().find(|row| row.label == *label)
}

/// Repetitions for which the ratio of every goodput to the best would be as narrow as this share of it.
pub(super) fn seeds_for(question: &Question, summary: &Summary, seeds: u32, share: f64) -> u32 {
    let of_variant = |rows: &[Row]| {
        let rows = rows.iter().filter(|row| question.place.compares(row));
        let cells: Vec<&Cell> = rows.filter_map(|row| row.cells.get("goodput")).collect();
        let best = cells.iter().max_by(|a, b| a.mean.total_cmp(&b.mean)).copied();
        let each = |cell: &&Cell| best.map_or(seeds, |best| ratio::needed(best, cell, seeds, share));
        cells.iter().map(each).max().unwrap_or(seeds)
    };
    summary.variants.iter().map(|variant| of_variant(&variant.rows)).max().unwrap_or(seeds)
}
