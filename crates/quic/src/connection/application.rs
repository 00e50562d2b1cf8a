//! What an application, a laboratory and an endpoint do with a connection.

use std::fmt;
use std::net::SocketAddr;

use recovery::Sender;
use units::Time;

use crate::connection::close::State;
use crate::connection::contents::Contents;
use crate::connection::event::Event;
use crate::connection::state::{Connection, Counts, TokenToSend};
use crate::connection::tap::Tap;
use crate::crypto::session::Session;
use crate::level::{Side, Space};
use crate::streams::datagram::FRAME;
use crate::streams::id::StreamId;
use crate::streams::receive::Read;
use crate::streams::table::{StreamTable, Unknown};
use crate::wire::connection_id::ConnectionId;
use crate::wire::frame::Direction;

/// What a packet with a DATAGRAM frame has besides the message at most: header and tag, type and length, in bytes.
pub const DATAGRAM_OVERHEAD: u64 = 1 + 20 + 4 + 16 + FRAME as u64;
/// How many tokens one connection gives its peer at most.
const MAX_TOKENS: usize = 4;

/// Why a message cannot be sent (RFC 9221).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unsendable {
    /// The peer takes none, or none so large, or no packet has room for it.
    TooLarge,
    /// Too much waits already.
    Full,
}

impl fmt::Display for Unsendable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TooLarge => "the message is too large for this peer and path",
            Self::Full => "too many messages wait to be sent",
        })
    }
}

impl std::error::Error for Unsendable {}

impl Connection {
    /// The next thing to be told of.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front().or_else(|| self.streams.poll_event().map(Event::Stream))
    }

    /// Which end this is.
    pub const fn side(&self) -> Side {
        self.side
    }

    /// Open, closing, draining or gone.
    pub const fn state(&self) -> State {
        self.lifecycle.state()
    }

    /// The handshake is complete.
    pub const fn is_connected(&self) -> bool {
        self.complete
    }

    /// The handshake is confirmed (RFC 9001 section 4.1.2).
    pub const fn is_confirmed(&self) -> bool {
        self.confirmed
    }

    /// The session: application protocol, server name, secrets.
    pub fn session(&mut self) -> &mut dyn Session {
        &mut *self.session
    }

    /// This end's and the peer's address on the path in use.
    pub fn addresses(&self) -> (SocketAddr, SocketAddr) {
        let addresses = self.paths.active().addresses();
        (addresses.local, addresses.remote)
    }

    /// Loss recovery as it stands: window, bytes in flight, RTT, pacing, counters, the controller.
    pub const fn sender(&self) -> &Sender<Contents> {
        &self.sender
    }

    /// Counters besides those of loss recovery.
    pub const fn counts(&self) -> &Counts {
        &self.counts
    }

    /// How often the keys of 1-RTT packets were updated.
    pub fn key_generation(&self) -> u64 {
        self.generation()
    }

    /// How many bytes of received data, handshake and packets without keys are held, for bounds.
    pub fn memory(&self) -> usize {
        let held: usize = self.held.iter().map(|held| held.bytes.len()).sum();
        let ids = self.remote_ids.as_ref().map_or(0, |ids| ids.memory() + ids.len());
        self.streams.memory() + held + ids + self.events.len()
    }

    /// Listens to everything from now on.
    pub fn set_tap(&mut self, tap: Box<dyn Tap>) {
        self.tap = Some(tap);
    }

    /// The keys of 1-RTT packets are updated as soon as that may be (RFC 9001 section 6).
    pub fn request_key_update(&mut self) {
        if let Some(one_rtt) = &mut self.one_rtt {
            one_rtt.request_update();
        }
    }

    /// Sends something that the peer acknowledges, so that a connection is kept alive, or its RTT measured; nothing before the handshake is
    /// complete.
    pub fn ping(&mut self) {
        if self.complete {
            let probes = &mut self.spaces[Space::Application as usize].probes;
            *probes = (*probes).max(1);
        }
    }

    /// All streams: for what has no method of its own here.
    pub const fn streams(&mut self) -> &mut StreamTable {
        &mut self.streams
    }

    /// Opens a stream; none before the handshake is complete, or when the peer allows no more.
    pub fn open(&mut self, direction: Direction) -> Option<StreamId> {
        self.streams.open(direction)
    }

    /// The next stream that the peer has opened.
    pub fn accept_stream(&mut self, direction: Direction) -> Option<StreamId> {
        self.streams.accept(direction)
    }

    /// Takes as many bytes as there is room for; says how many.
    ///
    /// # Errors
    /// When there is no such stream, or it is finished or reset.
    pub fn write(&mut self, id: StreamId, data: &[u8]) -> Result<usize, Unknown> {
        self.streams.write(id, data)
    }

    /// What was written is all.
    ///
    /// # Errors
    /// When there is no such stream, or it was finished or reset before.
    pub fn finish(&mut self, id: StreamId) -> Result<(), Unknown> {
        self.streams.finish(id)
    }

    /// Ends the sending part of a stream at once, with an error code of at most 2^62 - 1 (larger ones are cut to it).
    ///
    /// # Errors
    /// When there is no such stream.
    pub fn reset(&mut self, id: StreamId, error: u64) -> Result<(), Unknown> {
        self.streams.reset(id, error.min(crate::wire::varint::MAX))
    }

    /// Reads what is in order.
    ///
    /// # Errors
    /// When there is no such stream.
    pub fn read(&mut self, now: Time, id: StreamId, out: &mut [u8]) -> Result<Read, Unknown> {
        self.streams.read(now, id, out)
    }

    /// The peer is asked to stop sending on a stream, with an error code of at most 2^62 - 1 (larger ones are cut to it).
    ///
    /// # Errors
    /// When there is no such stream.
    pub fn stop(&mut self, now: Time, id: StreamId, error: u64) -> Result<(), Unknown> {
        self.streams.stop(now, id, error.min(crate::wire::varint::MAX))
    }

    /// The largest message that can be sent now, in bytes; none when the peer takes none.
    pub fn max_datagram(&self) -> Option<usize> {
        let peer = self.peer.as_ref().map(|peer| peer.max_datagram_frame_size).filter(|max| *max > 0)?;
        let most = peer
            .saturating_sub(FRAME as u64)
            .min(self.path_info.max_datagram_size.saturating_sub(DATAGRAM_OVERHEAD));
        usize::try_from(most).ok()
    }

    /// Sends a message that is not repeated when it is lost (RFC 9221).
    ///
    /// # Errors
    /// When it is too large, or too much waits.
    pub fn send_datagram(&mut self, message: &[u8]) -> Result<(), Unsendable> {
        if self.max_datagram().is_none_or(|max| message.len() > max) {
            return Err(Unsendable::TooLarge);
        }
        if self.datagrams_out.push(message.to_vec()) { Ok(()) } else { Err(Unsendable::Full) }
    }

    /// Takes back the messages that wait to be sent; says how many: what has become too old need not leave.
    pub fn withdraw_datagrams(&mut self) -> usize {
        std::iter::from_fn(|| self.datagrams_out.pop()).count()
    }

    /// The next message that came.
    pub fn receive_datagram(&mut self) -> Option<Vec<u8>> {
        self.told_datagram = false;
        self.datagrams_in.pop()
    }

    /// How many connection IDs the peer has room for: so often [`issue_id`](Self::issue_id) is called. None before the handshake is
    /// complete.
    pub fn ids_wanted(&self) -> usize {
        if self.complete && self.lifecycle.is_open() { self.local_ids.wanted() } else { 0 }
    }

    /// The peer is asked to give up all IDs of this end and to use new ones; nothing happens while it has not done so the last time, or where
    /// IDs have zero length.
    pub fn rotate_ids(&mut self) {
        self.local_ids.rotate();
    }

    /// Gives the peer a further ID of this end, with its stateless reset token.
    pub fn issue_id(&mut self, id: ConnectionId, reset_token: [u8; 16]) {
        let sequence = self.local_ids.issue(id, reset_token);
        self.new_ids.insert(sequence);
    }

    /// IDs of this end that the peer has given up since the last call.
    pub fn take_retired(&mut self) -> Vec<ConnectionId> {
        std::mem::take(&mut self.retired)
    }

    /// The peer's stateless reset tokens, when they or its address have changed since the last call.
    pub fn take_reset_tokens(&mut self) -> Option<Vec<[u8; 16]>> {
        let ids = self.remote_ids.as_ref().filter(|_| std::mem::take(&mut self.reset_tokens_changed))?;
        Some(ids.reset_tokens().collect())
    }

    /// Gives the client a token for a later connection: NEW_TOKEN; at most four. Clients give none.
    pub fn send_token(&mut self, token: Vec<u8>) {
        if self.side == Side::Server && self.tokens.len() < MAX_TOKENS && !token.is_empty() {
            self.tokens.push(TokenToSend { token, pending: true });
        }
    }

    /// The application has taken a client's connection.
    pub(crate) fn announce(&mut self) {
        self.events.push_back(Event::Incoming);
    }
}
