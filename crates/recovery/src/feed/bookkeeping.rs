//! What lies between verdicts on packets (acknowledged, lost) and the signals of a controller: delivery-rate samples,
//! packet-timed rounds, what may open the window, the recovery period, the controller's timer.
//!
//! Whose verdicts they are does not matter: [`Sender`](crate::Sender) feeds its own, [`ControllerFeed`](super::ControllerFeed)
//! those of another stack.

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
    /// The sample of the ACK at hand, if it gave one. Not adjusted for ACK delay.
    pub latest: Option<Duration>,
    /// Smallest RTT seen; [`Duration::MAX`] before the first sample.
    pub min: Duration,
    /// RFC 9002 section 5.3.
    pub smoothed: Duration,
}

/// What one ACK newly acknowledges.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AckSummary {
    pub(crate) bytes: u64,
    /// The part of `bytes` that may open the window.
    pub(crate) growth: u64,
    pub(crate) app_limited: bool,
    /// Bytes that had been declared lost.
    pub(crate) late: u64,
    /// The window was full while one of these packets was in flight.
    pub(crate) window_filled: bool,
    /// The newest packet that is known to have arrived, and when it left.
    pub(crate) newest: Option<(u64, Time)>,
}

impl AckSummary {
    /// Number of the newest packet; 0 if none is known to have arrived.
    pub(crate) fn newest_pn(&self) -> u64 {
        self.newest.map_or(0, |newest| newest.0)
    }
}

/// The verdicts of one ACK, or of one timer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Batch {
    pub(crate) acked: Vec<AckedPacket>,
    pub(crate) lost: Vec<LostPacket>,
    pub(crate) summary: AckSummary,
}

impl Batch {
    /// The memory stays.
    pub(crate) fn clear(&mut self) {
        self.acked.clear();
        self.lost.clear();
        self.summary = AckSummary::default();
    }
}

/// A packet that has left, as far as verdicts need it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Left<'a> {
    pub(crate) pn: u64,
    pub(crate) sent: Time,
    pub(crate) bytes: u64,
    /// It left while the application limited the sender.
    pub(crate) app_limited: bool,
    /// If the controller needs rate samples.
    pub(crate) snapshot: Option<&'a Snapshot>,
}

/// What an ACK says besides packets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AckDetails {
    pub(crate) ack_delay: Duration,
    /// Packets newly reported as marked CE.
    pub(crate) ce: u64,
    pub(crate) round_start: bool,
    pub(crate) prior_in_flight: u64,
    pub(crate) rtt: RttEstimate,
}

/// A reason to shrink the window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reason {
    pub(crate) cause: Cause,
    /// The next packet to be sent.
    pub(crate) next_pn: u64,
    /// The stream has been sent up to here ([`Exit::NewrenoTcp`] alone).
    pub(crate) edge: u64,
    pub(crate) prior_in_flight: u64,
    pub(crate) rtt: RttEstimate,
}

/// The state of one path between its verdicts and its controller.
#[derive(Clone, Debug)]
pub(crate) struct Bookkeeping {
    pub(crate) controller: Box<dyn Controller>,
    pub(crate) sampler: Sampler,
    pub(crate) period: RecoveryPeriod,
    pub(crate) bytes_in_flight: u64,
    /// What the sender's clock counts in, for the send times that the controller is told.
    pub(crate) clock_unit: Duration,
    timer: ControllerTimer,
    round: u64,
    round_end: u64,
    /// Packets below this one were in flight when the window was full: they may open it.
    window_filled: u64,
}

impl Bookkeeping {
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

    /// Another path, with another controller. Verdicts on packets of the old one must not come here.
    pub(crate) fn restart(&mut self, now: Time, controller: Box<dyn Controller>) {
        self.period.restart();
        self.timer = ControllerTimer::default();
        self.timer.on_event(now);
        (self.controller, self.sampler) = (controller, Sampler::default());
        (self.bytes_in_flight, self.round, self.round_end, self.window_filled) = (0, 0, 0, 0);
    }

    /// A packet leaves. What it must remember.
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

    /// The window keeps packet `next_pn` from leaving.
    pub(crate) fn on_window_full(&mut self, next_pn: u64) {
        self.window_filled = next_pn;
    }

    /// The application has nothing to send. Matters while the window has room: a full one limits the sender itself.
    pub(crate) fn mark_app_limited(&mut self, window: u64) {
        if self.bytes_in_flight < window {
            self.sampler.mark_app_limited(self.bytes_in_flight);
        }
    }

    /// A packet is out of flight, acknowledged. Not `delivered` if its bytes had been counted already.
    #[inline(always)] // once for each packet: a call would cost 3 %
    pub(crate) fn mark_acked(
        &mut self,
        now: Time,
        packet: Left,
        received: Option<i64>,
        delivered: bool,
        batch: &mut Batch,
    ) {
        let Left { pn, sent, bytes, app_limited, snapshot } = packet;
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

    /// A packet that had been declared lost has arrived.
    pub(crate) fn mark_late(&mut self, now: Time, packet: Left, batch: &mut Batch) {
        self.sampler.on_acked(now, packet.pn, packet.sent, packet.bytes, packet.snapshot);
        batch.summary.late += packet.bytes;
    }

    /// A packet is out of flight, lost.
    pub(crate) fn mark_lost(&mut self, packet: Left, detection: Detection, batch: &mut Batch) {
        let Left { pn, sent, bytes, app_limited, snapshot } = packet;
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

    /// The losses of this batch from number `first` on are complete.
    pub(crate) fn tell_losses(&mut self, now: Time, first: usize, batch: &Batch) {
        self.controller.on_lost(&Lost {
            now,
            packets: batch.lost.get(first..).unwrap_or_default(),
            total_lost: self.sampler.lost(),
            delivered: self.sampler.delivered(),
            bytes_in_flight: self.bytes_in_flight,
        });
    }

    /// The window shrinks.
    pub(crate) fn reduce(&mut self, now: Time, reason: Reason, batch: &mut Batch) {
        let Reason { cause, next_pn, edge, prior_in_flight, rtt } = reason;
        self.period.begin(now, cause, next_pn, edge);
        // What this ACK acknowledged left before the reduction.
        batch.summary.growth = 0;
        batch.acked.iter_mut().for_each(|p| p.before_reduction = true);
        let (min_rtt, smoothed_rtt) = (rtt.min, rtt.smoothed);
        self.controller.on_congestion(&Congestion { now, cause, prior_in_flight, min_rtt, smoothed_rtt });
    }

    /// Whether a packet-timed round trip ends with the acknowledgement of this packet: it was sent after the one before ended.
    #[inline]
    pub(crate) fn ends_round(&mut self, newest: u64, next_pn: u64) -> bool {
        let ends = newest >= self.round_end;
        if ends {
            self.round += 1;
            self.round_end = next_pn;
        }
        ends
    }

    /// The ACK is complete. A cause to reduce if the controller asks for it and no reduction answers for these packets.
    #[inline(always)] // once for each ACK; Sender's other caller is there once for each connection
    pub(crate) fn tell_ack(&mut self, now: Time, details: &AckDetails, batch: &Batch) -> Option<Cause> {
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
        asked.filter(|_| !self.period.covers(summary.newest_pn()))
    }

    /// So many packets of recovery period `period` have arrived after all. True if the reduction was spurious and is undone.
    pub(crate) fn forgive(&mut self, period: u64, arrived: u64) -> bool {
        let mistake = period == self.period.serial() && self.period.on_spurious(arrived);
        if mistake {
            self.controller.on_spurious();
        }
        mistake
    }

    /// When the controller's timer is due, or [`Time::NEVER`]. `control` is what the controller says now.
    #[inline]
    pub(crate) fn timer(&self, control: &Control) -> Time {
        self.timer.due(control)
    }

    /// Calls the controller if its time has come, once for each time that it asks for.
    pub(crate) fn on_timer(&mut self, now: Time) {
        self.timer.on_event(now);
        if self.timer(&self.controller.control()) <= now {
            self.timer.on_called(now);
            self.controller.on_timer(now);
        }
    }
}
