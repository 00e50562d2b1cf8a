//! Interface of a connection for applications, experiments and endpoints.

use std::any::Any;
use std::fmt;
use std::net::SocketAddr;

use recovery::Sender;
use units::Time;

use crate::connection::close::State;
use crate::connection::event::Event;
use crate::connection::sent_frames::SentFrames;
use crate::connection::state::{Connection, Counts};
use crate::connection::tap::Tap;
use crate::crypto::session::Session;
use crate::level::{Side, Space};
use crate::streams::datagram::FRAME;
use crate::streams::id::StreamId;
use crate::streams::receive::Read;
use crate::streams::table::{StreamError, StreamTable};
use crate::wire::connection_id::ConnectionId;
use crate::wire::frame::Direction;

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

impl Connection {
    /// Returns the next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front().or_else(|| self.streams.poll_event().map(Event::Stream))
    }

    /// Returns which end this is.
    pub const fn side(&self) -> Side {
        self.side
    }

    /// Returns the state: open, closing, draining or gone.
    pub const fn state(&self) -> State {
        self.lifecycle.state()
    }

    /// Reports whether the handshake is complete.
    pub const fn is_connected(&self) -> bool {
        self.complete
    }

    /// Reports whether the handshake is confirmed (RFC 9001 section 4.1.2).
    pub const fn is_confirmed(&self) -> bool {
        self.confirmed
    }

    /// Returns the session, for its application protocol, server name and secrets.
    pub fn session(&mut self) -> &mut dyn Session {
        &mut *self.session
    }

    /// Returns the local and the remote address of the active path.
    pub fn addresses(&self) -> (SocketAddr, SocketAddr) {
        let addresses = self.paths.active().addresses();
        (addresses.local, addresses.remote)
    }

    /// Returns the state of loss recovery: window, bytes in flight, RTT, pacing, counters, and the
    /// controller.
    pub const fn sender(&self) -> &Sender<SentFrames> {
        &self.sender
    }

    /// Returns the counters besides those of loss recovery.
    pub const fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Returns the number of updates of 1-RTT keys.
    pub fn key_generation(&self) -> u64 {
        self.generation()
    }

    /// Returns the memory used by received data, buffered packets, IDs and events. For tests of
    /// memory bounds.
    pub fn memory(&self) -> usize {
        let held: usize = self.buffered.iter().map(|held| held.bytes.len()).sum();
        let ids = self.remote_ids.as_ref().map_or(0, |ids| ids.memory() + ids.len());
        self.streams.memory() + held + ids + self.events.len()
    }

    /// Sets a tap, which observes everything from now on.
    pub fn set_tap(&mut self, tap: Box<dyn Tap>) {
        self.tap = Some(tap);
    }

    /// Returns the tap, if it has this type.
    pub fn tap<T: Tap>(&self) -> Option<&T> {
        let tap: &dyn Any = self.tap.as_deref()?;
        tap.downcast_ref()
    }

    /// Updates the 1-RTT keys as soon as that is allowed (RFC 9001 section 6).
    pub fn request_key_update(&mut self) {
        if let Some(one_rtt) = &mut self.one_rtt {
            one_rtt.request_update();
        }
    }

    /// Sends an ACK-eliciting packet, to keep the connection alive or to measure its RTT. Has no
    /// effect before the handshake is complete.
    pub fn ping(&mut self) {
        if self.complete {
            let probes = &mut self.spaces[Space::Application as usize].probes;
            *probes = (*probes).max(1);
        }
    }

    /// Returns the table of all streams, for operations that have no method here.
    pub const fn streams(&mut self) -> &mut StreamTable {
        &mut self.streams
    }

    /// Opens a stream. Returns `None` before the handshake is complete, or if the peer allows no
    /// more streams.
    pub fn open(&mut self, direction: Direction) -> Option<StreamId> {
        self.streams.open(direction)
    }

    /// Returns the next stream opened by the peer.
    pub fn accept_stream(&mut self, direction: Direction) -> Option<StreamId> {
        self.streams.accept(direction)
    }

    /// Writes as many bytes as fit, and returns their number.
    ///
    /// # Errors
    /// Fails if the stream does not exist, or is finished or reset.
    pub fn write(&mut self, id: StreamId, data: &[u8]) -> Result<usize, StreamError> {
        self.streams.write(id, data)
    }

    /// Finishes the stream after the bytes written so far.
    ///
    /// # Errors
    /// Fails if the stream does not exist, or was already finished or reset.
    pub fn finish(&mut self, id: StreamId) -> Result<(), StreamError> {
        self.streams.finish(id)
    }

    /// Resets the sending part of a stream, with an error code of at most 2^62 - 1. Larger codes
    /// are reduced to that.
    ///
    /// # Errors
    /// Fails if the stream does not exist.
    pub fn reset(&mut self, id: StreamId, error: u64) -> Result<(), StreamError> {
        self.streams.reset(id, error.min(crate::wire::varint::MAX))
    }

    /// Reads bytes that are in order.
    ///
    /// # Errors
    /// Fails if the stream does not exist.
    pub fn read(&mut self, now: Time, id: StreamId, out: &mut [u8]) -> Result<Read, StreamError> {
        self.streams.read(now, id, out)
    }

    /// Asks the peer to stop sending on a stream, with an error code of at most 2^62 - 1. Larger
    /// codes are reduced to that.
    ///
    /// # Errors
    /// Fails if the stream does not exist.
    pub fn stop(&mut self, now: Time, id: StreamId, error: u64) -> Result<(), StreamError> {
        self.streams.stop(now, id, error.min(crate::wire::varint::MAX))
    }

    /// Returns the size of the largest message that can be sent now, in bytes. `None` if the peer
    /// accepts no messages.
    pub fn max_datagram(&self) -> Option<usize> {
        let peer = self.peer.as_ref().map(|peer| peer.max_datagram_frame_size).filter(|max| *max > 0)?;
        let most = peer
            .saturating_sub(FRAME as u64)
            .min(self.path_info.max_datagram_size.saturating_sub(DATAGRAM_OVERHEAD));
        usize::try_from(most).ok()
    }

    /// Sends a message that is not retransmitted when it is lost (RFC 9221).
    ///
    /// # Errors
    /// Fails if the message is too large, or if too many bytes are waiting.
    pub fn send_datagram(&mut self, message: &[u8]) -> Result<(), Unsendable> {
        if self.max_datagram().is_none_or(|max| message.len() > max) {
            return Err(Unsendable::TooLarge);
        }
        if self.datagrams_out.push(message.to_vec()) { Ok(()) } else { Err(Unsendable::Full) }
    }

    /// Removes the messages that wait to be sent, and returns their number. Outdated messages need
    /// not be sent.
    pub fn withdraw_datagrams(&mut self) -> usize {
        std::iter::from_fn(|| self.datagrams_out.pop()).count()
    }

    /// Returns the next received message.
    pub fn receive_datagram(&mut self) -> Option<Vec<u8>> {
        self.told_datagram = false;
        self.datagrams_in.pop()
    }

    /// Returns how many more connection IDs the peer can store. Call [`issue_id`](Self::issue_id)
    /// that often. Zero before the handshake is complete.
    pub fn ids_wanted(&self) -> usize {
        if self.complete && self.lifecycle.is_open() { self.local_ids.wanted() } else { 0 }
    }

    /// Asks the peer to retire all IDs of this end and to use new ones. Has no effect while an
    /// earlier request is pending, or with zero-length IDs.
    pub fn rotate_ids(&mut self) {
        self.local_ids.rotate();
    }

    /// Issues a further ID of this end to the peer, with its stateless reset token.
    pub fn issue_id(&mut self, id: ConnectionId, reset_token: [u8; 16]) {
        let sequence = self.local_ids.issue(id, reset_token);
        self.announcements.announce_id(sequence);
    }

    /// Returns the IDs of this end that the peer has retired since the last call.
    pub fn take_retired(&mut self) -> Vec<ConnectionId> {
        std::mem::take(&mut self.retired)
    }

    /// Returns the peer's stateless reset tokens, if they or its address have changed since the
    /// last call.
    pub fn take_reset_tokens(&mut self) -> Option<Vec<[u8; 16]>> {
        let ids = self.remote_ids.as_ref().filter(|_| std::mem::take(&mut self.reset_tokens_changed))?;
        Some(ids.reset_tokens().collect())
    }

    /// Sends the client a NEW_TOKEN for a later connection; at most four. Has no effect on clients.
    pub fn send_token(&mut self, token: Vec<u8>) {
        if self.side == Side::Server {
            self.announcements.give_token(token);
        }
    }

    /// Reports the incoming connection of a client to the application.
    pub(crate) fn announce(&mut self) {
        self.events.push_back(Event::Incoming);
    }
}
