//! Verification of server certificates by fingerprint instead of by issuer.

use std::fmt;
use std::sync::Arc;

use ring::digest::{SHA256, digest};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{WebPkiSupportedAlgorithms, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, DigitallySignedStruct, OtherError, SignatureScheme};

/// Returns the SHA-256 fingerprint of a certificate in DER encoding.
pub fn fingerprint(certificate: &CertificateDer<'_>) -> [u8; 32] {
    let digest = digest(&SHA256, certificate);
    let mut out = [0; 32];
    out.copy_from_slice(digest.as_ref());
    out
}

/// Error for a certificate whose fingerprint differs from the pinned one. Holds its fingerprint.
#[derive(Debug)]
pub(super) struct OtherFingerprint(pub(super) [u8; 32]);

impl fmt::Display for OtherFingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the certificate does not have the pinned fingerprint")
    }
}

impl std::error::Error for OtherFingerprint {}

/// Builds a client configuration that trusts the certificate with one fingerprint, or any
/// certificate.
pub(super) fn pinned(
    builder: rustls::ConfigBuilder<rustls::ClientConfig, rustls::WantsVerifier>,
    only: Option<[u8; 32]>,
    algorithms: WebPkiSupportedAlgorithms,
) -> rustls::ClientConfig {
    let pinned = Arc::new(Pinned { only, algorithms });
    builder.dangerous().with_custom_certificate_verifier(pinned).with_no_client_auth()
}

/// Accepts the certificate with one fingerprint, or any. The signature of the handshake is still
/// verified.
#[derive(Debug)]
struct Pinned {
    only: Option<[u8; 32]>,
    algorithms: WebPkiSupportedAlgorithms,
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let found = fingerprint(certificate);
        if self.only.is_some_and(|only| only != found) {
            return Err(CertificateError::Other(OtherError(Arc::new(OtherFingerprint(found)))).into());
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Err(rustls::Error::General("QUIC has TLS 1.3 only".into()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}
