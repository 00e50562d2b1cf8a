//! The round trip before the first data, for flows with `handshake = true`.
//!
//! ```text
//! QUIC   Initial, UDP payload 1200 bytes (RFC 9000 section 14.1)   the peer's reply, 1200 bytes
//! TCP    SYN, a segment without payload                            SYN-ACK, the same
//! retry  QUIC: after 3 initial RTTs (2 with `pto = "mvfst"`), the PTO before any sample (RFC 9002 section 6.2.1: 999 ms);
//!        TCP: after 1 s (RFC 6298 section 2.1); twice as long each time, QUIC's up to `max-pto`
//! ```
//!
//! The sender of the data opens the connection when its application first has data to send. All
//! four packets cross the links of data and acknowledgements: they queue, and may be lost. The
//! reply gives the sender its first RTT sample, even if it answers a retransmission: QUIC's packet
//! numbers and TCP's timestamps identify it. The first data leaves at once, with the client's last
//! flight of the handshake.
//!
//! An Initial is an ordinary packet in its own number space (RFC 9002 section 2). It is in flight,
//! its acknowledgement is a round trip and a rate sample, and its loss is a congestion event. The
//! first data shares a datagram with the end of the handshake, to which the server must reply with
//! HANDSHAKE_DONE (RFC 9001 section 4.1.2). The acknowledgement of the data rides on that reply.
//! The end takes 150 bytes of the datagram. The 102 bytes of its Handshake packet are in flight
//! until the first ACK: HANDSHAKE_DONE lets the keys be discarded before they are acknowledged. The
//! first data packet is therefore 150 bytes smaller than others, and so is the growth of a window
//! by its acknowledgement.
//!
//! Deviations: one datagram holds the server's whole flight, certificates included. The server has
//! no retransmission timer; a repeated Initial or SYN makes it answer again. The handshake is
//! confirmed with the reply, and its end is not retransmitted: later packets are acknowledged
//! without it, and a timer discards the keys. In QUIC flows with TCP's timeouts the end takes no
//! bytes. There, and for TCP, nothing of the handshake counts in the window. TCP begins with its
//! whole initial window after a lost SYN (RFC 5681 section 3.1: one segment). Its retransmission
//! timeout is then that of the sample (RFC 6298 section 5.7: three seconds).

use recovery::{Config, Timeout};
use units::{Duration, Time};

use crate::packet::{Chunk, Data};
use scenario::Transport;

/// Timeout before the first retransmission of a SYN.
const SYN_TIMEOUT: Duration = Duration::from_secs(1);
/// Largest number of doublings of the timeout: it then lasts days.
const MAX_BACKOFF: usize = 20;

/// Bytes of the datagram with the first data that belong to the end of the handshake. They are an
/// Initial packet with an ACK (48 bytes), and a Handshake packet with an ACK and a Finished of 52
/// bytes. The endpoint of `--on stack` sends the same.
pub(crate) const END_OF_HANDSHAKE: u32 = 48 + HANDSHAKE_PACKET;
/// Bytes of the end that are in flight: a packet with only an ACK is not (RFC 9002 section 2).
pub(crate) const HANDSHAKE_PACKET: u32 = 102;

/// State of the end of the handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// No end, or already acknowledged.
    None,
    /// The next datagram carries it.
    Due,
    /// Already sent and in flight.
    InFlight,
}

/// Stream position of a handshake packet: beyond all data.
pub(crate) const NO_STREAM: Chunk = Chunk { offset: u64::MAX, len: 0 };

/// Opening of a connection, until it is answered.
#[derive(Debug)]
pub(crate) struct Handshake {
    /// Departure of each Initial or SYN.
    sent: Vec<Time>,
    timeout: Duration,
    /// Longest timeout after its doublings.
    longest: Duration,
    counts: bool,
}

/// Reports whether handshake packets count in the window.
pub(crate) fn counts(transport: Transport, recovery: &Config) -> bool {
    matches!(transport, Transport::Quic { .. }) && recovery.timeout == Timeout::Pto
}

impl Handshake {
    /// Creates a handshake that has sent nothing.
    pub(crate) fn new(transport: Transport, recovery: &Config) -> Self {
        let timeout = match transport {
            Transport::Quic { .. } => recovery.first_timeout(),
            Transport::Tcp { .. } => SYN_TIMEOUT,
        };
        let longest = recovery.max_pto.map_or(Duration::MAX, |max| max.max(timeout));
        Self { sent: Vec::new(), timeout, longest, counts: counts(transport, recovery) }
    }

    /// Reports whether its packets count in the window.
    pub(crate) fn counts(&self) -> bool {
        self.counts
    }

    pub(crate) fn has_begun(&self) -> bool {
        !self.sent.is_empty()
    }

    /// Returns the time of the next retransmission.
    #[cold]
    pub(crate) fn due(&self) -> Time {
        let Some(last) = self.sent.last() else { return Time::NEVER };
        *last + (self.timeout * (1 << (self.sent.len() - 1).min(MAX_BACKOFF))).min(self.longest)
    }

    /// Notes that an Initial or a SYN leaves. Returns its number.
    pub(crate) fn open(&mut self, now: Time) -> u64 {
        self.sent.push(now);
        self.sent.len() as u64 - 1
    }

    /// Returns the round-trip time of the Initial or SYN of this number, which is answered now.
    pub(crate) fn answered(&self, now: Time, number: u64) -> Option<Duration> {
        let sent = self.sent.get(usize::try_from(number).ok()?)?;
        Some(now - *sent)
    }
}

impl Data {
    /// Reports whether it belongs to a handshake, in which case `pn` is its number there.
    #[inline]
    pub(crate) fn is_handshake(&self) -> bool {
        self.chunk == NO_STREAM
    }

    /// Turns it into a handshake packet.
    pub(crate) fn into_handshake(self) -> Self {
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

    /// 999, 1998, 3000 ms: the bound of the PTO holds here too.
    #[test]
    fn up_to_the_bound() {
        let config = Config { max_pto: Some(Duration::from_secs(3)), ..Config::quic() };
        let mut handshake = Handshake::new(Transport::default(), &config);
        let mut now = Time::ZERO;
        for after in [999, 1998, 3000, 3000] {
            handshake.open(now);
            now += Duration::from_millis(after);
            assert_eq!(handshake.due(), now);
        }
    }
}
