//! A sender with the three packet number spaces of a QUIC connection: what leaves and what is acknowledged in each, and the steps of the
//! handshake that loss recovery must know.
//!
//! One space is at hand, the others are parked: what a packet or an ACK costs does not depend on how many there are.

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
    /// Nothing sent yet, in three spaces. What no ACK comes for is probed (RFC 9002 section 6.2), whatever timeout `config` names.
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
            at_hand: SpaceId::Application,
            peer_validated: role == Role::Server,
            handshake_keys: false,
            confirmed: false,
            amplification_limited: false,
            since: Time::ZERO,
        }));
        sender
    }

    /// The number that the next packet of this space will have.
    pub fn next_number(&self, space: SpaceId) -> u64 {
        self.view(space).sent.next_number()
    }

    /// The largest number of this space that the peer has acknowledged: how long the next one must be written (RFC 9000 section 17.1).
    pub fn largest_acked(&self, space: SpaceId) -> Option<u64> {
        self.view(space).largest_acked
    }

    /// The ECN field of the datagram that leaves now (RFC 9000 section 13.4.2). Not for one in which nothing is in flight.
    pub fn datagram_mark(&mut self, now: Time) -> Ecn {
        self.mark(now, true)
    }

    /// The ECN field of a datagram that holds ACKs alone: none before the path is known to carry ECN, since such a packet is no test.
    pub fn bare_mark(&self) -> Ecn {
        self.ecn.mark_unwatched()
    }

    /// A packet leaves that is in flight, in a datagram with this mark; returns its number. `bytes` is what it counts in the window: the
    /// whole packet (RFC 9002 section 2). It elicits an ACK unless all it holds besides ACK and CONNECTION_CLOSE is PADDING.
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
        self.touch(now);
        let kind = if ack_eliciting { Kind::Fresh } else { Kind::Padding };
        if !ack_eliciting {
            self.space.sent.numbers.mix();
        }
        self.leave(now, bytes, kind, ecn, data)
    }

    /// A packet leaves that is not in flight, of ACK and CONNECTION_CLOSE frames alone; returns its number. Nothing is kept of it.
    pub fn on_bare_sent(&mut self, space: SpaceId, ecn: Ecn) -> u64 {
        self.select(space);
        let number = self.space.sent.next_number();
        self.space.sent.numbers.pass();
        self.space.ecn.on_sent(ecn);
        self.stats.bare += 1;
        number
    }

    /// Leaves a number out and returns it: a peer that acknowledges it acknowledges what it has not received (RFC 9000 section 21.4). The
    /// latest 16 of each space are remembered.
    pub fn skip_number(&mut self, space: SpaceId) -> u64 {
        self.select(space);
        let (number, slot) = (self.space.sent.next_number(), self.space.sent.next_slot());
        self.space.sent.numbers.skip(slot);
        number
    }

    /// An ACK arrives in a packet of this space. Its `timestamps` must ascend in packet number; those of packets acknowledged before
    /// are counted in [`Stats::unused_stamps`](crate::Stats) and not used. `waiting` is as in [`on_ack`](Self::on_ack): it matters to
    /// [`Exit::NewrenoTcp`](crate::Exit) alone.
    ///
    /// # Errors
    /// When it names what was not sent: the connection is to be closed with PROTOCOL_VIOLATION (RFC 9000 section 13.1). Nothing has
    /// changed then, `out` neither.
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
        self.touch(now);
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

    /// What is in flight in this space leaves it without a verdict, and the timer begins anew: its keys are discarded (RFC 9002 section 6.4),
    /// or a Retry has come for an Initial (section 6.3). Numbers go on (RFC 9000 section 17.2.5.3).
    pub fn discard(&mut self, now: Time, space: SpaceId) {
        self.select(space);
        self.touch(now);
        let sent = &self.space.sent;
        let of_path = |slot: &u64| sent.numbers.serial(*slot) >= self.path_since;
        let bytes = sent.in_flight().filter(|(slot, _)| of_path(slot)).map(|(_, p)| u64::from(p.bytes));
        self.books.bytes_in_flight -= bytes.sum::<u64>();
        self.stats.discarded += sent.in_flight().count() as u64;
        self.space.sent.clear();
        (self.space.late, self.space.loss_time) = (LateAcks::new(), None);
        (self.timeouts, self.probes) = (0, 0);
    }

    /// Nothing more leaves in answer to what happened last; to be called whenever there is none. Until then what leaves counts as sent at the
    /// moment of a reduction, which answers for its loss, though a real endpoint takes some microseconds from one to the other. Where it is never called, that is so for
    /// the whole recovery period: losses in it do not reduce the window again.
    pub fn answered(&mut self) {
        self.books.period.answered();
    }

    /// There are keys for Handshake packets: against a deadlock one of them is sent, no longer an Initial.
    pub fn on_handshake_keys(&mut self) {
        if let Some(spaces) = &mut self.spaces {
            spaces.handshake_keys = true;
        }
    }

    /// The handshake is confirmed (RFC 9001 section 4.1.2): from here on 1-RTT packets are probed, and the peer's `max_ack_delay` holds.
    pub fn on_handshake_confirmed(&mut self, now: Time) {
        self.select(SpaceId::Application);
        self.touch(now);
        if let Some(spaces) = &mut self.spaces {
            (spaces.confirmed, spaces.peer_validated) = (true, true);
        }
    }

    /// Whether what may be sent to an address that is not validated has been sent (RFC 9000 section 8.1): while it has, no probe is due. One
    /// that would have been due is when it no longer has.
    pub fn set_amplification_limited(&mut self, limited: bool) {
        if let Some(spaces) = &mut self.spaces {
            spaces.amplification_limited = limited;
        }
    }

    /// The peer's transport parameter `max_ack_delay` has come (RFC 9000 section 18.2). Its `ack_delay_exponent` is whoever's that
    /// [reads](AckFrame::delay_of) its ACKs.
    pub fn set_max_ack_delay(&mut self, delay: Duration) {
        Arc::make_mut(&mut self.config).max_ack_delay = delay;
    }

    /// The timer is set again now.
    fn touch(&mut self, now: Time) {
        if let Some(spaces) = &mut self.spaces {
            spaces.since = now;
        }
    }

    /// This space is at hand.
    #[inline]
    pub(super) fn select(&mut self, space: SpaceId) {
        if let Some(spaces) = &mut self.spaces
            && spaces.at_hand != space
        {
            let [before, after] = [spaces.at_hand as usize, space as usize];
            mem::swap(&mut self.space, &mut spaces.parked[before]);
            mem::swap(&mut self.space, &mut spaces.parked[after]);
            spaces.at_hand = space;
        }
    }

    pub(super) fn least_unacked_of(&self, space: SpaceId) -> u64 {
        let Space { sent, late, .. } = self.view(space);
        let oldest = if sent.is_empty() { sent.next_number() } else { sent.numbers.of(sent.base()) };
        late.oldest().unwrap_or(u64::MAX).min(oldest)
    }

    /// When the last packet left that elicits an ACK, in any space.
    pub(super) fn last_sent(&self) -> Time {
        let last = SpaceId::ALL.map(|space| self.view(space).last_sent);
        last.into_iter().fold(Time::ZERO, Time::max)
    }

    /// A space, wherever it is.
    #[inline]
    pub(super) fn view(&self, space: SpaceId) -> &Space<T> {
        match &self.spaces {
            Some(spaces) if spaces.at_hand != space => &spaces.parked[space as usize],
            _ => &self.space,
        }
    }
}
