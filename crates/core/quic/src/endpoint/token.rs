//! Tokens for address validation, in Retry packets and NEW_TOKEN frames (RFC 9000 sections 8.1.2 to
//! 8.1.4).
//!
//! A token is sealed with AES-256-GCM under a key of the server. It holds its type, its creation
//! time and the client's address. In a Retry it also holds the connection IDs of the handshake. The
//! server stores only the tokens that were used.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};

use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use units::{Duration, Time};

use crate::config::EndpointConfig;
use crate::random::Random;
use crate::wire::codec::{Reader, Truncated, Writer};
use crate::wire::connection_id::ConnectionId;

const TAG_LEN: usize = 16;
/// Maximum length of the body: type, time, address, port, and two connection IDs with their
/// lengths.
const MAX_BODY: usize = 1 + 8 + 16 + 2 + 2 * (1 + ConnectionId::MAX_LEN);
/// Maximum length of a token, in bytes.
pub const MAX_TOKEN: usize = NONCE_LEN + MAX_BODY + TAG_LEN;

/// Result of checking a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The token is ignored: not from this server, expired, for another address, or already used
    /// (section 8.1.3).
    Nothing,
    /// Valid NEW_TOKEN token: the address is validated.
    Validated,
    /// Valid Retry token: the address is validated.
    Retried {
        /// Destination Connection ID of the client's first Initial.
        original: ConnectionId,
    },
    /// Invalid Retry token. The client will not accept another Retry, so it is closed with
    /// INVALID_TOKEN (section 8.1.2).
    Invalid,
}

/// Sealed contents of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Body {
    issued: Time,
    ip: [u8; 16],
    /// Port, original destination and source, for a Retry only. Later connections may come from
    /// another port (section 8.1.3).
    retry: Option<(u16, ConnectionId, ConnectionId)>,
}

impl Body {
    fn write(&self, w: &mut Writer<'_>) {
        w.u8(self.retry.is_some().into());
        w.bytes(&self.issued.0.to_be_bytes());
        w.bytes(&self.ip);
        if let Some((port, original, source)) = &self.retry {
            w.bytes(&port.to_be_bytes());
            w.prefixed(original);
            w.prefixed(source);
        }
    }

    fn read(bytes: &[u8]) -> Result<Self, Truncated> {
        let mut r = Reader::new(bytes);
        let is_retry = r.u8()? != 0;
        let issued = Time(u64::from_be_bytes(r.array()?));
        let ip = r.array()?;
        let id = |r: &mut Reader<'_>| ConnectionId::new(r.prefixed()?).ok_or(Truncated);
        let retry = if is_retry { Some((r.u16()?, id(&mut r)?, id(&mut r)?)) } else { None };
        Ok(Self { issued, ip, retry })
    }
}

/// Returns the address in a form that is the same for IPv4 and IPv4-mapped IPv6 addresses.
fn ip(address: SocketAddr) -> [u8; 16] {
    match address.ip() {
        IpAddr::V4(v4) => v4.to_ipv6_mapped().octets(),
        IpAddr::V6(v6) => v6.octets(),
    }
}

/// Issues tokens, and accepts each token once.
#[derive(Debug)]
pub struct Tokens {
    key: LessSafeKey,
    retry_lifetime: Duration,
    token_lifetime: Duration,
    /// Used tokens: creation time and nonce.
    used: BTreeSet<(Time, [u8; NONCE_LEN])>,
    capacity: usize,
    /// Tokens created at this time or before are refused, because used ones of that age were
    /// forgotten.
    floor: Option<Time>,
}

impl Tokens {
    /// Creates the token state. Servers with the same key accept each other's tokens, but each
    /// server accepts a token once.
    pub fn new(key: &[u8; 32], config: &EndpointConfig) -> Self {
        let key = UnboundKey::new(&AES_256_GCM, key).expect("a key of 32 bytes");
        Self {
            key: LessSafeKey::new(key),
            retry_lifetime: config.retry_lifetime,
            token_lifetime: config.token_lifetime,
            used: BTreeSet::new(),
            capacity: config.used_tokens.max(1),
            floor: None,
        }
    }

    /// Creates a token for a Retry with this source, sent to the client at `to`. The client's first
    /// Initial went to `original`.
    pub fn for_retry(
        &self,
        now: Time,
        to: SocketAddr,
        original: ConnectionId,
        source: ConnectionId,
        random: &mut Random,
    ) -> Vec<u8> {
        self.seal(&Body { issued: now, ip: ip(to), retry: Some((to.port(), original, source)) }, random)
    }

    /// Creates a token for a NEW_TOKEN frame to a client whose address is validated.
    pub fn for_later(&self, now: Time, to: SocketAddr, random: &mut Random) -> Vec<u8> {
        self.seal(&Body { issued: now, ip: ip(to), retry: None }, random)
    }

    fn seal(&self, body: &Body, random: &mut Random) -> Vec<u8> {
        let mut buf = [0; MAX_BODY];
        let mut w = Writer::new(&mut buf);
        body.write(&mut w);
        let mut sealed = w.written().to_vec();
        let nonce = random.bytes();
        let unique = Nonce::assume_unique_for_key(nonce);
        self.key
            .seal_in_place_append_tag(unique, Aad::empty(), &mut sealed)
            .expect("far below AES-GCM's limit");
        [&nonce[..], &sealed].concat()
    }

    fn open(&self, token: &[u8]) -> Option<([u8; NONCE_LEN], Body)> {
        let (nonce, sealed) = token.split_first_chunk().filter(|_| token.len() <= MAX_TOKEN)?;
        let mut sealed = sealed.to_vec();
        let body = self.key.open_in_place(Nonce::assume_unique_for_key(*nonce), Aad::empty(), &mut sealed);
        Some((*nonce, Body::read(body.ok()?).ok()?))
    }

    /// Checks the token of an Initial from `from` to this destination, and uses it up.
    pub fn take(&mut self, now: Time, from: SocketAddr, destination: &ConnectionId, token: &[u8]) -> Verdict {
        let Some((nonce, body)) = self.open(token) else { return Verdict::Nothing };
        let lifetime = if body.retry.is_some() { self.retry_lifetime } else { self.token_lifetime };
        let in_time = body.issued <= now && now <= body.issued + lifetime;
        let for_them = body.ip == ip(from)
            && body.retry.is_none_or(|(port, _, source)| port == from.port() && source == *destination);
        let sound = in_time && for_them && self.is_new(now, body.issued, nonce);
        match (sound, body.retry) {
            (true, Some((_, original, _))) => Verdict::Retried { original },
            (true, None) => Verdict::Validated,
            (false, Some(_)) => Verdict::Invalid,
            (false, None) => Verdict::Nothing,
        }
    }

    /// Remembers a token. Returns `false` if it was used before.
    fn is_new(&mut self, now: Time, issued: Time, nonce: [u8; NONCE_LEN]) -> bool {
        if self.floor.is_some_and(|floor| issued <= floor) {
            return false;
        }
        // Expired tokens need not be remembered.
        let oldest = now - self.retry_lifetime.max(self.token_lifetime);
        self.used = self.used.split_off(&(oldest, [0; NONCE_LEN]));
        let new = self.used.insert((issued, nonce));
        if self.used.len() > self.capacity {
            self.floor = self.used.pop_first().map(|(issued, _)| issued);
        }
        new
    }

    /// Returns the number of used tokens that are remembered.
    pub fn remembered(&self) -> usize {
        self.used.len()
    }
}
