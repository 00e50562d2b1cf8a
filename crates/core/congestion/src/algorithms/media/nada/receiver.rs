//! NADA's receiver, RFC 8698 sections 4.2 and 5.1.
//!
//! ```text
//! d_queue   d_fwd - d_base of each packet; d_base is the smallest d_fwd of `base_window`; then the minimum of 15 packets
//! loss_int  mean of the last 8 intervals between losses, packets; includes the open one if that makes it longer
//!           weights 1 1 1 1 .8 .6 .4 .2                                                 RFC 5348 section 5.4
//! warp      d_queue                                        if d_queue < QTH
//!           QTH exp(-LAMBDA (d_queue - QTH) / QTH)         otherwise                                       (1)
//! d_tilde   warp                up to MULTILOSS loss_int packets after the last loss
//!           d_queue             from (MULTILOSS + 1) loss_int packets on, and without any loss
//!           linear in between
//! p         ALPHA * (lost, or marked, of all packets within LOGWIN) + (1 - ALPHA) p                       (10)
//! x_curr    d_tilde + DMARK (p_mark / PMRREF)^2 + DLOSS (p_loss / PLRREF)^2             seconds            (2)
//! ramp-up   within LOGWIN no loss, and d_queue < QEPS before the filter
//! ```
//!
//! A run of lost packets is one loss. The interval includes its lost packet. The first interval
//! begins with the flow.

use alloc::collections::VecDeque;

use super::params::Params;
use crate::components::loss_intervals::LossIntervals as Closed;
use crate::components::queuing_delay::{BaseDelay, QueuingDelay};
use crate::components::receiver_report::{Counts, ReceiveRate, Report};
use crate::{AckedPacket, Lost};
use units::{Duration, Time};

crate::variables! {
    /// Queuing delay, the minimum of the last packets. RFC 8698 sections 4.2, 5.1.1.
    d_queue: "s",
    /// Queuing delay, warped after recent losses. RFC 8698 section 4.2, equation 1.
    d_tilde: "s",
    /// Smoothed ratio of lost packets, 0..1. RFC 8698 section 5.1.
    p_loss: "",
    /// Smoothed ratio of marked packets, 0..1. RFC 8698 section 5.1.
    p_mark: "",
    /// Mean interval between losses; 0 before the first loss. RFC 8698 section 4.2; RFC 5348
    /// section 5.4.
    loss_int: "packets",
}

/// Content of a report.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Feedback {
    /// Whether to ramp up, `rmode` 0.
    pub(super) ramp_up: bool,
    /// Aggregate congestion signal, in seconds.
    pub(super) x_curr: f64,
    /// Receive rate in bit/s. `None` before there are two receive times.
    pub(super) r_recv: Option<f64>,
}

/// Intervals between losses, in packets.
#[derive(Clone, Debug, Default)]
pub(super) struct LossIntervals {
    /// Packets since the last loss.
    open: f64,
    closed: Closed,
    last_lost: Option<u64>,
}

impl LossIntervals {
    pub(super) fn on_received(&mut self) {
        self.open += 1.0;
    }

    pub(super) fn on_lost(&mut self, pn: u64) {
        let same_run = self.last_lost.is_some_and(|last| last.checked_add(1) == Some(pn));
        self.last_lost = Some(pn);
        if !same_run {
            self.closed.push(self.open);
            self.open = 1.0;
        }
    }

    /// Returns `loss_int` in packets. `None` without a loss.
    pub(super) fn mean(&self) -> Option<f64> {
        self.closed.mean(self.open)
    }

    /// Returns how far the warping has expired, 0..1.
    pub(super) fn expired(&self, multiloss: f64) -> f64 {
        self.mean().map_or(1.0, |mean| ((self.open - multiloss * mean) / mean).clamp(0.0, 1.0))
    }
}

/// Data of one report for the observation window.
#[derive(Clone, Debug)]
struct Seen {
    at: Time,
    counts: Counts,
    /// Largest queuing delay, in seconds.
    d_queue: f64,
}

/// The receiver. Delays are in seconds.
#[derive(Clone, Debug)]
pub(super) struct Receiver {
    params: Params,
    delay: QueuingDelay,
    rate: ReceiveRate,
    loss: LossIntervals,
    /// The newest samples of d_queue.
    taps: VecDeque<f64>,
    /// Largest sample since the last report.
    d_queue_max: f64,
    window: VecDeque<Seen>,
    p_loss: f64,
    p_mark: f64,
}

impl Receiver {
    pub(super) fn new(params: Params) -> Self {
        Self {
            delay: QueuingDelay::new(BaseDelay::Windowed, params.base_window),
            rate: ReceiveRate::new(params.logwin),
            loss: LossIntervals::default(),
            taps: VecDeque::new(),
            d_queue_max: 0.0,
            window: VecDeque::new(),
            p_loss: 0.0,
            p_mark: 0.0,
            params,
        }
    }

    pub(super) fn on_packet(&mut self, packet: &AckedPacket) {
        self.loss.on_received();
        self.rate.on_packet(packet);
        let Some(d_queue) = self.delay.on_packet(packet) else { return };
        let d_queue = d_queue as f64 * 1e-9;
        self.d_queue_max = self.d_queue_max.max(d_queue);
        self.taps.push_back(d_queue);
        if self.taps.len() > self.params.taps.max(1) {
            self.taps.pop_front();
        }
    }

    pub(super) fn on_lost(&mut self, lost: &Lost) {
        lost.packets.iter().for_each(|packet| self.loss.on_lost(packet.pn));
    }

    pub(super) fn report(&mut self, report: &Report) -> Feedback {
        let d_queue = core::mem::take(&mut self.d_queue_max);
        self.window.push_back(Seen { at: report.now, counts: report.counts, d_queue });
        let logwin = self.params.logwin;
        while self.window.front().is_some_and(|seen| report.now - seen.at >= logwin.max(Duration(1))) {
            self.window.pop_front();
        }
        let counts: Counts = self.window.iter().map(|seen| seen.counts).sum();
        let smooth = |p: f64, inst: f64| self.params.alpha * inst + (1.0 - self.params.alpha) * p;
        self.p_loss = smooth(self.p_loss, counts.lost_ratio());
        self.p_mark = smooth(self.p_mark, counts.marked_ratio());
        let qeps = self.params.qeps.as_secs_f64();
        let ramp_up = counts.lost == 0 && self.window.iter().all(|seen| seen.d_queue < qeps);
        Feedback { ramp_up, x_curr: self.x_curr(), r_recv: self.rate.rate() }
    }

    /// Returns the filtered queuing delay.
    fn d_queue(&self) -> f64 {
        self.taps.iter().copied().reduce(f64::min).unwrap_or(0.0)
    }

    /// Returns d_tilde by equation 1.
    pub(super) fn warp(&self, d_queue: f64) -> f64 {
        let qth = self.params.qth.as_secs_f64().max(1e-9);
        if d_queue < qth { d_queue } else { qth * libm::exp(-self.params.lambda * (d_queue - qth) / qth) }
    }

    fn d_tilde(&self) -> f64 {
        let d_queue = self.d_queue();
        let expired = self.loss.expired(self.params.multiloss);
        expired * d_queue + (1.0 - expired) * self.warp(d_queue)
    }

    /// Returns x_curr by equation 2.
    fn x_curr(&self) -> f64 {
        let penalty = |d: Duration, ratio: f64| d.as_secs_f64() * ratio * ratio;
        let mark = penalty(self.params.dmark, self.p_mark / self.params.pmrref);
        let x = self.d_tilde() + mark + penalty(self.params.dloss, self.p_loss / self.params.plrref);
        self.params.x_max.map_or(x, |most| x.min(most.as_secs_f64()))
    }

    pub(super) fn trace(&self, put: &mut dyn FnMut(&'static str, f64)) {
        put("d_queue", self.d_queue());
        put("d_tilde", self.d_tilde());
        put("p_loss", self.p_loss);
        put("p_mark", self.p_mark);
        put("loss_int", self.loss.mean().unwrap_or(0.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::fixtures::stamped;
    use crate::{Detection, LostPacket};

    fn receiver() -> Receiver {
        Receiver::new(Params::default())
    }

    /// Packets 10 ms apart from `pn` on that wait `waits` ms. The receiver clock is `offset` ms
    /// ahead.
    fn receive(r: &mut Receiver, pn: u64, offset: i64, waits: &[i64]) {
        for (pn, wait) in (pn..).zip(waits) {
            let sent = Time::from_millis(10 * pn);
            r.on_packet(&stamped(pn, sent, sent.0 as i64 + (20 + wait + offset) * 1_000_000));
        }
    }

    fn lose(r: &mut Receiver, pns: &[u64]) {
        let detection = Detection::PacketThreshold;
        let (sent, tx_in_flight, lost_at_send, app_limited) = (Time::ZERO, 0, 0, false);
        let packet = |&pn: &u64| LostPacket {
            pn,
            bytes: 1200,
            sent,
            detection,
            tx_in_flight,
            lost_at_send,
            app_limited,
        };
        let packets: Vec<_> = pns.iter().map(packet).collect();
        let now = Time::ZERO;
        r.on_lost(&Lost { now, packets: &packets, total_lost: 0, delivered: 0, bytes_in_flight: 0 });
    }

    fn report(r: &mut Receiver, ms: u64, acked: u64, lost: u64, marked: u64) -> Feedback {
        let (now, interval) = (Time::from_millis(ms), Duration::from_millis(100));
        r.report(&Report { now, interval, counts: Counts { acked, lost, marked } })
    }

    fn near(a: f64, b: f64) {
        assert!((a - b).abs() < 5e-7, "{a} {b}");
    }

    /// Test vector, in milliseconds.
    #[test]
    fn warping() {
        for (d, warped) in [
            (25.0, 25.0),
            (50.0, 50.0),
            (60.0, 45.242),
            (80.0, 37.041),
            (100.0, 30.327),
            (150.0, 18.394),
            (200.0, 11.157),
        ] {
            near(receiver().warp(d * 1e-3), warped * 1e-3);
        }
    }

    /// Test vector: newest 10 then seven 100, seven 100 then 10, all 100.
    #[test]
    fn loss_intervals() {
        let mean = |newest_first: [u64; 8]| {
            let mut l = LossIntervals::default();
            let mut pn = 0;
            for interval in newest_first.into_iter().rev() {
                // The interval includes the lost packet that began it. The first one begins with
                // the flow.
                let received = if pn == 0 { interval } else { interval - 1 };
                (0..received).for_each(|_| l.on_received());
                pn += received;
                l.on_lost(pn);
                pn += 1;
            }
            l.mean().expect("losses")
        };
        near(mean([10, 100, 100, 100, 100, 100, 100, 100]), 85.0);
        near(mean([100, 100, 100, 100, 100, 100, 100, 10]), 97.0);
        near(mean([100; 8]), 100.0);
    }

    /// The open interval counts if it is long: one completed interval of 50, then 80 packets. A run
    /// of losses is one loss.
    #[test]
    fn open_interval() {
        let mut l = LossIntervals::default();
        assert_eq!(l.mean(), None);
        (0..50).for_each(|_| l.on_received());
        (50..53).for_each(|pn| l.on_lost(pn));
        assert_eq!(l.mean(), Some(50.0));
        (0..79).for_each(|_| l.on_received());
        assert_eq!(l.mean(), Some(80.0));
    }

    /// Losses 10 packets apart start to expire after 70 packets, and take 10 packets to do so.
    #[test]
    fn losses_expire() {
        let mut l = LossIntervals::default();
        for pn in [10, 20, 30, 40, 50, 60, 70, 80] {
            (0..if pn == 10 { 10 } else { 9 }).for_each(|_| l.on_received());
            l.on_lost(pn);
        }
        // The open interval enters the mean with weight 1 of 6, and the oldest with weight 0.2
        // drops out.
        let mean = |open: f64| ((open + 30.0 + 10.0 * (0.8 + 0.6 + 0.4 + 0.2)) / 6.0).max(10.0);
        for open in 1..1000 {
            let expired = (f64::from(open) / mean(f64::from(open)) - 7.0).clamp(0.0, 1.0);
            near(l.expired(7.0), expired);
            l.on_received();
        }
        assert_eq!(LossIntervals::default().expired(7.0), 1.0, "no loss");
    }

    /// After a recent loss 100 ms of queue count as 30, after a long time without one as 100.
    #[test]
    fn warped_only_after_losses() {
        let mut r = receiver();
        receive(&mut r, 0, 0, &[0]);
        receive(&mut r, 1, 0, &[100; 20]);
        near(r.d_tilde(), 0.1);
        lose(&mut r, &[21]);
        near(r.d_tilde(), 0.030_327);
    }

    /// The minimum of 15 packets. The 16th packet drops the first. With any clock offset.
    #[test]
    fn minimum_filter() {
        for offset in [0, -1_000_000, 1_000_000] {
            let mut r = receiver();
            receive(&mut r, 0, offset, &[0]);
            receive(&mut r, 1, offset, &[30; 14]);
            assert_eq!(r.d_queue(), 0.0);
            receive(&mut r, 15, offset, &[40]);
            near(r.d_queue(), 0.03);
        }
    }

    /// Equation 2: at the reference ratios 10 ms and 2 ms, with the square.
    #[test]
    fn penalties() {
        for (p_loss, p_mark, ms) in
            [(0.01, 0.0, 10.0), (0.02, 0.0, 40.0), (0.0, 0.01, 2.0), (0.0, 0.05, 50.0), (0.01, 0.01, 12.0)]
        {
            near(Receiver { p_loss, p_mark, ..receiver() }.x_curr(), ms * 1e-3);
        }
    }

    /// A fifth of all packets lost: 4 s as printed, at most x-max with it.
    #[test]
    fn bounded() {
        for (x_max, ms) in [(None, 4000.0), (Some(Duration::from_millis(500)), 500.0)] {
            let r = Receiver::new(Params { x_max, ..Params::default() });
            near(Receiver { p_loss: 0.2, ..r }.x_curr(), ms * 1e-3);
        }
    }

    /// Equation 10: a tenth of the ratio within LOGWIN per report. The loss leaves the window after
    /// five reports.
    #[test]
    fn ratios() {
        let mut r = receiver();
        report(&mut r, 100, 9, 1, 2);
        near(r.p_loss, 0.01);
        near(r.p_mark, 0.02);
        report(&mut r, 200, 10, 0, 0);
        near(r.p_loss, 0.009 + 0.1 * 1.0 / 20.0);
        (3..6).for_each(|i| _ = report(&mut r, i * 100, 10, 0, 0));
        let before = r.p_loss;
        report(&mut r, 600, 10, 0, 0);
        near(r.p_loss, 0.9 * before);
    }

    /// Ramp-up: no loss within LOGWIN and no packet queued for QEPS. The minimum filter does not
    /// hide such a packet.
    #[test]
    fn mode() {
        let mut r = receiver();
        receive(&mut r, 0, 0, &[0, 9, 9]);
        assert!(report(&mut r, 100, 3, 0, 0).ramp_up);
        receive(&mut r, 3, 0, &[0, 10]);
        assert!(!report(&mut r, 200, 2, 0, 0).ramp_up);
        (3..7).for_each(|i| assert!(!report(&mut r, i * 100, 1, 0, 0).ramp_up, "{i}"));
        assert!(report(&mut r, 700, 1, 0, 0).ramp_up, "500 ms later");
        assert!(!report(&mut r, 800, 9, 1, 0).ramp_up);
    }
}
