//! How a transfer ended, in words.

use std::fmt;
use std::time::Duration;

use emu::Side;

/// How the transfer of one flow ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The whole file arrived, and it is the right one.
    Done,
    /// It has no end, and was stopped when its time was over.
    Stopped,
    /// It has no end and ended all the same, before its time: the client said that all was well.
    Early,
    /// The run's time was over first: what had arrived until then counts, as in a simulation.
    TimeLimit,
    /// Nothing arrived for so long.
    Stalled(Duration),
    /// A process ended with this exit status (128 and a signal's number, if one ended it).
    Crashed(Side, u8),
    /// A server did not listen, or a client was not ready, for so long.
    NotReady(Side, Duration),
    /// The client said that all was well, and what arrived is something else than what was served.
    WrongData,
    /// Another flow's process had failed before this one began or ended.
    Abandoned,
}

impl Fate {
    /// The stack did what it was meant to, and the run is worth something.
    pub const fn is_good(&self) -> bool {
        matches!(self, Self::Done | Self::Stopped | Self::TimeLimit)
    }
}

impl fmt::Display for Fate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Done => f.write_str("done"),
            Self::Stopped => f.write_str("stopped at its time"),
            Self::Early => f.write_str("ended before its time"),
            Self::TimeLimit => f.write_str("was not done within the run's time"),
            Self::Stalled(span) => write!(f, "stalled: nothing arrived for {} s", span.as_secs_f64()),
            Self::Crashed(side, status) => write!(f, "crashed: the {side} ended with status {status}"),
            Self::NotReady(side, span) => {
                write!(f, "did not begin: the {side} was not ready after {} s", span.as_secs_f64())
            }
            Self::WrongData => f.write_str("delivered something else than what was served"),
            Self::Abandoned => f.write_str("was given up, since another flow had failed"),
        }
    }
}

/// A transfer that is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// How it ended.
    pub fate: Fate,
    /// Bytes that the client has written.
    pub arrived: u64,
    /// The last lines that client and server printed, where it did not go as it was meant to.
    pub words: [String; 2],
}

impl Transfer {
    /// Why it is worth nothing, in a clause behind the flow's name; `None` if it is worth something.
    pub fn complaint(&self) -> Option<String> {
        if self.fate.is_good() {
            return None;
        }
        let mut all = self.fate.to_string();
        for (side, words) in
            [Side::Client, Side::Server].iter().zip(&self.words).filter(|(_, w)| !w.is_empty())
        {
            all += &format!("; its {side} said: {words}");
        }
        Some(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complaints_have_the_last_words() {
        let transfer = |fate| Transfer { fate, arrived: 0, words: [String::new(), "no key".to_owned()] };
        assert_eq!(transfer(Fate::Done).complaint(), None);
        assert_eq!(transfer(Fate::Stopped).complaint(), None);
        assert_eq!(transfer(Fate::TimeLimit).complaint(), None);
        let crashed = transfer(Fate::Crashed(Side::Server, 134)).complaint().unwrap();
        assert_eq!(crashed, "crashed: the server ended with status 134; its server said: no key");
        let stalled = transfer(Fate::Stalled(Duration::from_millis(1500))).complaint().unwrap();
        assert!(stalled.starts_with("stalled: nothing arrived for 1.5 s"));
    }
}
