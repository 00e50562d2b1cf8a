//! Creates another connection for a flow's next short transfer.

use scenario::{Application, FlowConfig, Scenario};

use crate::aioquic::Host;
use crate::endpoint_spec::EndpointSpec;
use crate::endpoints::{self, AnyEndpoint};
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
    /// Keeps the parameters of the first connection, if the flow uses more than one.
    pub(crate) fn for_flow(spec: &EndpointSpec<'_>, stacks: (Stack, Stack)) -> Option<Box<Self>> {
        let &EndpointSpec { flow, number, scenario, retry, .. } = spec;
        matches!(flow.application, Application::OnOff(_)).then(|| {
            let (flow, scenario) = (flow.clone(), scenario.clone());
            Box::new(Self { flow, number, scenario, stacks, retry, made: 1 })
        })
    }

    /// Creates client and server of the next connection. They share no state with earlier ones.
    pub(crate) fn connect(&mut self) -> Result<(AnyEndpoint, AnyEndpoint), Refusal> {
        let Self { flow, number, scenario, stacks, retry, made } = self;
        let host = Host::default();
        let spec = EndpointSpec {
            flow,
            number: *number,
            whole: None,
            before: *made,
            scenario,
            retry: *retry,
            host: &host,
        };
        *made += 1;
        endpoints::new_pair(&spec, stacks.0, stacks.1)
    }
}
