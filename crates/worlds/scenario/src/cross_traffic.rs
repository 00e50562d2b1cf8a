//! Traffic beside the flows: a ping, and UDP at a given rate.

use units::{Duration, Rate, Time};

use crate::route::Route;

/// Ping: a small packet at fixed intervals that the far end answers at once. It measures what
/// another application would experience.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProbeConfig {
    /// Interval between packets; the first leaves at the start of the run.
    pub interval: Duration,
    /// Size of a packet, in bytes on the wire.
    pub size: u32,
    /// Links of the packet.
    pub route: Route,
    /// Links of the answer; `None` if it crosses none.
    pub back: Option<Route>,
    /// Round-trip time without queues; at least the delay of the links, there and back.
    pub rtt: Duration,
}

/// Unresponsive UDP traffic at a given rate.
#[derive(Clone, Debug, PartialEq)]
pub struct UdpConfig {
    /// Name of the source in tables.
    pub label: String,
    /// Rates that each hold from their time on, in order of time. The first also holds before its
    /// time. Rate zero is silence.
    pub rate: Vec<(Time, Rate)>,
    /// On and off phases; `None` is always on.
    pub on_off: Option<OnOff>,
    /// Links of the packets.
    pub route: Route,
    /// Size of a packet, in bytes on the wire; at least 1.
    pub size: u32,
    /// Start of the source.
    pub start: Time,
    /// Time after which no packet leaves.
    pub stop: Option<Time>,
}

/// Alternating phases of sending and silence, from the start of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OnOff {
    /// Duration of a sending phase.
    pub on: Duration,
    /// Duration of a silent phase.
    pub off: Duration,
    /// Draws the durations from exponential distributions with these means.
    pub random: bool,
}
