//! The rules as test cases, for the machines that read JUnit's XML.

use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use super::change::Change;
use super::comparison::Comparison;

/// A suite for each experiment, a case for each number that a rule is about; one that breaks it has failed.
///
/// # Errors
/// Text that XML cannot hold.
pub(super) fn of(comparison: &Comparison) -> Result<String, quick_junit::SerializeError> {
    let mut report = Report::new("ackclock diff");
    let ruled = || comparison.changes.iter().filter(|change| change.is_ruled);
    let mut names: Vec<&str> = ruled().map(|change| change.experiment.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    for name in names {
        let mut suite = TestSuite::new(name);
        let mut cases: Vec<&Change> = ruled().filter(|change| change.experiment == name).collect();
        cases.sort_by(|a, b| {
            (&a.variant, a.row.as_str(), &a.metric).cmp(&(&b.variant, b.row.as_str(), &b.metric))
        });
        suite.add_test_cases(cases.into_iter().map(case));
        report.add_test_suite(suite);
    }
    if !comparison.unused.is_empty() {
        let mut suite = TestSuite::new("rules");
        suite.add_test_cases(comparison.unused.iter().map(|rule| {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
            status.set_message("no number to hold it against: the metric is in no table that both have");
            TestCase::new(rule.clone(), status)
        }));
        report.add_test_suite(suite);
    }
    report.to_string()
}

fn case(change: &Change) -> TestCase {
    let status = match &change.broken {
        None => TestCaseStatus::success(),
        Some(rule) => {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
            let unit = change.metric.unit();
            status.set_message(format!("{} -> {} {unit} breaks \"{rule}\"", change.before, change.after));
            status
        }
    };
    let place = [change.variant.as_str(), change.row.as_str(), change.metric.as_str()];
    TestCase::new(place.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(", "), status)
}
