//! The conformance suite of controllers.

use congestion::testing::conformance::{Exemptions, verdicts};
use pyo3::prelude::*;

use crate::call::Manner;
use crate::controller::entry::Class;
use crate::controller::host::Host;

/// Runs the suite on a class with its default parameters. Returns each group of rules with its
/// failure, if it has one.
#[pyfunction]
pub(crate) fn conformance(
    py: Python<'_>,
    class: &Bound<'_, Class>,
) -> PyResult<Vec<(&'static str, Option<String>)>> {
    let class = class.get();
    let host = Host::of_call();
    let algorithm = class.entry.algorithm();
    Manner::new(Some(1), None).call(py, &host, |_| {
        let mut all = Vec::new();
        for verdict in verdicts(&algorithm, Exemptions::NONE) {
            // An exception counts as a failure of every rule after it.
            if host.is_over() {
                break;
            }
            all.push((verdict.rules, verdict.failure));
        }
        all
    })
}
