//! Interface of a connection for applications, experiments and endpoints.

use std::any::Any;
use std::net::SocketAddr;

use recovery::Sender;
use units::Time;

use crate::connection::close::State;
use crate::connection::event::Event;
use crate::connection::messages::Unsendable;
use crate::connection::sent_frames::SentFrames;
use crate::connection::state::{Connection, Counts, Stage};
use crate::connection::tap::Tap;
use crate::crypto::session::Session;
use crate::level::{Side, Space};
use crate::streams::id::StreamId;
use crate::streams::receive::Read;
use crate::streams::table::{StreamError, StreamTable};
use crate::wire::connection_id::ConnectionId;
use crate::wire::frame::Direction;

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
        matches!(self.stage, Stage::Complete | Stage::Confirmed)
    }

    /// Reports whether the handshake is confirmed (RFC 9001 section 4.1.2).
    pub const fn is_confirmed(&self) -> bool {
        matches!(self.stage, Stage::Confirmed)
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
        &self.loss.sender
    }

    /// Returns the counters besides those of loss recovery.
    pub const fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Returns the number of updates of 1-RTT keys.
    pub fn key_generation(&self) -> u64 {
        self.keys.generation()
    }

    /// Returns the memory used by received data, buffered packets, IDs and events. For tests of
    /// memory bounds.
    pub fn memory(&self) -> usize {
        let ids = self.ids.remote.memory() + self.ids.remote.len();
        self.streams.memory() + self.early.bytes() + ids + self.events.len()
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
        if let Some(one_rtt) = &mut self.keys.one_rtt {
            one_rtt.request_update();
        }
    }

    /// Sends an ACK-eliciting packet, to keep the connection alive or to measure its RTT. Has no
    /// effect before the handshake is complete.
    pub fn ping(&mut self) {
        if self.is_connected() {
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
        self.messages.max(self.loss.path.max_datagram_size)
    }

    /// Sends a message that is not retransmitted when it is lost (RFC 9221).
    ///
    /// # Errors
    /// Fails if the message is too large, or if too many bytes are waiting.
    pub fn send_datagram(&mut self, message: &[u8]) -> Result<(), Unsendable> {
        self.messages.send(message, self.loss.path.max_datagram_size)
    }

    /// Removes the messages that wait to be sent, and returns their number. Outdated messages need
    /// not be sent.
    pub fn withdraw_datagrams(&mut self) -> usize {
        std::iter::from_fn(|| self.messages.waiting.pop()).count()
    }

    /// Returns the next received message.
    pub fn receive_datagram(&mut self) -> Option<Vec<u8>> {
        self.messages.receive()
    }

    /// Returns how many more connection IDs the peer can store. Call [`issue_id`](Self::issue_id)
    /// that often. Zero before the handshake is complete.
    pub fn ids_wanted(&self) -> usize {
        if self.is_connected() && self.lifecycle.is_open() { self.ids.local.wanted() } else { 0 }
    }

    /// Asks the peer to retire all IDs of this end and to use new ones. Has no effect while an
    /// earlier request is pending, or with zero-length IDs.
    pub fn rotate_ids(&mut self) {
        self.ids.local.rotate();
    }

    /// Issues a further ID of this end to the peer, with its stateless reset token.
    pub fn issue_id(&mut self, id: ConnectionId, reset_token: [u8; 16]) {
        self.ids.issue(id, reset_token);
    }

    /// Returns the IDs of this end that the peer has retired since the last call.
    pub fn take_retired(&mut self) -> Vec<ConnectionId> {
        std::mem::take(&mut self.ids.retired)
    }

    /// Returns the peer's stateless reset tokens, if they or its address have changed since the
    /// last call.
    pub fn take_reset_tokens(&mut self) -> Option<Vec<[u8; 16]>> {
        self.ids.take_reset_tokens()
    }

    /// Sends the client a NEW_TOKEN for a later connection; at most four. Has no effect on clients.
    pub fn send_token(&mut self, token: Vec<u8>) {
        self.server_frames.give_token(token);
    }

    /// Reports the incoming connection of a client to the application.
    pub(crate) fn announce(&mut self) {
        // The first datagram may have ended the connection, which comes after.
        self.events.push_front(Event::Incoming);
    }
}
