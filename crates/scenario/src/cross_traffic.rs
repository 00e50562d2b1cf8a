//! What runs beside the flows: a ping, and UDP at a given rate.

use units::{Duration, Rate, Time};

use crate::route::Route;

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
