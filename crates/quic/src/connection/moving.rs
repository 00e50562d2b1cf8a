//! Paths in use: the peer moves, is asked whether it is there, and asks (RFC 9000 section 9).

use units::Time;

use crate::connection::event::{Ended, Event};
use crate::connection::path::paths::{Change, Event as PathEvent, Seen};
use crate::connection::path::{Addresses, PathId};
use crate::connection::state::{Connection, Transmit};
use crate::connection::transmit::{Datagram, Filled};
use crate::level::Level;

/// With more packets left behind on earlier paths nobody moves on to another address: each is kept until the peer says what became of it.
const MOST_LEFT_BEHIND: usize = 2048;

impl Connection {
    /// A 1-RTT packet came: number, and whether it has nothing but probing frames; in a datagram of so many bytes.
    pub(super) fn on_path(
        &mut self,
        now: Time,
        addresses: Addresses,
        (number, probing): (u64, bool),
        bytes: u64,
        challenges: &[[u8; 8]],
    ) {
        let pto = self.pto();
        let elsewhere = addresses.remote.ip() != self.paths.active().addresses().remote.ip();
        let stays = probing || (elsewhere && self.sender.left_behind() > MOST_LEFT_BEHIND);
        let path = match self.paths.on_packet(now, pto, addresses, (number, stays), bytes) {
            Seen::Refused => return,
            Seen::Known(path) | Seen::New(path) => path,
            Seen::Moved(path, change) => {
                self.on_moved(now, change);
                path
            }
        };
        for data in challenges {
            self.paths.on_challenge(path, *data);
        }
    }

    /// Packets go elsewhere from now on. Behind another address all begins anew, behind another port nothing does (section 9.4).
    fn on_moved(&mut self, now: Time, change: Change) {
        self.events.push_back(Event::Moved(change == Change::Address));
        self.reset_tokens_changed = true;
        if change == Change::Address {
            self.begin_anew(now);
            // Section 9.5: one ID on two paths would link them for everyone.
            if let Some(ids) = &mut self.remote_ids {
                ids.switch();
            }
        }
    }

    /// Congestion control, RTT, pacing and validation of ECN begin anew, as on another path: what has left so far tells them nothing. For
    /// laboratories, whose measurement begins when the handshake is over.
    pub fn begin_anew(&mut self, now: Time) {
        self.path_info.seed = u64::from_be_bytes(self.random.bytes());
        let controller = (self.settings.controller)(self.path_info);
        self.sender.on_path_change(now, controller, self.path_info);
        self.compute_pto();
    }

    pub(super) fn on_path_response(&mut self, now: Time, data: &[u8; 8]) {
        let pto = self.pto();
        self.paths.on_response(now, pto, data);
    }

    /// Validations that have failed.
    pub(super) fn on_path_timer(&mut self, now: Time) {
        while let Some(event) = self.paths.on_timer(now) {
            match event {
                PathEvent::Reverted(_, change) => self.on_moved(now, change),
                PathEvent::NoPath => return self.give_up(Ended::NoPath),
                PathEvent::Validated(_) | PathEvent::Abandoned(_) => {}
            }
        }
    }

    /// IDs that this end gives up, for RETIRE_CONNECTION_ID.
    pub(super) fn collect_retirements(&mut self) {
        if let Some(ids) = &mut self.remote_ids {
            while let Some(sequence) = ids.next_retire() {
                self.retire.insert(sequence);
            }
        }
    }

    /// What is to be said on a path that is not in use: challenges and responses, in datagrams of their own.
    pub(super) fn transmit_elsewhere(&mut self, now: Time, buf: &mut [u8]) -> Option<Transmit> {
        if self.paths.is_only_one() {
            return None;
        }
        let active = self.paths.active_id();
        let due = |&(id, path): &(PathId, &crate::connection::Path)| {
            id != active && (path.has_response() || path.timer() <= now)
        };
        let due: Vec<PathId> = self.paths.iter().filter(due).map(|(id, _)| id).collect();
        due.into_iter().find_map(|path| self.transmit_on(now, path, buf))
    }

    /// Nothing may be sent on this path: a challenge that is due is as good as lost, so that its timer goes on.
    pub(super) fn skip_challenge(&mut self, now: Time, path: PathId) {
        let pto = self.pto();
        if let Some(path) = self.paths.get_mut(path) {
            path.next_challenge(now, pto, &mut self.random);
        }
    }

    fn transmit_on(&mut self, now: Time, path: PathId, buf: &mut [u8]) -> Option<Transmit> {
        let Some((addresses, room)) = self.room(path, buf.len()) else {
            self.skip_challenge(now, path);
            return None;
        };
        let buf = &mut buf[..room];
        let mut datagram = Datagram::default();
        self.items.clear();
        self.draft(now, Level::OneRtt, buf, &mut datagram, |connection, w| {
            let before = w.position();
            let expand = connection.write_path_frames_of(now, path, w);
            Filled { eliciting: w.position() > before, expand }
        });
        (!datagram.is_empty()).then(|| self.send(now, buf, datagram, (path, addresses)))
    }
}
