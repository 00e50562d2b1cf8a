//! What runs over an endpoint, whoever moves its datagrams: a loop over sockets, or a test in virtual time.

use std::net::IpAddr;

use units::Time;

use crate::connection::Event;
use crate::endpoint::driver::Endpoint;
use crate::endpoint::routing::Handle;

/// A program on top of an endpoint. Who drives the endpoint hands it every event, then lets it [`run`](Self::run), then sends what the endpoint
/// has to send; and again after whatever happens.
pub trait Program {
    /// Something happened to a connection.
    fn on_event(&mut self, now: Time, endpoint: &mut Endpoint, handle: Handle, event: Event);

    /// All events of now were told: the time to read, write, open and close. Called after every batch of datagrams and whenever
    /// something of the endpoint's or [`deadline`](Self::deadline) is due.
    fn run(&mut self, now: Time, endpoint: &mut Endpoint);

    /// When [`run`](Self::run) is to be called, if nothing else happens before; never while nothing is due.
    fn deadline(&self) -> Time;

    /// Nothing is left to do: the loop may end.
    fn is_done(&self, endpoint: &Endpoint) -> bool;

    /// The system says that datagrams to this host do not arrive (ICMP: nobody listens there, no way leads there). Anyone on the way could have
    /// said so: it is a hint, and no proof.
    fn on_unreachable(&mut self, now: Time, endpoint: &mut Endpoint, host: IpAddr) {
        let _ = (now, endpoint, host);
    }

    /// This end's interface takes no datagrams of so many bytes to this host: none of them leaves, and each counts as lost. Told of the first one.
    fn on_too_large(&mut self, now: Time, endpoint: &mut Endpoint, host: IpAddr, bytes: usize) {
        let _ = (now, endpoint, host, bytes);
    }
}
