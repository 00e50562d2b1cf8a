//! A sender and its receiver.

use congestion::Algorithm;
use congestion::algorithms::cubic::rfc9438 as cubic;
use recovery::{AckConfig, Clock, Config};
use serde::{Deserialize, Serialize};
use units::{Duration, Time};

use crate::application::Application;
use crate::route::{Back, Route};

/// Configuration of one flow. Fields that serde does not skip are keys of a `[[flow]]` table: they
/// are read, documented and written from here alone.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, rename_all = "kebab-case")]
pub struct FlowConfig {
    /// Name in tables and charts, with a number where several flows share one.
    #[serde(skip)]
    pub label: String,
    /// Name without the number.
    #[serde(skip)]
    pub group: String,
    /// Congestion controller.
    #[serde(skip)]
    pub algorithm: Algorithm,
    /// QUIC or TCP, and the sizes of its packets.
    #[serde(skip)]
    pub transport: Transport,
    /// Rules of loss recovery and pacing; a table with its own keys.
    pub recovery: Config,
    /// Rules by which the receiver acknowledges; a table with its own keys.
    pub ack: AckConfig,
    /// Time of the first packet.
    #[serde(skip)]
    pub start: Time,
    /// Time after which no packet leaves.
    #[serde(skip)]
    pub stop: Option<Time>,
    /// Application data.
    #[serde(skip)]
    pub application: Application,
    /// Intervals in which the application offers no new data, ascending.
    #[serde(skip)]
    pub pauses: Vec<(Time, Time)>,
    /// Bytes to transfer in bulk; without it the application always has more data.
    #[serde(skip)]
    pub transfer: Option<u64>,
    /// Links of the data.
    #[serde(skip)]
    pub route: Route,
    /// Links of the feedback; `None` if it crosses only a delay.
    #[serde(skip)]
    pub back: Option<Back>,
    /// Round-trip time without queues; at least the delay of the links, there and back. The data
    /// takes half of it, or the delay of its links if that is more.
    #[serde(skip)]
    pub rtt: Duration,
    /// Adds a round trip before the first data of each connection, over the same links and with a
    /// retransmission timer: Initials of 1200 bytes, or SYNs. It provides the first RTT sample, and
    /// Initials count as bytes in flight. The end of a QUIC handshake takes 150 bytes of the
    /// datagram with the first data. On the wire the handshake completes before the run begins,
    /// with or without this key. Default: true for TCP, false for QUIC.
    pub handshake: bool,
    /// Runs the stack's own controller of this name (noq, quinn: `new-reno` or `cubic`, without
    /// parameters) instead of ours. The simulator and our endpoint always run ours; aioquic always
    /// runs its own.
    pub own_controller: bool,
    /// The receiver's clock, as the sender sees it. The sender's own clock uses the same
    /// granularity.
    pub clock: Clock,
    /// Times of the run at which a NAT changes the source port or address of the sender and forgets
    /// the old one: `[["5 s", "port"], ["9 s", "address"]]`. For `--on stack`, where the server
    /// must detect the change and validate the path. A simulated flow has no addresses and
    /// continues.
    #[serde(skip)]
    pub rebind: Vec<(Duration, Rebind)>,
}

/// Part of a flow's source address that a NAT changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Rebind {
    Port,
    Address,
}

impl Default for FlowConfig {
    /// Returns CUBIC over QUIC, in bulk and without end, on a path without delay.
    fn default() -> Self {
        Self::new("flow", cubic::Params::default(), Transport::default(), Duration::ZERO)
    }
}

impl FlowConfig {
    /// Creates an endless bulk flow from the start of the run, with the default loss recovery and
    /// acknowledgements of its transport.
    pub fn new(label: &str, algorithm: impl Into<Algorithm>, transport: Transport, rtt: Duration) -> Self {
        let (recovery, ack) = match transport {
            Transport::Quic { .. } => (Config::quic(), AckConfig::default()),
            Transport::Tcp { .. } => (Config::tcp(), AckConfig::tcp()),
        };
        Self {
            label: label.to_owned(),
            group: label.to_owned(),
            algorithm: algorithm.into(),
            transport,
            recovery,
            ack,
            start: Time::ZERO,
            stop: None,
            application: Application::Bulk,
            pauses: Vec::new(),
            transfer: None,
            route: Route::ALL,
            back: None,
            rtt,
            handshake: false,
            own_controller: false,
            clock: Clock::default(),
            rebind: Vec::new(),
        }
    }

    /// Returns the time at which the flow was complete, from the time at which it ended. A flow
    /// that ends at its `stop` is not complete.
    pub fn complete(&self, finished: Option<Time>) -> Option<Time> {
        finished.filter(|end| self.stop.is_none_or(|stop| *end < stop))
    }
}

/// UDP payload of a datagram with an Initial packet (RFC 9000 section 14.1).
const INITIAL_DATAGRAM: u32 = 1200;
/// IP and TCP headers without options.
const TCP_HEADERS: u32 = 40;

/// Packet sizes of a transport. A full packet counts `window` bytes against cwnd and takes `window
/// + overhead` bytes on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// QUIC: a datagram of `datagram` bytes carries `datagram - header` bytes of the stream.
    Quic {
        /// UDP payload of a full packet (`max_datagram_size`).
        datagram: u32,
        /// QUIC header, AEAD tag and frame header.
        header: u32,
        /// IP, UDP and link headers.
        overhead: u32,
    },
    /// TCP: a segment of `mss` bytes; the window counts segments.
    Tcp {
        /// Payload of a full segment.
        mss: u32,
        /// IP, TCP and link headers.
        overhead: u32,
    },
}

impl Default for Transport {
    /// Returns QUIC in datagrams of 1252 bytes, over IPv4, UDP and Ethernet.
    fn default() -> Self {
        Self::Quic { datagram: 1252, header: 37, overhead: 42 }
    }
}

impl Transport {
    /// Returns the stream bytes in a full packet.
    pub fn payload(&self) -> u32 {
        match *self {
            Self::Quic { datagram, header, .. } => datagram - header,
            Self::Tcp { mss, .. } => mss,
        }
    }

    /// Returns `max_datagram_size`: the bytes that a full packet counts in the window.
    pub fn mds(&self) -> u32 {
        match *self {
            Self::Quic { datagram, .. } => datagram,
            Self::Tcp { mss, .. } => mss,
        }
    }

    /// Returns the bytes that a packet with `payload` stream bytes counts in the window.
    pub fn window_bytes(&self, payload: u32) -> u32 {
        match *self {
            Self::Quic { header, .. } => payload + header,
            Self::Tcp { mss, .. } => mss,
        }
    }

    /// Returns the size on the wire of a handshake packet in either direction: a padded datagram
    /// (RFC 9000 section 14.1), or a segment without payload.
    pub fn handshake_bytes(&self) -> u32 {
        match *self {
            Self::Quic { overhead, .. } => self.handshake_payload() + overhead,
            Self::Tcp { overhead, .. } => overhead.max(TCP_HEADERS),
        }
    }

    /// Returns the UDP or TCP payload of a handshake packet.
    pub fn handshake_payload(&self) -> u32 {
        match self {
            Self::Quic { .. } => INITIAL_DATAGRAM,
            Self::Tcp { .. } => 0,
        }
    }

    /// Returns the size on the wire of a packet with `payload` stream bytes.
    pub fn wire_bytes(&self, payload: u32) -> u32 {
        match *self {
            Self::Quic { header, overhead, .. } => payload + header + overhead,
            Self::Tcp { overhead, .. } => payload + overhead,
        }
    }
}
