//! Flow control (RFC 9000 section 4): credit of a connection and of each stream, both ways.

use units::{Duration, Time};

use crate::error::{Code, Error};
use crate::wire::varint;

/// Into so many steps a window is divided: after each the limit moves on.
const STEPS: u64 = 8;
/// A step is quick when it takes less than so many round trips.
const QUICK: u64 = 4;

/// What the peer allows this end to send, in bytes since the beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SendCredit {
    max: u64,
    used: u64,
    reported: Option<u64>,
}

impl SendCredit {
    /// From the peer's transport parameters.
    pub const fn new(max: u64) -> Self {
        Self { max, used: 0, reported: None }
    }

    /// The limit.
    pub const fn max(&self) -> u64 {
        self.max
    }

    /// What may still be sent.
    pub const fn available(&self) -> u64 {
        self.max - self.used
    }

    /// So many bytes that were never sent before leave.
    ///
    /// # Panics
    /// When there is no credit for them.
    pub const fn consume(&mut self, bytes: u64) {
        assert!(bytes <= self.max - self.used, "beyond the credit");
        self.used += bytes;
    }

    /// MAX_DATA or MAX_STREAM_DATA; less than before is ignored (section 4.1).
    pub const fn raise(&mut self, max: u64) {
        if max > self.max {
            self.max = max;
        }
    }

    /// Whether [`blocked`](Self::blocked) has something to say, when there is more to send.
    pub fn is_news(&self) -> bool {
        self.available() == 0 && self.reported != Some(self.max)
    }

    /// The limit for DATA_BLOCKED or STREAM_DATA_BLOCKED when it is reached and there is more to send: once for each limit.
    pub fn blocked(&mut self) -> Option<u64> {
        let blocked = self.available() == 0 && self.reported != Some(self.max);
        blocked.then(|| {
            self.reported = Some(self.max);
            self.max
        })
    }

    /// The frame was lost: it is sent again if it still holds.
    pub const fn on_blocked_lost(&mut self) {
        self.reported = None;
    }
}

/// How much this end grants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowConfig {
    /// The first grant, which goes into the transport parameters, in bytes.
    pub initial: u64,
    /// The window never grows beyond this; the same as `initial`: it is fixed.
    pub max: u64,
}

/// What this end allows the peer to send.
///
/// The limit moves on when an eighth of the window was read. When that took less than four round trips the window doubles, up to its cap.
///
/// So a sender that is limited by the network alone never waits for credit. Its window doubles in a round trip, and it hears of a new limit
/// half a round trip after it was granted: what is granted must be twice what has come. When the queue overflows, a hole keeps all that
/// follows from being read until its repeat has come, and by then 2.2 times what was read before it has been sent. Between two limits that
/// double, at least 4.5 times what was read is granted; later the window is 32 to 64 times what comes in a round trip.
#[derive(Clone, Copy, Debug)]
pub struct ReceiveWindow {
    config: WindowConfig,
    window: u64,
    granted: u64,
    received: u64,
    consumed: u64,
    /// When the limit moved last, or the first byte came.
    since: Option<Time>,
}

impl ReceiveWindow {
    /// With the first grant given.
    pub const fn new(config: WindowConfig) -> Self {
        let WindowConfig { initial, .. } = config;
        Self { config, window: initial, granted: initial, received: 0, consumed: 0, since: None }
    }

    /// So many bytes have come that had not come before (on a stream: its highest offset rose by them).
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

    /// So many bytes were read, or will never be.
    pub const fn on_consumed(&mut self, bytes: u64) {
        self.consumed += bytes;
    }

    /// The new limit for MAX_DATA or MAX_STREAM_DATA, when it is time for one.
    pub fn update(&mut self, now: Time, smoothed_rtt: Duration) -> Option<u64> {
        // Beyond the limit only what came with the violation can be read, from a connection that is closing.
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

    /// The limit that was granted last, for a frame sent again.
    pub const fn granted(&self) -> u64 {
        self.granted
    }

    /// How many bytes may be on their way at once.
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
        // The cap.
        window.on_consumed(700);
        assert_eq!(window.update(now + RTT, RTT), Some(3200));
        assert_eq!(window.window(), 2400);
        // Slowly read: it stays.
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

    /// Slow start from ten packets, without loss: two packets leave for each that has come, and what comes now left when the limit of a round
    /// trip ago was known.
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

    /// The sender stays within a window of its network, half of which is lost once when it is full: nothing can be read before the first
    /// hole is filled two round trips later, and in the meantime 1.2 times as much again as was read is sent.
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
