//! The reader beside the truth: two of our own endpoints in virtual time, a link that loses, and taps that say what really was.
#![cfg(target_os = "linux")]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use kneepoint_programs::reader::{Arrivals, Datagram, Flight, KeyLog, Packet, Place, Reader};
use quic::config::{EndpointConfig, RetryPolicy};
use quic::connection::{Arrival, Event, Observation, Settings, Tap};
use quic::crypto::tls::{Ciphers, ClientConfig, Identity, ServerConfig, Trust};
use quic::crypto::{ClientCrypto, ServerCrypto};
use quic::endpoint::{Endpoint, EndpointSettings, Handle};
use quic::streams::{Read, StreamEvent, pattern};
use quic::wire::Direction;
use quic::{Level, Side};
use recovery::SpaceId;
use units::{Duration, Ecn, Rng, Time};

const ENDS: [&str; 2] = ["10.0.0.1:4000", "10.0.0.2:443"];
const DELAY: Duration = Duration::from_millis(20);
/// Nanoseconds a byte takes: 10 Mbit/s.
const BYTE: u64 = 800;
const QUEUE: usize = 30;

/// What an end said of itself.
#[derive(Default)]
struct Truth {
    sent: Vec<(Time, Level, u64, u64)>,
    received: Vec<(Time, Level, u64)>,
    rtts: Vec<(Time, Duration)>,
    lost: Vec<u64>,
    spurious: Vec<u64>,
    generation: u64,
}

struct Ear(Arc<Mutex<Truth>>);

impl Tap for Ear {
    fn on(&mut self, now: Time, what: &Observation<'_>) {
        let mut truth = self.0.lock().unwrap();
        match *what {
            Observation::Sent { level, number, bytes, .. } => truth.sent.push((now, level, number, bytes)),
            Observation::Received { level, number, .. } => truth.received.push((now, level, number)),
            Observation::Metrics { latest_rtt: Some(rtt), .. } => truth.rtts.push((now, rtt)),
            Observation::Lost { space: SpaceId::Application, number, .. } => truth.lost.push(number),
            Observation::Spurious { space: SpaceId::Application, number } => truth.spurious.push(number),
            Observation::Keys(generation) => truth.generation = generation,
            _ => {}
        }
    }
}

/// A datagram as the two interfaces of the emulator would have it.
struct Seen {
    at: Time,
    from: Side,
    place: Place,
    bytes: Vec<u8>,
}

struct Run {
    seen: Vec<Seen>,
    keys: String,
    truth: [Arc<Mutex<Truth>>; 2],
    /// What the client has received of the stream.
    bytes: u64,
}

struct World {
    now: Time,
    ends: [Endpoint; 2],
    handles: [Option<Handle>; 2],
    truth: [Arc<Mutex<Truth>>; 2],
    keys: String,
    seen: Vec<Seen>,
    flying: BTreeMap<(Time, u64), (usize, Vec<u8>)>,
    busy: [Time; 2],
    leaving: [Vec<Time>; 2],
    serial: u64,
    rng: Rng,
    loss: f64,
    received: u64,
    done: bool,
}

impl World {
    fn new(ciphers: Ciphers, retry: bool, loss: f64) -> (Self, ClientCrypto) {
        let identity = Identity::self_signed(&["server"]).unwrap();
        let alpn: &[&[u8]] = &[b"hq-interop"];
        let trust = Trust::Exactly(identity.chain[0].clone());
        let client = ClientCrypto::Tls(ClientConfig::new(trust, alpn, ciphers).unwrap());
        let server = ServerCrypto::Tls(ServerConfig::new(identity, alpn, ciphers).unwrap());
        let config = |is_server| EndpointConfig {
            accepts: is_server,
            key_log: !is_server,
            retry: if retry { RetryPolicy::Always } else { RetryPolicy::Never },
            ..EndpointConfig::default()
        };
        let end = |is_server: bool, crypto| {
            let settings =
                EndpointSettings { config: config(is_server), connection: Settings::default(), crypto };
            Endpoint::new(settings, 7 + u64::from(is_server)).unwrap()
        };
        let world = Self {
            now: Time::ZERO,
            ends: [end(false, None), end(true, Some(server))],
            handles: [None; 2],
            truth: Default::default(),
            keys: String::new(),
            seen: Vec::new(),
            flying: BTreeMap::new(),
            busy: [Time::ZERO; 2],
            leaving: Default::default(),
            serial: 0,
            rng: Rng::stream(3, "link"),
            loss,
            received: 0,
            done: false,
        };
        (world, client)
    }

    fn flush(&mut self) {
        let mut buffer = vec![0; 65_535];
        for from in [Side::Client, Side::Server] {
            let n = from as usize;
            while let Some(transmit) = self.ends[n].poll_transmit(self.now, &mut buffer) {
                let bytes = buffer[..transmit.len].to_vec();
                self.seen.push(Seen { at: self.now, from, place: Place::Leaving, bytes: bytes.clone() });
                self.leaving[n].retain(|at| *at > self.now);
                if self.rng.unit() < self.loss || self.leaving[n].len() >= QUEUE {
                    continue;
                }
                self.busy[n] = self.busy[n].max(self.now) + Duration(bytes.len() as u64 * BYTE);
                self.leaving[n].push(self.busy[n]);
                self.serial += 1;
                self.flying.insert((self.busy[n] + DELAY, self.serial), (n, bytes));
            }
        }
    }

    fn arrive(&mut self) {
        while let Some(entry) = self.flying.first_entry().filter(|entry| entry.key().0 <= self.now) {
            let (n, mut bytes) = entry.remove();
            let from = [Side::Client, Side::Server][n];
            self.seen.push(Seen { at: self.now, from, place: Place::Arriving, bytes: bytes.clone() });
            let [from, to] = [n, 1 - n].map(|end| ENDS[end].parse().unwrap());
            let arrival = Arrival { from, to, ecn: Ecn::NotEct, arrived: self.now, bytes: &mut bytes };
            self.ends[1 - n].handle(self.now, arrival);
        }
    }

    fn on_server(&mut self, handle: Handle, event: &Event) {
        match event {
            Event::Incoming => {
                self.ends[1].accept(handle);
                self.handles[1] = Some(handle);
                let ear = Box::new(Ear(Arc::clone(&self.truth[1])));
                self.ends[1].connection_mut(handle).unwrap().set_tap(ear);
            }
            Event::Stream(StreamEvent::Readable(id)) => {
                let connection = self.ends[1].connection_mut(handle).unwrap();
                let mut request = [0; 100];
                while let Ok(Read::Data(n)) = connection.read(self.now, *id, &mut request) {
                    let wanted = u64::from_be_bytes(request[..n].try_into().unwrap());
                    let mut data = vec![0; wanted as usize];
                    pattern::fill(0, &mut data);
                    assert_eq!(connection.write(*id, &data), Ok(data.len()));
                    connection.finish(*id).unwrap();
                }
            }
            _ => {}
        }
    }

    fn on_client(&mut self, wanted: u64, event: &Event) {
        let connection = self.ends[0].connection_mut(self.handles[0].unwrap()).unwrap();
        match event {
            Event::Secret(line) => self.keys += &format!("{line}\n"),
            Event::Connected => {
                let id = connection.open(Direction::Bidirectional).unwrap();
                connection.write(id, &wanted.to_be_bytes()).unwrap();
                connection.finish(id).unwrap();
            }
            Event::Stream(StreamEvent::Readable(id)) => {
                let mut out = [0; 65_536];
                loop {
                    match connection.read(self.now, *id, &mut out).unwrap() {
                        Read::Data(n) => self.received += n as u64,
                        Read::End => self.done = true,
                        _ => break,
                    }
                    if self.done {
                        break;
                    }
                }
            }
            _ => {}
        }
    }

    fn run(mut self, crypto: &ClientCrypto, wanted: u64, updates: u64) -> Run {
        let [client, server] = ENDS.map(|end| end.parse().unwrap());
        let handle = self.ends[0].connect(self.now, crypto, "server", (client, server), &[]).unwrap();
        self.handles[0] = Some(handle);
        let ear = Box::new(Ear(Arc::clone(&self.truth[0])));
        self.ends[0].connection_mut(handle).unwrap().set_tap(ear);
        let mut updated = 0;
        while !self.done && self.now < Time::from_millis(60_000) {
            self.flush();
            while let Some((handle, event)) = self.ends[1].poll_event() {
                self.on_server(handle, &event);
            }
            while let Some((_, event)) = self.ends[0].poll_event() {
                self.on_client(wanted, &event);
            }
            // Evenly over the transfer, from one end and from the other.
            if updated < updates && self.received > wanted / (updates + 1) * (updated + 1) {
                let end = (updated % 2) as usize;
                let handle = self.handles[end].unwrap();
                self.ends[end].connection_mut(handle).unwrap().request_key_update();
                updated += 1;
            }
            self.flush();
            let flying = self.flying.keys().next().map_or(Time::NEVER, |key| key.0);
            let next = self.ends.iter_mut().map(Endpoint::poll_timeout).fold(flying, Time::min);
            self.now = self.now.max(next);
            self.arrive();
            let now = self.now;
            self.ends.iter_mut().for_each(|end| end.handle_timeout(now));
        }
        assert!(self.done, "{} of {wanted} bytes", self.received);
        Run { seen: self.seen, keys: self.keys, truth: self.truth, bytes: self.received }
    }
}

/// What was read, each packet with where and when.
fn read(run: &Run) -> (Reader, Vec<(Time, Side, Place, Packet)>) {
    let mut reader = Reader::new(KeyLog::parse(&run.keys));
    let mut all = Vec::new();
    for Seen { at, from, place, bytes } in &run.seen {
        let datagram = Datagram { at: *at, from: *from, place: *place, payload: bytes };
        all.extend(reader.read(&datagram).into_iter().map(|packet| (*at, *from, *place, packet)));
    }
    (reader, all)
}

/// Every packet of both ends by time, level, number and size; every RTT sample of the sender; what arrived.
fn compare(run: &Run) {
    let (reader, packets) = read(run);
    let generations = run.truth.each_ref().map(|truth| truth.lock().unwrap().generation);
    println!("{} datagrams, {} packets, keys {generations:?}", run.seen.len(), reader.opened());
    assert_eq!(reader.unopened(), 0);
    for side in [Side::Client, Side::Server] {
        let truth = run.truth[side as usize].lock().unwrap();
        let sent: Vec<_> = packets
            .iter()
            .filter(|(_, from, place, _)| (*from, *place) == (side, Place::Leaving))
            .map(|(at, .., packet)| (*at, packet.level, packet.number, u64::from(packet.bytes)))
            .collect();
        // The server's first datagrams leave before somebody listens to it.
        let unheard = sent.len() - truth.sent.len();
        assert!(unheard <= if side == Side::Client { 2 } else { 6 }, "{unheard}");
        let other = sent[unheard..].iter().zip(&truth.sent).find(|(read, heard)| read != heard);
        assert_eq!(other, None, "{side:?}");
        // Packets that came twice, and those of keys that were gone, were not processed: each that was is here.
        let mut arrived =
            packets.iter().filter(|(_, from, place, _)| (*from, *place) == (side.peer(), Place::Arriving));
        let heard = |received: &(Time, Level, u64)| {
            arrived.any(|(at, .., packet)| (*at, packet.level, packet.number) == *received)
        };
        assert!(truth.received.iter().all(heard), "{side:?}");
    }
}

/// The server's flight as the wire tells it, and as the server knew it.
fn compare_flight(run: &Run) -> (usize, usize) {
    let (_, packets) = read(run);
    let (mut flight, mut arrivals) = (Flight::new(Side::Server), Arrivals::default());
    let (mut rtts, mut fresh, mut first, mut in_vain) = (Vec::new(), 0, 0, 0);
    let mut bare = BTreeSet::new();
    for (at, from, place, packet) in &packets {
        match (from, place) {
            (Side::Server, Place::Leaving) => {
                first += flight.on_departure(*at, packet).fresh;
                if !packet.in_flight {
                    bare.insert(packet.number);
                }
            }
            (Side::Client, Place::Arriving) => {
                let answered = flight.on_arrival(*at, packet);
                // RFC 9002 section 5.1 asks for one newly acknowledged packet that elicited the ACK, which need not be the largest. Our
                // endpoint keeps no times of packets that are not in flight, and takes no sample where the largest is one.
                let of_bare =
                    packet.acks.iter().any(|ack| ack.largest().is_some_and(|pn| bare.contains(&pn)));
                rtts.extend(answered.rtt.filter(|_| !of_bare).map(|rtt| (*at, rtt)));
                in_vain += answered.in_vain;
            }
            (Side::Server, Place::Arriving) => fresh += arrivals.take(packet).fresh,
            (Side::Client, Place::Leaving) => {}
        }
    }
    assert_eq!((fresh, first), (run.bytes, run.bytes));
    assert!(arrivals.is_complete(0));
    let truth = run.truth[1].lock().unwrap();
    // The first samples are of the handshake, before somebody listens to the server.
    rtts.retain(|(at, _)| *at >= truth.rtts[0].0);
    assert!(truth.rtts[0].0 < Time::from_millis(1000));
    let other = rtts.iter().zip(&truth.rtts).find(|(read, heard)| read != heard);
    assert_eq!((other, rtts.len()), (None, truth.rtts.len()));
    let lost: Vec<u64> = flight.lost().map(|(number, _)| number).collect();
    let declared: Vec<u64> =
        truth.lost.iter().filter(|number| !truth.spurious.contains(number)).copied().collect();
    // Each was declared lost, and all that were declared lost and not acknowledged later had their data sent again.
    assert_eq!(lost, declared, "{in_vain} repeated in vain");
    (rtts.len(), lost.len())
}

#[test]
fn a_transfer_with_losses_at_the_queue() {
    let (world, crypto) = World::new(Ciphers::Aes128Gcm, false, 0.0);
    let run = world.run(&crypto, 3_000_000, 0);
    compare(&run);
    let (rtts, lost) = compare_flight(&run);
    println!("{rtts} RTT samples, {lost} packets lost");
    assert!(rtts > 500 && lost > 10);
}

#[test]
fn all_ciphers_and_random_losses_both_ways() {
    for ciphers in [Ciphers::All, Ciphers::Aes128Gcm, Ciphers::ChaCha20Poly1305] {
        let (world, crypto) = World::new(ciphers, false, 0.02);
        let run = world.run(&crypto, 400_000, 0);
        compare(&run);
        compare_flight(&run);
    }
}

#[test]
fn key_updates_from_both_ends() {
    let (world, crypto) = World::new(Ciphers::All, false, 0.01);
    let run = world.run(&crypto, 2_000_000, 3);
    compare(&run);
    compare_flight(&run);
    let generations = run.truth.each_ref().map(|truth| truth.lock().unwrap().generation);
    assert!(generations.iter().all(|generation| *generation >= 2), "{generations:?}");
}

#[test]
fn a_retry_changes_the_keys_of_initials() {
    let (world, crypto) = World::new(Ciphers::All, true, 0.0);
    let run = world.run(&crypto, 100_000, 0);
    let (reader, packets) = read(&run);
    assert_eq!(reader.unopened(), 0);
    assert!(packets.iter().any(|(.., packet)| packet.level == Level::OneRtt));
}

/// What the log does not have is counted, and nothing is invented.
#[test]
fn without_the_secrets_only_initials_are_read() {
    let (world, crypto) = World::new(Ciphers::All, false, 0.0);
    let mut run = world.run(&crypto, 50_000, 0);
    run.keys.clear();
    let (reader, packets) = read(&run);
    assert!(reader.unopened() > 50 && reader.suite().is_some());
    assert!(packets.iter().all(|(.., packet)| packet.level == Level::Initial));
}

/// Bits that a link has turned over, datagrams cut short, noise: no panic, and what is whole is read.
#[test]
fn damaged_datagrams() {
    let (world, crypto) = World::new(Ciphers::All, false, 0.0);
    let mut run = world.run(&crypto, 50_000, 0);
    let mut rng = Rng::stream(5, "damage");
    for seen in &mut run.seen {
        if seen.place == Place::Arriving && rng.unit() < 0.5 {
            let (place, cut) = (rng.below(seen.bytes.len() as u64), rng.below(seen.bytes.len() as u64));
            seen.bytes[place as usize] ^= 1 << rng.below(8);
            if rng.unit() < 0.5 {
                seen.bytes.truncate(cut as usize);
            }
        }
    }
    let (reader, packets) = read(&run);
    assert!(reader.unopened() > 10);
    let leaving = packets.iter().filter(|(_, _, place, _)| *place == Place::Leaving).count();
    assert_eq!(leaving as u64, reader.opened() - (packets.len() - leaving) as u64);
}
