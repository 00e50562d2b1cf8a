//! Parameters with the same name and meaning in versions 2 and 3.

use crate::algorithms::bbr::common::probe::Wait;
use units::{Bytes, Duration};

/// The common parameters. See the versions' parameters.
#[derive(Clone, Debug)]
pub(crate) struct Rules {
    /// Pacing gains, in the order of [`State`](crate::algorithms::bbr::common::state::State).
    pub(crate) pacing_gains: [f64; 7],
    pub(crate) probe_rtt_cwnd_gain: f64,
    pub(crate) pacing_margin: f64,
    pub(crate) initial_window: Option<u64>,
    pub(crate) initial_rtt: Duration,
    pub(crate) loss_thresh: f64,
    pub(crate) beta: f64,
    pub(crate) headroom: f64,
    pub(crate) min_pipe_cwnd: u64,
    pub(crate) min_rtt_filter_len: Duration,
    pub(crate) probe_rtt_interval: Duration,
    pub(crate) probe_rtt_duration: Duration,
    pub(crate) wait: Wait,
    pub(crate) probe_up_max_rounds: u64,
    pub(crate) probe_up_extra: u64,
    pub(crate) send_quantum_time: Duration,
    pub(crate) send_quantum_max: Bytes,
    pub(crate) offload_quanta: u64,
    pub(crate) ecn: bool,
}

/// Builds [`Rules`] from a version's parameters.
macro_rules! rules {
    ($p:expr) => {
        $crate::algorithms::bbr::common::frame::rules::Rules {
            pacing_gains: [
                $p.startup_pacing_gain,
                $p.drain_pacing_gain,
                $p.probe_down_pacing_gain,
                $p.probe_cruise_pacing_gain,
                $p.probe_refill_pacing_gain,
                $p.probe_up_pacing_gain,
                $p.probe_rtt_pacing_gain,
            ],
            probe_rtt_cwnd_gain: $p.probe_rtt_cwnd_gain,
            pacing_margin: $p.pacing_margin,
            initial_window: $p.initial_window,
            initial_rtt: $p.initial_rtt,
            loss_thresh: $p.loss_thresh,
            beta: $p.beta,
            headroom: $p.headroom,
            min_pipe_cwnd: $p.min_pipe_cwnd,
            min_rtt_filter_len: $p.min_rtt_filter_len,
            probe_rtt_interval: $p.probe_rtt_interval,
            probe_rtt_duration: $p.probe_rtt_duration,
            wait: $crate::algorithms::bbr::common::probe::Wait {
                base: $p.probe_wait_base,
                spread: $p.probe_wait_spread,
                rounds_spread: $p.probe_rounds_spread,
            },
            probe_up_max_rounds: $p.probe_up_max_rounds,
            probe_up_extra: $p.probe_up_extra,
            send_quantum_time: $p.send_quantum_time,
            send_quantum_max: $p.send_quantum_max,
            offload_quanta: $p.offload_quanta,
            ecn: $p.ecn,
        }
    };
}
pub(crate) use rules;
