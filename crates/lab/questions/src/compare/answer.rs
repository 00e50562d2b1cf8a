//! Turns the results into a ranking.

use experiment::place::Place;
use experiment::row::RowLabel;
use results::summary::{Results, Row, Summary};
use serde::Serialize;

use super::closed_form;
use super::measured::{Beside, Long, mean};
use super::pairs::Goodputs;
use super::question::{Named, Question, TRANSFERS};
use super::why;
use crate::Stored;
use crate::decision::Verdict;
use crate::ratio::Ratio;

/// Answer to [`Question`]: the controllers by goodput.
#[derive(Debug, Serialize)]
pub struct Answer {
    /// Controllers, the one with the highest goodput first; none in a sweep.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ranking: Vec<Ranked>,
    /// In a sweep, the ranking at each value.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub variants: Vec<Variant>,
    /// The competitor of `beside`.
    pub against: String,
    /// Pairs of long runs with the same seed.
    pub pairs: u32,
    /// Repetitions of the other runs.
    pub seeds: u32,
    /// Share by which goodputs may differ that count as equal.
    pub margin: f64,
    /// Start and end of the measurement of the long flows, in seconds.
    pub window: [f64; 2],
    /// The studies behind the numbers.
    pub results: Vec<Stored>,
    /// Their results: of the long flows, of the flows next to a competitor, and of the short
    /// transfers.
    #[serde(skip)]
    pub runs: Vec<Results>,
}

/// A value of a sweep and its ranking.
#[derive(Debug, Serialize)]
pub struct Variant {
    /// Key of the link and its value, like `loss = 1 %`.
    pub variant: String,
    /// Controllers, the one with the highest goodput first.
    pub ranking: Vec<Ranked>,
}

/// A controller and its results.
#[derive(Debug, Serialize)]
pub struct Ranked {
    pub label: String,
    /// Place that ran the controller.
    pub on: Place,
    pub algorithm: String,
    /// Goodput of the best controller over that of this one, from pairs of runs; `None` for the
    /// best itself.
    pub best_over_this: Option<Ratio>,
    /// What that ratio decides: whether the best has more.
    pub verdict: Option<Verdict>,
    pub long: Long,
    /// Goodput in the simulator in Mbit/s, if a stack ran the controller.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub simulated: Option<f64>,
    /// Completion times of short transfers in seconds, handshake included, in the order of
    /// [`TRANSFERS`].
    pub completion: Vec<Option<f64>>,
    pub beside: Option<Beside>,
    /// Goodput in Mbit/s from a closed form, and the source of the formula.
    pub closed_form: Option<(f64, &'static str)>,
    /// Explanation of the goodput, in a sentence.
    pub why: String,
}

impl Answer {
    /// Ranks the controllers. `all` holds the results of the long flows, of the flows next to a
    /// competitor, and of the short transfers.
    pub(super) fn new(question: &Question, all: Vec<Results>, stored: Vec<Stored>, pairs: u32) -> Self {
        let seeds = question.other_seeds();
        let goodputs = Goodputs::new([&all[0]], question.least());
        let ranked = |at: usize| ranking(question, &all, at, (&goodputs, seeds));
        let (ranking, variants) = match &question.vary {
            None => (ranked(0), Vec::new()),
            Some(varied) => (Vec::new(), {
                let name = |value: &String| format!("{} = {value}", varied.key);
                let all = varied.values.iter().enumerate();
                all.map(|(at, value)| Variant { variant: name(value), ranking: ranked(at) }).collect()
            }),
        };
        let window = [question.from, question.to].map(units::Duration::as_secs_f64);
        let against = question.against.label.clone();
        let margin = question.rule.margin();
        Self { ranking, variants, against, pairs, seeds, margin, window, results: stored, runs: all }
    }
}

/// Ranks the controllers on the network with this number.
fn ranking(
    question: &Question,
    all: &[Results],
    at: usize,
    (goodputs, seeds): (&Goodputs, u32),
) -> Vec<Ranked> {
    let Some(variant) = all[0].summary.variants.get(at) else { return Vec::new() };
    let typical = |label: &RowLabel| goodputs.typical(&variant.name, label);
    let compared = variant.rows.iter().filter(|row| question.place.compares(row)).map(|row| &row.label);
    // Of several equal ones the first, as in the ranking.
    let best = compared.rev().max_by(|a, b| typical(a).total_cmp(&typical(b)));
    let decided = |label: &RowLabel| {
        let other = best.filter(|best| *best != label);
        other.and_then(|best| goodputs.decide(&question.rule, &variant.name, [best, label]))
    };
    let contestants = question.contestants().into_iter();
    let ranked = contestants.filter_map(|contestant| {
        let label = RowLabel::new(&contestant.0.label, contestant.1);
        let ranked = Ranked::new(question, contestant, (all, at), (decided(&label), seeds))?;
        Some((typical(&label), ranked))
    });
    let mut ranked: Vec<(f64, Ranked)> = ranked.collect();
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0));
    ranked.into_iter().map(|(_, ranked)| ranked).collect()
}

impl Ranked {
    fn new(
        question: &Question,
        (controller, on): (&Named, Place),
        (all, at): (&[Results], usize),
        (decided, seeds): (Option<(Ratio, Verdict)>, u32),
    ) -> Option<Self> {
        let label = RowLabel::new(&controller.label, on);
        let network = question.networks.get(at)?;
        let row = row_of(&all[0].summary, at, &label)?;
        let long = Long::new(row, question, network);
        let beside_row = |label: &RowLabel| all.get(1).and_then(|beside| row_of(&beside.summary, at, label));
        let own = beside_row(&question.own_row(on));
        let beside = beside_row(&label).map(|row| Beside::new(row, own, seeds));
        let completion = |i| Some(row_of(&all.get(2)?.summary, i, &label)?.cells.get("completion")?.mean);
        let simulated = (on != Place::SIM).then(|| row_of(&all[0].summary, at, &label.on(Place::SIM)));
        Some(Self {
            best_over_this: decided.map(|(ratio, _)| ratio).filter(|_| long.goodput > 0.0),
            verdict: decided.map(|(_, verdict)| verdict),
            label: question.place.shown(&controller.label, on),
            on,
            simulated: simulated.flatten().map(|row| mean(row, "goodput")),
            algorithm: controller.algorithm.clone(),
            completion: (0..TRANSFERS.len()).map(completion).collect(),
            beside,
            closed_form: controller
                .formula_name()
                .filter(|_| network.is_one_link())
                .and_then(|name| closed_form::goodput(name, &network.path)),
            why: why::sentence(controller.formula_name(), &long, network),
            long,
        })
    }
}

fn row_of<'a>(summary: &'a Summary, variant: usize, label: &RowLabel) -> Option<&'a Row> {
    summary.variants.get(variant)?.rows.iter().find(|row| row.label == *label)
}
