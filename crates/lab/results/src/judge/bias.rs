//! Biased columns. If every goodput is two percent high, that is not chance.

use crate::judge::trusted_cell;
use crate::summary::{BiasFound, Cell, Variant};
use experiment::file::Experiment;

/// Smallest number of rows of a biased column.
const ROWS: usize = 4;
/// Smallest mean relative difference of a biased column.
const LEAST: f64 = 0.01;

/// Reason of a column whose cells all have their own.
const BY_ROW: &str = "see the reasons of its rows";

/// Returns the biased columns of a variant. All rows differ in the same direction, and their
/// standard deviation is below the mean difference. Rows of an unknown path are not compared.
pub(super) fn find(exp: &Experiment, variant: &Variant) -> Vec<BiasFound> {
    let found = exp.metrics.iter().filter_map(|metric| {
        let cells = || variant.rows.iter().filter_map(|row| trusted_cell(variant, &row.label, metric));
        let compared = || cells().filter(|cell| cell.difference().is_some() && !cell.path_unknown);
        let differences: Vec<f64> = compared().filter_map(Cell::difference).collect();
        let (mean, range) = of_column(&differences)?;
        let of_file = exp.biases.iter().find(|b| b.explains(&variant.name, metric));
        let of_file = of_file.map(|bias| (bias.reason.clone(), bias.open));
        let by_row = || (BY_ROW.to_owned(), compared().any(|cell| cell.open));
        let of_rows = || compared().all(|cell| cell.reason.is_some()).then(by_row);
        let (reason, open) = of_file.or_else(of_rows).unzip();
        Some(BiasFound { metric: metric.clone(), mean, range, reason, open: open.unwrap_or_default() })
    });
    found.collect()
}

/// Returns mean and range of the relative differences, if they are a bias.
fn of_column(differences: &[f64]) -> Option<(f64, (f64, f64))> {
    let (low, high) = differences
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), d| (low.min(*d), high.max(*d)));
    let mean = differences.iter().sum::<f64>() / differences.len() as f64;
    let deviation = crate::measure::deviation(differences);
    let one_side = low > 0.0 || high < 0.0;
    let biased = differences.len() >= ROWS && one_side && mean.abs() >= LEAST && deviation < mean.abs();
    biased.then_some((mean, (low, high)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bias_is_common_to_the_column() {
        assert_eq!(of_column(&[0.02, 0.02, 0.02, 0.02]), Some((0.02, (0.02, 0.02))));
        assert!(of_column(&[-0.03, -0.05, -0.02, -0.04]).is_some());
        for no_bias in [
            &[0.02, 0.02, 0.02][..],       // too few to tell
            &[0.02, 0.02, -0.001, 0.02],   // both sides
            &[0.01, 0.01, 0.01, 0.9],      // one row
            &[0.001, 0.002, 0.001, 0.002], // next to nothing
        ] {
            assert_eq!(of_column(no_bias), None, "{no_bias:?}");
        }
    }
}
