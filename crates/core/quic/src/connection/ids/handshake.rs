//! Connection IDs of handshake packets: selection, validation, and authentication by transport
//! parameters.

use crate::error::{Code, Error};
use crate::level::Side;
use crate::wire::connection_id::ConnectionId;
use crate::wire::header::{Retry, VERSION_1, VersionNegotiation};
use crate::wire::retry::is_genuine;
use crate::wire::transport_parameters::TransportParameters;

/// Connection IDs of one handshake.
#[derive(Clone, Debug)]
pub struct HandshakeIds {
    side: Side,
    local: ConnectionId,
    remote: ConnectionId,
    original: ConnectionId,
    retry: Option<ConnectionId>,
    /// Whether a packet of the peer was opened. Its source ID is then fixed.
    heard: bool,
}

impl HandshakeIds {
    /// Creates the IDs of a client. `local` is the source of its packets. `original` is the first
    /// destination, at least 8 unpredictable bytes (section 7.2).
    pub const fn client(local: ConnectionId, original: ConnectionId) -> Self {
        Self { side: Side::Client, local, remote: original, original, retry: None, heard: false }
    }

    /// Creates the IDs of a server that answers a client's Initial from `remote`.
    ///
    /// `original` is the destination of the client's very first Initial. `retry` is the source of
    /// the Retry, if one was sent. Both come from its token.
    pub const fn server(
        local: ConnectionId,
        remote: ConnectionId,
        original: ConnectionId,
        retry: Option<ConnectionId>,
    ) -> Self {
        Self { side: Side::Server, local, remote, original, retry, heard: true }
    }

    /// Returns the source ID of this end's packets.
    pub const fn local(&self) -> ConnectionId {
        self.local
    }

    /// Returns the destination ID of this end's packets with long headers.
    pub const fn remote(&self) -> ConnectionId {
        self.remote
    }

    /// Returns the destination ID of the client's first Initial.
    pub const fn original(&self) -> ConnectionId {
        self.original
    }

    /// Returns the ID from which both ends derive the keys of Initial packets (RFC 9001 section
    /// 5.2): the original one, or that of the Retry.
    pub fn initial_keys(&self) -> ConnectionId {
        self.retry.unwrap_or(self.original)
    }

    /// Processes a Retry. Returns the token for the next Initial, which is sent to
    /// [`remote`](Self::remote) with new [`initial_keys`](Self::initial_keys).
    ///
    /// Returns `None` if the Retry must be dropped (sections 17.2.5.1, 17.2.5.2). It is dropped if
    /// another packet or Retry came before, if it has no token, or if its source equals the
    /// client's destination. It is also dropped if it is for another connection, or not genuine.
    pub fn on_retry<'a>(&mut self, retry: &Retry<'a>) -> Option<&'a [u8]> {
        let in_time = self.side == Side::Client && !self.heard && self.retry.is_none();
        let sound = retry.destination == self.local && retry.source != self.remote && !retry.token.is_empty();
        if !in_time || !sound || !is_genuine(retry, &self.original) {
            return None;
        }
        (self.remote, self.retry) = (retry.source, Some(retry.source));
        Some(retry.token)
    }

    /// Reports whether a Version Negotiation ends the attempt, because the server supports no
    /// common version.
    ///
    /// A Version Negotiation after any other packet from the server is ignored. So is one that
    /// lists version 1, or whose IDs do not match this end's packets (sections 6.2, 17.2.1).
    pub fn is_version_refused(&self, answer: &VersionNegotiation<'_>) -> bool {
        let in_time = self.side == Side::Client && !self.heard && self.retry.is_none();
        let mine = *answer.destination == *self.local && *answer.source == *self.remote;
        in_time && mine && answer.versions().all(|version| version != VERSION_1)
    }

    /// Reports whether a packet with a long header may be from the peer. Once one was opened, the
    /// source ID is fixed (section 7.2).
    pub fn is_source_right(&self, source: &ConnectionId) -> bool {
        !self.heard || *source == self.remote
    }

    /// Notes that a packet with a long header was opened. The first time, its source becomes the
    /// destination of this end's packets.
    pub const fn on_opened(&mut self, source: ConnectionId) {
        if !self.heard {
            (self.remote, self.heard) = (source, true);
        }
    }

    /// Adds the handshake's IDs to the transport parameters, including those that only servers
    /// declare.
    pub fn declare(&self, parameters: &mut TransportParameters) {
        parameters.initial_source_connection_id = Some(self.local);
        if self.side == Side::Server {
            parameters.original_destination_connection_id = Some(self.original);
            parameters.retry_source_connection_id = self.retry;
        }
    }

    /// Checks that the peer's parameters contain the IDs of its packets, so that nobody on the path
    /// has changed one (section 7.3).
    ///
    /// # Errors
    /// TRANSPORT_PARAMETER_ERROR. Also for `preferred_address` from a server with a zero-length ID
    /// (section 18.2).
    pub fn check(&self, theirs: &TransportParameters) -> Result<(), Error> {
        let server = |expected| if self.side == Side::Client { expected } else { None };
        let rules = [
            (
                theirs.initial_source_connection_id == Some(self.remote),
                "initial_source_connection_id does not match the packets",
            ),
            (
                theirs.original_destination_connection_id == server(Some(self.original)),
                "original_destination_connection_id does not match the first packet",
            ),
            (
                theirs.retry_source_connection_id == server(self.retry),
                "retry_source_connection_id does not match the Retry",
            ),
            (
                theirs.preferred_address.is_none() || !self.remote.is_empty(),
                "preferred_address with a zero-length connection ID",
            ),
        ];
        match rules.iter().find(|(holds, _)| !holds) {
            Some((_, broken)) => Err(Error::new(Code::TRANSPORT_PARAMETER_ERROR, broken)),
            None => Ok(()),
        }
    }
}
