//! Small acknowledgements, stored inline instead of boxed: without ECN counts, and without gaps.
//! QUIC ones may also have gaps that follow from those of the previous ACK.
//!
//! On a path with a large window a hundred thousand of them are in flight. Reading boxed ones
//! stalls on a cache miss each, about 18 % of the run (docs/src/notebook/performance.md): they are
//! not cached, and the processor cannot predict the next address. Stored in sequence, the queue is
//! prefetched. An acknowledgement that does not fit stays boxed.

use recovery::{AckFrame, SACK_BLOCKS, TcpAck};
use units::Duration;

/// Number of receive times stored: enough for an acknowledgement every two packets.
const STAMPS: usize = 2;

/// Ranges below the newest, relative to those of the previous ACK. The first `gone` of these are
/// dropped and the next `kept` are repeated. The last of them has `grown` more packets at its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Older {
    gone: u16,
    kept: u16,
    grown: u16,
}

impl Older {
    /// Encodes all ranges of an ACK. `before` are the ranges of the previous ACK.
    fn new(ranges: &[(u64, u64)], before: &[(u64, u64)]) -> Option<Self> {
        let first = ranges.first()?;
        let gone = before.iter().take_while(|known| known.1 < first.0).count();
        let known = &before[gone..];
        let older = ranges.len() - 1;
        let mut kept = known.iter().zip(ranges).take(older).take_while(|(known, told)| known == told).count();
        let mut grown = 0;
        if kept < older {
            let (known, told) = (known.get(kept)?, &ranges[kept]);
            grown = u16::try_from(told.1.checked_sub(known.1).filter(|_| told.0 == known.0)?).ok()?;
            kept += 1;
        }
        let (gone, kept) = (u16::try_from(gone).ok()?, u16::try_from(kept).ok()?);
        (usize::from(kept) == older).then_some(Self { gone, kept, grown })
    }

    /// Packs this and another short number into one word. A value stored in parts and then copied
    /// as a whole would stall.
    #[inline]
    fn pack(self, other: u16) -> u64 {
        let Self { gone, kept, grown } = self;
        u64::from(other) | u64::from(gone) << 16 | u64::from(kept) << 32 | u64::from(grown) << 48
    }

    #[inline]
    fn unpack(word: u64) -> (Self, u16) {
        let short = |at: u32| (word >> at) as u16;
        (Self { gone: short(16), kept: short(32), grown: short(48) }, short(0))
    }

    /// Inserts the older ranges into a frame that has the newest.
    #[inline(never)]
    fn write(self, before: &[(u64, u64)], frame: &mut AckFrame) {
        let ranges = &mut frame.ranges;
        let newest = ranges.pop();
        ranges.extend(before.iter().skip(self.gone.into()).take(self.kept.into()));
        if let Some(last) = ranges.last_mut() {
            last.1 += u64::from(self.grown);
        }
        ranges.extend(newest);
        if let ([older, _], Some(number)) = (frame.timestamps.as_mut_slice(), below(ranges)) {
            older.0 = number;
        }
    }
}

/// ACK frame with one range, or with several that follow from those of the previous ACK, and the
/// receive times of its newest packets.
#[derive(Clone, Copy, Debug)]
pub struct InlineFrame {
    /// Newest range.
    range: (u64, u64),
    ack_delay: Duration,
    stamps: [i64; STAMPS],
    /// The older ranges, and the number of stamps in use.
    packed: u64,
}

impl InlineFrame {
    /// Converts a frame that fits. `before` are the ranges of the ACK that is read before it, where
    /// that is certain.
    #[inline]
    pub(crate) fn new(frame: &AckFrame, before: &[(u64, u64)]) -> Option<Self> {
        match frame.ranges.as_slice() {
            &[range] => Self::with(frame, range, Older::default(), None),
            ranges => Self::from_several(frame, ranges, before),
        }
    }

    #[inline(never)]
    fn from_several(frame: &AckFrame, ranges: &[(u64, u64)], before: &[(u64, u64)]) -> Option<Self> {
        Self::with(frame, *ranges.last()?, Older::new(ranges, before)?, below(ranges))
    }

    /// Converts a frame whose newest range is `range`. `next` is the second newest packet if it is
    /// in another range.
    #[inline(always)]
    fn with(frame: &AckFrame, range: (u64, u64), older: Older, next: Option<u64>) -> Option<Self> {
        let stamped = frame.timestamps.len();
        if frame.ecn.is_some() || frame.ping || stamped > STAMPS {
            return None;
        }
        let mut stamps = [0; STAMPS];
        for (back, (stamp, &(pn, at))) in stamps.iter_mut().zip(frame.timestamps.iter().rev()).enumerate() {
            if pn.checked_add(back as u64) != Some(range.1) && (back == 0 || next != Some(pn)) {
                return None;
            }
            *stamp = at;
        }
        let packed = older.pack(stamped as u16);
        Some(Self { range, ack_delay: frame.ack_delay, stamps, packed })
    }

    /// Writes the whole frame. `before` are the ranges of the ACK that was read before it.
    #[inline]
    pub(crate) fn write(&self, before: &[(u64, u64)], frame: &mut AckFrame) {
        let &Self { range, ack_delay, stamps, packed } = self;
        let (older, stamped) = Older::unpack(packed);
        (frame.ack_delay, frame.ecn, frame.ping) = (ack_delay, None, false);
        frame.ranges.clear();
        frame.ranges.push(range);
        frame.timestamps.clear();
        let newest = stamps.iter().take(stamped.into()).enumerate();
        frame.timestamps.extend(newest.rev().map(|(back, at)| (range.1 - back as u64, *at)));
        if older.kept > 0 {
            older.write(before, frame);
        }
    }

    /// Returns the newest range, which is the only one if the frame had a single range.
    pub(crate) fn range(&self) -> (u64, u64) {
        self.range
    }

    /// Reports whether the newest range is the only one.
    pub(crate) fn is_whole(&self) -> bool {
        Older::unpack(self.packed).0 == Older::default()
    }

    /// Returns the time for which the acknowledgement of the largest packet was delayed.
    pub(crate) fn ack_delay(&self) -> Duration {
        self.ack_delay
    }
}

/// Returns the packet below the newest, if the newest is a range of its own.
fn below(ranges: &[(u64, u64)]) -> Option<u64> {
    let (newest, others) = ranges.split_last()?;
    others.last().filter(|_| newest.0 == newest.1).map(|range| range.1)
}

/// TCP acknowledgement without SACK blocks.
#[derive(Clone, Copy, Debug)]
pub struct InlineTcp {
    cumulative: u64,
    echo: u64,
    duplicate: bool,
    timestamps: Option<(u64, i64)>,
}

impl InlineTcp {
    /// Converts an acknowledgement that fits.
    #[inline]
    pub(crate) fn new(ack: &TcpAck) -> Option<Self> {
        let &TcpAck { cumulative, sacks, echo, duplicate, timestamps, ecn } = ack;
        let fits = ecn.is_none() && sacks == [(0, 0); SACK_BLOCKS];
        fits.then_some(Self { cumulative, echo, duplicate, timestamps })
    }

    /// Returns the whole acknowledgement.
    #[inline]
    pub(crate) fn whole(&self) -> TcpAck {
        let &Self { cumulative, echo, duplicate, timestamps } = self;
        TcpAck { cumulative, echo, duplicate, timestamps, ..TcpAck::default() }
    }

    /// Returns the number of the first byte that has not arrived.
    pub(crate) fn cumulative(&self) -> u64 {
        self.cumulative
    }
}

#[cfg(test)]
mod tests {
    use recovery::EcnCounts;

    use super::*;

    fn frame(stamps: &[(u64, i64)]) -> AckFrame {
        let (ranges, timestamps) = (vec![(3, 9)], stamps.to_vec());
        AckFrame { ranges, timestamps, ack_delay: Duration(8000), ..AckFrame::default() }
    }

    /// Reading overwrites all that the memory held before.
    #[test]
    fn reads_back_the_same() {
        for stamps in [&[][..], &[(9, -5)], &[(8, 70), (9, 60)]] {
            let frame = frame(stamps);
            let mut read = AckFrame { ranges: vec![(0, 1), (3, 4)], ping: true, ..AckFrame::default() };
            InlineFrame::new(&frame, &[(0, 1), (3, 7)]).unwrap().write(&[], &mut read);
            assert_eq!(format!("{read:?}"), format!("{frame:?}"));
        }
        for timestamps in [None, Some((6, -1))] {
            let ack = TcpAck { cumulative: 5000, echo: 7, duplicate: true, timestamps, ..TcpAck::default() };
            assert_eq!(format!("{:?}", InlineTcp::new(&ack).unwrap().whole()), format!("{ack:?}"));
        }
    }

    /// Ranges as a receiver writes them: gaps, late packets that close them, ranges that are
    /// forgotten.
    #[test]
    fn several_ranges_follow_from_those_before() {
        let acks: [&[(u64, u64)]; 9] = [
            &[(0, 3), (5, 5)],
            &[(0, 3), (5, 6), (8, 8)],
            &[(0, 3), (5, 6), (8, 10)],
            &[(5, 6), (8, 10), (12, 12)],
            &[(12, 13), (15, 15)],
            &[(12, 13), (15, 15), (17, 17), (19, 19)], // two new ranges
            &[(12, 17), (19, 19)],                     // late packets close gaps, and the first range grows
            &[(10, 17), (19, 20)],                     // a late packet before the first range
            &[(40, 41), (43, 44)],                     // no relation to the previous ranges
        ];
        let fits = [true, true, true, true, true, false, true, false, false];
        let mut before: &[(u64, u64)] = &[(0, 3)];
        for (ranges, fits) in acks.into_iter().zip(fits) {
            let &(low, high) = ranges.last().unwrap();
            let second = below(ranges).unwrap_or(high - 1);
            assert!(low < high || second < low);
            let timestamps = vec![(second, 70), (ranges.last().unwrap().1, 75)];
            let frame = AckFrame { ranges: ranges.to_vec(), timestamps, ..AckFrame::default() };
            let inline = InlineFrame::new(&frame, before);
            assert_eq!(inline.is_some(), fits, "{before:?} {ranges:?}");
            let mut read = AckFrame::default();
            inline.into_iter().for_each(|inline| inline.write(before, &mut read));
            assert!(!fits || format!("{read:?}") == format!("{frame:?}"), "{before:?} {frame:?} {read:?}");
            before = ranges;
        }
    }

    #[test]
    fn what_does_not_fit_stays_boxed() {
        let ecn = Some(EcnCounts { ce: 1, ..EcnCounts::default() });
        let more = [
            AckFrame { ecn, ..frame(&[]) },
            AckFrame { ping: true, ..frame(&[]) },
            AckFrame { ranges: vec![(0, 1), (3, 9)], ..frame(&[]) },
            AckFrame { ranges: Vec::new(), ..frame(&[]) },
            frame(&[(7, 1), (8, 1), (9, 1)]),
            frame(&[(7, 1), (9, 1)]),
            frame(&[(8, 1)]),
            frame(&[(u64::MAX, 1), (9, 1)]),
        ];
        assert!(more.iter().all(|frame| InlineFrame::new(frame, &[]).is_none()));
        assert!(InlineTcp::new(&TcpAck { ecn, ..TcpAck::default() }).is_none());
        let sacks = [(0, 0), (0, 0), (1, 2)];
        assert!(InlineTcp::new(&TcpAck { sacks, ..TcpAck::default() }).is_none());
    }
}
