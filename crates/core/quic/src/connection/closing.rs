//! Termination of a connection by errors, the application or timeouts, and CONNECTION_CLOSE (RFC
//! 9000 section 10).

use units::Time;

use crate::connection::close::{Close, close_levels};
use crate::connection::datagram::{LEVELS, WrittenFrames};
use crate::connection::event::{Ended, Event};
use crate::connection::state::{Connection, Transmit};
use crate::error::Error;

impl Connection {
    /// Closes the connection because of an error by the peer or of this end.
    pub(super) fn fail(&mut self, now: Time, error: Error) {
        self.end(now, error.into());
    }

    /// Closes the connection with an error code of the application and a reason for human readers.
    /// Codes above 2^62 - 1 are reduced to that. Has no effect if the connection is over.
    pub fn close(&mut self, now: Time, error: u64, reason: &[u8]) {
        let error = error.min(crate::wire::varint::MAX);
        self.end(now, Close::Application { error, reason: reason.to_vec() });
    }

    fn end(&mut self, now: Time, close: Close) {
        self.tell_end(Ended::Local(close.clone()));
        self.lifecycle.close(now, self.loss.pto(), close);
    }

    /// Tells the application why the connection ends, unless it has ended before.
    pub(super) fn tell_end(&mut self, why: Ended) {
        if self.lifecycle.is_open() {
            self.events.push_back(Event::Ended(why));
        }
    }

    /// Ends the connection silently.
    pub(super) fn give_up(&mut self, why: Ended) {
        self.tell_end(why);
        self.lifecycle.give_up();
    }

    /// Processes a stateless reset (section 10.3).
    pub fn on_stateless_reset(&mut self, now: Time) {
        self.tell_end(Ended::Reset);
        self.lifecycle.on_reset(now, self.loss.pto());
    }

    /// Writes CONNECTION_CLOSE at all levels that the peer may read, in one datagram.
    pub(super) fn transmit_close(&mut self, now: Time, buf: &mut [u8]) -> Option<Transmit> {
        let path = self.paths.active_id();
        let close = self.lifecycle.next_close()?.clone();
        let (addresses, room) = self.room(path, buf.len())?;
        let keys = LEVELS.map(|level| self.keys.has(level));
        let levels = close_levels(self.side, keys, self.is_confirmed());
        self.assemble(now, (&mut buf[..room], room), (path, addresses), levels, |_, level, out| {
            // If it does not fit, this level is skipped.
            let _ = close.frame(level, out.w.remaining()).encode(&mut out.w);
            WrittenFrames::default()
        })
    }
}
