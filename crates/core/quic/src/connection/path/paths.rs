//! All paths of a connection: the active one, and changes between them (RFC 9000 section 9).

use units::{Duration, Time};

use super::validation::{Addresses, Path};
use crate::level::Side;

/// Maximum number of paths: the active one, the fallback, and two more.
pub const MAX_PATHS: usize = 4;

/// Identifies a path of a connection, counted from 0. Numbers are not reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PathId(pub u64);

/// Difference between the old and the new active path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Only a port, probably because of NAT rebinding. Controller and RTT stay (section 9.4).
    Port,
    /// An address. Controller, RTT and ECN are reset (sections 9.4, 13.4.2).
    Address,
}

/// Path of a received packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// The active path, or another known path. Nothing changes.
    Known(PathId),
    /// A new path, probed by the peer or used by a late packet. Frames that need an answer are
    /// answered there; everything else stays.
    New(PathId),
    /// The peer has migrated, and this is the active path now.
    Moved(PathId, Change),
    /// A path that is not allowed now. The packet is dropped.
    Refused,
}

/// Result of a timer or a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The path was validated.
    Validated(PathId),
    /// Validation failed on a path that was not active, without consequences.
    Abandoned(PathId),
    /// Validation failed, and packets go to the previous path again (section 9.3.2).
    Reverted(PathId, Change),
    /// Validation failed, and there is no path to return to. The connection ends silently (section
    /// 9.3.2).
    NoPath,
}

/// Paths of one connection, at most four.
#[derive(Clone, Debug)]
pub struct Paths {
    side: Side,
    /// Oldest first.
    paths: Vec<(PathId, Path)>,
    active: PathId,
    /// The last validated path, while the active one is not validated.
    fallback: Option<PathId>,
    next: u64,
    /// Largest packet number of a non-probing packet.
    largest: Option<u64>,
    confirmed: bool,
}

fn change(from: Addresses, to: Addresses) -> Change {
    let same = from.remote.ip() == to.remote.ip() && from.local.ip() == to.local.ip();
    if same { Change::Port } else { Change::Address }
}

impl Paths {
    /// Starts with the path of the first packet. A client treats its server's address as validated.
    /// At a server, the limit ends as section 8.1 says.
    pub fn new(side: Side, addresses: Addresses) -> Self {
        let first = Path::new(addresses, side == Side::Client);
        Self {
            side,
            paths: vec![(PathId(0), first)],
            active: PathId(0),
            fallback: None,
            next: 1,
            largest: None,
            confirmed: false,
        }
    }

    /// Confirms the handshake, so that the peer may migrate (section 9).
    pub const fn confirm(&mut self) {
        self.confirmed = true;
    }

    /// Returns the ID of the active path.
    pub const fn active_id(&self) -> PathId {
        self.active
    }

    /// Returns the active path.
    pub fn active(&self) -> &Path {
        self.get(self.active).expect("the active path is known")
    }

    /// Returns the active path, mutably.
    pub fn active_mut(&mut self) -> &mut Path {
        self.get_mut(self.active).expect("the active path is known")
    }

    /// Returns a path, or `None` once it was forgotten.
    pub fn get(&self, id: PathId) -> Option<&Path> {
        self.paths.iter().find(|(known, _)| *known == id).map(|(_, path)| path)
    }

    /// Returns a path, mutably.
    pub fn get_mut(&mut self, id: PathId) -> Option<&mut Path> {
        self.paths.iter_mut().find(|(known, _)| *known == id).map(|(_, path)| path)
    }

    /// Returns the path with these addresses.
    pub fn find(&self, addresses: Addresses) -> Option<PathId> {
        self.paths.iter().find(|(_, path)| path.addresses() == addresses).map(|(id, _)| *id)
    }

    /// Reports whether only the active path is known.
    pub const fn is_only_one(&self) -> bool {
        self.paths.len() == 1
    }

    /// Returns all known paths.
    pub fn iter(&self) -> impl Iterator<Item = (PathId, &Path)> + '_ {
        self.paths.iter().map(|(id, path)| (*id, path))
    }

    /// Counts the bytes of a datagram whose packets are not opened yet, if its path is known. No
    /// state is kept for other paths.
    pub fn on_datagram(&mut self, addresses: Addresses, bytes: u64) {
        if let Some(path) = self.find(addresses).and_then(|id| self.get_mut(id)) {
            path.on_received(bytes);
        }
    }

    /// Processes an opened packet, in a datagram of `bytes` bytes. `packet` is its number and
    /// whether it has only probing frames (section 9.1).
    ///
    /// The peer has migrated if the packet has the largest number of all non-probing packets
    /// (section 9.3). Then the new path is validated, unless it was before. The old path is
    /// validated too, since somebody may have copied packets from a third address (section 9.3.3).
    pub fn on_packet(
        &mut self,
        now: Time,
        pto: Duration,
        addresses: Addresses,
        packet: (u64, bool),
        bytes: u64,
    ) -> Seen {
        let (number, probing) = packet;
        let known = self.find(addresses);
        // Clients only accept their server's address, and nobody may migrate during the handshake
        // (section 9).
        if known.is_none() && (self.side == Side::Client || !self.confirmed) {
            return Seen::Refused;
        }
        let newest = !probing && self.largest.is_none_or(|largest| number > largest);
        if newest {
            self.largest = Some(number);
        }
        let id = known.unwrap_or_else(|| self.add(addresses, bytes));
        if newest && id != self.active {
            return Seen::Moved(id, self.move_to(now, pto, id));
        }
        if known.is_some() { Seen::Known(id) } else { Seen::New(id) }
    }

    fn add(&mut self, addresses: Addresses, bytes: u64) -> PathId {
        if self.paths.len() == MAX_PATHS {
            let needed = |id| id == self.active || Some(id) == self.fallback;
            let oldest = self.paths.iter().position(|(id, _)| !needed(*id));
            self.paths.remove(oldest.expect("at most two paths are needed"));
        }
        let id = PathId(self.next);
        self.next += 1;
        let mut path = Path::new(addresses, false);
        path.on_received(bytes);
        self.paths.push((id, path));
        id
    }

    fn move_to(&mut self, now: Time, pto: Duration, id: PathId) -> Change {
        let before = self.active;
        let left = self.active_mut();
        let from = left.addresses();
        let was_validated = left.is_validated();
        if was_validated {
            left.challenge(now, pto);
        } else {
            left.give_up();
        }
        self.active = id;
        let path = self.active_mut();
        let (to, validated) = (path.addresses(), path.is_validated());
        if !validated {
            path.challenge(now, pto);
        }
        self.fallback = match (validated, was_validated) {
            (true, _) => None,
            (false, true) => Some(before),
            (false, false) => self.fallback,
        };
        change(from, to)
    }

    /// Processes PATH_CHALLENGE in a packet received on this path. Returns whether it is the active
    /// path. In that case a non-probing packet is sent too, so that the peer sees this end's
    /// address (section 9.3.3).
    pub fn on_challenge(&mut self, id: PathId, data: [u8; 8]) -> bool {
        if let Some(path) = self.get_mut(id) {
            path.on_challenge(data);
        }
        id == self.active
    }

    /// Processes PATH_RESPONSE, on any path (section 8.2.3). A response that matches no challenge
    /// is ignored, since its challenge may be forgotten.
    pub fn on_response(&mut self, now: Time, pto: Duration, data: &[u8; 8]) -> Option<Event> {
        let answered = self.paths.iter_mut().find_map(|(id, path)| {
            let answers = path.on_response(now, pto, data);
            answers.then_some(*id)
        })?;
        if answered == self.active {
            self.fallback = None;
        }
        Some(Event::Validated(answered))
    }

    /// Returns the time of the next timeout.
    pub fn timer(&self) -> Time {
        self.paths.iter().map(|(_, path)| path.timer()).min().unwrap_or(Time::NEVER)
    }

    /// Handles timeouts. Returns failed validations, one at a time. [`Path::next_challenge`] returns
    /// challenges that are due.
    pub fn on_timer(&mut self, now: Time) -> Option<Event> {
        let failed = self.paths.iter_mut().find_map(|(id, path)| path.on_timer(now).then_some(*id))?;
        let path = self.get(failed)?;
        let from = path.addresses();
        // An address stays validated. If it does not answer, loss recovery handles that.
        if path.is_validated() || failed != self.active {
            return Some(Event::Abandoned(failed));
        }
        let Some(back) = self.fallback.take() else { return Some(Event::NoPath) };
        self.paths.retain(|(id, _)| *id != failed);
        self.active = back;
        Some(Event::Reverted(back, change(from, self.active().addresses())))
    }
}
