//! A sender and its receiver.

use congestion::Algorithm;
use congestion::algorithms::cubic::rfc9438 as cubic;
use recovery::{AckConfig, Clock, Config};
use serde::{Deserialize, Serialize};
use units::{Duration, Time};

use crate::application::Application;
use crate::route::{Back, Route};

/// One flow. The fields that serde does not skip are keys of a `[[flow]]` table as they are: read, documented and written from
/// here alone.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, rename_all = "kebab-case")]
pub struct FlowConfig {
    /// Its name in tables and charts, with a number where several share one.
    #[serde(skip)]
    pub label: String,
    /// That name without the number.
    #[serde(skip)]
    pub group: String,
    /// Its controller.
    #[serde(skip)]
    pub algorithm: Algorithm,
    /// QUIC or TCP, and the sizes of its packets.
    #[serde(skip)]
    pub transport: Transport,
    /// Every rule of loss recovery and pacing, keys of their own.
    pub recovery: Config,
    /// How its receiver acknowledges, keys of their own.
    pub ack: AckConfig,
    /// First packet.
    #[serde(skip)]
    pub start: Time,
    /// No packet after this.
    #[serde(skip)]
    pub stop: Option<Time>,
    /// What it carries.
    #[serde(skip)]
    pub application: Application,
    /// Spans in which its application offers nothing new, ascending.
    #[serde(skip)]
    pub pauses: Vec<(Time, Time)>,
    /// Bytes to transfer in bulk; without it the application always has more.
    #[serde(skip)]
    pub transfer: Option<u64>,
    /// Its links.
    #[serde(skip)]
    pub route: Route,
    /// Those of its feedback; without any that crosses nothing but a delay.
    #[serde(skip)]
    pub back: Option<Back>,
    /// Round-trip time without queue; at least its links' delay, there and back. Half of it, or the links' delay if
    /// that is more, is on the way of the data.
    #[serde(skip)]
    pub rtt: Duration,
    /// A round trip before the first data of each connection, over the same links and with a timer: Initials of 1200 bytes, or
    /// SYNs; it is the first RTT sample, and an Initial counts in the window as a packet. What ends a handshake of QUIC takes 150 bytes of the
    /// datagram with the first data. On the wire the handshake is over before the run begins, either way.
    pub handshake: bool,
    /// In a stack that brings controllers (noq, quinn): its own of this name, `new-reno` or `cubic` without parameters, and not ours inside
    /// of it. The simulator and our endpoint run ours all the same; aioquic has none but its own.
    pub own_controller: bool,
    /// The receiver's clock, as the sender sees it; the sender's counts in the same unit.
    pub clock: Clock,
    /// When, in the time of the run, a NAT gives its sender another source port or another address, and forgets the one before: `[["5 s", "port"], ["9 s", "address"]]`.
    /// For `--on stack`, where the server has to find out and to validate the path; a flow of the simulator has no addresses, and goes on.
    #[serde(skip)]
    pub rebind: Vec<(Duration, Rebind)>,
}

/// What a NAT changes of a flow's source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Rebind {
    /// The port.
    Port,
    /// The address.
    Address,
}

impl Default for FlowConfig {
    /// CUBIC over QUIC, in bulk and without end, on a path without delay.
    fn default() -> Self {
        Self::new("flow", cubic::Params::default(), Transport::default(), Duration::ZERO)
    }
}

impl FlowConfig {
    /// A bulk flow without end, from the start of the run; loss recovery and acknowledgements are those of its transport.
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
}

/// UDP payload of a datagram with an Initial packet. RFC 9000 section 14.1.
const INITIAL_DATAGRAM: u32 = 1200;
/// IP and TCP headers without options.
const TCP_HEADERS: u32 = 40;

/// Packet sizes of a transport. `window` bytes count against cwnd, `window + overhead` bytes are on the wire.
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
    /// QUIC in datagrams of 1252 bytes, over IPv4, UDP and Ethernet.
    fn default() -> Self {
        Self::Quic { datagram: 1252, header: 37, overhead: 42 }
    }
}

impl Transport {
    /// Stream bytes in a full packet.
    pub fn payload(&self) -> u32 {
        match *self {
            Self::Quic { datagram, header, .. } => datagram - header,
            Self::Tcp { mss, .. } => mss,
        }
    }

    /// `max_datagram_size`: what a full packet counts in the window.
    pub fn mds(&self) -> u32 {
        match *self {
            Self::Quic { datagram, .. } => datagram,
            Self::Tcp { mss, .. } => mss,
        }
    }

    /// What a packet with `payload` stream bytes counts in the window.
    pub fn window_bytes(&self, payload: u32) -> u32 {
        match *self {
            Self::Quic { header, .. } => payload + header,
            Self::Tcp { mss, .. } => mss,
        }
    }

    /// A packet of the handshake on the wire, either way: a padded datagram (RFC 9000 section 14.1), a segment without
    /// payload.
    pub fn handshake_bytes(&self) -> u32 {
        match *self {
            Self::Quic { overhead, .. } => self.handshake_payload() + overhead,
            Self::Tcp { overhead, .. } => overhead.max(TCP_HEADERS),
        }
    }

    /// What of it is payload of UDP or TCP.
    pub fn handshake_payload(&self) -> u32 {
        match self {
            Self::Quic { .. } => INITIAL_DATAGRAM,
            Self::Tcp { .. } => 0,
        }
    }

    /// A packet with `payload` stream bytes on the wire.
    pub fn wire_bytes(&self, payload: u32) -> u32 {
        match *self {
            Self::Quic { header, overhead, .. } => payload + header + overhead,
            Self::Tcp { overhead, .. } => payload + overhead,
        }
    }
}
