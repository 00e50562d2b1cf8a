//! The sending part of a stream (RFC 9000 section 3.1).

use super::flow::SendCredit;
use super::outbox::{Chunk, Outbox};

/// States of figure 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendState {
    /// Nothing was sent.
    Ready,
    /// Data is sent.
    Send,
    /// All was sent, with FIN.
    DataSent,
    /// RESET_STREAM was sent, or will be.
    ResetSent,
    /// All was acknowledged.
    DataRecvd,
    /// RESET_STREAM was acknowledged.
    ResetRecvd,
}

/// Why an application cannot write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Closed {
    /// It has finished the stream itself.
    Finished,
    /// The stream was reset, with this error code of the application.
    Reset(u64),
}

/// What is on its way to the peer, and whether it arrived.
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
    /// `max_data` is what the peer's transport parameters grant such a stream; of what the application writes at most `capacity` bytes are
    /// held.
    pub const fn new(max_data: u64, capacity: usize) -> Self {
        Self::with(Outbox::new(capacity), max_data)
    }

    /// A stream of bytes of a pattern ([`super::pattern`]), which take no memory: so many, and more or fewer with
    /// [`offer`](Self::offer).
    pub const fn open_pattern(max_data: u64, bytes: u64) -> Self {
        Self::with(Outbox::of_pattern(bytes), max_data)
    }

    /// The same, finished.
    pub const fn of_pattern(max_data: u64, bytes: u64) -> Self {
        let mut stream = Self::open_pattern(max_data, bytes);
        stream.fin = Some(Delivery::Pending);
        stream
    }

    const fn with(outbox: Outbox, max_data: u64) -> Self {
        Self { outbox, credit: SendCredit::new(max_data), fin: None, reset: None, stopped: None }
    }

    /// The state of figure 2.
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

    /// Nothing more will happen: the sending part can be forgotten.
    pub fn is_over(&self) -> bool {
        matches!(self.state(), SendState::DataRecvd | SendState::ResetRecvd)
    }

    /// Takes as many bytes as there is room for; says how many.
    ///
    /// # Errors
    /// When the stream is finished or reset.
    pub fn write(&mut self, data: &[u8]) -> Result<usize, Closed> {
        match (self.reset, self.fin) {
            (Some((error, _)), _) => Err(Closed::Reset(error)),
            (None, Some(_)) => Err(Closed::Finished),
            (None, None) => Ok(self.outbox.write(data)),
        }
    }

    /// The pattern of [`open_pattern`](Self::open_pattern) goes up to here from now on, and no less far than what was sent.
    ///
    /// # Errors
    /// When the stream is finished or reset.
    pub fn offer(&mut self, end: u64) -> Result<(), Closed> {
        self.write(&[])?;
        self.outbox.offer(end);
        Ok(())
    }

    /// Up to where the peer allows it to send.
    pub const fn granted(&self) -> u64 {
        self.credit.max()
    }

    /// How many bytes [`write`](Self::write) would take.
    pub fn room(&self) -> usize {
        self.outbox.room()
    }

    /// How many bytes that were written are held until they are acknowledged.
    pub fn held(&self) -> usize {
        self.outbox.held()
    }

    /// What was written is all.
    ///
    /// # Errors
    /// When the stream was finished or reset before.
    pub fn finish(&mut self) -> Result<(), Closed> {
        self.write(&[])?;
        self.fin = Some(Delivery::Pending);
        Ok(())
    }

    /// Ends the stream at once with an error code of the application (at most 2^62 - 1); what was not acknowledged may never arrive. Nothing
    /// happens when all has arrived, or to a stream that was reset before.
    pub fn reset(&mut self, error: u64) {
        if self.reset.is_none() && self.state() != SendState::DataRecvd {
            self.reset = Some((error, Delivery::Pending));
            self.outbox.clear();
        }
    }

    /// STOP_SENDING: the peer does not want more. The stream is reset with the peer's code (section 3.5).
    pub fn on_stop_sending(&mut self, error: u64) {
        self.stopped.get_or_insert(error);
        self.reset(error);
    }

    /// The error code with which the peer asked to stop.
    pub const fn stopped(&self) -> Option<u64> {
        self.stopped
    }

    /// MAX_STREAM_DATA.
    pub const fn on_max_stream_data(&mut self, max: u64) {
        self.credit.raise(max);
    }

    /// The limit for STREAM_DATA_BLOCKED, once for each limit that holds data back.
    pub fn blocked(&mut self) -> Option<u64> {
        let more = self.reset.is_none() && self.outbox.end() > self.credit.max();
        if more { self.credit.blocked() } else { None }
    }

    /// STREAM_DATA_BLOCKED was lost.
    pub const fn on_blocked_lost(&mut self) {
        self.credit.on_blocked_lost();
    }

    /// Whether [`next`](Self::next) has something, given so much credit of the connection.
    pub fn has_pending(&self, connection_credit: u64) -> bool {
        self.reset.is_none()
            && (self.outbox.has_pending(self.limit(connection_credit)) || self.is_fin_pending())
    }

    /// The offset of what [`next`](Self::next) will give: how long its header is.
    pub fn next_offset(&self) -> u64 {
        self.outbox.next_offset()
    }

    /// Up to which offset new bytes may go.
    fn limit(&self, connection_credit: u64) -> u64 {
        self.credit.max().min(self.outbox.sent().saturating_add(connection_credit))
    }

    /// FIN alone, or together with data that is sent already, is all that is left.
    fn is_fin_pending(&self) -> bool {
        self.fin == Some(Delivery::Pending) && self.outbox.sent() == self.outbox.end()
    }

    /// What goes into the next packet: at most `max` bytes; lost ones first, new ones within the credit of stream and connection. Also gives
    /// how many of them are new: so many the caller takes from the connection's credit.
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

    /// Copies the bytes of a chunk that [`next`](Self::next) gave into the packet, at once.
    pub fn copy(&self, offset: u64, out: &mut [u8]) {
        self.outbox.copy(offset, out);
    }

    /// A packet with this chunk was acknowledged.
    pub fn on_acked(&mut self, chunk: Chunk) {
        if self.reset.is_none() {
            self.outbox.on_acked(chunk.range());
            if chunk.fin {
                self.fin = Some(Delivery::Acked);
            }
        }
    }

    /// A packet with this chunk was lost.
    pub fn on_lost(&mut self, chunk: Chunk) {
        if self.reset.is_none() {
            self.outbox.on_lost(chunk.range());
            if chunk.fin && self.fin == Some(Delivery::InFlight) {
                self.fin = Some(Delivery::Pending);
            }
        }
    }

    /// Error code and final size for RESET_STREAM, when it is to be sent; it counts as sent from now on.
    pub fn next_reset(&mut self) -> Option<(u64, u64)> {
        let (error, delivery) = self.reset.as_mut()?;
        if *delivery != Delivery::Pending {
            return None;
        }
        *delivery = Delivery::InFlight;
        Some((*error, self.outbox.sent()))
    }

    /// RESET_STREAM or STREAM_DATA_BLOCKED is to be sent.
    pub fn has_control(&self) -> bool {
        let resets = matches!(self.reset, Some((_, Delivery::Pending)));
        resets || (self.reset.is_none() && self.outbox.end() > self.credit.max() && self.credit.is_news())
    }

    /// RESET_STREAM was acknowledged.
    pub fn on_reset_acked(&mut self) {
        if let Some((_, delivery)) = &mut self.reset {
            *delivery = Delivery::Acked;
        }
    }

    /// RESET_STREAM was lost.
    pub fn on_reset_lost(&mut self) {
        if let Some((_, delivery @ Delivery::InFlight)) = &mut self.reset {
            *delivery = Delivery::Pending;
        }
    }
}
