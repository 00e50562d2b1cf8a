//! The interface of an endpoint of any stack, as driven by [`Session`](crate::Session).

use std::net::SocketAddr;

use congestion::{Cause, Control, Controller};
use recovery::Stats;
use scenario::guest::Snapshot;
use units::{Duration, Ecn, Time};

use crate::stream_chunks::Chunk;

/// Kind of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// In flight: stream data, or other ACK-eliciting frames.
    Data,
    /// Carries a message.
    #[cfg_attr(not(any(feature = "noq", feature = "quinn")), allow(dead_code, reason = "others have none"))]
    Message,
    /// Part of the handshake.
    Handshake,
    /// Nothing but ACK frames.
    Bare,
}

/// An outgoing datagram.
#[derive(Clone, Debug)]
pub(crate) struct Outgoing {
    pub(crate) bytes: Vec<u8>,
    pub(crate) ecn: Ecn,
    pub(crate) kind: Kind,
}

/// An event reported to the sender's controller, or the controller's reaction.
#[cfg_attr(
    not(any(feature = "noq", feature = "quinn")),
    allow(dead_code, reason = "others take no reduction back")
)]
#[derive(Clone, Copy, Debug)]
pub(crate) enum ControllerEvent {
    /// An ACK gave an RTT sample.
    Rtt(Duration),
    /// The window was reduced to this size, in bytes.
    Reduced(Cause, u64),
    /// The last reduction was undone.
    Undone,
    /// An ACK was processed.
    AckProcessed(Control),
}

/// One endpoint of a connection. A client connects at its first [`on_time`](Self::on_time). It
/// sends the bytes of `quic::streams::pattern` on one stream, or in messages. A server reads them.
pub(crate) trait SessionEndpoint: Send {
    /// Handles a datagram from the other endpoint.
    fn handle(&mut self, now: Time, ecn: Ecn, bytes: Vec<u8>);
    /// Returns the time of the next [`on_time`](Self::on_time) call, or [`Time::NEVER`].
    fn next(&mut self) -> Time;
    /// Runs the timers that are due.
    fn on_time(&mut self, now: Time);
    /// Sets the source of the datagrams handled from now on, after a NAT rebound the other
    /// endpoint.
    fn set_source(&mut self, source: SocketAddr);
    /// Returns the destination of the last datagram sent.
    fn destination(&self) -> SocketAddr;
    /// Returns the next datagram to send now.
    fn transmit(&mut self, now: Time) -> Option<Outgoing>;
    /// Extends the stream up to `end`, if the flow is not offered all at once.
    fn offer(&mut self, _end: u64) {}
    /// Returns the offset up to which the stack has accepted the stream.
    fn taken(&self) -> u64 {
        0
    }
    /// Sends a message once. Reports whether the stack accepted it.
    fn send_message(&mut self, _message: Vec<u8>) -> bool {
        false
    }
    /// Takes the chunks of the pattern received since the last call, in any order. Returns `None`
    /// if no packet with stream data arrived.
    fn take_arrived(&mut self) -> Option<Vec<Chunk>>;
    /// Takes the controller's events since the last call.
    fn take_controller_events(&mut self) -> Vec<ControllerEvent>;
    /// Returns the stack's own packet counters. Packets lost by any rule count as lost by the
    /// packet threshold.
    fn counts(&mut self) -> Stats;
    /// Returns the sender's state.
    fn observe(&self) -> Snapshot;
    /// Returns the controller, or `None` if the stack does not run one of ours.
    fn controller(&self) -> Option<&dyn Controller>;
    /// Returns the reason for which the connection ended, if the stack reports one.
    fn ended(&self) -> Option<&str> {
        None
    }
    /// Returns why the endpoint failed, if the network is not the reason. The run is then invalid.
    fn failure(&self) -> Option<String> {
        None
    }
}
