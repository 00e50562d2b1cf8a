//! Stream operations of an application.

use std::fmt;

use units::Time;

use super::state::StreamTable;
use crate::streams::id::StreamId;
use crate::streams::receive::Read;
use crate::streams::send::{Closed, SendStream};
use crate::wire::frame::Direction;

/// Reason why an operation on a stream failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamError {
    /// The stream does not exist, is over, or has no sending or receiving part as needed.
    Stream,
    /// The stream was finished or reset.
    Closed(Closed),
}

impl fmt::Display for StreamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stream => f.write_str("unknown stream"),
            Self::Closed(Closed::Finished) => f.write_str("the stream was finished"),
            Self::Closed(Closed::Reset(error)) => write!(f, "the stream was reset with error {error}"),
        }
    }
}

impl std::error::Error for StreamError {}

impl StreamTable {
    /// Opens a stream. Returns `None` if the peer allows no more streams.
    /// [`Available`](super::StreamEvent::Available) then reports when it does.
    pub fn open(&mut self, direction: Direction) -> Option<StreamId> {
        let id = self.limits.open(direction);
        self.wants[direction as usize] |= id.is_none();
        self.create(id?);
        id
    }

    /// Opens a stream that sends `bytes` bytes of the pattern ([`crate::streams::pattern`]) and
    /// ends. The bytes take no memory. Returns `None` like [`open`](Self::open).
    pub fn open_pattern(&mut self, direction: Direction, bytes: u64) -> Option<StreamId> {
        let id = self.open(direction)?;
        if let Ok(send) = self.sending(id) {
            *send = SendStream::finished_pattern(send.granted(), bytes);
        }
        self.queue(id);
        Some(id)
    }

    /// Opens an unfinished stream of the pattern that sends nothing until [`offer`](Self::offer) is
    /// called.
    pub fn open_growing_pattern(&mut self, direction: Direction) -> Option<StreamId> {
        let id = self.open(direction)?;
        if let Ok(send) = self.sending(id) {
            *send = SendStream::open_pattern(send.granted(), 0);
        }
        Some(id)
    }

    /// Sets the end of the pattern on a stream of
    /// [`open_growing_pattern`](Self::open_growing_pattern); at most 2^62 - 1, and not below what
    /// was sent.
    ///
    /// # Errors
    /// Fails if the stream does not exist, or is finished or reset.
    pub fn offer(&mut self, id: StreamId, end: u64) -> Result<(), StreamError> {
        self.sending(id)?.offer(end.min(crate::wire::varint::MAX)).map_err(StreamError::Closed)?;
        self.on_written(id);
        Ok(())
    }

    /// Returns the next stream opened by the peer.
    pub fn accept(&mut self, direction: Direction) -> Option<StreamId> {
        self.incoming[direction as usize].pop_front()
    }

    fn sending(&mut self, id: StreamId) -> Result<&mut SendStream, StreamError> {
        let stream = self.streams.get_mut(id).ok_or(StreamError::Stream)?;
        stream.send.as_mut().ok_or(StreamError::Stream)
    }

    /// Writes as many bytes as fit, and returns their number. If some did not fit,
    /// [`Writable`](super::StreamEvent::Writable) follows later.
    ///
    /// # Errors
    /// Fails if the stream does not exist, or is finished or reset.
    pub fn write(&mut self, id: StreamId, data: &[u8]) -> Result<usize, StreamError> {
        let taken = self.sending(id)?.write(data).map_err(StreamError::Closed)?;
        if let Some(stream) = self.streams.get_mut(id) {
            stream.waits_for_room |= taken < data.len();
        }
        self.on_written(id);
        Ok(taken)
    }

    /// Makes the sending part of a stream send `bytes` bytes of the pattern and end. Nothing may
    /// have been written before.
    ///
    /// # Errors
    /// Fails if the stream does not exist, or is finished or reset.
    pub fn write_pattern(&mut self, id: StreamId, bytes: u64) -> Result<(), StreamError> {
        let send = self.sending(id)?;
        send.write(&[]).map_err(StreamError::Closed)?;
        *send = SendStream::finished_pattern(send.granted(), bytes);
        self.on_written(id);
        Ok(())
    }

    /// Finishes the stream after the bytes written so far.
    ///
    /// # Errors
    /// Fails if the stream does not exist, or was already finished or reset.
    pub fn finish(&mut self, id: StreamId) -> Result<(), StreamError> {
        self.sending(id)?.finish().map_err(StreamError::Closed)?;
        self.on_written(id);
        Ok(())
    }

    fn on_written(&mut self, id: StreamId) {
        // The stream's own credit may hold the data back immediately, which the peer should learn.
        self.control.insert(id);
        self.queue(id);
    }

    /// Resets the sending part with an error code, at most 2^62 - 1.
    ///
    /// # Errors
    /// Fails if the stream does not exist.
    pub fn reset(&mut self, id: StreamId, error: u64) -> Result<(), StreamError> {
        self.sending(id)?.reset(error);
        self.control.insert(id);
        Ok(())
    }

    /// Reads bytes that are in order.
    ///
    /// # Errors
    /// Fails if the stream does not exist. This includes a stream whose end was read and that has
    /// nothing left to send.
    pub fn read(&mut self, now: Time, id: StreamId, out: &mut [u8]) -> Result<Read, StreamError> {
        let stream = self.streams.get_mut(id).ok_or(StreamError::Stream)?;
        let receive = stream.receive.as_mut().ok_or(StreamError::Stream)?;
        let read = receive.read(out);
        if read == Read::Blocked {
            stream.told_readable = receive.is_readable();
        }
        self.update_credit(now, id);
        Ok(read)
    }

    /// Returns the number of bytes that have arrived without a gap, and their SHA-256 if
    /// [`Keep::Hash`](crate::streams::Keep) is set.
    ///
    /// # Errors
    /// Fails if the stream does not exist.
    pub fn received(&self, id: StreamId) -> Result<(u64, Option<[u8; 32]>), StreamError> {
        let stream = self.streams.get(id).ok_or(StreamError::Stream)?;
        let receive = stream.receive.as_ref().ok_or(StreamError::Stream)?;
        Ok((receive.ready_to(), receive.sha256()))
    }

    /// Stops reading a stream. The peer is asked to stop, with an error code of at most 2^62 - 1.
    ///
    /// # Errors
    /// Fails if the stream does not exist.
    pub fn stop(&mut self, now: Time, id: StreamId, error: u64) -> Result<(), StreamError> {
        let stream = self.streams.get_mut(id).ok_or(StreamError::Stream)?;
        stream.receive.as_mut().ok_or(StreamError::Stream)?.stop(error);
        self.control.insert(id);
        self.update_credit(now, id);
        Ok(())
    }
}
