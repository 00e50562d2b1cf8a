//! The receiving part of a stream (RFC 9000 section 3.2).

use units::{Duration, Time};

use super::assembler::{Assembler, Keep};
use super::flow::{ReceiveWindow, WindowConfig};
use crate::error::{Code, Error};

/// States of figure 3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceiveState {
    /// Data comes.
    Recv,
    /// The final size is known.
    SizeKnown,
    /// All has come.
    DataRecvd,
    /// RESET_STREAM has come.
    ResetRecvd,
    /// All was read.
    DataRead,
    /// The application knows of the reset.
    ResetRead,
}

/// What an application gets when it reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Read {
    /// So many bytes.
    Data(usize),
    /// Nothing yet.
    Blocked,
    /// The stream is over.
    End,
    /// The peer has reset it, with this error code of the application.
    Reset(u64),
}

/// The receiving part of one stream.
pub struct ReceiveStream {
    assembler: Assembler,
    window: ReceiveWindow,
    /// The highest offset that was seen.
    highest: u64,
    final_size: Option<u64>,
    reset: Option<u64>,
    /// The application knows how it ended.
    told: bool,
    /// The application does not want more: with which code, and whether STOP_SENDING is still to be sent.
    stopped: Option<(u64, bool)>,
    /// Bytes that count as read for the connection, and those it has heard of.
    consumed: u64,
    reported: u64,
}

impl ReceiveStream {
    /// A stream that grants as `config` says.
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

    /// The state of figure 3.
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

    /// Nothing more will happen: the receiving part can be forgotten. Also when the application has stopped it and the size is known:
    /// frames that come later are ignored (section 3.5).
    pub fn is_over(&self) -> bool {
        let stopped = self.stopped.is_some() && self.final_size.is_some();
        stopped || matches!(self.state(), ReceiveState::DataRead | ReceiveState::ResetRead)
    }

    /// All below has come. What an application has stopped is not put together any more.
    pub const fn ready_to(&self) -> u64 {
        self.assembler.ready_to()
    }

    /// How much memory the data takes, in bytes.
    pub fn memory(&self) -> usize {
        self.assembler.memory()
    }

    /// The final size, once it is known.
    pub const fn final_size(&self) -> Option<u64> {
        self.final_size
    }

    /// The SHA-256 of what came in order, with [`Keep::Hash`].
    pub fn sha256(&self) -> Option<[u8; 32]> {
        self.assembler.sha256()
    }

    /// A STREAM frame. Gives by how much the highest offset rose: so much the caller counts against the connection's window, before anything
    /// else.
    ///
    /// # Errors
    /// FLOW_CONTROL_ERROR beyond this stream's limit; FINAL_SIZE_ERROR as section 4.5 says.
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

    /// RESET_STREAM. Gives the same as [`on_stream`](Self::on_stream).
    ///
    /// # Errors
    /// As there.
    pub fn on_reset(&mut self, now: Time, error: u64, final_size: u64) -> Result<u64, Error> {
        // What has come as a whole is not taken back (section 3.2); that it is whole a FIN says, and no reset.
        let whole = matches!(self.state(), ReceiveState::DataRecvd | ReceiveState::DataRead);
        let grown = self.on_end(now, final_size, true)?;
        if !whole || self.stopped.is_some() {
            self.reset.get_or_insert(error);
            self.assembler.clear();
            self.consume_to(self.highest);
        }
        Ok(grown)
    }

    /// Data ends at `end`, and with `fin` the stream does.
    fn on_end(&mut self, now: Time, end: u64, fin: bool) -> Result<u64, Error> {
        let wrong = |reason| Err(Error::new(Code::FINAL_SIZE_ERROR, reason));
        match self.final_size {
            Some(size) if end > size => return wrong("data beyond the final size"),
            Some(size) if fin && end != size => return wrong("another final size"),
            None if fin && end < self.highest => return wrong("a final size below data"),
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

    /// Reads what is in order.
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
            // An empty buffer reads nothing, though there may be something.
            false => Read::Blocked,
        }
    }

    /// There is something to read, or an end to hear of.
    pub fn is_readable(&self) -> bool {
        let ended = self.final_size == Some(self.assembler.read_to()) || self.reset.is_some();
        !self.told && self.stopped.is_none() && (self.assembler.read_to() < self.ready_to() || ended)
    }

    /// The application does not want more: what comes is thrown away, and the peer is asked to stop with this error code (at most
    /// 2^62 - 1), unless all has come (section 3.5).
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

    /// The code for STOP_SENDING, when it is to be sent; it counts as sent from now on.
    pub fn next_stop(&mut self) -> Option<u64> {
        let (error, pending) = self.stopped.as_mut()?;
        let send = std::mem::take(pending) && self.reset.is_none();
        send.then_some(*error)
    }

    /// STOP_SENDING is to be sent.
    pub const fn has_stop(&self) -> bool {
        matches!(self.stopped, Some((_, true))) && self.reset.is_none()
    }

    /// STOP_SENDING was lost.
    pub fn on_stop_lost(&mut self) {
        if let Some((_, pending)) = &mut self.stopped {
            *pending = self.reset.is_none() && self.final_size.is_none_or(|size| size > self.highest);
        }
    }

    /// The new limit for MAX_STREAM_DATA; none once the final size is known, since then nobody needs it.
    pub fn update(&mut self, now: Time, smoothed_rtt: Duration) -> Option<u64> {
        if self.final_size.is_some() || self.stopped.is_some() {
            return None;
        }
        self.window.update(now, smoothed_rtt)
    }

    /// The limit that was granted last, for MAX_STREAM_DATA sent again.
    pub const fn granted(&self) -> u64 {
        self.window.granted()
    }

    /// How many bytes were read since the last call, or will never be: so many the caller gives back to the connection's window.
    pub const fn take_consumed(&mut self) -> u64 {
        let new = self.consumed - self.reported;
        self.reported = self.consumed;
        new
    }
}
