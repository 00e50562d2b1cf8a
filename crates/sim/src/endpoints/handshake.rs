//! The round trip before the first data, for flows with `handshake = true`.
//!
//! ```text
//! QUIC   Initial, UDP payload 1200 bytes (RFC 9000 section 14.1)   the peer's reply, 1200 bytes
//! TCP    SYN, a segment without payload                            SYN-ACK, the same
//! again  QUIC: after 3 initial RTTs (2 with `pto = "mvfst"`), the PTO before any sample (RFC 9002 section 6.2.1: 999 ms);
//!        TCP: after 1 s (RFC 6298 section 2.1); twice as long each time
//! ```
//!
//! Whoever sends the data opens the connection, when its application first has something to send. All four cross the links
//! of data and acknowledgements: they queue, and may be lost. The reply gives the sender its first RTT sample, also where
//! it answers a repeat: QUIC's packet numbers and TCP's timestamps tell which. The first data, with the client's
//! last flight of the handshake, leave at once.
//!
//! An Initial is a packet like others, in a number space of its own (RFC 9002 section 2): it is in flight, its acknowledgement is a round trip
//! and a sample of the rate, and one that is lost answers for it. The first data comes in one datagram with the end of the handshake, for
//! which the server's HANDSHAKE_DONE is due (RFC 9001 section 4.1.2): its acknowledgement rides on that. That end takes 150 bytes of the
//! datagram. The 102 of its Handshake packet are in flight until the first ACK, whose HANDSHAKE_DONE lets their keys go before they are
//! acknowledged themselves. So the first packet of data is smaller than others by 150 bytes, and a window that grows by what is acknowledged with it.
//!
//! Deviations: one datagram holds the server's whole flight, certificates and all. The server repeats nothing by a timer
//! of its own; a repeated Initial or SYN makes it answer again. The handshake is confirmed with
//! the reply, and its end is not repeated: what follows it is acknowledged without, and a timer lets the keys go. Where a
//! flow of QUIC has TCP's timeouts its end takes no bytes, and there and for TCP nothing counts in the window. TCP begins with its
//! whole initial window after a SYN was lost, and its retransmission timeout is that of the sample (RFC 5681 section 3.1 has
//! one segment, RFC 6298 section 5.7 three seconds).

use recovery::{Config, Timeout};
use units::{Duration, Time};

use crate::packet::{Chunk, Data};
use scenario::Transport;

/// Before the first repeat of a SYN.
const SYN_TIMEOUT: Duration = Duration::from_secs(1);
/// Doublings of the timeout at most: days.
const MAX_BACKOFF: usize = 20;

/// Bytes of the datagram with the first data that belong to the end of the handshake: an Initial packet with an ACK, 48 bytes, and a Handshake packet
/// with an ACK and a Finished of 52 bytes, as the endpoint of the world `stack` sends them.
pub(crate) const END_OF_HANDSHAKE: u32 = 48 + HANDSHAKE_PACKET;
/// Of these in flight: an ACK alone is not (RFC 9002 section 2).
pub(crate) const HANDSHAKE_PACKET: u32 = 102;

/// Where that end is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// There is none, or it is over.
    None,
    /// The next datagram has it.
    Due,
    /// It is in flight.
    UnderWay,
}

/// What the stream of a handshake's packet begins at: behind all there can be.
pub(crate) const NO_STREAM: Chunk = Chunk { offset: u64::MAX, len: 0 };

/// The opening of a connection, until it is answered.
#[derive(Debug)]
pub(crate) struct Handshake {
    /// When each Initial or SYN left.
    sent: Vec<Time>,
    timeout: Duration,
    counts: bool,
}

/// Whether its packets count in the window.
pub(crate) fn counts(transport: Transport, recovery: &Config) -> bool {
    matches!(transport, Transport::Quic { .. }) && recovery.timeout == Timeout::Pto
}

impl Handshake {
    /// Nothing has been sent.
    pub(crate) fn new(transport: Transport, recovery: &Config) -> Self {
        let timeout = match transport {
            Transport::Quic { .. } => recovery.first_timeout(),
            Transport::Tcp { .. } => SYN_TIMEOUT,
        };
        Self { sent: Vec::new(), timeout, counts: counts(transport, recovery) }
    }

    /// Whether its packets count in the window.
    pub(crate) fn counts(&self) -> bool {
        self.counts
    }

    pub(crate) fn has_begun(&self) -> bool {
        !self.sent.is_empty()
    }

    /// When it is sent again.
    #[cold]
    pub(crate) fn due(&self) -> Time {
        let Some(last) = self.sent.last() else { return Time::NEVER };
        *last + self.timeout * (1 << (self.sent.len() - 1).min(MAX_BACKOFF))
    }

    /// An Initial or a SYN leaves: the number it has among them.
    pub(crate) fn open(&mut self, now: Time) -> u64 {
        self.sent.push(now);
        self.sent.len() as u64 - 1
    }

    /// The one of this number is answered: how long that took.
    pub(crate) fn answered(&self, now: Time, number: u64) -> Option<Duration> {
        let sent = self.sent.get(usize::try_from(number).ok()?)?;
        Some(now - *sent)
    }
}

impl Data {
    /// It belongs to a handshake, `pn` being its number there.
    #[inline]
    pub(crate) fn is_handshake(&self) -> bool {
        self.chunk == NO_STREAM
    }

    /// The same as a handshake's.
    pub(crate) fn of_handshake(self) -> Self {
        Self { chunk: NO_STREAM, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twice_as_long_each_time() {
        let tcp = Transport::Tcp { mss: 1448, overhead: 52 };
        let quic = Transport::Quic { datagram: 1252, header: 37, overhead: 42 };
        for (transport, first) in [(tcp, 1000), (quic, 999)] {
            let mut handshake = Handshake::new(transport, &Config::quic());
            assert_eq!((handshake.has_begun(), handshake.due()), (false, Time::NEVER));
            let (mut now, mut after) = (Time::from_millis(70), first);
            for number in 0..4 {
                assert_eq!(handshake.open(now), number);
                now += Duration::from_millis(after);
                assert_eq!(handshake.due(), now);
                after *= 2;
            }
            let reply = Time::from_millis(70 + first + 50);
            assert_eq!(handshake.answered(reply, 1), Some(Duration::from_millis(50)), "the second one");
            assert_eq!(handshake.answered(reply, 4), None, "was never sent");
        }
    }
}
