//! Whose a datagram is (RFC 9000 section 5.2), and what those get that are nobody's: version negotiation, a stateless reset, nothing.

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

/// The Destination Connection ID of a client's first Initial has at least so many bytes (section 7.2).
const MIN_FIRST_ID: usize = 8;
/// A version of the form 0x?a?a?a?a that nobody speaks (section 15).
const RESERVED: u32 = 0x0a0a_0a0a;

/// A connection of an endpoint; numbers are not used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Handle(pub u64);

/// Why a datagram is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// It cannot be read, or is no packet of QUIC.
    Unreadable,
    /// Of a connection that is not known, and too short or of a kind that gets no answer.
    Unknown,
    /// An Initial in a datagram below 1200 bytes, or to an ID below 8 (sections 14.1, 7.2).
    Small,
    /// Nobody may come in.
    Closed,
    /// A connection that is not accepted yet holds as much as it may.
    Full,
    /// There were too many answers in this second.
    Rate,
}

/// What is to be done with a datagram.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Routed<'a> {
    /// It goes to this connection.
    To(Handle),
    /// A stateless reset: this connection is over.
    Reset(Handle),
    /// A client that nobody knows: [`super::admission::decide`].
    First(First<'a>),
    /// It is answered with this, which is shorter than the datagram.
    Answer(Vec<u8>),
    /// It is dropped.
    Dropped(Why),
}

/// What leads to one connection.
#[derive(Clone, Debug, Default)]
struct Owned {
    ids: Vec<ConnectionId>,
    first: Option<(SocketAddr, ConnectionId)>,
    peer: Option<SocketAddr>,
    resets: Vec<(SocketAddr, [u8; TOKEN_LEN])>,
}

/// Connection IDs and addresses of all connections of an endpoint that has one address.
#[derive(Clone, Debug)]
pub struct Routing {
    id_len: usize,
    accepts: bool,
    grease: bool,
    key: ResetKey,
    budget: Budget,
    owned: BTreeMap<Handle, Owned>,
    ids: BTreeMap<ConnectionId, Handle>,
    /// IDs that clients have chosen: two may choose the same.
    firsts: BTreeMap<(SocketAddr, ConnectionId), Handle>,
    /// Where this end's IDs have zero length, the address must do.
    peers: BTreeMap<SocketAddr, Handle>,
    /// Tokens of peers by their names.
    resets: BTreeMap<(SocketAddr, [u8; TOKEN_LEN]), Handle>,
    /// Bytes held for connections that are not accepted yet.
    unaccepted: BTreeMap<Handle, u64>,
    unaccepted_bytes: u64,
    next: u64,
}

impl Routing {
    /// Without connections.
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

    /// A connection of this end to `peer`, to which `id` leads; with an ID of zero length its peer's address does. None when that leads
    /// to another already.
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

    /// A client comes in. Its first packets lead to it by where they are from and go to, until [`drop_first`](Self::drop_first). It counts
    /// as not accepted, with a first datagram of so many bytes.
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

    /// The application has taken the connection.
    pub fn accept(&mut self, handle: Handle) {
        self.unaccepted.remove(&handle);
    }

    /// How many connections wait to be accepted.
    pub fn unaccepted(&self) -> usize {
        self.unaccepted.len()
    }

    /// How many connections there are.
    pub fn len(&self) -> usize {
        self.owned.len()
    }

    /// There is none.
    pub fn is_empty(&self) -> bool {
        self.owned.is_empty()
    }

    /// A further ID leads to a connection. Says whether it does: not when it leads to another.
    pub fn add_id(&mut self, handle: Handle, id: ConnectionId) -> bool {
        let Some(owned) = self.owned.get_mut(&handle) else { return false };
        if self.ids.contains_key(&id) || id.is_empty() {
            return false;
        }
        self.ids.insert(id, handle);
        owned.ids.push(id);
        true
    }

    /// The peer has given an ID up.
    pub fn remove_id(&mut self, id: &ConnectionId) {
        if let Some(owned) = self.ids.remove(id).and_then(|handle| self.owned.get_mut(&handle)) {
            owned.ids.retain(|known| known != id);
        }
    }

    /// A client has the server's ID, or a server's handshake is confirmed: what the client had chosen leads nowhere any more.
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

    /// The tokens by which this peer can reset the connection now: [`reset_tokens`](crate::connection::RemoteIds::reset_tokens).
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

    /// A connection is gone.
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

    /// What is to be done with a datagram from `from`.
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
                Level::ZeroRtt | Level::Handshake => Routed::Dropped(Why::Unknown),
            },
            Ok(Parsed::OtherVersion(packet)) => self.negotiate(now, &packet, datagram.len(), random),
            // Section 6.1: they are never answered.
            Ok(Parsed::Retry(_) | Parsed::VersionNegotiation(_)) => Routed::Dropped(Why::Unknown),
            Err(_) => Routed::Dropped(Why::Unreadable),
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
            Some(held) if *held + bytes as u64 > most => Routed::Dropped(Why::Full),
            Some(held) => {
                *held += bytes as u64;
                Routed::To(handle)
            }
            None => Routed::To(handle),
        }
    }

    fn reset_by(&self, from: SocketAddr, datagram: &[u8]) -> Option<Handle> {
        let token = reset::suspected(datagram)?;
        // A client that has no token of anybody need not compute one.
        if self.resets.is_empty() {
            return None;
        }
        self.resets.get(&(from, self.key.name(&token))).copied()
    }

    /// Section 10.3. Who has no IDs cannot have given one to the peer.
    fn reset<'a>(
        &mut self,
        now: Time,
        destination: &ConnectionId,
        answered: usize,
        random: &mut Random,
    ) -> Routed<'a> {
        if destination.is_empty() || answered <= reset::MIN_RESET {
            return Routed::Dropped(Why::Unknown);
        }
        if !self.budget.take(now) {
            return Routed::Dropped(Why::Rate);
        }
        let datagram = reset::datagram(&self.key.token(destination), answered, random);
        datagram.map_or(Routed::Dropped(Why::Unknown), Routed::Answer)
    }

    fn first<'a>(&self, from: SocketAddr, packet: &Protected, datagram: &'a [u8]) -> Routed<'a> {
        let first = First::new(from, packet, datagram);
        // After a Retry the destination is one of this end's.
        let short = first.destination.len() < MIN_FIRST_ID && first.token.is_empty();
        match () {
            () if !self.accepts => Routed::Dropped(Why::Closed),
            () if short || datagram.len() < MIN_INITIAL_DATAGRAM => Routed::Dropped(Why::Small),
            () => Routed::First(first),
        }
    }

    /// Section 6.1: only a datagram that could begin a connection is answered, and so the answer, of at most 527 bytes, is shorter.
    fn negotiate<'a>(
        &mut self,
        now: Time,
        packet: &OtherVersion<'_>,
        answered: usize,
        random: &mut Random,
    ) -> Routed<'a> {
        if !self.accepts {
            return Routed::Dropped(Why::Closed);
        }
        if answered < MIN_INITIAL_DATAGRAM {
            return Routed::Dropped(Why::Small);
        }
        if !self.budget.take(now) {
            return Routed::Dropped(Why::Rate);
        }
        let all = [VERSION_1, RESERVED];
        let versions = if self.grease { &all[..] } else { &all[..1] };
        let mut bytes = vec![0; VersionNegotiation::size(packet.source, packet.destination, versions)];
        let [unused] = random.bytes();
        let mut w = Writer::new(&mut bytes);
        VersionNegotiation::encode(&mut w, unused, packet.source, packet.destination, versions)
            .expect("as long as it is");
        Routed::Answer(bytes)
    }
}
