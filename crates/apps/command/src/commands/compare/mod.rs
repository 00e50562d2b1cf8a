//! `ackclock compare`: compares controllers on a link and explains the difference.
//!
//! The question becomes three experiment files (`question.rs`): long flows alone, flows that share
//! the link with a competitor, and short transfers. They run like any other experiment and leave
//! results and a report. Their results become numbers with intervals (`answer.rs`) and reasons
//! (`why.rs`, `closed_form.rs`). These fill one screen of text (`screen.rs`) and the first page of
//! the report (`page.rs`).

mod answer;
mod args;
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

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use experiment::file::Experiment;
use results::summary::Results;
use scenario::Watch;

use self::answer::Answer;
pub(crate) use self::args::CompareArgs;
use self::question::{Kind, Question};
use crate::commands::folders::Stored;
use crate::commands::list;
use crate::output::tell;
use crate::progress::Bar;
use crate::status::{Error, HOLDS, print};
use study::{Options, Study};

/// Repetitions of the long flows in the first sample. Its spread decides how many more are made.
const FIRST_SEEDS: u32 = 5;
/// Largest number of repetitions: an answer within ten seconds is worth more than a slightly
/// narrower interval.
const MOST_SEEDS: u32 = 30;
/// Estimated seconds of one core above which the cost is announced.
const LONG: f64 = 60.0;
/// Half the width of a ratio's interval, as a share of the ratio, that is narrow enough.
const NARROW: f64 = 0.03;

/// Runs the comparison. Returns the exit status.
pub(crate) fn run(args: &CompareArgs) -> Result<u8, Error> {
    let question = Question::read(args)?;
    let watch = Arc::new(Watch::default());
    let handler = Arc::clone(&watch);
    ctrlc::set_handler(move || handler.stop.store(true, Ordering::Relaxed)).map_err(Error::bad)?;
    let options = question.place.options(args.out.clone());
    let lab = Lab { question: &question, options, watch: &watch };
    let kinds = if question.vary.is_some() { &[Kind::Beside][..] } else { &[Kind::Beside, Kind::StartUp] };
    for kind in [Kind::Long].iter().chain(kinds) {
        question.place.check(&question.experiment(*kind, 1)?)?;
    }
    warn_of_cost(&question, kinds, args.repeat)?;
    let ((long, folder), seeds) = lab.long_flows(args.repeat)?;
    let (mut stored, mut all) = (vec![Stored::new(&long, folder)], vec![long]);
    for kind in kinds {
        let (results, folder) = lab.run(*kind, seeds)?;
        stored.push(Stored::new(&results, folder));
        all.push(results);
    }
    let dir = args.out.join("report").join("compare");
    let answer = Answer::new(&question, &all, stored, seeds);
    let (text, blocks) = match &question.vary {
        Some(varied) => {
            (sweep::text(&question, varied, &all, seeds), page::blocks_over(&question, varied, &all, seeds))
        }
        None => (screen::text(&question, &answer), page::blocks(&question, &answer)),
    };
    let page = report::write_answer(&dir, &question.title(), &blocks, &all)
        .map_err(|e| Error::bad(format!("cannot write the report to {}: {e}", dir.display())))?;
    if args.json {
        print(&(serde_json::to_string_pretty(&answer).map_err(Error::bad)? + "\n"));
    } else {
        print(&format!("{text}report: {}\n", page.display()));
    }
    Ok(HOLDS)
}

/// Announces a comparison that takes long.
fn warn_of_cost(question: &Question, kinds: &[Kind], repeat: Option<u32>) -> Result<(), Error> {
    let seeds = repeat.unwrap_or(FIRST_SEEDS);
    let mut seconds = 0.0;
    for kind in [Kind::Long].iter().chain(kinds) {
        seconds += list::cost(&question.experiment(*kind, seeds)?, question.place.stacks());
    }
    if seconds > LONG {
        let more = match repeat {
            None => format!(" (up to {MOST_SEEDS} if the runs scatter)"),
            Some(_) => String::new(),
        };
        let cost = list::time(seconds);
        tell(&format!(
            "compare: takes about {cost} on one core for {seeds} seeds{more}; shorten it with --time or --repeat"
        ));
    }
    Ok(())
}

/// State that every run of a comparison needs.
struct Lab<'a> {
    question: &'a Question,
    options: Options,
    watch: &'a Watch,
}

impl Lab<'_> {
    /// Returns the results of one kind of runs, and their folder.
    fn run(&self, kind: Kind, seeds: u32) -> Result<(Results, PathBuf), Error> {
        let experiment: Experiment = self.question.experiment(kind, seeds)?;
        match study::experiment(&experiment, &self.options, &Bar::new(), self.watch)? {
            Study::Complete(results, folder, _) => Ok((*results, folder)),
            Study::Part(..) => Err(Error::bad("a comparison cannot be made in parts")),
        }
    }

    /// Runs the long flows. Returns their results, and the number of seeds.
    ///
    /// Uses Stein's two stages: the spread of a first sample decides the size of the second.
    fn long_flows(&self, repeat: Option<u32>) -> Result<((Results, PathBuf), u32), Error> {
        let first = repeat.unwrap_or(FIRST_SEEDS);
        let (results, folder) = self.run(Kind::Long, first)?;
        let needed = answer::seeds_for(self.question, &results.summary, first, NARROW).min(MOST_SEEDS);
        if repeat.is_some() || needed <= first {
            return Ok(((results, folder), first));
        }
        Ok((self.run(Kind::Long, needed)?, needed))
    }
}

#[cfg(test)]
mod tests {
    use clap::Args;

    use super::*;

    /// The help text of `--repeat` quotes the constants.
    #[test]
    fn help_states_the_seeds() {
        let command = CompareArgs::augment_args(clap::Command::new("compare"));
        let repeat = command.get_arguments().find(|arg| arg.get_id() == "repeat").unwrap();
        let help = repeat.get_long_help().unwrap().to_string();
        assert!(help.contains(&format!("first {FIRST_SEEDS} repetitions")), "{help}");
        assert!(help.contains(&format!("at most {MOST_SEEDS} in all")), "{help}");
        assert!(help.contains(&format!("within {} %", NARROW * 100.0)), "{help}");
    }
}
