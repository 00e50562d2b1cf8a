//! Termination of a connection by errors, the application or timeouts, and CONNECTION_CLOSE (RFC
//! 9000 section 10).

use units::Time;

use crate::connection::close::{Close, KeysAtClose};
use crate::connection::event::{Ended, Event};
use crate::connection::state::{Connection, Transmit};
use crate::connection::transmit::{Datagram, WrittenFrames};
use crate::error::Error;
use crate::level::Space;

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
        if self.lifecycle.is_open() {
            let pto = self.pto();
            self.lifecycle.close(now, pto, close.clone());
            self.events.push_back(Event::Ended(Ended::Local(close)));
        }
    }

    /// Ends the connection silently.
    pub(super) fn give_up(&mut self, why: Ended) {
        if self.lifecycle.is_open() {
            self.events.push_back(Event::Ended(why));
        }
        self.lifecycle.give_up();
    }

    /// Processes a stateless reset (section 10.3).
    pub fn on_stateless_reset(&mut self, now: Time) {
        if self.lifecycle.is_open() {
            self.events.push_back(Event::Ended(Ended::Reset));
        }
        let pto = self.pto();
        self.lifecycle.on_reset(now, pto);
    }

    /// Writes CONNECTION_CLOSE at all levels that the peer may read, in one datagram.
    pub(super) fn transmit_close(&mut self, now: Time, buf: &mut [u8]) -> Option<Transmit> {
        let path = self.paths.active_id();
        let close = self.lifecycle.next_close()?.clone();
        let (addresses, room) = self.room(path, buf.len())?;
        let keys = KeysAtClose {
            side: self.side,
            initial: self.spaces[Space::Initial as usize].keys.is_some(),
            handshake: self.spaces[Space::Handshake as usize].keys.is_some(),
            one_rtt: self.one_rtt.is_some(),
            confirmed: self.confirmed,
        };
        let buf = &mut buf[..room];
        let mut datagram = Datagram::default();
        self.items.clear();
        for level in keys.levels() {
            self.draft(now, level, buf, &mut datagram, |_, w| {
                // If it does not fit, this level is skipped.
                let _ = close.frame(level).encode(w);
                WrittenFrames::default()
            });
        }
        (!datagram.is_empty()).then(|| self.send(now, buf, datagram, (path, addresses)))
    }
}
