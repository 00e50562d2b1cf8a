//! `ackclock conform`: checks whether a stack's own congestion control follows its specification.
//!
//! The question becomes experiment files (`question.rs`, from those of `conform/`), which run like
//! any other. One has the stack with its own controller, and the reference in the simulator. Where
//! the stack deviates, another has the reference with one rule changed, and a third has our
//! controller inside the stack. Windows and envelopes of the time series (`samples.rs`) are
//! compared (`distance.rs`, `hull.rs`) and judged (`judge.rs`), for the screen and the page.

mod args;
mod distance;
mod hull;
mod judge;
mod page;
mod question;
mod samples;
mod screen;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use experiment::file::Experiment;
use experiment::place::Place;
use results::summary::Results;
use scenario::Watch;

pub(crate) use self::args::ConformArgs;
use self::judge::{Answer, Cause};
use self::question::Question;
use self::samples::Taken;
use crate::commands::folders::Stored;
use crate::commands::list;
use crate::output::tell;
use crate::places;
use crate::progress::Bar;
use crate::status::{Error, HOLDS, print};
use study::{Options, Study};

/// Estimated seconds of one core above which the cost is announced.
const LONG: f64 = 60.0;

/// Runs the check. Returns the exit status.
pub(crate) fn run(args: &ConformArgs) -> Result<u8, Error> {
    let question = Question::read(args)?;
    if args.on == Place::WIRE || args.kernel {
        places::prepare_wire()?;
    }
    let watch = Arc::new(Watch::default());
    let handler = Arc::clone(&watch);
    ctrlc::set_handler(move || handler.stop.store(true, Ordering::Relaxed)).map_err(Error::bad)?;
    let simulated = places::simulate(args.out.clone());
    let beside = Options { world: question.on, backends: vec![question.backend], ..simulated.clone() };
    let lab = Lab { simulated, beside, watch: &watch };

    let grid = question.grid()?;
    lab.check(&question, &grid)?;
    warn_of_cost(&grid);
    let mut studies = Studies::default();
    let grid = lab.run(&grid, &lab.beside, &mut studies)?;
    let cells = judge::cells(&question, &grid);
    if cells.is_empty() {
        return Err(Error::bad(format!("{}: no valid run to compare", question.subject())));
    }
    let cause = match cells.iter().any(|cell| cell.deviates) {
        true => lab.cause(&question, &cells, &grid, &mut studies)?,
        false => None,
    };
    let mut answer = Answer::new(&question, grid.variants.len(), cells, cause);
    if args.kernel {
        answer.kernel = Some(lab.kernel(&question, &grid, &mut studies)?);
    }
    answer.results = studies.stored;
    let blocks = page::blocks(&question, &answer, &grid);
    let dir = args.out.join("report").join("conform").join(format!("{}-{}", question.stack, question.name));
    let title = format!("{} compared with {}", question.subject(), question.document());
    let page = report::write_answer(&dir, &title, &blocks, &studies.all)
        .map_err(|e| Error::bad(format!("cannot write the report to {}: {e}", dir.display())))?;
    if args.json {
        print(&(serde_json::to_string_pretty(&answer).map_err(Error::bad)? + "\n"));
    } else {
        print(&format!("{}report: {}\n", screen::text(&question, &answer, args.verbose), page.display()));
    }
    Ok(HOLDS)
}

/// Announces a check that takes long.
fn warn_of_cost(grid: &Experiment) {
    let seconds = list::cost(grid, 1);
    if seconds > LONG {
        let cost = list::time(seconds);
        tell(&format!(
            "conform: takes about {cost} on one core, twice that if the stack deviates, ten times that for aioquic (Python); shorten it with --quick"
        ));
    }
}

/// The studies made so far, and where they are stored.
#[derive(Default)]
struct Studies {
    all: Vec<Results>,
    stored: Vec<Stored>,
}

/// State that every run needs.
struct Lab<'a> {
    simulated: Options,
    /// Options for simulated rows with rows of the stack next to them.
    beside: Options,
    watch: &'a Watch,
}

impl Lab<'_> {
    /// Checks that the stack can run the grid.
    fn check(&self, question: &Question, grid: &Experiment) -> Result<(), Error> {
        match question.on {
            // The grid has the plain controller too, which every stack can run.
            Place::STACK => Ok(study::check_all(grid, &self.beside)?),
            _ => Ok(study::check(grid, &self.beside)?),
        }
    }

    /// Runs an experiment, adds its results to `studies`, and returns its samples.
    fn run(&self, experiment: &Experiment, options: &Options, studies: &mut Studies) -> Result<Taken, Error> {
        match study::experiment(experiment, options, &Bar::new(), self.watch)? {
            Study::Complete(results, folder, _) => {
                let unread = |e| Error::bad(format!("cannot read {}: {e}", folder.display()));
                let taken = Taken::read(experiment, &results, &folder).map_err(unread)?;
                studies.stored.push(Stored::new(&results, folder));
                studies.all.push(*results);
                Ok(taken)
            }
            Study::Part(..) => Err(Error::bad("a check cannot be made in parts")),
        }
    }

    /// Runs the kernel's TCP and compares the stack with it.
    fn kernel(
        &self,
        question: &Question,
        grid: &Taken,
        studies: &mut Studies,
    ) -> Result<Vec<judge::Cell>, Error> {
        let wire = Options { world: Place::WIRE, backends: vec![Place::WIRE], ..self.simulated.clone() };
        let kernel = self.run(&question.kernel()?, &wire, studies)?;
        Ok(judge::beside_kernel(question, grid, &kernel))
    }

    /// Runs the changed rules, and our controller inside the stack, to find the cause of a
    /// deviation.
    fn cause(
        &self,
        question: &Question,
        cells: &[judge::Cell],
        grid: &Taken,
        studies: &mut Studies,
    ) -> Result<Option<Cause>, Error> {
        let deviating: Vec<&str> = judge::deviating(cells);
        let rules = self.run(&question.rules(&deviating)?, &self.simulated, studies)?;
        let inside = match question.takes_ours() {
            true => Some(self.run(&question.inside(&deviating)?, &self.beside, studies)?),
            false => None,
        };
        Ok(Cause::find(question, cells, grid, &rules, inside.as_ref()))
    }
}
