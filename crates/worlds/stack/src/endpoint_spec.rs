//! Parameters of the endpoints of one connection.

use scenario::{FlowConfig, Scenario};

use crate::aioquic::Host;
use crate::profile::Profile;
use crate::stack::Stack;

/// Parameters of the endpoints of a connection that replaces a simulated flow.
#[derive(Clone, Copy)]
pub(crate) struct EndpointSpec<'a> {
    pub(crate) flow: &'a FlowConfig,
    pub(crate) number: u64,
    /// Stacks of client and server.
    pub(crate) stacks: (Stack, Stack),
    /// Length of a stream that is offered all at once, in bytes. `None`: it is offered gradually,
    /// or as messages.
    pub(crate) whole: Option<u64>,
    /// Number of earlier connections of this flow.
    pub(crate) before: u64,
    pub(crate) scenario: &'a Scenario,
    /// Settings of endpoints of `ackclock-quic`.
    pub(crate) profile: &'a Profile,
    /// Servers of `ackclock-quic` count only stream data that is right. Others always do.
    pub(crate) compares: bool,
    /// The server validates the client's address with a Retry packet.
    pub(crate) retry: bool,
    /// Process of the endpoints that run outside this program.
    pub(crate) host: &'a Host,
}

impl EndpointSpec<'_> {
    /// Returns the seed of an endpoint's random numbers.
    pub(crate) fn seed(&self, is_server: bool) -> u64 {
        let seed = self.scenario.seed.wrapping_add(self.number) ^ (self.before << 40);
        if is_server { seed.wrapping_add(1 << 32) } else { seed }
    }
}
