//! Whom `fetch` believes.

use std::path::PathBuf;

use clap::Args;
use quic::crypto::tls::Trust;

use super::keys;
use crate::status::{Error, complain};

/// Which servers are believed; without any of it those that this machine trusts.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct TrustArgs {
    /// Believe servers with a certificate from one of these roots, in PEM, and no others.
    #[arg(long, value_name = "PEM", conflicts_with = "insecure_accept")]
    pub(crate) ca: Option<PathBuf>,
    /// Believe the server whose certificate has this SHA-256, whatever its name and dates: what `ackclock serve` prints.
    #[arg(long, value_name = "FINGERPRINT", value_parser = keys::fingerprint)]
    insecure_accept: Option<[u8; 32]>,
}

impl TrustArgs {
    /// The roots, or the one certificate.
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
                "no certificates that this machine trusts are found; name some with --ca, or the server's with --insecure-accept",
            ));
        }
        // Stores have old ones in them that nobody can read any more: each on its own.
        let usable = |root: &_| quic::rustls::RootCertStore::empty().add(Clone::clone(root)).is_ok();
        Ok(Trust::Roots(found.certs.into_iter().filter(usable).collect()))
    }
}
