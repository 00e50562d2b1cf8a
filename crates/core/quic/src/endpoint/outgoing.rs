//! Datagrams sent by an endpoint, and its timers.

use units::Time;

use crate::connection::Transmit;
use crate::endpoint::driver::Endpoint;

impl Endpoint {
    /// Writes the next datagram into `buf`, which must hold at least 1200 bytes. Connections take
    /// turns.
    ///
    /// Call this after every other call that may produce output, until it returns `None`.
    pub fn poll_transmit(&mut self, now: Time, buf: &mut [u8]) -> Option<Transmit> {
        self.poll_burst(now, buf, 1)
    }

    /// Writes up to `most` datagrams of one connection, which the system can send at once
    /// ([`Connection::poll_burst`](crate::connection::Connection::poll_burst)).
    pub fn poll_burst(&mut self, now: Time, buf: &mut [u8], most: usize) -> Option<Transmit> {
        self.now = self.now.max(now);
        // New IDs and tokens must be announced first.
        self.process_touched();
        if let Some((transmit, bytes)) = self.answers.pop_front() {
            buf.get_mut(..bytes.len())?.copy_from_slice(&bytes);
            return Some(transmit);
        }
        while let Some(handle) = self.sending.pop_front() {
            let Some(member) = self.connections.get_mut(handle) else { continue };
            let transmit = member.connection.poll_burst(now, buf, most);
            member.sending = transmit.is_some();
            self.mark_touched(handle);
            if transmit.is_some() {
                self.sending.push_back(handle);
                return transmit;
            }
            self.process_touched();
        }
        None
    }

    /// Returns the time of the next [`handle_timeout`](Self::handle_timeout), or [`Time::NEVER`].
    pub fn poll_timeout(&mut self) -> Time {
        self.process_touched();
        self.refresh_timers();
        self.timers.first().map_or(Time::NEVER, |(due, _)| *due)
    }

    /// Processes timers that are due. Afterwards `poll_transmit` may have something to send.
    pub fn handle_timeout(&mut self, now: Time) {
        self.now = self.now.max(now);
        self.process_touched();
        self.refresh_timers();
        while let Some(&(due, handle)) = self.timers.first()
            && due <= now
        {
            // Set again when the connection is processed next.
            self.set_timer(handle, None);
            if let Some(member) = self.connections.get_mut(handle) {
                member.connection.handle_timeout(now);
                self.touch(handle);
            }
        }
    }
}
