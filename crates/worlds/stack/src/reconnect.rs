//! Creates another connection for a flow's next short transfer.

use scenario::{Application, FlowConfig, Scenario};

use crate::aioquic::Host;
use crate::endpoint::{self, AnyEndpoint};
use crate::endpoint_spec::EndpointSpec;
use crate::profile::Profile;
use crate::refusal::Refusal;
use crate::stack::Stack;

/// Parameters for the endpoints of a flow's next connections.
pub(crate) struct Reconnect {
    flow: FlowConfig,
    number: u64,
    scenario: Scenario,
    stacks: (Stack, Stack),
    retry: bool,
    /// Number of connections created so far.
    made: u64,
}

impl Reconnect {
    /// Keeps the parameters of the first connection, if the flow needs new endpoints for others.
    pub(crate) fn for_flow(spec: &EndpointSpec<'_>) -> Option<Box<Self>> {
        let &EndpointSpec { flow, number, scenario, stacks, retry, .. } = spec;
        let needs_others = stacks != (Stack::Ackclock, Stack::Ackclock);
        (needs_others && matches!(flow.application, Application::OnOff(_))).then(|| {
            let (flow, scenario) = (flow.clone(), scenario.clone());
            Box::new(Self { flow, number, scenario, stacks, retry, made: 1 })
        })
    }

    /// Creates client and server of the next connection. They share no state with earlier ones.
    pub(crate) fn connect(&mut self) -> Result<(AnyEndpoint, AnyEndpoint), Refusal> {
        let spec = EndpointSpec {
            flow: &self.flow,
            number: self.number,
            stacks: self.stacks,
            whole: None,
            before: self.made,
            scenario: &self.scenario,
            profile: &Profile::default(),
            compares: true,
            retry: self.retry,
            host: &Host::default(),
        };
        self.made += 1;
        endpoint::new_pair(&spec)
    }
}
