//! What an end of a connection is made for.

use scenario::{FlowConfig, Scenario};

use crate::aioquic::Host;

/// The flow in whose place it is.
#[derive(Clone, Copy)]
pub(crate) struct Wanted<'a> {
    pub(crate) flow: &'a FlowConfig,
    pub(crate) number: u64,
    /// The bytes of a stream that is offered as a whole; `None`: bit by bit, or in messages.
    pub(crate) whole: Option<u64>,
    /// Connections of the flow before this one.
    pub(crate) before: u64,
    pub(crate) scenario: &'a Scenario,
    /// The server validates addresses first.
    pub(crate) retry: bool,
    /// Of ends that are not in this program.
    pub(crate) host: &'a Host,
}

impl Wanted<'_> {
    /// Of the random numbers of an end.
    pub(crate) fn seed(&self, is_server: bool) -> u64 {
        let seed = self.scenario.seed.wrapping_add(self.number) ^ (self.before << 40);
        if is_server { seed.wrapping_add(1 << 32) } else { seed }
    }
}
