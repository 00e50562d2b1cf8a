//! Code shared by the rate-based media controllers: the schedule of feedback reports, the receive
//! rate, and the window.
//!
//! ```text
//! report   at the first ACK at least `interval` after the last report: no timer, no feedback packet
//! R        = 8 / W * sum of the bytes received in the last W seconds                                bit/s
//!            until W has passed since the first packet: 8 / age * bytes after the first packet
//!            likewise after W in which the application had nothing to send, which is not caused by the network
//! cwnd     = max(window * rate / 8 * (smoothed_rtt + interval), min_window * mds)                   bytes
//! ```
//!
//! The sender computes what a receiver would measure. It uses the receive times in the ACKs and the
//! losses found since the last report. Bytes are counted as in the window, so they include headers
//! if `mds` does. Packets without a receive time count only in the loss ratio.
//!
//! Delays are one-way and do not contain the ACK delay. RTTs are `smoothed_rtt`, from which the
//! sender subtracts the ACK delay (RFC 9002 section 5.3).
//!
//! The rate controls the sender, not the window. The window is a multiple of the bytes that the
//! rate has in flight. It does not limit the rate, but it stops the sender when a path dies.

use alloc::collections::VecDeque;

use crate::{Ack, AckedPacket, Control, Lost, PathInfo, Sent};
use units::{Duration, Rate, Time};

/// RTT before the first sample: kInitialRtt, RFC 9002 appendix A.2.
const INITIAL_RTT: Duration = Duration::from_millis(333);

/// Number of acknowledged, lost and marked packets in a report.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) acked: u64,
    pub(crate) lost: u64,
    pub(crate) marked: u64,
}

impl Counts {
    /// Returns the share of lost packets among the acknowledged and lost ones, 0..1.
    pub(crate) fn lost_ratio(self) -> f64 {
        self.of_all(self.lost)
    }
    /// Returns the share of marked packets among the acknowledged and lost ones, 0..1.
    pub(crate) fn marked_ratio(self) -> f64 {
        self.of_all(self.marked)
    }
    fn of_all(self, part: u64) -> f64 {
        let all = self.acked + self.lost;
        if all == 0 { 0.0 } else { (part as f64 / all as f64).min(1.0) }
    }
}

impl core::iter::Sum for Counts {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |a, b| Self {
            acked: a.acked + b.acked,
            lost: a.lost + b.lost,
            marked: a.marked + b.marked,
        })
    }
}

/// A report that is due.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Report {
    pub(crate) now: Time,
    /// Time since the last report.
    pub(crate) interval: Duration,
    pub(crate) counts: Counts,
}

/// Collects the data of a receiver's report and decides when it is due.
#[derive(Clone, Debug)]
pub(crate) struct Reports {
    interval: Duration,
    last: Option<Time>,
    counts: Counts,
}

impl Reports {
    pub(crate) fn new(interval: Duration) -> Self {
        Self { interval, last: None, counts: Counts::default() }
    }

    pub(crate) fn on_lost(&mut self, lost: &Lost) {
        self.counts.lost += lost.packets.len() as u64;
    }

    /// Counts an ACK. Returns a report if one is due.
    ///
    /// The first ACK starts the clock. `early` asks for a report before the interval is over.
    pub(crate) fn on_ack(&mut self, ack: &Ack, early: bool) -> Option<Report> {
        self.counts.acked += ack.packets.len() as u64;
        self.counts.marked += ack.ce;
        let interval = ack.now - *self.last.get_or_insert(ack.now);
        if interval < self.interval && !early {
            return None;
        }
        self.last = Some(ack.now);
        Some(Report { now: ack.now, interval, counts: core::mem::take(&mut self.counts) })
    }
}

/// The rate at which packets arrive at the peer.
#[derive(Clone, Debug)]
pub(crate) struct ReceiveRate {
    window: i64,
    /// Receive time and bytes of each packet.
    packets: VecDeque<(i64, u64)>,
    bytes: u64,
    first: Option<i64>,
    newest: i64,
    last_sent: Time,
    /// Number of the first packet after the application was silent.
    resumes: Option<u64>,
}

impl ReceiveRate {
    pub(crate) fn new(window: Duration) -> Self {
        let window = i64::try_from(window.0).unwrap_or(i64::MAX).max(1);
        let (last_sent, resumes) = (Time::ZERO, None);
        Self { window, packets: VecDeque::new(), bytes: 0, first: None, newest: i64::MIN, last_sent, resumes }
    }

    pub(crate) fn on_sent(&mut self, sent: &Sent) {
        let idle = (sent.now - self.last_sent).0;
        let alone = sent.bytes_in_flight <= sent.bytes;
        if sent.app_limited && alone && idle > self.window.unsigned_abs() {
            self.resumes = Some(sent.pn);
        }
        self.last_sent = sent.now;
    }

    pub(crate) fn on_packet(&mut self, packet: &AckedPacket) {
        if self.resumes.take_if(|pn| *pn <= packet.pn).is_some() {
            self.packets.clear();
            (self.bytes, self.first, self.newest) = (0, None, i64::MIN);
        }
        let Some(received) = packet.received else { return };
        self.first.get_or_insert(received);
        self.newest = self.newest.max(received);
        self.packets.push_back((received, packet.bytes));
        self.bytes += packet.bytes;
        let oldest = self.newest.saturating_sub(self.window);
        while let Some(&(_, bytes)) = self.packets.front().filter(|(received, _)| *received <= oldest) {
            self.bytes -= bytes;
            self.packets.pop_front();
        }
    }

    /// Returns the rate in bit/s. `None` before there are two receive times.
    pub(crate) fn rate(&self) -> Option<f64> {
        let age = self.newest.saturating_sub(self.first?);
        let (bytes, span) = if age < self.window {
            (self.bytes - self.packets.front().map_or(0, |&(_, bytes)| bytes), age)
        } else {
            (self.bytes, self.window)
        };
        (span > 0).then(|| bytes as f64 * 8e9 / span as f64)
    }
}

/// The window derived from a rate.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    /// Factor on the bytes in flight.
    gain: f64,
    /// Smallest window, in packets.
    min: u64,
    mds: u64,
    interval: Duration,
    smoothed_rtt: Duration,
}

impl Window {
    /// Creates a window. `min` is in packets.
    pub(crate) fn new(path: PathInfo, interval: Duration, gain: f64, min: u64) -> Self {
        let mds = path.max_datagram_size.max(1);
        Self { gain, min: min.max(1), mds, interval, smoothed_rtt: INITIAL_RTT }
    }

    pub(crate) fn on_path_change(&mut self, path: PathInfo) {
        self.mds = path.max_datagram_size.max(1);
    }

    pub(crate) fn on_ack(&mut self, ack: &Ack) {
        self.smoothed_rtt = ack.smoothed_rtt;
    }

    /// Returns the RTT in seconds.
    pub(crate) fn rtt(&self) -> f64 {
        self.smoothed_rtt.as_secs_f64()
    }

    /// Returns the control for a rate in bit/s.
    pub(crate) fn control(&self, rate: f64) -> Control {
        let fills = rate / 8.0 * (self.smoothed_rtt + self.interval).as_secs_f64();
        let cwnd = ((self.gain * fills) as u64).max(self.min * self.mds);
        let pacing_rate = Some(Rate::from_bytes_per_sec(rate / 8.0));
        Control { pacing_rate, ..Control::window(cwnd) }
    }
}

/// Returns a rate in bit/s, the unit of the formulas.
pub(crate) fn bits(rate: Rate) -> f64 {
    rate.0 as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::fixtures::{acked, path, stamped};

    fn at(ms: u64, packets: &[AckedPacket]) -> Ack<'_> {
        Ack { now: Time::from_millis(ms), packets, ce: 1, ..acked(1200) }
    }

    #[test]
    fn reports_count_and_wait() {
        let mut reports = Reports::new(Duration::from_millis(100));
        let packets = [stamped(0, Time::ZERO, 0); 3];
        assert!(reports.on_ack(&at(1000, &packets), false).is_none(), "the first starts the clock");
        assert!(reports.on_ack(&at(1099, &packets), false).is_none());
        let report = reports.on_ack(&at(1130, &packets), false).expect("due");
        assert_eq!((report.interval, report.counts.acked), (Duration::from_millis(130), 9));
        assert_eq!(report.counts.marked_ratio(), 3.0 / 9.0);
        assert!(reports.on_ack(&at(1229, &[]), false).is_none(), "the clock starts anew");
        let early = reports.on_ack(&at(1229, &[]), true).expect("early");
        assert_eq!((early.interval, early.counts.marked_ratio()), (Duration::from_millis(99), 0.0));
    }

    /// 1200 bytes every 10 ms are 960 kbit/s from the second packet on, with any clock offset.
    #[test]
    fn receive_rate() {
        for offset in [0, -5_000_000_000_000, 5_000_000_000_000] {
            let mut rate = ReceiveRate::new(Duration::from_millis(500));
            for pn in 0..200 {
                assert_eq!(rate.rate(), (pn > 1).then_some(960_000.0), "{pn}");
                rate.on_packet(&stamped(pn, Time::ZERO, pn as i64 * 10_000_000 + offset));
            }
            assert_eq!(rate.packets.len(), 50);
        }
    }

    /// Ten seconds without application data are excluded from the rate. Time in which data waited
    /// for the pacer is included.
    #[test]
    fn idle_application() {
        for (app_limited, bytes_in_flight, expected) in
            [(true, 1200, 960_000.0), (false, 1200, 19_200.0 * 3.0), (true, 2400, 19_200.0 * 3.0)]
        {
            let mut rate = ReceiveRate::new(Duration::from_millis(500));
            let mut send = |pn: u64, ms: u64| {
                let now = Time::from_millis(ms);
                let app_limited = app_limited && pn == 100;
                rate.on_sent(&Sent { now, pn, bytes: 1200, bytes_in_flight, app_limited });
                rate.on_packet(&stamped(pn, now, now.0 as i64));
            };
            (0..100).for_each(|pn| send(pn, pn * 10));
            (100..103).for_each(|pn| send(pn, 10_000 + pn * 10));
            assert_eq!(rate.rate(), Some(expected));
        }
    }

    /// No receive time causes a panic.
    #[test]
    fn any_time_is_survived() {
        let mut rate = ReceiveRate::new(Duration::MAX);
        for (pn, received) in [i64::MAX, i64::MIN, 0, i64::MAX, -1].into_iter().enumerate() {
            rate.on_packet(&stamped(pn as u64, Time::ZERO, received));
            assert!(rate.rate().is_none_or(|r| r.is_finite() && r >= 0.0));
        }
    }

    #[test]
    fn window() {
        let mut window = Window::new(path(1200), Duration::from_millis(100), 2.0, 10);
        assert_eq!(window.control(0.0).cwnd, 12_000);
        window.on_ack(&acked(0));
        let control = window.control(8e6);
        assert_eq!(control.cwnd, 400_000, "1 MB/s, 100 ms of RTT, 100 ms of reports, twice");
        assert_eq!(control.pacing_rate, Some(Rate(8_000_000)));
    }
}
