//! The parameters. "Section" is one of Uchida et al.

use crate::algorithms::bbr::v1::{self};
use crate::components::rtt_ratio::Estimator;
use crate::{Range, params};
use alloc::format;
use alloc::string::String;
use core::fmt;
use core::str::FromStr;
use units::Duration;
use units::split_number;

params! {
    /// R that separates a small from a large buffer. Uchida et al. section 3.
    gate: f64 = 1.5 => Range::from(1.0),
    /// Which RTT is in R, "the current RTT" of section 3: `latest`, `smoothed` or `round-min`.
    rtt: Estimator = Estimator::Latest,
    /// How long a minimum RTT is believed, or `"off"`: for ever. Not in the paper; fact sheet section 5.2.
    #[serde(with = "units::or_off")]
    min_rtt_window: Option<Duration> = None,
    /// A mark below the gate ends Startup. Uchida et al. section 3.
    startup_drain: bool = true,
    /// Factor on the gain above the gate. Uchida et al. section 3.
    raise: f64 = 1.25 => Range::FACTOR,
    /// Factor on the gain below the gate after many marks. Uchida et al. section 3.
    lower: f64 = 0.75 => Range::FACTOR,
    /// The factor above the gate needs many marks too. By section 3 no; section 5 may be read so.
    raise_needs_marks: bool = false,
    /// N, more than which are many: `"0 packets"`, or a part of the packets acknowledged, `"5 %"`. "A certain value" in the paper.
    marks: Marks = Marks::Packets(0),
    /// Which gain of ProbeBW: `pacing`, `cwnd` or `both`. Not in the paper; fact sheet section 5.2.
    scope: Scope = Scope::Pacing,
    /// "The previous ProbeBW": one `visit` between two ProbeRTTs, as one of "four phases" (section 3.2), one `cycle` of gains, or one
    /// `phase` of a cycle.
    unit: Unit = Unit::Visit,
    /// The factor holds until the next decision (`reset`), or multiplies what was there (`compound`). Fact sheet section 5.2.
    persistence: Persistence = Persistence::Reset,
    /// What compounded factors stay within: this and its reciprocal. Not in the paper, which diverges.
    compound_limit: f64 = 8.0 => Range::from(1.0),
    /// Which gain tells how a phase ends: the cycle's `own` or the `scaled`. Not in the paper.
    phase_end: PhaseEnd = PhaseEnd::Own,
    /// The parameters of `bbr1` below it.
    base: v1::Params = v1::Params::default(); v1::Params::DOCS,
}

/// N.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Marks {
    /// `"1 packets"`.
    Packets(u64),
    /// `"5 %"` of the packets acknowledged.
    Percent(f64),
}

units::serde_as_string!(Marks);

impl FromStr for Marks {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match split_number(text)? {
            (n, "packets") => Ok(Self::Packets(n as u64)),
            (percent, "%") => Ok(Self::Percent(percent)),
            _ => Err(format!("`{text}` is not a number of marks, like \"1 packets\" or \"5 %\"")),
        }
    }
}

impl fmt::Display for Marks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Packets(n) => write!(f, "{n} packets"),
            Self::Percent(percent) => write!(f, "{percent} %"),
        }
    }
}

/// Which gain is scaled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Scope {
    /// The pacing gain.
    Pacing,
    /// The window gain.
    Cwnd,
    /// Both.
    Both,
}

/// What one ProbeBW is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Unit {
    /// The eight phases of the gain cycle.
    Cycle,
    /// One of them.
    Phase,
    /// From entry to exit.
    Visit,
}

/// How long a factor holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Persistence {
    /// Until the next decision.
    Reset,
    /// For ever: the next one multiplies it.
    Compound,
}

/// Which gain tells how a phase ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum PhaseEnd {
    /// The cycle's own.
    Own,
    /// The scaled one.
    Scaled,
}
