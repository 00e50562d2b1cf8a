//! Assignment of datagrams to connections (RFC 9000 section 5.2).
//!
//! Datagrams that belong to no connection get version negotiation, a stateless reset, or no answer.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use units::Time;

use super::admission::First;
use super::budget::Budget;
use super::reset::{self, ResetKey, TOKEN_LEN};
use crate::config::EndpointConfig;
use crate::level::Level;
use crate::random::Random;
use crate::wire::codec::Writer;
use crate::wire::connection_id::ConnectionId;
use crate::wire::header::{
    MIN_INITIAL_DATAGRAM, OtherVersion, Parsed, Protected, VERSION_1, VersionNegotiation, parse,
};

/// Minimum length of the Destination Connection ID of a client's first Initial, in bytes (section
/// 7.2).
const MIN_FIRST_ID: usize = 8;
/// A reserved version of the form 0x?a?a?a?a (section 15).
const RESERVED: u32 = 0x0a0a_0a0a;

/// Identifies a connection of an endpoint. Numbers are not reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Handle(pub u64);

/// Reason for dropping a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropReason {
    /// The datagram cannot be parsed, or is not QUIC.
    Unreadable,
    /// The connection is unknown, and the datagram is too short or of a type that gets no answer.
    Unknown,
    /// An Initial in a datagram below 1200 bytes, or with a destination below 8 bytes (sections
    /// 14.1, 7.2).
    Small,
    /// The endpoint does not accept clients.
    Closed,
    /// The connection is not accepted yet, and has reached its limit of data.
    Full,
    /// The limit of answers per second is reached.
    Rate,
}

/// Action for a datagram.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Routed<'a> {
    /// Deliver it to this connection.
    To(Handle),
    /// Reset this connection: the datagram is a stateless reset.
    Reset(Handle),
    /// Decide on the first Initial of an unknown client: see [`super::admission::decide`].
    First(First<'a>),
    /// Answer with this datagram, which is shorter.
    Answer(Vec<u8>),
    /// Drop it.
    Dropped(DropReason),
}

/// Routing entries of one connection.
#[derive(Clone, Debug, Default)]
struct Owned {
    ids: Vec<ConnectionId>,
    first: Option<(SocketAddr, ConnectionId)>,
    peer: Option<SocketAddr>,
    resets: Vec<(SocketAddr, [u8; TOKEN_LEN])>,
}

/// Connection IDs and addresses of all connections of an endpoint with one address.
#[derive(Clone, Debug)]
pub struct Routing {
    id_len: usize,
    accepts: bool,
    grease: bool,
    key: ResetKey,
    budget: Budget,
    owned: BTreeMap<Handle, Owned>,
    ids: BTreeMap<ConnectionId, Handle>,
    /// IDs chosen by clients. Two clients may choose the same.
    firsts: BTreeMap<(SocketAddr, ConnectionId), Handle>,
    /// Addresses of peers, used where this end's IDs have zero length.
    peers: BTreeMap<SocketAddr, Handle>,
    /// Stateless reset tokens of peers, by their lookup key.
    resets: BTreeMap<(SocketAddr, [u8; TOKEN_LEN]), Handle>,
    /// Bytes received on connections that are not accepted yet.
    unaccepted: BTreeMap<Handle, u64>,
    unaccepted_bytes: u64,
    next: u64,
}

impl Routing {
    /// Creates routing without connections.
    pub fn new(config: &EndpointConfig, key: ResetKey) -> Self {
        Self {
            id_len: config.connection.connection_id_len,
            accepts: config.accepts,
            grease: config.connection.grease,
            key,
            budget: Budget::new(config.answers_per_second),
            owned: BTreeMap::new(),
            ids: BTreeMap::new(),
            firsts: BTreeMap::new(),
            peers: BTreeMap::new(),
            resets: BTreeMap::new(),
            unaccepted: BTreeMap::new(),
            unaccepted_bytes: config.unaccepted_bytes.0,
            next: 0,
        }
    }

    /// Adds a connection from this end to `peer`, identified by `id`, or by the peer's address if
    /// the ID has zero length. Returns `None` if that already identifies another connection.
    pub fn connect(&mut self, peer: SocketAddr, id: ConnectionId) -> Option<Handle> {
        let taken = if id.is_empty() { self.peers.contains_key(&peer) } else { self.ids.contains_key(&id) };
        if taken {
            return None;
        }
        let handle = self.open();
        match id.is_empty() {
            true => self.set_peer(handle, peer),
            false => {
                self.add_id(handle, id);
            }
        }
        Some(handle)
    }

    /// Adds a connection of a client, whose first datagram has `bytes` bytes. It counts as not
    /// accepted.
    ///
    /// Until [`drop_first`](Self::drop_first), its first packets are recognised by source address
    /// and destination ID.
    pub fn admit(&mut self, first: &First<'_>, bytes: usize) -> Handle {
        let handle = self.open();
        let key = (first.from, first.destination);
        if let Some(owned) = self.owned.get_mut(&handle) {
            owned.first = Some(key);
        }
        self.firsts.insert(key, handle);
        self.unaccepted.insert(handle, bytes as u64);
        handle
    }

    fn open(&mut self) -> Handle {
        let handle = Handle(self.next);
        self.next += 1;
        self.owned.insert(handle, Owned::default());
        handle
    }

    /// Marks a connection as accepted by the application. Returns `false` if it was before.
    pub fn accept(&mut self, handle: Handle) -> bool {
        self.unaccepted.remove(&handle).is_some()
    }

    /// Returns the number of connections that wait to be accepted.
    pub fn unaccepted(&self) -> usize {
        self.unaccepted.len()
    }

    /// Returns the number of connections.
    pub fn len(&self) -> usize {
        self.owned.len()
    }

    /// Reports whether there are no connections.
    pub fn is_empty(&self) -> bool {
        self.owned.is_empty()
    }

    /// Routes a further ID to a connection. Returns `false` if the ID is taken.
    pub fn add_id(&mut self, handle: Handle, id: ConnectionId) -> bool {
        let Some(owned) = self.owned.get_mut(&handle) else { return false };
        if self.ids.contains_key(&id) || id.is_empty() {
            return false;
        }
        self.ids.insert(id, handle);
        owned.ids.push(id);
        true
    }

    /// Removes an ID that the peer has retired.
    pub fn remove_id(&mut self, id: &ConnectionId) {
        if let Some(owned) = self.ids.remove(id).and_then(|handle| self.owned.get_mut(&handle)) {
            owned.ids.retain(|known| known != id);
        }
    }

    /// Removes the ID chosen by a client, once the client has the server's ID or the server's
    /// handshake is confirmed.
    pub fn drop_first(&mut self, handle: Handle) {
        if let Some(first) = self.owned.get_mut(&handle).and_then(|owned| owned.first.take()) {
            self.firsts.remove(&first);
        }
    }

    fn set_peer(&mut self, handle: Handle, peer: SocketAddr) {
        if let Some(owned) = self.owned.get_mut(&handle) {
            owned.peer = Some(peer);
            self.peers.insert(peer, handle);
        }
    }

    /// Sets the tokens with which this peer can reset the connection:
    /// [`reset_tokens`](crate::connection::RemoteIds::reset_tokens).
    pub fn set_resets(
        &mut self,
        handle: Handle,
        peer: SocketAddr,
        tokens: impl Iterator<Item = [u8; TOKEN_LEN]>,
    ) {
        let Some(owned) = self.owned.get_mut(&handle) else { return };
        for old in owned.resets.drain(..) {
            self.resets.remove(&old);
        }
        for token in tokens {
            let name = (peer, self.key.name(&token));
            self.resets.insert(name, handle);
            owned.resets.push(name);
        }
    }

    /// Removes a connection.
    pub fn forget(&mut self, handle: Handle) {
        self.unaccepted.remove(&handle);
        let Some(owned) = self.owned.remove(&handle) else { return };
        for id in &owned.ids {
            self.ids.remove(id);
        }
        if let Some(first) = &owned.first {
            self.firsts.remove(first);
        }
        if let Some(peer) = &owned.peer {
            self.peers.remove(peer);
        }
        for name in &owned.resets {
            self.resets.remove(name);
        }
    }

    /// Decides what to do with a datagram from `from`.
    pub fn route<'a>(
        &mut self,
        now: Time,
        from: SocketAddr,
        datagram: &'a [u8],
        random: &mut Random,
    ) -> Routed<'a> {
        let parsed = parse(datagram, self.id_len);
        if let Some(handle) = parsed.as_ref().ok().and_then(|parsed| self.owner(from, parsed)) {
            return self.deliver(handle, datagram.len());
        }
        if let Some(handle) = self.reset_by(from, datagram) {
            return Routed::Reset(handle);
        }
        match parsed {
            Ok(Parsed::Protected(packet)) => match packet.level {
                Level::OneRtt => self.reset(now, &packet.destination, datagram.len(), random),
                Level::Initial => self.first(from, &packet, datagram),
                Level::ZeroRtt | Level::Handshake => Routed::Dropped(DropReason::Unknown),
            },
            Ok(Parsed::OtherVersion(packet)) => self.negotiate(now, &packet, datagram.len(), random),
            // Section 6.1: these packets are never answered.
            Ok(Parsed::Retry(_) | Parsed::VersionNegotiation(_)) => Routed::Dropped(DropReason::Unknown),
            Err(_) => Routed::Dropped(DropReason::Unreadable),
        }
    }

    fn owner(&self, from: SocketAddr, parsed: &Parsed<'_>) -> Option<Handle> {
        let (destination, by_client) = match parsed {
            Parsed::Protected(packet) => {
                (packet.destination, matches!(packet.level, Level::Initial | Level::ZeroRtt))
            }
            Parsed::Retry(packet) => (packet.destination, false),
            Parsed::VersionNegotiation(packet) => (ConnectionId::new(packet.destination)?, false),
            Parsed::OtherVersion(_) => return None,
        };
        let by_id = match destination.is_empty() {
            true => self.peers.get(&from),
            false => self.ids.get(&destination),
        };
        let by_first = || if by_client { self.firsts.get(&(from, destination)) } else { None };
        by_id.or_else(by_first).copied()
    }

    fn deliver<'a>(&mut self, handle: Handle, bytes: usize) -> Routed<'a> {
        let most = self.unaccepted_bytes;
        match self.unaccepted.get_mut(&handle) {
            Some(held) if *held + bytes as u64 > most => Routed::Dropped(DropReason::Full),
            Some(held) => {
                *held += bytes as u64;
                Routed::To(handle)
            }
            None => Routed::To(handle),
        }
    }

    fn reset_by(&self, from: SocketAddr, datagram: &[u8]) -> Option<Handle> {
        let token = reset::suspected(datagram)?;
        // Without any token there is no need to compute a lookup key.
        if self.resets.is_empty() {
            return None;
        }
        self.resets.get(&(from, self.key.name(&token))).copied()
    }

    /// Answers a packet of an unknown connection with a stateless reset (section 10.3). An endpoint
    /// with zero-length IDs never gave one to the peer.
    fn reset<'a>(
        &mut self,
        now: Time,
        destination: &ConnectionId,
        answered: usize,
        random: &mut Random,
    ) -> Routed<'a> {
        if destination.is_empty() || answered <= reset::MIN_RESET {
            return Routed::Dropped(DropReason::Unknown);
        }
        if !self.budget.take(now) {
            return Routed::Dropped(DropReason::Rate);
        }
        let datagram = reset::datagram(&self.key.token(destination), answered, random);
        datagram.map_or(Routed::Dropped(DropReason::Unknown), Routed::Answer)
    }

    fn first<'a>(&self, from: SocketAddr, packet: &Protected, datagram: &'a [u8]) -> Routed<'a> {
        let first = First::new(from, packet, datagram);
        // After a Retry, the destination is one of this end's IDs.
        let short = first.destination.len() < MIN_FIRST_ID && first.token.is_empty();
        match () {
            () if !self.accepts => Routed::Dropped(DropReason::Closed),
            () if short || datagram.len() < MIN_INITIAL_DATAGRAM => Routed::Dropped(DropReason::Small),
            () => Routed::First(first),
        }
    }

    /// Answers with Version Negotiation (section 6.1). Only datagrams that could start a connection
    /// are answered, so the answer of at most 527 bytes is shorter.
    fn negotiate<'a>(
        &mut self,
        now: Time,
        packet: &OtherVersion<'_>,
        answered: usize,
        random: &mut Random,
    ) -> Routed<'a> {
        if !self.accepts {
            return Routed::Dropped(DropReason::Closed);
        }
        if answered < MIN_INITIAL_DATAGRAM {
            return Routed::Dropped(DropReason::Small);
        }
        if !self.budget.take(now) {
            return Routed::Dropped(DropReason::Rate);
        }
        let all = [VERSION_1, RESERVED];
        let versions = if self.grease { &all[..] } else { &all[..1] };
        let mut bytes = vec![0; VersionNegotiation::size(packet.source, packet.destination, versions)];
        let [unused] = random.bytes();
        let mut w = Writer::new(&mut bytes);
        VersionNegotiation::encode(&mut w, unused, packet.source, packet.destination, versions)
            .expect("the buffer has the right size");
        Routed::Answer(bytes)
    }
}
