//! Requests to `host.py` and its replies. Numbers are little-endian, and fields have a length
//! prefix.

use congestion::{Cause, Control};
use units::Duration;

use crate::event_tap::{ControllerEvent, Kind};
use crate::stream_chunks::Chunk;

/// Stands for a missing number.
const NONE: u64 = u64::MAX;

/// A request to create an endpoint.
pub(super) struct CreateRequest<'a> {
    pub(super) is_server: bool,
    /// The server validates the client's address with a Retry packet.
    pub(super) retry: bool,
    /// Seed of its random bytes.
    pub(super) seed: u64,
    /// Size of UDP payloads, in bytes.
    pub(super) datagram: u32,
    pub(super) alpn: &'a [u8],
    /// aioquic's name of the controller.
    pub(super) algorithm: &'a str,
    /// Name of the server.
    pub(super) name: &'a str,
    /// Certificate of the server, in DER.
    pub(super) certificate: &'a [u8],
    /// Key of the server, as PKCS #8 in DER.
    pub(super) key: &'a [u8],
}

impl CreateRequest<'_> {
    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut out = vec![0, self.is_server.into(), self.retry.into()];
        out.extend(self.seed.to_le_bytes());
        out.extend(self.datagram.to_le_bytes());
        for field in [self.alpn, self.algorithm.as_bytes(), self.name.as_bytes(), self.certificate, self.key]
        {
            put(&mut out, field);
        }
        out
    }
}

/// A request to pass a datagram to an endpoint, or to run its timers.
pub(super) struct StepRequest<'a> {
    /// Number of the endpoint, counted from 0 in the order of creation.
    pub(super) number: u32,
    /// Virtual time, in nanoseconds.
    pub(super) now: u64,
    /// Next bytes of the stream.
    pub(super) data: &'a [u8],
    /// The stream ends with these bytes.
    pub(super) last: bool,
    /// Received datagram. Empty: timers are due.
    pub(super) datagram: &'a [u8],
}

impl StepRequest<'_> {
    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut out = vec![1];
        out.extend(self.number.to_le_bytes());
        out.extend(self.now.to_le_bytes());
        out.push(self.last.into());
        put(&mut out, self.data);
        out.extend(self.datagram);
        out
    }
}

fn put(out: &mut Vec<u8>, field: &[u8]) {
    // Fields are certificates, names and a few kilobytes of data, so that the length fits.
    out.extend(u32::try_from(field.len()).unwrap_or(u32::MAX).to_le_bytes());
    out.extend(field);
}

/// The state of an endpoint after a step, and the events and datagrams of the step.
#[derive(Debug)]
pub(super) struct StepReply {
    /// Time of the next timer, in nanoseconds. [`u64::MAX`]: never.
    pub(super) due: u64,
    pub(super) cwnd: Option<u64>,
    pub(super) bytes_in_flight: Option<u64>,
    pub(super) smoothed_rtt: Option<Duration>,
    pub(super) latest_rtt: Option<Duration>,
    /// Packets declared lost so far, by packet or time threshold.
    pub(super) lost: u64,
    /// Packets declared lost so far by a timeout.
    pub(super) expired: u64,
    /// Stream bytes that the endpoint holds, including those in flight.
    pub(super) buffered: u64,
    pub(super) events: Vec<ControllerEvent>,
    /// Stream frames received: offset and length.
    pub(super) frames: Vec<Chunk>,
    pub(super) datagrams: Vec<(Kind, Vec<u8>)>,
    /// Stream bytes delivered to the application, in order.
    pub(super) handed: Vec<u8>,
}

impl StepReply {
    /// Parses a reply. Returns `None` if it is invalid.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let mut rest = Reader(bytes);
        let [due, cwnd, bytes_in_flight, smoothed, latest, lost, expired, buffered] = rest.numbers()?;
        let (events, frames) = (rest.u32()?, rest.u32()?);
        let (datagrams, handed) = (rest.u32()?, rest.u32()?);
        let some = |number| (number != NONE).then_some(number);
        let reply = Self {
            due,
            cwnd: some(cwnd),
            bytes_in_flight: some(bytes_in_flight),
            smoothed_rtt: some(smoothed).map(Duration),
            latest_rtt: some(latest).map(Duration),
            lost,
            expired,
            buffered,
            events: (0..events).map(|_| rest.controller_event()).collect::<Option<_>>()?,
            frames: (0..frames).map(|_| Some((rest.u64()?, rest.u32()?.into()))).collect::<Option<_>>()?,
            datagrams: (0..datagrams).map(|_| rest.outgoing()).collect::<Option<_>>()?,
            handed: rest.take(handed as usize)?.to_vec(),
        };
        rest.0.is_empty().then_some(reply)
    }
}

/// The unread rest of a message.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    fn numbers<const N: usize>(&mut self) -> Option<[u64; N]> {
        let mut numbers = [0; N];
        for number in &mut numbers {
            *number = self.u64()?;
        }
        Some(numbers)
    }

    fn controller_event(&mut self) -> Option<ControllerEvent> {
        let ([word], one, other) = (self.array()?, self.u64()?, self.u64()?);
        Some(match word {
            0 => ControllerEvent::Rtt(Duration(one)),
            1 => ControllerEvent::AckProcessed(Control { ssthresh: other, ..Control::window(one) }),
            2 => ControllerEvent::Reduced(Cause::Loss, one),
            3 => ControllerEvent::Reduced(Cause::PersistentCongestion, one),
            _ => return None,
        })
    }

    fn outgoing(&mut self) -> Option<(Kind, Vec<u8>)> {
        let ([word], len) = (self.array()?, self.u32()?);
        let kind = match word {
            0 => Kind::Data,
            1 => Kind::Handshake,
            2 => Kind::Bare,
            _ => return None,
        };
        // aioquic marks no packets.
        Some((kind, self.take(len as usize)?.to_vec()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply() -> Vec<u8> {
        let mut bytes = Vec::new();
        for number in [7, 12_000, NONE, 50_000_000, NONE, 3, 1, 9] {
            bytes.extend(u64::to_le_bytes(number));
        }
        for count in [2, 1, 1, 3] {
            bytes.extend(u32::to_le_bytes(count));
        }
        for (word, one, other) in [(0, 50_000_000, 0), (2, 6_000, 0)] {
            bytes.push(word);
            bytes.extend(u64::to_le_bytes(one));
            bytes.extend(u64::to_le_bytes(other));
        }
        bytes.extend(u64::to_le_bytes(1200));
        bytes.extend(u32::to_le_bytes(800));
        bytes.push(2);
        bytes.extend(u32::to_le_bytes(4));
        bytes.extend(*b"wirehnd");
        bytes
    }

    #[test]
    fn all_of_an_answer() {
        let reply = StepReply::parse(&reply()).unwrap();
        assert_eq!((reply.due, reply.cwnd, reply.bytes_in_flight), (7, Some(12_000), None));
        assert_eq!((reply.smoothed_rtt, reply.latest_rtt), (Some(Duration::from_millis(50)), None));
        assert_eq!((reply.lost, reply.expired, reply.buffered), (3, 1, 9));
        assert!(matches!(
            reply.events[..],
            [ControllerEvent::Rtt(Duration(50_000_000)), ControllerEvent::Reduced(Cause::Loss, 6_000)]
        ));
        assert_eq!(reply.frames, [(1200, 800)]);
        assert_eq!((reply.datagrams[0].0, reply.datagrams[0].1.as_slice()), (Kind::Bare, &b"wire"[..]));
        assert_eq!(reply.handed, b"hnd");
    }

    /// An invalid reply from the child is rejected without a panic.
    #[test]
    fn what_is_no_answer() {
        let whole = reply();
        for len in 0..whole.len() {
            assert!(StepReply::parse(&whole[..len]).is_none(), "{len}");
        }
        assert!(StepReply::parse(&[whole.clone(), vec![0]].concat()).is_none());
        for at in 0..whole.len() {
            let mut other = whole.clone();
            other[at] ^= 0xff;
            let _ = StepReply::parse(&other);
        }
    }
}
