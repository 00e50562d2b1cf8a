//! The loop of an endpoint: one socket, one clock, one program, one thread.
//!
//! ```text
//! timers -> events -> program -> events -> datagrams out -> wait for the socket, room in it, or a time -> datagrams in -> again
//! ```
//!
//! Nothing in it waits but the wait. What the network refuses is a loss, and loss recovery's business; a socket that is full keeps the datagram until it
//! has room. A burst is at most as long as the pacer lets leave at once, and no longer than one send takes.

use std::io;
use std::net::IpAddr;

use quic::connection::{Arrival, Transmit};
use quic::endpoint::{Endpoint, Program};
use units::{Duration, Time};

use crate::clock::Clock;
use crate::socket::{MOST_IN_DATAGRAM, Outgoing, Sent, Socket};
use crate::wait::wait;

/// Datagrams of one burst at most, whatever the kernel takes apart: what a queue on the way has to hold at once.
pub const MOST_IN_BURST: usize = 10;
/// Bursts that leave before it is looked at what has come: an endpoint with much to send still hears of losses in time.
const BURSTS: usize = 16;
/// Batches that are read before it is looked at what is to leave.
const BATCHES: usize = 4;

/// How long a full socket is left alone when nothing else happens.
const FULL: Duration = Duration::from_millis(1);

/// What the loop has seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Datagrams that the kernel took.
    pub sent: u64,
    /// Calls for them: fewer, where bursts left in one.
    pub calls: u64,
    /// Datagrams that the network refused at once.
    pub refused: u64,
    /// How often the socket had no room.
    pub full: u64,
    /// Datagrams that came.
    pub received: u64,
}

/// An endpoint on a socket.
pub struct Engine {
    socket: Socket,
    clock: Clock,
    /// The endpoint that it drives.
    pub endpoint: Endpoint,
    burst: usize,
    buffer: Vec<u8>,
    /// What a full socket did not take: the buffer is its.
    waiting: Option<Transmit>,
    too_large: TooLarge,
    tally: Tally,
}

/// What this end's interface has refused as too large.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TooLarge {
    Nothing,
    /// To whom, and how many bytes; the program has not heard of it yet.
    First(IpAddr, usize),
    Told,
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").field("socket", &self.socket).finish_non_exhaustive()
    }
}

impl Engine {
    /// Of an endpoint whose time is this clock's.
    pub fn new(socket: Socket, clock: Clock, endpoint: Endpoint) -> Self {
        let burst = MOST_IN_BURST.min(socket.most_segments()).max(1);
        let (waiting, too_large, tally) = (None, TooLarge::Nothing, Tally::default());
        Self { socket, clock, endpoint, burst, buffer: vec![0; MOST_IN_DATAGRAM], waiting, too_large, tally }
    }

    /// Every datagram leaves by itself, at the time that the pacer gives it: for measured runs.
    #[must_use]
    pub const fn without_bursts(mut self) -> Self {
        self.burst = 1;
        self
    }

    /// Its clock.
    pub const fn clock(&self) -> &Clock {
        &self.clock
    }

    /// What it has seen.
    pub const fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Drives endpoint and program until the program is done and what it wanted to say last has left.
    ///
    /// # Errors
    /// The socket is of no use any more.
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

    /// Sends what may leave now; whether there may be more.
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

    /// Whether the kernel has it, or it is lost.
    fn send(&mut self, transmit: Transmit) -> io::Result<bool> {
        let Some(bytes) = self.buffer.get(..transmit.len) else { return Ok(true) };
        let from = Some(transmit.from.ip()).filter(|ip| !ip.is_unspecified());
        let (to, ecn, segment) = (transmit.to, transmit.ecn, transmit.segment_size);
        let count = segment.map_or(1, |size| transmit.len.div_ceil(size.max(1)) as u64);
        self.tally.calls += 1;
        let sent = self.socket.send(&Outgoing { to, from, ecn, segment, bytes })?;
        if sent.is_too_large() && self.too_large == TooLarge::Nothing {
            self.too_large = TooLarge::First(to.ip().to_canonical(), segment.unwrap_or(bytes.len()));
        }
        match sent {
            Sent::Yes => self.tally.sent += count,
            Sent::Lost(_) => self.tally.refused += count,
            Sent::Full => {
                self.tally.full += 1;
                self.waiting = Some(transmit);
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn receive_some(&mut self) -> io::Result<()> {
        let Self { socket, clock, endpoint, tally, .. } = self;
        for _ in 0..BATCHES {
            let count = socket.receive(clock, &mut |incoming| {
                let (from, to, ecn, arrived) = (incoming.from, incoming.to, incoming.ecn, incoming.arrived);
                // The time goes on while a batch is read, and no datagram comes before it is there.
                let now = clock.now();
                endpoint.handle(now, Arrival { from, to, ecn, arrived, bytes: incoming.bytes });
            })?;
            tally.received += count as u64;
            if count == 0 {
                break;
            }
        }
        Ok(())
    }
}
