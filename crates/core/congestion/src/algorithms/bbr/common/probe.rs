//! Bandwidth probing in versions 2 and 3: its start, the ACKs that report its result, and the
//! growth of the long-term bound.

use super::model::INFINITE;
use units::{Duration, Rng, Time};

/// Phase in which the packets were sent that are acknowledged now (`BBR.ack_phase`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum AckPhase {
    /// Long after a probe.
    #[default]
    Init,
    /// REFILL has begun; ACKs of its packets come next.
    Refilling,
    /// UP has begun; ACKs of its packets come next.
    ProbeStarting,
    /// ACKs of UP's packets arrive.
    ProbeFeedback,
    /// UP is over; ACKs of its last packets arrive.
    ProbeStopping,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Probe {
    pub(crate) ack_phase: AckPhase,
    /// Whether current losses may be caused by the probe. The first one that is too high cuts
    /// `inflight_hi`.
    pub(crate) bw_probe_samples: bool,
    cycle_stamp: Time,
    pub(crate) bw_probe_wait: Duration,
    pub(crate) rounds_since_bw_probe: u64,
    bw_probe_up_rounds: u64,
    /// Bytes acknowledged towards the next growth of `inflight_hi` by a packet.
    bw_probe_up_acks: u64,
    /// Bytes to acknowledge for each such growth.
    pub(crate) probe_up_cnt: u64,
}

/// Time between probes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wait {
    pub(crate) base: Duration,
    /// Largest random addition to the time.
    pub(crate) spread: Duration,
    /// Largest random reduction of the number of rounds.
    pub(crate) rounds_spread: u64,
}

impl Probe {
    /// `StartProbeBW_DOWN`. Random draws keep flows from probing at the same time
    /// (`PickProbeWait`).
    pub(crate) fn begin_down(&mut self, now: Time, wait: &Wait, rng: &mut Rng) {
        self.probe_up_cnt = INFINITE;
        self.rounds_since_bw_probe = rng.below(wait.rounds_spread.saturating_add(1));
        self.bw_probe_wait = wait.base + wait.spread.mul_f64(rng.unit());
        self.cycle_stamp = now;
        self.ack_phase = AckPhase::ProbeStopping;
    }

    /// Implements `StartProbeBW_REFILL`.
    pub(crate) fn begin_refill(&mut self) {
        self.bw_probe_up_rounds = 0;
        self.bw_probe_up_acks = 0;
        self.ack_phase = AckPhase::Refilling;
    }

    /// Implements `StartProbeBW_UP`.
    pub(crate) fn begin_up(&mut self, now: Time) {
        self.bw_probe_samples = true;
        self.ack_phase = AckPhase::ProbeStarting;
        self.cycle_stamp = now;
    }

    /// Begins a round. Returns whether all ACKs of a probe have arrived.
    pub(crate) fn advance_ack_phase(&mut self) -> bool {
        match self.ack_phase {
            AckPhase::ProbeStarting => self.ack_phase = AckPhase::ProbeFeedback,
            AckPhase::ProbeStopping => {
                self.bw_probe_samples = false;
                self.ack_phase = AckPhase::Init;
                return true;
            }
            AckPhase::Init | AckPhase::Refilling | AckPhase::ProbeFeedback => {}
        }
        false
    }

    /// `IsTimeToProbeBW`: the time has passed, or as many rounds as Reno would need to recover from
    /// a loss.
    pub(crate) fn is_time(&self, now: Time, rounds: u64) -> bool {
        self.has_elapsed_in_phase(now, self.bw_probe_wait) || self.rounds_since_bw_probe >= rounds
    }

    pub(crate) fn has_elapsed_in_phase(&self, now: Time, interval: Duration) -> bool {
        now > self.cycle_stamp + interval
    }

    /// Counts bytes acknowledged while the flow uses the whole bound. Returns by how many packets
    /// the bound rises.
    pub(crate) fn upward(&mut self, acked: u64) -> u64 {
        self.bw_probe_up_acks += acked;
        let delta = self.bw_probe_up_acks / self.probe_up_cnt.max(1);
        self.bw_probe_up_acks -= delta * self.probe_up_cnt;
        delta
    }

    /// `RaiseInflightHiSlope`: 1, 2, 4, ... packets per round.
    pub(crate) fn raise_slope(&mut self, cwnd: u64, mds: u64, max_rounds: u64) {
        let rounds = self.bw_probe_up_rounds;
        let growth = u32::try_from(rounds).ok().and_then(|r| 1u64.checked_shl(r)).unwrap_or(INFINITE);
        self.bw_probe_up_rounds = (rounds + 1).min(max_rounds);
        self.probe_up_cnt = (cwnd / growth).max(mds).max(1);
    }
}
