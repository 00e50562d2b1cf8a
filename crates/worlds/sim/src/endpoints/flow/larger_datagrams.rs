//! The search for the MTU of the path: the size of packets changes within the run, and probes leave
//! between them.

use recovery::SendDecision;
use scenario::Transport;
use units::Time;

use super::Flow;
use crate::endpoints::handshake::Ending;
use crate::packet::MTU_PROBE;

impl Flow {
    /// Sets the size of the next packet, and sends a probe of another one if it is due. Reports
    /// whether data must wait for the probe.
    #[inline(never)] // few flows search
    pub(super) fn waits_for_mtu_probe(&mut self, now: Time) -> bool {
        let next = self.sender.datagram_size() as u32;
        if let Transport::Quic { datagram, header, .. } = &mut self.transport {
            *datagram = next.max(*header + 1);
        }
        // The end of the handshake leaves with data.
        let probe = if self.ending == Ending::Due { None } else { self.sender.mtu_probe(now) };
        let Some(bytes) = probe else { return false };
        match self.sender.can_send(now, bytes) {
            SendDecision::Now => self.send_mtu_probe(now, bytes),
            SendDecision::At(at) => {
                self.pacer_at = at;
                return true;
            }
            SendDecision::WindowFull => return true,
        }
        false
    }

    fn send_mtu_probe(&mut self, now: Time, bytes: u64) {
        let overhead = self.transport.wire_bytes(0) - self.transport.window_bytes(0);
        let sent = self.sender.on_sent(now, bytes, MTU_PROBE, false);
        self.sender.on_mtu_probe_sent(bytes);
        self.schedule(now, (MTU_PROBE, bytes, bytes as u32 + overhead), sent, false);
    }
}
