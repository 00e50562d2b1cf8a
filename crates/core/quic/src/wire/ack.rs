//! ACK frames (RFC 9000 section 19.3): plain, with ECN counts, with receive timestamps.

use std::ops::RangeInclusive;

pub use recovery::EcnCounts;

use super::codec::{Full, Reader, Writer};
use super::frame_type::FrameType;
use super::receive_timestamps::{StampFormat, Stamps, StampsToSend};
use super::varint;
use crate::error::{Code, Error};

/// Maximum number of ranges that [`Ack::ranges`] yields, starting at the largest numbers.
///
/// A datagram of 64 KiB could hold 16 000 ranges in one frame, and a sender would search all of
/// them. Further ranges are read and validated, but count as not acknowledged yet. An ACK may omit
/// ranges at any time (section 13.2.3).
pub const MAX_RANGES: usize = 256;

fn ecn_size(ecn: EcnCounts) -> usize {
    varint::size(ecn.ect0) + varint::size(ecn.ect1) + varint::size(ecn.ce)
}

fn encode_ecn(ecn: EcnCounts, w: &mut Writer<'_>) {
    [ecn.ect0, ecn.ect1, ecn.ce].into_iter().for_each(|count| w.varint(count));
}

/// A received ACK frame. Ranges and timestamps are decoded from the packet on demand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack<'a> {
    /// Largest acknowledged packet number.
    pub largest: u64,
    /// ACK Delay as encoded. Multiply by 2 to the power of the peer's `ack_delay_exponent` to get
    /// microseconds.
    pub delay: u64,
    /// Smallest packet number of the first range.
    first: u64,
    /// Number of further ranges, and their encoding.
    further: u64,
    bytes: &'a [u8],
    /// ECN counts, if the frame has them.
    pub ecn: Option<EcnCounts>,
    /// Receive timestamps, if the frame has them.
    pub stamps: Option<Stamps<'a>>,
}

impl<'a> Ack<'a> {
    /// Reads a frame whose type was already read. `format` is what this end requested in its
    /// transport parameters.
    ///
    /// # Errors
    /// FRAME_ENCODING_ERROR for truncated frames, packet numbers below zero (section 19.3.1), and
    /// timestamps refused by [`Stamps::read`].
    pub(crate) fn read(r: &mut Reader<'a>, kind: FrameType, format: StampFormat) -> Result<Self, Error> {
        let bad = |reason| Error::new(Code::FRAME_ENCODING_ERROR, reason).in_frame(kind.0);
        let short = |_| bad("ACK is truncated");
        let largest = r.varint().map_err(short)?;
        let delay = r.varint().map_err(short)?;
        let further = r.varint().map_err(short)?;
        let first_range = r.varint().map_err(short)?;
        let first = largest.checked_sub(first_range).ok_or_else(|| bad("ACK of negative packet numbers"))?;
        let begin = r.position();
        let mut smallest = first;
        for _ in 0..further {
            let gap = r.varint().map_err(short)?;
            let length = r.varint().map_err(short)?;
            let below = smallest.checked_sub(gap + 2).and_then(|next| next.checked_sub(length));
            smallest = below.ok_or_else(|| bad("ACK of negative packet numbers"))?;
        }
        let bytes = r.since(begin);
        let with_ecn = matches!(kind, FrameType::ACK_ECN | FrameType::ACK_RECEIVE_TIMESTAMPS_ECN);
        let ecn = if with_ecn { Some(read_ecn(r).map_err(short)?) } else { None };
        let with_stamps =
            matches!(kind, FrameType::ACK_RECEIVE_TIMESTAMPS | FrameType::ACK_RECEIVE_TIMESTAMPS_ECN);
        let stamps = if with_stamps { Some(Stamps::read(r, kind, largest, format)?) } else { None };
        Ok(Self { largest, delay, first, further, bytes, ecn, stamps })
    }

    /// Returns the acknowledged ranges, largest first; at most [`MAX_RANGES`].
    pub fn ranges(&self) -> Ranges<'a> {
        Ranges {
            next: Some(self.first..=self.largest),
            left: self.further.min(MAX_RANGES as u64 - 1),
            rest: Reader::new(self.bytes),
        }
    }

    /// Returns the type of the frame.
    pub const fn frame_type(&self) -> FrameType {
        frame_type(self.ecn.is_some(), self.stamps.is_some())
    }

    /// Returns the size of the frame when it is encoded again, in bytes.
    pub fn size(&self) -> usize {
        let head = varint::size(self.frame_type().0) + varint::size(self.largest) + varint::size(self.delay);
        let ranges = varint::size(self.further) + varint::size(self.largest - self.first) + self.bytes.len();
        head + ranges + self.ecn.map_or(0, ecn_size) + self.stamps.map_or(0, |stamps| stamps.size())
    }

    /// Encodes the frame again. Only the length of integers may differ from the original.
    pub(crate) fn encode(&self, w: &mut Writer<'_>) {
        for value in [self.frame_type().0, self.largest, self.delay, self.further, self.largest - self.first]
        {
            w.varint(value);
        }
        w.bytes(self.bytes);
        if let Some(ecn) = self.ecn {
            encode_ecn(ecn, w);
        }
        if let Some(stamps) = self.stamps {
            stamps.encode(w);
        }
    }
}

fn read_ecn(r: &mut Reader<'_>) -> Result<EcnCounts, super::codec::Truncated> {
    Ok(EcnCounts { ect0: r.varint()?, ect1: r.varint()?, ce: r.varint()? })
}

const fn frame_type(ecn: bool, stamps: bool) -> FrameType {
    match (stamps, ecn) {
        (false, false) => FrameType::ACK,
        (false, true) => FrameType::ACK_ECN,
        (true, false) => FrameType::ACK_RECEIVE_TIMESTAMPS,
        (true, true) => FrameType::ACK_RECEIVE_TIMESTAMPS_ECN,
    }
}

/// Iterator over the ranges of an ACK frame, largest first.
#[derive(Clone, Debug)]
pub struct Ranges<'a> {
    next: Option<RangeInclusive<u64>>,
    left: u64,
    rest: Reader<'a>,
}

impl Iterator for Ranges<'_> {
    type Item = RangeInclusive<u64>;

    fn next(&mut self) -> Option<Self::Item> {
        let range = self.next.take()?;
        self.next = match self.left.checked_sub(1) {
            None => None,
            Some(left) => {
                self.left = left;
                after(*range.start(), &mut self.rest)
            }
        };
        Some(range)
    }
}

/// Returns the range below `smallest`. Everything was validated when the frame was read.
fn after(smallest: u64, rest: &mut Reader<'_>) -> Option<RangeInclusive<u64>> {
    let largest = smallest.checked_sub(rest.varint().ok()? + 2)?;
    let length = rest.varint().ok()?;
    Some(largest.checked_sub(length)?..=largest)
}

/// An ACK frame to be sent.
#[derive(Clone, Copy, Debug)]
pub struct AckToSend<'a> {
    /// Received packet numbers: the first and last number of each range, ascending, at least one
    /// range. At least one number must be missing between ranges. If the frame would not fit, the
    /// caller omits ranges at the front.
    pub ranges: &'a [(u64, u64)],
    /// ACK Delay in microseconds, divided by 2 to the power of this end's `ack_delay_exponent`.
    pub delay: u64,
    /// ECN counts, if packets of this space arrived with ECN.
    pub ecn: Option<EcnCounts>,
    /// Receive timestamps, if the peer requested them; 1-RTT packets only.
    pub stamps: Option<&'a StampsToSend>,
}

impl AckToSend<'_> {
    /// Returns the type of the frame.
    pub const fn frame_type(&self) -> FrameType {
        frame_type(self.ecn.is_some(), self.stamps.is_some())
    }

    /// Calls `put` with the integers of the frame, in order: the fixed fields, then a gap and a
    /// length for each range but the last.
    fn for_each_number(&self, mut put: impl FnMut(u64)) {
        let &(first, largest) = self.ranges.last().expect("at least one range");
        let further = self.ranges.len() as u64 - 1;
        for number in [self.frame_type().0, largest, self.delay, further, largest - first] {
            put(number);
        }
        // From the largest down.
        let mut above = first;
        for &(start, end) in self.ranges.iter().rev().skip(1) {
            put(above - end - 2);
            put(end - start);
            above = start;
        }
    }

    /// Returns the number of bytes that [`encode`](Self::encode) writes.
    ///
    /// # Panics
    /// If there are no ranges, or if they are not ascending and separate.
    pub fn size(&self) -> usize {
        let mut numbers = 0;
        self.for_each_number(|number| numbers += varint::size(number));
        numbers + self.ecn.map_or(0, ecn_size) + self.stamps.map_or(0, StampsToSend::size)
    }

    /// Encodes the frame.
    ///
    /// # Errors
    /// Fails if the frame does not fit. Nothing is written then.
    ///
    /// # Panics
    /// If there are no ranges, or if they are not ascending and separate.
    pub fn encode(&self, w: &mut Writer<'_>) -> Result<(), Full> {
        w.room(self.size())?;
        self.for_each_number(|number| w.varint(number));
        if let Some(ecn) = self.ecn {
            encode_ecn(ecn, w);
        }
        if let Some(stamps) = self.stamps {
            stamps.encode(w);
        }
        Ok(())
    }
}
