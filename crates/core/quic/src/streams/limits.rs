//! Limits on the number of streams (RFC 9000 section 4.6), and frames allowed for a stream
//! (sections 3 and 19).

use std::ops::Range;

use super::id::StreamId;
use crate::error::{Code, Error};
use crate::level::Side;
use crate::wire::frame::Direction;
use crate::wire::frame_type::FrameType;

/// Largest value of MAX_STREAMS.
const MOST: u64 = 1 << 60;

/// Streams of one direction.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    /// Number of streams opened by this end, and the limit.
    opened: u64,
    allowed: u64,
    /// Limit that was last reported in STREAMS_BLOCKED.
    reported: Option<u64>,
    /// Whether this end wants to open more.
    wanted: bool,
    /// Streams opened by the peer, streams of the peer that are closed, and the limit.
    theirs: u64,
    closed: u64,
    granted: u64,
    /// Number of streams that the peer may have open at once.
    window: u64,
}

/// Counts streams of both directions and both ends.
#[derive(Clone, Debug)]
pub struct StreamLimits {
    local: Side,
    counts: [Count; 2],
}

impl StreamLimits {
    /// Creates the limits: the numbers of streams that the peer may have open, as sent in
    /// `initial_max_streams_bidi` and `initial_max_streams_uni`.
    pub fn new(local: Side, bidirectional: u64, unidirectional: u64) -> Self {
        let count =
            |window: u64| Count { granted: window.min(MOST), window: window.min(MOST), ..Count::default() };
        Self { local, counts: [count(bidirectional), count(unidirectional)] }
    }

    fn count_mut(&mut self, direction: Direction) -> &mut Count {
        &mut self.counts[direction as usize]
    }

    /// Raises the number of streams that the peer allows in total, from its transport parameters or
    /// MAX_STREAMS. Lower values are ignored.
    pub fn on_max_streams(&mut self, direction: Direction, max: u64) {
        let count = self.count_mut(direction);
        count.allowed = count.allowed.max(max);
    }

    /// Opens the next stream of this end. Returns `None` if the peer's limit is reached;
    /// [`blocked`](Self::blocked) then reports it.
    pub fn open(&mut self, direction: Direction) -> Option<StreamId> {
        let local = self.local;
        let count = self.count_mut(direction);
        count.wanted = count.opened >= count.allowed;
        if count.wanted {
            return None;
        }
        count.opened += 1;
        Some(StreamId::new(local, direction, count.opened - 1))
    }

    /// Reports whether [`blocked`](Self::blocked) would return a limit for either direction.
    pub fn is_news(&self) -> bool {
        let blocked = |count: &Count| {
            count.wanted && count.opened >= count.allowed && count.reported != Some(count.allowed)
        };
        self.counts.iter().any(blocked)
    }

    /// Returns the limit for STREAMS_BLOCKED, once per limit.
    pub fn blocked(&mut self, direction: Direction) -> Option<u64> {
        let count = self.count_mut(direction);
        let limit = count.allowed;
        let blocked = count.wanted && count.opened >= limit && count.reported != Some(limit);
        blocked.then(|| {
            count.reported = Some(limit);
            limit
        })
    }

    /// Processes the loss of STREAMS_BLOCKED. It is sent again if it is still valid.
    pub fn on_blocked_lost(&mut self, direction: Direction) {
        self.count_mut(direction).reported = None;
    }

    /// Processes a frame for a stream. Returns the indices of the peer's streams that it opens: the
    /// stream itself and all lower ones (section 3.2).
    ///
    /// # Errors
    /// STREAM_LIMIT_ERROR above the limit. STREAM_STATE_ERROR for a stream that this end has not
    /// opened, or for a frame in the wrong direction (19.4, 19.5, 19.8, 19.10, 19.13).
    pub fn on_frame(&mut self, id: StreamId, kind: FrameType) -> Result<Range<u64>, Error> {
        let local = self.local;
        let wrong = |reason| Err(Error::new(Code::STREAM_STATE_ERROR, reason).in_frame(kind.0));
        let for_senders = matches!(kind, FrameType::STOP_SENDING | FrameType::MAX_STREAM_DATA);
        if for_senders && !id.sends(local) {
            return wrong("frame for the sender of a stream that this end only receives on");
        }
        if !for_senders && !id.sends(local.peer()) {
            return wrong("frame for the receiver of a stream that this end only sends on");
        }
        let count = self.count_mut(id.direction());
        if id.initiator() == local {
            return match id.index() < count.opened {
                true => Ok(0..0),
                false => wrong("stream not opened"),
            };
        }
        if id.index() >= count.granted {
            return Err(Error::new(Code::STREAM_LIMIT_ERROR, "more streams than granted").in_frame(kind.0));
        }
        let new = count.theirs..(id.index() + 1).max(count.theirs);
        count.theirs = new.end;
        Ok(new)
    }

    /// Counts a stream of the peer as closed in both directions. Its state is gone.
    pub fn on_closed(&mut self, id: StreamId) {
        if id.initiator() != self.local {
            self.count_mut(id.direction()).closed += 1;
        }
    }

    /// Returns the new limit for MAX_STREAMS, once half of the streams that may be open at once are
    /// closed.
    pub fn grant(&mut self, direction: Direction) -> Option<u64> {
        let count = self.count_mut(direction);
        let next = (count.closed + count.window).min(MOST);
        (next > count.granted && (next - count.granted) * 2 >= count.window).then(|| {
            count.granted = next;
            next
        })
    }

    /// Returns the current limit, for a retransmitted MAX_STREAMS.
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
