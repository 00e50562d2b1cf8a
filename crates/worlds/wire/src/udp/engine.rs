//! The event loop of an endpoint: one socket, one clock, one program, one thread.
//!
//! ```text
//! timers -> events -> program -> events -> datagrams out -> wait for the socket, room in it, or a time -> datagrams in -> again
//! ```
//!
//! The loop blocks only in the wait. A datagram that the network refuses counts as lost, and loss
//! recovery handles it. If the socket is full, the datagram is kept until the socket has room. A
//! burst is at most what the pacer releases at once, and at most one send call.

use std::io;
use std::net::IpAddr;

use quic::connection::{Arrival, Transmit};
use quic::endpoint::{Endpoint, Program};
use units::{Duration, Time};

use crate::udp::clock::Clock;
use crate::udp::socket::{MAX_PAYLOAD, Outgoing, Sent, Socket};
use crate::udp::wait::wait;

/// Most datagrams of one burst, whatever the kernel can segment. A queue on the path has to hold
/// them at once.
pub const MAX_BURST: usize = 10;
/// Bursts sent before received datagrams are read. An endpoint with much to send still learns of
/// losses in time.
const BURSTS: usize = 16;
/// Batches read before datagrams are sent.
const BATCHES: usize = 4;

/// Time after which a full socket is tried again when nothing else happens.
const FULL: Duration = Duration::from_millis(1);

/// Counters of the event loop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Datagrams that the kernel accepted.
    pub sent: u64,
    /// Send calls: fewer than datagrams where one call sent a burst.
    pub calls: u64,
    /// Datagrams that the kernel or the network refused at once.
    pub refused: u64,
    /// Send calls that failed because the socket was full.
    pub full: u64,
    /// Received datagrams.
    pub received: u64,
}

/// An endpoint on a socket.
pub struct Engine {
    socket: Socket,
    clock: Clock,
    /// The endpoint.
    pub endpoint: Endpoint,
    burst: usize,
    buffer: Vec<u8>,
    /// Transmit that a full socket did not accept. Its bytes are in the buffer.
    waiting: Option<Transmit>,
    too_large: TooLarge,
    counters: Counters,
}

/// Datagrams that the local interface has refused as too large.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TooLarge {
    Nothing,
    /// Destination and bytes of the first one. The program has not been told yet.
    First(IpAddr, usize),
    Told,
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").field("socket", &self.socket).finish_non_exhaustive()
    }
}

impl Engine {
    /// Creates the loop of an endpoint that uses this clock.
    pub fn new(socket: Socket, clock: Clock, endpoint: Endpoint) -> Self {
        let burst = MAX_BURST.min(socket.most_segments()).max(1);
        let (waiting, too_large, counters) = (None, TooLarge::Nothing, Counters::default());
        Self { socket, clock, endpoint, burst, buffer: vec![0; MAX_PAYLOAD], waiting, too_large, counters }
    }

    /// Sends every datagram by itself, at the time that the pacer sets. For measured runs.
    #[must_use]
    pub const fn without_bursts(mut self) -> Self {
        self.burst = 1;
        self
    }

    /// Returns the clock.
    pub const fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Returns the counters.
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Drives endpoint and program until the program is done and its last datagrams are sent.
    ///
    /// # Errors
    /// The socket can no longer be used.
    pub fn run(&mut self, program: &mut dyn Program) -> io::Result<()> {
        loop {
            let now = self.clock.now();
            self.endpoint.handle_timeout(now);
            self.tell(now, program);
            program.run(now, &mut self.endpoint);
            self.tell(now, program);
            let more = self.send_some()?;
            self.tell_too_large(program);
            if !more && self.waiting.is_none() && program.is_done(&self.endpoint) {
                return Ok(());
            }
            let due = self.endpoint.poll_timeout().min(program.deadline());
            let until = match (more, &self.waiting) {
                // It only looks whether something has come.
                (true, _) => now,
                // What is due already cannot leave: it waits for room, and looks now and then.
                (false, Some(_)) => due.max(now + FULL),
                (false, None) => due,
            };
            let writes = if self.waiting.is_some() { &[&self.socket][..] } else { &[] };
            wait(&[&self.socket], writes, Some(until), &self.clock)?;
            self.receive_some()?;
            while let Some(host) = self.socket.unreachable() {
                self.tell_unreachable(host, program);
            }
        }
    }

    fn tell(&mut self, now: Time, program: &mut dyn Program) {
        while let Some((handle, event)) = self.endpoint.poll_event() {
            program.on_event(now, &mut self.endpoint, handle, event);
        }
    }

    fn tell_unreachable(&mut self, host: IpAddr, program: &mut dyn Program) {
        program.on_unreachable(self.clock.now(), &mut self.endpoint, host);
    }

    fn tell_too_large(&mut self, program: &mut dyn Program) {
        if let TooLarge::First(host, bytes) = self.too_large {
            self.too_large = TooLarge::Told;
            program.on_too_large(self.clock.now(), &mut self.endpoint, host, bytes);
        }
    }

    /// Sends what may be sent now. Returns true if there may be more.
    fn send_some(&mut self) -> io::Result<bool> {
        for _ in 0..BURSTS {
            let now = self.clock.now();
            let next = self.waiting.take();
            let next = next.or_else(|| self.endpoint.poll_burst(now, &mut self.buffer, self.burst));
            let Some(transmit) = next else { return Ok(false) };
            if !self.send(transmit)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Returns true if the kernel has accepted the datagrams, or if they are lost.
    fn send(&mut self, transmit: Transmit) -> io::Result<bool> {
        let Some(bytes) = self.buffer.get(..transmit.len) else { return Ok(true) };
        let from = Some(transmit.from.ip()).filter(|ip| !ip.is_unspecified());
        let (to, ecn, segment) = (transmit.to, transmit.ecn, transmit.segment_size);
        let count = segment.map_or(1, |size| transmit.len.div_ceil(size.max(1)) as u64);
        self.counters.calls += 1;
        let sent = self.socket.send(&Outgoing { to, from, ecn, segment, bytes })?;
        if sent.is_too_large() && self.too_large == TooLarge::Nothing {
            self.too_large = TooLarge::First(to.ip().to_canonical(), segment.unwrap_or(bytes.len()));
        }
        match sent {
            Sent::Yes => self.counters.sent += count,
            Sent::Lost(_) => self.counters.refused += count,
            Sent::Full => {
                self.counters.full += 1;
                self.waiting = Some(transmit);
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn receive_some(&mut self) -> io::Result<()> {
        let Self { socket, clock, endpoint, counters, .. } = self;
        for _ in 0..BATCHES {
            let count = socket.receive(clock, &mut |incoming| {
                let (from, to, ecn, arrived) = (incoming.from, incoming.to, incoming.ecn, incoming.arrived);
                // The time goes on while a batch is read, and no datagram comes before it is there.
                let now = clock.now();
                endpoint.handle(now, Arrival { from, to, ecn, arrived, bytes: incoming.bytes });
            })?;
            counters.received += count as u64;
            if count == 0 {
                break;
            }
        }
        Ok(())
    }
}
