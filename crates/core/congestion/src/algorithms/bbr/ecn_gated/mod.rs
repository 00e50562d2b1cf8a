//! BBR that scales its gain by the queue length observed at CE marks: "Fairness improvement method
//! using explicit congestion notification for QUIC" (Uchida et al., IEICE ComEX, April 2024),
//! section 3, applied to BBRv1 ([`v1`], the paper's), BBRv2 ([`v2`]) and BBRv3 ([`v3`]).
//!
//! ```text
//! R        = RTT / minRTT                                                          (section 3)
//! Startup    a mark while R < 1.5: Drain
//! ProbeBW    n marks in the previous ProbeBW; when the next begins:
//!              R > 1.5:            gain *= 1.25
//!              R < 1.5 and n > N:  gain *= 0.75
//! ```
//!
//! Everything else is the version's own, in `base`. Taken literally, R = 1.5 changes nothing.
//!
//! **Ambiguities**, each a parameter whose default this project chose:
//! * the RTT and the minimum in R: `rtt`, `min-rtt-window`;
//! * the scaled gain: `scope`. If a large buffer starts marking when half full, the window of twice
//!   the BDP limits BBR, not the pacing rate. So `cwnd` may be the gain that changed the throughput
//!   in the paper;
//! * the meaning of "the previous ProbeBW": `unit`;
//! * "a certain value" N: `marks`, a number of packets or a share of the acknowledged ones. A mark
//!   is one packet in the ACK's CE counter;
//! * whether factors accumulate from one ProbeBW to the next: `persistence`;
//! * whether R > 1.5 requires marks too: `raise-needs-marks`. Literally section 3 does not require
//!   them, but section 5 explains throughput by "gain by 1.25 based on RTT and the number of ECN
//!   packets".
//!
//! The sender opens a recovery period at each mark (`Cause::Ecn`). BBR uses neither the allowed
//! growth nor the sender's recovery period, so an ignored mark has no cost here.
//!
//! Deviations: marks in Startup, Drain and ProbeRTT are not counted, because they are not in "the
//! previous ProbeBW".

mod params;
#[cfg(test)]
mod tests;
pub mod v1;
pub mod v2;
pub mod v3;

pub use params::{Marks, Persistence, Scope, Unit};

use crate::algorithms::bbr::scale::{Scale, Scaled};
use crate::components::delegate::delegate;
use crate::components::rtt_ratio::{Estimator, Ratio};
use crate::{Ack, Cause, Congestion, Control, Controller, Lost, Needs, PathInfo, Sent};
use params::Gate;
use units::Ecn;

/// The controller: a version of BBR behind the gate.
#[derive(Clone, Debug)]
pub struct EcnGated<B> {
    gate: Gate,
    ratio: Ratio,
    /// Last value of R.
    r: f64,
    /// Marked and acknowledged packets in ProbeBW since the last decision.
    ce: u64,
    packets: u64,
    factor: f64,
    base: B,
}

impl<B: Scaled> EcnGated<B> {
    fn new(gate: Gate, ratio: Ratio, base: B) -> Self {
        Self { gate, ratio, r: 1.0, ce: 0, packets: 0, factor: 1.0, base }
    }

    fn many_marks(&self) -> bool {
        match self.gate.marks {
            Marks::Packets(n) => self.ce > n,
            Marks::Percent(percent) => self.ce as f64 * 100.0 > percent * self.packets as f64,
        }
    }

    /// Applies section 3 to the ProbeBW that begins.
    fn decide(&mut self) {
        let p = &self.gate;
        let many = self.many_marks();
        let factor = if self.r > p.gate && (many || !p.raise_needs_marks) {
            p.raise
        } else if self.r < p.gate && many {
            p.lower
        } else {
            1.0
        };
        let most = p.compound_limit.max(1.0);
        self.factor = match p.persistence {
            Persistence::Reset => factor,
            Persistence::Compound => (self.factor * factor).min(most).max(1.0 / most),
        };
        (self.ce, self.packets) = (0, 0);
        let (pacing, cwnd) = match p.scope {
            Scope::Pacing => (self.factor, 1.0),
            Scope::Cwnd => (1.0, self.factor),
            Scope::Both => (self.factor, self.factor),
        };
        self.base.scale_probe_bw(Scale { pacing, cwnd, ends: p.scaled_ends });
    }

    /// Reports whether a ProbeBW begins between these phases.
    fn begins(&self, before: Option<usize>, after: Option<usize>) -> bool {
        match (before, after, self.gate.unit) {
            (None, Some(_), _) => true,
            (Some(before), Some(after), Unit::Cycle) => after < before,
            (Some(before), Some(after), Unit::Phase) => after != before,
            (Some(_), Some(_), Unit::Visit) | (_, None, _) => false,
        }
    }
}

impl<B: Scaled> Controller for EcnGated<B> {
    delegate! {
        base: on_lost(lost: &Lost), on_congestion(event: &Congestion), on_spurious(),
        on_path_change(path: PathInfo),
    }

    fn needs(&self) -> Needs {
        Needs { rate_samples: true, mark_counts: true, ecn: Ecn::Ect0, ..Needs::default() }
    }

    fn on_sent(&mut self, sent: &Sent) {
        let before = self.base.phase();
        self.base.on_sent(sent);
        // The end of an idle time may end ProbeRTT.
        if self.begins(before, self.base.phase()) {
            self.decide();
        }
    }

    fn on_ack(&mut self, ack: &Ack) -> Option<Cause> {
        self.r = self.ratio.update(ack).unwrap_or(self.r);
        let before = self.base.phase();
        let startup = self.base.control().in_slow_start();
        if startup && self.gate.startup_drain && ack.ce > 0 && self.r < self.gate.gate {
            self.base.end_startup();
        }
        if before.is_some() {
            self.ce += ack.ce;
            self.packets += ack.packets.len() as u64;
        }
        let ce = if self.gate.base_marks { ack.ce } else { 0 };
        let asked = self.base.on_ack(&Ack { ce, ..*ack });
        if self.begins(before, self.base.phase()) {
            self.decide();
        }
        asked
    }

    fn shapes_recovery(&self) -> bool {
        true
    }

    fn control(&self) -> Control {
        self.base.control()
    }

    fn trace(&self, put: &mut dyn FnMut(&'static str, f64)) {
        self.base.trace(put);
        put("r", self.r);
        put("factor", self.factor);
    }
}
