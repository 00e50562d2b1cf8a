//! Parameters.

use crate::{Range, params};
use alloc::format;
use alloc::string::String;
use core::fmt;
use core::str::FromStr;
use units::Duration;

params! {
    /// Smallest window, also the initial window and that of DRAIN, packets. tcp_davis.c MIN_CWND.
    min_cwnd: u64 = 4 => Range::PACKETS.up_to("max_cwnd"),
    /// Largest window, packets. tcp_davis.c: MAX_TCP_WINDOW.
    max_cwnd: u64 = 32_767 => Range::PACKETS,
    /// Smallest gain_cwnd, packets. tcp_davis.c MIN_GAIN_CWND.
    min_gain_cwnd: u64 = 4 => Range::from(0.0),
    /// Packets added to the window per packet by which `bdp` changed: "twice the absolute
    /// deviation". Paper section 3.2.4.
    gain: f64 = 2.0 => Range::FACTOR,
    /// Upper limit of the part of the gain set by `gain`, in BDP. tcp_davis.c; the paper's range
    /// [4, BDP + 4].
    max_gain: f64 = 1.0 => Range::FACTOR,
    /// Window in slow start, in BDP. Paper equation 6.
    slow_start_gain: f64 = 1.5 => Range::FACTOR,
    /// Duration of DRAIN, RTTs. tcp_davis.c DRAIN_RTTS.
    drain_rtts: u64 = 2 => Range::from(0.0),
    /// Duration of GAIN 1, RTTs. tcp_davis.c GAIN_1_RTTS.
    gain_1_rtts: u64 = 2 => Range::COUNT,
    /// Duration of the measurement in GAIN 2, RTTs. tcp_davis.c GAIN_2_RTTS.
    gain_2_rtts: u64 = 1 => Range::COUNT,
    /// Age of RTTmin at which DRAIN measures it again. Paper section 3.2.1; tcp_davis.c
    /// RTT_TIMEOUT_MS.
    rtt_timeout: Duration = Duration::from_secs(10),
    /// Whether application-limited measurements may only raise bdp, and neither lower it nor end
    /// slow start. Not in the paper.
    ignore_app_limited: bool = false,
    /// Response to persistent congestion: `window`, `drain` or `slow-start`. TCP has no persistent
    /// congestion. Not in the paper; chosen by this project.
    persistent_congestion: Restart = Restart::Drain,
    /// Response to a retransmission timeout. `window`: the smallest window until the next mode,
    /// with `bdp` kept, which is what Linux does to the module's window. `drain`: DRAIN, with `bdp`
    /// kept. `slow-start`: slow start from scratch (paper section 3.3).
    timeout: Restart = Restart::Window,
    /// Idle time after which slow start restarts: `"rto"` if the sender restarts windows (paper
    /// section 3.3: RFC 2861), a time such as `"1 s"`, or `"off"` (the module).
    idle_restart: IdleRestart = IdleRestart::Rto,
}

/// Idle time after which slow start restarts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdleRestart {
    /// `"off"`: no restart.
    Off,
    /// `"rto"`: when the sender asks for a restart of the window.
    Rto,
    /// `"1 s"`: after a longer idle time than this.
    After(Duration),
}

units::serde_as_string!(IdleRestart);

impl FromStr for IdleRestart {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.trim() {
            "off" => Ok(Self::Off),
            "rto" => Ok(Self::Rto),
            time => time.parse().map(Self::After).map_err(|e| format!("{e}; or \"rto\" or \"off\"")),
        }
    }
}

impl fmt::Display for IdleRestart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => f.write_str("off"),
            Self::Rto => f.write_str("rto"),
            Self::After(time) => time.fmt(f),
        }
    }
}

/// Response to persistent congestion or a timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Restart {
    /// The smallest window until the next change of mode; bdp is kept.
    Window,
    /// DRAIN; bdp is kept.
    Drain,
    /// Slow start; bdp and RTTmin are reset.
    SlowStart,
}
