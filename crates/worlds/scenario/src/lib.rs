#![doc = include_str!("../README.md")]

mod application;
mod cross_traffic;
mod emission;
mod flow;
pub mod guest;
mod outcome;
mod record;
mod recorder;
mod route;
mod run_length;
mod sampler;
mod seconds;
mod series;
pub mod signal;
mod snapshot;
mod source;
mod topology;
pub mod trace;
mod window;
mod world;

pub use application::{AUDIO_INTERVAL, Application, Connection, KeyFrames, MediaConfig, ObjectsConfig};
pub use cross_traffic::{OnOff, ProbeConfig, UdpConfig};
pub use emission::Emission;
pub use flow::{FlowConfig, Rebind, Transport};
pub use guest::{Guest, Guests};
pub use outcome::{Outcome, ProbeRecord, UdpRecord, Watch, WindowOutcome};
pub use record::{
    Delivery, FlowInWindow, Histogram, Mean, MediaTotals, ObjectTotals, QueueDelay, Record, Secrets,
    SentPacket, TimerMeans, Totals,
};
pub use recorder::{End, Recorder};
pub use route::{Back, Route};
pub use run_length::RunLength;
pub use sampler::{FlowSample, FlowSampler, Sampler, mbit_s, trace_datagrams};
pub use seconds::Seconds;
pub use series::{FlowSeries, Series, Variables};
pub use snapshot::{FlowSnapshot, RunSnapshot};
pub use source::{Source, allowed_rate};
pub use topology::Scenario;
pub use window::{Window, Windowed};
pub use world::{Ran, World};
