//! Parameters of the gate around every version. "Section" refers to Uchida et al.

use alloc::format;
use alloc::string::String;
use core::fmt;
use core::str::FromStr;

use units::split_number;

/// The parameters of the gate that [`gated`] declares, without those of the base.
#[derive(Clone, Debug)]
pub(super) struct Gate {
    pub(super) gate: f64,
    pub(super) startup_drain: bool,
    pub(super) raise: f64,
    pub(super) lower: f64,
    pub(super) raise_needs_marks: bool,
    pub(super) marks: Marks,
    pub(super) scope: Scope,
    pub(super) unit: Unit,
    pub(super) persistence: Persistence,
    pub(super) compound_limit: f64,
    /// Whether the scaled gain decides how a phase ends.
    pub(super) scaled_ends: bool,
    /// Whether the base sees the marks too.
    pub(super) base_marks: bool,
}

/// Declares the parameters, the variables and the constructor of the gate around a version of BBR.
/// Its own parameters follow those of the gate.
macro_rules! gated {
    (
        $version:ident, $base:ident, scaled_ends: $scaled_ends:expr, base_marks: $base_marks:expr;
        $($own:tt)*
    ) => {
        $crate::params! {
            /// Value of R that separates a small from a large buffer. Uchida et al. section 3.
            gate: f64 = 1.5 => Range::from(1.0),
            /// RTT in R, "the current RTT" of section 3: `latest`, `smoothed` or `round-min`.
            rtt: Estimator = Estimator::Latest,
            /// Age at which a minimum RTT is replaced, or `"off"`: never. Not in the paper; chosen by
            /// this project.
            #[serde(with = "units::or_off")]
            min_rtt_window: Option<Duration> = None,
            /// Whether a mark below the gate ends Startup. Uchida et al. section 3.
            startup_drain: bool = true,
            /// Factor by which the gain is multiplied above the gate. Uchida et al. section 3.
            raise: f64 = 1.25 => Range::FACTOR,
            /// Factor by which the gain is multiplied below the gate after many marks. Uchida et
            /// al. section 3.
            lower: f64 = 0.75 => Range::FACTOR,
            /// Whether the factor above the gate also requires many marks. Uchida et al. section 3
            /// does not require them; section 5 may be read so.
            raise_needs_marks: bool = false,
            /// N, the number of marks above which they are many: `"0 packets"`, or a share of the
            /// acknowledged packets, `"5 %"`. "A certain value" in the paper.
            marks: Marks = Marks::Packets(0),
            /// Scaled gain of ProbeBW: `pacing`, `cwnd` or `both`. Not in the paper; chosen by this
            /// project.
            scope: Scope = Scope::Pacing,
            /// Meaning of "the previous ProbeBW": one `visit` between two ProbeRTTs, as one of
            /// "four phases" (section 3.2), one `cycle` of gains, or one `phase` of a cycle.
            unit: Unit = Unit::Visit,
            /// Whether the factor holds until the next decision (`reset`) or multiplies the last one
            /// (`compound`). Not in the paper; chosen by this project.
            persistence: Persistence = Persistence::Reset,
            /// Limit of compounded factors: between this and its reciprocal. Not in the paper,
            /// whose factors diverge.
            compound_limit: f64 = 8.0 => Range::from(1.0),
            $($own)*
        }

        $crate::variables! {
            with $version::VARIABLES;
            /// RTT divided by its minimum, R. Uchida et al. section 3.
            r: "",
            /// Factor by which the gains of ProbeBW are multiplied. Uchida et al. section 3.
            factor: "",
        }

        impl Params {
            /// Creates a controller in Startup.
            pub fn controller(self, path: PathInfo) -> EcnGated<$base> {
                let scaled_ends: fn(&Self) -> bool = $scaled_ends;
                let base_marks: fn(&Self) -> bool = $base_marks;
                let gate = Gate {
                    gate: self.gate,
                    startup_drain: self.startup_drain,
                    raise: self.raise,
                    lower: self.lower,
                    raise_needs_marks: self.raise_needs_marks,
                    marks: self.marks,
                    scope: self.scope,
                    unit: self.unit,
                    persistence: self.persistence,
                    compound_limit: self.compound_limit,
                    scaled_ends: scaled_ends(&self),
                    base_marks: base_marks(&self),
                };
                let ratio = Ratio::new(self.rtt, self.min_rtt_window);
                EcnGated::new(gate, ratio, $base::new(self.base, path))
            }
        }
    };
}
pub(super) use gated;

/// The threshold N.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Marks {
    /// A number of packets: `"1 packet"`.
    Packets(u64),
    /// A share of the acknowledged packets: `"5 %"`.
    Percent(f64),
}

units::serde_as_string!(Marks);

impl FromStr for Marks {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match split_number(text)? {
            (n, "packets" | "packet") => Ok(Self::Packets(n as u64)),
            (percent, "%") => Ok(Self::Percent(percent)),
            _ => Err(format!("`{text}` is not a number of marks, like \"1 packet\" or \"5 %\"")),
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

/// The gain that is scaled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Scope {
    /// The pacing gain.
    Pacing,
    /// The window gain.
    Cwnd,
    /// Both gains.
    Both,
}

/// The unit that counts as one ProbeBW.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Unit {
    /// One run through the gains.
    Cycle,
    /// One phase of the cycle.
    Phase,
    /// The time from entering to leaving ProbeBW.
    Visit,
}

/// Lifetime of a factor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Persistence {
    /// A factor holds until the next decision.
    Reset,
    /// A factor is permanent and multiplied by the next one.
    Compound,
}
