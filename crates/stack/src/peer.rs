//! One end of a connection of any stack, as [`Couple`](crate::Couple) drives it.

use std::net::SocketAddr;

use congestion::{Cause, Control, Controller};
use recovery::Stats;
use sim::guest::Snapshot;
use units::{Duration, Ecn, Time};

/// A piece of the stream: first byte, length.
pub(crate) type Piece = (u64, u64);

/// What a datagram is counted as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// It is in flight: data, or something else that wants an ACK.
    Data,
    /// It has a message.
    #[cfg_attr(not(any(feature = "noq", feature = "quinn")), allow(dead_code, reason = "others have none"))]
    Message,
    /// It is of the handshake.
    Handshake,
    /// ACKs alone.
    Bare,
}

/// A datagram that leaves.
#[derive(Clone, Debug)]
pub(crate) struct Leaving {
    pub(crate) bytes: Vec<u8>,
    pub(crate) ecn: Ecn,
    pub(crate) kind: Kind,
}

/// What the controller of the sending end was told, and has made of it.
#[cfg_attr(
    not(any(feature = "noq", feature = "quinn")),
    allow(dead_code, reason = "others take no reduction back")
)]
#[derive(Clone, Copy, Debug)]
pub(crate) enum News {
    /// An ACK brought a sample.
    Rtt(Duration),
    /// The window shrank, to so much.
    Reduced(Cause, u64),
    /// The last reduction was undone.
    Undone,
    /// An ACK was processed.
    Settled(Control),
}

/// One end of a connection. A client connects at its first [`on_time`](Self::on_time), and sends the pattern of `quic::streams::pattern` on a
/// stream of its own, or in messages; a server reads it.
pub(crate) trait Peer {
    /// A datagram of the other end arrives.
    fn handle(&mut self, now: Time, ecn: Ecn, bytes: Vec<u8>);
    /// When [`on_time`](Self::on_time) is wanted; [`Time::NEVER`] while nothing is due.
    fn next(&mut self) -> Time;
    /// The time has come.
    fn on_time(&mut self, now: Time);
    /// The datagrams that are handled from now on come from here: a NAT has rebound the other end.
    fn set_source(&mut self, source: SocketAddr);
    /// Where the datagram goes that left last.
    fn destination(&self) -> SocketAddr;
    /// The next datagram that leaves now.
    fn transmit(&mut self, now: Time) -> Option<Leaving>;
    /// The stream goes up to here, of a flow that is not offered as a whole.
    fn offer(&mut self, _end: u64) {}
    /// Before which byte the stack has taken the stream.
    fn taken(&self) -> u64 {
        0
    }
    /// A message is to leave, once; whether the stack has taken it.
    fn send_message(&mut self, _message: Vec<u8>) -> bool {
        false
    }
    /// Pieces of the pattern that have arrived since the last time, in any order; `None` if no packet of data has.
    fn take_arrived(&mut self) -> Option<Vec<Piece>>;
    /// News of the controller since the last time.
    fn take_news(&mut self) -> Vec<News>;
    /// What the stack itself counts of packets: acknowledged and lost, by whatever rule as by the packet threshold.
    fn counts(&mut self) -> Stats;
    /// How it stands.
    fn observe(&self) -> Snapshot;
    /// Its controller; `None` of a stack that shows none of ours.
    fn controller(&self) -> Option<&dyn Controller>;
    /// Why its connection is over, if it is and the stack says so.
    fn ended(&self) -> Option<&str> {
        None
    }
    /// It is no more, through no fault of the network: the run is worth nothing.
    fn is_broken(&self) -> bool {
        false
    }
}
