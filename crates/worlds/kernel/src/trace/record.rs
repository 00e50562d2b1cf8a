//! Records of the tracing program. The layout is that of `bpf/trace.h`.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use bytemuck::{Pod, Zeroable};
use units::Time;

/// Kind of a record.
pub mod kind {
    /// A segment arrived and is not processed yet (`tcp_probe`).
    pub const PROBE: u8 = 0;
    /// A buffer of one or more segments was retransmitted (`tcp_retransmit_skb`).
    pub const RETRANSMIT: u8 = 1;
    /// Loss recovery enters a state (`tcp_cong_state_set`).
    pub const STATE: u8 = 2;
    /// An ACK reduces the window (`tcp_cwnd_reduction_tp`).
    pub const REDUCTION: u8 = 3;
    /// The socket enters a state (`inet_sock_set_state`).
    pub const SOCKET: u8 = 4;
    /// The socket is gone (`tcp_destroy_sock`).
    pub const CLOSED: u8 = 5;
    /// A sample of inet_diag.
    pub const POLLED: u8 = 6;
}

/// State of a socket (linux/tcp_states.h).
pub(super) mod socket {
    /// The sender has closed first.
    pub(crate) const FIN_WAIT1: u8 = 4;
    /// The sender has closed after its peer.
    pub(crate) const LAST_ACK: u8 = 9;
    /// Both have closed at a time.
    pub(crate) const CLOSING: u8 = 11;
}

/// Bits of [`TraceRecord::flags`].
const SACK: u8 = 1;
const APP_LIMITED: u8 = 2;
const TLP: u8 = 4;

/// A connection at an event. Counts are in packets since its start, unless said otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct TraceRecord {
    /// Time of the kernel's monotonic clock, in ns.
    pub time_ns: u64,
    /// Cookie of the socket.
    pub cookie: u64,
    /// Pacing rate in bytes per second; all ones for none.
    pub pacing_rate: u64,
    /// Acknowledged payload, in bytes.
    pub bytes_acked: u64,
    pub(super) local: [u8; 16],
    pub(super) peer: [u8; 16],
    pub(super) algorithm: [u8; 16],
    /// Inode of the network namespace, or 0 for that of this process.
    pub netns: u32,
    /// Congestion window.
    pub cwnd: u32,
    /// Slow start threshold.
    pub ssthresh: u32,
    /// Packets sent and not acknowledged.
    pub packets_out: u32,
    /// Packets in SACK blocks.
    pub sacked_out: u32,
    /// Packets declared lost.
    pub lost_out: u32,
    /// Retransmissions in flight.
    pub retrans_out: u32,
    /// Smoothed RTT, in us.
    pub srtt_us: u32,
    /// RTT variation, in us.
    pub rttvar_us: u32,
    /// Smallest RTT of the kernel's window of five minutes, in us.
    pub min_rtt_us: u32,
    /// Packets delivered.
    pub delivered: u32,
    /// Packets delivered with a CE mark.
    pub delivered_ce: u32,
    /// Packets declared lost. A sample has the number of retransmissions instead.
    pub lost: u32,
    /// Retransmitted packets.
    pub total_retrans: u32,
    /// Payload of a full segment, bytes.
    pub mss: u32,
    /// Sequence number at which a tail loss probe ends; 0 for none under way.
    pub tlp_high_seq: u32,
    pub(super) local_port: u16,
    pub(super) peer_port: u16,
    /// One of [`kind`].
    pub kind: u8,
    /// New state: of loss recovery, or of the socket.
    pub state: u8,
    /// State of loss recovery before.
    pub ca_state: u8,
    pub(super) flags: u8,
}

const _: () = assert!(size_of::<TraceRecord>() == 152);

impl TraceRecord {
    /// Reads a record. Returns `None` if it is too short.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        bytes.get(..size_of::<Self>()).map(bytemuck::pod_read_unaligned)
    }

    /// Returns the time of the record.
    pub fn time(&self) -> Time {
        Time(self.time_ns)
    }

    /// Returns the addresses of this end and of its peer.
    pub fn addresses(&self) -> [SocketAddr; 2] {
        let address = |ip: [u8; 16], port| SocketAddr::new(Ipv6Addr::from(ip).to_canonical(), port);
        [address(self.local, self.local_port), address(self.peer, self.peer_port)]
    }

    /// Returns the name of the controller, as far as it is printable.
    pub fn algorithm(&self) -> String {
        let name = self.algorithm.iter().take_while(|byte| **byte != 0);
        name.filter(|byte| byte.is_ascii_graphic()).map(|byte| char::from(*byte)).collect()
    }

    /// Sets the addresses, the name of the controller and what the peer allows.
    #[cfg_attr(not(feature = "load"), allow(dead_code))]
    pub(super) fn describe(
        &mut self,
        addresses: [SocketAddr; 2],
        algorithm: &[u8],
        sack: bool,
        limited: bool,
    ) {
        let bytes = |address: SocketAddr| match address.ip() {
            IpAddr::V4(ip) => ip.to_ipv6_mapped().octets(),
            IpAddr::V6(ip) => ip.octets(),
        };
        [self.local, self.peer] = addresses.map(bytes);
        [self.local_port, self.peer_port] = addresses.map(|address| address.port());
        self.algorithm.iter_mut().zip(algorithm).for_each(|(to, from)| *to = *from);
        self.flags = u8::from(sack) * SACK + u8::from(limited) * APP_LIMITED;
    }

    /// Reports whether the peer sends SACK blocks.
    pub fn has_sack(&self) -> bool {
        self.flags & SACK != 0
    }

    /// Reports whether the application limits the sender.
    pub fn is_app_limited(&self) -> bool {
        self.flags & APP_LIMITED != 0
    }

    /// Reports whether a tail loss probe that repeats data is under way.
    pub fn repeats_tail(&self) -> bool {
        self.tlp_high_seq != 0 && self.flags & TLP != 0
    }

    /// Returns the packets in flight, as the kernel counts them against the window.
    pub fn in_flight(&self) -> u32 {
        let sent = self.packets_out.saturating_add(self.retrans_out);
        sent.saturating_sub(self.sacked_out.saturating_add(self.lost_out))
    }
}
