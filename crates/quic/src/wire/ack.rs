//! ACK frames (RFC 9000 section 19.3), plain, with ECN counts, with receive times.

use std::ops::RangeInclusive;

use super::codec::{Full, Reader, Writer};
use super::frame_type::FrameType;
use super::receive_timestamps::{StampFormat, Stamps, StampsToSend};
use super::varint;
use crate::error::{Code, Error};

/// How many ranges [`Ack::ranges`] yields at most, the largest numbers first.
///
/// A datagram of 64 KiB could name 16 000 ranges in one frame, all of which a sender would search for. Those beyond are read and
/// checked, and count as not acknowledged yet, which an ACK may leave open at any time (section 13.2.3).
pub const MAX_RANGES: usize = 256;

/// ECN counts of a packet number space (section 19.3.2): cumulative, in packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EcnCounts {
    /// Packets received with ECT(0).
    pub ect0: u64,
    /// Packets received with ECT(1).
    pub ect1: u64,
    /// Packets received with CE.
    pub ce: u64,
}

impl EcnCounts {
    fn size(self) -> usize {
        varint::size(self.ect0) + varint::size(self.ect1) + varint::size(self.ce)
    }

    fn encode(self, w: &mut Writer<'_>) {
        [self.ect0, self.ect1, self.ce].into_iter().for_each(|count| w.varint(count));
    }
}

/// An ACK frame as it was received; ranges and receive times are read from the packet when they are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack<'a> {
    /// The largest number that is acknowledged.
    pub largest: u64,
    /// ACK Delay as written: multiplied by 2 to the power of the peer's `ack_delay_exponent` it is microseconds.
    pub delay: u64,
    /// The smallest number of the first range.
    first: u64,
    /// Further ranges, and their bytes.
    further: u64,
    bytes: &'a [u8],
    /// ECN counts, where the frame has them.
    pub ecn: Option<EcnCounts>,
    /// Receive times, where the frame has them.
    pub stamps: Option<Stamps<'a>>,
}

impl<'a> Ack<'a> {
    /// Reads one whose type was read already. `format` is what this end has asked for in its transport parameters.
    ///
    /// # Errors
    /// FRAME_ENCODING_ERROR: truncated, or numbers below zero (sections 19.3.1), or receive times that
    /// [`Stamps::read`] refuses.
    pub(crate) fn read(r: &mut Reader<'a>, kind: FrameType, format: StampFormat) -> Result<Self, Error> {
        let bad = |reason| Error::new(Code::FRAME_ENCODING_ERROR, reason).in_frame(kind.0);
        let short = |_| bad("ACK is truncated");
        let largest = r.varint().map_err(short)?;
        let delay = r.varint().map_err(short)?;
        let further = r.varint().map_err(short)?;
        let first_range = r.varint().map_err(short)?;
        let first = largest.checked_sub(first_range).ok_or_else(|| bad("ACK of numbers below zero"))?;
        let begin = r.position();
        let mut smallest = first;
        for _ in 0..further {
            let gap = r.varint().map_err(short)?;
            let length = r.varint().map_err(short)?;
            let below = smallest.checked_sub(gap + 2).and_then(|next| next.checked_sub(length));
            smallest = below.ok_or_else(|| bad("ACK of numbers below zero"))?;
        }
        let bytes = r.since(begin);
        let with_ecn = matches!(kind, FrameType::ACK_ECN | FrameType::ACK_RECEIVE_TIMESTAMPS_ECN);
        let ecn = if with_ecn { Some(read_ecn(r).map_err(short)?) } else { None };
        let with_stamps =
            matches!(kind, FrameType::ACK_RECEIVE_TIMESTAMPS | FrameType::ACK_RECEIVE_TIMESTAMPS_ECN);
        let stamps = if with_stamps { Some(Stamps::read(r, kind, largest, format)?) } else { None };
        Ok(Self { largest, delay, first, further, bytes, ecn, stamps })
    }

    /// The ranges of numbers that are acknowledged, the largest first; at most [`MAX_RANGES`].
    pub fn ranges(&self) -> Ranges<'a> {
        Ranges {
            next: Some(self.first..=self.largest),
            left: self.further.min(MAX_RANGES as u64 - 1),
            rest: Reader::new(self.bytes),
        }
    }

    /// The frame's type.
    pub const fn frame_type(&self) -> FrameType {
        frame_type(self.ecn.is_some(), self.stamps.is_some())
    }

    /// How many bytes it takes when it is written again.
    pub fn size(&self) -> usize {
        let head = varint::size(self.frame_type().0) + varint::size(self.largest) + varint::size(self.delay);
        let ranges = varint::size(self.further) + varint::size(self.largest - self.first) + self.bytes.len();
        head + ranges + self.ecn.map_or(0, EcnCounts::size) + self.stamps.map_or(0, |stamps| stamps.size())
    }

    /// Writes the same frame again, as it was but for the length of integers.
    pub(crate) fn encode(&self, w: &mut Writer<'_>) {
        for value in [self.frame_type().0, self.largest, self.delay, self.further, self.largest - self.first]
        {
            w.varint(value);
        }
        w.bytes(self.bytes);
        if let Some(ecn) = self.ecn {
            ecn.encode(w);
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

/// Ranges of an ACK frame, the largest numbers first.
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

/// The range below `smallest`; all was checked when the frame was read.
fn after(smallest: u64, rest: &mut Reader<'_>) -> Option<RangeInclusive<u64>> {
    let largest = smallest.checked_sub(rest.varint().ok()? + 2)?;
    let length = rest.varint().ok()?;
    Some(largest.checked_sub(length)?..=largest)
}

/// An ACK frame to be written.
#[derive(Clone, Copy, Debug)]
pub struct AckToSend<'a> {
    /// What was received: first and last number of each range, ascending, with a number missing between any two; at least one. What does
    /// not fit the caller leaves out at the front.
    pub ranges: &'a [(u64, u64)],
    /// ACK Delay in microseconds, divided by 2 to the power of this end's `ack_delay_exponent`.
    pub delay: u64,
    /// ECN counts, where packets of this space came with ECN.
    pub ecn: Option<EcnCounts>,
    /// Receive times, where the peer has asked for them; 1-RTT packets only.
    pub stamps: Option<&'a StampsToSend>,
}

impl AckToSend<'_> {
    /// The frame's type.
    pub const fn frame_type(&self) -> FrameType {
        frame_type(self.ecn.is_some(), self.stamps.is_some())
    }

    /// The numbers of the frame: those before the ranges, and then a gap and a length for each range but the last.
    /// In their order.
    fn for_each_number(&self, mut put: impl FnMut(u64)) {
        let &(first, largest) = self.ranges.last().expect("something to acknowledge");
        let further = self.ranges.len() as u64 - 1;
        for number in [self.frame_type().0, largest, self.delay, further, largest - first] {
            put(number);
        }
        // From the largest down: each range is the one before the next.
        let mut above = first;
        for &(start, end) in self.ranges.iter().rev().skip(1) {
            put(above - end - 2);
            put(end - start);
            above = start;
        }
    }

    /// How many bytes [`encode`](Self::encode) writes.
    ///
    /// # Panics
    /// When there is no range, or they are not in order, or touch.
    pub fn size(&self) -> usize {
        let mut numbers = 0;
        self.for_each_number(|number| numbers += varint::size(number));
        numbers + self.ecn.map_or(0, EcnCounts::size) + self.stamps.map_or(0, StampsToSend::size)
    }

    /// Writes the frame.
    ///
    /// # Errors
    /// When there is no room; nothing is written then.
    ///
    /// # Panics
    /// When there is no range, or they are not in order, or touch.
    pub fn encode(&self, w: &mut Writer<'_>) -> Result<(), Full> {
        w.room(self.size())?;
        self.for_each_number(|number| w.varint(number));
        if let Some(ecn) = self.ecn {
            ecn.encode(w);
        }
        if let Some(stamps) = self.stamps {
            stamps.encode(w);
        }
        Ok(())
    }
}
