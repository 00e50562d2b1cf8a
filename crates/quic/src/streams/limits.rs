//! How many streams there may be (RFC 9000 section 4.6), and which frames a stream may get (sections 3 and 19).

use std::ops::Range;

use super::id::StreamId;
use crate::error::{Code, Error};
use crate::level::Side;
use crate::wire::frame::Direction;
use crate::wire::frame_type::FrameType;

/// The most that MAX_STREAMS can say.
const MOST: u64 = 1 << 60;

/// Streams of one direction.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    /// How many this end has opened, and may.
    opened: u64,
    allowed: u64,
    /// At which limit the peer was told that it holds this end back.
    reported: Option<u64>,
    /// This end would open more.
    wanted: bool,
    /// How many the peer has opened, how many are over, how many it may open.
    theirs: u64,
    closed: u64,
    granted: u64,
    /// How many it may have open at once.
    window: u64,
}

/// Counts streams of both directions and both ends.
#[derive(Clone, Debug)]
pub struct StreamLimits {
    local: Side,
    counts: [Count; 2],
}

impl StreamLimits {
    /// The peer may have so many streams open at once, of each direction: what `initial_max_streams_bidi` and `_uni` say.
    pub fn new(local: Side, bidirectional: u64, unidirectional: u64) -> Self {
        let count =
            |window: u64| Count { granted: window.min(MOST), window: window.min(MOST), ..Count::default() };
        Self { local, counts: [count(bidirectional), count(unidirectional)] }
    }

    fn of(&mut self, direction: Direction) -> &mut Count {
        &mut self.counts[direction as usize]
    }

    /// What the peer allows in all: its transport parameters, later MAX_STREAMS. Less than before is ignored.
    pub fn on_max_streams(&mut self, direction: Direction, max: u64) {
        let count = self.of(direction);
        count.allowed = count.allowed.max(max);
    }

    /// The next stream of this end; none when the peer's limit is reached, which [`blocked`](Self::blocked) then tells it.
    pub fn open(&mut self, direction: Direction) -> Option<StreamId> {
        let local = self.local;
        let count = self.of(direction);
        count.wanted = count.opened >= count.allowed;
        if count.wanted {
            return None;
        }
        count.opened += 1;
        Some(StreamId::new(local, direction, count.opened - 1))
    }

    /// Whether [`blocked`](Self::blocked) has something to say of either direction.
    pub fn is_news(&self) -> bool {
        let blocked = |count: &Count| {
            count.wanted && count.opened >= count.allowed && count.reported != Some(count.allowed)
        };
        self.counts.iter().any(blocked)
    }

    /// The limit for STREAMS_BLOCKED, once for each limit.
    pub fn blocked(&mut self, direction: Direction) -> Option<u64> {
        let count = self.of(direction);
        let limit = count.allowed;
        let blocked = count.wanted && count.opened >= limit && count.reported != Some(limit);
        blocked.then(|| {
            count.reported = Some(limit);
            limit
        })
    }

    /// STREAMS_BLOCKED was lost: it is sent again if it still holds.
    pub fn on_blocked_lost(&mut self, direction: Direction) {
        self.of(direction).reported = None;
    }

    /// A frame names a stream. Gives the indices of the peer's streams that it opens: the stream itself and all below (section 3.2).
    ///
    /// # Errors
    /// STREAM_LIMIT_ERROR above the limit; STREAM_STATE_ERROR for a stream that this end has not opened, or that the frame's sender must
    /// not send such a frame for (sections 19.4, 19.5, 19.8, 19.10, 19.13).
    pub fn on_frame(&mut self, id: StreamId, kind: FrameType) -> Result<Range<u64>, Error> {
        let local = self.local;
        let wrong = |reason| Err(Error::new(Code::STREAM_STATE_ERROR, reason).in_frame(kind.0));
        let for_senders = matches!(kind, FrameType::STOP_SENDING | FrameType::MAX_STREAM_DATA);
        if for_senders && !id.sends(local) {
            return wrong("for the sender of a stream that only receives here");
        }
        if !for_senders && !id.sends(local.peer()) {
            return wrong("for the receiver of a stream that only sends here");
        }
        let count = self.of(id.direction());
        if id.initiator() == local {
            return match id.index() < count.opened {
                true => Ok(0..0),
                false => wrong("a stream that was not opened"),
            };
        }
        if id.index() >= count.granted {
            return Err(Error::new(Code::STREAM_LIMIT_ERROR, "more streams than granted").in_frame(kind.0));
        }
        let new = count.theirs..(id.index() + 1).max(count.theirs);
        count.theirs = new.end;
        Ok(new)
    }

    /// A stream of the peer is over in both directions, and nothing is known of it any more.
    pub fn on_closed(&mut self, id: StreamId) {
        if id.initiator() != self.local {
            self.of(id.direction()).closed += 1;
        }
    }

    /// The new limit for MAX_STREAMS, once half of the streams that may be open at once are over.
    pub fn grant(&mut self, direction: Direction) -> Option<u64> {
        let count = self.of(direction);
        let next = (count.closed + count.window).min(MOST);
        (next > count.granted && (next - count.granted) * 2 >= count.window).then(|| {
            count.granted = next;
            next
        })
    }

    /// The limit that was granted last, for MAX_STREAMS sent again.
    pub const fn granted(&self, direction: Direction) -> u64 {
        self.counts[direction as usize].granted
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Direction::{Bidirectional, Unidirectional};

    #[test]
    fn ids_as_in_table_1() {
        let of = |side, direction| StreamId::new(side, direction, 5).0;
        assert_eq!(of(Side::Client, Bidirectional), 20);
        assert_eq!(of(Side::Server, Bidirectional), 21);
        assert_eq!(of(Side::Client, Unidirectional), 22);
        assert_eq!(of(Side::Server, Unidirectional), 23);
        for id in 20..24 {
            let id = StreamId(id);
            assert_eq!(StreamId::new(id.initiator(), id.direction(), id.index()), id);
        }
        assert!(!StreamId(23).sends(Side::Client) && StreamId(21).sends(Side::Client));
    }

    #[test]
    fn opens_up_to_the_peers_limit_and_says_once_that_it_would_more() {
        let mut limits = StreamLimits::new(Side::Client, 1, 1);
        assert_eq!(limits.blocked(Bidirectional), None);
        assert_eq!(limits.open(Bidirectional), None);
        assert_eq!((limits.blocked(Bidirectional), limits.blocked(Bidirectional)), (Some(0), None));
        limits.on_max_streams(Bidirectional, 2);
        limits.on_max_streams(Bidirectional, 1);
        assert_eq!(limits.open(Bidirectional), Some(StreamId(0)));
        assert_eq!(limits.open(Bidirectional), Some(StreamId(4)));
        assert_eq!(limits.blocked(Bidirectional), None);
        assert_eq!(limits.open(Bidirectional), None);
        assert_eq!(limits.blocked(Bidirectional), Some(2));
        limits.on_blocked_lost(Bidirectional);
        assert_eq!(limits.blocked(Bidirectional), Some(2));
    }

    #[test]
    fn the_peer_opens_all_below_and_gets_more_when_half_are_over() {
        let mut limits = StreamLimits::new(Side::Server, 4, 0);
        let stream = |index| StreamId::new(Side::Client, Bidirectional, index);
        assert_eq!(limits.on_frame(stream(2), FrameType::STREAM), Ok(0..3));
        assert_eq!(limits.on_frame(stream(1), FrameType::STOP_SENDING), Ok(3..3));
        let above = limits.on_frame(stream(4), FrameType::STREAM).unwrap_err();
        assert_eq!(above.code, Code::STREAM_LIMIT_ERROR);
        limits.on_closed(stream(0));
        assert_eq!(limits.grant(Bidirectional), None);
        limits.on_closed(stream(2));
        assert_eq!((limits.grant(Bidirectional), limits.grant(Bidirectional)), (Some(6), None));
        assert_eq!(limits.granted(Bidirectional), 6);
        assert_eq!(limits.on_frame(stream(5), FrameType::STREAM), Ok(3..6));
    }

    #[test]
    fn frames_in_the_wrong_direction() {
        let mut limits = StreamLimits::new(Side::Client, 9, 9);
        limits.on_max_streams(Unidirectional, 1);
        let mine = limits.open(Unidirectional).unwrap();
        let theirs = StreamId::new(Side::Server, Unidirectional, 0);
        let code = |result: Result<Range<u64>, Error>| result.map_err(|error| error.code);
        let state = Err(Code::STREAM_STATE_ERROR);
        for kind in [FrameType::STREAM, FrameType::RESET_STREAM, FrameType::STREAM_DATA_BLOCKED] {
            assert_eq!(code(limits.on_frame(mine, kind)), state);
        }
        for kind in [FrameType::STOP_SENDING, FrameType::MAX_STREAM_DATA] {
            assert_eq!(code(limits.on_frame(theirs, kind)), state);
            assert_eq!(code(limits.on_frame(mine, kind)), Ok(0..0));
            assert_eq!(code(limits.on_frame(StreamId(mine.0 + 4), kind)), state);
        }
        assert_eq!(code(limits.on_frame(StreamId(0), FrameType::STREAM)), state);
    }
}
