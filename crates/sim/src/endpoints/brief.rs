//! Acknowledgements that are small enough to travel themselves: without gaps and marks, as nearly all are.
//!
//! On a path of a large window a hundred thousand of them are under way. In boxes each would be waited for when it is read, some
//! 18 % of the run (docs/performance.md): they lie in no cache, and the processor cannot know where the next is. Side by side in the queue it fetches them
//! ahead. What does not fit keeps its box.

use recovery::{AckFrame, SACK_BLOCKS, TcpAck};
use units::Duration;

/// Receive times that fit: of an acknowledgement every two packets.
const STAMPS: usize = 2;

/// An ACK frame of one range, with the receive times of its newest packets.
#[derive(Clone, Copy, Debug)]
pub struct BriefFrame {
    range: (u64, u64),
    ack_delay: Duration,
    stamps: [i64; STAMPS],
    /// So many of the stamps are there.
    stamped: u8,
}

impl BriefFrame {
    /// Of a frame, if it says no more.
    #[inline]
    pub(crate) fn of(frame: &AckFrame) -> Option<Self> {
        let &[range] = frame.ranges.as_slice() else { return None };
        let stamped = frame.timestamps.len();
        if frame.ecn.is_some() || frame.ping || stamped > STAMPS {
            return None;
        }
        let mut stamps = [0; STAMPS];
        for (back, (stamp, &(pn, at))) in stamps.iter_mut().zip(frame.timestamps.iter().rev()).enumerate() {
            if pn.checked_add(back as u64) != Some(range.1) {
                return None;
            }
            *stamp = at;
        }
        Some(Self { range, ack_delay: frame.ack_delay, stamps, stamped: stamped as u8 })
    }

    /// Writes what it says.
    #[inline]
    pub(crate) fn write(&self, frame: &mut AckFrame) {
        let &Self { range, ack_delay, stamps, stamped } = self;
        (frame.ack_delay, frame.ecn, frame.ping) = (ack_delay, None, false);
        frame.ranges.clear();
        frame.ranges.push(range);
        frame.timestamps.clear();
        let newest = stamps.iter().take(stamped.into()).enumerate();
        frame.timestamps.extend(newest.rev().map(|(back, at)| (range.1 - back as u64, *at)));
    }

    /// The packets that it acknowledges.
    pub(crate) fn range(&self) -> (u64, u64) {
        self.range
    }

    /// How long the largest was held back.
    pub(crate) fn ack_delay(&self) -> Duration {
        self.ack_delay
    }
}

/// A TCP acknowledgement without SACK blocks.
#[derive(Clone, Copy, Debug)]
pub struct BriefTcp {
    cumulative: u64,
    echo: u64,
    duplicate: bool,
    timestamps: Option<(u64, i64)>,
}

impl BriefTcp {
    /// Of an acknowledgement, if it says no more.
    #[inline]
    pub(crate) fn of(ack: &TcpAck) -> Option<Self> {
        let &TcpAck { cumulative, sacks, echo, duplicate, timestamps, ecn } = ack;
        let is_brief = ecn.is_none() && sacks == [(0, 0); SACK_BLOCKS];
        is_brief.then_some(Self { cumulative, echo, duplicate, timestamps })
    }

    /// What it says.
    #[inline]
    pub(crate) fn whole(&self) -> TcpAck {
        let &Self { cumulative, echo, duplicate, timestamps } = self;
        TcpAck { cumulative, echo, duplicate, timestamps, ..TcpAck::default() }
    }

    /// All bytes before this one have arrived.
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

    /// Whatever was in the memory before.
    #[test]
    fn says_the_same_again() {
        for stamps in [&[][..], &[(9, -5)], &[(8, 70), (9, 60)]] {
            let frame = frame(stamps);
            let mut read = AckFrame { ranges: vec![(0, 1), (3, 4)], ping: true, ..AckFrame::default() };
            BriefFrame::of(&frame).unwrap().write(&mut read);
            assert_eq!(format!("{read:?}"), format!("{frame:?}"));
        }
        for timestamps in [None, Some((6, -1))] {
            let ack = TcpAck { cumulative: 5000, echo: 7, duplicate: true, timestamps, ..TcpAck::default() };
            assert_eq!(format!("{:?}", BriefTcp::of(&ack).unwrap().whole()), format!("{ack:?}"));
        }
    }

    #[test]
    fn what_says_more_is_not_brief() {
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
        assert!(more.iter().all(|frame| BriefFrame::of(frame).is_none()));
        assert!(BriefTcp::of(&TcpAck { ecn, ..TcpAck::default() }).is_none());
        let sacks = [(0, 0), (0, 0), (1, 2)];
        assert!(BriefTcp::of(&TcpAck { sacks, ..TcpAck::default() }).is_none());
    }
}
