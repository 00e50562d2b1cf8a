//! Packets for the tests of this folder.

use units::{Ecn, Time};

use crate::packet::Packet;

/// Packet with a number, size, ECN field and flow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Pkt {
    pub(crate) id: u64,
    size: u32,
    ecn: Ecn,
    flow: u32,
}

impl Pkt {
    pub(crate) fn new(id: u64, size: u32) -> Self {
        Self { id, size, ecn: Ecn::NotEct, flow: 0 }
    }

    pub(crate) fn with_ecn(self, ecn: Ecn) -> Self {
        Self { ecn, ..self }
    }

    pub(crate) fn with_flow(self, flow: u32) -> Self {
        Self { flow, ..self }
    }
}

impl Packet for Pkt {
    fn damage(&mut self, _: u64) {}

    fn size(&self) -> u32 {
        self.size
    }
    fn ecn(&self) -> Ecn {
        self.ecn
    }
    fn set_ecn(&mut self, ecn: Ecn) {
        self.ecn = ecn;
    }
    fn flow(&self) -> u32 {
        self.flow
    }
}

pub(crate) fn ms(ms: u64) -> Time {
    Time::from_millis(ms)
}
