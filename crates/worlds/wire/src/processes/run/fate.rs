//! Results of transfers, and messages for those that failed.

use std::fmt;
use std::time::Duration;

use crate::emu::Side;

/// End of one flow's transfer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The whole file arrived and is correct.
    Done,
    /// A flow of unlimited size was stopped at the end of its time.
    Stopped,
    /// A flow of unlimited size ended before its time: the client exited with success.
    Early,
    /// The run's time ended first. The bytes that had arrived by then count, as in a simulation.
    TimeLimit,
    /// Nothing arrived for this time.
    Stalled(Duration),
    /// A process ended with this exit status (128 plus the signal's number if a signal ended it).
    Crashed(Side, u8),
    /// A server did not listen, or a client was not ready, within this time.
    NotReady(Side, Duration),
    /// The client exited with success, but its file differs from the served one.
    WrongData,
    /// Another flow's process failed before this flow started or ended.
    Abandoned,
}

impl Fate {
    /// Reports whether the stack worked as expected, so that the measurement is usable.
    pub const fn is_good(&self) -> bool {
        matches!(self, Self::Done | Self::Stopped | Self::TimeLimit)
    }
}

impl fmt::Display for Fate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Done => f.write_str("done"),
            Self::Stopped => f.write_str("stopped at the end of its time"),
            Self::Early => f.write_str("ended early"),
            Self::TimeLimit => f.write_str("did not finish within the run's time"),
            Self::Stalled(span) => write!(f, "stalled: nothing arrived for {} s", span.as_secs_f64()),
            Self::Crashed(side, status) => write!(f, "crashed: the {side} ended with status {status}"),
            Self::NotReady(side, span) => {
                write!(f, "did not start: the {side} was not ready after {} s", span.as_secs_f64())
            }
            Self::WrongData => f.write_str("delivered a file that differs from the served one"),
            Self::Abandoned => f.write_str("was abandoned because another flow failed"),
        }
    }
}

/// A transfer that has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// End of the transfer.
    pub fate: Fate,
    /// Bytes that the client has written to its file.
    pub arrived: u64,
    /// Last lines of output of client and server. Empty unless the transfer failed.
    pub last_output: [String; 2],
}

impl Transfer {
    /// Returns a clause about the failure that follows the flow's name, or `None` for a usable
    /// transfer.
    pub fn failure(&self) -> Option<String> {
        if self.fate.is_good() {
            return None;
        }
        let mut all = self.fate.to_string();
        for (side, output) in
            [Side::Client, Side::Server].iter().zip(&self.last_output).filter(|(_, w)| !w.is_empty())
        {
            all += &format!("; output of the {side}: {output}");
        }
        Some(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_have_the_last_words() {
        let transfer =
            |fate| Transfer { fate, arrived: 0, last_output: [String::new(), "no key".to_owned()] };
        assert_eq!(transfer(Fate::Done).failure(), None);
        assert_eq!(transfer(Fate::Stopped).failure(), None);
        assert_eq!(transfer(Fate::TimeLimit).failure(), None);
        let crashed = transfer(Fate::Crashed(Side::Server, 134)).failure().unwrap();
        assert_eq!(crashed, "crashed: the server ended with status 134; output of the server: no key");
        let stalled = transfer(Fate::Stalled(Duration::from_millis(1500))).failure().unwrap();
        assert!(stalled.starts_with("stalled: nothing arrived for 1.5 s"));
    }
}
