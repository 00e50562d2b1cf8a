//! The probe: small UDP packets that the far end returns at once.

use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::emu::{Error, Rig, Side, privilege};
use scenario::ProbeConfig;
use units::Time;

use crate::endpoints::feasibility::PING_PORT;
use crate::endpoints::sockets::{at, failed, since, sleep_until, socket, spawn};
use crate::feasibility::{PROBE_PAYLOAD, UDP_HEADERS};

/// Time a thread waits for a packet before it checks for the end of the run.
const WAIT: Duration = Duration::from_millis(50);
/// Length in bytes of the packet number at the start of the payload.
const NUMBER: usize = PROBE_PAYLOAD as usize;

/// Arrival times of answers and their round-trip times.
pub(crate) type Answers = Vec<(Time, units::Duration)>;

/// A running probe.
#[derive(Debug)]
pub(crate) struct Ping {
    over: Arc<AtomicBool>,
    sender: JoinHandle<()>,
    receiver: JoinHandle<Answers>,
    echo: JoinHandle<()>,
}

pub(crate) fn start(rig: &Rig, config: ProbeConfig, overhead: u32, origin: Instant) -> Result<Ping, Error> {
    let (client, server) = (socket(rig, Side::Client, PING_PORT)?, socket(rig, Side::Server, PING_PORT)?);
    client.connect((Side::Server.ipv4(), PING_PORT)).map_err(failed)?;
    server.connect((Side::Client.ipv4(), PING_PORT)).map_err(failed)?;
    for socket in [&client, &server] {
        socket.set_read_timeout(Some(WAIT)).map_err(failed)?;
    }
    let size = (config.size - overhead - UDP_HEADERS) as usize;
    let over = Arc::new(AtomicBool::new(false));
    let sent = Arc::<Mutex<Vec<Time>>>::default();
    let echo = {
        let over = Arc::clone(&over);
        spawn("ping's answers", move || echo(&server, size, &over))?
    };
    let receiver = {
        let (socket, over, sent) =
            (client.try_clone().map_err(failed)?, Arc::clone(&over), Arc::clone(&sent));
        spawn("ping's receiver", move || receive(&socket, size, origin, &sent, &over))?
    };
    let sender = {
        let over = Arc::clone(&over);
        spawn("ping", move || send(&client, config, size, origin, &sent, &over))?
    };
    Ok(Ping { over, sender, receiver, echo })
}

impl Ping {
    /// Stops the probe and returns its answers.
    pub(crate) fn finish(self) -> Answers {
        self.over.store(true, Ordering::Relaxed);
        let _ = (self.sender.join(), self.echo.join());
        self.receiver.join().unwrap_or_default()
    }
}

fn send(
    socket: &UdpSocket,
    config: ProbeConfig,
    size: usize,
    origin: Instant,
    sent: &Mutex<Vec<Time>>,
    over: &AtomicBool,
) {
    privilege::real_time(1);
    let mut payload = vec![0; size];
    for number in 0_u64.. {
        let next = at(origin, Time::ZERO + config.interval * number);
        if !sleep_until(next, over) {
            return;
        }
        payload[..NUMBER].copy_from_slice(&number.to_be_bytes());
        if let Ok(mut sent) = sent.lock() {
            sent.push(since(origin));
        }
        let _ = socket.send(&payload);
    }
}

fn receive(
    socket: &UdpSocket,
    size: usize,
    origin: Instant,
    sent: &Mutex<Vec<Time>>,
    over: &AtomicBool,
) -> Answers {
    privilege::real_time(1);
    let mut buffer = vec![0; size];
    let mut answers = Vec::new();
    while !over.load(Ordering::Relaxed) {
        let Ok(NUMBER..) = socket.recv(&mut buffer) else { continue };
        let now = since(origin);
        let mut number = [0; NUMBER];
        number.copy_from_slice(&buffer[..NUMBER]);
        let asked = sent.lock().ok().and_then(|sent| sent.get(u64::from_be_bytes(number) as usize).copied());
        asked.into_iter().for_each(|asked| answers.push((now, now - asked)));
    }
    answers
}

fn echo(socket: &UdpSocket, size: usize, over: &AtomicBool) {
    privilege::real_time(1);
    let mut buffer = vec![0; size];
    while !over.load(Ordering::Relaxed) {
        if let Ok(length) = socket.recv(&mut buffer) {
            let _ = socket.send(&buffer[..length]);
        }
    }
}
