//! How sessions begin: by TLS, or in the open.

use super::plain::Plain;
use super::session::Session;
use super::tls;
use crate::error::Error;
use crate::level::Side;
use crate::wire::transport_parameters::TransportParameters;

/// How a client's sessions begin.
#[derive(Clone)]
pub enum ClientCrypto {
    /// TLS 1.3.
    Tls(tls::ClientConfig),
    /// No cryptography: see [`super::plain`]. Tags have so many bytes, at most 16.
    Plain {
        /// Of a tag, in bytes.
        tag_len: usize,
    },
}

impl ClientCrypto {
    /// Sessions hand out their secrets, where they have some.
    #[must_use]
    pub fn logging_secrets(self) -> Self {
        match self {
            Self::Tls(config) => Self::Tls(config.logging_secrets()),
            plain @ Self::Plain { .. } => plain,
        }
    }

    /// A session with the server of this name. `alpn` counts without cryptography alone: TLS has its own.
    ///
    /// # Errors
    /// INTERNAL_ERROR when it is no name, or when TLS refuses.
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

/// How a server's sessions begin.
#[derive(Clone)]
pub enum ServerCrypto {
    /// TLS 1.3.
    Tls(tls::ServerConfig),
    /// No cryptography: see [`super::plain`]. Tags have so many bytes, at most 16.
    Plain {
        /// Of a tag, in bytes.
        tag_len: usize,
    },
}

impl ServerCrypto {
    /// Sessions hand out their secrets, where they have some.
    #[must_use]
    pub fn logging_secrets(self) -> Self {
        match self {
            Self::Tls(config) => Self::Tls(config.logging_secrets()),
            plain @ Self::Plain { .. } => plain,
        }
    }

    /// A session with a client. `alpn` counts without cryptography alone: TLS has its own.
    ///
    /// # Errors
    /// INTERNAL_ERROR when TLS refuses.
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
