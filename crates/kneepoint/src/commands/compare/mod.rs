//! `kneepoint compare`: which controller on this link, by how much, and why.
//!
//! The question becomes experiment files (`question.rs`), which run as any other and leave their results and a report: long flows alone, flows
//! beside a competitor, short transfers. What they say is put into numbers with intervals (`answer.rs`), reasons (`why.rs`, with
//! `closed_form.rs`) and one screen of text (`screen.rs`).

mod answer;
mod closed_form;
mod interval;
mod question;
mod screen;
mod sweep;
mod why;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use clap::Args;
use experiment::backend::Backend;
use experiment::file::Experiment;
use results::summary::Results;
use scenario::Watch;
use units::Duration;

use self::answer::Answer;
use self::question::{Kind, Question};
use crate::run::{self, Options};
use crate::status::{Error, HOLDS, print};

/// Repetitions of the long flows at first; their spread says how many it takes.
const FIRST_SEEDS: u32 = 5;
/// Repetitions at most.
const MOST_SEEDS: u32 = 40;
/// Half the width of the interval of a ratio, as a share of it, that is narrow enough.
const NARROW: f64 = 0.03;

#[derive(Debug, Args)]
pub(crate) struct CompareArgs {
    /// Two or more controllers: names of `kneepoint algorithms`, or with parameters, `'{ name = "cubic", beta = 0.8 }'`. `bbr` is the
    /// newest BBR.
    #[arg(required = true, num_args = 1..)]
    controllers: Vec<String>,
    /// The bottleneck in words, with the keys of `[link]` and `rtt`, or an experiment file or name whose network is taken.
    #[arg(long, value_name = "WORDS|FILE")]
    link: String,
    /// Keys of the flows, like `transport=tcp`.
    #[arg(long, value_name = "WORDS")]
    flow: Option<String>,
    /// A key of the link over a range or a list: `"queue=0.1..8 BDP"`, `"loss=0, 0.01, 0.1 %"`.
    #[arg(long, value_name = "KEY=RANGE")]
    vary: Option<String>,
    /// The competitor beside which each runs; the first of the controllers if not given.
    #[arg(long, value_name = "CONTROLLER")]
    against: Option<String>,
    /// How long the long flows run; long enough for five cycles of CUBIC on the link if not given.
    #[arg(long, value_name = "TIME", value_parser = time)]
    time: Option<Duration>,
    /// Repetitions with another seed each; as many as it takes for an interval of 3 %, between 5 and 40, if not given.
    #[arg(long)]
    repeat: Option<u32>,
    /// Where results and report go.
    #[arg(long, default_value = "results")]
    out: PathBuf,
    /// Print the numbers as JSON.
    #[arg(long)]
    json: bool,
}

fn time(text: &str) -> Result<Duration, String> {
    match text.parse()? {
        Duration::ZERO => Err("no time at all".to_owned()),
        time => Ok(time),
    }
}

/// Answers the question; the exit status.
pub(crate) fn run(args: &CompareArgs) -> Result<u8, Error> {
    let question = Question::read(args)?;
    let watch = Arc::new(Watch::default());
    let handler = Arc::clone(&watch);
    ctrlc::set_handler(move || handler.stop.store(true, Ordering::Relaxed)).map_err(Error::bad)?;
    let options = Options { out: args.out.clone(), qlog: false, pcap: false, world: Backend::Sim };
    let lab = Lab { question: &question, options, watch: &watch };
    let (long, seeds) = lab.long_flows(args.repeat)?;
    let kinds = if question.vary.is_some() { &[Kind::Beside][..] } else { &[Kind::Beside, Kind::StartUp] };
    let mut all = vec![long];
    for kind in kinds {
        all.push(lab.run(*kind, seeds)?);
    }
    let dir = args.out.join("report").join("compare");
    let page = report::write(&dir, &question.title(), &all)
        .map_err(|e| Error::bad(format!("cannot write the report to {}: {e}", dir.display())))?;
    let answer = Answer::of(&question, &all, seeds);
    if args.json {
        print(&(serde_json::to_string_pretty(&answer).map_err(Error::bad)? + "\n"));
    } else {
        let text = match &question.vary {
            Some(varied) => sweep::text(&question, varied, &all, seeds),
            None => screen::text(&question, &answer),
        };
        print(&format!("{text}report: {}\n", page.display()));
    }
    Ok(HOLDS)
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
        Ok(run::experiment(&experiment, &self.options, self.watch)?.0)
    }

    /// The long flows, and with how many seeds: Stein's two stages, a first sample whose spread says how large the second must be.
    fn long_flows(&self, repeat: Option<u32>) -> Result<(Results, u32), Error> {
        let first = repeat.unwrap_or(FIRST_SEEDS);
        let results = self.run(Kind::Long, first)?;
        let needed = answer::seeds_for(&results.summary, first, NARROW).min(MOST_SEEDS);
        if repeat.is_some() || needed <= first {
            return Ok((results, first));
        }
        Ok((self.run(Kind::Long, needed)?, needed))
    }
}
