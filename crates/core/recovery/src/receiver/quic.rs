//! ACK generation of a QUIC receiver: RFC 9000 section 13.2, with the receive timestamps of
//! draft-ietf-quic-receive-ts-02.

use std::sync::Arc;

use units::{Duration, Ecn, Time};

use crate::ack::AckFrame;
use crate::clock::{Clock, floor_to_power};
use crate::ecn::EcnCounts;
use crate::receiver::config::AckConfig;
use crate::receiver::on_gap::OnGap;
use crate::receiver::stamps::StampLog;

/// Contents of a sent ACK. The receiver needs them once the peer acknowledges the packet with that
/// ACK ([`Receiver::on_ack_acked`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckReceipt {
    /// The Largest Acknowledged field.
    largest: u64,
    /// Range of the logged receive times in the ACK.
    stamps: (u64, u64),
}

/// The receiver of one packet number space.
#[derive(Clone, Debug)]
pub struct Receiver {
    /// Shared between receivers, to stay in the cache.
    config: Arc<AckConfig>,
    clock: Clock,
    /// Delay of an ACK that is not urgent.
    delay: Duration,
    /// Received ranges, from index `first` on, with the lowest numbers first, because most gaps
    /// close at the bottom.
    ranges: Vec<(u64, u64)>,
    first: usize,
    /// Numbers below this one may have been received and forgotten. They count as duplicates.
    floor: u64,
    range_limit: usize,
    largest_at: Time,
    ecn: EcnCounts,
    unacked: u64,
    due: Option<Time>,
    timestamps: Vec<(u64, i64)>,
    /// Used instead of `timestamps` by endpoints, whose ACKs can be lost.
    log: Option<Box<StampLog>>,
    /// Number of ACKs written.
    written: u64,
}

impl Receiver {
    /// Creates a receiver. `rtt` is the base RTT, which only `delay_factor` uses.
    ///
    /// Deviation: the RTT is fixed to the value that a handshake would measure on an empty path. A
    /// real receiver keeps estimating it from the few packets that it sends.
    pub fn new(config: impl Into<Arc<AckConfig>>, clock: Clock, rtt: Duration) -> Self {
        let config = config.into();
        Self {
            delay: config.delay(rtt),
            config,
            clock,
            ranges: Vec::new(),
            first: 0,
            floor: 0,
            range_limit: usize::MAX,
            largest_at: Time::ZERO,
            ecn: EcnCounts::default(),
            unacked: 0,
            due: None,
            timestamps: Vec::new(),
            log: None,
            written: 0,
        }
    }

    /// Bounds the memory, for endpoints whose peer is not trusted.
    ///
    /// The receiver keeps at most `ranges` ranges of numbers, at least 1. Beyond that it forgets
    /// the lowest range. From then on every number up to its end counts as a duplicate (RFC 9000
    /// section 13.2.3). Receive times are written in order of arrival. Every ACK repeats them until
    /// one that contained them is [acknowledged](Self::on_ack_acked). The latest
    /// [`AckConfig::timestamps`] are kept.
    pub fn bounded(mut self, ranges: usize) -> Self {
        self.range_limit = ranges.max(1);
        self.log = Some(Box::new(StampLog::new(self.config.timestamps)));
        self
    }

    /// Changes the rules, because the peer asked for it (draft-ietf-quic-ack-frequency section 6).
    /// Received packets, an ACK that is already due, and the number of receive times kept do not
    /// change.
    pub fn set_config(&mut self, config: impl Into<Arc<AckConfig>>) {
        self.config = config.into();
        // `delay_factor` is for simulations. The delay of an endpoint is the one requested.
        self.delay = self.config.delay(Duration::MAX);
    }

    /// Reports whether a packet with this number would be a duplicate: already received, or too old
    /// to tell.
    ///
    /// Processing its frames nevertheless would allow a replay attack (RFC 9000 section 12.3).
    pub fn is_duplicate(&self, pn: u64) -> bool {
        let at = self.first + self.ranges[self.first..].partition_point(|r| r.1 < pn);
        pn < self.floor || self.ranges.get(at).is_some_and(|r| r.0 <= pn)
    }

    /// Records a packet that does not elicit an ACK, with only ACK, PADDING and CONNECTION_CLOSE
    /// frames.
    ///
    /// The next ACK includes and counts it, but it does not trigger one (RFC 9000 section 13.2.1).
    /// Its receive time is not reported. A duplicate has no effect.
    pub fn on_bare_packet(&mut self, now: Time, pn: u64, ecn: Ecn) {
        let largest = self.ranges.last().map(|r| r.1);
        if self.record(pn) {
            self.ecn.add(ecn);
            if largest.is_none_or(|l| pn > l) {
                self.largest_at = now;
            }
        }
    }

    /// Records an ack-eliciting packet. Returns true if an ACK must be sent now. A duplicate has no
    /// effect.
    ///
    /// The sender needs no acknowledgement below `least_unacked`, and no packet below it arrives
    /// twice. Only a simulation knows this. An endpoint passes 0 and calls
    /// [`forget_below`](Self::forget_below).
    pub fn on_packet(&mut self, now: Time, pn: u64, ecn: Ecn, least_unacked: u64) -> bool {
        let largest = self.ranges.last().map(|r| r.1);
        if !self.record(pn) {
            return false;
        }
        if self.ranges.get(self.first).is_some_and(|r| r.1 < least_unacked) {
            self.drop_first(self.count_below(least_unacked));
        }
        self.ecn.add(ecn);
        self.stamp(now, pn);
        if largest.is_none_or(|l| pn > l) {
            self.largest_at = now;
        }
        self.unacked += 1;
        let in_order = largest.map_or(pn == 0, |l| l.checked_add(1) == Some(pn));
        if self.unacked >= self.config.ack_every.at(now) || self.at_gap(in_order) || ecn == Ecn::Ce {
            return true;
        }
        self.due.get_or_insert(now + self.delay);
        false
    }

    fn at_gap(&self, in_order: bool) -> bool {
        match self.config.immediate_on_gap {
            OnGap::Off => false,
            OnGap::Once => !in_order,
            OnGap::All => !in_order || self.has_gap(),
        }
    }

    /// Reports whether a packet below the largest is missing that the sender still waits for.
    fn has_gap(&self) -> bool {
        self.ranges.len() - self.first > 1
    }

    /// Reports whether ack-eliciting packets have arrived that no ACK includes yet. If so, add an
    /// ACK to the next packet sent.
    pub fn has_unacked(&self) -> bool {
        self.unacked > 0
    }

    /// Returns the time at which a delayed ACK is due.
    pub fn timer(&self) -> Option<Time> {
        self.due
    }

    /// Writes the ACK to send now into `frame`.
    pub fn write_ack(&mut self, now: Time, frame: &mut AckFrame) {
        let newest = self.ranges.len().saturating_sub(self.config.max_ranges.max(1)).max(self.first);
        frame.ranges.clear();
        frame.ranges.extend_from_slice(&self.ranges[newest..]);
        frame.ack_delay = now - self.largest_at;
        frame.ecn = (self.ecn != EcnCounts::default()).then_some(self.ecn);
        frame.timestamps.clear();
        match &self.log {
            None => frame.timestamps.append(&mut self.timestamps),
            Some(log) => log.write(&mut frame.timestamps),
        }
        self.written += 1;
        let its_turn = |every: u64| self.written.is_multiple_of(every);
        // Receive times reported only once need no answer.
        let repeats = self.has_gap() || (self.log.is_some() && !frame.timestamps.is_empty());
        frame.ping = repeats && self.config.ping_every.is_some_and(its_turn);
        self.unacked = 0;
        self.due = None;
    }

    /// Returns the receipt of the ACK just written, which was sent with the latest `stamps` receive
    /// times. Keep it with the packet. Returns `None` before the first packet.
    pub fn receipt(&self, stamps: usize) -> Option<AckReceipt> {
        let stamps = self.log.as_ref().map_or((0, 0), |log| log.latest(stamps));
        self.ranges.last().map(|r| AckReceipt { largest: r.1, stamps })
    }

    /// Records that the peer acknowledged a packet with this ACK.
    ///
    /// Numbers up to the ACK's largest are not acknowledged again, except for the range that
    /// contains it (RFC 9000 section 13.2.4). Its receive times are not repeated.
    pub fn on_ack_acked(&mut self, AckReceipt { largest, stamps }: AckReceipt) {
        self.forget_below(largest.saturating_add(1));
        if let Some(log) = &mut self.log {
            log.forget(stamps);
        }
    }

    /// Adds a packet number. Returns false for a duplicate.
    fn record(&mut self, pn: u64) -> bool {
        match self.ranges.last_mut() {
            Some(last) if last.1.checked_add(1) == Some(pn) => {
                last.1 = pn;
                return true;
            }
            None => {
                self.ranges.push((pn, pn));
                return true;
            }
            Some(_) => {}
        }
        let i = self.first + self.ranges[self.first..].partition_point(|r| r.1 < pn);
        if pn < self.floor || self.ranges.get(i).is_some_and(|r| r.0 <= pn) {
            return false;
        }
        let joins_left = i > self.first && self.ranges[i - 1].1 + 1 == pn;
        let joins_right = self.ranges.get(i).is_some_and(|r| r.0 == pn + 1);
        match (joins_left, joins_right) {
            (true, true) if i - 1 == self.first => {
                self.ranges[i].0 = self.ranges[i - 1].0;
                self.drop_first(1);
            }
            (true, true) => {
                self.ranges[i - 1].1 = self.ranges[i].1;
                self.ranges.remove(i);
            }
            (true, false) => self.ranges[i - 1].1 = pn,
            (false, true) => self.ranges[i].0 = pn,
            (false, false) => self.insert(i, pn),
        }
        true
    }

    fn insert(&mut self, at: usize, pn: u64) {
        self.ranges.insert(at, (pn, pn));
        if self.ranges.len() - self.first > self.range_limit {
            self.forget_first(1);
        }
    }

    /// Stops acknowledging packets below this number, except for the range of the largest one.
    /// Numbers below it that may have been received stay duplicates.
    pub fn forget_below(&mut self, pn: u64) {
        self.forget_first(self.count_below(pn));
    }

    /// Returns the number of ranges that end below this number, not counting the last range.
    fn count_below(&self, pn: u64) -> usize {
        let left = &self.ranges[self.first..];
        left.partition_point(|r| r.1 < pn).min(left.len().saturating_sub(1))
    }

    /// Forgets the lowest ranges, but remembers that they existed.
    fn forget_first(&mut self, count: usize) {
        if let Some(last) = count.checked_sub(1) {
            self.floor = self.ranges[self.first + last].1 + 1;
            self.drop_first(count);
        }
    }

    /// Removes the lowest ranges from the list. Frees their memory once they are the majority.
    fn drop_first(&mut self, count: usize) {
        self.first += count;
        if self.first > self.ranges.len() / 2 {
            self.ranges.drain(..self.first);
            self.first = 0;
        }
    }

    fn stamp(&mut self, now: Time, pn: u64) {
        if self.config.timestamps == 0 {
            return;
        }
        let received = floor_to_power(self.clock.read(now), self.config.timestamp_exponent.min(20));
        if let Some(log) = &mut self.log {
            return log.push((pn, received));
        }
        let i = self.timestamps.partition_point(|t| t.0 < pn);
        self.timestamps.insert(i, (pn, received));
        if self.timestamps.len() > self.config.timestamps {
            self.timestamps.remove(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn receiver() -> Receiver {
        with(AckConfig::default())
    }

    fn with(config: AckConfig) -> Receiver {
        Receiver::new(config, Clock::default(), Duration::from_millis(50))
    }

    fn ack(r: &mut Receiver, ms: u64) -> AckFrame {
        let mut frame = AckFrame::default();
        r.write_ack(Time::from_millis(ms), &mut frame);
        frame
    }

    #[test]
    fn every_second_packet_or_after_the_delay() {
        let mut r = receiver();
        assert!(!r.on_packet(Time::from_millis(10), 0, Ecn::NotEct, 0));
        assert_eq!(r.timer(), Some(Time::from_millis(35)));
        assert!(r.on_packet(Time::from_millis(12), 1, Ecn::NotEct, 0));
        let frame = ack(&mut r, 13);
        assert_eq!((frame.ranges, frame.ack_delay), (vec![(0, 1)], Duration::from_millis(1)));
        assert_eq!(frame.timestamps, vec![(0, 10_000_000), (1, 12_000_000)]);
        assert_eq!(r.timer(), None);
    }

    #[test]
    fn at_once_on_gap_reordering_and_ce() {
        let mut r = receiver();
        r.on_packet(Time(0), 0, Ecn::NotEct, 0);
        ack(&mut r, 0);
        assert!(r.on_packet(Time(0), 2, Ecn::NotEct, 0), "gap");
        ack(&mut r, 0);
        assert!(r.on_packet(Time(0), 1, Ecn::NotEct, 0), "reordering");
        assert_eq!(ack(&mut r, 0).ranges, vec![(0, 2)]);
        assert!(r.on_packet(Time(0), 3, Ecn::Ce, 0), "CE");
        assert_eq!(ack(&mut r, 0).ecn.unwrap().ce, 1);
        assert!(!r.on_packet(Time(0), 3, Ecn::Ce, 0), "duplicate");
        assert_eq!(ack(&mut r, 0).ecn.unwrap().ce, 1);
    }

    #[test]
    fn forgets_what_the_sender_no_longer_awaits() {
        let mut r = receiver();
        for pn in [0, 2, 4, 6] {
            r.on_packet(Time(0), pn, Ecn::NotEct, 0);
        }
        r.on_packet(Time(0), 7, Ecn::NotEct, 5);
        assert_eq!(ack(&mut r, 0).ranges, vec![(6, 7)]);
    }

    /// RFC 9000 section 13.2.1: an ACK at once for a gap, then for every packet that fills it.
    /// Ranges merge.
    #[test]
    fn gaps() {
        let mut r = receiver();
        for (pn, ranges) in [
            (3, vec![(3, 3)]),
            (9, vec![(3, 3), (9, 9)]),
            (5, vec![(3, 3), (5, 5), (9, 9)]),
            (4, vec![(3, 5), (9, 9)]),
            (8, vec![(3, 5), (8, 9)]),
            (2, vec![(2, 5), (8, 9)]),
        ] {
            assert!(r.on_packet(Time(0), pn, Ecn::NotEct, 0), "{pn}");
            assert_eq!(ack(&mut r, 0).ranges, ranges, "{pn}");
        }
        assert!(!r.on_packet(Time(0), 10, Ecn::NotEct, 0), "in order again, whatever is missing below");
    }

    /// The largest packet number has no successor.
    #[test]
    fn no_overflow() {
        let mut r = receiver();
        r.on_packet(Time(0), u64::MAX, Ecn::NotEct, 0);
        assert!(!r.on_packet(Time(0), u64::MAX, Ecn::NotEct, 0), "duplicate");
        r.on_packet(Time(0), u64::MAX - 1, Ecn::NotEct, 0);
        assert_eq!(ack(&mut r, 0).ranges, vec![(u64::MAX - 1, u64::MAX)]);
    }

    /// Every third ACK carries a PING if it has more than one range.
    #[test]
    fn pings_while_there_are_gaps() {
        let config = AckConfig { ping_every: Some(3), max_ranges: 1, ..AckConfig::default() };
        let mut r = with(config);
        r.on_packet(Time(0), 0, Ecn::NotEct, 0);
        let mut pings = |count| (0..count).filter(|_| ack(&mut r, 0).ping).count();
        assert_eq!(pings(6), 0, "no gap");
        r.on_packet(Time(0), 2, Ecn::NotEct, 0);
        let mut pings = |count| (0..count).map(|_| ack(&mut r, 0).ping).collect::<Vec<_>>();
        assert_eq!(pings(6), [false, false, true, false, false, true]);
        r.on_packet(Time(0), 3, Ecn::NotEct, 2);
        assert!((0..6).all(|_| !ack(&mut r, 0).ping), "the old range is forgotten");
    }

    /// Receive times that are repeated until acknowledged are also a reason for a PING.
    #[test]
    fn pings_while_receive_times_wait() {
        let config = AckConfig { ping_every: Some(2), ..AckConfig::default() };
        let mut r = with(config).bounded(8);
        r.on_packet(Time(0), 0, Ecn::NotEct, 0);
        assert_eq!([0; 4].map(|at| ack(&mut r, at).ping), [false, true, false, true]);
        r.on_ack_acked(r.receipt(1).unwrap());
        assert_eq!([0; 4].map(|at| ack(&mut r, at).ping), [false; 4]);
    }

    /// RFC 9000 section 13.2.3: the newest ranges are kept, and always the largest packet.
    #[test]
    fn newest_ranges() {
        for (max_ranges, ranges) in [(2, vec![(4, 4), (6, 6)]), (1, vec![(6, 6)]), (0, vec![(6, 6)])] {
            let mut r = with(AckConfig { max_ranges, ..AckConfig::default() });
            for pn in [0, 6, 2, 4] {
                r.on_packet(Time(0), pn, Ecn::NotEct, 0);
            }
            assert_eq!(ack(&mut r, 0).ranges, ranges);
            assert_eq!(ack(&mut r, 0).ranges, ranges, "an ACK does not use them up");
        }
    }

    /// The limit keeps the largest packet numbers, even if an old one arrives last. Each is
    /// reported once.
    #[test]
    fn newest_timestamps() {
        let mut r = with(AckConfig { timestamps: 2, ..AckConfig::default() });
        for (us, pn) in [(10, 5), (20, 7), (30, 3), (40, 6)] {
            r.on_packet(Time(us * 1000), pn, Ecn::NotEct, 0);
        }
        assert_eq!(ack(&mut r, 1).timestamps, vec![(6, 40_000), (7, 20_000)]);
        assert!(ack(&mut r, 1).timestamps.is_empty());
        let mut r = with(AckConfig { timestamps: 0, ..AckConfig::default() });
        r.on_packet(Time(0), 0, Ecn::NotEct, 0);
        assert!(ack(&mut r, 1).timestamps.is_empty(), "off");
    }

    /// The exponent rounds down, also on clocks that show negative time.
    #[test]
    fn timestamp_unit() {
        let config = AckConfig { timestamp_exponent: 3, ..AckConfig::default() };
        let mut r = Receiver { clock: Clock { offset_seconds: -1.0, ..Clock::default() }, ..with(config) };
        r.on_packet(Time(20_500), 0, Ecn::NotEct, 0);
        assert_eq!(ack(&mut r, 0).timestamps, vec![(0, -1_000_000_000 + 16_000)]);
    }
}
