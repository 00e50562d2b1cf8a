//! Parameters of the endpoints of one connection.

use scenario::{FlowConfig, Scenario};

use crate::aioquic::Host;
use crate::profile::Profile;
use crate::stack::Stack;

/// Parameters of the endpoints of a connection that replaces a simulated flow.
#[derive(Clone)]
pub(crate) struct EndpointSpec {
    pub(crate) flow: FlowConfig,
    /// Stacks of client and server.
    pub(crate) stacks: (Stack, Stack),
    /// Length of a stream that is offered all at once, in bytes. `None`: it is offered gradually,
    /// or as messages.
    pub(crate) whole: Option<u64>,
    /// Seed of the flow's random numbers.
    pub(crate) seed: u64,
    /// Number of earlier connections of this flow.
    pub(crate) before: u64,
    /// The run has a trace, which lists ACK ranges.
    pub(crate) tracing: bool,
    /// Settings of endpoints of `ackclock-quic`.
    pub(crate) profile: Profile,
    /// Servers of `ackclock-quic` count only stream data that is right. Others always do.
    pub(crate) compares: bool,
    /// The server validates the client's address with a Retry packet.
    pub(crate) retry: bool,
    /// Process of the endpoints that run outside this program.
    pub(crate) host: Host,
}

impl EndpointSpec {
    /// Returns the parameters of the first connection of flow `number` of the scenario.
    pub(crate) fn new(
        (number, flow): (usize, &FlowConfig),
        scenario: &Scenario,
        stacks: (Stack, Stack),
        host: &Host,
    ) -> Self {
        Self {
            flow: flow.clone(),
            stacks,
            whole: None,
            seed: scenario.seed.wrapping_add(number as u64),
            before: 0,
            tracing: scenario.trace,
            profile: Profile::default(),
            compares: true,
            retry: false,
            host: host.clone(),
        }
    }

    /// Returns the seed of an endpoint's random numbers.
    pub(crate) fn seed(&self, is_server: bool) -> u64 {
        let seed = self.seed ^ (self.before << 40);
        if is_server { seed.wrapping_add(1 << 32) } else { seed }
    }
}
