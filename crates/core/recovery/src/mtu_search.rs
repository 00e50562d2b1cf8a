//! Search for the MTU of a path by datagrams of a packetization layer (DPLPMTUD, RFC 8899; RFC 9000
//! section 14.3).
//!
//! ```text
//! low     largest size known to pass, from BASE_PLPMTU = 1200 bytes (section 5.1.2)
//! high    smallest size known to be refused, or the largest to use
//! probe   low + ceil((high - low) / 2), one at a time, while high - low >= 20 bytes
//! acked   low = probe, used at once
//! lost    three times (MAX_PROBES): high = probe
//! again   PMTU_RAISE_TIMER = 600 s after the end: high = the largest to use
//! black   three packets above 1200 bytes lost in a row, all later than the last one of such a size
//! hole    that arrived (section 4.3): low = 1200 bytes until the timer
//! ```
//!
//! A gap of `g` bytes takes `floor(log2(g / 20)) + 1` sizes if all of them pass, which is
//! `ceil(log2(g / 20))` unless `g / 20` is a power of two. If the path refuses some, rounding can
//! add one. A size that passes takes one probe, and one that is refused takes three. The result is
//! less than 20 bytes below the largest size that passes, or that may be used.
//!
//! Deviation: the search starts from the base at once, without a probe of that size, since QUIC's
//! handshake has already shown that 1200 bytes pass (RFC 9000 section 14.1).

use units::{Duration, Time};

/// `BASE_PLPMTU`: size that every path of QUIC carries, in bytes (RFC 9000 section 14.1).
pub const BASE_DATAGRAM: u64 = 1200;
/// Distance of the bounds below which the search ends, in bytes.
const CLOSE: u64 = 20;
/// `MAX_PROBES`: losses of a size that rule it out.
const MAX_PROBES: u32 = 3;
/// Losses in a row that reveal a black hole.
const BLACK_HOLE: u32 = 3;
/// `PMTU_RAISE_TIMER`.
const RAISE_AFTER: Duration = Duration::from_secs(600);

/// State of the search on one path.
#[derive(Clone, Debug)]
pub struct MtuSearch {
    low: u64,
    high: u64,
    /// Largest size to use.
    most: u64,
    /// Serial and size of the probe in flight.
    probe: Option<(u64, u64)>,
    /// Losses of probes of the current size.
    losses: u32,
    /// Time at which the next search begins, once this one has ended.
    again: Option<Time>,
    /// Newest packet above the base that arrived.
    arrived: Option<u64>,
    /// Later packets above the base that were lost.
    missing: u32,
}

impl MtuSearch {
    /// Starts on a path where datagrams of at most `most` bytes are to be used.
    pub fn new(most: u64) -> Self {
        let low = most.min(BASE_DATAGRAM);
        Self { low, high: most, most, probe: None, losses: 0, again: None, arrived: None, missing: 0 }
    }

    /// Starts on another path.
    pub(crate) fn restart(&mut self) {
        *self = Self::new(self.most);
    }

    /// Limits the largest size to use, by what the peer accepts.
    pub(crate) fn limit(&mut self, most: u64) {
        (self.most, self.high) = (self.most.min(most), self.high.min(most));
        self.low = self.low.min(most);
    }

    /// Returns the size of datagrams, in bytes.
    pub fn size(&self) -> u64 {
        self.low
    }

    /// Returns the size of the probe to send now, or `None` if none is due.
    pub fn due(&mut self, now: Time) -> Option<u64> {
        if self.again.is_some_and(|again| again <= now) {
            (self.again, self.high) = (None, self.most);
        }
        let gap = self.high.saturating_sub(self.low);
        if self.probe.is_some() || self.again.is_some() || gap < CLOSE {
            return None;
        }
        Some(self.low + gap.div_ceil(2))
    }

    /// Records that a probe of this size is sent, as the packet with this serial.
    pub(crate) fn on_probe(&mut self, serial: u64, bytes: u64) {
        self.probe = Some((serial, bytes));
    }

    /// Returns the serial of the probe in flight.
    pub(crate) fn probe(&self) -> Option<u64> {
        self.probe.map(|probe| probe.0)
    }

    /// Records the arrival of a packet: of the probe, or of another.
    pub(crate) fn on_acked(&mut self, now: Time, serial: u64, bytes: u64) {
        if bytes > BASE_DATAGRAM {
            (self.arrived, self.missing) = (self.arrived.max(Some(serial)), 0);
        }
        if let Some((_, size)) = self.probe.take_if(|probe| probe.0 == serial) {
            (self.low, self.losses) = (size.max(self.low), 0);
            self.end_if_close(now);
        }
    }

    /// Records that the probe was lost.
    pub(crate) fn on_probe_lost(&mut self, now: Time) {
        let Some((_, size)) = self.probe.take() else { return };
        self.losses += 1;
        if self.losses >= MAX_PROBES {
            (self.high, self.losses) = (size, 0);
            self.end_if_close(now);
        }
    }

    /// Records that another packet was lost. A packet that a later one of such a size has overtaken
    /// says nothing about the size.
    pub(crate) fn on_lost(&mut self, now: Time, serial: u64, bytes: u64) {
        if bytes <= BASE_DATAGRAM || self.low <= BASE_DATAGRAM || self.arrived > Some(serial) {
            return;
        }
        self.missing += 1;
        if self.missing >= BLACK_HOLE {
            (self.low, self.missing, self.losses) = (BASE_DATAGRAM, 0, 0);
            self.again = Some(now + RAISE_AFTER);
        }
    }

    fn end_if_close(&mut self, now: Time) {
        if self.high.saturating_sub(self.low) < CLOSE {
            self.again = Some(now + RAISE_AFTER);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Time = Time::from_millis(100);

    /// Runs a search over a path that carries up to `mtu`, from packet `serial` on. Returns the
    /// probes that passed and those that were lost.
    fn run(search: &mut MtuSearch, now: Time, mtu: u64) -> [u64; 2] {
        let mut probes = [0; 2];
        while let Some(size) = search.due(now) {
            let serial = 1000 + probes[0] + probes[1];
            search.on_probe(serial, size);
            assert_eq!(search.due(now), None, "one at a time");
            if size <= mtu {
                search.on_acked(now, serial, size);
                assert_eq!(search.size(), size, "used at once");
            } else {
                search.on_probe_lost(now);
            }
            probes[usize::from(size > mtu)] += 1;
        }
        probes
    }

    /// Exactly `floor(log2(gap / 20)) + 1` probes on a path that carries everything.
    #[test]
    fn as_many_probes_as_the_closed_form() {
        for most in 1200..=9000 {
            let mut search = MtuSearch::new(most);
            let gap = most - 1200;
            let closed = (gap / 20).checked_ilog2().map_or(0, |log| u64::from(log) + 1);
            assert_eq!(run(&mut search, START, most), [closed, 0], "{most}");
            assert!(search.size() <= most && most - search.size() < 20);
            let ceil = (0..).find(|log| 20 << log >= gap).unwrap();
            let is_power = gap.is_multiple_of(20) && (gap / 20).is_power_of_two();
            assert_eq!(closed, ceil + u64::from(is_power), "{most}");
        }
    }

    /// The result is within 20 bytes of the MTU. The number of sizes is that of the closed form or
    /// one more, and each refused size takes three probes.
    #[test]
    fn within_twenty_bytes_of_any_mtu() {
        for (most, closed) in [(1472, 4), (1500, 4), (2000, 6), (9000, 9)] {
            for mtu in 1200..=most + 10 {
                let mut search = MtuSearch::new(most);
                let [passed, lost] = run(&mut search, START, mtu);
                let end = mtu.min(most);
                assert!(search.size() <= end && end - search.size() < 20, "{most} {mtu}");
                assert_eq!(lost % 3, 0);
                assert!(
                    (closed..=closed + 1).contains(&(passed + lost / 3)),
                    "{most} {mtu}: {passed} {lost}"
                );
            }
        }
    }

    /// Two losses and an acknowledgement: the size passes.
    #[test]
    fn losses_of_a_size_are_forgotten_when_it_passes() {
        let mut search = MtuSearch::new(1472);
        for serial in 0..2 {
            search.on_probe(serial, 1336);
            search.on_probe_lost(START);
            assert_eq!(search.due(START), Some(1336));
        }
        search.on_probe(2, 1336);
        search.on_acked(START, 2, 1336);
        assert_eq!((search.size(), search.due(START)), (1336, Some(1404)));
        for serial in 3..5 {
            search.on_probe(serial, 1404);
            search.on_probe_lost(START);
        }
        assert_eq!(search.due(START), Some(1404), "the count began again");
    }

    #[test]
    fn again_after_ten_minutes() {
        let mut search = MtuSearch::new(1472);
        run(&mut search, START, 1300);
        assert!((1281..=1300).contains(&search.size()));
        let later = START + RAISE_AFTER;
        assert_eq!(search.due(later - Duration(1)), None);
        let [passed, lost] = run(&mut search, later, 9000);
        assert!(passed > 0 && lost == 0 && search.size() > 1452, "{search:?}");
        assert_eq!(search.due(later + RAISE_AFTER), None, "the bounds are close");
    }

    /// Three losses in a row fall back to the base, until the next search.
    #[test]
    fn a_black_hole() {
        let mut search = MtuSearch::new(1472);
        run(&mut search, START, 1472);
        let size = search.size();
        assert_eq!(size, 1455);
        search.on_acked(START, 2000, size);
        for serial in 1990..2000 {
            search.on_lost(START, serial, size);
        }
        search.on_lost(START, 2001, 1200);
        search.on_lost(START, 2002, size);
        search.on_lost(START, 2003, size);
        search.on_acked(START, 2004, 1200);
        assert_eq!(search.size(), size, "overtaken by their like, small, or two");
        search.on_lost(START, 2005, size);
        assert_eq!((search.size(), search.due(START)), (1200, None));
        search.on_lost(START, 2006, size);
        assert_eq!(search.due(START + RAISE_AFTER), Some(1336));
    }

    #[test]
    fn an_acknowledgement_ends_a_row() {
        let mut search = MtuSearch::new(1472);
        run(&mut search, START, 1472);
        for round in 0..5 {
            let first = 2000 + 10 * round;
            search.on_lost(START, first, 1455);
            search.on_lost(START, first + 1, 1455);
            search.on_acked(START, first + 2, 1455);
        }
        assert_eq!(search.size(), 1455);
    }

    /// Nothing is searched where even the base is too large to use.
    #[test]
    fn small_limits() {
        for most in [0, 1000, 1200, 1219] {
            let mut search = MtuSearch::new(most);
            assert_eq!((search.size(), search.due(START)), (most.min(1200), None));
        }
        let mut search = MtuSearch::new(1472);
        search.limit(1250);
        assert_eq!((run(&mut search, START, 9000), search.size()), ([2, 0], 1238));
    }
}
