//! SEARCH, draft-chung-ccwg-search-09 (March 2026), as in neqo and in the authors' code 4.0.

use alloc::collections::VecDeque;

use crate::{Ack, Sent, initial_window};
use units::{Duration, Time};

/// Length of the window in initial RTTs, times 100: WINDOW_SIZE_FACTOR.
const WINDOW_PERCENT: u64 = 350;

/// Number of bins in a window, W.
pub(super) const BINS: usize = 10;

/// Number of bins by which an RTT may look back: EXTRA_BINS.
const EXTRA_BINS: usize = 15;

/// Number of bins of the initial RTT, rounded up: 1 / 0.35.
const RTT_BINS: usize = 3;

/// Normalised difference that ends slow start: THRESH.
const THRESH: f64 = 0.26;

/// Number of acknowledged packets for which draining sends one.
const DRAIN_PACKETS: u64 = 3;

/// Bytes acknowledged and sent until the end of a bin.
#[derive(Clone, Copy, Debug, Default)]
struct Bin {
    acked: u64,
    sent: u64,
}

/// Removal of the queue after the search.
#[derive(Clone, Debug)]
struct Drain {
    /// The window in bytes at which it ends.
    target: u64,
    /// Acknowledged bytes for which nothing has been sent yet.
    credit: u64,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Search {
    /// Bytes acknowledged and sent so far.
    total: Bin,
    bin_duration: Duration,
    bin_end: Time,
    /// The newest bins, oldest first. Empty before the first RTT.
    bins: VecDeque<Bin>,
    drain: Option<Drain>,
}

impl Search {
    pub(super) fn on_sent(&mut self, sent: &Sent) {
        self.total.sent += sent.bytes;
    }

    pub(super) fn is_draining(&self) -> bool {
        self.drain.is_some()
    }

    /// Returns the window after the ACK: `cwnd`, or less while the queue drains.
    pub(super) fn drain(&mut self, ack: &Ack, cwnd: u64, mds: u64) -> u64 {
        let Some(drain) = &mut self.drain else { return cwnd };
        let unit = DRAIN_PACKETS * mds.max(1);
        drain.credit += ack.acked + ack.late;
        let allowed = drain.credit / unit * mds;
        drain.credit %= unit;
        ack.bytes_in_flight.saturating_add(allowed).max(drain.target).min(cwnd)
    }

    /// Reports whether the queue has drained. Looks for it if it does not drain yet.
    pub(super) fn ended(&mut self, ack: &Ack, cwnd: u64, mds: u64) -> bool {
        if let Some(drain) = &self.drain {
            return cwnd <= drain.target;
        }
        self.total.acked += ack.acked + ack.late;
        let Some(rtt) = ack.latest_rtt else { return false };
        if self.bins.is_empty() {
            self.bin_duration = (rtt * WINDOW_PERCENT / (100 * BINS as u64)).max(Duration(1));
            self.bin_end = ack.now + self.bin_duration;
            self.bins.push_back(self.total);
        } else if ack.now > self.bin_end && self.fill(ack.now) && self.is_flat(rtt) {
            let target = self.acked(0) - self.acked(RTT_BINS);
            self.drain = Some(Drain { target: target.max(initial_window(mds)), credit: 0 });
        }
        false
    }

    /// Fills the bins up to this time. Returns false if so many were missed that the search begins
    /// anew.
    fn fill(&mut self, now: Time) -> bool {
        let passed = (now - self.bin_end).0 / self.bin_duration.0 + 1;
        if passed > BINS as u64 {
            self.bins.clear();
            return false;
        }
        self.bin_end += self.bin_duration * passed;
        let last = self.bins.back().copied().unwrap_or_default();
        self.bins.extend((1..passed).map(|_| last));
        self.bins.push_back(self.total);
        while self.bins.len() > BINS + EXTRA_BINS + 1 {
            self.bins.pop_front();
        }
        true
    }

    /// Returns the bin that ended `age` bins before the newest.
    fn bin(&self, age: usize) -> Bin {
        self.bins.len().checked_sub(age + 1).map_or(Bin::default(), |i| self.bins[i])
    }

    fn acked(&self, age: usize) -> u64 {
        self.bin(age).acked
    }

    /// Reports whether the last window delivered much less than the window one RTT before sent.
    pub(super) fn is_flat(&self, rtt: Duration) -> bool {
        self.norm_diff(rtt).is_some_and(|diff| diff >= THRESH)
    }

    /// Returns the normalised difference. `None` without enough bins.
    pub(super) fn norm_diff(&self, rtt: Duration) -> Option<f64> {
        let age = (rtt.0 / self.bin_duration.0) as usize;
        if age >= EXTRA_BINS || self.bins.len() < age + BINS + 2 {
            return None;
        }
        let sent = |age| (self.bin(age).sent - self.bin(age + BINS).sent) as f64;
        let fraction = (rtt.0 % self.bin_duration.0) as f64 / self.bin_duration.0 as f64;
        let prev_sent = (1.0 - fraction) * sent(age) + fraction * sent(age + 1);
        let curr_delv = (self.acked(0) - self.acked(BINS)) as f64;
        (prev_sent > 0.0).then(|| (prev_sent - curr_delv) / prev_sent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithms::reno::new_reno;
    use crate::components::slow_start::Kind;
    use crate::testing::closed_loop::{Flow, Loop};
    use crate::testing::fixtures::{acked, path};
    use crate::{Control, Controller};
    use units::Rate;

    const MDS: u64 = 1200;

    fn us(us: u64) -> Duration {
        Duration::from_micros(us)
    }

    fn send(search: &mut Search, packets: u64) {
        for _ in 0..packets {
            let now = Time::ZERO;
            search.on_sent(&Sent { now, pn: 0, bytes: MDS, bytes_in_flight: 0, app_limited: false });
        }
    }

    fn ack_at(now: Time, rtt: Duration) -> Ack<'static> {
        Ack { now, latest_rtt: Some(rtt), ..acked(MDS) }
    }

    /// Slow start without loss over a link that passes a packet per `spacing`. Returns the number
    /// of the ACK that ends the search, the window then, and the target.
    fn flow(rtt: u64, spacing: u64) -> (u64, u64, u64) {
        let (mut search, mut free, mut flight) = (Search::default(), Time::ZERO, VecDeque::new());
        let mut put = |flight: &mut VecDeque<_>, now: Time| {
            free = free.max(now) + us(spacing);
            flight.push_back((free + us(rtt), now));
        };
        (0..10).for_each(|_| put(&mut flight, Time::ZERO));
        send(&mut search, 10);
        for n in 1..100_000 {
            let (now, sent) = flight.pop_front().expect("two for each");
            assert!(!search.ended(&ack_at(now, now - sent), u64::MAX, MDS));
            if let Some(drain) = &search.drain {
                return (n, n + 10, drain.target);
            }
            (0..2).for_each(|_| put(&mut flight, now));
            send(&mut search, 2);
        }
        (0, 0, 0)
    }

    /// Numbers of the script. The pipe holds 40 to 500 packets.
    #[test]
    fn ends_when_the_link_is_full() {
        for (rtt, spacing, ack, window, target) in [
            (100_000, 1000, 561, 571, 127_200),
            (100_000, 250, 2296, 2306, 505_200),
            (20_000, 500, 207, 217, 51_600),
            (600_000, 1200, 2886, 2896, 631_200),
        ] {
            assert_eq!(flow(rtt, spacing), (ack, window, target), "{rtt} us, {spacing} us");
        }
    }

    /// Without a queue, what was sent in one window is delivered in the next: no difference.
    #[test]
    fn goes_on_without_a_queue() {
        assert_eq!(flow(100_000, 0), (0, 0, 0));
    }

    /// A search at 100 ms after 30 bins, in each of which 10 packets were sent and acknowledged.
    fn searching() -> Search {
        let mut search = Search::default();
        send(&mut search, 10);
        for bin in 0..=30 {
            let now = Time::from_millis(100 + 36 * bin);
            (0..10).for_each(|_| assert!(!search.ended(&ack_at(now, us(100_000)), 0, MDS)));
            send(&mut search, 10);
        }
        search
    }

    /// 0.2 or 0.3 of the sent bytes are missing. From 15 bins of RTT on nothing is known.
    #[test]
    fn threshold() {
        for (acked, rtt, diff) in [
            (10, 35_000, Some(0.0)),
            (8, 52_500, Some(0.2)),
            (7, 100_000, Some(0.3)),
            (7, 524_000, Some(0.3)),
            (7, 525_000, None),
        ] {
            let mut search = searching();
            let last = search.bins.back_mut().expect("filled");
            last.acked -= (10 - acked) * 10 * MDS;
            let found = search.norm_diff(us(rtt));
            assert_eq!(found.map(|d| (d * 1000.0 + 0.5) as u64), diff.map(|d| (d * 1000.0 + 0.5) as u64));
            assert_eq!(search.is_flat(us(rtt)), diff.is_some_and(|d| d >= 0.26), "{rtt}");
        }
    }

    /// More than ten bins without an ACK: the next one begins anew.
    #[test]
    fn missed_bins() {
        for (silence, kept) in [(350, true), (420, false)] {
            let mut search = searching();
            let now = search.bin_end + Duration::from_millis(silence - 35);
            search.ended(&ack_at(now, us(100_000)), 0, MDS);
            assert_eq!(search.bins.len() > 1, kept, "{silence} ms");
        }
    }

    /// Draining from 200 packets in flight: a packet per three acknowledged, down to the target, by
    /// the script.
    #[test]
    fn draining() {
        let drain = Some(Drain { target: 100 * MDS, credit: 0 });
        let mut search = Search { drain, ..Search::default() };
        let (mut flight, mut cwnd, mut windows) = (200, 210 * MDS, Vec::new());
        loop {
            flight -= 1;
            let ack = Ack { bytes_in_flight: flight * MDS, ..acked(MDS) };
            cwnd = search.drain(&ack, cwnd, MDS);
            windows.push(cwnd / MDS);
            flight = flight.max(cwnd / MDS);
            if search.ended(&ack, cwnd, MDS) {
                break;
            }
        }
        assert_eq!(windows[..8], [199, 198, 198, 197, 196, 196, 195, 194]);
        assert_eq!((windows.len(), cwnd), (149, 100 * MDS));
    }

    /// The window that a controller keeps: the target, and `ssthresh` with it. A loss forgets the
    /// search.
    #[test]
    fn in_a_controller() {
        let params = new_reno::Params { slow_start: Kind::Search, ..new_reno::Params::default() };
        let cc = Box::new(new_reno::NewReno::new(params, path(MDS)));
        let rtt = Duration::from_millis(100);
        let mut link = Loop::new(vec![Flow::new(cc, rtt, Time::ZERO)], MDS, Rate(9_600_000));
        link.run_until(Duration::from_secs(5), |link| !link.flow().cc.control().in_slow_start());
        let Control { cwnd, ssthresh, .. } = link.flow().cc.control();
        // The pipe holds 101 packets; three bins are 1.05 RTTs.
        assert!((101 * MDS..=108 * MDS).contains(&cwnd) && cwnd == ssthresh, "{cwnd}, {ssthresh}");
        assert_eq!(link.flow().lost, 0);
    }
}
