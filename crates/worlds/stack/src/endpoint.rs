//! The interface of an endpoint of any stack, as driven by [`Session`](crate::Session).

use std::net::{Ipv4Addr, SocketAddr};

use congestion::Controller;
use quic::connection::{Arrival, SentFrames};
use recovery::{Sender, Stats};
use scenario::guest::Snapshot;
use units::{Ecn, Time};

use crate::buffer_pool::BufferPool;
use crate::event_tap::TapEvent;

/// Returns the addresses of client and server.
pub(crate) fn addresses() -> (SocketAddr, SocketAddr) {
    let address = |host, port| SocketAddr::from((Ipv4Addr::new(10, 0, 0, host), port));
    (address(1, 4000), address(2, 443))
}

/// An outgoing datagram.
#[derive(Clone, Debug)]
pub(crate) struct Outgoing {
    pub(crate) bytes: Vec<u8>,
    pub(crate) ecn: Ecn,
    pub(crate) to: SocketAddr,
}

/// One endpoint of a connection. A client sends the bytes of `quic::streams::pattern` on one
/// stream, or in messages. A server reads them.
pub(crate) trait Endpoint: Send {
    /// Connects to the server.
    fn connect(&mut self, now: Time);
    /// Handles a datagram from the other endpoint.
    fn handle(&mut self, now: Time, arrival: Arrival<'_>);
    /// Returns the time of the next [`on_time`](Self::on_time) call, or [`Time::NEVER`].
    fn next(&mut self) -> Time;
    /// Runs the timers that are due.
    fn on_time(&mut self, now: Time);
    /// Runs the application, after datagrams and timers, if the stack does not do so by itself.
    fn serve(&mut self) {}
    /// Returns the next datagram to send now.
    fn transmit(&mut self, now: Time, buffers: &mut BufferPool) -> Option<Outgoing>;
    /// Replaces the buffer's content by the events since the last call.
    fn take_events(&mut self, buffer: &mut Vec<TapEvent>);
    /// Takes the TLS secrets since the last call, as lines of an SSLKEYLOGFILE.
    fn take_secrets(&mut self) -> Vec<String> {
        Vec::new()
    }
    /// Reports whether a growing stream or messages can be offered.
    fn accepts(&self) -> bool {
        true
    }
    /// Extends the stream up to `end`, if the flow is not offered all at once.
    fn offer(&mut self, _end: u64) {}
    /// Returns the offset up to which the stack has accepted the stream, if it buffers more than
    /// it has sent.
    fn taken(&self) -> Option<u64> {
        None
    }
    /// Sends a message once. Reports whether the stack accepted it.
    fn send_message(&mut self, _message: Vec<u8>) -> bool {
        false
    }
    /// Reports whether a message replaces the one that waits. An empty one then removes it.
    fn replaces_messages(&self) -> bool {
        false
    }
    /// Forgets what the path has shown, after a handshake that crossed no links.
    fn reset_path_state(&mut self, _now: Time) {}
    /// Leaves the connection for the next one. Reports whether the endpoint can have another.
    fn leave(&mut self, _now: Time) -> bool {
        false
    }
    /// Returns the sender's state.
    fn observe(&self) -> Snapshot;
    /// Returns the counters of loss recovery, if the stack has them.
    fn stats(&self) -> Stats {
        Stats::default()
    }
    /// Returns loss recovery itself, if it is ours and the connection exists.
    fn sender(&self) -> Option<&Sender<SentFrames>> {
        None
    }
    /// Returns the controller, or `None` if the stack does not run one of ours.
    fn controller(&self) -> Option<&dyn Controller>;
    /// Returns the reason for which the connection ended, if the stack reports one.
    fn ended(&self) -> Option<&str> {
        None
    }
    /// Reports whether the idle timeout of the file closed the connection.
    fn is_idle_closed(&self) -> bool {
        false
    }
    /// Returns why the endpoint or its controller failed, if the network is not the reason. The run
    /// is then invalid.
    fn failure(&self) -> Option<String> {
        self.controller()?.failure()
    }
}
