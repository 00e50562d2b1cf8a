//! The CRYPTO stream of a packet number space, in both directions (RFC 9000 section 7.5, RFC 9001
//! section 4.1.3).

use crate::error::{Code, Error};
use crate::streams::assembler::Assembler;
use crate::streams::outbox::{Chunk, Outbox};
use crate::wire::frame_type::FrameType;

/// Maximum distance of received data ahead of read data, in bytes. Section 7.5 requires at least
/// 4096; certificate chains need more.
pub const MAX_AHEAD: u64 = 64 * 1024;

/// Handshake bytes of one space. CRYPTO streams have no flow control, so this end bounds its
/// buffer.
pub struct CryptoStream {
    outbox: Outbox,
    assembler: Assembler,
}

impl Default for CryptoStream {
    fn default() -> Self {
        Self { outbox: Outbox::new(usize::MAX), assembler: Assembler::default() }
    }
}

impl CryptoStream {
    /// Processes a CRYPTO frame.
    ///
    /// # Errors
    /// CRYPTO_BUFFER_EXCEEDED if data lies more than [`MAX_AHEAD`] bytes ahead of read data.
    pub fn on_crypto(&mut self, offset: u64, data: &[u8]) -> Result<(), Error> {
        if offset + data.len() as u64 > self.assembler.read_to() + MAX_AHEAD {
            let far = Error::new(Code::CRYPTO_BUFFER_EXCEEDED, "CRYPTO data too far ahead");
            return Err(far.in_frame(FrameType::CRYPTO.0));
        }
        self.assembler.insert(offset, data);
        Ok(())
    }

    /// Reads all bytes that are in order, for the handshake. Empty if there are none.
    pub fn read(&mut self) -> Vec<u8> {
        let mut data = vec![0; (self.assembler.ready_to() - self.assembler.read_to()) as usize];
        self.assembler.read(&mut data);
        data
    }

    /// Reports whether bytes lie beyond a gap. There must be none when the keys of the next level
    /// arrive (RFC 9001 section 4.1.3).
    pub fn has_leftovers(&self) -> bool {
        self.assembler.has_beyond()
    }

    /// Appends handshake bytes to be sent.
    pub fn write(&mut self, data: &[u8]) {
        self.outbox.write(data);
    }

    /// Reports whether there is something to send.
    pub fn has_pending(&self) -> bool {
        self.outbox.has_pending(u64::MAX)
    }

    /// Reports whether all written bytes are acknowledged.
    pub const fn is_acked(&self) -> bool {
        self.outbox.is_acked()
    }

    /// Returns the next chunk to send, of at most `max` bytes. Lost bytes go first.
    pub fn next(&mut self, max: usize) -> Option<Chunk> {
        self.outbox.next(max, u64::MAX)
    }

    /// Copies the bytes of a chunk into a packet.
    pub fn copy(&self, offset: u64, out: &mut [u8]) {
        self.outbox.copy(offset, out);
    }

    /// Marks everything sent as lost, so that it is sent again (RFC 9002 section 6.2.4; after a
    /// Retry, RFC 9000 section 17.2.5.3).
    pub fn resend(&mut self) {
        self.outbox.on_lost(0..self.outbox.sent());
    }

    /// Processes the acknowledgement of a packet with this chunk.
    pub fn on_acked(&mut self, chunk: Chunk) {
        self.outbox.on_acked(chunk.range());
    }

    /// Processes the loss of a packet with this chunk. A probe also treats a packet as lost that is
    /// only late (RFC 9002 section 6.2.4).
    pub fn on_lost(&mut self, chunk: Chunk) {
        self.outbox.on_lost(chunk.range());
    }
}
