//! Messages in DATAGRAM frames, which are not retransmitted (RFC 9221).

use std::fmt;
use std::mem;

use crate::config::DatagramConfig;
use crate::connection::sent_frames::{FrameWriter, SentFrame};
use crate::streams::datagram::{DatagramQueue, FRAME, WhenFull};
use crate::wire::frame::Frame;

/// Maximum overhead of a packet with a DATAGRAM frame, in bytes: header and tag, frame type and
/// length.
pub const DATAGRAM_OVERHEAD: u64 = 1 + 20 + 4 + 16 + FRAME as u64;

/// Reason why a message cannot be sent (RFC 9221).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unsendable {
    /// The message exceeds the peer's limit or the size of a packet, or the peer does not support
    /// DATAGRAM.
    TooLarge,
    /// Too many bytes are already waiting.
    Full,
}

impl fmt::Display for Unsendable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TooLarge => "the message is too large for this peer and path",
            Self::Full => "too many messages are waiting to be sent",
        })
    }
}

impl std::error::Error for Unsendable {}

/// Messages in both directions.
pub(super) struct Messages {
    received: DatagramQueue,
    pub(super) waiting: DatagramQueue,
    /// Maximum size of a frame that the peer accepts; 0 for none.
    pub(super) max_frame: u64,
    /// Whether the application knows that messages can be received.
    told: bool,
}

impl Messages {
    /// Creates empty queues.
    pub(super) fn new(config: DatagramConfig) -> Self {
        let queue = |max: u64, full| DatagramQueue::new(usize::try_from(max).unwrap_or(usize::MAX), full);
        Self {
            received: queue(config.receive_queue.0, WhenFull::DropOldest),
            waiting: queue(config.send_queue.0, WhenFull::Refuse),
            max_frame: 0,
            told: false,
        }
    }

    /// Returns the size of the largest message in a datagram of this size, or `None` if the peer
    /// accepts no messages.
    pub(super) fn max(&self, datagram: u64) -> Option<usize> {
        let by_peer = self.max_frame.saturating_sub(FRAME as u64);
        let most = by_peer.min(datagram.saturating_sub(DATAGRAM_OVERHEAD));
        usize::try_from(most).ok().filter(|_| self.max_frame > 0)
    }

    /// Queues a message for a datagram of this size.
    pub(super) fn send(&mut self, message: &[u8], datagram: u64) -> Result<(), Unsendable> {
        if self.max(datagram).is_none_or(|max| message.len() > max) {
            return Err(Unsendable::TooLarge);
        }
        if self.waiting.push(message.to_vec()) { Ok(()) } else { Err(Unsendable::Full) }
    }

    /// Writes the waiting messages that fit.
    pub(super) fn write(&mut self, out: &mut FrameWriter<'_>) {
        while let Some(room) = out.w.remaining().checked_sub(FRAME) {
            let Some(data) = self.waiting.pop_within(room) else { return };
            out.put(Frame::Datagram { data: &data, length: true }, SentFrame::Datagram(data.len()));
        }
    }

    /// Processes DATAGRAM. Returns whether to tell the application.
    pub(super) fn on_frame(&mut self, data: &[u8]) -> bool {
        self.received.push(data.to_vec());
        !self.received.is_empty() && !mem::replace(&mut self.told, true)
    }

    /// Returns the next received message.
    pub(super) fn receive(&mut self) -> Option<Vec<u8>> {
        self.told = false;
        self.received.pop()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::codec::Writer;

    fn write(messages: &mut Messages, room: usize) -> Vec<SentFrame> {
        let (mut buf, mut items) = (vec![0; room], Vec::new());
        messages.write(&mut FrameWriter { w: Writer::new(&mut buf), items: &mut items });
        items
    }

    #[test]
    fn limited_by_peer_packet_and_queue() {
        let mut messages =
            Messages::new(DatagramConfig { send_queue: units::Bytes(1000), ..Default::default() });
        assert_eq!((messages.max(1200), messages.send(b"", 1200)), (None, Err(Unsendable::TooLarge)));
        messages.max_frame = 503;
        assert_eq!(
            (messages.max(1200), messages.max(400), messages.max(10)),
            (Some(500), Some(356), Some(0))
        );
        assert_eq!(messages.send(&[0; 501], 1200), Err(Unsendable::TooLarge));
        assert_eq!(messages.send(&[0; 500], 1200), Ok(()));
        assert_eq!(messages.send(&[0; 500], 1200), Err(Unsendable::Full));
        assert_eq!(messages.send(&[0; 100], 1200), Ok(()));
        // Messages do not overtake each other.
        assert_eq!(write(&mut messages, 502), []);
        assert_eq!(write(&mut messages, 605), [SentFrame::Datagram(500)]);
        assert_eq!(write(&mut messages, 103), [SentFrame::Datagram(100)]);
    }

    #[test]
    fn told_once_until_the_application_looks() {
        let mut messages = Messages::new(DatagramConfig::default());
        assert!(messages.on_frame(b"a") && !messages.on_frame(b"b"));
        assert_eq!((messages.receive(), messages.on_frame(b"c")), (Some(b"a".to_vec()), true));
    }
}
