//! Compares controllers on a link and explains the difference.
//!
//! The question becomes three experiment files (`question.rs`): long flows alone, flows that share
//! the link with a competitor, and short transfers. They run like any other experiment and leave
//! results and a report. Their results become numbers with intervals (`answer.rs`) and reasons
//! (`why.rs`, `closed_form.rs`). These fill one screen of text (`screen.rs`) and the first page of
//! the report (`page.rs`).

mod answer;
mod backends;
mod closed_form;
mod measured;
mod network;
mod page;
mod question;
mod screen;
mod sweep;
mod varied;
mod why;
mod written;

pub use self::answer::{Answer, Ranked, Variant};
pub use self::measured::{Beside, Long};
pub use self::question::{Asked, Question, TRANSFERS};

use experiment::place::Place;
use results::summary::Results;
use study::Options;

use self::question::Kind;
use crate::lab::{Made, Stored};
use crate::{Content, Cost, Failure, Lab, Page, cost, text};

/// Repetitions of the long flows in the first sample. Its spread decides how many more are made.
pub const FIRST_SEEDS: u32 = 5;
/// Largest number of repetitions: an answer within ten seconds is worth more than a slightly
/// narrower interval.
pub const MOST_SEEDS: u32 = 30;
/// Half the width of a ratio's interval, as a share of the ratio, that is narrow enough.
pub const NARROW: f64 = 0.03;

impl crate::Question for Question {
    type Answer = Answer;

    fn check(&self, lab: &Lab<'_>) -> Result<Cost, Failure> {
        let seeds = self.repeat.unwrap_or(FIRST_SEEDS);
        let options = self.options(lab);
        let mut seconds = 0.0;
        for kind in self.kinds() {
            study::check_all(&self.experiment(*kind, 1)?, &options)?;
            seconds += cost::cost(&self.experiment(*kind, seeds)?, self.place.stacks());
        }
        let more = match self.repeat {
            None => format!(" (up to {MOST_SEEDS} if the runs scatter)"),
            Some(_) => String::new(),
        };
        let seeds = text::seeds(seeds);
        Ok(Cost { seconds, covers: format!(" for {seeds}{more}; shorten it with --time or --repeat") })
    }

    fn answer(&self, lab: &Lab<'_>) -> Result<Answer, Failure> {
        let options = self.options(lab);
        let run = |kind: &Kind, seeds: u32| lab.run(&self.experiment(*kind, seeds)?, &options);
        let (long, seeds) = self.long_flows(&run)?;
        let (mut all, mut stored) = (vec![long.0], vec![long.1]);
        for kind in &self.kinds()[1..] {
            let (results, folder) = run(kind, seeds)?;
            all.push(results);
            stored.push(folder);
        }
        Ok(Answer::new(self, all, stored, seeds))
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

    /// Returns the options for the backends of the question.
    fn options(&self, lab: &Lab<'_>) -> Options {
        let (world, backends) = match self.place.named() {
            [] => (Place::SIM, Vec::new()),
            stacks => (Place::STACK, stacks.to_vec()),
        };
        Options { world, backends, ..lab.options.clone() }
    }

    /// Runs the long flows. Returns their results, and the number of seeds.
    ///
    /// Uses Stein's two stages: the spread of a first sample decides the size of the second.
    fn long_flows(&self, run: &dyn Fn(&Kind, u32) -> Made) -> Result<((Results, Stored), u32), Failure> {
        let first = self.repeat.unwrap_or(FIRST_SEEDS);
        let long = run(&Kind::Long, first)?;
        let needed = answer::seeds_for(self, &long.0.summary, first, NARROW).min(MOST_SEEDS);
        if self.repeat.is_some() || needed <= first {
            return Ok((long, first));
        }
        Ok((run(&Kind::Long, needed)?, needed))
    }
}
