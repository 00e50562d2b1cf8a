//! The sending part of a stream (RFC 9000 section 3.1).

use super::flow::SendCredit;
use super::outbox::{Chunk, Outbox};

/// State of the sending part, as in figure 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendState {
    /// Nothing was sent.
    Ready,
    /// Data is being sent.
    Send,
    /// All data was sent, with FIN.
    DataSent,
    /// RESET_STREAM was sent, or will be.
    ResetSent,
    /// All data was acknowledged.
    DataRecvd,
    /// RESET_STREAM was acknowledged.
    ResetRecvd,
}

/// Reason why an application cannot write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Closed {
    /// The application has finished the stream.
    Finished,
    /// The stream was reset, with this error code of the application.
    Reset(u64),
}

/// Delivery state of a FIN or reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Delivery {
    Pending,
    InFlight,
    Acked,
}

/// The sending part of one stream.
#[derive(Clone, Debug)]
pub struct SendStream {
    outbox: Outbox,
    credit: SendCredit,
    fin: Option<Delivery>,
    reset: Option<(u64, Delivery)>,
    stopped: Option<u64>,
}

impl SendStream {
    /// Creates a stream. `max_data` is the credit from the peer's transport parameters. At most
    /// `capacity` written bytes are stored.
    pub const fn new(max_data: u64, capacity: usize) -> Self {
        Self::with(Outbox::new(capacity), max_data)
    }

    /// Creates an unfinished stream with `bytes` bytes of the pattern ([`super::pattern`]), which
    /// take no memory. [`offer`](Self::offer) changes the number of bytes.
    pub const fn open_pattern(max_data: u64, bytes: u64) -> Self {
        Self::with(Outbox::with_pattern(bytes), max_data)
    }

    /// Creates a finished stream with `bytes` bytes of the pattern.
    pub const fn finished_pattern(max_data: u64, bytes: u64) -> Self {
        let mut stream = Self::open_pattern(max_data, bytes);
        stream.fin = Some(Delivery::Pending);
        stream
    }

    const fn with(outbox: Outbox, max_data: u64) -> Self {
        Self { outbox, credit: SendCredit::new(max_data), fin: None, reset: None, stopped: None }
    }

    /// Returns the state in figure 2.
    pub fn state(&self) -> SendState {
        match (self.reset, self.fin) {
            (Some((_, Delivery::Acked)), _) => SendState::ResetRecvd,
            (Some(_), _) => SendState::ResetSent,
            (None, Some(Delivery::Acked)) if self.outbox.is_acked() => SendState::DataRecvd,
            (None, Some(Delivery::InFlight | Delivery::Acked)) => SendState::DataSent,
            _ if self.outbox.sent() == 0 => SendState::Ready,
            _ => SendState::Send,
        }
    }

    /// Reports whether the sending part is complete and can be forgotten.
    pub fn is_over(&self) -> bool {
        matches!(self.state(), SendState::DataRecvd | SendState::ResetRecvd)
    }

    /// Writes as many bytes as fit, and returns their number.
    ///
    /// # Errors
    /// Fails if the stream is finished or reset.
    pub fn write(&mut self, data: &[u8]) -> Result<usize, Closed> {
        match (self.reset, self.fin) {
            (Some((error, _)), _) => Err(Closed::Reset(error)),
            (None, Some(_)) => Err(Closed::Finished),
            (None, None) => Ok(self.outbox.write(data)),
        }
    }

    /// Sets the end of the pattern of [`open_pattern`](Self::open_pattern), but not below what was
    /// sent.
    ///
    /// # Errors
    /// Fails if the stream is finished or reset.
    pub fn offer(&mut self, end: u64) -> Result<(), Closed> {
        self.write(&[])?;
        self.outbox.offer(end);
        Ok(())
    }

    /// Returns the limit that the peer grants.
    pub const fn granted(&self) -> u64 {
        self.credit.max()
    }

    /// Returns the number of bytes that [`write`](Self::write) would take.
    pub fn room(&self) -> usize {
        self.outbox.room()
    }

    /// Returns the number of written bytes that are not acknowledged.
    pub const fn held(&self) -> usize {
        self.outbox.held()
    }

    /// Returns the memory of written bytes: see [`Outbox::memory`].
    pub fn memory(&self) -> usize {
        self.outbox.memory()
    }

    /// Finishes the stream after the bytes written so far.
    ///
    /// # Errors
    /// Fails if the stream was already finished or reset.
    pub fn finish(&mut self) -> Result<(), Closed> {
        self.write(&[])?;
        self.fin = Some(Delivery::Pending);
        Ok(())
    }

    /// Resets the stream with an error code of the application, at most 2^62 - 1. Unacknowledged
    /// data may never arrive.
    ///
    /// Has no effect if all data has arrived, or if the stream was already reset.
    pub fn reset(&mut self, error: u64) {
        if self.reset.is_none() && self.state() != SendState::DataRecvd {
            self.reset = Some((error, Delivery::Pending));
            self.outbox.clear();
        }
    }

    /// Processes STOP_SENDING. Resets the stream with the peer's error code (section 3.5).
    pub fn on_stop_sending(&mut self, error: u64) {
        self.stopped.get_or_insert(error);
        self.reset(error);
    }

    /// Returns the error code of the peer's STOP_SENDING.
    pub const fn stopped(&self) -> Option<u64> {
        self.stopped
    }

    /// Processes MAX_STREAM_DATA.
    pub const fn on_max_stream_data(&mut self, max: u64) {
        self.credit.raise(max);
    }

    /// Returns the limit for STREAM_DATA_BLOCKED, once per limit that holds data back.
    pub fn blocked(&mut self) -> Option<u64> {
        let more = self.reset.is_none() && self.outbox.end() > self.credit.max();
        if more { self.credit.blocked() } else { None }
    }

    /// Processes the loss of STREAM_DATA_BLOCKED.
    pub const fn on_blocked_lost(&mut self) {
        self.credit.on_blocked_lost();
    }

    /// Reports whether [`next`](Self::next) would return a chunk, given the connection's credit.
    pub fn has_pending(&self, connection_credit: u64) -> bool {
        self.reset.is_none()
            && (self.outbox.has_pending(self.limit(connection_credit)) || self.is_fin_pending())
    }

    /// Returns the number of new bytes that wait, given the connection's credit, or `None` if lost
    /// bytes come first.
    pub fn waiting(&self, connection_credit: u64) -> Option<u64> {
        self.outbox.waiting(self.limit(connection_credit))
    }

    /// Returns the offset of the next chunk that [`next`](Self::next) will return. It determines
    /// the size of the header.
    pub fn next_offset(&self) -> u64 {
        self.outbox.next_offset()
    }

    /// Returns the limit of new bytes, as an offset.
    fn limit(&self, connection_credit: u64) -> u64 {
        self.credit.max().min(self.outbox.sent().saturating_add(connection_credit))
    }

    /// Reports whether only the FIN must be sent, alone or with data that was sent before.
    fn is_fin_pending(&self) -> bool {
        self.fin == Some(Delivery::Pending) && self.outbox.sent() == self.outbox.end()
    }

    /// Returns the next chunk, of at most `max` bytes: lost bytes first, then new bytes within the
    /// credit of stream and connection.
    ///
    /// Also returns the number of new bytes, which the caller takes from the connection's credit.
    pub fn next(&mut self, max: usize, connection_credit: u64) -> Option<(Chunk, u64)> {
        if self.reset.is_some() {
            return None;
        }
        let before = self.outbox.sent();
        let chunk = self.outbox.next(max, self.limit(connection_credit));
        let new = self.outbox.sent() - before;
        self.credit.consume(new);
        let end = self.outbox.end();
        let fin = match chunk {
            Some(chunk) => self.fin.is_some() && chunk.range().end == end,
            None => self.is_fin_pending(),
        };
        if fin && self.fin != Some(Delivery::Acked) {
            self.fin = Some(Delivery::InFlight);
        }
        match chunk {
            Some(chunk) => Some((Chunk { fin, ..chunk }, new)),
            None => fin.then_some((Chunk { offset: end, len: 0, fin }, 0)),
        }
    }

    /// Copies the bytes of a chunk returned by [`next`](Self::next) into a packet. Call this
    /// immediately.
    pub fn copy(&self, offset: u64, out: &mut [u8]) {
        self.outbox.copy(offset, out);
    }

    /// Processes the acknowledgement of a packet with this chunk.
    pub fn on_acked(&mut self, chunk: Chunk) {
        if self.reset.is_none() {
            self.outbox.on_acked(chunk.range());
            if chunk.fin {
                self.fin = Some(Delivery::Acked);
            }
        }
    }

    /// Processes the loss of a packet with this chunk.
    pub fn on_lost(&mut self, chunk: Chunk) {
        if self.reset.is_none() {
            self.outbox.on_lost(chunk.range());
            if chunk.fin && self.fin == Some(Delivery::InFlight) {
                self.fin = Some(Delivery::Pending);
            }
        }
    }

    /// Returns error code and final size for RESET_STREAM if it must be sent. It counts as sent
    /// from now on.
    pub fn next_reset(&mut self) -> Option<(u64, u64)> {
        let (error, delivery) = self.reset.as_mut()?;
        if *delivery != Delivery::Pending {
            return None;
        }
        *delivery = Delivery::InFlight;
        Some((*error, self.outbox.sent()))
    }

    /// Reports whether RESET_STREAM or STREAM_DATA_BLOCKED must be sent.
    pub fn has_control(&self) -> bool {
        let resets = matches!(self.reset, Some((_, Delivery::Pending)));
        resets || (self.reset.is_none() && self.outbox.end() > self.credit.max() && self.credit.is_news())
    }

    /// Processes the acknowledgement of RESET_STREAM.
    pub fn on_reset_acked(&mut self) {
        if let Some((_, delivery)) = &mut self.reset {
            *delivery = Delivery::Acked;
        }
    }

    /// Processes the loss of RESET_STREAM.
    pub fn on_reset_lost(&mut self) {
        if let Some((_, delivery @ Delivery::InFlight)) = &mut self.reset {
            *delivery = Delivery::Pending;
        }
    }
}
