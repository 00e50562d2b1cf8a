//! Interface of a program that runs on an endpoint, independent of the transport of datagrams.
//!
//! Datagrams may be moved by a loop over sockets, or by a test in virtual time.

use std::net::IpAddr;

use units::Time;

use crate::connection::Event;
use crate::endpoint::driver::Endpoint;
use crate::endpoint::routing::Handle;

/// A program on top of an endpoint.
///
/// The driver of the endpoint passes it every event, then calls [`run`](Self::run), then sends the
/// endpoint's datagrams. It repeats this after everything that happens.
pub trait Program {
    /// Handles an event of a connection.
    fn on_event(&mut self, now: Time, endpoint: &mut Endpoint, handle: Handle, event: Event);

    /// Reads, writes, opens and closes, once all current events were delivered. Called after every
    /// batch of datagrams, and when a timer of the endpoint or [`deadline`](Self::deadline) is due.
    fn run(&mut self, now: Time, endpoint: &mut Endpoint);

    /// Returns the time by which [`run`](Self::run) must be called, or [`Time::NEVER`].
    fn deadline(&self) -> Time;

    /// Reports whether the program is finished, so that the loop may end.
    fn is_done(&self, endpoint: &Endpoint) -> bool;

    /// Handles a report that datagrams to this host do not arrive (ICMP: port, host or network
    /// unreachable). Anyone on the path could have sent it, so it is a hint, not a proof.
    fn on_unreachable(&mut self, now: Time, endpoint: &mut Endpoint, host: IpAddr) {
        let _ = (now, endpoint, host);
    }

    /// Handles a report that the local interface cannot send datagrams of this size to this host.
    /// No datagram leaves, and each counts as lost. Called for the first one only.
    fn on_too_large(&mut self, now: Time, endpoint: &mut Endpoint, host: IpAddr, bytes: usize) {
        let _ = (now, endpoint, host, bytes);
    }
}
