//! A QUIC stack in virtual time as a world.

use std::path::Path;

use scenario::{FlowConfig, Ran, Recorder, Scenario, Watch, World};

use crate::aioquic::Host;
use crate::profile::Profile;
use crate::refusal::Refusal;
use crate::run::guests_on;
use crate::session::UNKNOWN;
use crate::stack::{Stack, is_quic};

/// Note about rows of stacks other than ours.
const OTHERS: &str = "Rows of other stacks run the file's controllers inside those stacks, or the stack's own if `own-controller` is set. \
                      Loss recovery, pacing and acknowledgements are the stack's own: the keys `recovery` and `ack` do not apply. \
                      The handshake is part of the run, with or without `handshake`.";
/// Note about rows of aioquic.
const AIOQUIC: &str = "Rows of aioquic use its own controllers of these names.";
/// Note about TCP flows.
const MIXED: &str =
    "TCP flows are simulated in the rows of stacks too, on the same links as the QUIC connections.";

/// Endpoints of a stack in virtual time, in place of all QUIC flows.
#[derive(Clone, Copy, Debug)]
pub struct VirtualTime(pub Stack);

impl World for VirtualTime {
    fn check(&self, scenario: &Scenario) -> Result<(), String> {
        self.0.check_scenario(scenario).map_err(|refusal| match refusal {
            Refusal::Flow(_) => format!("flow: {refusal}"),
            why => why.to_string(),
        })
    }

    fn find(&self) -> Result<(), String> {
        self.0.find().map_err(|why| why.to_string())
    }

    fn run(
        &self,
        scenario: &Scenario,
        _: Option<&Path>,
        watch: &Watch,
        recorder: Option<&mut dyn Recorder>,
    ) -> Result<Option<Ran>, String> {
        let host = Host::default();
        let guests = guests_on(self.0, scenario, &Profile::default(), &host);
        let guests = guests.map_err(|why| why.to_string())?;
        let outcome = sim::run_with_guests(scenario, guests, watch, recorder);
        match host.failure() {
            Some(why) => Err(why),
            None => Ok(outcome.map(|outcome| Ran { invalid_reasons: outcome.broken(scenario), outcome })),
        }
    }

    fn untold(&self, _: &Scenario) -> Vec<&'static str> {
        if self.0 == Stack::Ackclock { Vec::new() } else { UNKNOWN.to_vec() }
    }

    fn notes(&self, scenario: &Scenario) -> Vec<&'static str> {
        let is_mixed = scenario.flows.iter().any(|flow: &FlowConfig| !is_quic(flow));
        let notes =
            [(self.0 != Stack::Ackclock, OTHERS), (self.0 == Stack::Aioquic, AIOQUIC), (is_mixed, MIXED)];
        notes.into_iter().filter(|(is, _)| *is).map(|(_, note)| note).collect()
    }
}
