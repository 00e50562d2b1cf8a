//! Replays a sender's log with another controller, open loop.
//!
//! The reader's events drive the controller (`logs::replay`). The answer has its window beside the
//! logged one: how it reads the same ACKs and losses, not what it would have achieved.

mod answer;
mod controller;
mod screen;

use std::path::PathBuf;
use std::sync::atomic::Ordering;

use congestion::{Algorithm, Registry};
use logs::event::{About, Event, Sink};
use logs::replay::{Replayed, Replays};
use report::Block;
use scenario::Watch;
use units::Time;

pub use self::answer::{Answer, Windows};
use crate::{Content, Cost, Failure, Lab, Page};

/// Bytes of qlog that are replayed in a second.
const BYTES_PER_SECOND: f64 = 60e6;

/// Log to replay.
#[derive(Clone, Debug)]
pub struct Question {
    /// Log of a sender.
    pub file: PathBuf,
    /// Controller by name, or as a TOML table with parameters. `None`: that of the log.
    pub controller: Option<String>,
    /// Controllers that can be named.
    pub registry: Registry,
}

impl Question {
    fn algorithm(&self) -> Result<Option<Algorithm>, Failure> {
        let Some(text) = &self.controller else { return Ok(None) };
        let wrong = |why: String| Failure::Field("controller", format!(": {why}"));
        controller::of_argument(&self.registry, text).map(Some).map_err(wrong)
    }

    /// Returns the connection with most data, and the number of others.
    fn read(&self, watch: &Watch) -> Result<(Replayed, usize), Failure> {
        let registry = self.registry.clone();
        let read = Box::new(move |name: &str, json: Option<&str>| controller::of_log(&registry, name, json));
        let replays = Replays::new(self.algorithm()?, read);
        let mut watched = Watched { replays, watch };
        logs::read(&self.file, None, &mut watched).map_err(|e| Failure::bad(e.to_string()))?;
        if watch.stop.load(Ordering::Relaxed) {
            return Err(Failure::Study(study::Failure::Interrupted(0)));
        }
        let mut all = watched.replays.finish();
        let others = all.len().saturating_sub(1);
        all.sort_by_key(|one| std::cmp::Reverse(one.sent[0].saturating_add(one.sent[1])));
        let file = self.file.display();
        let Some(one) = all.into_iter().next() else {
            return Err(Failure::bad(format!("{file}: it has no connection")));
        };
        match &one.refusal {
            Some(why) => Err(Failure::bad(format!("{file}: {why}"))),
            None => Ok((one, others)),
        }
    }
}

/// Replays whose reading Ctrl-C ends.
struct Watched<'a> {
    replays: Replays,
    watch: &'a Watch,
}

impl Sink for Watched<'_> {
    fn open(&mut self, about: About) -> usize {
        self.replays.open(about)
    }

    fn event(&mut self, connection: usize, at: Time, event: &Event<'_>) {
        self.replays.event(connection, at, event);
    }

    fn takes_calls(&self) -> bool {
        true
    }

    fn is_stopped(&self) -> bool {
        self.watch.stop.load(Ordering::Relaxed)
    }
}

impl crate::Question for Question {
    type Answer = Answer;

    fn check(&self, _: &Lab<'_>) -> Result<Cost, Failure> {
        self.algorithm()?;
        let bytes = std::fs::metadata(&self.file).map_or(0, |file| file.len());
        let seconds = bytes as f64 / BYTES_PER_SECOND;
        Ok(Cost { seconds, announced: seconds > 3.0, ..Cost::default() })
    }

    fn answer(&self, lab: &Lab<'_>) -> Result<Answer, Failure> {
        let (replayed, others) = self.read(lab.watch)?;
        Ok(Answer::new(&self.file, &replayed, others))
    }

    fn text(&self, answer: &Answer, all: bool) -> String {
        screen::text(answer, all)
    }

    fn page<'a>(&self, answer: &'a Answer) -> Option<Page<'a>> {
        let mut blocks = vec![Block::Text(screen::verdict(answer)), screen::table(answer)];
        blocks.extend(screen::notes(answer).into_iter().map(Block::Text));
        blocks.push(answer.chart());
        let title = format!("{} replayed through {}", answer.controller, answer.log);
        let content = Content::Answer { title, blocks, results: &[] };
        Some(Page { folder: vec!["replay".to_owned(), answer.name.clone()], content })
    }
}
