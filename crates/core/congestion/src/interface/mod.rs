//! The interface of a controller: its inputs, its output, and the description of its parameters.

mod controller;
pub mod params;
mod signals;
mod states;
pub mod variables;

mod parameters;
pub use controller::{CloneController, Controller};
pub use parameters::Parameters;
pub use params::{ParamDoc, Range};
pub use signals::{
    Ack, AckedPacket, Cause, Congestion, Control, Detection, Idle, Lost, LostPacket, Needs, PathInfo,
    RateSample, Sent,
};
pub use states::STATE;
pub use variables::Variable;
