//! The timer of a connection with three packet number spaces (RFC 9002 section 6.2 and appendix
//! A.8).
//!
//! ```text
//! due   the earliest loss time, if a space has one
//!       none, at a server that may send nothing before more arrives
//!       the earliest of  last ack-eliciting packet + (smoothed_rtt + max(4 * rttvar, granularity) + max_ack_delay) * 2^timeouts
//!           over the spaces with such packets in flight; max_ack_delay in Application alone, and that once the handshake is confirmed
//!           (the product limited by `max-pto`)
//!       else, at a client whose address may not be validated yet: the same, from when the timer was set last
//! ```
//!
//! Deviation: appendix A.8 sets no timer for a client that has only 0-RTT packets in flight.
//! Section 6.2.2.1 asks for a timer whenever the server may be waiting, and so one is set here.

use units::{Duration, Time};

use crate::sender::effects::AckEffects;
use crate::sender::sending::Sender;
use crate::sender::sent_packets::Payload;
use crate::sender::space::{SpaceId, Spaces};

/// The largest possible `max_ack_delay` (RFC 9000 section 18.2). ACK delays reported before the
/// peer's own value is known are limited to it.
const LONGEST_ACK_DELAY: Duration = Duration::from_millis(1 << 14);

/// Purpose of the timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TimerKind {
    /// A packet will be declared lost.
    Loss,
    /// Packets must be probed.
    Probe,
    /// Nothing is in flight, but the server may need a packet before it can send.
    Deadlock,
}

/// Time and space of the timer.
#[derive(Clone, Copy, Debug)]
struct Due {
    at: Time,
    space: SpaceId,
    kind: TimerKind,
}

impl<T: Payload> Sender<T> {
    /// Returns the time at which the timer is due.
    #[inline(never)]
    pub(super) fn timer_of_spaces(&self) -> Option<Time> {
        self.due_of_spaces(self.spaces.as_ref()?).map(|due| due.at)
    }

    fn due_of_spaces(&self, spaces: &Spaces<T>) -> Option<Due> {
        let losses = SpaceId::ALL.into_iter().filter_map(|space| Some((self.view(space).loss_time?, space)));
        if let Some((at, space)) = losses.min() {
            return Some(Due { at, space, kind: TimerKind::Loss });
        }
        if spaces.amplification_limited {
            return None;
        }
        let timeout = self.round_trip.rtt().timeout(self.config.granularity);
        let probes = SpaceId::ALL.into_iter().filter_map(|space| {
            let delay = match space {
                SpaceId::Application if !spaces.confirmed => return None,
                SpaceId::Application => self.round_trip.probe_timeout(&self.config),
                _ => timeout,
            };
            Some((self.last_awaited(space)? + self.backed_off(delay), space))
        });
        match probes.min() {
            Some((at, space)) => Some(Due { at, space, kind: TimerKind::Probe }),
            None if spaces.peer_validated => None,
            None => {
                let space = if spaces.handshake_keys { SpaceId::Handshake } else { SpaceId::Initial };
                Some(Due { at: spaces.since + self.backed_off(timeout), space, kind: TimerKind::Deadlock })
            }
        }
    }

    /// Returns the send time of the last ACK-eliciting packet, if one is in flight.
    fn last_awaited(&self, space: SpaceId) -> Option<Time> {
        let space = self.view(space);
        space.sent.awaits_ack().then_some(space.last_sent)
    }

    /// Processes the timer.
    #[inline(never)]
    pub(super) fn on_timer_of_spaces(&mut self, now: Time, out: &mut AckEffects<T>) {
        let Some(due) = self.spaces.as_ref().and_then(|spaces| self.due_of_spaces(spaces)) else { return };
        self.select(due.space);
        out.space = due.space;
        if due.kind == TimerKind::Deadlock {
            self.timeouts.back_off();
            self.probe(1, out);
        } else {
            self.on_loss_timer(now, out);
        }
        if let Some(spaces) = &mut self.spaces {
            spaces.since = now;
        }
    }

    /// Reports whether an ACK resets the backoff. To spare a server that cannot answer yet, a
    /// client with an unvalidated address keeps backing off (RFC 9002 section 6.2.1).
    #[inline]
    pub(super) fn resets_backoff(&self) -> bool {
        self.spaces.as_ref().is_none_or(|spaces| spaces.peer_validated)
    }

    /// Returns the upper limit of a reported ACK delay (RFC 9002 section 5.3). It is zero for an
    /// Initial, whose ACK is not delayed. The peer's limit does not apply until the handshake is
    /// confirmed.
    #[inline]
    pub(super) fn longest_ack_delay(&self) -> Duration {
        match &self.spaces {
            Some(spaces) if spaces.active == SpaceId::Initial => Duration::ZERO,
            Some(spaces) if !spaces.confirmed => LONGEST_ACK_DELAY,
            _ => self.config.max_ack_delay,
        }
    }
}
