//! Frames sent to the peer, and their acknowledgement or loss.

use units::Time;

use super::state::{Stream, StreamEvent, StreamTable};
use crate::streams::id::StreamId;
use crate::streams::outbox::Chunk;
use crate::streams::receive::ReceiveStream;
use crate::streams::send::SendStream;
use crate::wire::frame::{Direction, Frame, StreamFrame};
use crate::wire::varint;

/// Maximum size of a frame from [`StreamTable::next_control`], in bytes: a type and three integers.
pub const MAX_CONTROL: usize = 25;
/// Minimum number of stream bytes that justify a frame in the rest of a packet.
pub const MIN_DATA: usize = 16;

/// A frame about streams without data. The sender keeps it, and returns it when its packet is
/// acknowledged or lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// RESET_STREAM.
    Reset(StreamId),
    /// STOP_SENDING.
    Stop(StreamId),
    /// MAX_DATA.
    MaxData,
    /// MAX_STREAM_DATA.
    MaxStreamData(StreamId),
    /// MAX_STREAMS.
    MaxStreams(Direction),
    /// DATA_BLOCKED.
    DataBlocked,
    /// STREAM_DATA_BLOCKED.
    StreamDataBlocked(StreamId),
    /// STREAMS_BLOCKED.
    StreamsBlocked(Direction),
}

const DIRECTIONS: [Direction; 2] = [Direction::Bidirectional, Direction::Unidirectional];

impl StreamTable {
    /// Reports whether anything must be sent besides MAX_DATA and MAX_STREAM_DATA. Those are
    /// generated early, and can wait for an ACK that will be sent soon.
    pub fn has_urgent(&self) -> bool {
        self.has_other_pending() || self.control.iter().any(|id| self.is_urgent(*id))
    }

    /// Reports whether any frames can wait, besides the urgent ones.
    pub fn has_patient(&self) -> bool {
        self.max_data || !self.control.is_empty()
    }

    fn has_other_pending(&self) -> bool {
        let blocked = self.limits.is_news() || (self.is_held_back() && self.credit.is_news());
        blocked || self.max_streams != [false; 2] || self.has_data()
    }

    fn is_urgent(&self, id: StreamId) -> bool {
        let Some(Stream { send, receive, .. }) = self.streams.get(id) else { return false };
        send.as_ref().is_some_and(SendStream::has_control)
            || receive.as_ref().is_some_and(ReceiveStream::has_stop)
    }

    /// Reports whether there is data to send within the connection's credit.
    pub fn has_data(&self) -> bool {
        let credit = self.credit.available();
        self.ready.iter().any(|id| self.sends(*id, credit))
    }

    /// Returns the new bytes that wait within the connection's credit; 0 if lost bytes come next.
    pub fn waiting(&self) -> u64 {
        let credit = self.credit.available();
        let sends = self.ready.iter().filter_map(|id| self.streams.get(*id)?.send.as_ref());
        let waiting = sends.map(|send| send.waiting(credit));
        waiting.sum::<Option<u64>>().map_or(0, |bytes| bytes.min(credit))
    }

    /// Reports whether there is data that only the connection's credit holds back.
    pub fn is_held_back(&self) -> bool {
        self.credit.available() == 0 && !self.ready.is_empty()
    }

    fn sends(&self, id: StreamId, credit: u64) -> bool {
        let send = self.streams.get(id).and_then(|stream| stream.send.as_ref());
        send.is_some_and(|send| send.has_pending(credit))
    }

    /// Returns the next frame without data, of at most [`MAX_CONTROL`] bytes. It counts as sent
    /// from now on.
    pub fn next_control(&mut self) -> Option<(Control, Frame<'static>)> {
        if std::mem::take(&mut self.max_data) {
            return Some((Control::MaxData, Frame::MaxData(self.window.granted())));
        }
        for direction in DIRECTIONS {
            if std::mem::take(&mut self.max_streams[direction as usize]) {
                let frame = Frame::MaxStreams(direction, self.limits.granted(direction));
                return Some((Control::MaxStreams(direction), frame));
            }
            if let Some(limit) = self.limits.blocked(direction) {
                return Some((Control::StreamsBlocked(direction), Frame::StreamsBlocked(direction, limit)));
            }
        }
        while let Some(&id) = self.control.first() {
            if let Some(frame) = self.stream_control(id) {
                return Some(frame);
            }
            self.control.pop_first();
        }
        let limit = if self.is_held_back() { self.credit.blocked() } else { None };
        limit.map(|limit| (Control::DataBlocked, Frame::DataBlocked(limit)))
    }

    fn stream_control(&mut self, StreamId(id): StreamId) -> Option<(Control, Frame<'static>)> {
        let stream = self.streams.get_mut(StreamId(id))?;
        if let Some(send) = &mut stream.send {
            if let Some((error, final_size)) = send.next_reset() {
                let frame = Frame::ResetStream { id, error, final_size };
                return Some((Control::Reset(StreamId(id)), frame));
            }
            if let Some(limit) = send.blocked() {
                let frame = Frame::StreamDataBlocked { id, limit };
                return Some((Control::StreamDataBlocked(StreamId(id)), frame));
            }
        }
        let receive = stream.receive.as_mut()?;
        if let Some(error) = receive.next_stop() {
            return Some((Control::Stop(StreamId(id)), Frame::StopSending { id, error }));
        }
        let max = std::mem::take(&mut stream.max_data).then(|| receive.granted())?;
        Some((Control::MaxStreamData(StreamId(id)), Frame::MaxStreamData { id, max }))
    }

    /// Returns the stream and chunk of the next data, for a packet with `room` bytes left for the
    /// frame. Streams take turns.
    ///
    /// With `fixed`, the header has the size [`crate::wire::frame::FIXED_STREAM_HEADER`].
    pub fn next_data(&mut self, room: usize, fixed: bool) -> Option<(StreamId, Chunk)> {
        for _ in 0..self.ready.len() {
            let id = self.ready.pop_front()?;
            let credit = self.credit.available();
            let stream = self.streams.get_mut(id);
            let Some((queued, send)) = stream.and_then(|s| Some((&mut s.queued, s.send.as_mut()?))) else {
                continue;
            };
            let mut next = None;
            // Otherwise held back by the credit of the connection or stream, or without data.
            if send.has_pending(credit) {
                let header = header(id, send.next_offset(), room, fixed);
                if room < header + MIN_DATA {
                    self.ready.push_front(id);
                    return None;
                }
                next = send.next(room - header, credit);
            }
            *queued = send.has_pending(u64::MAX);
            if *queued {
                self.ready.push_back(id);
            } else {
                self.control.insert(id);
            }
            if let Some((chunk, new)) = next {
                self.credit.consume(new);
                return Some((id, chunk));
            }
        }
        None
    }

    /// Copies the bytes of a chunk returned by [`next_data`](Self::next_data) into a packet. Call
    /// this immediately.
    pub fn copy(&self, id: StreamId, offset: u64, out: &mut [u8]) {
        if let Some(send) = self.streams.get(id).and_then(|stream| stream.send.as_ref()) {
            send.copy(offset, out);
        }
    }

    /// Processes the acknowledgement of a packet with this data.
    pub fn on_data_acked(&mut self, id: StreamId, chunk: Chunk) {
        let Some(stream) = self.streams.get_mut(id) else { return };
        let Some(send) = &mut stream.send else { return };
        send.on_acked(chunk);
        let is_over = send.is_over();
        if stream.waits_for_room && send.room() > 0 {
            stream.waits_for_room = false;
            self.events.push_back(StreamEvent::Writable(id));
        }
        if is_over {
            self.reap(id);
        }
    }

    /// Processes the loss of a packet with this data.
    pub fn on_data_lost(&mut self, id: StreamId, chunk: Chunk) {
        if let Some(send) = self.streams.get_mut(id).and_then(|stream| stream.send.as_mut()) {
            send.on_lost(chunk);
            self.queue(id);
        }
    }

    /// Processes the acknowledgement of a packet with this frame.
    pub fn on_control_acked(&mut self, control: Control) {
        if let Control::Reset(id) = control
            && let Some(send) = self.streams.get_mut(id).and_then(|stream| stream.send.as_mut())
        {
            send.on_reset_acked();
            self.reap(id);
        }
    }

    /// Processes the loss of a packet with this frame. It is sent again, with current values, if it
    /// is still meaningful (section 13.3).
    pub fn on_control_lost(&mut self, now: Time, control: Control) {
        match control {
            Control::MaxData => self.max_data = true,
            Control::DataBlocked => self.credit.on_blocked_lost(),
            Control::MaxStreams(direction) => self.max_streams[direction as usize] = true,
            Control::StreamsBlocked(direction) => self.limits.on_blocked_lost(direction),
            Control::Reset(id) | Control::StreamDataBlocked(id) => {
                let Some(send) = self.streams.get_mut(id).and_then(|stream| stream.send.as_mut()) else {
                    return;
                };
                match control {
                    Control::Reset(_) => send.on_reset_lost(),
                    _ => send.on_blocked_lost(),
                }
                self.control.insert(id);
            }
            Control::Stop(id) | Control::MaxStreamData(id) => {
                let Some(stream) = self.streams.get_mut(id) else { return };
                let Some(receive) = &mut stream.receive else { return };
                match control {
                    Control::Stop(_) => receive.on_stop_lost(),
                    _ => stream.max_data = receive.final_size().is_none(),
                }
                self.control.insert(id);
                self.update_credit(now, id);
            }
        }
    }
}

/// Returns the size of the header of a frame that may take `room` bytes.
fn header(id: StreamId, offset: u64, room: usize, fixed: bool) -> usize {
    match fixed {
        true => crate::wire::frame::FIXED_STREAM_HEADER,
        false => StreamFrame::header_size(id.0, offset, None) + varint::size(room as u64),
    }
}
