//! Connections of QUIC, by connection IDs and addresses.
//!
//! A datagram belongs to the connection whose end has chosen its Destination Connection ID. If no
//! end is known to have, it belongs to the connection that last used the same addresses and ports.

mod connection;
mod datagram;
mod header;
mod numbers;

use std::collections::BTreeMap;

use quic::passive::{KeyLog, Part, Session};
use quic::wire::ConnectionId;
use quic::{Level, Side};

use super::ip;
use super::origin::{self, Origin, Path, oldest};
use super::view::{self, End, File};
use crate::event::Sink;
use connection::Connection;
use datagram::Datagram;
use header::{Header, Long};

/// Port of HTTP/3. A capture that begins in the middle of a connection has nothing else to tell it.
const HTTPS: u16 = 443;
/// Largest numbers of IDs and addresses of one connection that are remembered.
const IDS: usize = 256;
const PATHS: usize = 16;
/// Smallest ID that tells connections apart, in bytes. Shorter ones may be counters, which the
/// connections of other hosts have as well.
const TELLING: usize = 4;

/// Connections that are open.
#[derive(Default)]
pub(super) struct Quic {
    connections: BTreeMap<u64, Connection>,
    next: u64,
    /// Connection of each ID, and the end that chose it.
    ids: BTreeMap<ConnectionId, (u64, Side)>,
    /// Number of IDs of each length.
    lengths: [u32; ConnectionId::MAX_LEN + 1],
    /// Connection that last used these addresses, and whether the client's is the lower one.
    paths: BTreeMap<Path, (u64, bool)>,
}

impl Quic {
    /// Receives an IP packet with UDP. Returns false if it is not known to be QUIC.
    pub(super) fn packet(
        &mut self,
        packet: &ip::Packet<'_>,
        origin: &Origin<'_>,
        log: &KeyLog,
        most: usize,
        sink: &mut dyn Sink,
    ) -> bool {
        let Some(datagram) = Datagram::parse(packet) else { return false };
        let Some(header) = Header::parse(datagram.payload) else { return false };
        let mut session = None;
        let (number, from) = match self.find(&datagram, &header) {
            Some(known) => known,
            None => {
                let Some((new, from, id)) = begin(&datagram, &header, log) else { return false };
                self.make_room(most, origin.file, sink);
                let (client, server) = match from {
                    Side::Client => (datagram.source, datagram.destination),
                    Side::Server => (datagram.destination, datagram.source),
                };
                let id_bytes = id.as_deref();
                let connection = Connection::new(new, client, server, id_bytes);
                self.next += 1;
                self.connections.insert(self.next, connection);
                id.into_iter().for_each(|id| self.add_id(self.next, id, Side::Server));
                session = Some(self.next);
                (self.next, from)
            }
        };
        self.add_path(number, from, &datagram);
        if let (Header::Long(long), true) = (&header, session.is_some() || datagram.is_cut) {
            self.add_id(number, long.source, from);
        }
        let Some(connection) = self.connections.get_mut(&number) else { return false };
        for id in connection.on_datagram(from, &datagram, &header, origin, log, sink) {
            self.add_id(number, id, from);
        }
        true
    }

    /// Returns the connection of a datagram and its sender.
    fn find(&self, datagram: &Datagram<'_>, header: &Header) -> Option<(u64, Side)> {
        let path = origin::path(datagram.source, datagram.destination);
        let by_path = self.paths.get(&path).map(|&(number, client_is_lower)| {
            let is_client = client_is_lower == (path.0 == datagram.source);
            (number, if is_client { Side::Client } else { Side::Server })
        });
        let by_id = |id: &ConnectionId| self.ids.get(id).map(|&(number, chooser)| (number, chooser.peer()));
        match header {
            Header::Short => self.find_short(datagram, by_path),
            Header::Long(long) if long.destination.len() < TELLING => {
                let by_source = by_id(&long.source).map(|(number, to)| (number, to.peer()));
                by_source.or(by_path)
            }
            Header::Long(long) => {
                let by_source = || by_id(&long.source).map(|(number, to)| (number, to.peer()));
                let known = by_id(&long.destination).or_else(by_source);
                // A client's first packets have an ID of their own, also from known addresses.
                let is_first = matches!(long.level, Some(Level::Initial | Level::ZeroRtt));
                known.or(by_path.filter(|_| !is_first))
            }
        }
    }

    /// Finds the connection of a short header, which does not tell the length of its ID.
    fn find_short(&self, datagram: &Datagram<'_>, by_path: Option<(u64, Side)>) -> Option<(u64, Side)> {
        let at = |length: usize| {
            let id = ConnectionId::new(datagram.payload.get(1..=length)?)?;
            self.ids.get(&id).map(|&(number, chooser)| (number, chooser.peer()))
        };
        if let Some((number, from)) = by_path {
            let length = self.connections.get(&number).map_or(0, |known| known.id_len(from.peer()));
            if length < TELLING {
                return by_path;
            }
            if let Some(found) = at(length) {
                return Some(found);
            }
        }
        let lengths = (TELLING..=ConnectionId::MAX_LEN).rev();
        let found = lengths.filter(|length| self.lengths[*length] > 0).find_map(at);
        found.or(by_path)
    }

    fn add_id(&mut self, number: u64, id: ConnectionId, chooser: Side) {
        let is_new = id.len() >= TELLING && !self.ids.contains_key(&id);
        let Some(connection) = self.connections.get_mut(&number).filter(|_| is_new) else { return };
        connection.ids.push(id);
        let oldest = (connection.ids.len() > IDS).then(|| connection.ids.remove(0));
        self.lengths[id.len()] += 1;
        self.ids.insert(id, (number, chooser));
        oldest.into_iter().for_each(|id| self.remove_id(&id));
    }

    fn remove_id(&mut self, id: &ConnectionId) {
        if self.ids.remove(id).is_some() {
            self.lengths[id.len()] -= 1;
        }
    }

    fn add_path(&mut self, number: u64, from: Side, datagram: &Datagram<'_>) {
        let path = origin::path(datagram.source, datagram.destination);
        let client_is_lower = (path.0 == datagram.source) == (from == Side::Client);
        if self.paths.get(&path) == Some(&(number, client_is_lower)) {
            return;
        }
        self.paths.insert(path, (number, client_is_lower));
        let Some(connection) = self.connections.get_mut(&number) else { return };
        if !connection.paths.contains(&path) {
            connection.paths.push(path);
        }
        if connection.paths.len() > PATHS {
            let old = connection.paths.remove(0);
            self.remove_path(number, &old);
        }
    }

    fn remove_path(&mut self, number: u64, path: &Path) {
        if self.paths.get(path).is_some_and(|known| known.0 == number) {
            self.paths.remove(path);
        }
    }

    /// Closes the connections that have been idle longest, if there are too many.
    fn make_room(&mut self, most: usize, file: &File, sink: &mut dyn Sink) {
        if self.connections.len() < most {
            return;
        }
        let all = self.connections.iter().map(|(number, known)| ((!known.has_ended(), known.last), *number));
        for number in oldest(all) {
            if let Some(mut connection) = self.connections.remove(&number) {
                connection.close(End::Crowded(most), file, sink);
                connection.ids.iter().for_each(|id| self.remove_id(id));
                connection.paths.iter().for_each(|path| self.remove_path(number, path));
            }
        }
    }

    pub(super) fn close(&mut self, file: &File, sink: &mut dyn Sink) {
        self.connections.values_mut().for_each(|connection| connection.close(End::File, file, sink));
        *self = Self::default();
    }
}

/// Begins a connection with a datagram of unknown IDs and addresses. Returns its keys, its sender
/// and, if this is its first datagram, the Destination Connection ID.
fn begin(
    datagram: &Datagram<'_>,
    header: &Header,
    log: &KeyLog,
) -> Option<(Session, Side, Option<ConnectionId>)> {
    let by_port = view::is_client(datagram.source.port(), datagram.destination.port());
    match header {
        Header::Short => {
            let is_https = [datagram.source, datagram.destination].iter().any(|end| end.port() == HTTPS);
            let is_likely = is_https && header::may_be_short(datagram.payload, datagram.length);
            is_likely.then(|| (Session::default(), by_port, None))
        }
        Header::Long(Long { is_negotiation: true, .. }) => None,
        Header::Long(long) if long.level == Some(Level::Initial) => {
            let is_first = is_first(datagram, log);
            let from = if is_first == Some(true) { Side::Client } else { by_port };
            let id = (from == Side::Client && is_first != Some(false)).then_some(long.destination);
            Some((Session::default(), from, id))
        }
        Header::Long(long) => {
            let from = if long.level == Some(Level::ZeroRtt) { Side::Client } else { by_port };
            Some((Session::default(), from, None))
        }
    }
}

/// Reports whether an Initial is the first one of a client, whose keys follow from its IDs. Returns
/// `None` if it was cut, or if the reader does not know the keys of its version.
fn is_first(datagram: &Datagram<'_>, log: &KeyLog) -> Option<bool> {
    if datagram.is_cut {
        return None;
    }
    let parts = Session::default().read(log, 0, Side::Client, datagram.payload);
    match parts.first()? {
        Part::Protected { packet, .. } => Some(packet.is_some()),
        _ => None,
    }
}
