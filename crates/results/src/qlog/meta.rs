//! What a log says of its flow before the first event.

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
    /// Decides how acknowledgements are read.
    pub transport: Transport,
    /// Of the run.
    pub seed: u64,
    /// First packet; the log's times count from here.
    pub start: Time,
}

/// What the flow speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// Acknowledgements list packet numbers.
    Quic,
    /// Acknowledgements are cumulative bytes.
    Tcp,
}

impl From<&scenario::Transport> for Transport {
    fn from(transport: &scenario::Transport) -> Self {
        match transport {
            scenario::Transport::Quic { .. } => Self::Quic,
            scenario::Transport::Tcp { .. } => Self::Tcp,
        }
    }
}
