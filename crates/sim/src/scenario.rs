//! One run, fully decided: what the experiment file says after units, sweeps and seeds have been resolved.

use congestion::Algorithm;
use link::LinkConfig;
use recovery::{AckConfig, Clock, Config};
use units::{Duration, Rate, Time};

use crate::application::Application;

/// A chain of links, mostly of one: then every flow crosses the same bottleneck. And perhaps one back.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Seed of every random stream.
    pub seed: u64,
    /// The run ends here at the latest.
    pub duration: Duration,
    /// The bottleneck, or the first link of the chain, forward direction.
    pub link: LinkConfig,
    /// The links behind it, in order.
    pub beyond: Vec<LinkConfig>,
    /// The names of the links, if there are several.
    pub link_names: Vec<String>,
    /// The links of the other direction, in the order in which packets coming back cross them; without any the way
    /// back is a pure delay. Their numbers follow those of the forward links.
    pub reverse: Vec<LinkConfig>,
    /// Their names, one each.
    pub reverse_names: Vec<String>,
    /// The senders.
    pub flows: Vec<FlowConfig>,
    /// A ping beside them.
    pub probe: Option<ProbeConfig>,
    /// Traffic beside them that heeds no congestion.
    pub udp: Vec<UdpConfig>,
    /// Metrics count only what happens in this window; without it, each flow from its start to its end.
    pub measure: Option<(Time, Time)>,
    /// Other windows with counts of their own: name, from, to.
    pub windows: Vec<(String, Time, Time)>,
    /// Interval of the recorded time series; none are recorded without it.
    pub series: Option<Duration>,
    /// Record every packet event of every flow (for qlog).
    pub trace: bool,
}

impl Scenario {
    /// The links that lead forward, in order.
    pub fn forward(&self) -> impl Iterator<Item = &LinkConfig> {
        std::iter::once(&self.link).chain(&self.beyond)
    }

    /// Every link by its number: those that lead forward, then those of the other direction.
    pub fn links(&self) -> impl Iterator<Item = &LinkConfig> {
        self.forward().chain(&self.reverse)
    }

    /// The number of the first link of the other direction, if there is one.
    pub fn first_reverse(&self) -> u16 {
        1 + self.beyond.len() as u16
    }

    /// The route, ending where its chain does.
    pub(crate) fn bounded(&self, route: Route) -> Route {
        let reverse = self.first_reverse();
        let end = if route.first < reverse { reverse } else { reverse + self.reverse.len() as u16 };
        Route { last: route.last.min(end - 1), ..route }
    }

    /// The propagation delay of a route.
    pub(crate) fn delay(&self, route: Route) -> Duration {
        let route = self.bounded(route);
        let links = self.links().enumerate().filter(|(i, _)| route.crosses(*i));
        links.fold(Duration::ZERO, |sum, (_, link)| sum + link.delay)
    }

    /// From when to when metrics count.
    pub(crate) fn window(&self) -> Window {
        let (from, to) = self.measure.unwrap_or((Time::ZERO, Time::NEVER));
        Window { from, to }
    }

    /// Those beside the measuring one.
    pub(crate) fn other_windows(&self) -> impl Iterator<Item = Window> {
        self.windows.iter().map(|(_, from, to)| Window { from: *from, to: *to })
    }

    /// How much of the measuring window a run had that ended at `end`.
    pub fn measured(&self, end: Time) -> Duration {
        let Window { from, to } = self.window();
        to.min(end) - from
    }
}

/// Neighbouring links of a chain: from which to which a packet goes, both inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// The first link, from 0; those of the way back count on behind the forward ones.
    pub first: u16,
    /// The last; beyond the end of its chain: the last one there.
    pub last: u16,
}

impl Route {
    /// The whole forward chain.
    pub const ALL: Self = Self { first: 0, last: u16::MAX };

    /// Whether the link of this number is on it.
    pub fn crosses(self, link: usize) -> bool {
        (usize::from(self.first)..=usize::from(self.last)).contains(&link)
    }
}

/// How feedback comes back over links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Back {
    /// The links.
    pub route: Route,
    /// Bytes of a feedback packet on the wire.
    pub size: u32,
}

/// A window of time, both ends inside.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    pub(crate) from: Time,
    pub(crate) to: Time,
}

impl Window {
    #[inline]
    pub(crate) fn holds(self, now: Time) -> bool {
        self.from <= now && now <= self.to
    }
}

/// A small packet at fixed intervals that the far end answers at once: what another application would feel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProbeConfig {
    /// From one to the next; the first leaves at the start of the run.
    pub interval: Duration,
    /// Bytes on the wire.
    pub size: u32,
    /// Its links.
    pub route: Route,
    /// Those of its answer.
    pub back: Option<Route>,
    /// Round-trip time without queue; at least its links' delay, there and back.
    pub rtt: Duration,
}

/// UDP at a given rate, whatever becomes of it.
#[derive(Clone, Debug, PartialEq)]
pub struct UdpConfig {
    /// Its name in tables.
    pub label: String,
    /// Each rate from its time on, times rising; the first also before its time. Rate zero is silence.
    pub rate: Vec<(Time, Rate)>,
    /// Pauses; without them it is always on.
    pub on_off: Option<OnOff>,
    /// Its links.
    pub route: Route,
    /// Bytes of a packet on the wire; at least 1.
    pub size: u32,
    /// No bit before this.
    pub start: Time,
    /// No packet after this.
    pub stop: Option<Time>,
}

/// Spans of sending and of silence in turn, from the start of a source on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OnOff {
    /// How long it sends.
    pub on: Duration,
    /// How long it is silent.
    pub off: Duration,
    /// These are means of exponential distributions.
    pub random: bool,
}

/// One flow.
#[derive(Clone, Debug)]
pub struct FlowConfig {
    /// Its name in tables and charts, with a number where several share one.
    pub label: String,
    /// That name without the number.
    pub group: String,
    /// Its controller.
    pub algorithm: Algorithm,
    /// QUIC or TCP, and the sizes of its packets.
    pub transport: Transport,
    /// Loss recovery and pacing.
    pub recovery: Config,
    /// How its receiver acknowledges.
    pub ack: AckConfig,
    /// First packet.
    pub start: Time,
    /// No packet after this.
    pub stop: Option<Time>,
    /// What it carries.
    pub application: Application,
    /// Spans in which its application offers nothing new, ascending.
    pub pauses: Vec<(Time, Time)>,
    /// Bytes to transfer in bulk; without it the application always has more.
    pub transfer: Option<u64>,
    /// Its links.
    pub route: Route,
    /// Those of its feedback; without any that crosses nothing but a delay.
    pub back: Option<Back>,
    /// Round-trip time without queue; at least its links' delay, there and back. Half of it, or the links' delay if
    /// that is more, is on the way of the data.
    pub rtt: Duration,
    /// A round trip before the first data of each connection.
    pub handshake: bool,
    /// The receiver's clock, as the sender sees it; the sender's counts in the same unit.
    pub clock: Clock,
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
