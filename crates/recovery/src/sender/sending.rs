//! The state of a sender, and sending: whether a packet may leave, and what is noted when it does.

use std::sync::Arc;

use congestion::{Control, Controller, Idle, PathInfo};
use units::{Duration, Ecn, Time};

use crate::feed::Bookkeeping;
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

/// Whether a packet may leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendDecision {
    /// Now.
    Now,
    /// When the pacer says so.
    At(Time),
    /// When the window opens.
    WindowFull,
}

/// After a retransmission timeout: what else may be lost, until an acknowledgement tells (see `timers`).
#[derive(Clone, Copy, Debug)]
pub(super) struct Suspicion {
    /// Packets below this one left so long before the timeout that they should have been acknowledged.
    pub(super) below: u64,
    /// Packets from this one on left after the timeout.
    pub(super) since: u64,
}

/// Loss recovery of one path's sender.
#[derive(Debug)]
pub struct Sender<T> {
    /// Senders can share it: what all of them read stays in the cache.
    pub(super) config: Arc<Config>,
    /// What the controller is told of, and the controller.
    pub(super) books: Bookkeeping,
    /// What the controller said after the latest event. It is asked for several times between two.
    pub(super) control: Control,
    /// Bytes of a full packet in the window.
    pub(super) path: PathInfo,
    /// The packet number space at hand: the only one, unless there are `spaces`.
    pub(super) space: Space<T>,
    pub(super) spaces: Option<Box<Spaces<T>>>,
    /// Of the next packet that is in flight, over all spaces.
    pub(super) serial: u64,
    /// Packets below this serial left on another path.
    pub(super) path_since: u64,
    pub(super) rtt: Rtt,
    pub(super) variance: LinuxVariance,
    pub(super) pacer: Pacer,
    /// The pacing rate of a window, and what it was computed from: it is asked for several times between two changes.
    pub(super) window_rate: ((u64, u64, Duration), f64),
    pub(super) ecn: Validation,
    pub(super) reordering: Reordering,
    /// The window's way down, while the recovery period lasts.
    pub(super) prr: Option<Prr>,
    pub(super) stats: Stats,
    /// TCP: all stream bytes before this one are acknowledged (`SND.UNA`).
    pub(super) unacknowledged: u64,
    /// RTT of the newest packet in the last ACK (RACK.rtt).
    pub(super) rack_rtt: Duration,
    pub(super) first_rtt_sample: Option<Time>,
    /// From when the retransmission timeout counts: the last progress.
    pub(super) progress: Time,
    pub(super) timeouts: u32,
    pub(super) suspicion: Option<Suspicion>,
    pub(super) tail_probed: bool,
    /// Where the stream ended when the tail was probed, the probe included.
    pub(super) tail_end: u64,
    /// The tail loss probe that repeats a payload still in flight: its number and first byte.
    pub(super) tail_repeat: Option<(u64, u64)>,
    /// Packets that may leave whatever the window says. What the next ACK finds unused has lapsed.
    pub(super) probes: u32,
    /// The controller knows that this sender was idle.
    pub(super) restarted: bool,
}

impl<T: Payload> Sender<T> {
    /// Nothing sent yet.
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
            books: Bookkeeping::new(controller, config.exit),
            config,
        }
    }

    /// The sender's clock counts in this unit: the controller is told send times rounded down to it. Everything else, RTTs too,
    /// is measured to the nanosecond.
    pub fn with_clock_unit(mut self, unit: Duration) -> Self {
        self.books.clock_unit = unit.max(Duration(1));
        self
    }

    /// Whether a packet of `bytes` may leave.
    pub fn can_send(&mut self, now: Time, bytes: u64) -> SendDecision {
        if self.probes > 0 {
            return SendDecision::Now;
        }
        if self.books.bytes_in_flight == 0 {
            self.restart_after_idle(now);
        }
        let control = self.control;
        // Whoever may pass the window needs room for a byte.
        let needed = if self.config.overshoot { 1 } else { bytes };
        if self.books.bytes_in_flight + needed > self.window_of(&control) {
            self.books.on_window_full(self.serial);
            self.pacer.on_window_full();
            return SendDecision::WindowFull;
        }
        let Some(rate) = self.pacing_rate(&control) else { return SendDecision::Now };
        match self.pacer.release(now, bytes, rate, control.send_quantum) {
            at if at <= now => SendDecision::Now,
            at => SendDecision::At(at),
        }
    }

    /// Tells the controller, once, that its window is old.
    fn restart_after_idle(&mut self, now: Time) {
        if !self.config.restart_after_idle || self.restarted || self.stats.sent == 0 {
            return;
        }
        let (idle, rto) = (now - self.last_sent(), self.retransmission_timeout());
        if idle > rto {
            self.restarted = true;
            self.books.controller.on_idle(&Idle { now, idle, rto });
            self.ask_controller();
        }
    }

    /// Most bytes that may be in flight: the controller's window, or what PRR makes of it.
    fn window_of(&self, control: &Control) -> u64 {
        self.prr.as_ref().map_or(control.cwnd, Prr::window)
    }

    /// Bytes per second, or `None` when this sender does not pace (yet).
    pub(super) fn pacing_rate(&mut self, control: &Control) -> Option<f64> {
        if let Some(rate) = control.pacing_rate.filter(|_| self.config.paced != Paced::Never) {
            return Some(rate.bytes_per_sec());
        }
        if self.config.paced != Paced::Always || !self.rtt.is_sampled() {
            return None; // RFC 9002 section 7.7: the initial window may leave at once
        }
        let from = (control.cwnd, control.ssthresh, self.rtt.smoothed());
        if self.window_rate.0 != from {
            self.window_rate = (from, self.rate_of_window(control));
        }
        Some(self.window_rate.1)
    }

    /// A multiple of `cwnd / smoothed_rtt`.
    fn rate_of_window(&self, control: &Control) -> f64 {
        let pacing = &self.config.pacing;
        let early = (control.cwnd as f64) < control.ssthresh as f64 * pacing.slow_start_until;
        let factor = if early { pacing.slow_start_factor } else { pacing.factor };
        factor * control.cwnd as f64 / self.rtt.smoothed().as_secs_f64().max(1e-9)
    }

    /// A packet leaves; returns its number and mark. `bytes` is what it counts in the window. `repeat` says that its
    /// payload has been sent before; what is not repeated leaves in the order of the stream.
    pub fn on_sent(&mut self, now: Time, bytes: u64, data: T, repeat: bool) -> (u64, Ecn) {
        let may_mark = !repeat || self.config.ecn_on_repeats;
        let ecn = self.mark(now, may_mark);
        let kind = if repeat { Kind::Repeat } else { Kind::Fresh };
        (self.leave(now, bytes, kind, ecn, data), ecn)
    }

    /// The mark of what leaves now.
    #[inline]
    pub(super) fn mark(&mut self, now: Time, may_mark: bool) -> Ecn {
        let (rtt, config) = (&self.rtt, &self.config);
        self.ecn.mark(now, || config.probe_timeout(rtt), may_mark)
    }

    /// A packet leaves in the space at hand, in flight; returns its number.
    #[inline]
    pub(super) fn leave(&mut self, now: Time, bytes: u64, kind: Kind, ecn: Ecn, data: T) -> u64 {
        let (serial, repeat) = (self.serial, kind == Kind::Repeat);
        self.serial += 1;
        self.ecn.on_sent(&mut self.space.ecn, ecn);
        if self.books.bytes_in_flight == 0 {
            self.progress = now;
        }
        let snapshot = self.books.on_sent(now, serial, bytes);
        self.ask_controller();
        if repeat {
            self.space.late.on_repeat(data.range().start);
            // RFC 6298 section 5.4: the repeat of the oldest segment has the whole timeout to arrive.
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

    /// The application has nothing to send. Matters while the window has room: a full one limits the sender itself.
    pub fn mark_app_limited(&mut self) {
        let window = self.window();
        self.books.mark_app_limited(window);
    }

    /// Most bytes that may be in flight. Above the controller's window while a reduction is spread over the round trip,
    /// below it where losses emptied the pipe.
    pub fn window(&self) -> u64 {
        self.window_of(&self.control)
    }
    /// Bytes in flight.
    pub fn bytes_in_flight(&self) -> u64 {
        self.books.bytes_in_flight
    }
    /// The ranges of the latest QUIC ACK, ascending and apart; of the Application space, if it has three.
    #[inline]
    pub fn acked_ranges(&self) -> &[(u64, u64)] {
        self.space.acked.latest()
    }
    /// The sender cares for no acknowledgement below this packet number; of the Application space, if it has three.
    #[inline]
    pub fn least_unacked(&self) -> u64 {
        let Space { sent, late, .. } = &self.space;
        if self.spaces.is_none() && sent.numbers.is_plain() {
            return late.oldest().unwrap_or(u64::MAX).min(sent.base());
        }
        self.least_unacked_of(SpaceId::Application)
    }
    /// Round-trip time.
    pub fn rtt(&self) -> &Rtt {
        &self.rtt
    }
    /// Something happened that may have changed the controller's mind.
    #[inline]
    pub(super) fn ask_controller(&mut self) {
        self.control = self.books.controller.control();
    }
    /// What the controller allows.
    pub fn control(&self) -> &Control {
        &self.control
    }
    /// The controller.
    pub fn controller(&self) -> &dyn Controller {
        self.books.controller.as_ref()
    }
    /// Counters since the start.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }
    /// Bytes delivered since the start.
    pub fn delivered(&self) -> u64 {
        self.books.sampler.delivered()
    }
    /// In a recovery period.
    pub fn in_recovery(&self) -> bool {
        self.books.period.in_recovery()
    }
}
