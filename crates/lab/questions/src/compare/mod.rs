//! Compares controllers on a link and explains the difference.
//!
//! The question becomes three experiment files (`question.rs`): long flows alone, flows that share
//! the link with a competitor, and short transfers. They run like any other experiment and leave
//! results and a report. Their results become numbers with intervals (`answer.rs`) and reasons
//! (`why.rs`, `closed_form.rs`). These fill one screen of text (`screen.rs`) and the first page of
//! the report (`page.rs`).

#[cfg(test)]
mod agreement_tests;
mod answer;
mod backends;
mod closed_form;
mod measured;
mod network;
mod page;
mod pairs;
mod question;
mod screen;
pub mod set;
mod sweep;
mod varied;
mod why;
mod written;

pub use crate::decision::{FIRST_PAIRS, MOST_PAIRS};

/// Returns the tables of a network in words, in a file or by name, with the default queue.
///
/// # Errors
/// Words that are no link, or a name of nothing.
pub(crate) fn link(text: &str) -> Result<toml::Table, crate::Failure> {
    let (mut tables, _) = written::tables(&congestion::Registry::default(), text)?;
    written::add_queue(&mut tables, None);
    Ok(tables)
}

pub use self::answer::{Answer, Ranked, Variant};
pub use self::measured::{Beside, Long};
pub(crate) use self::question::Named;
pub use self::question::{Asked, Question, TRANSFERS};

use results::summary::Results;

use self::pairs::Goodputs;
use self::question::{Kind, Seeds};
use crate::lab::{Made, Stored};
use crate::{Content, Cost, Failure, Lab, Page, cost};

/// Repetitions of the runs that decide nothing: flows that share the link, and short transfers.
const OTHER_SEEDS: u32 = FIRST_PAIRS;

impl crate::Question for Question {
    type Answer = Answer;

    fn check(&self, lab: &Lab<'_>) -> Result<Cost, Failure> {
        let options = self.place.options(lab.options);
        let mut seconds = 0.0;
        let first = self.rule.looks().next().unwrap_or(1);
        for kind in self.kinds() {
            self.place.check(&self.experiment(*kind, Seeds::first(1))?, &options)?;
            let seeds = if *kind == Kind::Long { first } else { self.other_seeds() };
            seconds += cost::cost(&self.experiment(*kind, Seeds::first(seeds))?, self.place.stacks());
        }
        let more = match self.rule.looks().last().filter(|last| *last > first) {
            Some(last) => format!(" (up to {last} until the answer is known)"),
            None => String::new(),
        };
        let pairs = if first == 1 { "one pair of runs".to_owned() } else { format!("{first} pairs of runs") };
        Ok(Cost {
            seconds,
            covers: format!(" for {pairs}{more}; shorten it with --time or --quick"),
            ..Cost::default()
        })
    }

    fn answer(&self, lab: &Lab<'_>) -> Result<Answer, Failure> {
        let options = self.place.options(lab.options);
        let run = |kind: &Kind, seeds: Seeds| lab.run(&self.experiment(*kind, seeds)?, &options);
        let (long, mut stored, pairs) = self.long_flows(&run)?;
        let mut all = vec![long];
        for kind in &self.kinds()[1..] {
            let (results, folder) = run(kind, Seeds::first(self.other_seeds()))?;
            all.push(results);
            stored.push(folder);
        }
        Ok(Answer::new(self, all, stored, pairs))
    }

    fn text(&self, answer: &Answer, _: bool) -> String {
        match &self.vary {
            Some(varied) => sweep::text(self, varied, &answer.runs, answer.seeds),
            None => screen::text(self, answer),
        }
    }

    fn page<'a>(&self, answer: &'a Answer) -> Option<Page<'a>> {
        let blocks = match &self.vary {
            Some(varied) => page::blocks_over(self, varied, &answer.runs, answer.seeds),
            None => page::blocks(self, answer),
        };
        let content = Content::Answer { title: self.title(), blocks, results: &answer.runs };
        Some(Page { folder: vec!["compare".to_owned()], content })
    }
}

impl Question {
    /// Returns the kinds of runs, the long flows first.
    fn kinds(&self) -> &'static [Kind] {
        match self.vary {
            Some(_) => &[Kind::Long, Kind::Beside],
            None => &[Kind::Long, Kind::Beside, Kind::StartUp],
        }
    }

    /// Returns the repetitions of runs that decide nothing.
    fn other_seeds(&self) -> u32 {
        self.repeat.unwrap_or(OTHER_SEEDS)
    }

    /// Returns a goodput in Mbit/s that stands for none: a packet in the measured time.
    fn least(&self) -> f64 {
        8.0 * 1500.0 / 1e6 / (self.to - self.from).as_secs_f64().max(1e-3)
    }

    /// Runs long flows in batches with new seeds until the answer is known. Returns the results of
    /// all, their folders, and the number of pairs.
    fn long_flows(&self, run: &dyn Fn(&Kind, Seeds) -> Made) -> Result<(Results, Vec<Stored>, u32), Failure> {
        let mut made: Option<(Results, Vec<Stored>, u32)> = None;
        for look in self.rule.looks() {
            let skipped = made.as_ref().map_or(0, |(.., pairs)| *pairs);
            let count = look - skipped;
            let (batch, folder) = run(&Kind::Long, Seeds { skipped, count })?;
            let (results, folders, _) = match made.take() {
                None => (batch, vec![folder], look),
                Some((mut all, mut folders, pairs)) => {
                    pairs::add(&mut all, pairs, &batch, count);
                    folders.push(folder);
                    (all, folders, look)
                }
            };
            let decided = Goodputs::new([&results], self.least()).are_decided(self, &results);
            made = Some((results, folders, look));
            if decided {
                break;
            }
        }
        made.ok_or_else(|| Failure::bad("no pair of runs"))
    }
}
