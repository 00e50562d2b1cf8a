//! Checks whether a stack's own congestion control follows its specification.
//!
//! The question becomes experiment files (`question.rs`, from those of `conform/`), which run like
//! any other. One has the stack with its own controller, and the reference in the simulator. Where
//! the stack deviates, another has the reference with one rule changed, and a third has our
//! controller inside the stack. Windows and envelopes of the time series (`samples.rs`) are
//! compared (`distance.rs`, `hull.rs`) and judged (`judge.rs`), for the screen and the page.

mod baseline;
mod distance;
mod hull;
mod judge;
mod log;
mod page;
mod question;
mod samples;
mod screen;

pub use self::baseline::{Baseline, Deviation, Since};
pub use self::judge::{Answer, Cause, Cell, Closest, Measured, Rule};
pub use self::log::Log;
pub use self::question::{Asked, KERNEL, Question};
pub use self::samples::Network;

use experiment::file::Experiment;
use experiment::place::Place;
use results::summary::Results;
use study::Options;

use self::samples::Taken;
use crate::lab::Stored;
use crate::{Content, Cost, Failure, Lab, Page, cost};

impl crate::Question for Question {
    type Answer = Answer;

    fn check(&self, lab: &Lab<'_>) -> Result<Cost, Failure> {
        let (grid, options) = (self.grid()?, self.beside(lab.options));
        let variants = grid.cases().into_iter().map(|case| case.variant).collect();
        let mismatch = self
            .baseline
            .as_ref()
            .and_then(|baseline| baseline.mismatch((&self.name, &self.stack, self.on), &variants));
        mismatch.map_or(Ok(()), |why| Err(Failure::Field("baseline", why)))?;
        match self.on {
            // The grid has the plain controller too, which every stack can run.
            Place::STACK => study::check_all(&grid, &options)?,
            _ => study::check(&grid, &options)?,
        }
        let covers = ", twice that if the stack deviates, ten times that for aioquic (Python); shorten it with --quick";
        Ok(Cost { seconds: cost::cost(&grid, 1), covers: covers.to_owned(), ..Cost::default() })
    }

    fn answer(&self, lab: &Lab<'_>) -> Result<Answer, Failure> {
        let mut studies = Studies { lab, stored: Vec::new(), all: Vec::new() };
        let beside = self.beside(lab.options);
        let grid = studies.run(&self.grid()?, &beside)?;
        let cells = judge::cells(self, &grid);
        if cells.is_empty() {
            return Err(Failure::bad(format!("{}: no valid run to compare", self.subject())));
        }
        if let (Some(log), Some(cell)) = (&self.log, cells.first()) {
            log.check_network(&cell.network, cell.subject.goodput)?;
        }
        let cause = match cells.iter().any(|cell| cell.deviates) {
            true => self.cause(&cells, &grid, &mut studies)?,
            false => None,
        };
        let mut answer = Answer::new(self, grid.variants.len(), cells, cause);
        if self.kernel {
            let on = Place::WIRE;
            let wire = Options { world: on, backends: vec![on], ..lab.options.clone() };
            answer.kernel = Some(judge::beside_kernel(self, &grid, &studies.run(&self.kernel()?, &wire)?));
        }
        Ok(Answer { results: studies.stored, runs: studies.all, grid, ..answer })
    }

    fn text(&self, answer: &Answer, all: bool) -> String {
        screen::text(self, answer, all)
    }

    fn page<'a>(&self, answer: &'a Answer) -> Option<Page<'a>> {
        let title = format!("{} compared with {}", self.subject(), self.document());
        let blocks = page::blocks(self, answer, &answer.grid);
        let content = Content::Answer { title, blocks, results: &answer.runs };
        Some(Page { folder: self.folder(), content })
    }
}

impl Question {
    /// Returns options for simulated rows with rows of the stack next to them.
    fn beside(&self, simulated: &Options) -> Options {
        let mut options = Options { world: self.on, backends: vec![self.backend], ..simulated.clone() };
        if let Some(world) = self.log.as_ref().map(Log::world) {
            // Logs may have changed, which no manifest tells.
            options.fresh = true;
            options.places = options.places.with(Place::LOG, world);
        }
        options
    }

    /// Runs the changed rules, and our controller inside the stack, to find the cause of a
    /// deviation.
    fn cause(
        &self,
        cells: &[Cell],
        grid: &Taken,
        studies: &mut Studies<'_, '_>,
    ) -> Result<Option<Cause>, Failure> {
        let deviating: Vec<&str> = judge::deviating(cells);
        let simulated = studies.lab.options;
        let rules = studies.run(&self.rules(&deviating)?, simulated)?;
        let inside = match self.takes_ours() {
            true => Some(studies.run(&self.inside(&deviating)?, &self.beside(simulated))?),
            false => None,
        };
        Ok(Cause::find(self, cells, grid, &rules, inside.as_ref()))
    }
}

/// The studies made so far, and where they are stored.
struct Studies<'l, 'a> {
    lab: &'l Lab<'a>,
    stored: Vec<Stored>,
    all: Vec<Results>,
}

impl Studies<'_, '_> {
    /// Runs an experiment, and returns its samples.
    fn run(&mut self, experiment: &Experiment, options: &Options) -> Result<Taken, Failure> {
        let (results, stored) = self.lab.run(experiment, options)?;
        let unread = |e| Failure::bad(format!("cannot read {}: {e}", stored.path.display()));
        let taken = Taken::read(experiment, &results, &stored.path).map_err(unread)?;
        self.stored.push(stored);
        self.all.push(results);
        Ok(taken)
    }
}
