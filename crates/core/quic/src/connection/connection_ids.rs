//! Connection IDs of both ends: those in packet headers, and the frames that replace them (RFC 9000
//! section 5.1).

use std::collections::BTreeSet;
use std::mem;

use crate::connection::ids::{HandshakeIds, LocalIds, RemoteIds};
use crate::connection::sent_frames::{FrameWriter, SentFrame};
use crate::error::Error;
use crate::level::Level;
use crate::wire::connection_id::ConnectionId;
use crate::wire::frame::Frame;
use crate::wire::header::{Outgoing, Retry};
use crate::wire::transport_parameters::TransportParameters;

/// Connection IDs of one connection.
pub(super) struct ConnectionIds {
    pub(super) handshake: HandshakeIds,
    pub(super) local: LocalIds,
    /// Destinations of 1-RTT packets, once the peer's parameters are known.
    pub(super) remote: RemoteIds,
    /// Token of a client's Initial packets.
    token: Vec<u8>,
    /// Sequence numbers of this end's IDs that must be sent to the peer.
    pub(super) unsent: BTreeSet<u64>,
    /// IDs of this end that the peer has retired.
    pub(super) retired: Vec<ConnectionId>,
    /// Whether the peer's reset tokens, or the address they belong to, have changed.
    pub(super) resets_changed: bool,
}

impl ConnectionIds {
    /// Starts with the IDs of the handshake, the stateless reset token of this end's ID, and the
    /// token of Initial packets.
    pub(super) fn new(handshake: HandshakeIds, reset_token: [u8; 16], token: Vec<u8>) -> Self {
        Self {
            local: LocalIds::new(handshake.local(), reset_token),
            remote: RemoteIds::new(handshake.remote(), 0),
            handshake,
            token,
            unsent: BTreeSet::new(),
            retired: Vec::new(),
            resets_changed: false,
        }
    }

    /// Processes a Retry. Returns `false` if it must be dropped.
    pub(super) fn on_retry(&mut self, retry: &Retry<'_>) -> bool {
        let token = self.handshake.on_retry(retry).map(<[u8]>::to_vec);
        token.map(|token| self.token = token).is_some()
    }

    /// Applies the peer's parameters. `limit` is the `active_connection_id_limit` of this end.
    ///
    /// # Errors
    /// See [`HandshakeIds::check`].
    pub(super) fn on_parameters(&mut self, peer: &TransportParameters, limit: u64) -> Result<(), Error> {
        self.handshake.check(peer)?;
        self.remote = RemoteIds::new(self.handshake.remote(), limit);
        if let Some(token) = peer.stateless_reset_token {
            self.remote.set_reset_token(token);
        }
        if let Some(address) = &peer.preferred_address {
            self.remote.on_preferred_address(address);
        }
        self.resets_changed = true;
        self.local.set_limit(peer.active_connection_id_limit);
        Ok(())
    }

    /// Returns the destination of packets of this level.
    pub(super) fn destination(&self, level: Level) -> ConnectionId {
        if level == Level::OneRtt { self.remote.current() } else { self.handshake.remote() }
    }

    /// Returns the header of a packet with this number, which takes so many bytes.
    pub(super) fn header(
        &self,
        level: Level,
        (number, number_len): (u64, usize),
        key_phase: bool,
    ) -> Outgoing<'_> {
        let (destination, source) = (self.destination(level), self.handshake.local());
        Outgoing {
            level,
            destination,
            source,
            token: &self.token,
            number,
            number_len,
            key_phase,
            spin: false,
        }
    }

    /// Follows the peer to another path. At another address a new ID is used, because one ID on two
    /// paths would let observers link them (section 9.5).
    pub(super) fn on_moved(&mut self, elsewhere: bool) {
        self.resets_changed = true;
        if elsewhere {
            self.remote.switch();
        }
    }

    /// Adds an ID of this end, to be sent to the peer.
    pub(super) fn issue(&mut self, id: ConnectionId, reset_token: [u8; 16]) {
        self.unsent.insert(self.local.issue(id, reset_token));
    }

    /// Returns the peer's stateless reset tokens, if they or its address have changed since the
    /// last call.
    pub(super) fn take_reset_tokens(&mut self) -> Option<Vec<[u8; 16]>> {
        mem::take(&mut self.resets_changed).then(|| self.remote.reset_tokens().collect())
    }

    /// Reports whether a frame waits to be sent.
    pub(super) fn is_pending(&self) -> bool {
        !self.unsent.is_empty() || self.remote.has_retirement()
    }

    /// Writes the frames that fit.
    pub(super) fn write(&mut self, out: &mut FrameWriter<'_>) {
        while let Some(&sequence) = self.unsent.first() {
            let frame = self.local.frame(sequence);
            if frame.is_some_and(|frame| !out.put(frame, SentFrame::NewConnectionId(sequence))) {
                break;
            }
            self.unsent.pop_first();
        }
        while let Some(sequence) = self.remote.next_retire() {
            if !out.put(Frame::RetireConnectionId(sequence), SentFrame::RetireConnectionId(sequence)) {
                return self.remote.on_retire_lost(sequence);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::codec::Writer;

    fn id(n: u8) -> ConnectionId {
        ConnectionId::new(&[n; 8]).unwrap()
    }

    fn write(ids: &mut ConnectionIds, room: usize) -> Vec<SentFrame> {
        let (mut buf, mut items) = (vec![0; room], Vec::new());
        ids.write(&mut FrameWriter { w: Writer::new(&mut buf), items: &mut items });
        items
    }

    fn client() -> ConnectionIds {
        let mut ids = ConnectionIds::new(HandshakeIds::client(id(1), id(2)), [1; 16], b"token".to_vec());
        ids.handshake.on_opened(id(3));
        let peer = TransportParameters {
            initial_source_connection_id: Some(id(3)),
            original_destination_connection_id: Some(id(2)),
            stateless_reset_token: Some([3; 16]),
            active_connection_id_limit: 4,
            ..TransportParameters::default()
        };
        assert!(ids.take_reset_tokens().is_none());
        assert_eq!(ids.on_parameters(&peer, 4), Ok(()));
        ids
    }

    #[test]
    fn another_address_gets_another_id() {
        let mut ids = client();
        assert_eq!(ids.remote.on_new(1, 0, id(4), [4; 16]), Ok(()));
        assert_eq!((ids.take_reset_tokens(), ids.take_reset_tokens()), (Some(vec![[3; 16]]), None));
        ids.on_moved(false);
        assert_eq!((ids.destination(Level::OneRtt), ids.is_pending()), (id(3), false));
        ids.on_moved(true);
        assert_eq!((ids.destination(Level::OneRtt), ids.destination(Level::Handshake)), (id(4), id(3)));
        assert_eq!(ids.take_reset_tokens(), Some(vec![[4; 16]]));
        let header = ids.header(Level::Initial, (7, 2), false);
        assert_eq!(
            (header.source, header.token, header.number, header.number_len),
            (id(1), &b"token"[..], 7, 2)
        );
    }

    #[test]
    fn frames_until_they_arrive() {
        let mut ids = client();
        (4..7).for_each(|n| ids.issue(id(n), [n; 16]));
        (1..3).for_each(|n| ids.remote.on_new(n.into(), n.into(), id(10 + n), [n; 16]).unwrap());
        let (new, retire) = (SentFrame::NewConnectionId, SentFrame::RetireConnectionId);
        // One NEW_CONNECTION_ID of 28 bytes, and the smaller frames.
        assert_eq!(write(&mut ids, 33), [new(1), retire(0), retire(1)]);
        assert_eq!(write(&mut ids, 100), [new(2), new(3)]);
        assert!(!ids.is_pending() && write(&mut ids, 100).is_empty());
        ids.unsent.insert(1);
        ids.remote.on_retire_lost(1);
        // The peer needs no ID that it has retired.
        assert_eq!(ids.local.on_retire(1, &id(1)), Ok(Some(id(4))));
        assert!(ids.is_pending());
        assert_eq!(write(&mut ids, 1), []);
        assert_eq!(write(&mut ids, 2), [retire(1)]);
        assert!(!ids.is_pending());
    }
}
