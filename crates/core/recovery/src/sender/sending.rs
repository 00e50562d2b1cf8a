//! The state of a sender, and sending: whether a packet can be sent, and what is recorded when it
//! is.

use std::sync::Arc;

use congestion::{Control, Controller, Idle, PathInfo};
use units::{Duration, Ecn, Rate, Time};

use crate::feed::Accounting;
use crate::mtu_search::MtuSearch;
use crate::sender::allowance::Allowance;
use crate::sender::config::Config;
use crate::sender::duplicate_acks::DuplicateAcks;
use crate::sender::ecn_validation::Validation;
use crate::sender::loss_detection::Reordering;
use crate::sender::offload::Group;
use crate::sender::pacing::{self, PacedRelease};
use crate::sender::round_trip::RoundTrip;
use crate::sender::rtt::Rtt;
use crate::sender::sent_packets::{Kind, Payload};
use crate::sender::space::{Space, SpaceId, Spaces};
use crate::sender::stats::Stats;
use crate::sender::tail_probe::TailProbe;
use crate::sender::timeouts::Timeouts;

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
    pub(super) round_trip: RoundTrip,
    pub(super) pacing: PacedRelease,
    pub(super) group: Group,
    pub(super) ecn: Validation,
    pub(super) reordering: Reordering,
    /// Deviations from the controller's window. The next ACK cancels unused probes.
    pub(super) allowance: Allowance,
    pub(super) stats: Stats,
    /// TCP: all stream bytes before this one are acknowledged (`SND.UNA`).
    pub(super) unacknowledged: u64,
    pub(super) timeouts: Timeouts,
    pub(super) tail_probe: TailProbe,
    pub(super) duplicates: DuplicateAcks,
    /// Search for the MTU of the path.
    pub(super) search: Option<Box<MtuSearch>>,
    /// The controller has been told that this sender was idle.
    pub(super) restarted: bool,
}

impl<T: Payload> Sender<T> {
    /// Creates a sender with one packet number space. `path` has the largest datagrams to use. If a
    /// search for the MTU raises them, the controller is made for those that come first.
    pub fn new(config: impl Into<Arc<Config>>, controller: Box<dyn Controller>, path: PathInfo) -> Self {
        let config = config.into();
        let search = config.mtu_search.then(|| Box::new(MtuSearch::new(path.max_datagram_size)));
        let path = config.first_path(path);
        Self {
            control: controller.control(),
            path,
            space: Space::new(controller.needs().rate_samples),
            spaces: None,
            serial: 0,
            path_since: 0,
            round_trip: RoundTrip::new(&config),
            pacing: PacedRelease::new(&config, path.max_datagram_size),
            group: Group::default(),
            ecn: Validation::new(config.ecn, config.ecn_validation),
            reordering: Reordering::default(),
            allowance: Allowance::default(),
            stats: Stats { datagram_size: search.as_ref().map(|it| it.size()), ..Stats::default() },
            unacknowledged: 0,
            timeouts: Timeouts::new(Time::ZERO),
            tail_probe: TailProbe::default(),
            duplicates: DuplicateAcks::default(),
            search,
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
        if self.allowance.probes() > 0 {
            self.group.end();
            return SendDecision::Now;
        }
        if self.accounting.bytes_in_flight == 0 {
            self.restart_after_idle(now);
        }
        // With overshoot, one free byte is enough to send.
        let needed = if self.config.overshoot { 1 } else { bytes };
        if self.accounting.bytes_in_flight + needed > self.window() || self.waits_for_group() {
            self.group.end();
            self.accounting.on_window_full(self.serial);
            self.pacing.on_window_full();
            return SendDecision::WindowFull;
        }
        if self.group.has_begun() {
            return SendDecision::Now;
        }
        match self.pacing.release(now, bytes, &self.config, &self.control, self.round_trip.rtt()) {
            at if at <= now => SendDecision::Now,
            at => SendDecision::At(at),
        }
    }

    /// Tells the controller, once, that its window is outdated.
    fn restart_after_idle(&mut self, now: Time) {
        if !self.config.restart_after_idle || self.restarted || self.stats.sent == 0 {
            return;
        }
        let (idle, rto) = (now - self.last_sent(), self.round_trip.retransmission_timeout(&self.config));
        if idle > rto {
            self.restarted = true;
            self.accounting.controller.on_idle(&Idle { now, idle, rto });
            self.refresh_control();
        }
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
        let (round_trip, config) = (&self.round_trip, &self.config);
        self.ecn.mark(now, || round_trip.probe_timeout(config), may_mark)
    }

    /// Records a packet in flight in the active space and returns its number.
    #[inline]
    pub(super) fn record_sent(&mut self, now: Time, bytes: u64, kind: Kind, ecn: Ecn, data: T) -> u64 {
        let (serial, repeat) = (self.serial, kind == Kind::Repeat);
        self.serial += 1;
        self.ecn.on_sent(&mut self.space.ecn, ecn);
        if self.accounting.bytes_in_flight == 0 {
            self.timeouts.restart(now);
        }
        let snapshot = self.accounting.on_sent(now, serial, bytes);
        self.refresh_control();
        if repeat {
            self.space.late.on_repeat(data.range().start);
            // RFC 6298 section 5.4: the repeat of the oldest segment has the full timeout to
            // arrive.
            if data.range().start == self.unacknowledged {
                self.timeouts.restart(now);
            }
        }
        let repeats = repeat.then(|| data.range().start);
        let pn = self.space.sent.push(now, bytes, (kind, serial), ecn, snapshot, data);
        if self.tail_probe.is_outstanding() && self.allowance.probes() > 0 {
            self.tail_probe.on_sent(serial, repeats, self.space.sent.edge());
        }
        if kind != Kind::Padding {
            self.space.last_sent = now;
        }
        self.restarted = false;
        self.allowance.on_sent(bytes);
        self.pacing.on_sent(now, bytes);
        self.group.on_sent();
        self.stats.sent += 1;
        self.stats.sent_bytes += bytes;
        self.stats.retransmissions += u64::from(repeat);
        pn
    }

    /// Records that the application has no data to send. Has no effect if the window is full,
    /// because then the window limits the sender.
    pub fn mark_app_limited(&mut self) {
        let window = self.window();
        self.group.end();
        self.accounting.mark_app_limited(window);
    }

    /// Returns the limit on the bytes in flight. It is above the controller's window while a
    /// reduction is spread over the round trip, and below it after losses emptied the pipe. Without
    /// SACK it is above it by the packets that duplicate acknowledgements stand for.
    pub fn window(&self) -> u64 {
        let arrived = self.duplicates.arrived * self.path.max_datagram_size;
        self.allowance.window(self.control.cwnd).saturating_add(arrived)
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
        self.round_trip.rtt()
    }
    /// Returns the rate at which packets are released, or `None` if they are not paced (yet).
    pub fn pacing_rate(&self) -> Option<Rate> {
        pacing::rate(&self.config, &self.control, self.rtt())
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
