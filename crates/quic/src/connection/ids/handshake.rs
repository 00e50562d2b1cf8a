//! The connection IDs of a handshake's packets: which are used, which are believed, and whether transport parameters agree with them.

use crate::error::{Code, Error};
use crate::level::Side;
use crate::wire::connection_id::ConnectionId;
use crate::wire::header::{Retry, VERSION_1, VersionNegotiation};
use crate::wire::retry::is_genuine;
use crate::wire::transport_parameters::TransportParameters;

/// IDs of one connection's handshake.
#[derive(Clone, Debug)]
pub struct HandshakeIds {
    side: Side,
    local: ConnectionId,
    remote: ConnectionId,
    original: ConnectionId,
    retry: Option<ConnectionId>,
    /// A packet of the peer was opened: its source ID is what it stays.
    heard: bool,
}

impl HandshakeIds {
    /// A client: `local` it puts into its packets as their source, `original` it has drawn as the first destination (at least 8
    /// unpredictable bytes, section 7.2).
    pub const fn client(local: ConnectionId, original: ConnectionId) -> Self {
        Self { side: Side::Client, local, remote: original, original, retry: None, heard: false }
    }

    /// A server that answers a client's Initial from `remote`. `original` is where the client's very first Initial went, `retry` the source
    /// of the Retry between, when there was one: both from its token.
    pub const fn server(
        local: ConnectionId,
        remote: ConnectionId,
        original: ConnectionId,
        retry: Option<ConnectionId>,
    ) -> Self {
        Self { side: Side::Server, local, remote, original, retry, heard: true }
    }

    /// What this end's packets have as their source.
    pub const fn local(&self) -> ConnectionId {
        self.local
    }

    /// Where this end's packets with long headers go.
    pub const fn remote(&self) -> ConnectionId {
        self.remote
    }

    /// The destination of the client's first Initial.
    pub const fn original(&self) -> ConnectionId {
        self.original
    }

    /// The ID from which both ends derive the keys of Initial packets (RFC 9001 section 5.2): the original one, or the Retry's.
    pub fn initial_keys(&self) -> ConnectionId {
        self.retry.unwrap_or(self.original)
    }

    /// A Retry came. The token for the next Initial, which goes to [`remote`](Self::remote) with a new [`initial_keys`](Self::initial_keys);
    /// none when it is to be dropped: a second one, after any other packet, without a token, with the destination for a source, not
    /// for this connection, or not genuine (sections 17.2.5.1, 17.2.5.2).
    pub fn on_retry<'a>(&mut self, retry: &Retry<'a>) -> Option<&'a [u8]> {
        let in_time = self.side == Side::Client && !self.heard && self.retry.is_none();
        let sound = retry.destination == self.local && retry.source != self.remote && !retry.token.is_empty();
        if !in_time || !sound || !is_genuine(retry, &self.original) {
            return None;
        }
        (self.remote, self.retry) = (retry.source, Some(retry.source));
        Some(retry.token)
    }

    /// Whether a Version Negotiation ends the attempt: the server speaks nothing that this crate does. Not when anything else has come before
    /// from the server, when it names version 1, or when its IDs are not those of this end's packets (sections 6.2, 17.2.1).
    pub fn is_version_refused(&self, answer: &VersionNegotiation<'_>) -> bool {
        let in_time = self.side == Side::Client && !self.heard && self.retry.is_none();
        let mine = *answer.destination == *self.local && *answer.source == *self.remote;
        in_time && mine && answer.versions().all(|version| version != VERSION_1)
    }

    /// Whether a packet with a long header may be from the peer: once one was opened, its source is what it stays (section 7.2).
    pub fn is_source_right(&self, source: &ConnectionId) -> bool {
        !self.heard || *source == self.remote
    }

    /// A packet with a long header was opened. The client's packets go to its source from now on, the first time.
    pub const fn on_opened(&mut self, source: ConnectionId) {
        if !self.heard {
            (self.remote, self.heard) = (source, true);
        }
    }

    /// Adds what a server must declare of the handshake's IDs to its parameters.
    pub fn declare(&self, parameters: &mut TransportParameters) {
        parameters.initial_source_connection_id = Some(self.local);
        if self.side == Side::Server {
            parameters.original_destination_connection_id = Some(self.original);
            parameters.retry_source_connection_id = self.retry;
        }
    }

    /// Whether the peer's parameters name the IDs that its packets had: nobody on the path has changed any (section 7.3).
    ///
    /// # Errors
    /// TRANSPORT_PARAMETER_ERROR; also for `preferred_address` from a server with an ID of zero length (section 18.2).
    pub fn check(&self, theirs: &TransportParameters) -> Result<(), Error> {
        let server = |expected| if self.side == Side::Client { expected } else { None };
        let rules = [
            (
                theirs.initial_source_connection_id == Some(self.remote),
                "initial_source_connection_id is not that of the packets",
            ),
            (
                theirs.original_destination_connection_id == server(Some(self.original)),
                "original_destination_connection_id is not that of the first packet",
            ),
            (
                theirs.retry_source_connection_id == server(self.retry),
                "retry_source_connection_id does not agree with the Retry",
            ),
            (
                theirs.preferred_address.is_none() || !self.remote.is_empty(),
                "preferred_address with a connection ID of zero length",
            ),
        ];
        match rules.iter().find(|(holds, _)| !holds) {
            Some((_, broken)) => Err(Error::new(Code::TRANSPORT_PARAMETER_ERROR, broken)),
            None => Ok(()),
        }
    }
}
