//! ACK generation of a TCP receiver: cumulative, three SACK blocks (RFC 2018), delayed (RFC 1122,
//! Linux timers).
//!
//! Timestamps follow RFC 7323. An ACK contains the receiver's clock when it is sent (TSval). It
//! also names the transmission whose timestamp it echoes (TSecr). By section 4.3 that is the newest
//! transmission that started at or before the edge of the previous ACK. A delayed ACK therefore
//! echoes the earliest transmission that it covers, and TSval - TSecr is the one-way delay *plus*
//! the wait for the ACK. Data beyond a hole are not echoed; data that fill it are.

use std::sync::Arc;

use units::{Duration, Ecn, Time};

use crate::ack::{SACK_BLOCKS, TcpAck};
use crate::clock::{Clock, floor};
use crate::ecn::EcnCounts;
use crate::receiver::config::AckConfig;
use crate::receiver::quick_acks::QuickAcks;
use crate::receiver::reassembly::Reassembly;

/// SACK blocks of a stream without gaps.
const NO_SACKS: [(u64, u64); SACK_BLOCKS] = [(0, 0); SACK_BLOCKS];

/// A TCP receiver.
#[derive(Clone, Debug)]
pub struct TcpReceiver {
    config: Arc<AckConfig>,
    clock: Clock,
    stream: Reassembly,
    newest: u64,
    echo: u64,
    duplicate: bool,
    /// `Last.ACK.sent`, and the transmission behind `TS.Recent`.
    last_ack: u64,
    recent: Option<u64>,
    ecn: EcnCounts,
    unacked: u64,
    due: Option<Time>,
    quick_acks: Option<QuickAcks>,
    with_sack: bool,
}

impl TcpReceiver {
    /// Creates a receiver.
    ///
    /// Linux's quick ACKs, if configured, need the payload of a full segment, `mss` bytes, and the
    /// base RTT.
    pub fn new(config: impl Into<Arc<AckConfig>>, clock: Clock, mss: u32, rtt: Duration) -> Self {
        let config = config.into();
        Self {
            quick_acks: config.quick_acks.then(|| QuickAcks::new(mss, rtt)),
            with_sack: true,
            config,
            clock,
            stream: Reassembly::default(),
            newest: 0,
            echo: 0,
            duplicate: false,
            last_ack: 0,
            recent: None,
            ecn: EcnCounts::default(),
            unacked: 0,
            due: None,
        }
    }

    /// Records transmission `pn` with the bytes `start..end`. Returns the number of new bytes, and
    /// true if an ACK must be sent now.
    pub fn on_packet(&mut self, now: Time, pn: u64, ecn: Ecn, start: u64, end: u64) -> (u64, bool) {
        let before = self.stream.contiguous();
        let fresh = self.stream.insert(start, end);
        // RFC 5681 section 4.2: data that fill part of a gap are also acknowledged at once.
        let in_order = start == before && self.stream.contiguous() == end && self.stream.has_no_gaps();
        self.ecn.add(ecn);
        self.newest = start;
        (self.echo, self.duplicate) = (pn, fresh == 0);
        if start <= self.last_ack {
            self.recent = self.recent.max(Some(pn));
        }
        self.unacked += 1;
        let after = self.stream.contiguous();
        let quick = self.quick_acks.as_mut().is_some_and(|q| q.on_packet(now, start, end, before, after));
        if quick || self.unacked >= self.config.ack_every.at(now) || !in_order || ecn == Ecn::Ce {
            return (fresh, true);
        }
        self.due.get_or_insert(now + self.config.max_ack_delay);
        (fresh, false)
    }

    /// Returns the time at which a delayed ACK is due.
    pub fn timer(&self) -> Option<Time> {
        self.due
    }

    /// Leaves SACK blocks out of acknowledgements.
    #[must_use]
    pub fn without_sack(self) -> Self {
        Self { with_sack: false, ..self }
    }

    /// Returns the ACK to send now.
    pub fn ack(&mut self, now: Time) -> TcpAck {
        self.unacked = 0;
        self.due = None;
        self.quick_acks.iter_mut().for_each(QuickAcks::on_ack);
        let sacks = if self.with_sack && !self.stream.has_no_gaps() { self.sacks() } else { NO_SACKS };
        let ecn = (self.ecn != EcnCounts::default()).then_some(self.ecn);
        self.last_ack = self.stream.contiguous();
        let timestamps = self.timestamps(now);
        let (cumulative, echo, duplicate) = (self.last_ack, self.echo, self.duplicate);
        TcpAck { cumulative, sacks, echo, duplicate, timestamps, ecn }
    }

    /// Returns the block with the newest data first (RFC 2018 section 4), then blocks from the end
    /// of the stream.
    #[inline(never)]
    fn sacks(&self) -> [(u64, u64); SACK_BLOCKS] {
        let mut sacks = NO_SACKS;
        let newest = self.stream.block_at(self.newest);
        let others = self.stream.blocks().rev().filter(|b| Some(*b) != newest);
        for (slot, block) in sacks.iter_mut().zip(newest.into_iter().chain(others)) {
            *slot = block;
        }
        sacks
    }

    fn timestamps(&self, now: Time) -> Option<(u64, i64)> {
        let echoed = self.recent.filter(|_| self.config.timestamps > 0)?;
        Some((echoed, floor(self.clock.read(now), self.config.timestamp_granularity)))
    }

    /// Returns the end of the contiguous data: all bytes before this one have arrived.
    pub fn contiguous(&self) -> u64 {
        self.stream.contiguous()
    }

    /// Reports whether all of `start..end` has arrived.
    pub fn holds(&self, start: u64, end: u64) -> bool {
        self.stream.holds(start, end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn receiver(config: AckConfig) -> TcpReceiver {
        TcpReceiver::new(config, Clock::default(), 1000, Duration::ZERO)
    }

    #[test]
    fn delayed_then_sacked() {
        let mut r = receiver(AckConfig::default());
        assert_eq!(r.on_packet(Time(0), 0, Ecn::NotEct, 0, 1000), (1000, false));
        assert!(r.on_packet(Time(0), 1, Ecn::NotEct, 1000, 2000).1);
        assert_eq!(r.ack(Time(0)).cumulative, 2000);
        assert!(r.on_packet(Time(0), 3, Ecn::NotEct, 3000, 4000).1, "gap");
        let ack = r.ack(Time(0));
        assert_eq!((ack.cumulative, ack.sacks[0], ack.echo), (2000, (3000, 4000), 3));
        assert!(ack.covers(3000, 4000) && !ack.covers(2000, 3000));
        r.on_packet(Time(0), 5, Ecn::NotEct, 5000, 6000);
        assert_eq!(r.ack(Time(0)).sacks, [(5000, 6000), (3000, 4000), (0, 0)]);
        assert!(r.on_packet(Time(0), 6, Ecn::NotEct, 2000, 3000).1, "fills a hole");
        assert_eq!(r.ack(Time(0)).cumulative, 4000);
        assert_eq!(r.on_packet(Time(0), 7, Ecn::NotEct, 0, 1000), (0, true), "duplicate");
    }

    /// RFC 5681 section 4.2: data that fill part of a gap are acknowledged at once, although they
    /// move the edge in order.
    #[test]
    fn part_of_a_gap() {
        let mut r = receiver(AckConfig::default());
        assert!(r.on_packet(Time(0), 3, Ecn::NotEct, 3000, 4000).1);
        r.ack(Time(0));
        for (pn, edge) in [(0, 1000), (1, 2000), (2, 4000)] {
            assert!(r.on_packet(Time(0), pn, Ecn::NotEct, 1000 * pn, 1000 * pn + 1000).1, "{pn}");
            assert_eq!((r.ack(Time(0)).cumulative, r.timer()), (edge, None));
        }
        assert!(!r.on_packet(Time(0), 4, Ecn::NotEct, 4000, 5000).1, "whole again: delayed");
    }

    /// RFC 7323 section 4.3, its three cases (A) to (C): the earliest of a delayed ACK, nothing
    /// beyond a hole, data that fill it. Also a repeat of acknowledged data. The clock is that of
    /// the ACK, in whole milliseconds.
    #[test]
    fn timestamps_by_the_letter() {
        let mut r = receiver(AckConfig { timestamps: 1, ..AckConfig::default() });
        for (us, pn, segment, echoed) in [
            (10_100, 0, 0, None),
            (11_900, 1, 1, Some((0, 11_000_000))),
            (13_500, 3, 3, Some((0, 13_000_000))),
            (14_500, 4, 4, Some((0, 14_000_000))),
            (15_500, 5, 2, Some((5, 15_000_000))),
            (16_500, 6, 5, None),
            (17_500, 7, 0, Some((7, 17_000_000))),
            (18_500, 2, 2, Some((7, 18_000_000))),
        ] {
            let now = Time(us * 1000);
            let (_, must) = r.on_packet(now, pn, Ecn::NotEct, 1000 * segment, 1000 * segment + 1000);
            assert_eq!(must.then(|| r.ack(now).timestamps.unwrap()), echoed, "{pn}");
        }
        let mut r = receiver(AckConfig { timestamps: 0, ..AckConfig::default() });
        r.on_packet(Time(0), 0, Ecn::NotEct, 0, 1000);
        assert_eq!(r.ack(Time(0)).timestamps, None, "off");
    }
}
