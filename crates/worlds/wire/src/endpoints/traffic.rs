//! The traffic of a run: TCP senders and receivers, UDP sources, the ping and the `TCP_INFO`
//! sampler.
//!
//! The kernel does the sending. The threads here only keep its send buffers full and its receive
//! buffers empty. QUIC flows are in `guests.rs`.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::emu::tcp::{self, Connection, Info};
use crate::emu::{Error, Rig, Side, privilege};
use scenario::{Emission, Scenario};
use units::Time;

use crate::endpoints::feasibility::{Feasibility, UDP_PORT};
use crate::endpoints::guests::{GuestResults, Guests};
use crate::endpoints::ping::{self, Answers, Ping};
use crate::endpoints::samples::Samples;
use crate::endpoints::sockets::{at, failed, since, sleep_until, socket, spawn};
use crate::endpoints::traced::Traced;
use crate::feasibility::UDP_HEADERS;

/// Bytes per read from or write to the kernel.
const CHUNK: usize = 256 << 10;
/// Largest number of samples of all flows together.
const MAX_SAMPLES: u64 = 2_000_000;
/// Smallest interval between two samples of a flow.
const MIN_SAMPLE_INTERVAL: Duration = Duration::from_millis(1);
/// Longest acceptable query. A sample has the time at which its query began.
const MAX_QUERY_TIME: units::Duration = units::Duration::from_micros(200);
/// Number of attempts at a query within [`MAX_QUERY_TIME`].
const MAX_ATTEMPTS: usize = 3;
/// The server's port for UDP.
const SINK_PORT: u16 = 4999;

/// Observations of a run besides the packet log.
#[derive(Debug)]
pub(crate) struct Seen {
    /// End of the run.
    pub(crate) end: Time,
    /// Samples of each flow. Empty for flows of guests.
    pub(crate) samples: Vec<Samples>,
    /// Events of each flow from the kernel's tracepoints. Empty if nothing is traced.
    pub(crate) traced: Vec<Traced>,
    /// Answers to the probe.
    pub(crate) pings: Option<Answers>,
    /// Numbers of the flows that ended early.
    pub(crate) cut_short: Vec<usize>,
    pub(crate) guests: GuestResults,
}

/// A TCP flow.
#[derive(Debug)]
struct Running {
    /// `None` after [`abort`](Self::abort).
    client: Option<Arc<TcpStream>>,
    server: Arc<TcpStream>,
    /// True for a flow without a transfer size.
    endless: bool,
    sender: JoinHandle<()>,
    receiver: JoinHandle<()>,
}

/// The traffic of a run in progress.
#[derive(Debug)]
pub(crate) struct Traffic {
    origin: Instant,
    /// TCP flows with their numbers in the scenario.
    flows: Vec<(usize, Running)>,
    guests: Option<Guests>,
    over: Arc<AtomicBool>,
    sampler: JoinHandle<Vec<Samples>>,
    udp: Vec<JoinHandle<()>>,
    /// Keeps the port open. Otherwise each packet would cause an ICMP error packet.
    _sink: UdpSocket,
    ping: Option<Ping>,
}

impl Traffic {
    /// Starts the traffic of a run that begins at `origin`.
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

    /// Aborts the flows whose `stop` time has passed.
    pub(crate) fn stop_due(&mut self, scenario: &Scenario) {
        let now = self.now();
        for (number, flow) in &mut self.flows {
            if scenario.flows.get(*number).and_then(|config| config.stop).is_some_and(|stop| stop <= now) {
                flow.abort();
            }
        }
    }

    /// Reports whether the run's duration has passed or every transfer is complete.
    pub(crate) fn is_over(&self, scenario: &Scenario) -> bool {
        let kernels = || self.flows.iter().all(|(_, flow)| flow.has_ended_by_itself());
        let guests = || self.guests.as_ref().is_none_or(Guests::are_complete);
        self.now() >= Time::ZERO + scenario.duration || (kernels() && guests())
    }

    /// Ends all traffic and returns the observations.
    pub(crate) fn finish(mut self) -> Seen {
        let end = self.now();
        let guests = self.guests.map(Guests::finish).unwrap_or_default();
        let is_cut_short = |(number, flow): &(usize, Running)| (*number, flow.is_cut_short());
        let cut_short: Vec<(usize, bool)> = self.flows.iter().map(is_cut_short).collect();
        self.over.store(true, Ordering::Relaxed);
        self.flows.iter_mut().for_each(|(_, flow)| flow.abort());
        for (_, flow) in self.flows {
            // A thread that panicked has already printed its message.
            let _ = (flow.sender.join(), flow.receiver.join());
        }
        let samples = self.sampler.join().unwrap_or_default();
        for source in self.udp {
            let _ = source.join();
        }
        let of_guests = guests.guests.iter().map(|guest| (guest.flow, guest.cut_short));
        let cut_short =
            cut_short.into_iter().chain(of_guests).filter(|(_, is)| *is).map(|(number, _)| number);
        let (pings, cut_short) = (self.ping.map(Ping::finish), cut_short.collect());
        Seen { end, samples, traced: Vec::new(), pings, cut_short, guests }
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

    /// Reports whether an endless flow has ended without being stopped.
    fn is_cut_short(&self) -> bool {
        self.endless && self.has_ended_by_itself()
    }

    /// Reports whether all bytes have arrived or the connection was lost.
    fn has_ended_by_itself(&self) -> bool {
        self.client.is_some() && self.receiver.is_finished()
    }

    fn abort(&mut self) {
        if let Some(client) = self.client.take() {
            tcp::abort(&client);
            // Do not wait for the reset: it still has to pass the queue and can be dropped there.
            let _ = self.server.shutdown(Shutdown::Both);
        }
    }
}

/// Keeps the kernel's send buffer full until all bytes are written or the connection ends.
fn send(stream: &TcpStream, transfer: Option<u64>) {
    let chunk = vec![0; CHUNK];
    let mut left = transfer.unwrap_or(u64::MAX);
    while left > 0 {
        let length = usize::try_from(left).unwrap_or(CHUNK).min(CHUNK);
        match (&mut &*stream).write(&chunk[..length]) {
            Ok(sent) if transfer.is_some() => left -= sent as u64,
            Ok(_) => {}
            // The connection was aborted.
            Err(_) => return,
        }
    }
    let _ = stream.shutdown(Shutdown::Write);
}

/// Reads and discards until the end of the stream.
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
    let samples_per_flow = MAX_SAMPLES / (flows.len() as u64).max(1);
    let period = MIN_SAMPLE_INTERVAL.max(Duration::from_nanos(scenario.duration.0 / samples_per_flow));
    let over = Arc::clone(over);
    spawn("sampler", move || {
        let mut samples = vec![Samples::default(); of_all];
        let mut next = origin;
        while !over.load(Ordering::Relaxed) {
            next += period;
            thread::sleep(next.saturating_duration_since(Instant::now()));
            for (number, start, client) in &watched {
                if let Some((at, info)) = query(client, *start, origin) {
                    samples[*number].push(at, info);
                }
            }
        }
        samples
    })
}

/// Queries the kernel about a connection that has begun. Returns the time and the answer.
///
/// If the thread was delayed during the query, it queries again. Otherwise the sample would appear
/// older than it is.
fn query(client: &Weak<TcpStream>, start: Time, origin: Instant) -> Option<(Time, Info)> {
    let mut found = None;
    for _ in 0..MAX_ATTEMPTS {
        let before = since(origin);
        // The strong reference is short-lived, or the connection could never end.
        let info =
            client.upgrade().filter(|_| start <= before).and_then(|client| Info::read(&client).ok())?;
        found = Some((before, info));
        if since(origin) - before <= MAX_QUERY_TIME {
            break;
        }
    }
    found
}

/// Sends each packet at its scheduled time.
fn send_udp(socket: &UdpSocket, mut emission: Emission, payload: &[u8], origin: Instant, over: &AtomicBool) {
    // Without priority it would be late next to flows that keep the processors busy.
    privilege::real_time(2);
    loop {
        let next = emission.next_departure();
        if next == Time::NEVER {
            return;
        }
        if !sleep_until(at(origin, next), over) {
            return;
        }
        // If the host's buffer is full, the packet is not sent.
        let _ = socket.send(payload);
    }
}
