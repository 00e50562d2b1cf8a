//! Analyses logs of connections: whose logs they are does not matter.
//!
//! The readers of `logs` give their events to its accounts. The connections become the flows of a
//! run (`run.rs`), which is stored and drawn like any other. `analysed.rs` has each connection's
//! own numbers and what is not known; `pair.rs` compares two.

mod analysed;
mod answer;
mod page;
mod pair;
mod run;
mod screen;
pub(crate) mod world;

use std::path::PathBuf;
use std::sync::atomic::Ordering;

use logs::account::{Accounts, Connection};
use scenario::Watch;
use units::Duration;

pub use self::analysed::{Analysed, Metric, Problem};
pub use self::answer::Answer;
pub use self::pair::Pair;
pub(crate) use self::run::packet;
use crate::{Content, Cost, Failure, Lab, Page};

/// Largest number of connections that an answer shows. Those with most data are shown.
const MOST: usize = 50;

/// Bytes of qlog that are read in a second.
const BYTES_PER_SECOND: f64 = 100e6;

/// Logs to analyse.
#[derive(Clone, Debug, Default)]
pub struct Question {
    /// Log files, in any order.
    pub files: Vec<PathBuf>,
    /// TLS keys of captured QUIC connections, as `SSLKEYLOGFILE` has them.
    pub keys: Option<PathBuf>,
    /// Part of each log in which metrics count, since its start.
    pub window: Option<(Duration, Duration)>,
    /// Another part with a name, in which metrics count too.
    pub named: Option<(String, Duration, Duration)>,
    /// Compares two connections.
    pub compare: bool,
}

impl Question {
    /// Reads the files. Returns the connections, those with most data first, and the number of
    /// those left out.
    pub(crate) fn read(&self, watch: &Watch) -> Result<(Vec<Connection>, usize), Failure> {
        let keys = self.keys.as_deref().map(logs::read_keys).transpose().map_err(|e| bad(&e))?;
        let mut accounts = Accounts::new(self.window, self.named.as_ref());
        for file in &self.files {
            accounts.begin(&file.display().to_string());
            // Ctrl-C is looked for between files and by the readers.
            let watched = &mut Watched { accounts: &mut accounts, watch };
            logs::read(file, keys.as_ref(), watched).map_err(|e| bad(&e))?;
            if watch.stop.load(Ordering::Relaxed) {
                return Err(Failure::Study(study::Failure::Interrupted(0)));
            }
        }
        let not_followed = accounts.left_out();
        let mut all = accounts.finish();
        all.retain(|connection| connection.record.started < units::Time::NEVER);
        all.sort_by_key(|connection| std::cmp::Reverse(connection.record.delivered.max(connection.bytes())));
        let end = all.iter().map(|connection| connection.span.1).max().unwrap_or(units::Time::ZERO);
        if let Some((from, _)) =
            self.window.filter(|(from, _)| !all.is_empty() && units::Time::ZERO + *from >= end)
        {
            let why = format!(" {from}: the logs end at {:.3} s", end.as_secs_f64());
            return Err(Failure::Field("from", why));
        }
        if self.compare {
            let place = |connection: &Connection| {
                self.files.iter().position(|file| connection.files.contains(&file.display().to_string()))
            };
            all.sort_by_key(place);
        }
        let left_out = not_followed + all.len().saturating_sub(MOST);
        all.truncate(MOST);
        if all.is_empty() {
            let names: Vec<String> = self.files.iter().map(|file| file.display().to_string()).collect();
            return Err(Failure::bad(format!("{}: no connection in it sends any data", names.join(", "))));
        }
        Ok((all, left_out))
    }
}

fn bad(error: &logs::Error) -> Failure {
    Failure::bad(error.to_string())
}

/// Accounts whose reading Ctrl-C ends.
struct Watched<'a> {
    accounts: &'a mut Accounts,
    watch: &'a Watch,
}

impl logs::event::Sink for Watched<'_> {
    fn open(&mut self, about: logs::event::About) -> usize {
        self.accounts.open(about)
    }

    fn event(&mut self, connection: usize, at: units::Time, event: &logs::event::Event<'_>) {
        self.accounts.event(connection, at, event);
    }

    fn is_stopped(&self) -> bool {
        self.watch.stop.load(Ordering::Relaxed)
    }
}

impl crate::Question for Question {
    type Answer = Answer;

    fn check(&self, _: &Lab<'_>) -> Result<Cost, Failure> {
        if self.compare && self.files.len() < 2 {
            return Err(Failure::Field("compare", ": it needs the logs of two connections".to_owned()));
        }
        let bytes: u64 = self.files.iter().filter_map(|file| Some(std::fs::metadata(file).ok()?.len())).sum();
        let seconds = bytes as f64 / BYTES_PER_SECOND;
        Ok(Cost { seconds, announced: seconds > 3.0, ..Cost::default() })
    }

    fn answer(&self, lab: &Lab<'_>) -> Result<Answer, Failure> {
        let (connections, left_out) = self.read(lab.watch)?;
        if self.compare && connections.len() != 2 {
            let wrong = format!(": the logs have {} connections, and two can be compared", connections.len());
            return Err(Failure::Field("compare", wrong));
        }
        let run = run::Run::new(self, connections);
        let mut answer = Answer::new(self, &run, left_out);
        answer.pair = self.compare.then(|| Pair::new(&answer.connections[0], &answer.connections[1]));
        let (results, stored) = run.store(lab)?;
        answer.results = vec![stored];
        answer.runs = vec![results];
        Ok(answer)
    }

    fn text(&self, answer: &Answer, all: bool) -> String {
        screen::text(answer, all)
    }

    fn page<'a>(&self, answer: &'a Answer) -> Option<Page<'a>> {
        let content = Content::Answer {
            title: answer.title.clone(),
            blocks: page::blocks(answer),
            results: &answer.runs,
        };
        Some(Page { folder: vec!["analyse".to_owned(), answer.name.clone()], content })
    }
}
