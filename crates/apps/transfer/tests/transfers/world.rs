//! A server and clients in virtual time, with a served folder and a folder for downloads.

use std::collections::{BTreeMap, VecDeque};
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use ackclock_transfer::root::MAX_OPEN;
use ackclock_transfer::{Fetch, FetchConfig, FetchRequest, Protocol, Root, ServeConfig, Server};
use quic::config::Config;
use quic::connection::{Arrival, Settings};
use quic::crypto::{ClientCrypto, ServerCrypto};
use quic::endpoint::{Endpoint, EndpointSettings, Program};
use units::{Bytes, Duration, Rng, Time};

pub const BOTH: [Protocol; 2] = [Protocol::Http3, Protocol::Hq];

pub fn ms(ms: u64) -> Time {
    Time::from_millis(ms)
}

/// Returns pseudorandom bytes.
pub fn noise(len: usize, seed: u64) -> Vec<u8> {
    let mut rng = Rng::stream(seed, "noise");
    let mut out = vec![0; len];
    out.chunks_mut(8).for_each(|eight| {
        let bytes = rng.next_u64().to_le_bytes();
        eight.copy_from_slice(&bytes[..eight.len()]);
    });
    out
}

type Flying = (SocketAddr, SocketAddr, units::Ecn, Vec<u8>);

pub struct World {
    pub now: Time,
    pub dir: tempfile::TempDir,
    pub ends: [Endpoint; 2],
    pub server: Server,
    /// Programs that run next to the clients and instead of the server.
    pub others: [Option<Box<dyn Program>>; 2],
    pub clients: Vec<Fetch>,
    /// One-way delay.
    pub delay: Duration,
    pub loss: f64,
    rng: Rng,
    flying: BTreeMap<(Time, u64), Flying>,
    serial: u64,
    addresses: [SocketAddr; 2],
}

impl World {
    pub fn new(files: &[(&str, &[u8])], config: ServeConfig) -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("www")).unwrap();
        fs::create_dir(dir.path().join("downloads")).unwrap();
        for (name, bytes) in files {
            fs::write(dir.path().join("www").join(name), bytes).unwrap();
        }
        // A small buffer keeps files open while their first part arrives.
        let connection = Config { send_buffer: Bytes(256 << 10), ..Config::default() };
        let server = EndpointSettings {
            config: config.endpoint(&connection),
            connection: Settings::default(),
            crypto: Some(ServerCrypto::Plain { tag_len: 16 }),
        };
        let root = Root::open(&dir.path().join("www"), MAX_OPEN).unwrap();
        Self {
            now: Time::ZERO,
            ends: [client_endpoint(Protocol::Http3), Endpoint::new(server, 2).unwrap()],
            server: Server::new(config, root),
            others: [None, None],
            clients: Vec::new(),
            dir,
            delay: Duration::from_millis(10),
            loss: 0.0,
            rng: Rng::stream(1, "link"),
            flying: BTreeMap::new(),
            serial: 0,
            addresses: ["10.0.0.1:4000".parse().unwrap(), "10.0.0.2:443".parse().unwrap()],
        }
    }

    pub fn www(&self, name: &str) -> PathBuf {
        self.dir.path().join("www").join(name)
    }

    pub fn downloads(&self) -> PathBuf {
        self.dir.path().join("downloads")
    }

    pub fn out(&self, name: &str) -> PathBuf {
        self.downloads().join(name)
    }

    /// Returns the names of all files in the folder for downloads.
    pub fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.downloads()).unwrap();
        let mut all: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        all.sort();
        all
    }

    /// Starts a client that fetches all paths over one connection.
    pub fn fetch(&mut self, protocol: Protocol, paths: &[&str]) -> usize {
        let wanted = paths.iter().enumerate().map(|(number, path)| FetchRequest {
            number,
            authority: "server".to_owned(),
            path: (*path).to_owned(),
            range: None,
            out: self.out(Path::new(path).file_name().and_then(|name| name.to_str()).unwrap_or("none")),
        });
        let wanted = wanted.collect();
        self.fetch_all(protocol, wanted)
    }

    pub fn fetch_all(&mut self, protocol: Protocol, wanted: Vec<FetchRequest>) -> usize {
        if self.ends[0].is_empty() {
            self.ends[0] = client_endpoint(protocol);
        }
        let config = FetchConfig {
            protocol,
            crypto: ClientCrypto::Plain { tag_len: 16 },
            server_name: "server".to_owned(),
            addresses: (self.addresses[0], self.addresses[1]),
            patience: Duration::from_secs(10),
        };
        let fetch = Fetch::begin(self.now, &mut self.ends[0], config, wanted).unwrap();
        self.clients.push(fetch);
        self.clients.len() - 1
    }

    pub fn is_done(&self) -> bool {
        self.clients.iter().all(|client| client.is_done(&self.ends[0]))
    }

    /// Runs until `done`, at most until `end`. Returns false if `end` came first.
    pub fn run(&mut self, end: Time, mut done: impl FnMut(&mut Self) -> bool) -> bool {
        let (mut turns, mut last) = (0, self.now);
        loop {
            self.turn();
            if done(self) {
                return true;
            }
            let next = self.next();
            if next > end {
                self.now = end;
                return false;
            }
            self.now = self.now.max(next);
            turns = if self.now == last { turns + 1 } else { 0 };
            last = self.now;
            assert!(turns < 1000, "nothing moves at {:?}", self.now);
            self.arrive();
            self.ends.iter_mut().for_each(|end| end.handle_timeout(self.now));
        }
    }

    pub fn finish(&mut self, end: Time) -> bool {
        self.run(end, |world| world.is_done())
    }

    fn next(&mut self) -> Time {
        let flying = self.flying.keys().next().map_or(Time::NEVER, |key| key.0);
        let [client, server] = &mut self.ends;
        let timers = client.poll_timeout().min(server.poll_timeout());
        let clients = self.clients.iter().map(Fetch::deadline).min().unwrap_or(Time::NEVER);
        let other = self.others[0].as_ref().map_or(Time::NEVER, |other| other.deadline());
        flying.min(timers).min(other).min(clients).min(self.server.deadline())
    }

    fn turn(&mut self) {
        let [client, server] = &mut self.ends;
        while let Some((handle, event)) = client.poll_event() {
            for fetch in &mut self.clients {
                fetch.on_event(self.now, client, handle, event.clone());
            }
            if let Some(other) = &mut self.others[0] {
                other.on_event(self.now, client, handle, event);
            }
        }
        self.clients.iter_mut().for_each(|fetch| fetch.run(self.now, client));
        if let Some(other) = &mut self.others[0] {
            other.run(self.now, client);
        }
        while let Some((handle, event)) = server.poll_event() {
            match &mut self.others[1] {
                Some(other) => other.on_event(self.now, server, handle, event),
                None => self.server.on_event(self.now, server, handle, event),
            }
        }
        self.server.run(self.now, server);
        let mut buf = vec![0; 65_535];
        let mut sent = VecDeque::new();
        for end in &mut self.ends {
            while let Some(transmit) = end.poll_transmit(self.now, &mut buf) {
                sent.push_back((transmit.from, transmit.to, transmit.ecn, buf[..transmit.len].to_vec()));
            }
        }
        for datagram in sent {
            self.serial += 1;
            if self.rng.unit() >= self.loss {
                self.flying.insert((self.now + self.delay, self.serial), datagram);
            }
        }
    }

    fn arrive(&mut self) {
        while let Some(entry) = self.flying.first_entry() {
            if entry.key().0 > self.now {
                return;
            }
            let (from, to, ecn, mut bytes) = entry.remove();
            let end = usize::from(to == self.addresses[1]);
            self.ends[end].handle(self.now, Arrival { from, to, ecn, arrived: self.now, bytes: &mut bytes });
        }
    }

    /// Returns the state of every transfer of a client: `done` or the failure.
    pub fn ends_of(&self, client: usize) -> Vec<String> {
        use ackclock_transfer::Stage;
        self.clients[client].progress().with_items(|items| {
            let word = |item: &ackclock_transfer::Item| match &item.stage {
                Stage::Done => "done".to_owned(),
                Stage::Failed(failure) => failure.to_string(),
                other => format!("{other:?}"),
            };
            items.iter().map(word).collect()
        })
    }
}

pub fn client_endpoint(protocol: Protocol) -> Endpoint {
    let settings = EndpointSettings {
        config: FetchConfig::endpoint(protocol, &Config::default()),
        connection: Settings::default(),
        crypto: None,
    };
    Endpoint::new(settings, 1).unwrap()
}
