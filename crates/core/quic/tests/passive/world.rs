//! Two of our own endpoints in virtual time, with taps, over a lossy link.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use ackclock_quic::config::{EndpointConfig, RetryPolicy};
use ackclock_quic::connection::{Arrival, Event, Observation, Settings, Tap};
use ackclock_quic::crypto::tls::{Ciphers, ClientConfig, Identity, ServerConfig, Trust};
use ackclock_quic::crypto::{ClientCrypto, ServerCrypto};
use ackclock_quic::endpoint::{Endpoint, EndpointSettings, Handle};
use ackclock_quic::passive::Place;
use ackclock_quic::streams::{Read, StreamEvent, pattern};
use ackclock_quic::wire::Direction;
use ackclock_quic::{Level, Side};
use recovery::SpaceId;
use units::{Duration, Ecn, Rng, Time};

const ENDS: [&str; 2] = ["10.0.0.1:4000", "10.0.0.2:443"];
const DELAY: Duration = Duration::from_millis(20);
/// Transmission time of a byte in nanoseconds: 10 Mbit/s.
const BYTE: u64 = 800;
const QUEUE: usize = 30;

/// Events that an end reported itself.
#[derive(Default)]
pub(crate) struct Truth {
    pub(crate) sent: Vec<(Time, Level, u64, u64)>,
    pub(crate) received: Vec<(Time, Level, u64)>,
    pub(crate) rtts: Vec<(Time, Duration)>,
    pub(crate) in_flight: Vec<(Time, u64)>,
    pub(crate) lost: Vec<u64>,
    pub(crate) spurious: Vec<u64>,
    pub(crate) generation: u64,
}

struct Recorder(Arc<Mutex<Truth>>);

impl Tap for Recorder {
    fn on(&mut self, now: Time, what: &Observation<'_>) {
        let mut truth = self.0.lock().unwrap();
        match *what {
            Observation::Sent { level, number, bytes, .. } => truth.sent.push((now, level, number, bytes)),
            Observation::Received { level, number, .. } => truth.received.push((now, level, number)),
            Observation::Metrics { latest_rtt, bytes_in_flight, .. } => {
                truth.rtts.extend(latest_rtt.map(|rtt| (now, rtt)));
                truth.in_flight.push((now, bytes_in_flight));
            }
            Observation::Lost { space: SpaceId::Application, number, .. } => truth.lost.push(number),
            Observation::Spurious { space: SpaceId::Application, number } => truth.spurious.push(number),
            Observation::Keys(generation) => truth.generation = generation,
            _ => {}
        }
    }
}

/// A datagram as the emulator's interfaces would capture it.
pub(crate) struct Seen {
    pub(crate) at: Time,
    pub(crate) from: Side,
    pub(crate) place: Place,
    pub(crate) bytes: Vec<u8>,
}

pub(crate) struct Run {
    pub(crate) seen: Vec<Seen>,
    pub(crate) keys: String,
    pub(crate) truth: [Arc<Mutex<Truth>>; 2],
    /// Bytes of the stream that the client has received.
    pub(crate) bytes: u64,
}

pub(crate) struct World {
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
    pub(crate) fn new(ciphers: Ciphers, retry: bool, loss: f64) -> (Self, ClientCrypto) {
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
                let recorder = Box::new(Recorder(Arc::clone(&self.truth[1])));
                self.ends[1].connection_mut(handle).unwrap().set_tap(recorder);
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

    pub(crate) fn run(mut self, crypto: &ClientCrypto, wanted: u64, updates: u64) -> Run {
        let [client, server] = ENDS.map(|end| end.parse().unwrap());
        let handle = self.ends[0].connect(self.now, crypto, "server", (client, server), &[]).unwrap();
        self.handles[0] = Some(handle);
        let recorder = Box::new(Recorder(Arc::clone(&self.truth[0])));
        self.ends[0].connection_mut(handle).unwrap().set_tap(recorder);
        let mut updated = 0;
        while !self.done && self.now < Time::from_millis(60_000) {
            self.flush();
            while let Some((handle, event)) = self.ends[1].poll_event() {
                self.on_server(handle, &event);
            }
            while let Some((_, event)) = self.ends[0].poll_event() {
                self.on_client(wanted, &event);
            }
            // Key updates are spread evenly over the transfer, and alternate between the ends.
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
