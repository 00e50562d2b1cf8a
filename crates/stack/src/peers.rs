//! The ends of a connection, by their stacks.

use quic::crypto::tls::Identity;
use scenario::{FlowConfig, Scenario};

#[cfg(any(feature = "noq", feature = "quinn"))]
use crate::foreign;
use crate::ours::Ours;
use crate::peer::Peer;
use crate::refusal::Refusal;
use crate::settings::SERVER_NAME;
use crate::which::Stack;

/// What ends are made for.
#[derive(Clone, Copy)]
pub(crate) struct Wanted<'a> {
    pub(crate) flow: &'a FlowConfig,
    pub(crate) number: u64,
    pub(crate) scenario: &'a Scenario,
    /// The server validates addresses first.
    pub(crate) retry: bool,
}

impl Wanted<'_> {
    /// Of the random numbers of an end.
    pub(crate) fn seed(&self, is_server: bool) -> u64 {
        let seed = self.scenario.seed.wrapping_add(self.number);
        if is_server { seed.wrapping_add(1 << 32) } else { seed }
    }
}

/// Client and server.
///
/// # Errors
/// What one of them cannot do; TLS.
pub(crate) fn of(
    wanted: &Wanted<'_>,
    client: Stack,
    server: Stack,
) -> Result<(Box<dyn Peer>, Box<dyn Peer>), Refusal> {
    let identity = Identity::self_signed(&[SERVER_NAME]).map_err(Refusal::Tls)?;
    let client: Box<dyn Peer> = match client {
        Stack::Kneepoint => Box::new(Ours::client(wanted, &identity)?),
        #[cfg(feature = "noq")]
        Stack::Noq => Box::new(foreign::noq::Foreign::client(wanted, &identity)?),
        #[cfg(feature = "quinn")]
        Stack::Quinn => Box::new(foreign::quinn::Foreign::client(wanted, &identity)?),
        #[allow(unreachable_patterns, reason = "of a build without one of them")]
        absent => return Err(Refusal::NotBuiltIn(absent.word())),
    };
    let server: Box<dyn Peer> = match server {
        Stack::Kneepoint => Box::new(Ours::server(wanted, identity)?),
        #[cfg(feature = "noq")]
        Stack::Noq => Box::new(foreign::noq::Foreign::server(wanted, &identity)?),
        #[cfg(feature = "quinn")]
        Stack::Quinn => Box::new(foreign::quinn::Foreign::server(wanted, &identity)?),
        #[allow(unreachable_patterns, reason = "of a build without one of them")]
        absent => return Err(Refusal::NotBuiltIn(absent.word())),
    };
    Ok((client, server))
}
