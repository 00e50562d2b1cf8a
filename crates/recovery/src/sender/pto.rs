//! The timer of a connection with three packet number spaces (RFC 9002 section 6.2 and appendix A.8).
//!
//! ```text
//! due   the earliest loss time, if a space has one
//!       none, at a server that may send nothing before more arrives
//!       the earliest of  last ack-eliciting packet + (smoothed_rtt + max(4 * rttvar, granularity) + max_ack_delay) * 2^timeouts
//!           over the spaces with such packets in flight; max_ack_delay in Application alone, and that once the handshake is confirmed
//!       else, at a client whose address may not be validated yet: the same, from when the timer was set last
//! ```
//!
//! Deviation: appendix A.8 sets no timer for a client that has nothing in flight but 0-RTT packets. Section 6.2.2.1 asks for one whenever
//! the server may be waiting, and so does this.

use units::{Duration, Time};

use crate::sender::effects::AckEffects;
use crate::sender::sending::Sender;
use crate::sender::sent_packets::Payload;
use crate::sender::space::{SpaceId, Spaces};

/// The longest `max_ack_delay` there can be (RFC 9000 section 18.2). What a peer says before its own is known is cut to it.
const LONGEST_ACK_DELAY: Duration = Duration::from_millis(1 << 14);

/// Why the timer is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Why {
    /// A packet will be lost.
    Loss,
    /// Packets are to be probed.
    Probe,
    /// Nothing is in flight, but the server may wait for a packet to be allowed to send.
    Deadlock,
}

/// When the timer is due, for which space.
#[derive(Clone, Copy, Debug)]
struct Due {
    at: Time,
    space: SpaceId,
    why: Why,
}

impl<T: Payload> Sender<T> {
    /// When the timer is due.
    #[inline(never)]
    pub(super) fn timer_of_spaces(&self) -> Option<Time> {
        self.due_of_spaces(self.spaces.as_ref()?).map(|due| due.at)
    }

    fn due_of_spaces(&self, spaces: &Spaces<T>) -> Option<Due> {
        let losses = SpaceId::ALL.into_iter().filter_map(|space| Some((self.view(space).loss_time?, space)));
        if let Some((at, space)) = losses.min() {
            return Some(Due { at, space, why: Why::Loss });
        }
        if spaces.amplification_limited {
            return None;
        }
        let backoff = self.backoff();
        let timeout = self.rtt.timeout(self.config.granularity);
        let probes = SpaceId::ALL.into_iter().filter_map(|space| {
            let patience = match space {
                SpaceId::Application if !spaces.confirmed => return None,
                SpaceId::Application => self.probe_timeout(),
                _ => timeout,
            };
            Some((self.last_awaited(space)? + patience * backoff, space))
        });
        match probes.min() {
            Some((at, space)) => Some(Due { at, space, why: Why::Probe }),
            None if spaces.peer_validated => None,
            None => {
                let space = if spaces.handshake_keys { SpaceId::Handshake } else { SpaceId::Initial };
                Some(Due { at: spaces.since + timeout * backoff, space, why: Why::Deadlock })
            }
        }
    }

    /// When the last packet left that elicits an ACK, if one of them is in flight.
    fn last_awaited(&self, space: SpaceId) -> Option<Time> {
        let space = self.view(space);
        space.sent.awaits_ack().then_some(space.last_sent)
    }

    /// Its time has come.
    #[inline(never)]
    pub(super) fn on_timer_of_spaces(&mut self, now: Time, out: &mut AckEffects<T>) {
        let Some(due) = self.spaces.as_ref().and_then(|spaces| self.due_of_spaces(spaces)) else { return };
        self.select(due.space);
        out.space = due.space;
        if due.why == Why::Deadlock {
            self.timeouts += 1;
            self.probe(1, out);
        } else {
            self.on_loss_timer(now, out);
        }
        if let Some(spaces) = &mut self.spaces {
            spaces.since = now;
        }
    }

    /// RFC 9002 section 6.2.1: to spare a server that cannot answer yet, a client that does not know better goes on backing off.
    #[inline]
    pub(super) fn resets_backoff(&self) -> bool {
        self.spaces.as_ref().is_none_or(|spaces| spaces.peer_validated)
    }

    /// How much of a reported ACK delay counts (RFC 9002 section 5.3): none of an Initial, whose ACK nobody holds back, and before the
    /// handshake is confirmed the peer's limit does not hold.
    #[inline]
    pub(super) fn longest_ack_delay(&self) -> Duration {
        match &self.spaces {
            Some(spaces) if spaces.at_hand == SpaceId::Initial => Duration::ZERO,
            Some(spaces) if !spaces.confirmed => LONGEST_ACK_DELAY,
            _ => self.config.max_ack_delay,
        }
    }
}
