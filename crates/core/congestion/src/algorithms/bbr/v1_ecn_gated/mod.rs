//! BBR that scales its gain by the queue length observed at CE marks: "Fairness improvement method
//! using explicit congestion notification for QUIC" (Uchida et al., IEICE ComEX, April 2024),
//! section 3, applied to BBRv1.
//!
//! ```text
//! R        = RTT / minRTT                                                          (section 3)
//! Startup    a mark while R < 1.5: Drain
//! ProbeBW    n marks in the previous ProbeBW; when the next begins:
//!              R > 1.5:            gain *= 1.25
//!              R < 1.5 and n > N:  gain *= 0.75
//! ```
//!
//! Everything else is [`bbr1`](crate::algorithms::bbr::v1), in `base`. Taken literally, R = 1.5
//! changes nothing.
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
//!   packets";
//! * the end of a phase with a scaled gain: `phase-end`. BBR ends a phase with a gain above 1 when
//!   that multiple of the BDP is in flight, and one with a gain below 1 when at most the BDP is in
//!   flight. By the scaled gain, a cycle at 0.75 has no phase above 1, and each of its phases may
//!   end with one ACK. By the cycle's own gain, phases last as long as in BBR.
//!
//! In ProbeBW a mark as such has no effect. picoquic's own response (half the window, at most once
//! per srtt) is not implemented, because the paper's regular flows did not react.
//!
//! The sender opens a recovery period at each mark (`Cause::Ecn`). `bbr1` uses neither the allowed
//! growth nor the sender's recovery period, so an ignored mark has no cost here.
//!
//! Deviations: the base is BBRv1 as in the draft and Linux, not as in picoquic (cycle 1.25, 0.75, 1
//! ...; see `bbr1`). A cycle begins when the phase wraps around, or when ProbeBW is entered at any
//! phase. Marks in Startup, Drain and ProbeRTT are not counted, because they are not in "the
//! previous ProbeBW". While a policer's rate is used (`base.policer`), nothing is scaled.

mod params;
#[cfg(test)]
mod tests;

pub use params::{Marks, Params, Persistence, PhaseEnd, Scope, Unit};

use crate::algorithms::bbr::v1::{self, Bbr1, Scale};
use crate::components::delegate::delegate;
use crate::components::rtt_ratio::Ratio;
use crate::{Ack, Cause, Congestion, Control, Controller, Lost, Needs, PathInfo, Sent};

crate::variables! {
    with v1::VARIABLES;
    /// RTT divided by its minimum, R. Uchida et al. section 3.
    r: "",
    /// Factor by which the gains of ProbeBW are multiplied. Uchida et al. section 3.
    factor: "",
}

/// The controller.
#[derive(Clone, Debug)]
pub struct Bbr1EcnGated {
    params: Params,
    ratio: Ratio,
    /// Last value of R.
    r: f64,
    /// Marked and acknowledged packets in ProbeBW since the last decision.
    ce: u64,
    packets: u64,
    factor: f64,
    base: Bbr1,
}

impl Bbr1EcnGated {
    /// Creates a controller in Startup.
    pub fn new(params: Params, path: PathInfo) -> Self {
        let ratio = Ratio::new(params.rtt, params.min_rtt_window);
        let base = Bbr1::new(params.base.clone(), path);
        Self { params, ratio, r: 1.0, ce: 0, packets: 0, factor: 1.0, base }
    }

    fn many_marks(&self) -> bool {
        match self.params.marks {
            Marks::Packets(n) => self.ce > n,
            Marks::Percent(percent) => self.ce as f64 * 100.0 > percent * self.packets as f64,
        }
    }

    /// Applies section 3 to the ProbeBW that begins.
    fn decide(&mut self) {
        let p = &self.params;
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
        self.base.scale_probe_bw(Scale { pacing, cwnd, ends: p.phase_end == PhaseEnd::Scaled });
    }

    /// Reports whether a ProbeBW begins between these phases.
    fn begins(&self, before: Option<usize>, after: Option<usize>) -> bool {
        match (before, after, self.params.unit) {
            (None, Some(_), _) => true,
            (Some(before), Some(after), Unit::Cycle) => after < before,
            (Some(before), Some(after), Unit::Phase) => after != before,
            (Some(_), Some(_), Unit::Visit) | (_, None, _) => false,
        }
    }
}

impl Controller for Bbr1EcnGated {
    delegate! {
        base: on_lost(lost: &Lost), on_congestion(event: &Congestion), on_spurious(),
        on_path_change(path: PathInfo),
    }

    fn needs(&self) -> Needs {
        Needs { rate_samples: true, mark_counts: true, ..Needs::default() }
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
        if startup && self.params.startup_drain && ack.ce > 0 && self.r < self.params.gate {
            self.base.end_startup();
        }
        if before.is_some() {
            self.ce += ack.ce;
            self.packets += ack.packets.len() as u64;
        }
        let asked = self.base.on_ack(ack);
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
