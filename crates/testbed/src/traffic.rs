//! The traffic of a run: senders and receivers of TCP, UDP, a ping, and a look at the kernel now and then.
//!
//! The kernel sends on its own as acknowledgements come; the threads here only keep its buffers filled and empty. Flows of QUIC are `guests.rs`.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use emu::tcp::{self, Connection, Info};
use emu::{Error, Rig, Side, privilege};
use scenario::{Emission, Scenario};
use units::Time;

use crate::feasibility::{Feasibility, UDP_HEADERS, UDP_PORT};
use crate::guests::{Gone, Guests};
use crate::ping::{self, Answers, Ping};
use crate::samples::Samples;
use crate::sockets::{at, failed, since, sleep_until, socket, spawn};

/// Bytes handed to the kernel, or taken from it, at a time.
const CHUNK: usize = 256 << 10;
/// Looks at the kernel of all flows together, at most.
const MAX_SAMPLES: u64 = 2_000_000;
/// Between two looks, at least.
const LOOK: Duration = Duration::from_millis(1);
/// What one look may take: the time of a sample is when it began.
const CLOSE: units::Duration = units::Duration::from_micros(200);
/// Attempts at a look that takes no longer.
const LOOKS: usize = 3;
/// The server's port for UDP.
const SINK_PORT: u16 = 4999;
/// What was seen apart from packets.
#[derive(Debug)]
pub(crate) struct Seen {
    /// When the run was over.
    pub(crate) end: Time,
    /// Of each flow; of those that guests carry none.
    pub(crate) samples: Vec<Samples>,
    /// Answers to the probe.
    pub(crate) pings: Option<Answers>,
    /// Flows that ended before their time.
    pub(crate) cut_short: Vec<usize>,
    /// What the guests have left.
    pub(crate) gone: Gone,
}

/// A flow under way.
#[derive(Debug)]
struct Running {
    /// Until it is over.
    client: Option<Arc<TcpStream>>,
    server: Arc<TcpStream>,
    /// It has always more to send.
    endless: bool,
    sender: JoinHandle<()>,
    receiver: JoinHandle<()>,
}

/// Everything under way.
#[derive(Debug)]
pub(crate) struct Traffic {
    origin: Instant,
    /// The kernel's, with their numbers in the scenario.
    flows: Vec<(usize, Running)>,
    guests: Option<Guests>,
    over: Arc<AtomicBool>,
    sampler: JoinHandle<Vec<Samples>>,
    udp: Vec<JoinHandle<()>>,
    /// Keeps the port open: an answer that nobody listens would be a packet.
    _sink: UdpSocket,
    ping: Option<Ping>,
}

impl Traffic {
    /// Starts it; the run begins at `origin`.
    pub(crate) fn start(
        rig: &Rig,
        scenario: &Scenario,
        feasible: &Feasibility,
        (connections, guests): (Vec<Option<Connection>>, Option<Guests>),
        origin: Instant,
    ) -> Result<Self, Error> {
        let over = Arc::new(AtomicBool::new(false));
        let mut flows = Vec::new();
        for ((number, connection), config) in connections.into_iter().enumerate().zip(&scenario.flows) {
            let Some(connection) = connection else { continue };
            let start = at(origin, config.start);
            flows.push((number, Running::start(connection, start, config.transfer, Arc::clone(&over))?));
        }
        guests.iter().for_each(|guests| guests.begin(origin));
        let sampler = start_sampler(scenario, &flows, origin, &over)?;
        let sink = socket(rig, Side::Server, SINK_PORT)?;
        let mut udp = Vec::new();
        for (number, config) in scenario.udp.iter().enumerate() {
            let socket = socket(rig, Side::Client, UDP_PORT + number as u16)?;
            socket.connect((Side::Server.ipv4(), SINK_PORT)).map_err(failed)?;
            let emission = Emission::new(config, number, scenario);
            let payload = vec![0; (config.size - feasible.overhead - UDP_HEADERS) as usize];
            let over = Arc::clone(&over);
            udp.push(spawn("UDP", move || send_udp(&socket, emission, &payload, origin, &over))?);
        }
        let ping = match scenario.probe {
            Some(probe) => Some(ping::start(rig, probe, feasible.overhead, origin)?),
            None => None,
        };
        Ok(Self { origin, flows, guests, over, sampler, udp, _sink: sink, ping })
    }

    fn now(&self) -> Time {
        since(self.origin)
    }

    /// Ends the flows whose time has come.
    pub(crate) fn stop_due(&mut self, scenario: &Scenario) {
        let now = self.now();
        for (number, flow) in &mut self.flows {
            if scenario.flows.get(*number).and_then(|config| config.stop).is_some_and(|stop| stop <= now) {
                flow.abort();
            }
        }
    }

    /// Whether the run's time is over, or all flows have ended.
    pub(crate) fn is_over(&self, scenario: &Scenario) -> bool {
        let kernels = || self.flows.iter().all(|(_, flow)| flow.has_ended());
        let guests = || self.guests.as_ref().is_none_or(Guests::have_ended);
        self.now() >= Time::ZERO + scenario.duration || (kernels() && guests())
    }

    /// Ends everything.
    pub(crate) fn finish(mut self) -> Seen {
        let end = self.now();
        let gone = self.guests.map(Guests::finish).unwrap_or_default();
        let is_cut_short = |(number, flow): &(usize, Running)| (*number, flow.is_cut_short());
        let cut_short: Vec<(usize, bool)> = self.flows.iter().map(is_cut_short).collect();
        self.over.store(true, Ordering::Relaxed);
        self.flows.iter_mut().for_each(|(_, flow)| flow.abort());
        for (_, flow) in self.flows {
            // A thread that panicked has said so.
            let _ = (flow.sender.join(), flow.receiver.join());
        }
        let samples = self.sampler.join().unwrap_or_default();
        for source in self.udp {
            let _ = source.join();
        }
        let of_guests = gone.guests.iter().map(|left| (left.flow, left.cut_short));
        let cut_short =
            cut_short.into_iter().chain(of_guests).filter(|(_, is)| *is).map(|(number, _)| number);
        Seen { end, samples, pings: self.ping.map(Ping::finish), cut_short: cut_short.collect(), gone }
    }
}

impl Running {
    fn start(
        connection: Connection,
        start: Instant,
        transfer: Option<u64>,
        over: Arc<AtomicBool>,
    ) -> Result<Self, Error> {
        let (client, server) = (Arc::new(connection.client), Arc::new(connection.server));
        let (from, to) = (Arc::clone(&client), Arc::clone(&server));
        let sender = spawn("sender", move || {
            if sleep_until(start, &over) {
                send(&from, transfer);
            }
        })?;
        let receiver = spawn("receiver", move || receive(&to))?;
        Ok(Self { client: Some(client), server, endless: transfer.is_none(), sender, receiver })
    }

    /// It has ended, though it has always more to send and nobody stopped it.
    fn is_cut_short(&self) -> bool {
        self.endless && self.client.is_some() && self.has_ended()
    }

    /// All of its bytes have arrived, or it was stopped.
    fn has_ended(&self) -> bool {
        self.receiver.is_finished()
    }

    fn abort(&mut self) {
        if let Some(client) = self.client.take() {
            tcp::abort(&client);
            // The reset has yet to pass the queue, and may be lost there: nobody waits for it.
            let _ = self.server.shutdown(Shutdown::Both);
        }
    }
}

/// Keeps the kernel's buffer filled, until all is sent or the connection ends.
fn send(stream: &TcpStream, transfer: Option<u64>) {
    let chunk = vec![0; CHUNK];
    let mut left = transfer.unwrap_or(u64::MAX);
    while left > 0 {
        let length = usize::try_from(left).unwrap_or(CHUNK).min(CHUNK);
        match (&mut &*stream).write(&chunk[..length]) {
            Ok(sent) if transfer.is_some() => left -= sent as u64,
            Ok(_) => {}
            // It was ended.
            Err(_) => return,
        }
    }
    let _ = stream.shutdown(Shutdown::Write);
}

/// Takes what comes, until there is no more.
fn receive(mut stream: &TcpStream) {
    let mut chunk = vec![0; CHUNK];
    while let Ok(1..) = stream.read(&mut chunk) {}
}

fn start_sampler(
    scenario: &Scenario,
    flows: &[(usize, Running)],
    origin: Instant,
    over: &Arc<AtomicBool>,
) -> Result<JoinHandle<Vec<Samples>>, Error> {
    let watch = |(number, flow): &(usize, Running)| {
        Some((*number, scenario.flows.get(*number)?.start, flow.client.as_ref().map(Arc::downgrade)?))
    };
    let watched: Vec<(usize, Time, Weak<TcpStream>)> = flows.iter().filter_map(watch).collect();
    let of_all = scenario.flows.len();
    let looks = MAX_SAMPLES / (flows.len() as u64).max(1);
    let period = LOOK.max(Duration::from_nanos(scenario.duration.0 / looks));
    let over = Arc::clone(over);
    spawn("sampler", move || {
        let mut samples = vec![Samples::default(); of_all];
        let mut next = origin;
        while !over.load(Ordering::Relaxed) {
            next += period;
            thread::sleep(next.saturating_duration_since(Instant::now()));
            for (number, start, client) in &watched {
                if let Some((at, info)) = look(client, *start, origin) {
                    samples[*number].push(at, info);
                }
            }
        }
        samples
    })
}

/// Asks the kernel about a connection that has begun. Returns when, and what it says. Where the thread was held up meanwhile it asks again, so that
/// what the kernel says is not taken for older than it is.
fn look(client: &Weak<TcpStream>, start: Time, origin: Instant) -> Option<(Time, Info)> {
    let mut found = None;
    for _ in 0..LOOKS {
        let before = since(origin);
        // It holds a connection only while it looks at it, or that could not end.
        let info = client.upgrade().filter(|_| start <= before).and_then(|client| Info::of(&client).ok())?;
        found = Some((before, info));
        if since(origin) - before <= CLOSE {
            break;
        }
    }
    found
}

/// Sends each packet when its time has come.
fn send_udp(socket: &UdpSocket, mut emission: Emission, payload: &[u8], origin: Instant, over: &AtomicBool) {
    // Beside flows that fill the processors it would be late.
    privilege::real_time(2);
    loop {
        let next = emission.next_departure();
        if next == Time::NEVER {
            return;
        }
        if !sleep_until(at(origin, next), over) {
            return;
        }
        // A full buffer of the host is a packet that was not sent.
        let _ = socket.send(payload);
    }
}
