//! Bursts at intervals: a pacer without tokens, as in mvfst (`TokenlessPacer`:
//! CongestionControlFunctions.cpp:25-54, TokenlessPacer.cpp:22-52, FunctionLooper.cpp:38-93).
//!
//! ```text
//! burst    = max(min_burst, ceil(rate * tick / max_datagram_size))     packets, back to back
//! interval = max(tick, burst * max_datagram_size / rate)               from the start of a burst to that of the next
//! ```
//!
//! With a window of `P` packets and an RTT of `R` the rate is `P / R`. This gives mvfst's formulas,
//! `ceil(P * tick / R)` and `R * burst / P`. With an RTT below a tick the burst is the whole
//! window: no pacing.
//!
//! A burst can be completed within a tick of its start, because on a real clock its packets are not
//! sent at the same instant. No credit is saved beyond that: a late burst delays all later ones. A
//! changed rate applies from the next burst on. The start of a burst is set when the previous one
//! ends, and kept even if the rate rises. Only a full window cancels it: data released by the next
//! acknowledgement are sent at once, up to a burst.
//!
//! Deviations: mvfst rounds `P` down to whole packets. Its timers are late by up to 100 us. It lets
//! an application that had no data to send start at once, while this pacer waits for the interval.
//! Its BBRv2 has another pacer (`TokenlessPacer.cpp:144-191`), whose bursts make up for lost time,
//! up to five at once.

use units::{Duration, Time};

/// A pacer that releases bursts at intervals.
#[derive(Clone, Debug)]
pub(super) struct Bursts {
    tick: Duration,
    /// Smallest burst, in packets.
    min_burst: u64,
    mds: f64,
    /// Start of the current burst. `None` if the next one can start at once.
    began: Option<Time>,
    /// Packets of the current burst that have not been sent.
    left: u64,
    /// Start of the next burst, once it is decided.
    next: Option<Time>,
}

impl Bursts {
    pub(super) fn new(tick: Duration, min_burst: u64, mds: u64) -> Self {
        Self { tick, min_burst: min_burst.max(1), mds: mds as f64, began: None, left: 0, next: None }
    }

    /// Returns the time at which a packet can be sent: `now` or later. `rate` is in bytes per
    /// second.
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

    /// Returns the packets of the current burst that have not been sent.
    pub(super) fn left(&self) -> u64 {
        self.left
    }

    pub(super) fn set_max_datagram_size(&mut self, bytes: u64) {
        self.mds = bytes as f64;
    }

    /// Records a sent packet.
    pub(super) fn on_sent(&mut self) {
        self.left = self.left.saturating_sub(1);
    }

    /// Records that the window, not the pacer, blocks the next packet.
    pub(super) fn on_window_full(&mut self) {
        (self.began, self.next) = (None, None);
    }

    fn burst(&self, rate: f64) -> u64 {
        // A rounding error above a whole number must not add a packet.
        let packets = rate * self.tick.as_secs_f64() / self.mds - 1e-9;
        self.min_burst.max(packets.ceil() as u64)
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

    /// Returns the rate, in bytes per second, of a window of this many packets.
    fn rate(packets: f64, rtt: Duration) -> f64 {
        packets * MDS as f64 / rtt.as_secs_f64()
    }

    /// Returns the times of the bursts, in milliseconds, and their sizes in packets.
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

    /// `P` packets in `R`: `burst = max(min_burst, ceil(P * tick / R))`,
    /// `interval = max(tick, R * burst / P)`.
    #[test]
    fn closed_form() {
        for (packets, rtt_ms, min_burst, burst, interval_ms) in [
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
            let mut pacer = Bursts::new(TICK, min_burst, MDS);
            let left =
                bursts(&mut pacer, rate(packets, Duration::from_millis(rtt_ms)), Time::from_millis(400));
            for (i, &(at, count)) in left.iter().enumerate() {
                assert_eq!(count, burst, "{packets} in {rtt_ms} ms");
                assert!((at - i as f64 * interval_ms).abs() < 1e-3, "{packets}: {at} ms");
            }
        }
    }

    /// With an RTT below a tick, the whole window is sent at once.
    #[test]
    fn below_a_tick() {
        let left = bursts(&mut Bursts::new(TICK, 5, MDS), rate(20.0, TICK / 2), Time(1));
        assert_eq!(left, [(0.0, 40)]);
    }

    /// On a real clock time passes between the packets of a burst. It is still one burst, and the
    /// next one starts on time.
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

    /// No credit is saved: packets not sent within a tick are not part of the burst.
    #[test]
    fn an_unfinished_burst_is_over_with_its_tick() {
        let (mut pacer, rate) = (Bursts::new(TICK, 5, MDS), rate(50.0, Duration::from_millis(50)));
        assert_eq!(pacer.release(Time::ZERO, rate), Time::ZERO);
        pacer.on_sent();
        let late = Time::ZERO + TICK + Duration(1);
        assert_eq!(pacer.release(late, rate), Time(5_000_000));
    }

    /// A late burst delays those after it. The long-run rate falls accordingly, and nothing
    /// compensates for it.
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

    /// The start of the next burst is fixed when one has been sent: a higher rate does not advance
    /// it, a lower one does not delay it.
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

    /// Packets that the window blocked are sent as soon as it opens, up to a burst.
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

    /// Rates of zero and almost zero wait forever, or almost.
    #[test]
    fn next_to_nothing() {
        let mut pacer = Bursts::new(TICK, 1, MDS);
        assert_eq!(pacer.release(Time::ZERO, 0.0), Time::NEVER);
        assert_eq!(pacer.release(Time::ZERO, 1e-300), Time::ZERO);
        pacer.on_sent();
        assert_eq!(pacer.release(Time::ZERO, 1e-300), Time::NEVER);
    }
}
