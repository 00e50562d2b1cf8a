//! The receiving part of a stream (RFC 9000 section 3.2).

use units::{Duration, Time};

use super::assembler::{Assembler, Keep};
use super::flow::{ReceiveWindow, WindowConfig};
use crate::error::{Code, Error};

/// State of the receiving part, as in figure 3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceiveState {
    /// Data arrives.
    Recv,
    /// The final size is known.
    SizeKnown,
    /// All data has arrived.
    DataRecvd,
    /// RESET_STREAM has arrived.
    ResetRecvd,
    /// All data was read.
    DataRead,
    /// The application knows of the reset.
    ResetRead,
}

/// Result of reading from a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Read {
    /// Number of bytes read.
    Data(usize),
    /// No data is available yet.
    Blocked,
    /// The stream has ended.
    End,
    /// The peer has reset the stream with this error code of the application.
    Reset(u64),
}

/// The receiving part of one stream.
pub struct ReceiveStream {
    assembler: Assembler,
    window: ReceiveWindow,
    /// Highest offset received.
    highest: u64,
    final_size: Option<u64>,
    reset: Option<u64>,
    /// Whether the application knows how the stream ended.
    told: bool,
    /// Set when the application stopped the stream: the error code, and whether STOP_SENDING must
    /// still be sent.
    stopped: Option<(u64, bool)>,
    /// Bytes that count as read for the connection, and how many of them were reported to it.
    consumed: u64,
    reported: u64,
}

impl ReceiveStream {
    /// Creates a stream with this flow control window.
    pub fn new(config: WindowConfig, keep: Keep) -> Self {
        Self {
            assembler: Assembler::new(keep),
            window: ReceiveWindow::new(config),
            highest: 0,
            final_size: None,
            reset: None,
            told: false,
            stopped: None,
            consumed: 0,
            reported: 0,
        }
    }

    /// Returns the state in figure 3.
    pub fn state(&self) -> ReceiveState {
        match (self.reset, self.final_size) {
            (Some(_), _) if self.told => ReceiveState::ResetRead,
            (Some(_), _) => ReceiveState::ResetRecvd,
            (None, Some(size)) if self.ready_to() == size => {
                if self.told {
                    ReceiveState::DataRead
                } else {
                    ReceiveState::DataRecvd
                }
            }
            (None, Some(_)) => ReceiveState::SizeKnown,
            _ => ReceiveState::Recv,
        }
    }

    /// Reports whether the receiving part can be forgotten. This is also the case when the
    /// application has stopped it and the final size is known. Later frames are then ignored
    /// (section 3.5).
    pub fn is_over(&self) -> bool {
        let stopped = self.stopped.is_some() && self.final_size.is_some();
        stopped || matches!(self.state(), ReceiveState::DataRead | ReceiveState::ResetRead)
    }

    /// Returns the end of the bytes that have arrived without a gap. A stopped stream is no longer
    /// reassembled.
    pub const fn ready_to(&self) -> u64 {
        self.assembler.ready_to()
    }

    /// Returns the memory used by received data, in bytes.
    pub fn memory(&self) -> usize {
        self.assembler.memory()
    }

    /// Returns the final size, once it is known.
    pub const fn final_size(&self) -> Option<u64> {
        self.final_size
    }

    /// Returns the SHA-256 of the bytes that arrived in order, with [`Keep::Hash`].
    pub fn sha256(&self) -> Option<[u8; 32]> {
        self.assembler.sha256()
    }

    /// Processes a STREAM frame. Returns the rise of the highest offset, which the caller must
    /// count against the connection's window before anything else.
    ///
    /// # Errors
    /// FLOW_CONTROL_ERROR beyond the limit of this stream; FINAL_SIZE_ERROR as section 4.5
    /// requires.
    pub fn on_stream(&mut self, now: Time, offset: u64, data: &[u8], fin: bool) -> Result<u64, Error> {
        let end = offset + data.len() as u64;
        let grown = self.on_end(now, end, fin)?;
        if self.reset.is_none() && self.stopped.is_none() {
            self.assembler.insert(offset, data);
            self.consume_to(self.assembler.read_to());
        } else {
            self.consume_to(self.highest);
        }
        Ok(grown)
    }

    /// Processes RESET_STREAM. Returns the rise of the highest offset, like
    /// [`on_stream`](Self::on_stream).
    ///
    /// # Errors
    /// See [`on_stream`](Self::on_stream).
    pub fn on_reset(&mut self, now: Time, error: u64, final_size: u64) -> Result<u64, Error> {
        // Data that has arrived completely is not discarded (section 3.2). Only a FIN makes it
        // complete, not a reset.
        let whole = matches!(self.state(), ReceiveState::DataRecvd | ReceiveState::DataRead);
        let grown = self.on_end(now, final_size, true)?;
        if !whole || self.stopped.is_some() {
            self.reset.get_or_insert(error);
            self.assembler.clear();
            self.consume_to(self.highest);
        }
        Ok(grown)
    }

    /// Processes the end of received data, which with `fin` is also the end of the stream.
    fn on_end(&mut self, now: Time, end: u64, fin: bool) -> Result<u64, Error> {
        let wrong = |reason| Err(Error::new(Code::FINAL_SIZE_ERROR, reason));
        match self.final_size {
            Some(size) if end > size => return wrong("data beyond the final size"),
            Some(size) if fin && end != size => return wrong("final size changed"),
            None if fin && end < self.highest => return wrong("final size below received data"),
            _ => {}
        }
        let grown = end.saturating_sub(self.highest);
        self.window.on_received(now, grown)?;
        self.highest += grown;
        if fin {
            self.final_size = Some(end);
        }
        Ok(grown)
    }

    fn consume_to(&mut self, offset: u64) {
        if offset > self.consumed {
            self.window.on_consumed(offset - self.consumed);
            self.consumed = offset;
        }
    }

    /// Reads bytes that are in order.
    pub fn read(&mut self, out: &mut [u8]) -> Read {
        if let Some(error) = self.reset {
            self.told = true;
            return Read::Reset(error);
        }
        if self.stopped.is_some() {
            return Read::End;
        }
        let n = self.assembler.read(out);
        self.consume_to(self.assembler.read_to());
        if n > 0 {
            return Read::Data(n);
        }
        match self.final_size == Some(self.assembler.read_to()) {
            true => {
                self.told = true;
                Read::End
            }
            // With an empty buffer, this happens even if data is available.
            false => Read::Blocked,
        }
    }

    /// Reports whether there is data to read, or an end of the stream to report.
    pub fn is_readable(&self) -> bool {
        let ended = self.final_size == Some(self.assembler.read_to()) || self.reset.is_some();
        !self.told && self.stopped.is_none() && (self.assembler.read_to() < self.ready_to() || ended)
    }

    /// Stops reading. Arriving data is discarded. Unless everything has arrived, the peer is asked
    /// to stop with this error code, at most 2^62 - 1 (section 3.5).
    pub fn stop(&mut self, error: u64) {
        if self.stopped.is_some() {
            return;
        }
        let needed = matches!(self.state(), ReceiveState::Recv | ReceiveState::SizeKnown);
        self.stopped = Some((error, needed));
        self.told = true;
        self.assembler.clear();
        self.consume_to(self.highest);
    }

    /// Returns the error code for STOP_SENDING if it must be sent. It counts as sent from now on.
    pub fn next_stop(&mut self) -> Option<u64> {
        let (error, pending) = self.stopped.as_mut()?;
        let send = std::mem::take(pending) && self.reset.is_none();
        send.then_some(*error)
    }

    /// Reports whether STOP_SENDING must be sent.
    pub const fn has_stop(&self) -> bool {
        matches!(self.stopped, Some((_, true))) && self.reset.is_none()
    }

    /// Processes the loss of STOP_SENDING.
    pub fn on_stop_lost(&mut self) {
        if let Some((_, pending)) = &mut self.stopped {
            *pending = self.reset.is_none() && self.final_size.is_none_or(|size| size > self.highest);
        }
    }

    /// Returns the new limit for MAX_STREAM_DATA. `None` once the final size is known, since no
    /// more credit is needed.
    pub fn update(&mut self, now: Time, smoothed_rtt: Duration) -> Option<u64> {
        if self.final_size.is_some() || self.stopped.is_some() {
            return None;
        }
        self.window.update(now, smoothed_rtt)
    }

    /// Returns the current limit, for a retransmitted MAX_STREAM_DATA.
    pub const fn granted(&self) -> u64 {
        self.window.granted()
    }

    /// Returns the number of bytes since the last call that were read, or will never be read. The
    /// caller returns this credit to the connection's window.
    pub const fn take_consumed(&mut self) -> u64 {
        let new = self.consumed - self.reported;
        self.reported = self.consumed;
        new
    }
}
