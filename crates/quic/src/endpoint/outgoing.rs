//! Datagrams that leave an endpoint, and when something is due.

use units::Time;

use crate::connection::Transmit;
use crate::endpoint::driver::Endpoint;

impl Endpoint {
    /// The next datagram, written into `buf`, which has room for at least 1200 bytes; to be called until there is none, after everything that
    /// happens. Connections take turns.
    pub fn poll_transmit(&mut self, now: Time, buf: &mut [u8]) -> Option<Transmit> {
        self.poll_burst(now, buf, 1)
    }

    /// The same for up to `most` datagrams of one connection, which the system can take at once
    /// ([`Connection::poll_burst`](crate::connection::Connection::poll_burst)).
    pub fn poll_burst(&mut self, now: Time, buf: &mut [u8], most: usize) -> Option<Transmit> {
        self.now = self.now.max(now);
        // IDs and tokens are to be told of.
        self.settle();
        if let Some((transmit, bytes)) = self.answers.pop_front() {
            buf.get_mut(..bytes.len())?.copy_from_slice(&bytes);
            return Some(transmit);
        }
        while let Some(handle) = self.sending.pop_front() {
            let Some(member) = self.connections.get_mut(handle) else { continue };
            let transmit = member.connection.poll_burst(now, buf, most);
            member.sending = transmit.is_some();
            self.look_at(handle);
            if transmit.is_some() {
                self.sending.push_back(handle);
                return transmit;
            }
            self.settle();
        }
        None
    }

    /// When [`handle_timeout`](Self::handle_timeout) is to be called; never while nothing is due.
    pub fn poll_timeout(&mut self) -> Time {
        self.settle();
        self.settle_timers();
        self.timers.first().map_or(Time::NEVER, |(due, _)| *due)
    }

    /// The time has come. Afterwards `poll_transmit` may have something.
    pub fn handle_timeout(&mut self, now: Time) {
        self.now = self.now.max(now);
        self.settle();
        self.settle_timers();
        while let Some(&(due, handle)) = self.timers.first()
            && due <= now
        {
            // Set again when it is looked at next.
            self.set_timer(handle, None);
            if let Some(member) = self.connections.get_mut(handle) {
                member.connection.handle_timeout(now);
                self.touch(handle);
            }
        }
    }
}
