//! The relay: one thread that carries packets between two TUN devices through two links, by the
//! real clock.
//!
//! ```text
//! loop:  hand over what is due -> read what has arrived -> sleep until the next is due, less a short spin
//! ```
//!
//! It sleeps in `ppoll`, whose timeout is in nanoseconds, and spins for the last microseconds. It
//! spins only where the gap between packets is much longer than that. A thread under SCHED_FIFO
//! that never sleeps starves its core, until the kernel's real-time limit stops it for tens of
//! milliseconds.

use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use link::{DropReason, Dropped, Link, LinkConfig, Packet, PacketOutcome, RateModel};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, clock_gettime};
use units::{Duration, Time};

use crate::emu::capture::log::Log;
use crate::emu::capture::row::{End, Row};
use crate::emu::error::Error;
use crate::emu::linux::tun::{self, MTU, Tun};
use crate::emu::linux::watch::Change;
use crate::emu::relay::outcome::{Anomalies, MAX_HELD, Outcome, Timing};
use crate::emu::relay::packet::WirePacket;
use crate::emu::relay::side::{Shared, Side, SideReport, Snapshot};

/// Packets read or delivered on one side before the other side has its turn.
const BATCH: usize = 64;
/// Spin before a packet is due: about the time that the kernel takes to wake a thread.
const SPIN: Duration = Duration::from_micros(20);
/// Smallest gap between packets for which the engine spins, in spins.
const SPIN_SHARE: u64 = 4;
/// Span within which closer packets are delivered together, like the interrupts of a network card.
/// It halves the CPU time of 1 Gbit/s.
const GATHER: Duration = Duration::from_micros(50);
/// Time between two snapshots, and the longest sleep.
const TICK: Duration = Duration::from_millis(100);
/// Stops an engine from another thread.
#[derive(Clone, Debug)]
pub(crate) struct Stop {
    asked: Arc<AtomicBool>,
    wake: Arc<EventFd>,
}

impl Stop {
    pub(crate) fn new() -> Result<Self, Error> {
        let wake = EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK);
        let wake = wake.map_err(|e| Error::system("make an eventfd", e))?;
        Ok(Self { asked: Arc::default(), wake: Arc::new(wake) })
    }

    pub(crate) fn ask(&self) {
        self.asked.store(true, Ordering::Relaxed);
        // It wakes at its next tick without this, too.
        let _ = self.wake.write(1);
    }

    fn is_asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }
}

/// The relay. Index 0 is the client's side, and the link of what the client sends.
#[derive(Debug)]
pub(crate) struct Engine {
    tuns: [Tun; 2],
    links: [Link<WirePacket>; 2],
    spin: Duration,
    overhead: u32,
    start: Instant,
    held: u64,
    timing: Timing,
    anomalies: Anomalies,
    changes: [Option<(Time, Change)>; 2],
    log: Option<Log>,
    stop: Stop,
    shared: Arc<Shared>,
    published: Time,
}

impl Engine {
    pub(crate) fn new(
        tuns: [Tun; 2],
        [there, back]: [&LinkConfig; 2],
        (overhead, seed): (u32, u64),
        start: Instant,
        log: Option<Log>,
        stop: Stop,
        shared: Arc<Shared>,
    ) -> Self {
        Self {
            tuns,
            links: [Link::new(there, seed, "link"), Link::new(back, seed, "back")],
            spin: spin(there).min(spin(back)),
            overhead,
            start,
            held: 0,
            timing: Timing::default(),
            anomalies: Anomalies::default(),
            changes: [None; 2],
            log,
            stop,
            shared,
            published: Time::ZERO,
        }
    }

    /// Runs until it is stopped.
    pub(crate) fn run(mut self) -> Result<Outcome, Error> {
        let mut buffer = [0; MTU + 1];
        let mut readable = [true; 2];
        while !self.stop.is_asked() {
            for from in 0..2 {
                self.hand_over(from)?;
            }
            for (from, readable) in readable.into_iter().enumerate() {
                if readable {
                    self.take_in(from, &mut buffer)?;
                }
            }
            self.publish();
            readable = self.wait()?;
        }
        Ok(self.finish())
    }

    fn now(&self) -> Time {
        Time(u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    /// Delivers the packets of this side that are due.
    fn hand_over(&mut self, from: usize) -> Result<(), Error> {
        for _ in 0..BATCH {
            let now = self.now();
            let Some(due) = self.links[from].next().filter(|&due| due <= now) else { break };
            let popped = self.links[from].pop(now);
            self.drop_outcomes(from, now);
            let Some(packet) = popped else { break };
            self.timing.late(now - due);
            self.write(1 - from, packet.bytes())?;
            self.log_delivery(from, &packet, now, now - due);
        }
        Ok(())
    }

    fn write(&mut self, to: usize, packet: &[u8]) -> Result<(), Error> {
        match self.tuns[to].write(packet) {
            Ok(()) => Ok(()),
            Err(e) if is_gone(&e) => Err(self.gone(to)),
            // Also of a device that is set down.
            Err(_) => {
                self.anomalies.refused += 1;
                Ok(())
            }
        }
    }

    /// Reads the packets that this side has sent.
    fn take_in(&mut self, from: usize, buffer: &mut [u8]) -> Result<(), Error> {
        for _ in 0..BATCH {
            match self.tuns[from].read(buffer) {
                Ok(Some(length)) => self.arrive(from, buffer[..length].to_vec()),
                Ok(None) => break,
                Err(e) if is_gone(&e) => return Err(self.gone(from)),
                Err(e) => return Err(Error::system("read from the TUN device", e)),
            }
        }
        Ok(())
    }

    fn arrive(&mut self, from: usize, bytes: Vec<u8>) {
        let now = self.now();
        if let Some(log) = &mut self.log {
            log.frame(from, now, &bytes);
        }
        let Ok(packet) = WirePacket::new(bytes, self.overhead, now) else {
            self.anomalies.malformed += 1;
            return;
        };
        let size = u64::from(packet.size());
        if self.held + size > MAX_HELD {
            self.anomalies.overflow += 1;
            self.record(from, &packet, End::Overflow { at: now });
            return;
        }
        self.held += size;
        match self.links[from].push(now, packet) {
            Ok(_) => {}
            Err(dropped) => self.drop(from, now, &dropped),
        }
        self.drop_outcomes(from, now);
    }

    /// Counts the drops that an AQM has decided since.
    fn drop_outcomes(&mut self, from: usize, now: Time) {
        while let Some(outcome) = self.links[from].next_outcome() {
            if let PacketOutcome::Dropped(dropped) = outcome {
                self.drop(from, now, &dropped);
            }
        }
    }

    fn drop(&mut self, from: usize, at: Time, dropped: &Dropped<WirePacket>) {
        self.held -= u64::from(dropped.packet.size());
        self.record(from, &dropped.packet, End::Dropped { at, reason: dropped.reason });
    }

    /// Logs a delivery. A copy is only in the capture, because the original packet has the row.
    fn log_delivery(&mut self, from: usize, packet: &WirePacket, at: Time, late: Duration) {
        if let Some(log) = &mut self.log {
            log.frame(1 - from, at, packet.bytes());
        }
        if packet.copy {
            return;
        }
        self.held -= u64::from(packet.size());
        let end = if packet.damaged {
            End::Dropped { at, reason: DropReason::Damaged }
        } else {
            End::Delivered { at, late }
        };
        self.record(from, packet, end);
    }

    fn record(&mut self, from: usize, packet: &WirePacket, end: End) {
        let Some(log) = &mut self.log else { return };
        log.row(Row {
            from,
            arrival: packet.arrival,
            size: packet.size(),
            flow: packet.flow(),
            departure: packet.departure,
            marked: packet.marked,
            end,
            segment: packet.segment(),
        });
    }

    /// Publishes a snapshot.
    fn publish(&mut self) {
        let now = self.now();
        if now - self.published < TICK {
            return;
        }
        self.published = now;
        self.watch(now);
        let snapshot = self.snapshot(now);
        // Whoever holds the lock is reading the one before: let it be, rather than wait.
        if let Ok(mut shared) = self.shared.snapshot.try_lock() {
            *shared = snapshot;
        }
        if let Some(log) = &mut self.log {
            log.flush();
        }
    }

    /// Records changes of the interfaces.
    fn watch(&mut self, now: Time) {
        for (tun, first) in self.tuns.iter().zip(&mut self.changes) {
            if first.is_none() {
                *first = tun.change().map(|change| (now, change));
            }
        }
    }

    fn snapshot(&mut self, now: Time) -> Snapshot {
        let mut side = |i: usize| SideReport {
            backlog: self.links[i].backlog(now),
            counters: self.links[i].counters(now),
        };
        Snapshot { elapsed: now - Time::ZERO, sides: [side(0), side(1)] }
    }

    /// Sleeps until a packet is due or arrives. Returns which sides may have packets to read.
    fn wait(&self) -> Result<[bool; 2], Error> {
        let due = self.links.iter().filter_map(Link::next).min().unwrap_or(Time::NEVER);
        let now = self.now();
        if due <= now {
            return Ok([true; 2]);
        }
        let least = if self.spin == Duration::ZERO { GATHER } else { Duration::ZERO };
        let (ready, slept) = self.sleep((due - now).max(least).min(TICK) - self.spin)?;
        if slept && self.spin > Duration::ZERO {
            while due - self.now() != Duration::ZERO && due - now <= TICK {
                std::hint::spin_loop();
            }
        }
        Ok(ready)
    }

    /// Returns the sides that have packets to read, and whether the whole time passed.
    fn sleep(&self, span: Duration) -> Result<([bool; 2], bool), Error> {
        let watch = |fd| PollFd::new(fd, PollFlags::POLLIN);
        let mut fds =
            [watch(self.tuns[0].as_fd()), watch(self.tuns[1].as_fd()), watch(self.stop.wake.as_fd())];
        match ppoll(&mut fds, Some(TimeSpec::from_duration(std::time::Duration::from_nanos(span.0))), None) {
            Ok(0) => Ok(([false; 2], true)),
            // An error shows when it is read.
            Ok(_) => Ok(([fds[0].any().unwrap_or(true), fds[1].any().unwrap_or(true)], false)),
            Err(Errno::EINTR) => Ok(([true; 2], false)),
            Err(e) => Err(Error::system("wait for packets", e)),
        }
    }

    /// Logs the packets that are still in the queue or on the link. Packets that would never be
    /// delivered are not logged.
    fn log_held(&mut self, now: Time) {
        for from in 0..2 {
            while let Some(packet) = self.links[from].pop(Time(u64::MAX - 2)) {
                if !packet.copy {
                    self.record(from, &packet, End::Held { at: now });
                }
            }
        }
    }

    fn gone(&self, side: usize) -> Error {
        let side = if side == 0 { Side::Client } else { Side::Server };
        let after = (self.now() - Time::ZERO).as_secs_f64();
        Error::new(format!(
            "the interface {} of the {side}'s namespace was deleted {after:.1} s after the start: leave it as it is",
            tun::NAME
        ))
    }

    fn finish(mut self) -> Outcome {
        let now = self.now();
        self.watch(now);
        let snapshot = self.snapshot(now);
        self.log_held(now);
        Outcome {
            snapshot,
            anomalies: self.anomalies,
            changes: self.changes,
            cpu: clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID)
                .map_or(Duration::ZERO, |t| Duration(t.tv_sec() as u64 * 1_000_000_000 + t.tv_nsec() as u64)),
            timing: self.timing,
        }
    }
}

/// Returns the spin before a packet of this link: zero where packets come close together.
fn spin(config: &LinkConfig) -> Duration {
    let RateModel::Constant(rate) = config.rate else { return SPIN };
    // A link that only delays adds packets no closer than they come.
    let gap = rate.time_for(MTU as u64);
    if gap >= SPIN * SPIN_SHARE || gap < Duration::from_micros(1) { SPIN } else { Duration::ZERO }
}

fn is_gone(error: &io::Error) -> bool {
    error.raw_os_error() == Some(nix::libc::EBADFD)
}
