//! Certificates, keys, and random bytes from the system.

use std::fmt::Write as _;
use std::io::ErrorKind;
use std::path::Path;

use quic::crypto::tls::Identity;
use quic::random::Random;
use quic::rustls::pki_types::pem::{self, PemObject};
use quic::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use ring::rand::{SecureRandom, SystemRandom};

use crate::status::Error;

/// Reads a server's certificates, its own first, and its key from PEM files.
pub(crate) fn identity(cert: &Path, key: &Path) -> Result<Identity, Error> {
    let chain = certificates(cert)?;
    let key = PrivateKeyDer::from_pem_file(key)
        .map_err(|error| Error::bad(format!("cannot read the key in {}: {}", key.display(), why(error))))?;
    Ok(Identity { chain, key })
}

/// Reads all certificates of a PEM file, at least one.
pub(crate) fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, Error> {
    let name = file.display();
    let read = CertificateDer::pem_file_iter(file).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    match read {
        Ok(all) if all.is_empty() => Err(Error::bad(format!("{name}: contains no certificate"))),
        Ok(all) => Ok(all),
        Err(error) => Err(Error::bad(format!("cannot read the certificates in {name}: {}", why(error)))),
    }
}

/// Describes why a PEM file cannot be read.
fn why(error: pem::Error) -> String {
    match error {
        pem::Error::Io(error) if error.kind() == ErrorKind::NotFound => "no such file".to_owned(),
        pem::Error::Io(error) => error.to_string(),
        error => error.to_string(),
    }
}

/// Formats bytes with two digits each, separated by colons.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().enumerate().fold(String::new(), |mut text, (at, byte)| {
        // Writing to a String cannot fail.
        let _ = write!(text, "{}{byte:02x}", if at == 0 { "" } else { ":" });
        text
    })
}

/// Parses a fingerprint, with or without colons.
pub(crate) fn fingerprint(text: &str) -> Result<[u8; 32], String> {
    const RIGHT: &str = "must be a SHA-256 of 64 hexadecimal digits, as `ackclock serve` prints it";
    let digits: Vec<char> = text.chars().filter(|c| *c != ':').collect();
    let byte = |pair: &[char]| {
        let [high, low] = pair else { return None };
        u8::try_from(high.to_digit(16)? * 16 + low.to_digit(16)?).ok()
    };
    let bytes: Option<Vec<u8>> = digits.chunks(2).map(byte).collect();
    bytes.and_then(|bytes| bytes.try_into().ok()).ok_or_else(|| RIGHT.to_owned())
}

/// Creates a generator of unpredictable random bytes.
pub(crate) fn random() -> Result<Random, Error> {
    let mut key = [0; 32];
    let filled = SystemRandom::new().fill(&mut key);
    filled.map_err(|_| Error::bad("cannot get random bytes from the system"))?;
    Ok(Random::new(&key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_file_is_named() {
        let why = certificates(Path::new("nosuch.pem")).map(drop).map_err(|error| error.message);
        assert_eq!(why, Err("cannot read the certificates in nosuch.pem: no such file".to_owned()));
    }

    #[test]
    fn fingerprints_there_and_back() {
        let bytes: [u8; 32] = std::array::from_fn(|at| at as u8 * 7);
        assert_eq!(fingerprint(&hex(&bytes)), Ok(bytes));
        assert_eq!(fingerprint(&hex(&bytes).replace(':', "").to_uppercase()), Ok(bytes));
        for wrong in ["", "00", &"0".repeat(63), &"0".repeat(65), &"é".repeat(64), &"g0".repeat(32)] {
            assert!(fingerprint(wrong).is_err(), "{wrong}");
        }
    }
}
