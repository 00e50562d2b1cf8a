//! `ackclock compare`: which controller on this link, by how much, and why.
//!
//! The question becomes experiment files (`question.rs`), which run as any other and leave their results and a report: long flows alone, flows
//! beside a competitor, short transfers. What they say is put into numbers with intervals (`answer.rs`), reasons (`why.rs`, with
//! `closed_form.rs`) one screen of text (`screen.rs`), and the first page of the report (`page.rs`).

mod answer;
mod args;
mod closed_form;
mod measured;
mod network;
mod page;
mod place;
mod question;
mod screen;
mod sweep;
mod varied;
mod why;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use experiment::file::Experiment;
use results::summary::Results;
use scenario::Watch;

use self::answer::Answer;
pub(crate) use self::args::CompareArgs;
use self::question::{Kind, Question};
use crate::commands::list;
use crate::output::tell;
use crate::run::{self, Options, Study};
use crate::status::{Error, HOLDS, print};

/// Repetitions of the long flows at first; their spread says how many it takes.
const FIRST_SEEDS: u32 = 5;
/// Repetitions at most: the answer within ten seconds is worth more than an interval a little narrower.
const MOST_SEEDS: u32 = 30;
/// Seconds of one core that are worth a word.
const LONG: f64 = 60.0;
/// Half the width of the interval of a ratio, as a share of it, that is narrow enough.
const NARROW: f64 = 0.03;

/// Answers the question; the exit status.
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
    let (long, seeds) = lab.long_flows(args.repeat)?;
    let mut all = vec![long];
    for kind in kinds {
        all.push(lab.run(*kind, seeds)?);
    }
    let dir = args.out.join("report").join("compare");
    let answer = Answer::of(&question, &all, seeds);
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

/// What takes long is said beforehand.
fn warn_of_cost(question: &Question, kinds: &[Kind], repeat: Option<u32>) -> Result<(), Error> {
    let seeds = repeat.unwrap_or(FIRST_SEEDS);
    let mut seconds = 0.0;
    for kind in [Kind::Long].iter().chain(kinds) {
        seconds += list::cost(&question.experiment(*kind, seeds)?, question.place.stacks());
    }
    if seconds > LONG {
        let more = match repeat {
            None => format!(" and up to {MOST_SEEDS} where they scatter"),
            Some(_) => String::new(),
        };
        let cost = list::time(seconds);
        tell(&format!(
            "compare: about {cost} of one core for {seeds} seeds{more}; --time and --repeat say less"
        ));
    }
    Ok(())
}

/// What every run of a comparison needs.
struct Lab<'a> {
    question: &'a Question,
    options: Options,
    watch: &'a Watch,
}

impl Lab<'_> {
    fn run(&self, kind: Kind, seeds: u32) -> Result<Results, Error> {
        let experiment: Experiment = self.question.experiment(kind, seeds)?;
        match run::experiment(&experiment, &self.options, self.watch)? {
            Study::Complete(results, ..) => Ok(*results),
            Study::Part(..) => Err(Error::bad("a part of a comparison")),
        }
    }

    /// The long flows, and with how many seeds: Stein's two stages, a first sample whose spread says how large the second must be.
    fn long_flows(&self, repeat: Option<u32>) -> Result<(Results, u32), Error> {
        let first = repeat.unwrap_or(FIRST_SEEDS);
        let results = self.run(Kind::Long, first)?;
        let needed = answer::seeds_for(self.question, &results.summary, first, NARROW).min(MOST_SEEDS);
        if repeat.is_some() || needed <= first {
            return Ok((results, first));
        }
        Ok((self.run(Kind::Long, needed)?, needed))
    }
}
