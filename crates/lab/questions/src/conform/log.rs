//! A stack judged by its log: the declared network, and the connection in place of a run.

use std::sync::Arc;

use logs::account::{Connection, Seen};
use logs::event::{Protocol, Source};
use scenario::Watch;
use toml::{Table, Value};
use units::{Duration, Time};

use super::samples::Network;
use crate::Failure;
use crate::analyse::{self, world::Logs};

/// Part of a log that is left out: slow start, as in the grid.
const START: Duration = Duration::from_secs(5);
/// Shortest log that can be judged, and longest part of one that is.
const LEAST: Duration = Duration::from_secs(10);
const MOST: Duration = Duration::from_secs(300);
/// Latest start of a connection in its log.
const LATEST_START: Duration = Duration::from_secs(1);
/// Name of the window in which reductions are counted.
const WINDOW: &str = "measure";
/// Field of the logs.
const FIELD: &str = "log";

/// A connection from logs, and the network that it is said to have had.
#[derive(Debug)]
pub struct Log {
    connection: Arc<[Connection]>,
    /// The link, as an experiment has it.
    link: Table,
    /// Packet sizes of the flow.
    packet: Table,
    pub(super) is_tcp: bool,
    duration: Duration,
    min_rtt: Option<Duration>,
    /// Controller that the log names.
    pub(super) controller: Option<String>,
    /// The stack's name.
    pub(super) stack: String,
}

impl Log {
    /// Reads the logs. `link` is the network in words, or a name.
    ///
    /// # Errors
    /// Logs that cannot be read, hold several connections, were not written at the sender, or are
    /// too short.
    pub fn read(question: &analyse::Question, link: &str, watch: &Watch) -> Result<Self, Failure> {
        let window = (START, MOST);
        let question = analyse::Question {
            window: Some(window),
            named: Some((WINDOW.to_owned(), window.0, window.1)),
            ..question.clone()
        };
        let (mut all, left_out) = question.read(watch)?;
        let several = all.len() + left_out;
        let connection = all.swap_remove(0);
        let wrong = |why: String| Err(Failure::Field(FIELD, why));
        let bytes = connection.bytes();
        if several > 1 && all.iter().any(|other| other.bytes() > bytes / 10) {
            return wrong(format!(
                ": {several} connections have data, and one can be judged; give its log alone"
            ));
        }
        if connection.seen == Seen::Receiver {
            return wrong(
                ": it is the receiver's log, which does not show the window; give the sender's".to_owned(),
            );
        }
        if connection.source == Source::Intervals {
            return wrong(": it has measurements at intervals only; give qlog or a capture".to_owned());
        }
        let begins = connection.span.0 - Time::ZERO;
        if begins > LATEST_START {
            let begins = begins.as_secs_f64();
            return wrong(format!(
                ": the connection begins at {begins:.1} s; give a log that begins with it"
            ));
        }
        let length = connection.span.1 - Time::ZERO;
        if length < LEAST {
            let have = length.as_secs_f64();
            return wrong(format!(
                ": it covers {have:.1} s, and a judgement needs {} s",
                LEAST.as_secs_f64()
            ));
        }
        Ok(Self {
            link: link_table(link)?,
            packet: analyse::packet(&connection),
            is_tcp: connection.protocol == Protocol::Tcp,
            // Whole samples of 20 ms.
            duration: Duration::from_millis(length.min(MOST).0 / 20_000_000 * 20),
            min_rtt: connection.min_rtt,
            controller: connection.controller.clone(),
            stack: connection.program.clone().unwrap_or_else(|| "the log".to_owned()),
            connection: [connection].into(),
        })
    }

    /// Returns the world of the connection.
    pub(super) fn world(&self) -> Logs {
        Logs::new(Arc::clone(&self.connection))
    }

    /// Refuses a declared network that the log contradicts: more goodput than its rate, or a
    /// smaller RTT than its own.
    ///
    /// # Errors
    /// The contradiction.
    pub(super) fn check_network(&self, network: &Network, goodput: Option<f64>) -> Result<(), Failure> {
        let wrong = |why: String| Err(Failure::Field("link", why));
        let rate = network.rate;
        if let Some(goodput) = goodput.filter(|goodput| *goodput > 1.01 * rate) {
            return wrong(format!(
                ": the log has a goodput of {goodput:.2} Mbit/s, above the rate of {rate} Mbit/s"
            ));
        }
        let rtt = network.rtt;
        match self.min_rtt.map(Duration::as_millis_f64).filter(|min| *min < 0.99 * rtt) {
            Some(min) => wrong(format!(": the log has an RTT of {min:.2} ms, below the RTT of {rtt} ms")),
            None => Ok(()),
        }
    }

    /// Puts the declared network and the length of the log into a shipped file.
    pub(super) fn adapt(&self, file: &mut Table) {
        let text = |time: Duration| format!("{} ms", time.as_millis_f64());
        file.insert("duration".to_owned(), text(self.duration).into());
        let measure = Table::from_iter([("from".to_owned(), Value::from(text(START)))]);
        file.insert("measure".to_owned(), measure.into());
        let mut link = self.link.clone();
        // As in the grid: so that runs of the reference differ in phase.
        if let Some(jitter) = file.get("link").and_then(|link| link.get("jitter")) {
            link.entry("jitter").or_insert_with(|| jitter.clone());
        }
        file.insert("link".to_owned(), link.into());
        if let Some(vary) = file.get_mut("vary").and_then(Value::as_table_mut) {
            vary.retain(|key: &str, _| !key.starts_with("link."));
        }
        let flow = file.get_mut("flow").and_then(Value::as_array_mut).and_then(|flows| flows.first_mut());
        if let Some(flow) = flow.and_then(Value::as_table_mut) {
            flow.insert("packet".to_owned(), self.packet.clone().into());
        }
    }
}

/// Returns the link in words as a table, with the queue that `compare` has by default.
fn link_table(text: &str) -> Result<Table, Failure> {
    let mut tables = crate::compare::link(text)?;
    if tables.len() > 1 {
        let why = format!(" {text}: it has more than a link; a log is compared on one link, in words");
        return Err(Failure::Field("link", why));
    }
    match tables.remove("link") {
        Some(Value::Table(link)) => Ok(link),
        _ => Err(Failure::Field(
            "link",
            format!(" {text}: it has several links, and a log is compared on one"),
        )),
    }
}
