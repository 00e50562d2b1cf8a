//! The state of a sender, and sending: whether a packet can be sent, and what is recorded when it
//! is.

use std::sync::Arc;

use congestion::{Control, Controller, Idle, PathInfo};
use units::{Duration, Ecn, Time};

use crate::feed::Accounting;
use crate::sender::config::{Config, Paced};
use crate::sender::ecn_validation::Validation;
use crate::sender::loss_detection::Reordering;
use crate::sender::pacer::Pacer;
use crate::sender::prr::Prr;
use crate::sender::rto::LinuxVariance;
use crate::sender::rtt::Rtt;
use crate::sender::sent_packets::{Kind, Payload};
use crate::sender::space::{Space, SpaceId, Spaces};
use crate::sender::stats::Stats;

/// Decision whether a packet can be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendDecision {
    /// The packet can be sent now.
    Now,
    /// The pacer allows the packet at this time.
    At(Time),
    /// The packet must wait until the window opens.
    WindowFull,
}

/// State after a retransmission timeout: further packets that may be lost, until an acknowledgement
/// decides (see `timers`).
#[derive(Clone, Copy, Debug)]
pub(super) struct Suspicion {
    /// Packets below this number were sent so long before the timeout that they should have been
    /// acknowledged.
    pub(super) below: u64,
    /// Packets from this number on were sent after the timeout.
    pub(super) since: u64,
}

/// Loss recovery of the sender on one path.
#[derive(Debug)]
pub struct Sender<T> {
    /// Shared between senders, to stay in the cache.
    pub(super) config: Arc<Config>,
    /// The controller and the signals for it.
    pub(super) accounting: Accounting,
    /// The controller's output after the latest event, cached because it is read several times
    /// between two events.
    pub(super) control: Control,
    /// The path, with the size of a full packet in the window.
    pub(super) path: PathInfo,
    /// The active packet number space. It is the only one unless there are `spaces`.
    pub(super) space: Space<T>,
    pub(super) spaces: Option<Box<Spaces<T>>>,
    /// Serial of the next in-flight packet, counted over all spaces.
    pub(super) serial: u64,
    /// Packets below this serial were sent on another path.
    pub(super) path_since: u64,
    pub(super) rtt: Rtt,
    pub(super) variance: LinuxVariance,
    pub(super) pacer: Pacer,
    /// Pacing rate of a window and the values from which it was computed, cached because it is read
    /// several times between two changes.
    pub(super) window_rate: ((u64, u64, Duration), f64),
    pub(super) ecn: Validation,
    pub(super) reordering: Reordering,
    /// Gradual reduction of the window, during a recovery period.
    pub(super) prr: Option<Prr>,
    pub(super) stats: Stats,
    /// TCP: all stream bytes before this one are acknowledged (`SND.UNA`).
    pub(super) unacknowledged: u64,
    /// RTT of the newest packet in the last ACK (RACK.rtt).
    pub(super) rack_rtt: Duration,
    pub(super) first_rtt_sample: Option<Time>,
    /// Time of the last progress, from which the retransmission timeout counts.
    pub(super) progress: Time,
    pub(super) timeouts: u32,
    pub(super) suspicion: Option<Suspicion>,
    pub(super) tail_probed: bool,
    /// End of the stream when the tail was probed, including the probe.
    pub(super) tail_end: u64,
    /// Number and first byte of the tail loss probe that repeats a payload still in flight.
    pub(super) tail_repeat: Option<(u64, u64)>,
    /// Packets that can be sent whatever the window. The next ACK cancels unused ones.
    pub(super) probes: u32,
    /// The controller has been told that this sender was idle.
    pub(super) restarted: bool,
}

impl<T: Payload> Sender<T> {
    /// Creates a sender with one packet number space.
    pub fn new(config: impl Into<Arc<Config>>, controller: Box<dyn Controller>, path: PathInfo) -> Self {
        let config = config.into();
        Self {
            control: controller.control(),
            path,
            space: Space::new(controller.needs().rate_samples),
            spaces: None,
            serial: 0,
            path_since: 0,
            rtt: Rtt::new(config.initial_rtt, config.min_rtt_window),
            variance: LinuxVariance::new(config.min_rto),
            pacer: Pacer::new(&config.pacing, path.max_datagram_size),
            window_rate: ((0, 0, Duration::ZERO), 0.0),
            ecn: Validation::new(config.ecn, config.ecn_validation),
            reordering: Reordering::default(),
            prr: None,
            stats: Stats::default(),
            unacknowledged: 0,
            rack_rtt: config.initial_rtt,
            first_rtt_sample: None,
            progress: Time::ZERO,
            timeouts: 0,
            suspicion: None,
            tail_probed: false,
            tail_end: 0,
            tail_repeat: None,
            probes: 0,
            restarted: false,
            accounting: Accounting::new(controller, config.exit),
            config,
        }
    }

    /// Sets the resolution of the sender's clock. Send times reported to the controller are rounded
    /// down to it. Everything else, including RTTs, is measured to the nanosecond.
    pub fn with_clock_unit(mut self, unit: Duration) -> Self {
        self.accounting.clock_unit = unit.max(Duration(1));
        self
    }

    /// Decides whether a packet of `bytes` can be sent.
    pub fn can_send(&mut self, now: Time, bytes: u64) -> SendDecision {
        if self.probes > 0 {
            return SendDecision::Now;
        }
        if self.accounting.bytes_in_flight == 0 {
            self.restart_after_idle(now);
        }
        let control = self.control;
        // With overshoot, one free byte is enough to send.
        let needed = if self.config.overshoot { 1 } else { bytes };
        if self.accounting.bytes_in_flight + needed > self.window_of(&control) {
            self.accounting.on_window_full(self.serial);
            self.pacer.on_window_full();
            return SendDecision::WindowFull;
        }
        let Some(rate) = self.pacing_rate(&control) else { return SendDecision::Now };
        match self.pacer.release(now, bytes, rate, control.send_quantum) {
            at if at <= now => SendDecision::Now,
            at => SendDecision::At(at),
        }
    }

    /// Tells the controller, once, that its window is outdated.
    fn restart_after_idle(&mut self, now: Time) {
        if !self.config.restart_after_idle || self.restarted || self.stats.sent == 0 {
            return;
        }
        let (idle, rto) = (now - self.last_sent(), self.retransmission_timeout());
        if idle > rto {
            self.restarted = true;
            self.accounting.controller.on_idle(&Idle { now, idle, rto });
            self.refresh_control();
        }
    }

    /// Returns the limit on the bytes in flight: the controller's window, or PRR's.
    fn window_of(&self, control: &Control) -> u64 {
        self.prr.as_ref().map_or(control.cwnd, Prr::window)
    }

    /// Returns the pacing rate in bytes per second, or `None` if this sender does not pace (yet).
    pub(super) fn pacing_rate(&mut self, control: &Control) -> Option<f64> {
        if let Some(rate) = control.pacing_rate.filter(|_| self.config.paced != Paced::Never) {
            return Some(rate.bytes_per_sec());
        }
        if self.config.paced != Paced::Always || !self.rtt.is_sampled() {
            return None; // RFC 9002 section 7.7: the initial window can be sent at once
        }
        let from = (control.cwnd, control.ssthresh, self.rtt.smoothed());
        if self.window_rate.0 != from {
            self.window_rate = (from, self.rate_of_window(control));
        }
        Some(self.window_rate.1)
    }

    /// Returns a multiple of `cwnd / smoothed_rtt`.
    fn rate_of_window(&self, control: &Control) -> f64 {
        let pacing = &self.config.pacing;
        let early = (control.cwnd as f64) < control.ssthresh as f64 * pacing.slow_start_until;
        let factor = if early { pacing.slow_start_factor } else { pacing.factor };
        factor * control.cwnd as f64 / self.rtt.smoothed().as_secs_f64().max(1e-9)
    }

    /// Records a sent packet. Returns its number and mark.
    ///
    /// `bytes` is its size in the window. `repeat` means that its payload has been sent before.
    /// Payloads that are not repeats must be sent in stream order.
    pub fn on_sent(&mut self, now: Time, bytes: u64, data: T, repeat: bool) -> (u64, Ecn) {
        let may_mark = !repeat || self.config.ecn_on_repeats;
        let ecn = self.mark(now, may_mark);
        let kind = if repeat { Kind::Repeat } else { Kind::Fresh };
        (self.record_sent(now, bytes, kind, ecn, data), ecn)
    }

    /// Returns the mark of the packet to send now.
    #[inline]
    pub(super) fn mark(&mut self, now: Time, may_mark: bool) -> Ecn {
        let (rtt, config) = (&self.rtt, &self.config);
        self.ecn.mark(now, || config.probe_timeout(rtt), may_mark)
    }

    /// Records a packet in flight in the active space and returns its number.
    #[inline]
    pub(super) fn record_sent(&mut self, now: Time, bytes: u64, kind: Kind, ecn: Ecn, data: T) -> u64 {
        let (serial, repeat) = (self.serial, kind == Kind::Repeat);
        self.serial += 1;
        self.ecn.on_sent(&mut self.space.ecn, ecn);
        if self.accounting.bytes_in_flight == 0 {
            self.progress = now;
        }
        let snapshot = self.accounting.on_sent(now, serial, bytes);
        self.refresh_control();
        if repeat {
            self.space.late.on_repeat(data.range().start);
            // RFC 6298 section 5.4: the repeat of the oldest segment has the full timeout to
            // arrive.
            if data.range().start == self.unacknowledged {
                self.progress = now;
            }
            if self.tail_probed && self.probes > 0 {
                self.tail_repeat = Some((serial, data.range().start));
            }
        }
        let pn = self.space.sent.push(now, bytes, (kind, serial), ecn, snapshot, data);
        if self.tail_probed && self.probes > 0 {
            self.tail_end = self.space.sent.edge();
        }
        if kind != Kind::Padding {
            self.space.last_sent = now;
        }
        self.restarted = false;
        self.probes = self.probes.saturating_sub(1);
        self.pacer.on_sent(now, bytes);
        if let Some(prr) = &mut self.prr {
            prr.on_sent(bytes);
        }
        self.stats.sent += 1;
        self.stats.sent_bytes += bytes;
        self.stats.retransmissions += u64::from(repeat);
        pn
    }

    /// Records that the application has no data to send. Has no effect if the window is full,
    /// because then the window limits the sender.
    pub fn mark_app_limited(&mut self) {
        let window = self.window();
        self.accounting.mark_app_limited(window);
    }

    /// Returns the limit on the bytes in flight. It is above the controller's window while a
    /// reduction is spread over the round trip, and below it after losses emptied the pipe.
    pub fn window(&self) -> u64 {
        self.window_of(&self.control)
    }
    /// Returns the bytes in flight.
    pub fn bytes_in_flight(&self) -> u64 {
        self.accounting.bytes_in_flight
    }
    /// Returns the ranges of the latest QUIC ACK, ascending and disjoint. With three spaces: of the
    /// Application space.
    #[inline]
    pub fn acked_ranges(&self) -> &[(u64, u64)] {
        self.space.acked.latest()
    }
    /// Returns the packet number below which the sender needs no acknowledgements. With three
    /// spaces: of the Application space.
    #[inline]
    pub fn least_unacked(&self) -> u64 {
        let Space { sent, late, .. } = &self.space;
        if self.spaces.is_none() && sent.numbers.is_plain() {
            return late.oldest().unwrap_or(u64::MAX).min(sent.base());
        }
        self.least_unacked_in(SpaceId::Application)
    }
    /// Returns the RTT estimator.
    pub fn rtt(&self) -> &Rtt {
        &self.rtt
    }
    /// Updates the cached output of the controller after an event.
    #[inline]
    pub(super) fn refresh_control(&mut self) {
        self.control = self.accounting.controller.control();
    }
    /// Returns the controller's output.
    pub fn control(&self) -> &Control {
        &self.control
    }
    /// Returns the controller.
    pub fn controller(&self) -> &dyn Controller {
        self.accounting.controller.as_ref()
    }
    /// Returns the counters since the start.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }
    /// Returns the bytes delivered since the start.
    pub fn delivered(&self) -> u64 {
        self.accounting.sampler.delivered()
    }
    /// Reports whether a recovery period is active.
    pub fn in_recovery(&self) -> bool {
        self.accounting.period.in_recovery()
    }
}
