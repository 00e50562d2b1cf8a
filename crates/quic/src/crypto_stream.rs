//! The CRYPTO stream of a packet number space (RFC 9000 section 7.5, RFC 9001 section 4.1.3): handshake bytes both ways.

use crate::error::{Code, Error};
use crate::streams::assembler::Assembler;
use crate::streams::outbox::{Chunk, Outbox};
use crate::wire::frame_type::FrameType;

/// How far ahead of what was read the peer's bytes may lie; section 7.5 asks for at least 4096, and chains of certificates for more.
pub const MAX_AHEAD: u64 = 64 * 1024;

/// Handshake bytes of one space. There is no flow control, so this end bounds what it holds.
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
    /// A CRYPTO frame.
    ///
    /// # Errors
    /// CRYPTO_BUFFER_EXCEEDED more than [`MAX_AHEAD`] bytes ahead of what was read.
    pub fn on_crypto(&mut self, offset: u64, data: &[u8]) -> Result<(), Error> {
        if offset + data.len() as u64 > self.assembler.read_to() + MAX_AHEAD {
            let far = Error::new(Code::CRYPTO_BUFFER_EXCEEDED, "handshake bytes too far ahead");
            return Err(far.in_frame(FrameType::CRYPTO.0));
        }
        self.assembler.insert(offset, data);
        Ok(())
    }

    /// What is in order and was not read yet, for the handshake; empty when there is nothing.
    pub fn read(&mut self) -> Vec<u8> {
        let mut data = vec![0; (self.assembler.ready_to() - self.assembler.read_to()) as usize];
        self.assembler.read(&mut data);
        data
    }

    /// Bytes that lie beyond a gap: when the next level's keys come, there must be none (RFC 9001 section 4.1.3).
    pub fn has_leftovers(&self) -> bool {
        self.assembler.has_beyond()
    }

    /// Bytes of the handshake to be sent.
    pub fn write(&mut self, data: &[u8]) {
        self.outbox.write(data);
    }

    /// There is something to send.
    pub fn has_pending(&self) -> bool {
        self.outbox.has_pending(u64::MAX)
    }

    /// Nothing that was written is unacknowledged.
    pub const fn is_acked(&self) -> bool {
        self.outbox.is_acked()
    }

    /// What goes into the next packet, at most `max` bytes; lost ones first.
    pub fn next(&mut self, max: usize) -> Option<Chunk> {
        self.outbox.next(max, u64::MAX)
    }

    /// Copies the bytes of a chunk into the packet.
    pub fn copy(&self, offset: u64, out: &mut [u8]) {
        self.outbox.copy(offset, out);
    }

    /// Nothing that was sent has arrived, for all that is known: it is sent again (RFC 9002 section 6.2.4; after a Retry, RFC 9000
    /// section 17.2.5.3).
    pub fn resend(&mut self) {
        self.outbox.on_lost(0..self.outbox.sent());
    }

    /// A packet with this chunk was acknowledged.
    pub fn on_acked(&mut self, chunk: Chunk) {
        self.outbox.on_acked(chunk.range());
    }

    /// A packet with this chunk was lost; for a probe also one that is only late (RFC 9002 section 6.2.4).
    pub fn on_lost(&mut self, chunk: Chunk) {
        self.outbox.on_lost(chunk.range());
    }
}
