//! Events of the native programs. The layout is that of `bpf/event.h`.

use bytemuck::{AnyBitPattern, NoUninit};
use congestion::STATE;
use units::Duration;

/// Kind of an event.
pub mod kind {
    /// The connection chose the controller.
    pub const OPEN: u8 = 0;
    /// The connection ended, or chose another controller.
    pub const CLOSE: u8 = 1;
    /// The first packet leaves. D* only.
    pub const BEGIN: u8 = 2;
    /// An ACK was processed. Only if every ACK is asked for.
    pub const ACK: u8 = 3;
    /// An ACK ended a mode of D*, or slow start.
    pub const MODE: u8 = 4;
    /// A loss, a mark or a timeout.
    pub const CONGESTION: u8 = 5;
    /// The last reduction was spurious.
    pub const UNDO: u8 = 6;
    /// The window was restarted after an idle time.
    pub const IDLE: u8 = 7;
}

/// An event of a connection, with the state after it. Windows and counts are in packets.
#[derive(Clone, Copy, Debug, AnyBitPattern, NoUninit)]
#[repr(C)]
pub struct Event {
    /// Time of the event, in us (`tcp_mstamp`).
    pub time_us: u64,
    /// Number of the connection among those of the program.
    pub flow: u32,
    /// Congestion window.
    pub cwnd: u32,
    /// Slow start threshold.
    pub ssthresh: u32,
    /// Packets in flight.
    pub in_flight: u32,
    /// Packets delivered since the start.
    pub delivered: u32,
    /// Packets declared lost since the start.
    pub lost: u32,
    /// RTT sample of this ACK in us, or -1. D* only.
    pub rtt_us: i32,
    /// Smoothed RTT, in us.
    pub srtt_us: u32,
    /// Local port.
    pub port: u16,
    /// Port of the peer.
    pub peer_port: u16,
    /// One of [`kind`].
    pub kind: u8,
    /// One of [`record::state`](crate::record::state).
    pub state: u8,
    /// 1 if the application limited the sender. D* only.
    pub app_limited: u8,
    /// Mode of D*: an index into
    /// [`STATES`](congestion::algorithms::delay::dstar::STATES).
    pub mode: u8,
    /// 1 in slow start.
    pub slow_start: u8,
    unused: [u8; 3],
    /// Last estimate of the bandwidth-delay product. D* only, like the rest.
    pub bdp: u32,
    /// Part of the window beyond `bdp`.
    pub gain_cwnd: u32,
    /// Smallest RTT in us, all ones before the first sample.
    pub min_rtt_us: u32,
}

const _: () = assert!(size_of::<Event>() == 64);

impl Event {
    /// Reads an event. Returns `None` if it is too short.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        bytes.get(..size_of::<Self>()).map(bytemuck::pod_read_unaligned)
    }

    /// Reports the variables of D*, as [`Controller::trace`](congestion::Controller::trace) does,
    /// with packets of `mss` bytes.
    pub fn trace(&self, mss: u32, put: &mut dyn FnMut(&'static str, f64)) {
        let bytes = |packets| f64::from(packets) * f64::from(mss);
        let is_known = self.min_rtt_us < u32::MAX;
        let min_rtt = if is_known { Duration::from_micros(self.min_rtt_us.into()) } else { Duration::MAX };
        put(STATE, self.mode.into());
        put("bdp", bytes(self.bdp));
        put("gain_cwnd", bytes(self.gain_cwnd));
        put("min_rtt", min_rtt.as_secs_or_infinite());
    }

    /// Returns the event as the kernel wrote it.
    pub fn to_bytes(&self) -> [u8; size_of::<Self>()] {
        bytemuck::cast(*self)
    }
}
