//! `ackclock conform`: does a stack's own congestion control do what its document says?
//!
//! The question becomes experiment files (`question.rs`, from those of `conform/`), which run as any other: the stack with its own controller beside
//! the standard's in the simulator, and, where it deviates, the standard with one rule changed and our controller inside the stack. Of their time
//! series (`samples.rs`) windows and envelopes are compared (`distance.rs`, `hull.rs`) and judged (`judge.rs`), for the screen and the page.

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

use experiment::backend::Backend;
use experiment::file::Experiment;
use results::summary::Results;
use scenario::Watch;

pub(crate) use self::args::ConformArgs;
use self::judge::{Answer, Cause};
use self::question::Question;
use self::samples::Taken;
use crate::commands::list;
use crate::output::tell;
use crate::run::{self, Options, Study};
use crate::status::{Error, HOLDS, print};

/// Seconds of one core that are worth a word.
const LONG: f64 = 60.0;

/// Answers the question; the exit status.
pub(crate) fn run(args: &ConformArgs) -> Result<u8, Error> {
    let question = Question::read(args)?;
    if args.on == Backend::Wire || args.kernel {
        run::prepare_wire()?;
    }
    let watch = Arc::new(Watch::default());
    let handler = Arc::clone(&watch);
    ctrlc::set_handler(move || handler.stop.store(true, Ordering::Relaxed)).map_err(Error::bad)?;
    let simulated = Options::simulate(args.out.clone());
    let beside = Options { world: question.on, backends: vec![question.backend], ..simulated.clone() };
    let lab = Lab { simulated, beside, watch: &watch };

    let grid = question.grid()?;
    lab.check(&question, &grid)?;
    warn_of_cost(&grid);
    let (results, grid) = lab.run(&grid, &lab.beside)?;
    let cells = judge::cells(&question, &grid);
    if cells.is_empty() {
        return Err(Error::bad(format!("{}: no run is valid, nothing to compare", question.subject())));
    }
    let mut all = vec![results];
    let cause = match cells.iter().any(|cell| cell.deviates) {
        true => lab.cause(&question, &cells, &grid, &mut all)?,
        false => None,
    };
    let mut answer = Answer::of(&question, grid.variants.len(), cells, cause);
    if args.kernel {
        answer.kernel = Some(lab.kernel(&question, &grid, &mut all)?);
    }
    let blocks = page::blocks(&question, &answer, &grid);
    let dir = args.out.join("report").join("conform").join(format!("{}-{}", question.stack, question.name));
    let title = format!("{} beside {}", question.subject(), question.document());
    let page = report::write_answer(&dir, &title, &blocks, &all)
        .map_err(|e| Error::bad(format!("cannot write the report to {}: {e}", dir.display())))?;
    if args.json {
        print(&(serde_json::to_string_pretty(&answer).map_err(Error::bad)? + "\n"));
    } else {
        print(&format!("{}report: {}\n", screen::text(&question, &answer, args.verbose), page.display()));
    }
    Ok(HOLDS)
}

/// What takes long is said beforehand.
fn warn_of_cost(grid: &Experiment) {
    let seconds = list::cost(grid, 1);
    if seconds > LONG {
        let cost = list::time(seconds);
        tell(&format!(
            "conform: about {cost} of one core, and as much again where it deviates; aioquic, in Python, takes ten times that; --quick says less"
        ));
    }
}

/// What every run needs.
struct Lab<'a> {
    simulated: Options,
    /// The same beside the stack.
    beside: Options,
    watch: &'a Watch,
}

impl Lab<'_> {
    /// Whether the stack can run it.
    fn check(&self, question: &Question, grid: &Experiment) -> Result<(), Error> {
        let backends = &self.beside.backends;
        match question.on {
            // Beside a controller with parameters stands the standard's, which all can run.
            Backend::Stack => Ok(run::check_stacks(grid, backends)?),
            world => Ok(run::check(grid, world, backends)?),
        }
    }

    fn run(&self, experiment: &Experiment, options: &Options) -> Result<(Results, Taken), Error> {
        match run::experiment(experiment, options, self.watch)? {
            Study::Complete(results, folder, _) => {
                let unread = |e| Error::bad(format!("cannot read {}: {e}", folder.display()));
                let taken = Taken::read(experiment, &results, &folder).map_err(unread)?;
                Ok((*results, taken))
            }
            Study::Part(..) => Err(Error::bad("a part of a study")),
        }
    }

    /// Runs the kernel's TCP, and lays the stack beside it; the results stand behind the others.
    fn kernel(
        &self,
        question: &Question,
        grid: &Taken,
        all: &mut Vec<Results>,
    ) -> Result<Vec<judge::Cell>, Error> {
        let wire = Options { world: Backend::Wire, backends: vec![Backend::Wire], ..self.simulated.clone() };
        let (results, kernel) = self.run(&question.kernel()?, &wire)?;
        all.push(results);
        Ok(judge::beside_kernel(question, grid, &kernel))
    }

    /// Runs what may explain it; the results stand behind the others.
    fn cause(
        &self,
        question: &Question,
        cells: &[judge::Cell],
        grid: &Taken,
        all: &mut Vec<Results>,
    ) -> Result<Option<Cause>, Error> {
        let deviating: Vec<&str> = judge::deviating(cells);
        let (results, rules) = self.run(&question.rules(&deviating)?, &self.simulated)?;
        all.push(results);
        let inside = match question.takes_ours() {
            true => {
                let (results, inside) = self.run(&question.inside(&deviating)?, &self.beside)?;
                all.push(results);
                Some(inside)
            }
            false => None,
        };
        Ok(Cause::find(question, cells, grid, &rules, inside.as_ref()))
    }
}
