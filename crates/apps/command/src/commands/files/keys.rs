//! Certificates, keys, and random bytes from the system.

use std::fmt::Write as _;
use std::io::{ErrorKind, Read};
use std::path::Path;

use experiment::input::open_regular;
use quic::crypto::tls::Identity;
use quic::random::Random;
use quic::rustls::pki_types::pem::PemObject;
use quic::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use ring::rand::{SecureRandom, SystemRandom};

use crate::status::Error;

/// Largest PEM file, in bytes. All roots of a system take some 200 kB.
const MAX_PEM: u64 = 4 << 20;

/// Reads a server's certificates, its own first, and its key from PEM files.
pub(crate) fn identity(cert: &Path, key: &Path) -> Result<Identity, Error> {
    let chain = certificates(cert)?;
    let read = read(key).and_then(|pem| PrivateKeyDer::from_pem_slice(&pem).map_err(|e| e.to_string()));
    let key = read.map_err(|why| Error::bad(format!("cannot read the key in {}: {why}", key.display())))?;
    Ok(Identity { chain, key })
}

/// Reads all certificates of a PEM file, at least one.
pub(crate) fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, Error> {
    let name = file.display();
    let parse = |pem: Vec<u8>| CertificateDer::pem_slice_iter(&pem).collect::<Result<Vec<_>, _>>();
    match read(file).and_then(|pem| parse(pem).map_err(|error| error.to_string())) {
        Ok(all) if all.is_empty() => Err(Error::bad(format!("{name}: contains no certificate"))),
        Ok(all) => Ok(all),
        Err(why) => Err(Error::bad(format!("cannot read the certificates in {name}: {why}"))),
    }
}

/// Reads a PEM file. Pipes and devices may have no end, and are refused.
fn read(file: &Path) -> Result<Vec<u8>, String> {
    let mut pem = Vec::new();
    match open_regular(file).and_then(|file| file.take(MAX_PEM + 1).read_to_end(&mut pem)) {
        Ok(bytes) if bytes as u64 > MAX_PEM => Err(format!("larger than {} MiB", MAX_PEM >> 20)),
        Ok(_) => Ok(pem),
        Err(error) if error.kind() == ErrorKind::NotFound => Err("no such file".to_owned()),
        Err(error) if error.kind() == ErrorKind::InvalidData => {
            Err(format!("{error}; write its contents to a file"))
        }
        Err(error) => Err(error.to_string()),
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

    /// Pipes, devices and folders are refused before they are opened, and large files are not read.
    #[test]
    fn regular_files_of_a_bounded_size() {
        let dir = tempfile::tempdir().unwrap();
        let (pipe, large) = (dir.path().join("pipe"), dir.path().join("large"));
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        std::fs::File::create(&large).unwrap().set_len(1 << 40).unwrap();
        for (file, right) in [
            (pipe.as_path(), "not a regular file; write its contents to a file"),
            (Path::new("/dev/zero"), "not a regular file; write its contents to a file"),
            (dir.path(), "not a regular file; write its contents to a file"),
            (large.as_path(), "larger than 4 MiB"),
        ] {
            let why = certificates(file).map(drop).map_err(|error| error.message).unwrap_err();
            assert_eq!(why, format!("cannot read the certificates in {}: {right}", file.display()));
            assert_eq!(read(file), Err(right.to_owned()));
        }
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
