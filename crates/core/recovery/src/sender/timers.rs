//! Timers: due times, probes and retransmission timeouts.

use congestion::{Cause, Detection};
use units::{Duration, Time};

use crate::sender::config::{MAX_DOUBLINGS, TimeThreshold, Timeout};
use crate::sender::effects::{AckContext, AckEffects};
use crate::sender::sending::Sender;
use crate::sender::sent_packets::Payload;
use crate::sender::timeouts::Suspicion;

/// Number of probes sent on a QUIC probe timeout. RFC 9002 section 6.2.4: one or two.
pub(super) const PTO_PROBES: u32 = 2;

/// Current values of the loss-recovery timers, for display.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timers {
    /// Time until a probe, without backoff: QUIC's PTO (RFC 9002 section 6.2.1), or TCP's tail loss
    /// probe with more than one packet in flight (RFC 8985 section 7.2).
    pub pto: Duration,
    /// TCP: time until a retransmission timeout, without backoff.
    pub rto: Option<Duration>,
    /// Extra time granted to a missing packet over the newest that arrived: RACK's `reo_wnd`, or
    /// the part of the time threshold beyond an RTT. `None` without a time threshold.
    pub reo_wnd: Option<Duration>,
}

impl<T: Payload> Sender<T> {
    /// Returns the current values of the timers, whatever is in flight.
    pub fn timers(&self) -> Timers {
        let (pto, rto) = match self.config.timeout {
            Timeout::Pto => (self.round_trip.probe_timeout(&self.config), None),
            Timeout::TlpRto | Timeout::Rto => {
                let rto = self.round_trip.retransmission_timeout(&self.config);
                (self.round_trip.tail_probe_delay(), Some(rto))
            }
        };
        let reo_wnd = match self.config.time_threshold {
            TimeThreshold::Off => None,
            TimeThreshold::Rack => {
                Some(self.reordering.window(self.round_trip.rtt(), || self.accounting.period.in_recovery()))
            }
            TimeThreshold::Vegas => {
                let rtt = self.round_trip.rtt();
                Some(rtt.timeout(self.config.granularity) - rtt.smoothed())
            }
            TimeThreshold::Factor(factor) => {
                let rtt = self.round_trip.rtt();
                let rtt = rtt.smoothed().max(rtt.latest());
                Some(rtt.mul_f64(factor).max(self.config.granularity) - rtt)
            }
        };
        Timers { pto, rto, reo_wnd }
    }

    /// Returns the time at which [`Sender::on_timer`] must be called, for loss recovery or because
    /// the controller asked for it.
    pub fn next_timer(&self) -> Option<Time> {
        let controller = self.accounting.timer(&self.control);
        match self.loss_timer() {
            Some(loss) => Some(loss.min(controller)),
            None => (controller != Time::NEVER).then_some(controller),
        }
    }

    /// Returns the time at which a loss-recovery timer is due.
    #[inline]
    fn loss_timer(&self) -> Option<Time> {
        if self.spaces.is_some() {
            return self.timer_of_spaces();
        }
        if self.accounting.bytes_in_flight == 0 {
            return None;
        }
        Some(self.space.loss_time.unwrap_or_else(|| self.timeout_at()))
    }

    fn timeout_at(&self) -> Time {
        match self.config.timeout {
            Timeout::Pto => {
                self.space.last_sent + self.backed_off(self.round_trip.probe_timeout(&self.config))
            }
            Timeout::TlpRto if self.may_probe_tail() => self.tail_probe_at().min(self.retransmission_at()),
            Timeout::TlpRto | Timeout::Rto => self.retransmission_at(),
        }
    }

    fn retransmission_at(&self) -> Time {
        let rto = self.round_trip.retransmission_timeout(&self.config);
        let doubled = rto * (1 << self.timeouts.count().min(MAX_DOUBLINGS));
        self.timeouts.progress() + doubled.min(self.config.max_rto.max(rto))
    }

    /// Returns a PTO after the timeouts since the last progress.
    pub(super) fn backed_off(&self, pto: Duration) -> Duration {
        self.config.backed_off(pto, self.timeouts.count())
    }

    /// Reports whether a tail loss probe is allowed: no packet is known to be missing, no loss is
    /// being repaired, and no probe is in flight (RFC 8985 section 7.2).
    fn may_probe_tail(&self) -> bool {
        let repairing = self.timeouts.count() > 0
            || !self.accounting.period.allows_probe()
            || self.space.loss_time.is_some();
        self.config.timeout == Timeout::TlpRto
            && !self.tail_probe.is_outstanding()
            && !repairing
            && self.round_trip.rtt().is_sampled()
    }

    /// Returns the time of the tail loss probe: two RTTs after the last packet or progress, plus
    /// the peer's ACK delay if only one packet is in flight (RFC 8985 section 7.2).
    fn tail_probe_at(&self) -> Time {
        let alone = self.stats.in_flight() <= 1;
        let delay = match alone {
            true => self.round_trip.rtt().smoothed() * 2 + self.config.min_rto,
            false => self.round_trip.tail_probe_delay(),
        };
        self.space.last_sent.max(self.timeouts.progress()) + delay
    }

    /// Processes the timer. Call it at the time that [`Sender::next_timer`] returns; earlier calls
    /// have no effect.
    pub fn on_timer(&mut self, now: Time, out: &mut AckEffects<T>) {
        out.clear();
        if self.loss_timer().is_some_and(|due| due <= now) {
            if self.spaces.is_some() {
                self.on_timer_of_spaces(now, out);
            } else {
                self.on_loss_timer(now, out);
            }
        }
        self.accounting.on_timer(now);
        self.refresh_control();
    }

    pub(super) fn on_loss_timer(&mut self, now: Time, out: &mut AckEffects<T>) {
        let prior_in_flight = self.accounting.bytes_in_flight;
        if self.space.loss_time.is_some() {
            self.detect_losses(now, prior_in_flight, out);
        } else if self.config.timeout == Timeout::Pto {
            self.timeouts.back_off();
            self.probe(PTO_PROBES, out);
        } else if self.may_probe_tail() {
            // If the RTO would expire first, the probe replaces it (RFC 8985 section 7.2).
            self.tail_probe.begin(self.space.sent.edge());
            self.timeouts.restart(now); // section 7.3: the probe re-arms the RTO
            self.probe(1, out);
        } else {
            self.time_out(now, prior_in_flight, out);
        }
        self.space.sent.forget_resolved();
    }

    pub(super) fn probe(&mut self, count: u32, out: &mut AckEffects<T>) {
        self.allowance.cancel_probes();
        self.allowance.allow_probes(count);
        self.stats.timeouts += 1;
        out.probe = true;
    }

    /// Processes a retransmission timeout: the window collapses and the oldest packet is sent again
    /// (RFC 6298 section 5).
    ///
    /// The next acknowledgement decides about the other packets. Until then the window blocks
    /// everything else, so the decision can wait.
    fn time_out(&mut self, now: Time, prior_in_flight: u64, out: &mut AckEffects<T>) {
        self.timeouts.back_off();
        self.stats.timeouts += 1;
        self.timeouts.restart(now);
        self.duplicates.reset();
        if self.space.sent.in_flight().next().is_none() {
            return;
        }
        self.timeouts.suspect(self.overdue(now), self.serial);
        // RFC 5681 section 3.1: ssthresh is held while the same data times out again.
        let cause = (self.timeouts.count() == 1).then_some(Cause::Timeout);
        // Without SACK nobody knows what has arrived beyond the first hole: everything is repeated.
        let count = if self.config.sack { 1 } else { usize::MAX };
        let flying = self.space.sent.in_flight().take(count);
        let lost: Vec<_> = flying.map(|(slot, _)| (slot, Detection::Timeout)).collect();
        self.declare_lost(now, &lost, cause, prior_in_flight, out);
        self.allowance.allow_probes(1);
    }

    /// Returns the packet below which all packets should have been acknowledged (RFC 8985 section
    /// 6.3).
    fn overdue(&self, now: Time) -> u64 {
        let delay = self.round_trip.newest() + self.reordering.window(self.round_trip.rtt(), || false);
        let young = self.space.sent.iter().find(|(_, p)| p.sent + delay > now);
        young.map_or(self.space.sent.next_slot(), |(slot, _)| slot)
    }

    /// Processes the first acknowledgement after a timeout.
    ///
    /// If it acknowledges a packet sent since, the timeout was right, and packets overdue at the
    /// time are lost. If it acknowledges an older packet, the path was slow, not broken (Eifel
    /// detection, RFC 3522, and step 3b of F-RTO, RFC 5682). The window is then restored. If the
    /// oldest packet is missing nevertheless, it is an ordinary loss.
    #[inline(never)]
    pub(super) fn judge_timeout(
        &mut self,
        now: Time,
        Suspicion { below, since }: Suspicion,
        context: &AckContext,
        out: &mut AckEffects<T>,
    ) {
        let prior_in_flight = context.prior_in_flight;
        if context.answers >= since {
            let overdue = self.space.sent.in_flight().map(|(pn, _)| (pn, Detection::Timeout));
            let overdue: Vec<_> = overdue.take_while(|(pn, _)| *pn < below.min(since)).collect();
            self.declare_lost(now, &overdue, None, prior_in_flight, out);
        } else if self.config.undo && self.accounting.period.on_spurious_timeout() {
            self.accounting.controller.on_spurious();
            self.on_undone();
            self.timeouts.reset_backoff();
            if out.scratch.late.is_empty() {
                self.reduce(now, Cause::Loss, prior_in_flight, out);
            }
        }
    }

    /// Returns the payload that a probe repeats if there is no new data: the oldest in flight
    /// (QUIC), or the newest (TCP's TLP).
    ///
    /// With three spaces it comes from the space whose timer was due last, unless a packet has been
    /// sent or acknowledged since.
    pub fn probe_payload(&self) -> Option<T> {
        // A probe for the MTU repeats nothing.
        let other = |slot: u64| Some(self.space.sent.numbers.serial(slot)) != self.mtu_probe_in_flight();
        let mut flying = self.space.sent.in_flight().filter(|(slot, _)| other(*slot));
        let packet = match self.config.timeout {
            Timeout::Pto => flying.next(),
            Timeout::TlpRto | Timeout::Rto => flying.next_back(),
        };
        packet.map(|(_, p)| p.data.clone())
    }
}
