//! Creates the endpoints of a connection, by stack.

use quic::crypto::tls::Identity;

use crate::aioquic::endpoint::AioquicEndpoint;
use crate::endpoint::SessionEndpoint;
use crate::endpoint_spec::EndpointSpec;
#[cfg(any(feature = "noq", feature = "quinn"))]
use crate::foreign;
use crate::own_endpoint::OwnEndpoint;
use crate::refusal::Refusal;
use crate::settings::SERVER_NAME;
use crate::stack::Stack;

/// An endpoint of any stack.
pub(crate) type AnyEndpoint = Box<dyn SessionEndpoint>;

/// Creates client and server.
///
/// # Errors
/// An unsupported property of the flow, or a failure of TLS.
pub(crate) fn new_pair(
    spec: &EndpointSpec<'_>,
    client: Stack,
    server: Stack,
) -> Result<(AnyEndpoint, AnyEndpoint), Refusal> {
    let identity = Identity::self_signed(&[SERVER_NAME]).map_err(Refusal::Tls)?;
    Ok((new_client(client, spec, &identity)?, new_server(server, spec, identity)?))
}

fn new_client(stack: Stack, spec: &EndpointSpec<'_>, identity: &Identity) -> Result<AnyEndpoint, Refusal> {
    match stack {
        Stack::Ackclock => Ok(Box::new(OwnEndpoint::client(spec, identity)?)),
        Stack::Aioquic => Ok(Box::new(AioquicEndpoint::client(spec, identity)?)),
        #[cfg(feature = "noq")]
        Stack::Noq => Ok(Box::new(foreign::noq::Foreign::client(spec, identity)?)),
        #[cfg(feature = "quinn")]
        Stack::Quinn => Ok(Box::new(foreign::quinn::Foreign::client(spec, identity)?)),
        #[allow(unreachable_patterns, reason = "only builds without one of them reach it")]
        absent => Err(Refusal::NotBuiltIn(absent.word())),
    }
}

fn new_server(stack: Stack, spec: &EndpointSpec<'_>, identity: Identity) -> Result<AnyEndpoint, Refusal> {
    match stack {
        Stack::Ackclock => Ok(Box::new(OwnEndpoint::server(spec, identity)?)),
        Stack::Aioquic => Ok(Box::new(AioquicEndpoint::server(spec, &identity)?)),
        #[cfg(feature = "noq")]
        Stack::Noq => Ok(Box::new(foreign::noq::Foreign::server(spec, &identity)?)),
        #[cfg(feature = "quinn")]
        Stack::Quinn => Ok(Box::new(foreign::quinn::Foreign::server(spec, &identity)?)),
        #[allow(unreachable_patterns, reason = "only builds without one of them reach it")]
        absent => Err(Refusal::NotBuiltIn(absent.word())),
    }
}
