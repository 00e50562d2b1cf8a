//! Gives the ACKs and losses of a sender's log to another controller, open loop.
//!
//! A log of this program has the calls of its controller, which are made again (`calls.rs`). From
//! logs of other programs the signals are derived (`signals.rs`).

mod calls;
mod distance;
mod rate;
mod sane;
mod signals;
#[cfg(test)]
mod tests;

use std::fmt;

use congestion::Algorithm;
use quic::Side;
use units::Time;

use self::calls::Calls;
pub use self::distance::{Distance, Moment, Windows};
use self::signals::Signals;
use crate::event::{About, Event, Protocol, Sink, Source};

/// Largest number of connections that are replayed. Later ones are left out.
const MOST_POINTS: usize = 4096;

/// Reads the controller of a log from its name and its parameters as JSON, if the log has them.
pub type ReadController = Box<dyn Fn(&str, Option<&str>) -> Result<Algorithm, String>>;

/// Replays of the connections of one log.
pub struct Replays {
    read: ReadController,
    /// Controller to replay. `None`: that of the log.
    wanted: Option<Algorithm>,
    points: Vec<Point>,
}

impl fmt::Debug for Replays {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Replays").field("points", &self.points).finish_non_exhaustive()
    }
}

/// Connection with the controller that follows its log.
#[derive(Debug)]
struct Point {
    about: About,
    /// Controller of the log, with its parameters, as far as they are known here.
    logged: Result<Algorithm, String>,
    driver: Driver,
    /// Stream bytes that the client sent, and the server.
    sent: [u64; 2],
    windows: Windows,
}

#[derive(Debug)]
enum Driver {
    /// No packet has been sent.
    Waiting,
    Calls(Box<Calls>),
    Signals(Box<Signals>),
}

/// Result of a replay.
#[derive(Clone, Debug)]
pub struct Replayed {
    /// Description of the connection.
    pub about: About,
    /// Stream bytes that the end that wrote the log sent, and those that the other sent.
    pub sent: [u64; 2],
    /// Controller that was replayed.
    pub controller: Option<Algorithm>,
    /// The controller is that of the log, with the same parameters.
    pub is_same: bool,
    /// The log has the calls of its controller, so that nothing was derived.
    pub has_calls: bool,
    /// The controller needs counts of CE marks, and the log tells only reductions for them.
    pub lacks_marks: bool,
    /// Windows of the log and of the replay.
    pub windows: Windows,
    /// Reason why the connection cannot be replayed.
    pub refusal: Option<String>,
}

impl Replays {
    /// Creates replays of this controller, or of that which a log names. `read` must refuse
    /// parameters that no experiment may have: a log may be made up.
    pub fn new(wanted: Option<Algorithm>, read: ReadController) -> Self {
        Self { read, wanted, points: Vec::new() }
    }

    /// Ends all replays.
    pub fn finish(self) -> Vec<Replayed> {
        let wanted = self.wanted;
        self.points.into_iter().map(|point| point.finish(wanted.as_ref())).collect()
    }
}

impl Sink for Replays {
    fn open(&mut self, about: About) -> usize {
        if self.points.len() == MOST_POINTS {
            return MOST_POINTS;
        }
        let logged = match &about.controller {
            Some(name) => (self.read)(name, about.parameters.as_deref()),
            None => Err("the log names no controller".to_owned()),
        };
        let (driver, windows) = (Driver::Waiting, Windows::default());
        self.points.push(Point { about, logged, driver, sent: [0; 2], windows });
        self.points.len() - 1
    }

    fn takes_calls(&self) -> bool {
        true
    }

    fn event(&mut self, connection: usize, at: Time, event: &Event<'_>) {
        if let Some(point) = self.points.get_mut(connection) {
            point.event(at, event, self.wanted.as_ref());
        }
    }
}

impl Point {
    fn event(&mut self, at: Time, event: &Event<'_>, wanted: Option<&Algorithm>) {
        if let Event::Packet(packet) = event {
            let bytes = packet.pieces.iter().fold(0_u64, |sum, piece| sum.saturating_add(piece.len));
            let sent = &mut self.sent[packet.from as usize];
            *sent = sent.saturating_add(bytes);
        }
        let begins = matches!(event, Event::Call(_)) || self.is_own_data(event);
        if matches!(self.driver, Driver::Waiting) && begins {
            self.begin(event, wanted);
        }
        match &mut self.driver {
            Driver::Waiting => {}
            Driver::Calls(calls) => {
                if let Event::Call(call) = event {
                    calls.on_call(at, call, &mut self.windows);
                }
            }
            Driver::Signals(signals) => signals.on_event(at, event, &mut self.windows),
        }
    }

    fn is_own_data(&self, event: &Event<'_>) -> bool {
        matches!(event, Event::Packet(packet) if Some(packet.from) == self.about.vantage)
    }

    fn begin(&mut self, event: &Event<'_>, wanted: Option<&Algorithm>) {
        let Some(algorithm) = wanted.or(self.logged.as_ref().ok()).cloned() else { return };
        let is_same = self.logged.as_ref().is_ok_and(|logged| *logged == algorithm);
        let is_tcp = self.about.protocol == Protocol::Tcp;
        self.driver = match event {
            Event::Call(_) => Driver::Calls(Box::new(Calls::new(algorithm, is_same))),
            _ => {
                let side = self.about.vantage.unwrap_or(Side::Client);
                Driver::Signals(Box::new(Signals::new(algorithm, side, is_tcp)))
            }
        };
    }

    fn finish(self, wanted: Option<&Algorithm>) -> Replayed {
        let Self { about, logged, driver, sent, mut windows } = self;
        let controller = wanted.or(logged.as_ref().ok()).cloned();
        let is_same = matches!((&controller, &logged), (Some(one), Ok(other)) if one == other);
        let own = about.vantage.map_or(0, |side| side as usize);
        let sent = [sent[own], sent[1 - own]];
        let mut refusal = match (&controller, &logged) {
            (None, Err(why)) => Some(format!("{why}; name one with --controller")),
            _ => refusal(&about, sent),
        };
        let has_calls = matches!(driver, Driver::Calls(_));
        let nothing = match &driver {
            Driver::Waiting => "the log has no ACK of data that it sent",
            Driver::Calls(_) => "its calls lack the creation of the controller, or every ACK",
            Driver::Signals(signals) => signals.nothing(),
        };
        let mut lacks_marks = false;
        let lacks = match driver {
            Driver::Waiting => None,
            Driver::Calls(mut calls) => {
                calls.finish(&mut windows);
                let why = |at: Time| {
                    let at = seconds(at);
                    format!(
                        "the call at {at:.6} s does not follow from those before: the log is damaged; write it again with `run --qlog`"
                    )
                };
                refusal = refusal.or(calls.damaged().map(why));
                calls.lacks()
            }
            Driver::Signals(mut signals) => {
                signals.finish(&mut windows);
                lacks_marks = signals.lacks_marks();
                signals.lacks()
            }
        };
        let name = controller.as_ref().map_or("the controller", Algorithm::name);
        let lacks = lacks.map(|what| format!("{name} needs {what}, which the log does not have"));
        refusal = refusal.or(lacks);
        if windows.acks() == 0 {
            refusal.get_or_insert(nothing.to_owned());
        }
        Replayed { about, sent, controller, is_same, has_calls, lacks_marks, windows, refusal }
    }
}

fn seconds(at: Time) -> f64 {
    (at - Time::ZERO).as_secs_f64()
}

/// Returns the reason why a log cannot be replayed, whatever the controller.
fn refusal(about: &About, [own, other]: [u64; 2]) -> Option<String> {
    let why = match about.source {
        Source::Intervals => "it has measurements at intervals only; give the sender's qlog",
        Source::Capture | Source::Encrypted => {
            "it is a capture, which does not tell what the sender declared lost; give the sender's qlog"
        }
        Source::Qlog if about.vantage.is_none() => {
            "it does not say at which end it was written; give the sender's qlog"
        }
        Source::Qlog if other > own => {
            "it is the receiver's log, which has no ACKs of the data; give the sender's"
        }
        Source::Qlog => return None,
    };
    Some(why.to_owned())
}
