//! All paths of a connection: which is used, where the peer has moved to, where to go back to (RFC 9000 section 9).

use units::{Duration, Time};

use super::validation::{Addresses, Challenge, Path};
use crate::level::Side;
use crate::random::Random;

/// How many paths are known at once: the one in use, the one to go back to, two more.
pub const MAX_PATHS: usize = 4;

/// A path, counted from 0 over the connection; numbers are not used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PathId(pub u64);

/// What is different about the path in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// A port alone: most likely a NAT has rebound. Controller and RTT stay (section 9.4).
    Port,
    /// An address: controller, RTT and ECN begin anew (sections 9.4, 13.4.2).
    Address,
}

/// Where a packet came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// The path in use, or another that is known; nothing changes.
    Known(PathId),
    /// A new path, which the peer probes or on which an old packet came late: what must be answered there is, all else goes on as before.
    New(PathId),
    /// The peer has moved: this is the path in use now.
    Moved(PathId, Change),
    /// Nobody may come from there now: the packet is dropped.
    Refused,
}

/// What a timer or a response brought about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The peer is there.
    Validated(PathId),
    /// It is not, and nothing hangs on it: the path was not in use.
    Abandoned(PathId),
    /// It is not: packets go where they went before (section 9.3.2).
    Reverted(PathId, Change),
    /// It is not, and there is nowhere to go back to: the connection is given up without a word (section 9.3.2).
    NoPath,
}

/// The paths of one connection, at most four.
#[derive(Clone, Debug)]
pub struct Paths {
    side: Side,
    /// In the order in which they came up.
    paths: Vec<(PathId, Path)>,
    active: PathId,
    /// The last one whose address was validated, while the one in use is not.
    fallback: Option<PathId>,
    next: u64,
    /// The largest packet number but those of probes.
    largest: Option<u64>,
    confirmed: bool,
}

fn change(from: Addresses, to: Addresses) -> Change {
    let same = from.remote.ip() == to.remote.ip() && from.local.ip() == to.local.ip();
    if same { Change::Port } else { Change::Address }
}

impl Paths {
    /// With the path of the first packet. To a client its server's address is a validated one; a server's limit lifts as section 8.1 says.
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

    /// The handshake is confirmed: the peer may move (section 9).
    pub const fn confirm(&mut self) {
        self.confirmed = true;
    }

    /// Which path is in use.
    pub const fn active_id(&self) -> PathId {
        self.active
    }

    /// The path in use.
    pub fn active(&self) -> &Path {
        self.get(self.active).expect("the path in use is known")
    }

    /// The same, to be changed.
    pub fn active_mut(&mut self) -> &mut Path {
        self.get_mut(self.active).expect("the path in use is known")
    }

    /// A path; none once it was forgotten.
    pub fn get(&self, id: PathId) -> Option<&Path> {
        self.paths.iter().find(|(known, _)| *known == id).map(|(_, path)| path)
    }

    /// The same, to be changed.
    pub fn get_mut(&mut self, id: PathId) -> Option<&mut Path> {
        self.paths.iter_mut().find(|(known, _)| *known == id).map(|(_, path)| path)
    }

    /// The path with these ends.
    pub fn find(&self, addresses: Addresses) -> Option<PathId> {
        self.paths.iter().find(|(_, path)| path.addresses() == addresses).map(|(id, _)| *id)
    }

    /// No path is known but the one in use.
    pub const fn is_only_one(&self) -> bool {
        self.paths.len() == 1
    }

    /// Every path that is known.
    pub fn iter(&self) -> impl Iterator<Item = (PathId, &Path)> + '_ {
        self.paths.iter().map(|(id, path)| (*id, path))
    }

    /// A datagram came whose packets are not opened yet: its bytes count where the path is known. Nothing is kept of any other.
    pub fn on_datagram(&mut self, addresses: Addresses, bytes: u64) {
        if let Some(path) = self.find(addresses).and_then(|id| self.get_mut(id)) {
            path.on_received(bytes);
        }
    }

    /// A packet with this number was opened, in a datagram of so many bytes; `probing`: it has nothing but probing frames (section 9.1).
    ///
    /// The peer has moved when the packet has the largest number of those that are no probes (section 9.3). Then the new path is asked
    /// whether the peer is there, unless that is known, and the old one too: somebody may have copied packets from a third place
    /// (section 9.3.3).
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
        // Clients believe their server's address alone, and nobody moves during the handshake (section 9).
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
            self.paths.remove(oldest.expect("more than the two that are needed"));
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

    /// PATH_CHALLENGE in a packet that came on this path. Says whether it is the path in use: then something else than a probe is sent
    /// too, so that the peer sees where this end is (section 9.3.3).
    pub fn on_challenge(&mut self, id: PathId, data: [u8; 8]) -> bool {
        if let Some(path) = self.get_mut(id) {
            path.on_challenge(data);
        }
        id == self.active
    }

    /// PATH_RESPONSE, on whatever path it came (section 8.2.3). One that answers nothing is ignored: its challenge may be forgotten.
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

    /// A PATH_CHALLENGE that is due, and the path to send it on.
    pub fn next_challenge(
        &mut self,
        now: Time,
        pto: Duration,
        random: &mut Random,
    ) -> Option<(PathId, Challenge)> {
        self.paths
            .iter_mut()
            .find_map(|(id, path)| path.next_challenge(now, pto, random).map(|challenge| (*id, challenge)))
    }

    /// A PATH_RESPONSE that waits, and the path to send it on; the path in use comes first.
    pub fn next_response(&mut self) -> Option<(PathId, [u8; 8])> {
        let active = self.active;
        if let Some(data) = self.active_mut().next_response() {
            return Some((active, data));
        }
        self.paths.iter_mut().find_map(|(id, path)| path.next_response().map(|data| (*id, data)))
    }

    /// When something is due.
    pub fn timer(&self) -> Time {
        self.paths.iter().map(|(_, path)| path.timer()).min().unwrap_or(Time::NEVER)
    }

    /// The time has come: what has failed, one at a time. Challenges that are due are in [`next_challenge`](Self::next_challenge).
    pub fn on_timer(&mut self, now: Time) -> Option<Event> {
        let failed = self.paths.iter_mut().find_map(|(id, path)| path.on_timer(now).then_some(*id))?;
        let path = self.get(failed)?;
        let from = path.addresses();
        // An address that was validated before stays one; that it does not answer is for loss recovery.
        if path.is_validated() || failed != self.active {
            return Some(Event::Abandoned(failed));
        }
        let Some(back) = self.fallback.take() else { return Some(Event::NoPath) };
        self.paths.retain(|(id, _)| *id != failed);
        self.active = back;
        Some(Event::Reverted(back, change(from, self.active().addresses())))
    }
}
