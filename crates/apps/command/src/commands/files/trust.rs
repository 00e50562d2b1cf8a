//! Servers that `fetch` trusts.

use std::path::PathBuf;

use clap::Args;
use quic::crypto::tls::Trust;

use super::keys;
use crate::status::{Error, complain};

/// Servers that are trusted. The default is the roots of this machine.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct TrustArgs {
    /// Trust only servers with a certificate from one of these roots (PEM).
    #[arg(long, value_name = "PEM", conflicts_with = "insecure_accept")]
    pub(crate) ca: Option<PathBuf>,
    /// Trust the server whose certificate has this SHA-256 fingerprint, regardless of name and
    /// dates.
    ///
    /// `ackclock serve` prints the fingerprint.
    #[arg(long, value_name = "FINGERPRINT", value_parser = keys::fingerprint)]
    insecure_accept: Option<[u8; 32]>,
}

impl TrustArgs {
    /// Returns the trusted roots, or the one trusted certificate.
    pub(crate) fn trust(&self) -> Result<Trust, Error> {
        if let Some(fingerprint) = self.insecure_accept {
            return Ok(Trust::Fingerprint(fingerprint));
        }
        if let Some(ca) = &self.ca {
            return Ok(Trust::Roots(keys::certificates(ca)?));
        }
        let found = rustls_native_certs::load_native_certs();
        if found.certs.is_empty() {
            found.errors.iter().for_each(|error| complain(&error.to_string()));
            return Err(Error::bad(
                "no trusted root certificates found on this machine; give some with --ca, or the server's fingerprint with --insecure-accept",
            ));
        }
        // Stores contain old certificates that are no longer valid syntax. Skip those.
        let usable = |root: &_| quic::rustls::RootCertStore::empty().add(Clone::clone(root)).is_ok();
        Ok(Trust::Roots(found.certs.into_iter().filter(usable).collect()))
    }
}
