//! Migration of the peer, and path validation (RFC 9000 section 9).

use units::Time;

use crate::connection::datagram::WrittenFrames;
use crate::connection::event::{Ended, Event};
use crate::connection::path::paths::{Change, Event as PathEvent, Seen};
use crate::connection::path::{Addresses, PathId};
use crate::connection::state::{Connection, Transmit};
use crate::level::Level;

/// Number of packets left behind on earlier paths above which the peer may not migrate to another
/// address. Each is stored until the peer acknowledges it or it is lost.
const MOST_LEFT_BEHIND: usize = 2048;

impl Connection {
    /// Processes the path of a received 1-RTT packet, given its number, whether it has only probing
    /// frames, and the size of its datagram.
    pub(super) fn on_path(
        &mut self,
        now: Time,
        addresses: Addresses,
        (number, probing): (u64, bool),
        bytes: u64,
        challenges: &[[u8; 8]],
    ) {
        let pto = self.loss.pto();
        let elsewhere = addresses.remote.ip() != self.paths.active().addresses().remote.ip();
        let stays = probing || (elsewhere && self.loss.sender.old_path_packets() > MOST_LEFT_BEHIND);
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

    /// Switches to another path. A new address resets congestion control, a new port does not
    /// (section 9.4).
    fn on_moved(&mut self, now: Time, change: Change) {
        let elsewhere = change == Change::Address;
        self.events.push_back(Event::Moved(elsewhere));
        self.ids.on_moved(elsewhere);
        if elsewhere {
            self.reset_path_state(now);
        }
    }

    /// Resets congestion control, RTT, pacing and ECN validation, as on a new path. Packets sent so
    /// far have no influence on them.
    ///
    /// For experiments that start to measure when the handshake is over.
    pub fn reset_path_state(&mut self, now: Time) {
        let seed = u64::from_be_bytes(self.random.bytes());
        self.loss.on_path_change(now, &self.settings.controller, seed);
    }

    /// Handles failed path validations.
    pub(super) fn on_path_timer(&mut self, now: Time) {
        while let Some(event) = self.paths.on_timer(now) {
            match event {
                PathEvent::Reverted(_, change) => self.on_moved(now, change),
                PathEvent::NoPath => return self.give_up(Ended::NoPath),
                PathEvent::Validated(_) | PathEvent::Abandoned(_) => {}
            }
        }
    }

    /// Writes challenges and responses of paths that are not active, in separate datagrams.
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

    /// Skips a challenge that is due on a path that allows no datagrams. It counts as lost, so its
    /// timer continues.
    pub(super) fn skip_challenge(&mut self, now: Time, path: PathId) {
        if let Some(path) = self.paths.get_mut(path) {
            path.next_challenge(now, self.loss.pto(), &mut self.random);
        }
    }

    fn transmit_on(&mut self, now: Time, path: PathId, buf: &mut [u8]) -> Option<Transmit> {
        let Some((addresses, room)) = self.room(path, buf.len()) else {
            self.skip_challenge(now, path);
            return None;
        };
        let buf = (&mut buf[..room], room);
        self.assemble(now, buf, (path, addresses), [Level::OneRtt], |connection, _, out| {
            let before = out.w.position();
            let expand = connection.write_path_frames(now, path, out);
            WrittenFrames { eliciting: out.w.position() > before, expand }
        })
    }
}
