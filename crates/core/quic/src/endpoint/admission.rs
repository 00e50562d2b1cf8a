//! Admission of clients: the first Initial, and answers to it that need no connection (RFC 9000
//! sections 5.2.2, 8.1.2).

use std::net::SocketAddr;

use units::Time;

use super::token::{Tokens, Verdict};
use crate::config::RetryPolicy;
use crate::crypto::keys;
use crate::error::Code;
use crate::level::{Level, Side};
use crate::random::Random;
use crate::wire::codec::Writer;
use crate::wire::connection_id::ConnectionId;
use crate::wire::frame::Frame;
use crate::wire::header::{Outgoing, Protected};
use crate::wire::retry;

/// Maximum size of a refusal in an Initial packet, in bytes: header, CONNECTION_CLOSE without a
/// reason, tag.
const MAX_REFUSAL: usize = 100;

/// The first Initial of an unknown client. Nothing in it is authenticated yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct First<'a> {
    /// Address it came from.
    pub from: SocketAddr,
    /// Destination Connection ID, from which its keys are derived.
    pub destination: ConnectionId,
    /// Source Connection ID, to which answers are sent.
    pub source: ConnectionId,
    /// Token; may be empty.
    pub token: &'a [u8],
}

impl<'a> First<'a> {
    /// Reads the header of an Initial at the start of a datagram.
    pub fn new(from: SocketAddr, packet: &Protected, datagram: &'a [u8]) -> Self {
        let token = &datagram[packet.token.clone()];
        Self { from, destination: packet.destination, source: packet.source, token }
    }
}

/// Decision about a first Initial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// Start a connection.
    Accept {
        /// Destination of the client's very first Initial, for the transport parameters.
        original: ConnectionId,
        /// Source of the Retry, if one was sent.
        retry: Option<ConnectionId>,
        /// The address is validated, so there is no amplification limit.
        validated: bool,
    },
    /// Answer with a Retry: [`write_retry`].
    Retry,
    /// Refuse the client with this error code: [`write_refusal`].
    Refuse(Code),
}

/// Decides on a first Initial, given the number of connections that are not accepted yet, of all
/// clients and of its host, and the maximum of the former. Uses up the client's token, unless the
/// limit is reached.
pub fn decide(
    policy: RetryPolicy,
    (unaccepted, of_host): (usize, usize),
    max: usize,
    tokens: &mut Tokens,
    now: Time,
    first: &First<'_>,
) -> Admission {
    if unaccepted >= max {
        return Admission::Refuse(Code::CONNECTION_REFUSED);
    }
    let wants_proof = match policy {
        RetryPolicy::Never => false,
        RetryPolicy::From { all, of_host: one } => unaccepted >= all || of_host >= one,
        RetryPolicy::Always => true,
    };
    let original = first.destination;
    match tokens.take(now, first.from, &first.destination, first.token) {
        Verdict::Invalid => Admission::Refuse(Code::INVALID_TOKEN),
        Verdict::Retried { original } => {
            Admission::Accept { original, retry: Some(first.destination), validated: true }
        }
        Verdict::Validated => Admission::Accept { original, retry: None, validated: true },
        Verdict::Nothing if wants_proof => Admission::Retry,
        Verdict::Nothing => Admission::Accept { original, retry: None, validated: false },
    }
}

/// Returns a datagram with a Retry. `source` is a new connection ID of this end, to which the
/// client's next Initial goes.
pub fn write_retry(
    tokens: &Tokens,
    now: Time,
    first: &First<'_>,
    source: ConnectionId,
    random: &mut Random,
) -> Vec<u8> {
    let token = tokens.for_retry(now, first.from, first.destination, source, random);
    let mut bytes = vec![0; retry::size(first.source.len(), source.len(), &token)];
    let [unused] = random.bytes();
    let mut w = Writer::new(&mut bytes);
    retry::encode(&mut w, unused, &first.source, &source, &token, &first.destination)
        .expect("the buffer has the right size");
    bytes
}

/// Returns a datagram with CONNECTION_CLOSE in an Initial packet. No state is kept for the client.
pub fn write_refusal(first: &First<'_>, source: ConnectionId, code: Code) -> Vec<u8> {
    let keys = keys::initial(&first.destination, Side::Server);
    let header = Outgoing {
        level: Level::Initial,
        destination: first.source,
        source,
        token: &[],
        number: 0,
        number_len: 1,
        key_phase: false,
        spin: false,
    };
    let frame = Frame::ConnectionClose { code, frame_type: 0, reason: &[] };
    let padding = keys::min_payload(&keys.local, 1).saturating_sub(frame.size());
    let mut buf = [0; MAX_REFUSAL];
    let mut w = Writer::new(&mut buf);
    let placed = header.encode(&mut w).expect("at most 56 bytes");
    frame.encode(&mut w).expect("at most 11 bytes");
    Frame::Padding(padding).encode(&mut w).expect("at most 4 bytes");
    let len = w.position() + keys.local.packet.tag_len();
    keys::seal(&*keys.local.header, &*keys.local.packet, &mut buf[..len], &placed).expect("long enough");
    buf[..len].to_vec()
}
