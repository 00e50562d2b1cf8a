//! The runner's part of the wire: which cases can run there, and a run that is made again if it is not valid.

use std::fs;
use std::path::Path;

use scenario::{Outcome, Scenario, Watch};

use super::Failure;
use super::beside;
use experiment::backend::Backend;
use experiment::file::{Case, Experiment};
use experiment::metric::Metric;
use results::store::Audit;
use testbed::{Feasibility, Measured};

/// A shared machine is not always itself: a run that is not valid is made again, so often altogether.
const TRIES: u32 = 3;

/// Gets the privileges. A user namespace must come before any thread.
pub(crate) fn prepare() -> Result<(), Failure> {
    emu::privilege::acquire().map(drop).map_err(|e| Failure::Wire(e.to_string()))
}

/// Every case, and behind it, as a row of its own, the same on the wire if it can run there; and why others cannot.
pub(super) fn cases(exp: &Experiment) -> Result<(Vec<Case>, String), Failure> {
    let can = |scenario: &Scenario, _| Feasibility::of(scenario).map(drop);
    beside::cases(exp, &[Backend::Wire], can).map_err(Failure::Wire)
}

/// A run, and what it says of itself. The traffic of the last try is in `pcap`.
pub(super) fn run(
    scenario: &Scenario,
    pcap: Option<&Path>,
    watch: &Watch,
) -> Result<(Outcome, Audit), Failure> {
    let fit = Feasibility::of(scenario).map_err(Failure::Wire)?;
    let mut repeated = 0;
    loop {
        let measured = testbed::run(scenario, &fit, pcap.map(Path::to_owned), watch);
        let measured = match measured {
            // A handshake may be lost like any packet.
            Err(_) if repeated + 1 < TRIES => {
                repeated += 1;
                continue;
            }
            measured => measured.map_err(|e| Failure::Wire(e.to_string()))?,
        };
        let Measured { outcome, invalid_reasons } = measured.ok_or(Failure::Interrupted(0))?;
        if invalid_reasons.is_empty() || repeated + 1 == TRIES {
            return Ok((outcome, Audit { invalid_reasons, repeated }));
        }
        repeated += 1;
    }
}

/// Whether a run on the wire knows this metric, also that of a group.
pub(super) fn tells(metric: &Metric) -> bool {
    !testbed::UNKNOWN.contains(&metric.word())
}

/// `2026-11-21T23:30:00Z, Linux 6.18.5`.
#[allow(clippy::disallowed_methods, reason = "the time of day, for the manifest of a measurement")]
pub(super) fn here_and_now() -> String {
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    format!("{}, Linux {}", humantime::format_rfc3339_nanos(std::time::SystemTime::now()), kernel.trim())
}
