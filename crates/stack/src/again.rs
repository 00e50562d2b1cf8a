//! Another connection of a flow, for its next short transfer.

use scenario::{Application, FlowConfig, Scenario};

use crate::aioquic::Host;
use crate::peers::{self, Any};
use crate::refusal::Refusal;
use crate::wanted::Wanted;
use crate::which::Stack;

/// What the ends of a flow's connections are made from.
pub(crate) struct Again {
    flow: FlowConfig,
    number: u64,
    scenario: Scenario,
    stacks: (Stack, Stack),
    retry: bool,
    /// Connections until now.
    made: u64,
}

impl Again {
    /// Of a flow that makes more than one connection: the first is `wanted`.
    pub(crate) fn of(wanted: &Wanted<'_>, stacks: (Stack, Stack)) -> Option<Box<Self>> {
        let &Wanted { flow, number, scenario, retry, .. } = wanted;
        matches!(flow.application, Application::OnOff(_)).then(|| {
            let (flow, scenario) = (flow.clone(), scenario.clone());
            Box::new(Self { flow, number, scenario, stacks, retry, made: 1 })
        })
    }

    /// Client and server of the next connection, which know nothing of those before.
    pub(crate) fn connect(&mut self) -> Result<(Any, Any), Refusal> {
        let Self { flow, number, scenario, stacks, retry, made } = self;
        let host = Host::default();
        let wanted = Wanted {
            flow,
            number: *number,
            whole: None,
            before: *made,
            scenario,
            retry: *retry,
            host: &host,
        };
        *made += 1;
        peers::of(&wanted, stacks.0, stacks.1)
    }
}
