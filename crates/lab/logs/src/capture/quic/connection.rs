//! One connection of QUIC, seen at one interface or more.

use std::net::SocketAddr;

use quic::passive::{self, KeyLog, Part, Session};
use quic::wire::ConnectionId;
use quic::{Level, Side, Space};
use units::{Duration, Ecn, Time};

use super::datagram::Datagram;
use super::header::{Header, SPIN};
use super::numbers::Numbers;
use crate::capture::origin::{Origin, Path};
use crate::capture::view::{End, File, View};
use crate::event::{About, Ack, Control, Event, Gap, Packet, Parameters, Protocol, Sink, Source};

/// Largest IP packet of an Ethernet, in bytes. Larger ones are datagrams that offload joined, or
/// the packets of links without that limit.
const ETHERNET: u32 = 1500;
/// Sizes of joined datagrams that are tried, in bytes. A decrypted packet tells the right one.
const SIZES: std::ops::RangeInclusive<usize> = 1200..=1500;
/// Number of datagrams that wait until the keys are found or missed.
const HELD: usize = 8;
/// Largest number of interfaces that see one connection.
const POINTS: usize = 64;
/// `ack_delay_exponent` if it is not known (RFC 9000 section 18.2).
const EXPONENT: u64 = 3;

/// Datagram that was decrypted, with all that an event needs.
#[derive(Debug)]
struct Seen {
    at: Option<Time>,
    interface: (u32, u32),
    place: String,
    from: Side,
    ecn: Ecn,
    wire: u32,
    /// Size of the payload, in bytes.
    length: u32,
    is_cut: bool,
    is_fragment: bool,
    /// Size of the IP packet that joins this datagram with others.
    joined: Option<u32>,
    level: Option<Level>,
    spin: Option<bool>,
    parts: Vec<Part>,
}

/// Connection at one interface.
struct Point {
    interface: (u32, u32),
    view: View,
    told: [bool; 2],
    /// Spin bit of each end, and the time of its last change.
    spins: [Option<(bool, Time)>; 2],
    /// Packet numbers of each end's 1-RTT packets. `None` if the beginning is not captured.
    numbers: Option<[Numbers; 2]>,
}

pub(super) struct Connection {
    session: Session,
    client: SocketAddr,
    server: SocketAddr,
    identity: String,
    begins_later: bool,
    /// Events wait here until it is known whether there are keys.
    held: Vec<Seen>,
    source: Option<Source>,
    points: Vec<Point>,
    /// Size of the datagrams of each end that offload joins.
    joined_sizes: [usize; 2],
    pub(super) ids: Vec<ConnectionId>,
    pub(super) paths: Vec<Path>,
    pub(super) last: Time,
}

impl Connection {
    pub(super) fn new(
        session: Session,
        client: SocketAddr,
        server: SocketAddr,
        first_id: Option<&[u8]>,
    ) -> Self {
        Self {
            session,
            client,
            server,
            identity: first_id.unwrap_or_default().iter().map(|byte| format!("{byte:02x}")).collect(),
            begins_later: first_id.is_none(),
            held: Vec::new(),
            source: None,
            points: Vec::new(),
            joined_sizes: [0; 2],
            ids: Vec::new(),
            paths: Vec::new(),
            last: Time::ZERO,
        }
    }

    /// Reports whether the connection has ended wherever it was seen.
    pub(super) fn has_ended(&self) -> bool {
        self.points.iter().all(|point| point.view.ended)
    }

    pub(super) fn id_len(&self, side: Side) -> usize {
        self.session.id_len(side)
    }

    /// Receives a datagram. Returns connection IDs that its sender has chosen.
    pub(super) fn on_datagram(
        &mut self,
        from: Side,
        datagram: &Datagram<'_>,
        header: &Header,
        origin: &Origin<'_>,
        log: &KeyLog,
        sink: &mut dyn Sink,
    ) -> Vec<ConnectionId> {
        self.last = self.last.max(origin.file.last);
        let interface = (origin.interface, origin.device);
        let known = self.points.iter().position(|point| point.interface == interface);
        let point = known.unwrap_or(self.points.len()).min(POINTS);
        let is_large = datagram.wire > ETHERNET && !origin.is_loopback;
        let size = if is_large { self.joined_size(point, from, datagram, log) } else { None };
        // One large datagram that can be decrypted is a packet of a link without Ethernet's limit.
        let is_whole = size.is_none() && !datagram.is_cut && self.source == Some(Source::Capture);
        let joined = (is_large && !is_whole).then_some(datagram.wire);
        let chunks = datagram.payload.chunks(size.unwrap_or(datagram.payload.len().max(1)));
        let mut ids = Vec::new();
        for chunk in chunks {
            let parts = match datagram.is_cut {
                true => Vec::new(),
                false => self.session.read(log, point, from, chunk),
            };
            ids.extend(parts.iter().flat_map(chosen));
            let length = if size.is_some() { chunk.len() as u32 } else { datagram.length };
            let first = chunk.first().copied().unwrap_or(0);
            let seen = Seen {
                at: origin.at,
                interface,
                place: origin.place(),
                from,
                ecn: datagram.ecn,
                wire: datagram.wire.saturating_sub(datagram.length) + length,
                length,
                is_cut: datagram.is_cut,
                is_fragment: datagram.is_fragment,
                joined,
                level: header.level(),
                spin: matches!(header, Header::Short).then_some(first & SPIN != 0),
                parts,
            };
            self.tell(seen, origin.file, log, sink);
        }
        ids
    }

    /// Tells the events of a datagram, or holds them back until the source is known.
    fn tell(&mut self, seen: Seen, file: &File, log: &KeyLog, sink: &mut dyn Sink) {
        self.source = self.source.or_else(|| self.find_source(log));
        match self.source {
            None => self.held.push(seen),
            Some(source) => {
                self.release(source, file, sink);
                self.emit(&seen, source, file, sink);
            }
        }
    }

    /// Returns the size of the datagrams that offload joined into one, all but the last of the same
    /// size. Returns `None` if it is one datagram, or if no size gives packets that can be
    /// decrypted.
    fn joined_size(
        &mut self,
        point: usize,
        from: Side,
        datagram: &Datagram<'_>,
        log: &KeyLog,
    ) -> Option<usize> {
        if datagram.is_cut || self.source != Some(Source::Capture) {
            return None;
        }
        let mut opens = |bytes: &[u8]| {
            let parts = self.session.read(log, point, from, bytes);
            matches!(parts.last(), Some(Part::Protected { packet: Some(_), .. }))
        };
        if opens(datagram.payload) {
            return None;
        }
        let last = self.joined_sizes[from as usize];
        let size = std::iter::once(last).chain(SIZES).find(|size| {
            let first = datagram.payload.get(..*size).filter(|first| !first.is_empty());
            first.is_some_and(&mut opens)
        })?;
        self.joined_sizes[from as usize] = size;
        Some(size)
    }

    /// Returns the source of events, once it is known whether there are keys.
    fn find_source(&self, log: &KeyLog) -> Option<Source> {
        let random = self.session.random();
        let secrets = random.and_then(|random| log.secrets(&random));
        let is_last = self.held.len() >= HELD || self.begins_later || log.is_empty();
        match secrets {
            Some(secrets) if secrets.application(Side::Client).is_some() => Some(Source::Capture),
            // A ClientHello after a Retry may have another random.
            _ if is_last || self.session.suite().is_some() => Some(Source::Encrypted),
            _ => None,
        }
    }

    fn release(&mut self, source: Source, file: &File, sink: &mut dyn Sink) {
        for seen in std::mem::take(&mut self.held) {
            self.emit(&seen, source, file, sink);
        }
    }

    pub(super) fn close(&mut self, end: End, file: &File, sink: &mut dyn Sink) {
        self.release(self.source.unwrap_or(Source::Encrypted), file, sink);
        for point in &mut self.points {
            [Side::Client, Side::Server].iter().for_each(|from| point.check(*from, &[], sink));
            point.view.close(end, file, sink);
        }
    }

    /// Returns the index of an interface, and opens the connection there if it is new.
    fn point(&mut self, seen: &Seen, source: Source, file: &File, sink: &mut dyn Sink) -> usize {
        if let Some(known) = self.points.iter().position(|point| point.interface == seen.interface) {
            return known;
        }
        if self.points.len() == POINTS {
            return POINTS - 1;
        }
        let about = About {
            name: format!("{} to {}{}", self.client, self.server, seen.place),
            identity: self.identity.clone(),
            protocol: Protocol::Quic,
            source,
            vantage: None,
            controller: None,
            parameters: None,
            program: None,
        };
        let mut view = View::open(about, file, sink);
        if self.begins_later {
            view.at(seen.at, file);
            view.gap(sink, Gap::BeginsLater);
        }
        let numbers = (!self.begins_later).then(Default::default);
        let (interface, told, spins) = (seen.interface, [false; 2], [None; 2]);
        self.points.push(Point { interface, view, told, spins, numbers });
        self.points.len() - 1
    }

    fn emit(&mut self, seen: &Seen, source: Source, file: &File, sink: &mut dyn Sink) {
        let index = self.point(seen, source, file, sink);
        let Some(point) = self.points.get_mut(index) else { return };
        let at = point.view.at(seen.at, file);
        point.view.cut += u64::from(seen.is_cut);
        point.view.fragments += u64::from(seen.is_fragment);
        if !self.begins_later && !point.view.vantage.has_handshake() {
            point.view.vantage.on_handshake(seen.from, at);
        } else if point.view.vantage.is_open() {
            point.observe_vantage(seen, at);
        }
        point.view.tell_vantage(sink);
        seen.joined.into_iter().for_each(|bytes| point.view.joined(sink, bytes));
        if seen.is_cut {
            point.view.emit(sink, &Event::Packet(sealed(seen, seen.level, seen.length, seen.wire)));
        }
        let exponent = self.session.parameters(seen.from).map_or(EXPONENT, |all| all.ack_delay_exponent);
        let mut wire = seen.wire;
        for part in &seen.parts {
            point.part(seen, part, exponent, std::mem::take(&mut wire), sink);
        }
        for side in [Side::Client, Side::Server] {
            if let Some(all) = self.session.parameters(side).filter(|_| !point.told[side as usize]) {
                point.told[side as usize] = true;
                let idle = Duration::from_millis(all.max_idle_timeout);
                let parameters = Parameters {
                    max_ack_delay: Some(Duration::from_millis(all.max_ack_delay)),
                    initial_max_data: Some(all.initial_max_data),
                    max_udp_payload_size: Some(all.max_udp_payload_size),
                    idle_timeout: (all.max_idle_timeout > 0).then_some(idle),
                };
                point.view.emit(sink, &Event::Parameters { from: side, parameters });
            }
        }
    }
}

/// Returns the connection IDs that the sender of a packet chose for itself.
fn chosen(part: &Part) -> Vec<ConnectionId> {
    match part {
        Part::Retry(source) => vec![*source],
        Part::Protected { source, packet, .. } => {
            let new = packet.iter().flat_map(|packet| &packet.new_ids).map(|new| new.0);
            [*source].into_iter().filter(|id| !id.is_empty()).chain(new).collect()
        }
        Part::Reset | Part::Other => Vec::new(),
    }
}

/// Returns the event of a packet whose contents are not known.
fn sealed(seen: &Seen, level: Option<Level>, bytes: u32, wire: u32) -> Packet<'static> {
    Packet {
        from: seen.from,
        space: level.map_or(Space::Initial, Level::space),
        number: None,
        bytes,
        wire: Some(wire),
        ack_eliciting: false,
        in_flight: false,
        ecn: Some(seen.ecn),
        pieces: &[],
        acks: &[],
        limit: None,
        timestamps: None,
        spin: seen.spin,
        control: if level == Some(Level::Initial) { Control::Opens } else { Control::None },
    }
}

impl Point {
    /// Tells the events of one packet of a datagram.
    fn part(&mut self, seen: &Seen, part: &Part, exponent: u64, wire: u32, sink: &mut dyn Sink) {
        let (level, bytes, spin, packet) = match part {
            Part::Protected { level, bytes, spin, packet, .. } => (*level, *bytes, *spin, packet.as_ref()),
            Part::Retry(_) => {
                let packet = sealed(seen, None, seen.length, wire);
                return self.view.emit(sink, &Event::Packet(packet));
            }
            Part::Reset => {
                self.view.ended = true;
                let packet = sealed(seen, Some(Level::OneRtt), seen.length, wire);
                return self.view.emit(sink, &Event::Packet(Packet { control: Control::Resets, ..packet }));
            }
            // Bytes behind the last packet of a datagram.
            Part::Other if wire == 0 => return self.view.undecrypted += 1,
            Part::Other => {
                self.view.undecrypted += 1;
                return self.view.emit(sink, &Event::Packet(sealed(seen, seen.level, seen.length, wire)));
            }
        };
        let unknown = Packet { spin, ..sealed(seen, Some(level), bytes, wire) };
        let Some(packet) = packet else {
            self.view.undecrypted += 1;
            return self.view.emit(sink, &Event::Packet(unknown));
        };
        let is_application = level.space() == Space::Application;
        if is_application {
            self.numbers.iter_mut().for_each(|all| all[seen.from as usize].on_packet(packet.number));
            packet.acks.iter().for_each(|ack| self.check(seen.from, &ack.ranges, sink));
        }
        let exponent = if is_application { exponent } else { EXPONENT };
        let acks: Vec<Ack> = packet.acks.iter().map(|ack| convert(ack, exponent)).collect();
        self.view.ended |= packet.connection_close;
        let event = Event::Packet(Packet {
            number: Some(packet.number),
            ack_eliciting: packet.ack_eliciting,
            in_flight: packet.in_flight,
            pieces: &packet.pieces,
            acks: &acks,
            limit: packet.max_data,
            control: if packet.connection_close { Control::Ends } else { unknown.control },
            ..unknown
        });
        self.view.emit(sink, &event);
    }

    /// Reports packets that an ACK proves to be missing.
    fn check(&mut self, from: Side, acknowledged: &[(u64, u64)], sink: &mut dyn Sink) {
        let numbers = self.numbers.as_mut().map(|all| &mut all[from.peer() as usize]);
        if numbers.is_some_and(|numbers| numbers.on_ack(acknowledged) > 0) {
            self.view.gap(sink, Gap::Missed(None));
        }
    }

    /// Measures how fast the ends answer: by ACKs, or by the spin bit, which the server reflects
    /// and the client inverts (RFC 9000 section 17.4).
    fn observe_vantage(&mut self, seen: &Seen, at: Time) {
        let mut has_contents = false;
        for part in &seen.parts {
            let Part::Protected { packet: Some(packet), .. } = part else { continue };
            has_contents = true;
            if packet.level.space() == Space::Application {
                let largest = packet.acks.iter().filter_map(passive::Ack::largest).max();
                largest.into_iter().for_each(|number| self.view.vantage.on_answer(seen.from, number, at));
                self.view.vantage.on_sent(seen.from, packet.number, at);
            }
        }
        let Some(spin) = seen.spin.filter(|_| !has_contents) else { return };
        if self.spins[seen.from as usize].is_some_and(|last| last.0 == spin) {
            return;
        }
        self.spins[seen.from as usize] = Some((spin, at));
        if let Some((_, since)) = self.spins[seen.from.peer() as usize] {
            self.view.vantage.sample(seen.from, at.since(since));
        }
    }
}

fn convert(ack: &passive::Ack, exponent: u64) -> Ack {
    let microseconds = u128::from(ack.delay) << exponent.min(20);
    let delay = u64::try_from(microseconds.saturating_mul(1000)).unwrap_or(u64::MAX);
    Ack {
        ranges: ack.ranges.iter().rev().copied().collect(),
        cumulative: None,
        selective: Vec::new(),
        delay: Some(Duration(delay)),
    }
}
