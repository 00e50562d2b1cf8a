//! The contract of a controller: what it is told, what it answers, and how its parameters are described.

mod controller;
pub mod params;
mod signals;

pub use controller::Controller;
pub use params::{ParamDoc, Range};
pub use signals::{
    Ack, AckedPacket, Cause, Congestion, Control, Detection, Idle, Lost, LostPacket, Path, RateSample, Sent,
};
