//! What `host.py` is asked, and what it answers: numbers little-endian, lengths in front.

use congestion::{Cause, Control};
use units::{Duration, Ecn};

use crate::peer::{Kind, Leaving, News, Piece};

/// In places of numbers: there is none.
const NONE: u64 = u64::MAX;

/// An end to be made.
pub(super) struct Make<'a> {
    pub(super) is_server: bool,
    /// The server validates addresses first.
    pub(super) retry: bool,
    /// Of its random bytes.
    pub(super) seed: u64,
    /// UDP payload, bytes.
    pub(super) datagram: u32,
    pub(super) alpn: &'a [u8],
    /// Its controller, in its words.
    pub(super) algorithm: &'a str,
    /// What the server is called.
    pub(super) name: &'a str,
    /// The server's certificate, DER.
    pub(super) certificate: &'a [u8],
    /// Its key, PKCS #8 in DER.
    pub(super) key: &'a [u8],
}

impl Make<'_> {
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

/// An end's turn.
pub(super) struct Turn<'a> {
    /// Of the end, from 0 in the order in which they were made.
    pub(super) number: u32,
    /// Virtual time, nanoseconds.
    pub(super) now: u64,
    /// Its stream goes on with these.
    pub(super) data: &'a [u8],
    /// And ends with them.
    pub(super) last: bool,
    /// What arrives; empty: it is about a timer.
    pub(super) datagram: &'a [u8],
}

impl Turn<'_> {
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
    // Certificates, names and a few kilobytes of data.
    out.extend(u32::try_from(field.len()).unwrap_or(u32::MAX).to_le_bytes());
    out.extend(field);
}

/// How an end stands after its turn, and what it has done in it.
#[derive(Debug)]
pub(super) struct Answer {
    /// When it wants its next turn, nanoseconds; [`u64::MAX`] never.
    pub(super) due: u64,
    pub(super) cwnd: Option<u64>,
    pub(super) bytes_in_flight: Option<u64>,
    pub(super) smoothed_rtt: Option<Duration>,
    pub(super) latest_rtt: Option<Duration>,
    /// Packets declared lost so far, by later ones or by time.
    pub(super) lost: u64,
    /// And by timeout.
    pub(super) expired: u64,
    /// Bytes of the stream that it holds to send, those in flight too.
    pub(super) buffered: u64,
    pub(super) news: Vec<News>,
    /// Stream frames that arrived.
    pub(super) frames: Vec<Piece>,
    pub(super) datagrams: Vec<Leaving>,
    /// What of the stream the application was handed, in order.
    pub(super) handed: Vec<u8>,
}

impl Answer {
    /// `None` if it is none.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let mut rest = Reader(bytes);
        let [due, cwnd, bytes_in_flight, smoothed, latest, lost, expired, buffered] = rest.numbers()?;
        let (news, frames) = (rest.u32()?, rest.u32()?);
        let (datagrams, handed) = (rest.u32()?, rest.u32()?);
        let some = |number| (number != NONE).then_some(number);
        let answer = Self {
            due,
            cwnd: some(cwnd),
            bytes_in_flight: some(bytes_in_flight),
            smoothed_rtt: some(smoothed).map(Duration),
            latest_rtt: some(latest).map(Duration),
            lost,
            expired,
            buffered,
            news: (0..news).map(|_| rest.news()).collect::<Option<_>>()?,
            frames: (0..frames).map(|_| Some((rest.u64()?, rest.u32()?.into()))).collect::<Option<_>>()?,
            datagrams: (0..datagrams).map(|_| rest.leaving()).collect::<Option<_>>()?,
            handed: rest.take(handed as usize)?.to_vec(),
        };
        rest.0.is_empty().then_some(answer)
    }
}

/// What is left of a message.
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

    fn news(&mut self) -> Option<News> {
        let ([word], one, other) = (self.array()?, self.u64()?, self.u64()?);
        Some(match word {
            0 => News::Rtt(Duration(one)),
            1 => News::Settled(Control { ssthresh: other, ..Control::window(one) }),
            2 => News::Reduced(Cause::Loss, one),
            3 => News::Reduced(Cause::PersistentCongestion, one),
            _ => return None,
        })
    }

    fn leaving(&mut self) -> Option<Leaving> {
        let ([word], len) = (self.array()?, self.u32()?);
        let kind = match word {
            0 => Kind::Data,
            1 => Kind::Handshake,
            2 => Kind::Bare,
            _ => return None,
        };
        // It marks none.
        Some(Leaving { bytes: self.take(len as usize)?.to_vec(), ecn: Ecn::NotEct, kind })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer() -> Vec<u8> {
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
        let answer = Answer::read(&answer()).unwrap();
        assert_eq!((answer.due, answer.cwnd, answer.bytes_in_flight), (7, Some(12_000), None));
        assert_eq!((answer.smoothed_rtt, answer.latest_rtt), (Some(Duration::from_millis(50)), None));
        assert_eq!((answer.lost, answer.expired, answer.buffered), (3, 1, 9));
        assert!(matches!(
            answer.news[..],
            [News::Rtt(Duration(50_000_000)), News::Reduced(Cause::Loss, 6_000)]
        ));
        assert_eq!(answer.frames, [(1200, 800)]);
        assert_eq!(
            (answer.datagrams[0].kind, answer.datagrams[0].bytes.as_slice()),
            (Kind::Bare, &b"wire"[..])
        );
        assert_eq!(answer.handed, b"hnd");
    }

    /// Whatever a child says instead of an answer: it is none, and nothing panics.
    #[test]
    fn what_is_no_answer() {
        let whole = answer();
        for len in 0..whole.len() {
            assert!(Answer::read(&whole[..len]).is_none(), "{len}");
        }
        assert!(Answer::read(&[whole.clone(), vec![0]].concat()).is_none());
        for at in 0..whole.len() {
            let mut other = whole.clone();
            other[at] ^= 0xff;
            let _ = Answer::read(&other);
        }
    }
}
