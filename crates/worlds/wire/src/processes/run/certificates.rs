//! Makes the certificates of one run: a CA, and a server certificate signed by it.

use std::fs::File;
use std::io::Write;
use std::net::Ipv4Addr;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rcgen::{
    BasicConstraints, CertificateParams, DnType, Error as Refused, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair, KeyUsagePurpose,
};

use crate::processes::error::Error;
use crate::processes::stack::KeyKind;

/// Name of the server in its certificate, beside its address.
pub(crate) const SERVER_NAME: &str = "server.ackclock.test";

/// PEM files for the two ends.
#[derive(Clone, Debug)]
pub(crate) struct Certificates {
    pub(crate) ca: PathBuf,
    pub(crate) cert: PathBuf,
    pub(crate) key: PathBuf,
}

impl Certificates {
    /// Makes the certificates in a folder. Only the owner can read the server's key, which is
    /// useless after the run.
    ///
    /// # Errors
    /// The error of the system call.
    pub(crate) fn make(folder: &Path, kind: KeyKind, address: Ipv4Addr) -> Result<Self, Error> {
        let texts = texts(kind, address).map_err(|e| Error::system("make the certificates", e))?;
        let write = |name: &str, text: &str, mode: u32| {
            let path = folder.join(name);
            let file = File::options().write(true).create_new(true).mode(mode).open(&path);
            let written = file.and_then(|mut file| file.write_all(text.as_bytes()));
            written.map(|()| path).map_err(|e| Error::system(format_args!("write {name}"), e))
        };
        let [ca, cert, key] = &texts;
        let (ca, cert) = (write("ca.pem", ca, 0o644)?, write("cert.pem", cert, 0o644)?);
        Ok(Self { ca, cert, key: write("key.pem", key, 0o600)? })
    }
}

fn texts(kind: KeyKind, address: Ipv4Addr) -> Result<[String; 3], Refused> {
    let algorithm = match kind {
        KeyKind::Ed25519 => &rcgen::PKCS_ED25519,
        KeyKind::P256 => &rcgen::PKCS_ECDSA_P256_SHA256,
    };
    let mut authority = CertificateParams::new(Vec::new())?;
    authority.distinguished_name.push(DnType::CommonName, "Ackclock, for one run");
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
    let key = KeyPair::generate_for(algorithm)?;
    let root = authority.self_signed(&key)?;
    let issuer = Issuer::new(authority, key);

    let mut server = CertificateParams::new(vec![SERVER_NAME.to_owned(), address.to_string()])?;
    server.distinguished_name.push(DnType::CommonName, SERVER_NAME);
    server.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    server.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let key = server_key(kind)?;
    let leaf = server.signed_by(&key, &issuer)?;
    Ok([root.pem(), leaf.pem(), key.serialize_pem()])
}

/// Makes the server's key in a form that every library reads. ring makes Ed25519 keys in version 2
/// of PKCS #8, with the public key at the end. OpenSSL and libraries based on it require version 1
/// (RFC 8410 section 7), which is the same without the public key.
fn server_key(kind: KeyKind) -> Result<KeyPair, Refused> {
    if kind == KeyKind::P256 {
        return KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256);
    }
    let made = KeyPair::generate_for(&rcgen::PKCS_ED25519)?;
    let seed = made.serialized_der().get(PREFIX.len()..PREFIX.len() + SEED);
    let seed = seed.ok_or(Refused::CouldNotParseKeyPair)?;
    KeyPair::try_from([&PREFIX[..], seed].concat())
}

/// Bytes before the 32 bytes of the key in version 1: lengths, version and algorithm. The prefix of
/// version 2 has the same length.
const PREFIX: [u8; 16] = [0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20];
const SEED: usize = 32;

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn nobody_else_reads_the_key() {
        let folder = tempfile::tempdir().unwrap();
        let made = Certificates::make(folder.path(), KeyKind::Ed25519, Ipv4Addr::LOCALHOST).unwrap();
        let mode = made.key.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600);
    }

    /// All files are PEM. Keys of the two kinds differ in length.
    #[test]
    fn three_texts() {
        let lengths = [KeyKind::Ed25519, KeyKind::P256].map(|kind| {
            let [ca, cert, key] = texts(kind, Ipv4Addr::LOCALHOST).unwrap();
            assert!([&ca, &cert].iter().all(|text| text.starts_with("-----BEGIN CERTIFICATE-----")));
            assert!(key.starts_with("-----BEGIN PRIVATE KEY-----"));
            key.len()
        });
        // An Ed25519 key is 48 bytes in base64 between lines of 27 and 25 characters. A P-256 key
        // includes its public key.
        assert!(lengths[0] < 125 && lengths[1] > 200, "{lengths:?}");
    }
}
