//! What an application does with streams.

use std::fmt;

use units::Time;

use super::state::StreamTable;
use crate::streams::id::StreamId;
use crate::streams::receive::Read;
use crate::streams::send::{Closed, SendStream};
use crate::wire::frame::Direction;

/// Why an application cannot do something with a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// There is no such stream, or it is over, or it has no part of this kind.
    Stream,
    /// It was finished or reset.
    Closed(Closed),
}

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stream => f.write_str("no such stream"),
            Self::Closed(Closed::Finished) => f.write_str("the stream was finished"),
            Self::Closed(Closed::Reset(error)) => write!(f, "the stream was reset with error {error}"),
        }
    }
}

impl std::error::Error for Unknown {}

impl StreamTable {
    /// Opens a stream; none when the peer allows no more, which [`Available`](super::StreamEvent::Available) will tell.
    pub fn open(&mut self, direction: Direction) -> Option<StreamId> {
        let id = self.limits.open(direction);
        self.wants[direction as usize] |= id.is_none();
        self.create(id?);
        id
    }

    /// Opens a stream that sends so many bytes of the pattern ([`crate::streams::pattern`]), which take no memory, and ends; none as for
    /// [`open`](Self::open).
    pub fn open_pattern(&mut self, direction: Direction, bytes: u64) -> Option<StreamId> {
        let id = self.open(direction)?;
        let grant = if direction == Direction::Bidirectional { self.grants[0] } else { self.grants[2] };
        if let Some(stream) = self.streams.get_mut(id) {
            stream.send = Some(SendStream::of_pattern(grant, bytes));
        }
        self.queue(id);
        Some(id)
    }

    /// The same, with nothing to send until [`offer`](Self::offer) says so, and without an end.
    pub fn open_growing_pattern(&mut self, direction: Direction) -> Option<StreamId> {
        let id = self.open(direction)?;
        let grant = if direction == Direction::Bidirectional { self.grants[0] } else { self.grants[2] };
        if let Some(stream) = self.streams.get_mut(id) {
            stream.send = Some(SendStream::open_pattern(grant, 0));
        }
        Some(id)
    }

    /// The pattern of a stream of [`open_growing_pattern`](Self::open_growing_pattern) goes up to here from now on, 2^62 - 1 at most, and no less
    /// far than what was sent.
    ///
    /// # Errors
    /// When there is no such stream, or it is finished or reset.
    pub fn offer(&mut self, id: StreamId, end: u64) -> Result<(), Unknown> {
        self.sending(id)?.offer(end.min(crate::wire::varint::MAX)).map_err(Unknown::Closed)?;
        self.on_written(id);
        Ok(())
    }

    /// The next stream that the peer has opened.
    pub fn accept(&mut self, direction: Direction) -> Option<StreamId> {
        self.incoming[direction as usize].pop_front()
    }

    fn sending(&mut self, id: StreamId) -> Result<&mut SendStream, Unknown> {
        let stream = self.streams.get_mut(id).ok_or(Unknown::Stream)?;
        stream.send.as_mut().ok_or(Unknown::Stream)
    }

    /// Takes as many bytes as there is room for; says how many. After fewer than all [`Writable`](super::StreamEvent::Writable) follows.
    ///
    /// # Errors
    /// When there is no such stream, or it is finished or reset.
    pub fn write(&mut self, id: StreamId, data: &[u8]) -> Result<usize, Unknown> {
        let taken = self.sending(id)?.write(data).map_err(Unknown::Closed)?;
        if let Some(stream) = self.streams.get_mut(id) {
            stream.waits_for_room |= taken < data.len();
        }
        self.on_written(id);
        Ok(taken)
    }

    /// The sending part of a stream becomes one of a pattern: so many bytes and the end. Nothing may have been written.
    ///
    /// # Errors
    /// When there is no such stream, or it is finished or reset.
    pub fn write_pattern(&mut self, id: StreamId, bytes: u64) -> Result<(), Unknown> {
        let send = self.sending(id)?;
        send.write(&[]).map_err(Unknown::Closed)?;
        *send = SendStream::of_pattern(send.granted(), bytes);
        self.on_written(id);
        Ok(())
    }

    /// What was written is all.
    ///
    /// # Errors
    /// When there is no such stream, or it was finished or reset before.
    pub fn finish(&mut self, id: StreamId) -> Result<(), Unknown> {
        self.sending(id)?.finish().map_err(Unknown::Closed)?;
        self.on_written(id);
        Ok(())
    }

    fn on_written(&mut self, id: StreamId) {
        // It may be held back by its own credit at once, which the peer is to hear of.
        self.control.insert(id);
        self.queue(id);
    }

    /// Ends the sending part at once with an error code, at most 2^62 - 1.
    ///
    /// # Errors
    /// When there is no such stream.
    pub fn reset(&mut self, id: StreamId, error: u64) -> Result<(), Unknown> {
        self.sending(id)?.reset(error);
        self.control.insert(id);
        Ok(())
    }

    /// Reads what is in order.
    ///
    /// # Errors
    /// When there is no such stream; also once its end was read and it has nothing left to send.
    pub fn read(&mut self, now: Time, id: StreamId, out: &mut [u8]) -> Result<Read, Unknown> {
        let stream = self.streams.get_mut(id).ok_or(Unknown::Stream)?;
        let receive = stream.receive.as_mut().ok_or(Unknown::Stream)?;
        let read = receive.read(out);
        if read == Read::Blocked {
            stream.told_readable = receive.is_readable();
        }
        self.settle(now, id);
        Ok(read)
    }

    /// How far a stream has come without a gap, and its SHA-256 where [`Keep::Hash`](crate::streams::Keep) asks for it.
    ///
    /// # Errors
    /// When there is no such stream.
    pub fn received(&self, id: StreamId) -> Result<(u64, Option<[u8; 32]>), Unknown> {
        let stream = self.streams.get(id).ok_or(Unknown::Stream)?;
        let receive = stream.receive.as_ref().ok_or(Unknown::Stream)?;
        Ok((receive.ready_to(), receive.sha256()))
    }

    /// The application does not want more of a stream: the peer is asked to stop, with an error code of at most 2^62 - 1.
    ///
    /// # Errors
    /// When there is no such stream.
    pub fn stop(&mut self, now: Time, id: StreamId, error: u64) -> Result<(), Unknown> {
        let stream = self.streams.get_mut(id).ok_or(Unknown::Stream)?;
        stream.receive.as_mut().ok_or(Unknown::Stream)?.stop(error);
        self.control.insert(id);
        self.settle(now, id);
        Ok(())
    }
}
