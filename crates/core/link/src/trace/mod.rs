//! Recorded links: chances to deliver, or rates over time, that repeat with a period.
//!
//! ```text
//! chances   one time per line, in whole ms (Mahimahi)     served as `chances.rs` describes
//! rates     columns of times and rates                    served as steps, see `rate.rs`
//! ```
//!
//! A recording is loaded once and shared by all links that use it. No lookup takes longer than a
//! binary search. `parse.rs` describes the formats.

mod chances;
mod parse;
mod rates;

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize, Serializer};
use units::{Duration, Rate};

pub(crate) use self::chances::{ChanceServer, Chances};
pub use self::parse::Mistake;
pub(crate) use self::rates::Rates;

/// File of a recorded link, as named in an experiment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "trace"))]
#[serde(deny_unknown_fields)]
pub struct TraceFile {
    /// File with the delivery times of Mahimahi, or with columns of times and rates. The path is
    /// relative to the experiment file.
    pub trace: String,
    /// SHA-256 of the file, in hexadecimal digits. A file with other content is refused. Manifests
    /// identify a trace by this and not by its path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
}

/// Content of a trace's file.
#[derive(Clone, PartialEq)]
pub struct Recording(Kind);

#[derive(Clone, PartialEq)]
enum Kind {
    Chances(Arc<Chances>),
    Rates(Arc<Rates>),
}

impl Recording {
    /// Returns the time after which the recording repeats, in ns.
    fn period(&self) -> u64 {
        match &self.0 {
            Kind::Chances(chances) => chances.period(),
            Kind::Rates(rates) => rates.period(),
        }
    }
}

/// Says only what it is, because a recording may have millions of lines.
impl fmt::Debug for Recording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match &self.0 {
            Kind::Chances(_) => "chances",
            Kind::Rates(_) => "rates",
        };
        write!(f, "{kind} of {}", Duration(self.period()))
    }
}

/// Recorded link: a file, its content, and where in it the run begins.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    file: TraceFile,
    recording: Arc<Recording>,
    /// Position in the recording at time zero, in ns.
    phase: u64,
}

impl Trace {
    /// Creates a link that begins at the start of a recording.
    pub fn new(file: TraceFile, recording: Arc<Recording>) -> Self {
        Self { file, recording, phase: 0 }
    }

    /// Returns the link as if the recording began this much later, with the end of another
    /// repetition before.
    #[must_use]
    pub fn delayed(mut self, by: Duration) -> Self {
        let period = self.recording.period();
        self.phase = (self.phase + period - by.0 % period) % period;
        self
    }

    /// Returns the path of the file, as written.
    pub fn path(&self) -> &str {
        &self.file.trace
    }

    /// Reports whether the file has chances to deliver, as those of Mahimahi.
    pub fn has_chances(&self) -> bool {
        matches!(self.recording.0, Kind::Chances(_))
    }

    /// Returns the mean rate over a period. A chance counts as 1504 bytes.
    pub fn mean(&self) -> Rate {
        match &self.recording.0 {
            Kind::Chances(chances) => chances.mean(),
            Kind::Rates(rates) => rates.mean(),
        }
    }

    /// Returns the chances to deliver, and the position in them at time zero.
    pub(crate) fn chances(&self) -> Option<(&Arc<Chances>, u64)> {
        match &self.recording.0 {
            Kind::Chances(chances) => Some((chances, self.phase)),
            Kind::Rates(_) => None,
        }
    }

    /// Returns the rates, and the position in them at time zero. Chances count as their mean.
    pub(crate) fn rates(&self) -> (Arc<Rates>, u64) {
        match &self.recording.0 {
            Kind::Rates(rates) => (rates.clone(), self.phase),
            Kind::Chances(chances) => (Arc::new(Rates::constant(chances.mean())), 0),
        }
    }
}

/// Serialises to the file's name and checksum, as in files.
impl Serialize for Trace {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.file.serialize(to)
    }
}

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "trace {} of {:.2} Mbit/s on average", self.file.trace, self.mean().mbit_s())
    }
}
