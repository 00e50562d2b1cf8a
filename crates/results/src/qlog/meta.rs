//! What a log says of its flow before the first event.

use serde::Serialize;
use units::Time;

/// What the header says about a flow.
#[derive(Clone, Debug, PartialEq)]
pub struct Meta {
    /// Of the experiment.
    pub title: String,
    /// The flow's label.
    pub flow: String,
    /// Name of the controller.
    pub algorithm: String,
    /// Names of the controller's states, by number.
    pub states: &'static [&'static str],
    /// Decides how acknowledgements are read.
    pub transport: Transport,
    /// Of the run.
    pub seed: u64,
    /// First packet; the times of qlog 0.3 count from here.
    pub start: Time,
}

/// Whose log it is.
#[derive(Serialize)]
pub(super) struct VantagePoint<'a> {
    pub(super) name: &'a str,
    pub(super) r#type: &'static str,
}

/// What the flow speaks.
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
