//! Creates both endpoints of a connection.

use quic::crypto::tls::Identity;

use crate::aioquic::endpoint::AioquicEndpoint;
use crate::endpoint::Endpoint;
use crate::endpoint_spec::EndpointSpec;
#[cfg(any(feature = "noq", feature = "quinn"))]
use crate::foreign;
use crate::own_endpoint::OwnEndpoint;
use crate::refusal::Refusal;
use crate::settings::SERVER_NAME;
use crate::stack::Stack;

/// An endpoint of any stack.
pub(crate) type AnyEndpoint = Box<dyn Endpoint>;

/// Creates client and server.
///
/// # Errors
/// An unsupported property of the flow, or a failure of TLS.
pub(crate) fn new_pair(spec: &EndpointSpec) -> Result<(AnyEndpoint, AnyEndpoint), Refusal> {
    let identity = Identity::self_signed(&[SERVER_NAME]).map_err(Refusal::Tls)?;
    Ok((new_endpoint(spec, false, &identity)?, new_endpoint(spec, true, &identity)?))
}

fn new_endpoint(spec: &EndpointSpec, is_server: bool, identity: &Identity) -> Result<AnyEndpoint, Refusal> {
    let stack = if is_server { spec.stacks.1 } else { spec.stacks.0 };
    match stack {
        Stack::Ackclock => Ok(Box::new(OwnEndpoint::new(spec, is_server, identity)?)),
        Stack::Aioquic => Ok(Box::new(AioquicEndpoint::new(spec, is_server, identity)?)),
        #[cfg(feature = "noq")]
        Stack::Noq => Ok(Box::new(foreign::noq::Foreign::new(spec, is_server, identity)?)),
        #[cfg(feature = "quinn")]
        Stack::Quinn => Ok(Box::new(foreign::quinn::Foreign::new(spec, is_server, identity)?)),
        #[allow(unreachable_patterns, reason = "only builds without one of them reach it")]
        absent => Err(Refusal::NotBuiltIn(absent.word())),
    }
}
