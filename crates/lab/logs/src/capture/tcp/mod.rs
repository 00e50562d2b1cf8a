//! Connections of TCP.

mod connection;
mod segment;

use std::collections::BTreeMap;
use std::net::SocketAddr;

use quic::Side;

use super::ip;
use super::origin::{self, Origin, Path, oldest};
use super::view::{self, End, File, View};
use crate::event::{About, Gap, Protocol, Sink, Source};
use connection::Connection;
use segment::Segment;

/// Interface, device, and the two ends in order.
type Key = (u32, u32, Path);

/// Connections that are open.
#[derive(Debug, Default)]
pub(super) struct Tcp(BTreeMap<Key, Connection>);

impl Tcp {
    /// Receives an IP packet with TCP. Returns false if it is of no connection.
    pub(super) fn packet(
        &mut self,
        packet: &ip::Packet<'_>,
        origin: &Origin<'_>,
        most: usize,
        sink: &mut dyn Sink,
    ) -> bool {
        let Some((source, destination)) = origin::ends(packet) else { return false };
        let key = (origin.interface, origin.device, origin::path(source, destination));
        let is_lower = key.2.0 == source;
        let Some(segment) = Segment::parse(packet.payload, packet.length) else {
            let known = self.0.get_mut(&key);
            return known.map(|connection| connection.view.cut += 1).is_some();
        };
        let side = |client_is_lower| if is_lower == client_is_lower { Side::Client } else { Side::Server };
        let old = self.0.get(&key).map(|old| old.is_other(side(old.client_is_lower), &segment));
        if old == Some(true)
            && let Some(mut old) = self.0.remove(&key)
        {
            old.close(End::Replaced, origin.file, sink);
        }
        if old != Some(false) {
            // A RST alone is the answer to a connection that never was.
            if segment.rst {
                return true;
            }
            self.make_room(most, origin.file, sink);
            let connection = open(source, destination, is_lower, &segment, origin, sink);
            self.0.insert(key, connection);
        }
        if let Some(connection) = self.0.get_mut(&key) {
            connection.on_segment(side(connection.client_is_lower), &segment, packet, origin, sink);
        }
        true
    }

    /// Closes the connections that have been idle longest, if there are too many.
    fn make_room(&mut self, most: usize, file: &File, sink: &mut dyn Sink) {
        if self.0.len() >= most {
            let all =
                self.0.iter().map(|(key, connection)| ((!connection.view.ended, connection.view.last), *key));
            for key in oldest(all) {
                if let Some(mut connection) = self.0.remove(&key) {
                    connection.close(End::Crowded(most), file, sink);
                }
            }
        }
    }

    pub(super) fn close(&mut self, file: &File, sink: &mut dyn Sink) {
        std::mem::take(&mut self.0)
            .values_mut()
            .for_each(|connection| connection.close(End::File, file, sink));
    }
}

/// Opens the connection of a segment.
fn open(
    source: SocketAddr,
    destination: SocketAddr,
    is_lower: bool,
    segment: &Segment,
    origin: &Origin<'_>,
    sink: &mut dyn Sink,
) -> Connection {
    let from = match (segment.syn, segment.ack) {
        (true, None) => Side::Client,
        (true, Some(_)) => Side::Server,
        _ => view::is_client(source.port(), destination.port()),
    };
    let (client, server) = if from == Side::Client { (source, destination) } else { (destination, source) };
    let about = About {
        name: format!("{client} to {server}{}", origin.place()),
        identity: identity(segment),
        protocol: Protocol::Tcp,
        source: Source::Capture,
        vantage: None,
        controller: None,
        parameters: None,
        program: None,
    };
    let from_syn = segment.syn && from == Side::Client;
    let mut view = View::open(about, origin.file, sink);
    if !from_syn {
        view.at(origin.at, origin.file);
        view.gap(sink, Gap::BeginsLater);
    }
    Connection::new(view, from_syn, (from == Side::Client) == is_lower)
}

/// Returns the identity of a connection: the client's first sequence number and timestamp, which
/// address translation keeps.
fn identity(segment: &Segment) -> String {
    let (value, echo) = segment.timestamps.unwrap_or_default();
    match (segment.syn, segment.ack) {
        (true, None) => format!("{:08x}{value:08x}", segment.seq),
        (true, Some(ack)) => format!("{:08x}{echo:08x}", ack.wrapping_sub(1)),
        _ => String::new(),
    }
}
