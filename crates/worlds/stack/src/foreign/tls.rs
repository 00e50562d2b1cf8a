//! TLS for stacks that are configured with rustls.

use std::sync::Arc;

use quic::config::EndpointConfig;
use quic::crypto::tls::Identity;
use rustls::{ClientConfig, RootCertStore, ServerConfig};

use crate::refusal::Refusal;

/// Converts an error of rustls about these certificates.
fn refused(_: rustls::Error) -> Refusal {
    Refusal::Flow("rustls cannot be set up")
}

/// Returns the configuration of a client that trusts the server's certificate.
pub(super) fn client(identity: &Identity) -> Result<ClientConfig, Refusal> {
    let mut roots = RootCertStore::empty();
    for certificate in &identity.chain {
        roots.add(certificate.clone()).map_err(refused)?;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(refused)?;
    let mut config = config.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = EndpointConfig::default().alpn;
    Ok(config)
}

/// Returns the configuration of the server with that certificate.
pub(super) fn server(identity: &Identity) -> Result<ServerConfig, Refusal> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(refused)?;
    let config = config.with_no_client_auth();
    let mut config =
        config.with_single_cert(identity.chain.clone(), identity.key.clone_key()).map_err(refused)?;
    config.alpn_protocols = EndpointConfig::default().alpn;
    Ok(config)
}
