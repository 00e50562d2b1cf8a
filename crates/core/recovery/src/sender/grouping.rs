//! Groups of packets that leave back to back, because the operating system or the network card cuts
//! one large buffer into packets (segmentation offload: TSO, GSO).
//!
//! ```text
//! group    n packets, or as in Linux (tcp_tso_autosize, net/ipv4/tcp_output.c, 5.18 and later)
//!          max(2, min(rate / 1024 + 65536 / 2^(min_rtt / 512 us), 65536) / max_datagram_size)     rate in bytes/s
//! starts   when min(group, the data that waits) fits into the window, and the pacer allows its first packet
//! ```
//!
//! The pacer does not delay the other packets of a group. They count, so that the next group waits
//! for all of them. With nothing in flight, and during a recovery period, no packet waits for a
//! group. Neither do retransmissions. As in Linux (`tcp_tso_should_defer`), a group of Linux's size
//! does not wait for more than a third of the window.
//!
//! Deviation: Linux also sends a smaller group if it does not expect an ACK soon.

use crate::sender::offload::Offload;
use crate::sender::pacing;
use crate::sender::sending::Sender;
use crate::sender::sent_packets::Payload;

/// Largest buffer of a group, in bytes (Linux: `sk_gso_max_size`).
const MAX_BUFFER: u64 = 65_536;
/// Smallest group (Linux: `tcp_min_tso_segs`).
const MIN_GROUP: u64 = 2;
/// Part of the window that a group waits for (Linux: `tcp_tso_win_divisor`).
const WINDOW_PARTS: u64 = 3;
/// Share of a second that a buffer lasts at the pacing rate (Linux: `sk_pacing_shift`).
const PER_SECOND: f64 = 1024.0;

impl<T: Payload> Sender<T> {
    /// Sets the bytes of new data that wait to be sent, as they count in the window; 0 if a
    /// retransmission comes next. Only [`Config::offload`](crate::Config) uses it.
    pub fn set_waiting(&mut self, bytes: u64) {
        self.group.waiting = bytes;
    }

    /// Reports whether the next packet waits until a whole group fits into the window.
    pub(super) fn waits_for_group(&mut self) -> bool {
        if !self.config.offload.is_on() || self.group.has_begun() {
            return false;
        }
        let mds = self.path.max_datagram_size;
        let packets = match self.config.offload {
            Offload::Packets(packets) => packets.get(),
            Offload::Rule(_) => self.linux_group().min(self.window() / mds / WINDOW_PARTS).max(1),
        };
        let group = packets.saturating_mul(mds).min(self.group.waiting);
        self.group.next = group.div_ceil(mds);
        let room = self.window().saturating_sub(self.accounting.bytes_in_flight);
        group > room && self.accounting.bytes_in_flight > 0 && !self.accounting.period.in_recovery()
    }

    /// Returns the size of a group in packets, by Linux's rule. Before the first RTT sample it is
    /// the largest.
    fn linux_group(&self) -> u64 {
        let rtt = self.round_trip.rtt();
        let mut bytes = MAX_BUFFER;
        if rtt.is_sampled() {
            let rate = pacing::rate_of_sender(&self.config, &self.control, rtt);
            let near = u32::try_from(rtt.min().0 / 512_000).ok().and_then(|n| MAX_BUFFER.checked_shr(n));
            bytes = bytes.min((rate / PER_SECOND) as u64 + near.unwrap_or(0));
        }
        (bytes / self.path.max_datagram_size).max(MIN_GROUP)
    }
}
