//! Parameters.

use crate::Range;
use crate::components::window_rule::window_params;

window_params! {
    initial_window = Some(10), count = Packets;
    /// Number of queued packets above which the window shrinks. Linux TCP_YEAH_ALPHA.
    alpha: u64 = 80 => Range::from(0.0),
    /// Divisor of the queue that a decongestion takes. Linux TCP_YEAH_GAMMA.
    gamma: u64 = 1 => Range::COUNT,
    /// Binary logarithm of the divisor of the window that a loss takes at least. Linux
    /// TCP_YEAH_DELTA.
    delta: u64 = 3 => Range::from(0.0).to(32.0),
    /// Binary logarithm of the divisor of the window that a decongestion takes at most. Linux
    /// TCP_YEAH_EPSILON.
    epsilon: u64 = 1 => Range::from(0.0).to(32.0),
    /// Divisor of baseRTT: the queuing delay above which the mode is slow. Linux TCP_YEAH_PHY.
    phi: u64 = 8 => Range::COUNT,
    /// Number of round trips in slow mode from which a loss halves the window. Linux TCP_YEAH_RHO.
    rho: u64 = 16 => Range::from(0.0),
    /// Number of round trips in fast mode after which reno_count is forgotten. Linux TCP_YEAH_ZETA.
    zeta: u64 = 50 => Range::from(0.0),
    /// Number of packets that grow the window by one in fast mode. Linux TCP_SCALABLE_AI_CNT.
    scalable: u64 = 100 => Range::COUNT,
    /// Number of RTT samples per round trip up to which nothing is decided. Linux tcp_yeah.c.
    few_samples: u64 = 2 => Range::from(0.0),
    /// Whether to reset baseRTT when sending again with nothing in flight. Linux
    /// tcp_vegas_cwnd_event.
    idle_restart: bool = true,
}
