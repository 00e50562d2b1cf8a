//! Flow control (RFC 9000 section 4): credit of a connection and of each stream, in both
//! directions.

use units::{Duration, Time};

use crate::error::{Code, Error};
use crate::wire::varint;

/// Number of steps in a window. The limit advances after each step.
const STEPS: u64 = 8;
/// A step is fast if it takes less than this many round trips.
const QUICK: u64 = 4;

/// Credit that the peer grants this end, in bytes since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SendCredit {
    max: u64,
    used: u64,
    reported: Option<u64>,
}

impl SendCredit {
    /// Creates the credit from the peer's transport parameters.
    pub const fn new(max: u64) -> Self {
        Self { max, used: 0, reported: None }
    }

    /// Returns the limit.
    pub const fn max(&self) -> u64 {
        self.max
    }

    /// Returns the credit that is left.
    pub const fn available(&self) -> u64 {
        self.max - self.used
    }

    /// Consumes credit for bytes that are sent for the first time.
    ///
    /// # Panics
    /// If the credit is insufficient.
    pub const fn consume(&mut self, bytes: u64) {
        assert!(bytes <= self.max - self.used, "insufficient flow control credit");
        self.used += bytes;
    }

    /// Processes MAX_DATA or MAX_STREAM_DATA. A lower limit is ignored (section 4.1).
    pub const fn raise(&mut self, max: u64) {
        if max > self.max {
            self.max = max;
        }
    }

    /// Reports whether [`blocked`](Self::blocked) would return a limit, if there is more to send.
    pub fn is_news(&self) -> bool {
        self.available() == 0 && self.reported != Some(self.max)
    }

    /// Returns the limit for DATA_BLOCKED or STREAM_DATA_BLOCKED once per limit, when it is
    /// reached. Call this only if there is more to send.
    pub fn blocked(&mut self) -> Option<u64> {
        self.is_news().then(|| {
            self.reported = Some(self.max);
            self.max
        })
    }

    /// Processes the loss of such a frame. It is sent again if it is still valid.
    pub const fn on_blocked_lost(&mut self) {
        self.reported = None;
    }
}

/// Size of a flow control window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowConfig {
    /// Initial window, declared in the transport parameters, in bytes.
    pub initial: u64,
    /// Maximum window, in bytes. If it equals `initial`, the window is fixed.
    pub max: u64,
}

/// Credit that this end grants the peer.
///
/// The limit advances after an eighth of the window was read. If that took less than four round
/// trips, the window doubles, up to its maximum.
///
/// So a sender that is limited only by the network never waits for credit. Its window doubles in a
/// round trip, and a new limit reaches it half a round trip after it was granted. The credit must
/// therefore be twice what has arrived. When the queue overflows, nothing beyond a hole can be read
/// until the retransmission has arrived. By then, 2.2 times the bytes read so far have been sent.
/// Between two limits that double, at least 4.5 times the bytes read is granted. Later the window
/// is 32 to 64 times the data of a round trip.
#[derive(Clone, Copy, Debug)]
pub struct ReceiveWindow {
    config: WindowConfig,
    window: u64,
    granted: u64,
    received: u64,
    consumed: u64,
    /// Time of the last limit, or of the first byte.
    since: Option<Time>,
}

impl ReceiveWindow {
    /// Creates the window with its initial credit.
    pub const fn new(config: WindowConfig) -> Self {
        let WindowConfig { initial, .. } = config;
        Self { config, window: initial, granted: initial, received: 0, consumed: 0, since: None }
    }

    /// Counts bytes that arrived for the first time. On a stream, this is the rise of its highest
    /// offset.
    ///
    /// # Errors
    /// FLOW_CONTROL_ERROR beyond the limit (section 4.1).
    pub fn on_received(&mut self, now: Time, bytes: u64) -> Result<(), Error> {
        self.since.get_or_insert(now);
        self.received = self.received.saturating_add(bytes);
        match self.received <= self.granted {
            true => Ok(()),
            false => Err(Error::new(Code::FLOW_CONTROL_ERROR, "more data than granted")),
        }
    }

    /// Counts bytes that were read, or will never be read.
    pub const fn on_consumed(&mut self, bytes: u64) {
        self.consumed += bytes;
    }

    /// Returns the new limit for MAX_DATA or MAX_STREAM_DATA, when one is due.
    pub fn update(&mut self, now: Time, smoothed_rtt: Duration) -> Option<u64> {
        // Beyond the limit, only data of a violation can be read, and its connection is closing.
        if self.granted.saturating_sub(self.consumed) > self.window - self.window / STEPS {
            return None;
        }
        let quick = self.since.is_some_and(|since| now - since < smoothed_rtt * QUICK);
        if quick {
            self.window = self.window.saturating_mul(2).min(self.config.max.max(self.config.initial));
        }
        let next = (self.consumed + self.window).min(varint::MAX);
        if next <= self.granted {
            return None;
        }
        (self.granted, self.since) = (next, Some(now));
        Some(next)
    }

    /// Returns the current limit, for retransmitted frames.
    pub const fn granted(&self) -> u64 {
        self.granted
    }

    /// Returns the size of the window, in bytes.
    pub const fn window(&self) -> u64 {
        self.window
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(50);

    #[test]
    fn says_once_for_each_limit_that_it_is_blocked() {
        let mut credit = SendCredit::new(10);
        credit.consume(4);
        assert_eq!((credit.available(), credit.blocked()), (6, None));
        credit.consume(6);
        assert_eq!((credit.blocked(), credit.blocked()), (Some(10), None));
        credit.on_blocked_lost();
        assert_eq!(credit.blocked(), Some(10));
        credit.raise(9);
        assert_eq!(credit.max(), 10);
        credit.raise(20);
        assert_eq!((credit.available(), credit.blocked()), (10, None));
    }

    #[test]
    fn doubles_when_an_eighth_is_read_within_four_round_trips() {
        let mut window = ReceiveWindow::new(WindowConfig { initial: 800, max: 2400 });
        let mut now = Time::from_millis(1);
        window.on_received(now, 800).unwrap();
        window.on_consumed(99);
        assert_eq!(window.update(now, RTT), None);
        window.on_consumed(1);
        now += RTT;
        assert_eq!(window.update(now, RTT), Some(1700));
        // The maximum.
        window.on_consumed(700);
        assert_eq!(window.update(now + RTT, RTT), Some(3200));
        assert_eq!(window.window(), 2400);
        // Read slowly: the window stays.
        window.on_received(now, 2400).unwrap();
        window.on_consumed(1600);
        assert_eq!(window.update(now + RTT * 9, RTT), Some(4800));
        assert_eq!(window.window(), 2400);
        assert_eq!(window.on_received(now, 1600), Ok(()));
        assert_eq!(window.on_received(now, 1).unwrap_err().code, Code::FLOW_CONTROL_ERROR);
    }

    #[test]
    fn four_round_trips_are_not_quick() {
        for (passed, window) in [(RTT * 4 - Duration(1), 1600), (RTT * 4, 800)] {
            let mut slow = ReceiveWindow::new(WindowConfig { initial: 800, max: 9000 });
            slow.on_received(Time::ZERO, 100).unwrap();
            slow.on_consumed(100);
            assert_eq!(slow.update(Time::ZERO + passed, RTT), Some(100 + window));
        }
    }

    /// Slow start from ten packets without loss. Two packets leave for each one that has arrived.
    /// Data that arrives now left when the limit of a round trip ago was known.
    #[test]
    fn slow_start_never_waits_for_credit() {
        let mut window = ReceiveWindow::new(WindowConfig { initial: 512 << 10, max: 64 << 20 });
        let (mut limits, mut sent) = (vec![512 << 10; 5], 0);
        for round in 0..11_u64 {
            let (mut next, flight) = (Vec::new(), limits.len() as u64 * 2);
            for packet in 0..flight {
                let known = limits[packet as usize / 2];
                sent += 1200;
                assert!(sent <= known, "{sent} of {known} in round {round}");
                let now = Time::ZERO + RTT * round + RTT * packet / flight;
                window.on_received(now, 1200).unwrap();
                window.on_consumed(1200);
                next.push(window.update(now, RTT).unwrap_or(window.granted()));
            }
            limits = next;
        }
        assert_eq!(sent, 1200 * 10 * 2047);
    }

    /// The sender stays within the window of its network, half of which is lost once when it is
    /// full. Nothing can be read before the first hole is filled two round trips later. In the
    /// meantime, another 1.2 times the bytes read so far are sent.
    #[test]
    fn a_hole_does_not_hold_up_the_sender() {
        for end in 1..40_u64 {
            let mut window = ReceiveWindow::new(WindowConfig { initial: 512 << 10, max: 64 << 20 });
            let (read, mut limit) = (end * 300_000, 512 << 10);
            for packet in 0..read / 1200 {
                window.on_received(Time::ZERO, 1200).unwrap();
                window.on_consumed(1200);
                limit = window.update(Time::from_millis(1 + packet / 1000), RTT).unwrap_or(limit);
            }
            assert!(limit * 10 >= read * 22, "{limit} for {read}");
        }
    }

    #[test]
    fn a_fixed_window_stays() {
        let mut window = ReceiveWindow::new(WindowConfig { initial: 80, max: 80 });
        for read in 1..50_u64 {
            window.on_received(Time::ZERO, 10).unwrap();
            window.on_consumed(10);
            assert_eq!(window.update(Time::ZERO, RTT), Some(80 + 10 * read));
        }
    }
}
