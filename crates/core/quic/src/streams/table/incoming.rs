//! Processing of the peer's frames about streams.

use units::Time;

use super::state::{StreamEvent, StreamTable};
use crate::error::Error;
use crate::streams::id::StreamId;
use crate::streams::receive::ReceiveStream;
use crate::wire::frame::{Direction, Frame, StreamFrame};
use crate::wire::frame_type::FrameType;

impl StreamTable {
    /// Processes a frame about streams or flow control. Returns `false` for any other frame.
    ///
    /// # Errors
    /// STREAM_LIMIT_ERROR, STREAM_STATE_ERROR, FINAL_SIZE_ERROR, FLOW_CONTROL_ERROR. The connection
    /// must then be closed.
    pub fn on_frame(&mut self, now: Time, frame: &Frame<'_>) -> Result<bool, Error> {
        let kind = frame.frame_type();
        match *frame {
            Frame::Stream(StreamFrame { id, offset, data, fin, .. }) => {
                self.receive(now, StreamId(id), kind, |stream| stream.on_stream(now, offset, data, fin))?;
            }
            Frame::ResetStream { id, error, final_size } => {
                self.receive(now, StreamId(id), kind, |stream| stream.on_reset(now, error, final_size))?;
            }
            Frame::StopSending { id, error } => self.on_stop_sending(StreamId(id), error)?,
            Frame::MaxData(max) => self.credit.raise(max),
            Frame::MaxStreamData { id, max } => self.on_max_stream_data(StreamId(id), max)?,
            Frame::MaxStreams(direction, max) => self.on_max_streams(direction, max),
            Frame::StreamDataBlocked { id, .. } => self.touch(StreamId(id), kind)?,
            Frame::DataBlocked(_) | Frame::StreamsBlocked(..) => {}
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Creates the stream that a frame refers to, and all lower ones.
    fn touch(&mut self, id: StreamId, kind: FrameType) -> Result<(), Error> {
        let direction = id.direction();
        for index in self.limits.on_frame(id, kind)? {
            let new = StreamId::new(self.side.peer(), direction, index);
            self.create(new);
            let incoming = &mut self.incoming[direction as usize];
            incoming.push_back(new);
            if incoming.len() == 1 {
                self.events.push_back(StreamEvent::Opened(direction));
            }
        }
        Ok(())
    }

    /// Processes a frame with data or the end of a stream, which returns the rise of the highest
    /// offset.
    fn receive(
        &mut self,
        now: Time,
        id: StreamId,
        kind: FrameType,
        process: impl FnOnce(&mut ReceiveStream) -> Result<u64, Error>,
    ) -> Result<(), Error> {
        self.touch(id, kind)?;
        let Some(stream) = self.streams.get_mut(id) else { return Ok(()) };
        let Some(receive) = &mut stream.receive else { return Ok(()) };
        let grown = process(receive).and_then(|grown| self.window.on_received(now, grown));
        grown.map_err(|error| error.in_frame(kind.0))?;
        if !stream.told_readable && receive.is_readable() {
            stream.told_readable = true;
            self.events.push_back(StreamEvent::Readable(id));
        }
        self.update_credit(now, id);
        Ok(())
    }

    fn on_stop_sending(&mut self, id: StreamId, error: u64) -> Result<(), Error> {
        self.touch(id, FrameType::STOP_SENDING)?;
        let Some(stream) = self.streams.get_mut(id) else { return Ok(()) };
        let Some(send) = &mut stream.send else { return Ok(()) };
        send.on_stop_sending(error);
        if !std::mem::replace(&mut stream.told_stopped, true) {
            self.events.push_back(StreamEvent::Stopped(id, error));
        }
        self.control.insert(id);
        Ok(())
    }

    fn on_max_stream_data(&mut self, id: StreamId, max: u64) -> Result<(), Error> {
        self.touch(id, FrameType::MAX_STREAM_DATA)?;
        if let Some(send) = self.streams.get_mut(id).and_then(|stream| stream.send.as_mut()) {
            send.on_max_stream_data(max);
            self.queue(id);
        }
        Ok(())
    }

    fn on_max_streams(&mut self, direction: Direction, max: u64) {
        self.limits.on_max_streams(direction, max);
        if std::mem::take(&mut self.wants[direction as usize]) {
            self.events.push_back(StreamEvent::Available(direction));
        }
    }
}
