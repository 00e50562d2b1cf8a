//! Bursts at intervals: a pacer without tokens, as mvfst's (`TokenlessPacer`; fact sheet mvfst.md section 3:
//! CongestionControlFunctions.cpp:25-54, TokenlessPacer.cpp:22-52, FunctionLooper.cpp:38-93).
//!
//! ```text
//! burst    = max(min_burst, ceil(rate * tick / max_datagram_size))     packets, back to back
//! interval = max(tick, burst * max_datagram_size / rate)               from the start of a burst to that of the next
//! ```
//!
//! With a window of `P` packets and an RTT of `R` the rate is `P / R`, which gives mvfst's own words: `ceil(P * tick / R)` and
//! `R * burst / P`. An RTT below a tick makes the burst the whole window: no pacing.
//!
//! A burst may be finished within a tick of its beginning, since on a real clock its packets do not leave at the same instant.
//! Nothing is saved up beyond that: a burst that starts late moves all that follow it. What an acknowledgement changes counts from the next
//! burst on: the time at which that starts is set when the one before it ends, and kept, be it that the rate has risen. Only a
//! full window takes it back: what the next acknowledgement opens leaves at once, up to a burst.
//!
//! Deviations: mvfst rounds `P` down to whole packets. Its timers are late by up to 100 us. It lets an application that had
//! nothing to send begin at once; here it waits for the interval. Its BBRv2 has another pacer (`TokenlessPacer.cpp:144-191`), whose
//! bursts make up for lost time, up to five at once.

use units::{Duration, Time};

/// Bursts, one after the other.
#[derive(Clone, Debug)]
pub(super) struct Bursts {
    tick: Duration,
    /// Packets, at least.
    least: u64,
    mds: f64,
    /// When the burst at hand began, unless the next one may begin at once.
    began: Option<Time>,
    /// Packets of it that have not left.
    left: u64,
    /// When the next one begins, once that is decided.
    next: Option<Time>,
}

impl Bursts {
    pub(super) fn new(tick: Duration, least: u64, mds: u64) -> Self {
        Self { tick, least: least.max(1), mds: mds as f64, began: None, left: 0, next: None }
    }

    /// When a packet may leave: `now` or later. `rate` in bytes per second.
    pub(super) fn release(&mut self, now: Time, rate: f64) -> Time {
        if rate <= 0.0 {
            return Time::NEVER;
        }
        if let Some(began) = self.began {
            if self.left > 0 && now <= began + self.tick {
                return now;
            }
            let next = self.next.unwrap_or_else(|| began + self.interval(rate));
            self.next = Some(next);
            if now < next {
                return next;
            }
        }
        (self.began, self.next, self.left) = (Some(now), None, self.burst(rate));
        now
    }

    /// Packets of the burst at hand that have not left.
    pub(super) fn left(&self) -> u64 {
        self.left
    }

    pub(super) fn set_max_datagram_size(&mut self, bytes: u64) {
        self.mds = bytes as f64;
    }

    /// A packet left.
    pub(super) fn on_sent(&mut self) {
        self.left = self.left.saturating_sub(1);
    }

    /// The window holds the next packet back, not the pacer.
    pub(super) fn on_window_full(&mut self) {
        (self.began, self.next) = (None, None);
    }

    fn burst(&self, rate: f64) -> u64 {
        // What multiplication leaves above a whole number is no further packet.
        let packets = rate * self.tick.as_secs_f64() / self.mds - 1e-9;
        self.least.max(packets.ceil() as u64)
    }

    fn interval(&self, rate: f64) -> Duration {
        let seconds = self.burst(rate) as f64 * self.mds / rate;
        self.tick.max(Duration((seconds * 1e9 + 0.5) as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MDS: u64 = 1232;
    const TICK: Duration = Duration::from_micros(200);

    /// Bytes per second of a window of so many packets.
    fn rate(packets: f64, rtt: Duration) -> f64 {
        packets * MDS as f64 / rtt.as_secs_f64()
    }

    /// How many packets leave, and when, milliseconds.
    fn bursts(pacer: &mut Bursts, rate: f64, until: Time) -> Vec<(f64, usize)> {
        let (mut now, mut left) = (Time::ZERO, Vec::<(f64, usize)>::new());
        while now < until {
            let at = pacer.release(now, rate);
            if at == now {
                pacer.on_sent();
                match left.last_mut() {
                    Some((time, count)) if *time == now.as_secs_f64() * 1e3 => *count += 1,
                    _ => left.push((now.as_secs_f64() * 1e3, 1)),
                }
            }
            now = at;
        }
        left
    }

    /// `P` packets in `R`: `burst = max(least, ceil(P * tick / R))`, `interval = max(tick, R * burst / P)`.
    #[test]
    fn closed_form() {
        for (packets, rtt_ms, least, burst, interval_ms) in [
            (50.0, 50, 5, 5, 5.0), // 10 Mbit/s
            (50.0, 50, 1, 1, 1.0),
            (250.0, 50, 1, 1, 0.2),
            (250.0, 50, 5, 5, 1.0),
            (500.0, 50, 1, 2, 0.2),
            (510.0, 50, 1, 3, 15.0 / 51.0), // 2.04 packets a tick
            (1250.0, 50, 5, 5, 0.2),        // five a tick: from here on the tick holds
            (2000.0, 50, 5, 8, 0.2),
            (2.0, 50, 5, 5, 125.0),
        ] {
            let mut pacer = Bursts::new(TICK, least, MDS);
            let left =
                bursts(&mut pacer, rate(packets, Duration::from_millis(rtt_ms)), Time::from_millis(400));
            for (i, &(at, count)) in left.iter().enumerate() {
                assert_eq!(count, burst, "{packets} in {rtt_ms} ms");
                assert!((at - i as f64 * interval_ms).abs() < 1e-3, "{packets}: {at} ms");
            }
        }
    }

    /// An RTT below a tick: the whole window at once.
    #[test]
    fn below_a_tick() {
        let left = bursts(&mut Bursts::new(TICK, 5, MDS), rate(20.0, TICK / 2), Time(1));
        assert_eq!(left, [(0.0, 40)]);
    }

    /// On a real clock time passes between the packets of a burst: it is a burst all the same, and the next one begins when it would.
    #[test]
    fn time_passes_within_a_burst() {
        let (mut pacer, rate) = (Bursts::new(TICK, 5, MDS), rate(50.0, Duration::from_millis(50)));
        for round in 0..10 {
            let begin = Time(round * 5_000_000);
            for packet in 0..5 {
                let now = begin + Duration::from_micros(20 * packet);
                assert_eq!(pacer.release(now, rate), now, "{round} {packet}");
                pacer.on_sent();
            }
            let now = begin + Duration::from_micros(100);
            assert_eq!(pacer.release(now, rate), begin + Duration::from_millis(5));
        }
    }

    /// But nothing is saved up: what is not sent within a tick is not sent with the burst.
    #[test]
    fn an_unfinished_burst_is_over_with_its_tick() {
        let (mut pacer, rate) = (Bursts::new(TICK, 5, MDS), rate(50.0, Duration::from_millis(50)));
        assert_eq!(pacer.release(Time::ZERO, rate), Time::ZERO);
        pacer.on_sent();
        let late = Time::ZERO + TICK + Duration(1);
        assert_eq!(pacer.release(late, rate), Time(5_000_000));
    }

    /// A late burst moves those behind it; the long-run rate is lower by that much, and nothing is made up for.
    #[test]
    fn lateness_is_not_made_up_for() {
        let (mut pacer, rate) = (Bursts::new(TICK, 1, MDS), rate(50.0, Duration::from_millis(50)));
        let mut next = Time::ZERO;
        for round in 0..10 {
            let now = next + Duration::from_micros(100);
            assert_eq!(pacer.release(now, rate), now);
            pacer.on_sent();
            next = pacer.release(now, rate);
            assert_eq!(next, Time((round + 1) * 1_100_000), "1 ms after the late one");
        }
    }

    /// The time of the next burst is fixed when one has left: a rate that rises does not bring it forward, one that falls does not
    /// put it off.
    #[test]
    fn a_timer_is_kept() {
        let slow = rate(50.0, Duration::from_millis(50));
        for change in [4.0, 0.25] {
            let mut pacer = Bursts::new(TICK, 1, MDS);
            assert_eq!(pacer.release(Time::ZERO, slow), Time::ZERO);
            pacer.on_sent();
            let due = pacer.release(Time::ZERO, slow);
            assert_eq!(pacer.release(Time(500_000), change * slow), due);
            assert_eq!(pacer.release(due, change * slow), due);
        }
    }

    /// What the window held back leaves as soon as it opens, a burst of it.
    #[test]
    fn the_window_opens() {
        let (mut pacer, rate) = (Bursts::new(TICK, 5, MDS), rate(50.0, Duration::from_millis(50)));
        assert_eq!(pacer.release(Time::ZERO, rate), Time::ZERO);
        pacer.on_sent();
        pacer.on_window_full();
        let now = Time(1_000_000);
        for _ in 0..5 {
            assert_eq!(pacer.release(now, rate), now);
            pacer.on_sent();
        }
        assert_eq!(pacer.release(now, rate), Time(6_000_000));
    }

    /// Rates of nothing and next to nothing wait for ever, or nearly.
    #[test]
    fn next_to_nothing() {
        let mut pacer = Bursts::new(TICK, 1, MDS);
        assert_eq!(pacer.release(Time::ZERO, 0.0), Time::NEVER);
        assert_eq!(pacer.release(Time::ZERO, 1e-300), Time::ZERO);
        pacer.on_sent();
        assert_eq!(pacer.release(Time::ZERO, 1e-300), Time::NEVER);
    }
}
