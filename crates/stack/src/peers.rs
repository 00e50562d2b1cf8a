//! The ends of a connection, by their stacks.

use quic::crypto::tls::Identity;

use crate::aioquic::end::End;
#[cfg(any(feature = "noq", feature = "quinn"))]
use crate::foreign;
use crate::ours::Ours;
use crate::peer::Peer;
use crate::refusal::Refusal;
use crate::settings::SERVER_NAME;
use crate::wanted::Wanted;
use crate::which::Stack;

/// An end of any stack.
pub(crate) type Any = Box<dyn Peer>;

/// Client and server.
///
/// # Errors
/// What one of them cannot do; TLS.
pub(crate) fn of(wanted: &Wanted<'_>, client: Stack, server: Stack) -> Result<(Any, Any), Refusal> {
    let identity = Identity::self_signed(&[SERVER_NAME]).map_err(Refusal::Tls)?;
    Ok((client_of(client, wanted, &identity)?, server_of(server, wanted, identity)?))
}

fn client_of(stack: Stack, wanted: &Wanted<'_>, identity: &Identity) -> Result<Any, Refusal> {
    match stack {
        Stack::Ackclock => Ok(Box::new(Ours::client(wanted, identity)?)),
        Stack::Aioquic => Ok(Box::new(End::client(wanted, identity)?)),
        #[cfg(feature = "noq")]
        Stack::Noq => Ok(Box::new(foreign::noq::Foreign::client(wanted, identity)?)),
        #[cfg(feature = "quinn")]
        Stack::Quinn => Ok(Box::new(foreign::quinn::Foreign::client(wanted, identity)?)),
        #[allow(unreachable_patterns, reason = "of a build without one of them")]
        absent => Err(Refusal::NotBuiltIn(absent.word())),
    }
}

fn server_of(stack: Stack, wanted: &Wanted<'_>, identity: Identity) -> Result<Any, Refusal> {
    match stack {
        Stack::Ackclock => Ok(Box::new(Ours::server(wanted, identity)?)),
        Stack::Aioquic => Ok(Box::new(End::server(wanted, &identity)?)),
        #[cfg(feature = "noq")]
        Stack::Noq => Ok(Box::new(foreign::noq::Foreign::server(wanted, &identity)?)),
        #[cfg(feature = "quinn")]
        Stack::Quinn => Ok(Box::new(foreign::quinn::Foreign::server(wanted, &identity)?)),
        #[allow(unreachable_patterns, reason = "of a build without one of them")]
        absent => Err(Refusal::NotBuiltIn(absent.word())),
    }
}
