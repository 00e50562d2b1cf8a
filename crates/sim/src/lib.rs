//! A deterministic packet-level simulator: virtual time, a bottleneck or several in a row, also on the
//! way back, real loss recovery.
//!
//! **Invariant:** the same scenario gives the same outcome, bit by bit, on every machine and beside any other run.

mod ack_jitter;
pub mod agenda;
mod application;
mod flow;
mod handshake;
pub mod histogram;
mod links;
mod mean;
pub mod packet;
mod probe;
mod queue_delay;
pub mod record;
mod resend;
pub mod scenario;
pub mod series;
mod timers;
pub mod trace;
mod udp;
mod way_back;
mod windows;
mod world;

pub use application::{AUDIO_INTERVAL, Application, Connection, MediaConfig, ObjectsConfig};
pub use histogram::Histogram;
pub use mean::Mean;
pub use probe::ProbeRecord;
pub use queue_delay::QueueDelay;
pub use record::{MediaTotals, ObjectTotals, Record, Totals};
pub use scenario::{Back, FlowConfig, OnOff, ProbeConfig, Route, Scenario, Transport, UdpConfig};
pub use series::{FlowSeries, Series};
pub use timers::TimerMeans;
pub use udp::{Emission, UdpRecord};
pub use windows::{FlowInside, Inside};
pub use world::{Outcome, Watch, run};
