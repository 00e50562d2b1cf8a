//! placeholder
use crate::Ack;
use serde::{Deserialize, Serialize};
/// How slow start grows and ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    /// Doubles until loss.
    #[default]
    #[serde(rename = "standard")]
    Standard,
    /// RFC 9406.
    #[serde(rename = "hystart++")]
    HystartPlusPlus,
    /// Linux.
    #[serde(rename = "hystart")]
    Hystart,
}
/// Slow start
#[derive(Clone, Debug)]
pub struct SlowStart {}
impl SlowStart {
    /// new
    pub fn new(_kind: Kind, _mds: u64) -> Self {
        Self {}
    }
    /// Bytes to add to the window for this ACK.
    pub fn growth(&mut self, ack: &Ack) -> u64 {
        ack.growth
    }
    /// Slow start is over with this ACK (`cwnd` after growth)
    pub fn ended(&mut self, _ack: &Ack, _cwnd: u64) -> bool {
        false
    }
    /// left
    pub fn leave(&mut self) {}
}
