//! Creation of sessions, with TLS or without cryptography.

use super::plain::Plain;
use super::session::Session;
use super::tls;
use crate::error::Error;
use crate::level::Side;
use crate::wire::transport_parameters::TransportParameters;

/// Factory of sessions.
#[derive(Clone)]
pub enum Crypto<C> {
    /// TLS 1.3.
    Tls(tls::Config<C>),
    /// No cryptography: see [`super::plain`].
    Plain {
        /// Length of a tag, in bytes; at most 16.
        tag_len: usize,
    },
}

/// Factory of client sessions.
pub type ClientCrypto = Crypto<rustls::ClientConfig>;
/// Factory of server sessions.
pub type ServerCrypto = Crypto<rustls::ServerConfig>;

impl<C> Crypto<C> {
    /// Makes sessions export their secrets, if they have any.
    #[must_use]
    pub fn logging_secrets(self) -> Self {
        match self {
            Self::Tls(config) => Self::Tls(config.logging_secrets()),
            plain @ Self::Plain { .. } => plain,
        }
    }
}

impl ClientCrypto {
    /// Starts a session with the named server. `alpn` is used only without cryptography: TLS has
    /// its own list.
    ///
    /// # Errors
    /// INTERNAL_ERROR if the server name is invalid, or if TLS fails to start.
    pub fn start(
        &self,
        server_name: &str,
        parameters: &TransportParameters,
        alpn: &[Vec<u8>],
    ) -> Result<Box<dyn Session>, Error> {
        match self {
            Self::Tls(config) => Ok(Box::new(config.start(server_name, parameters)?)),
            Self::Plain { tag_len } => Ok(plain(Side::Client, parameters, alpn, *tag_len)),
        }
    }
}

impl ServerCrypto {
    /// Starts a session with a client. `alpn` is used only without cryptography: TLS has its own
    /// list.
    ///
    /// # Errors
    /// INTERNAL_ERROR if TLS fails to start.
    pub fn start(
        &self,
        parameters: &TransportParameters,
        alpn: &[Vec<u8>],
    ) -> Result<Box<dyn Session>, Error> {
        match self {
            Self::Tls(config) => Ok(Box::new(config.start(parameters)?)),
            Self::Plain { tag_len } => Ok(plain(Side::Server, parameters, alpn, *tag_len)),
        }
    }
}

fn plain(side: Side, parameters: &TransportParameters, alpn: &[Vec<u8>], tag_len: usize) -> Box<dyn Session> {
    let names: Vec<&[u8]> = alpn.iter().map(Vec::as_slice).collect();
    Box::new(Plain::new(side, parameters, &names, tag_len))
}
