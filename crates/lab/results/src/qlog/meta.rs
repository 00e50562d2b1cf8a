//! Header data of a log.

use congestion::Algorithm;
use serde::Serialize;
use units::Time;

/// Header data of a flow.
#[derive(Clone, Debug, PartialEq)]
pub struct Meta {
    /// Title of the experiment.
    pub title: String,
    /// Identity of the connection, the same in the logs of both ends; empty for none.
    pub group: String,
    /// Label of the flow.
    pub flow: String,
    pub algorithm: String,
    /// Parameters of the controller, as JSON; empty if they are not known.
    pub parameters: String,
    /// Names of the controller's states, by number.
    pub states: &'static [&'static str],
    /// Protocol, which determines how acknowledgements are read.
    pub transport: Transport,
    /// Seed of the run.
    pub seed: u64,
    /// Time of the first packet. Times of qlog 0.3 count from here.
    pub start: Time,
}

impl Meta {
    /// Returns the parameters of a controller for the header.
    pub fn parameters(algorithm: &Algorithm) -> String {
        // Parameters are numbers, words and lists of them.
        serde_json::to_string(algorithm).unwrap_or_default()
    }
}

/// The end of the connection that wrote the log.
#[derive(Serialize)]
pub(super) struct VantagePoint<'a> {
    pub(super) name: &'a str,
    pub(super) r#type: &'static str,
    /// The log may have remarks.
    #[serde(skip)]
    pub(super) remarks: bool,
}

/// Protocol of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// Acknowledgements list packet numbers.
    Quic,
    /// Acknowledgements are cumulative bytes.
    Tcp,
}

impl Transport {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Quic => "QUIC",
            Self::Tcp => "TCP",
        }
    }
}

impl From<&scenario::Transport> for Transport {
    fn from(transport: &scenario::Transport) -> Self {
        match transport {
            scenario::Transport::Quic { .. } => Self::Quic,
            scenario::Transport::Tcp { .. } => Self::Tcp,
        }
    }
}
