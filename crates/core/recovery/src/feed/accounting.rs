//! Turns the outcome of packets (acknowledged, lost) into the signals of a controller.
//!
//! It keeps delivery-rate samples, packet-timed rounds, growth of the window, the recovery period
//! and the controller's timer. [`Sender`](crate::Sender) feeds it with its own loss detection,
//! [`ControllerFeed`](super::ControllerFeed) with that of another stack.

use congestion::{
    Ack, AckedPacket, Cause, Congestion, Control, Controller, Detection, Lost, LostPacket, Sent,
};
use units::{Duration, Time};

use crate::feed::controller_timer::ControllerTimer;
use crate::feed::rate::{Sampler, Snapshot};
use crate::feed::recovery_period::{Exit, RecoveryPeriod};

/// The RTT as reported to the controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RttEstimate {
    /// RTT sample of the current ACK, if there is one. Not adjusted for the ACK delay.
    pub latest: Option<Duration>,
    /// The smallest RTT seen; [`Duration::MAX`] before the first sample.
    pub min: Duration,
    /// The smoothed RTT (RFC 9002 section 5.3).
    pub smoothed: Duration,
}

/// Totals over the packets that one ACK newly acknowledges.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AckSummary {
    pub(crate) bytes: u64,
    /// The part of `bytes` that may grow the window.
    pub(crate) growth: u64,
    pub(crate) app_limited: bool,
    /// Bytes that had been declared lost before.
    pub(crate) late: u64,
    /// The window was full while one of these packets was in flight.
    pub(crate) window_filled: bool,
    /// The newest packet known to have arrived, and its send time.
    pub(crate) newest: Option<(u64, Time)>,
}

impl AckSummary {
    /// Returns the number of the newest packet, or 0 if none is known to have arrived.
    pub(crate) fn newest_pn(&self) -> u64 {
        self.newest.map_or(0, |newest| newest.0)
    }
}

/// Packets acknowledged and lost in one ACK or at one timer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Batch {
    pub(crate) acked: Vec<AckedPacket>,
    pub(crate) lost: Vec<LostPacket>,
    pub(crate) summary: AckSummary,
}

impl Batch {
    /// Empties the batch and keeps its memory.
    pub(crate) fn clear(&mut self) {
        self.acked.clear();
        self.lost.clear();
        self.summary = AckSummary::default();
    }
}

/// A sent packet, reduced to the fields needed when it is acknowledged or lost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SentPacket<'a> {
    pub(crate) pn: u64,
    pub(crate) sent: Time,
    pub(crate) bytes: u64,
    /// The application limited the sender when this packet was sent.
    pub(crate) app_limited: bool,
    /// Present if the controller needs rate samples.
    pub(crate) snapshot: Option<&'a Snapshot>,
}

/// Contents of an ACK other than packets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AckDetails {
    pub(crate) ack_delay: Duration,
    /// Packets newly reported as marked CE.
    pub(crate) ce: u64,
    pub(crate) round_start: bool,
    pub(crate) prior_in_flight: u64,
    pub(crate) rtt: RttEstimate,
}

/// A congestion event and the state of the sender at that time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reason {
    pub(crate) cause: Cause,
    /// Number of the next packet to send.
    pub(crate) next_pn: u64,
    /// Stream offset whose arrival ends the period. Only TCP's exits use it.
    pub(crate) until_offset: u64,
    pub(crate) prior_in_flight: u64,
    pub(crate) rtt: RttEstimate,
}

/// Congestion state of one path, between loss detection and the controller.
#[derive(Clone, Debug)]
pub(crate) struct Accounting {
    pub(crate) controller: Box<dyn Controller>,
    pub(crate) sampler: Sampler,
    pub(crate) period: RecoveryPeriod,
    pub(crate) bytes_in_flight: u64,
    /// Resolution of the sender's clock, to which the send times reported to the controller are
    /// rounded.
    pub(crate) clock_unit: Duration,
    timer: ControllerTimer,
    round: u64,
    round_end: u64,
    /// Packets below this number were in flight when the window was full, so they may grow it.
    window_filled: u64,
}

impl Accounting {
    pub(crate) fn new(controller: Box<dyn Controller>, exit: Exit) -> Self {
        Self {
            controller,
            sampler: Sampler::default(),
            period: RecoveryPeriod::new(exit),
            bytes_in_flight: 0,
            clock_unit: Duration(1),
            timer: ControllerTimer::default(),
            round: 0,
            round_end: 0,
            window_filled: 0,
        }
    }

    /// Starts over on another path with another controller. Packets of the old path must not be
    /// reported afterwards.
    pub(crate) fn restart(&mut self, now: Time, controller: Box<dyn Controller>) {
        self.period.restart();
        self.timer = ControllerTimer::default();
        self.timer.on_event(now);
        (self.controller, self.sampler) = (controller, Sampler::default());
        (self.bytes_in_flight, self.round, self.round_end, self.window_filled) = (0, 0, 0, 0);
    }

    /// Records a sent packet. Returns the snapshot to keep with it.
    #[inline]
    pub(crate) fn on_sent(&mut self, now: Time, pn: u64, bytes: u64) -> Snapshot {
        self.timer.on_event(now);
        let snapshot = self.sampler.on_sent(now, bytes, self.bytes_in_flight);
        self.bytes_in_flight += bytes;
        self.period.on_sent(now, pn);
        let (bytes_in_flight, app_limited) = (self.bytes_in_flight, self.sampler.is_app_limited());
        self.controller.on_sent(&Sent { now, pn, bytes, bytes_in_flight, app_limited });
        snapshot
    }

    /// Records that the window blocks packet `next_pn`.
    pub(crate) fn on_window_full(&mut self, next_pn: u64) {
        self.window_filled = next_pn;
    }

    /// Records that the application has no data to send. Has no effect if the window is full,
    /// because then the window limits the sender.
    pub(crate) fn mark_app_limited(&mut self, window: u64) {
        if self.bytes_in_flight < window {
            self.sampler.mark_app_limited(self.bytes_in_flight);
        }
    }

    /// Removes an acknowledged packet from flight. `delivered` is false if its bytes have been
    /// counted before.
    #[inline(always)] // once per packet: a call would cost 3 %
    pub(crate) fn mark_acked(
        &mut self,
        now: Time,
        packet: SentPacket,
        received: Option<i64>,
        delivered: bool,
        batch: &mut Batch,
    ) {
        let SentPacket { pn, sent, bytes, app_limited, snapshot } = packet;
        if delivered {
            self.sampler.on_acked(now, pn, sent, bytes, snapshot);
        }
        batch.summary.app_limited = app_limited;
        let before_reduction = self.period.forbids_growth(pn);
        let filled = pn < self.window_filled;
        batch.summary.window_filled |= filled;
        self.bytes_in_flight -= bytes;
        batch.summary.bytes += bytes;
        if !before_reduction && (filled || !app_limited) {
            batch.summary.growth += bytes;
        }
        let sent = if self.clock_unit.0 > 1 { Time(sent.0 - sent.0 % self.clock_unit.0) } else { sent };
        batch.acked.push(AckedPacket { pn, bytes, sent, received, before_reduction });
    }

    /// Records the arrival of a packet that had been declared lost.
    pub(crate) fn mark_late(&mut self, now: Time, packet: SentPacket, batch: &mut Batch) {
        self.sampler.on_acked(now, packet.pn, packet.sent, packet.bytes, packet.snapshot);
        batch.summary.late += packet.bytes;
    }

    /// Removes a lost packet from flight.
    pub(crate) fn mark_lost(&mut self, packet: SentPacket, detection: Detection, batch: &mut Batch) {
        let SentPacket { pn, sent, bytes, app_limited, snapshot } = packet;
        self.bytes_in_flight -= bytes;
        self.sampler.on_lost(bytes);
        batch.lost.push(LostPacket {
            pn,
            bytes,
            sent,
            detection,
            tx_in_flight: snapshot.map_or(0, |left| left.tx_in_flight),
            lost_at_send: snapshot.map_or(0, |left| left.lost),
            app_limited,
        });
    }

    /// Reports the losses of this batch, from index `first` on, to the controller.
    pub(crate) fn report_losses(&mut self, now: Time, first: usize, batch: &Batch) {
        self.controller.on_lost(&Lost {
            now,
            packets: batch.lost.get(first..).unwrap_or_default(),
            total_lost: self.sampler.lost(),
            delivered: self.sampler.delivered(),
            bytes_in_flight: self.bytes_in_flight,
        });
    }

    /// Starts a recovery period and lets the controller reduce its window.
    pub(crate) fn reduce(&mut self, now: Time, reason: Reason, batch: &mut Batch) {
        let Reason { cause, next_pn, until_offset, prior_in_flight, rtt } = reason;
        self.period.begin(now, cause, next_pn, until_offset);
        // The packets that this ACK acknowledged were sent before the reduction.
        batch.summary.growth = 0;
        batch.acked.iter_mut().for_each(|p| p.before_reduction = true);
        let (min_rtt, smoothed_rtt) = (rtt.min, rtt.smoothed);
        self.controller.on_congestion(&Congestion { now, cause, prior_in_flight, min_rtt, smoothed_rtt });
    }

    /// Reports whether the acknowledgement of this packet ends a packet-timed round trip. It does
    /// if the packet was sent after the previous round trip ended.
    #[inline]
    pub(crate) fn ends_round(&mut self, newest: u64, next_pn: u64) -> bool {
        let ends = newest >= self.round_end;
        if ends {
            self.round += 1;
            self.round_end = next_pn;
        }
        ends
    }

    /// Reports the ACK to the controller. Returns a cause if the controller asks for a reduction
    /// that no earlier reduction covers.
    #[inline(always)] // once per ACK; Sender's other caller runs once per connection
    pub(crate) fn report_ack(&mut self, now: Time, details: &AckDetails, batch: &Batch) -> Option<Cause> {
        self.timer.on_event(now);
        let rate = self.sampler.sample(details.rtt.min);
        let summary = &batch.summary;
        let asked = self.controller.on_ack(&Ack {
            now,
            packets: &batch.acked,
            acked: summary.bytes,
            late: summary.late,
            growth: summary.growth,
            lost: batch.lost.iter().map(|l| l.bytes).sum(),
            prior_in_flight: details.prior_in_flight,
            bytes_in_flight: self.bytes_in_flight,
            latest_rtt: details.rtt.latest,
            min_rtt: details.rtt.min,
            smoothed_rtt: details.rtt.smoothed,
            ack_delay: details.ack_delay,
            ce: details.ce,
            delivered: self.sampler.delivered(),
            rate,
            round: self.round,
            round_start: details.round_start,
            in_recovery: self.period.in_recovery(),
            app_limited: summary.app_limited,
            cwnd_limited: summary.window_filled,
        });
        asked.filter(|_| !self.period.covers(summary.newest_pn(), Cause::Delay))
    }

    /// Counts late packets of recovery period `period`. Returns true if the reduction was spurious
    /// and has been undone.
    pub(crate) fn undo_if_spurious(&mut self, period: u64, arrived: u64) -> bool {
        let undone = period == self.period.serial() && self.period.on_spurious(arrived);
        if undone {
            self.controller.on_spurious();
        }
        undone
    }

    /// Returns the time of the controller's timer, or [`Time::NEVER`]. `control` is the
    /// controller's current output.
    #[inline]
    pub(crate) fn timer(&self, control: &Control) -> Time {
        self.timer.due(control)
    }

    /// Calls the controller if its timer is due, once for each time that it asks for.
    pub(crate) fn on_timer(&mut self, now: Time) {
        self.timer.on_event(now);
        if self.timer(&self.controller.control()) <= now {
            self.timer.on_called(now);
            self.controller.on_timer(now);
        }
    }
}
