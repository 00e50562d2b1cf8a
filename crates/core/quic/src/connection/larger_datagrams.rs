//! Probes for the MTU of the path: datagrams with PING and PADDING frames alone (RFC 9000 section
//! 14.4).

use std::mem;

use recovery::SendDecision;
use units::Time;

use crate::connection::datagram::{Datagram, WrittenFrames};
use crate::connection::path::{Addresses, PathId};
use crate::connection::sent_frames::SentFrame;
use crate::connection::state::{Connection, Transmit};
use crate::level::Level;
use crate::wire::frame::Frame;

/// Progress of a probe.
pub(super) enum MtuProbe {
    /// No probe is due, or the buffer is too small for it.
    None,
    /// Window or pacer holds it back, and with it all data. ACKs may leave.
    Waits,
    Sent(Transmit),
}

impl Connection {
    /// Sends a probe if one is due.
    pub(super) fn probe_mtu(&mut self, now: Time, buf: &mut [u8], path: (PathId, Addresses)) -> MtuProbe {
        let Some(bytes) = self.loss.sender.mtu_probe(now) else { return MtuProbe::None };
        let len = usize::try_from(bytes).unwrap_or(usize::MAX);
        let may = self.paths.get(path.0).is_some_and(|known| known.budget() >= bytes);
        let Some(buf) = buf.get_mut(..len).filter(|_| may) else { return MtuProbe::None };
        match self.loss.sender.can_send(now, bytes) {
            SendDecision::Now => self.send_mtu_probe(now, buf, path).map_or(MtuProbe::None, MtuProbe::Sent),
            SendDecision::At(at) => {
                self.loss.pacing = Some(at);
                MtuProbe::Waits
            }
            SendDecision::WindowFull => MtuProbe::Waits,
        }
    }

    fn send_mtu_probe(&mut self, now: Time, buf: &mut [u8], path: (PathId, Addresses)) -> Option<Transmit> {
        let mut datagram = Datagram::new(mem::take(&mut self.items));
        let draft = self.draft(now, Level::OneRtt, buf, &mut datagram, |_, _, out| WrittenFrames {
            eliciting: out.put(Frame::Ping, SentFrame::Ping),
            expand: false,
        });
        let transmit = draft.map(|draft| {
            datagram.push(draft);
            datagram.pad(buf, buf.len());
            let transmit = self.send(now, buf, &mut datagram, path);
            self.loss.sender.on_mtu_probe_sent(buf.len() as u64);
            transmit
        });
        self.items = datagram.items;
        transmit
    }
}
