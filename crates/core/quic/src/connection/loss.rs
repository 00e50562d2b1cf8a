//! Loss recovery, congestion control and pacing of a connection on its active path (RFC 9002).

use recovery::congestion::PathInfo;
use recovery::{AckEffects, Paced, Role, SendDecision, Sender, SpaceId};
use units::{Duration, Rng, Time};

use crate::connection::datagram::MIN_ROOM;
use crate::connection::sent_frames::SentFrames;
use crate::connection::settings::{ControllerFactory, Settings};
use crate::level::Side;
use crate::random::Random;
use crate::streams::table::MIN_DATA;
use crate::wire::connection_id::ConnectionId;
use crate::wire::frame::FIXED_STREAM_HEADER;
use crate::wire::packet_number;
use crate::wire::transport_parameters::TransportParameters;

/// Minimum distance between skipped packet numbers. The maximum is 16 times as many.
const SKIP_EVERY: usize = 256;
/// Probes that remain in flight after a long silence: two for each timeout, which doubles from a
/// millisecond to an hour.
const PROBES: u64 = 48;
/// Minimum size of a packet that fills the rest of a window, in bytes: header and tag, the largest
/// STREAM header, and enough data.
const LEAST_PACKET: u64 = (1 + ConnectionId::MAX_LEN + 4 + 16 + FIXED_STREAM_HEADER + MIN_DATA) as u64;
/// Minimum space for a packet, in bytes, whatever its header.
const LEAST_ROOM: u64 = (1 + ConnectionId::MAX_LEN + 4 + MIN_ROOM / 2 + 16) as u64;

/// The sender of a connection, and what follows from its state.
pub(super) struct LossRecovery {
    pub(super) sender: Sender<SentFrames>,
    /// The path at its start. A search for its MTU changes [`full`](Self::full) alone.
    pub(super) path: PathInfo,
    /// Cached PTO: see `compute_pto`.
    pto: Duration,
    /// Time at which the pacer allows the next packet.
    pub(super) pacing: Option<Time>,
    /// Kept to reuse its memory, and boxed because of its size. `None` while in use.
    pub(super) effects: Option<Box<AckEffects<SentFrames>>>,
    /// Packet number that is skipped next, so that a peer cannot acknowledge packets it has not
    /// received.
    skip_at: u64,
    /// Number of packets per skipped number in an experiment.
    skip_every: Option<u64>,
    /// Whether packet numbers always take four bytes.
    fixed_sizes: bool,
}

impl LossRecovery {
    /// Creates the sender. `seed` is for its controller.
    pub(super) fn new(settings: &Settings, side: Side, seed: u64) -> Self {
        let path = PathInfo {
            max_datagram_size: settings.config.initial_datagram_size.0,
            paced: settings.recovery.paced == Paced::Always,
            seed,
        };
        let first = settings.recovery.first_path(path);
        let role = if side == Side::Client { Role::Client } else { Role::Server };
        let sender = Sender::with_spaces(settings.recovery.clone(), (settings.controller)(first), path, role);
        Self {
            pto: sender.timers().pto,
            sender,
            path: first,
            pacing: None,
            effects: None,
            skip_at: u64::MAX,
            skip_every: settings.recovery.skip_numbers,
            fixed_sizes: settings.config.fixed_sizes,
        }
    }

    /// Returns the current probe timeout, without backoff (RFC 9002 section 6.2.1).
    pub(super) fn pto(&self) -> Duration {
        debug_assert_eq!(self.pto, self.sender.timers().pto, "computed whenever it changes");
        self.pto
    }

    /// Updates the cached probe timeout, which is read several times per packet. Call this when the
    /// RTT changes.
    pub(super) fn compute_pto(&mut self) {
        self.pto = self.sender.timers().pto;
    }

    /// Sets the peer's `max_ack_delay`.
    pub(super) fn set_max_ack_delay(&mut self, delay: Duration) {
        self.sender.set_max_ack_delay(delay);
        self.compute_pto();
    }

    /// Applies the peer's parameters.
    pub(super) fn on_parameters(&mut self, peer: &TransportParameters) {
        self.set_max_ack_delay(Duration::from_millis(peer.max_ack_delay));
        if peer.max_udp_payload_size < self.path.max_datagram_size {
            self.path.max_datagram_size = peer.max_udp_payload_size;
        }
        self.sender.limit_datagram_size(peer.max_udp_payload_size);
    }

    /// Returns the size of a full datagram.
    pub(super) fn full(&self) -> u64 {
        self.sender.datagram_size()
    }

    /// Starts again on a new path, with a new controller and its seed.
    pub(super) fn on_path_change(&mut self, now: Time, controller: &ControllerFactory, seed: u64) {
        self.path.seed = seed;
        self.sender.on_path_change(now, controller(self.path), self.path);
        self.compute_pto();
    }

    /// Takes the memory for the effects of an ACK or a timer. Put it back into `effects`.
    pub(super) fn take_effects(&mut self) -> Box<AckEffects<SentFrames>> {
        self.effects.take().unwrap_or_else(|| Box::new(AckEffects::with_acked()))
    }

    /// Returns the time of the next timeout, of loss recovery or of the pacer.
    pub(super) fn timer(&self) -> Option<Time> {
        [self.sender.next_timer(), self.pacing].into_iter().flatten().min()
    }

    /// Schedules the next skipped packet number. `again` is set after an earlier one.
    pub(super) fn skip_later(&mut self, random: &mut Random, again: bool) {
        let distance = match self.skip_every {
            None => (SKIP_EVERY + random.below(15 * SKIP_EVERY)) as u64,
            Some(every) => {
                let mut rng = Rng::stream(u64::from_be_bytes(random.bytes()), "skipped numbers");
                recovery::packets_until_skip(every, &mut rng, again)
            }
        };
        self.skip_at = self.sender.next_number(SpaceId::Application).saturating_add(distance);
    }

    /// Reports whether the next number of a 1-RTT packet is to be skipped.
    pub(super) fn wants_skip(&self) -> bool {
        self.sender.next_number(SpaceId::Application) >= self.skip_at
    }

    /// Skips a number if one is due.
    pub(super) fn skip_if_due(&mut self, random: &mut Random) {
        if self.wants_skip() {
            self.sender.skip_number(SpaceId::Application);
            self.skip_later(random, true);
        }
    }

    /// Returns the next packet number, and its length in bytes.
    ///
    /// 1-RTT packets use at least two bytes. One byte is too short for a packet that 128 others
    /// overtake (RFC 9000 section 17.1). Also, if the length changed with the window,
    /// retransmissions would be one byte too large or too small.
    pub(super) fn next_number(&self, space: SpaceId) -> (u64, usize) {
        let number = self.sender.next_number(space);
        let enough = packet_number::length(number, self.sender.largest_acked(space));
        let len = match (self.fixed_sizes, space) {
            (true, _) => 4,
            (false, SpaceId::Application) => enough.max(2),
            (false, _) => enough,
        };
        (number, len)
    }

    /// Returns the rest of the congestion window.
    pub(super) fn window_left(&self) -> u64 {
        self.sender.window().saturating_sub(self.sender.bytes_in_flight())
    }

    /// Reports whether challenges and responses of paths may be sent.
    ///
    /// The peer can trigger any number of these frames, and each is stored until it is acknowledged
    /// or lost. So congestion control holds them back here (RFC 9000 section 8.2.2). They still
    /// need credit on a new path while packets of the old path, and probes after a long silence,
    /// fill the window. So they may use a second window, plus space for those probes.
    pub(super) fn may_probe_paths(&self) -> bool {
        let room = self.sender.window().saturating_mul(2) + PROBES * self.full();
        self.sender.bytes_in_flight() < room
    }

    /// Returns the maximum size of an ACK-eliciting datagram that may be sent now, or `None` if it
    /// must wait.
    ///
    /// `wanted` is the size of the next packet. An ACK may be added as far as the window allows. A
    /// packet always gets some minimum space. If `fills`, a smaller packet may fill the rest of a
    /// window that cannot hold a full one.
    pub(super) fn may_send(&mut self, now: Time, wanted: u64, fills: bool) -> Option<usize> {
        let full = self.full();
        let (decision, bytes) = match self.sender.can_send(now, wanted) {
            SendDecision::WindowFull => {
                let left = self.window_left();
                if !fills || !(LEAST_PACKET..full).contains(&left) {
                    return None;
                }
                (self.sender.can_send(now, left), left)
            }
            decision => (decision, self.window_left().max(wanted).max(LEAST_ROOM).min(full)),
        };
        match decision {
            SendDecision::Now => return Some(usize::try_from(bytes).unwrap_or(usize::MAX)),
            SendDecision::At(at) => self.pacing = Some(at),
            SendDecision::WindowFull => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use units::Ecn;

    use super::*;

    fn client() -> LossRecovery {
        LossRecovery::new(&Settings::default(), Side::Client, 1)
    }

    fn send(loss: &mut LossRecovery, bytes: u64) {
        let contents = SentFrames::new(&[]);
        loss.sender.on_sent_in(Time::ZERO, SpaceId::Application, bytes, Ecn::NotEct, contents, true);
    }

    #[test]
    fn the_rest_of_a_window() {
        let mut loss = client();
        assert_eq!(loss.may_send(Time::ZERO, 100, false), Some(1200));
        while loss.window_left() >= 1200 {
            send(&mut loss, 1100);
        }
        let left = loss.window_left();
        assert!(left > LEAST_PACKET && loss.may_probe_paths());
        let later = Time::from_millis(500);
        assert_eq!(loss.may_send(later, 1200, false), None);
        assert_eq!(loss.may_send(later, 1200, true), Some(left as usize));
        send(&mut loss, left - LEAST_PACKET + 1);
        assert_eq!(loss.may_send(later, 1200, true), None);
    }

    #[test]
    fn a_skipped_number_now_and_then() {
        let (mut loss, mut random) = (client(), Random::stream(1, "skips"));
        assert!(!loss.wants_skip());
        loss.skip_later(&mut random, false);
        let before = (0..10_000).position(|_| {
            send(&mut loss, 1);
            loss.wants_skip()
        });
        assert!((SKIP_EVERY..16 * SKIP_EVERY).contains(&(before.unwrap() + 1)));
        let (number, len) = loss.next_number(SpaceId::Application);
        loss.skip_if_due(&mut random);
        assert_eq!(loss.next_number(SpaceId::Application), (number + 1, len));
        assert!(!loss.wants_skip() && loss.next_number(SpaceId::Initial) == (0, 1));
    }

    #[test]
    fn parameters_of_the_peer_apply() {
        let mut loss = client();
        loss.on_parameters(&TransportParameters { max_udp_payload_size: 1000, ..Default::default() });
        assert_eq!((loss.full(), loss.may_send(Time::ZERO, 1000, false)), (1000, Some(1000)));
        let before = loss.pto();
        loss.set_max_ack_delay(Duration::from_millis(100));
        assert!(loss.pto() >= before);
    }
}
