//! A sender with the three packet number spaces of a QUIC connection, and the handshake events that
//! affect loss recovery.
//!
//! One space is active and the others are parked, so that the cost of a packet or an ACK does not
//! depend on their number.

use std::mem;
use std::sync::Arc;

use congestion::{Controller, PathInfo};
use units::{Duration, Ecn, Time};

use crate::ack::{AckError, AckFrame};
use crate::sender::config::{Config, Timeout};
use crate::sender::effects::AckEffects;
use crate::sender::late::LateAcks;
use crate::sender::sending::Sender;
use crate::sender::sent_packets::{Kind, Payload};
use crate::sender::space::{Role, Space, SpaceId, Spaces};

impl<T: Payload> Sender<T> {
    /// Creates a sender with three spaces. It always uses probe timeouts (RFC 9002 section 6.2),
    /// whatever timeout `config` selects.
    pub fn with_spaces(
        config: impl Into<Arc<Config>>,
        controller: Box<dyn Controller>,
        path: PathInfo,
        role: Role,
    ) -> Self {
        let (mut config, rate_samples) = (config.into(), controller.needs().rate_samples);
        if config.timeout != Timeout::Pto {
            Arc::make_mut(&mut config).timeout = Timeout::Pto;
        }
        let mut sender = Self::new(config, controller, path);
        sender.spaces = Some(Box::new(Spaces {
            parked: [(); 3].map(|()| Space::new(rate_samples)),
            active: SpaceId::Application,
            peer_validated: role == Role::Server,
            handshake_keys: false,
            confirmed: false,
            amplification_limited: false,
            since: Time::ZERO,
        }));
        sender
    }

    /// Returns the number of the next packet in this space.
    pub fn next_number(&self, space: SpaceId) -> u64 {
        self.view(space).sent.next_number()
    }

    /// Returns the largest acknowledged number in this space. It determines the encoded length of
    /// the next number (RFC 9000 section 17.1).
    pub fn largest_acked(&self, space: SpaceId) -> Option<u64> {
        self.view(space).largest_acked
    }

    /// Returns the ECN field of the datagram to send now (RFC 9000 section 13.4.2). Do not use it
    /// for a datagram without packets in flight.
    pub fn datagram_mark(&mut self, now: Time) -> Ecn {
        self.mark(now, true)
    }

    /// Returns the ECN field of an ACK-only datagram. It carries no mark until the path is known to
    /// carry ECN, because it cannot test the path.
    pub fn bare_mark(&self) -> Ecn {
        self.ecn.mark_untracked()
    }

    /// Records a packet in flight, in a datagram with this mark, and returns its number.
    ///
    /// `bytes` is its size in the window: the whole packet (RFC 9002 section 2). `ack_eliciting` is
    /// false if it contains only ACK, CONNECTION_CLOSE and PADDING frames.
    pub fn on_sent_in(
        &mut self,
        now: Time,
        space: SpaceId,
        bytes: u64,
        ecn: Ecn,
        data: T,
        ack_eliciting: bool,
    ) -> u64 {
        self.select(space);
        self.rearm(now);
        let kind = if ack_eliciting { Kind::Fresh } else { Kind::Padding };
        if !ack_eliciting {
            self.space.sent.numbers.set_sparse();
        }
        self.record_sent(now, bytes, kind, ecn, data)
    }

    /// Records a packet that is not in flight, with only ACK and CONNECTION_CLOSE frames, and
    /// returns its number. No other state is kept for it.
    pub fn on_bare_sent(&mut self, space: SpaceId, ecn: Ecn) -> u64 {
        self.select(space);
        let number = self.space.sent.next_number();
        self.space.sent.numbers.skip_untracked();
        self.space.ecn.on_sent(ecn);
        self.stats.bare += 1;
        number
    }

    /// Skips a packet number and returns it. A peer that acknowledges it acknowledges packets that
    /// it has not received (RFC 9000 section 21.4). Each space remembers the latest 16.
    pub fn skip_number(&mut self, space: SpaceId) -> u64 {
        self.select(space);
        let (number, slot) = (self.space.sent.next_number(), self.space.sent.next_slot());
        self.space.sent.numbers.skip(slot);
        number
    }

    /// Processes an ACK received in a packet of this space.
    ///
    /// The `timestamps` must ascend in packet number. Those of packets acknowledged earlier are
    /// ignored and counted in [`Stats::unused_stamps`](crate::Stats). `waiting` has the same
    /// meaning as in [`on_ack`](Self::on_ack): only [`Exit::NewrenoTcp`](crate::Exit) uses it.
    ///
    /// # Errors
    /// Returns an error if the ACK contains numbers that were not sent. The connection must then be
    /// closed with PROTOCOL_VIOLATION (RFC 9000 section 13.1). The state and `out` are unchanged.
    pub fn on_ack_in(
        &mut self,
        now: Time,
        space: SpaceId,
        frame: &AckFrame,
        waiting: Option<u64>,
        out: &mut AckEffects<T>,
    ) -> Result<(), AckError> {
        self.check_ack(space, frame)?;
        self.select(space);
        self.rearm(now);
        if let Some(spaces) = self.spaces.as_mut().filter(|_| space == SpaceId::Handshake) {
            spaces.peer_validated = true;
        }
        out.space = space;
        self.on_ack(now, frame, waiting, out);
        let used = out.scratch.batch.acked.iter().filter(|packet| packet.received.is_some()).count();
        self.stats.used_stamps += used as u64;
        self.stats.unused_stamps += frame.timestamps.len().saturating_sub(used) as u64;
        Ok(())
    }

    fn check_ack(&self, space: SpaceId, frame: &AckFrame) -> Result<(), AckError> {
        let sent = &self.view(space).sent;
        let next = sent.next_number();
        if frame.ranges.iter().any(|range| range.1 >= next) {
            return Err(AckError::Unsent);
        }
        let skipped = |range: &(u64, u64)| sent.numbers.skipped_within(range.0, range.1);
        if frame.ranges.iter().any(skipped) { Err(AckError::Skipped) } else { Ok(()) }
    }

    /// Removes the packets of this space from flight and restarts the timer.
    ///
    /// The packets count neither as acknowledged nor as lost. Call this when the space's keys are
    /// discarded (RFC 9002 section 6.4), and when a Retry answers an Initial (section 6.3). Packet
    /// numbers continue (RFC 9000 section 17.2.5.3).
    pub fn discard(&mut self, now: Time, space: SpaceId) {
        self.select(space);
        self.rearm(now);
        let sent = &self.space.sent;
        let of_path = |slot: &u64| sent.numbers.serial(*slot) >= self.path_since;
        let bytes = sent.in_flight().filter(|(slot, _)| of_path(slot)).map(|(_, p)| u64::from(p.bytes));
        self.accounting.bytes_in_flight -= bytes.sum::<u64>();
        self.stats.discarded += sent.in_flight().count() as u64;
        self.space.sent.clear();
        (self.space.late, self.space.loss_time) = (LateAcks::new(), None);
        self.timeouts.reset_backoff();
        self.allowance.cancel_probes();
    }

    /// Ends the response to the last event: everything that could be sent has been sent. Call it
    /// whenever that is so.
    ///
    /// Until then, packets count as sent at the moment of a reduction, which covers their loss. A
    /// real endpoint takes some microseconds to send them. Without this call, that lasts for the
    /// whole recovery period, and losses in it do not reduce the window again.
    pub fn end_response(&mut self) {
        self.accounting.period.end_response();
    }

    /// Records that Handshake keys are available. From now on a Handshake packet instead of an
    /// Initial is sent to avoid a deadlock.
    pub fn on_handshake_keys(&mut self) {
        if let Some(spaces) = &mut self.spaces {
            spaces.handshake_keys = true;
        }
    }

    /// Records that the handshake is confirmed (RFC 9001 section 4.1.2). From now on 1-RTT packets
    /// are probed, and the peer's `max_ack_delay` applies.
    pub fn on_handshake_confirmed(&mut self, now: Time) {
        self.select(SpaceId::Application);
        self.rearm(now);
        if let Some(spaces) = &mut self.spaces {
            (spaces.confirmed, spaces.peer_validated) = (true, true);
        }
    }

    /// Sets whether the anti-amplification limit of an unvalidated address is reached (RFC 9000
    /// section 8.1). While it is, no probe is due. A probe that became due meanwhile is due when
    /// the limit is lifted.
    pub fn set_amplification_limited(&mut self, limited: bool) {
        if let Some(spaces) = &mut self.spaces {
            spaces.amplification_limited = limited;
        }
    }

    /// Sets the peer's transport parameter `max_ack_delay` (RFC 9000 section 18.2). The caller that
    /// [decodes](AckFrame::decode_delay) ACKs handles `ack_delay_exponent`.
    pub fn set_max_ack_delay(&mut self, delay: Duration) {
        Arc::make_mut(&mut self.config).max_ack_delay = delay;
    }

    /// Restarts the timer now.
    fn rearm(&mut self, now: Time) {
        if let Some(spaces) = &mut self.spaces {
            spaces.since = now;
        }
    }

    /// Makes this space the active one.
    #[inline]
    pub(super) fn select(&mut self, space: SpaceId) {
        if let Some(spaces) = &mut self.spaces
            && spaces.active != space
        {
            let [before, after] = [spaces.active as usize, space as usize];
            mem::swap(&mut self.space, &mut spaces.parked[before]);
            mem::swap(&mut self.space, &mut spaces.parked[after]);
            spaces.active = space;
        }
    }

    pub(super) fn least_unacked_in(&self, space: SpaceId) -> u64 {
        let Space { sent, late, .. } = self.view(space);
        let oldest = if sent.is_empty() { sent.next_number() } else { sent.numbers.number(sent.base()) };
        late.oldest().unwrap_or(u64::MAX).min(oldest)
    }

    /// Returns the send time of the last ACK-eliciting packet in any space.
    pub(super) fn last_sent(&self) -> Time {
        let last = SpaceId::ALL.map(|space| self.view(space).last_sent);
        last.into_iter().fold(Time::ZERO, Time::max)
    }

    /// Returns a space, active or parked.
    #[inline]
    pub(super) fn view(&self, space: SpaceId) -> &Space<T> {
        match &self.spaces {
            Some(spaces) if spaces.active != space => &spaces.parked[space as usize],
            _ => &self.space,
        }
    }
}
