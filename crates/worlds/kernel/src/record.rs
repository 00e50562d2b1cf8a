//! Records of the agent's program, and the answers to them. The layouts are those of `bpf/agent.h`.

use bytemuck::{AnyBitPattern, NoUninit, Zeroable};

/// Kind of a record.
pub mod kind {
    /// The connection chose the controller.
    pub const OPEN: u8 = 0;
    /// The connection ended, or chose another controller.
    pub const CLOSE: u8 = 1;
    /// An ACK was processed.
    pub const ACK: u8 = 2;
    /// Loss recovery entered another state.
    pub const STATE: u8 = 3;
    /// The last reduction was spurious.
    pub const UNDO: u8 = 4;
    /// The connection sends again after a time with nothing in flight.
    pub const IDLE: u8 = 5;
}

/// State of the kernel's loss recovery (`tcp_ca_state`).
pub mod state {
    /// No sign of loss.
    pub const OPEN: u8 = 0;
    /// Reduction of the window for ECN, or for a loss that a tail loss probe repaired.
    pub const CWR: u8 = 2;
    /// Fast recovery.
    pub const RECOVERY: u8 = 3;
    /// After a timeout.
    pub const LOSS: u8 = 4;
}

/// Number of connections that one program can serve at a time.
pub const SLOTS: usize = 1024;

/// An event of a connection, as the kernel wrote it. Counts are in packets since the start of the
/// connection, unless said otherwise.
#[derive(Clone, Copy, Debug, AnyBitPattern, NoUninit)]
#[repr(C)]
pub struct Record {
    /// Number of the connection in the upper half, count of its records in the lower half.
    pub seq: u64,
    /// Time at which the record was written, in ns.
    pub ktime_ns: u64,
    /// Time of the event, in us (`tcp_mstamp`).
    pub time_us: u64,
    /// Number of the record that the window in force answers.
    pub answered: u64,
    /// Number of the connection's slot.
    pub slot: u32,
    /// One of [`kind`].
    pub kind: u8,
    /// One of [`state`], if that is what the record is about.
    pub state: u8,
    /// 1 if the application limits the sender.
    pub app_limited: u8,
    /// 1 if the window limits the sender.
    pub cwnd_limited: u8,
    /// 1 if the connection continues as Reno, because no answer came.
    pub stale: u8,
    /// 1 if the peer's timestamps count us instead of ms.
    pub usec_timestamps: u8,
    unused: [u8; 2],
    /// Payload of a full segment, bytes.
    pub mss: u32,
    /// Congestion window.
    pub cwnd: u32,
    /// Packets in flight.
    pub in_flight: u32,
    /// Packets in flight before this ACK.
    pub prior_in_flight: u32,
    /// Packets newly acknowledged or SACKed by this ACK.
    pub acked: u32,
    /// Packets declared lost because of this ACK.
    pub losses: u32,
    /// Packets delivered.
    pub delivered: u32,
    /// Packets that had been delivered when the newest acknowledged packet was sent.
    pub prior_delivered: u32,
    /// Packets delivered since then.
    pub sample_delivered: u32,
    /// Packets declared lost.
    pub lost: u32,
    /// Packets delivered with a CE mark.
    pub delivered_ce: u32,
    /// Segments sent, with retransmissions.
    pub data_segs_out: u32,
    /// RTT sample of this ACK in us, or -1.
    pub rtt_us: i32,
    /// Interval of the rate sample, in us.
    pub interval_us: i32,
    /// Smoothed RTT, in us.
    pub srtt_us: u32,
    /// Smallest RTT of the kernel's window of five minutes, in us.
    pub min_rtt_us: u32,
    /// Retransmission timeout in us, if the record is about idle time.
    pub rto_us: u32,
    /// Time since the last packet in us, if the record is about idle time.
    pub idle_us: u32,
    /// Timestamp of the newest segment received.
    pub tsval: u32,
}

const _: () = assert!(size_of::<Record>() == 120 && size_of::<Answer>() == 64);

/// An answer, which the kernel takes at the next ACK or transmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq, NoUninit, Zeroable)]
#[repr(C)]
pub struct Answer {
    /// Window, packets.
    pub cwnd: u32,
    /// Slow start threshold, packets.
    pub ssthresh: u32,
    /// Pacing rate in bytes per second; all ones for none.
    pub pacing_rate: u64,
    /// Number of the record that it answers.
    pub answered: u64,
    /// 1 if the controller shapes its window inside a recovery period, 0 if PRR does.
    pub shapes_recovery: u32,
    unused: [u32; 9],
}

impl Record {
    /// Reads a record. Returns `None` if it is too short.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        bytes.get(..size_of::<Self>()).map(bytemuck::pod_read_unaligned)
    }

    /// Returns the number of the connection among those of the program.
    pub fn number(&self) -> u32 {
        (self.seq >> 32) as u32
    }
}

impl Answer {
    /// Creates an answer.
    pub fn new(cwnd: u32, ssthresh: u32, pacing_rate: u64, shapes_recovery: bool, answered: u64) -> Self {
        let shapes_recovery = u32::from(shapes_recovery);
        Self { cwnd, ssthresh, pacing_rate, answered, shapes_recovery, unused: [0; 9] }
    }
}
