//! Reads the key log that TLS libraries write to the file named by `SSLKEYLOGFILE`. Each line is
//! `LABEL CLIENT_RANDOM SECRET`, in hexadecimal (draft-ietf-tls-keylogfile section 2).

use std::collections::BTreeMap;

use crate::Side;

/// The client's random bytes, which identify a TLS session.
pub type Random = [u8; 32];

/// Secrets of one session that protect QUIC packets (RFC 9001 section 5.1).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Secrets {
    handshake: [Option<Vec<u8>>; 2],
    application: [Option<Vec<u8>>; 2],
    early: Option<Vec<u8>>,
}

impl Secrets {
    /// Returns the secret of the client's 0-RTT packets.
    pub fn early(&self) -> Option<&[u8]> {
        self.early.as_deref()
    }

    /// Returns the secret of the Handshake packets that `from` sends.
    pub fn handshake(&self, from: Side) -> Option<&[u8]> {
        self.handshake[from as usize].as_deref()
    }

    /// Returns the secret of the 1-RTT packets that `from` sends before any key update.
    pub fn application(&self, from: Side) -> Option<&[u8]> {
        self.application[from as usize].as_deref()
    }
}

/// All sessions of a key log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyLog(BTreeMap<Random, Secrets>);

impl KeyLog {
    /// Parses a key log. Ignores other labels, comments and truncated lines, as the draft requires.
    pub fn parse(text: &str) -> Self {
        let mut all = Self::default();
        all.add(text);
        all
    }

    /// Adds the sessions of another text.
    pub fn add(&mut self, text: &str) {
        for line in text.lines() {
            // Lines without a secret for QUIC are ignored.
            let _ = self.take(line);
        }
    }

    /// Returns the secrets of the session with this client random.
    pub fn secrets(&self, random: &Random) -> Option<&Secrets> {
        self.0.get(random)
    }

    /// Reports whether the log has no session.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn take(&mut self, line: &str) -> Option<()> {
        let mut words = line.split_ascii_whitespace();
        let label = words.next()?;
        let random = Random::try_from(bytes(words.next()?)?).ok()?;
        let secret = bytes(words.next()?)?;
        let session = self.0.entry(random).or_default();
        let place = match label {
            "CLIENT_HANDSHAKE_TRAFFIC_SECRET" => &mut session.handshake[Side::Client as usize],
            "SERVER_HANDSHAKE_TRAFFIC_SECRET" => &mut session.handshake[Side::Server as usize],
            "CLIENT_TRAFFIC_SECRET_0" => &mut session.application[Side::Client as usize],
            "CLIENT_EARLY_TRAFFIC_SECRET" => &mut session.early,
            "SERVER_TRAFFIC_SECRET_0" => &mut session.application[Side::Server as usize],
            _ => return None,
        };
        *place = Some(secret);
        Some(())
    }
}

/// Decodes hexadecimal digits.
fn bytes(digits: &str) -> Option<Vec<u8>> {
    let pairs = digits.as_bytes().chunks(2);
    let byte = |pair: &[u8]| {
        let pair = std::str::from_utf8(pair).ok().filter(|pair| pair.len() == 2)?;
        u8::from_str_radix(pair, 16).ok()
    };
    pairs.map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_count_and_lines_that_do_not() {
        let random = "00".repeat(31) + "07";
        let text = format!(
            "# a comment\n\
             CLIENT_HANDSHAKE_TRAFFIC_SECRET {random} 0a0b\n\
             SERVER_TRAFFIC_SECRET_0 {random} FF\n\
             EXPORTER_SECRET {random} 01\n\
             SERVER_HANDSHAKE_TRAFFIC_SECRET {random} 0a0\n\
             CLIENT_TRAFFIC_SECRET_0 00 0a\n\
             CLIENT_TRAFFIC_SECRET_0 {random} é"
        );
        let log = KeyLog::parse(&text);
        let mut expected = [0; 32];
        expected[31] = 7;
        let secrets = log.secrets(&expected).unwrap();
        assert_eq!(secrets.handshake(Side::Client), Some(&[10, 11][..]));
        assert_eq!(secrets.handshake(Side::Server), None, "half a byte");
        assert_eq!(secrets.application(Side::Server), Some(&[255][..]));
        assert_eq!(secrets.application(Side::Client), None);
        assert_eq!(log.secrets(&[0; 32]), None);
        assert!(KeyLog::parse("").is_empty() && !log.is_empty());
    }
}
