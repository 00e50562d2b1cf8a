//! Reasons for numbers of other worlds that agree with the simulator's.
//!
//! A row of the stack or the wire has the network, controller and reading of the simulated row from
//! the same file. If both agree, the recorded reason applies to both. A difference between them
//! needs its own `[[miss]]` with `on`.

use std::collections::BTreeMap;

use experiment::metric::Metric;
use experiment::place::Place;

use crate::summary::{Cell, Variant};

/// Largest difference of similar numbers, as a share of the published one. Smaller differences need
/// no reason.
const ALIKE: f64 = 0.1;
/// Prefix of such a reason.
const AS_SIMULATED: &str = "As simulated. ";

/// Gives rows of other backends the reasons of similar simulated rows.
pub(super) fn inherit_reasons(variant: &mut Variant) {
    let simulated: BTreeMap<String, BTreeMap<Metric, Cell>> = variant
        .rows
        .iter()
        .filter(|row| row.label.backend() == Place::SIM)
        .map(|row| (row.label.in_file().to_owned(), row.cells.clone()))
        .collect();
    for row in variant.rows.iter_mut().filter(|row| row.label.backend() != Place::SIM) {
        let Some(beside) = simulated.get(row.label.in_file()) else { continue };
        for (metric, cell) in &mut row.cells {
            if cell.reason.is_some() {
                continue;
            }
            if let Some((cell_beside, reason)) =
                beside.get(metric).and_then(|other| Some((other, other.reason.as_ref()?)))
                && are_alike(cell, cell_beside)
            {
                cell.reason = Some(format!("{AS_SIMULATED}{reason}"));
                (cell.open, cell.path_unknown) = (cell_beside.open, cell_beside.path_unknown);
            }
        }
    }
}

fn are_alike(cell: &Cell, beside: &Cell) -> bool {
    let apart = (cell.value() - beside.value()).abs();
    cell.published.is_some_and(|published| apart <= ALIKE * published.abs())
}

#[cfg(test)]
mod tests {
    use experiment::row::RowLabel;

    use super::*;
    use crate::summary::Row;

    fn row(on: Place, goodput: f64, reason: Option<&str>) -> Row {
        let cell = Cell {
            mean: goodput,
            published: Some(10.0),
            reason: reason.map(str::to_owned),
            open: reason.is_some(),
            ..Cell::default()
        };
        Row {
            label: RowLabel::new("TCP", on),
            algorithm: String::new(),
            cells: [("goodput".into(), cell)].into_iter().collect(),
            trust: None,
        }
    }

    /// Numbers are similar within a tenth of the published one. A row's own reason stays.
    #[test]
    fn what_is_alike_has_one_reason() {
        let reasons = |stack: f64, of_stack: Option<&str>, of_sim: Option<&str>| {
            let rows = vec![row(Place::SIM, 7.0, of_sim), row(Place::STACK, stack, of_stack)];
            let mut variant = Variant { name: String::new(), reference: true, rows, biases: Vec::new() };
            inherit_reasons(&mut variant);
            assert_eq!(variant.rows[0].cells["goodput"].reason.as_deref(), of_sim);
            let cell = &variant.rows[1].cells["goodput"];
            (cell.reason.clone().unwrap_or_default(), cell.open)
        };
        assert_eq!(reasons(7.9, None, Some("why")), ("As simulated. why".to_owned(), true));
        assert_eq!(reasons(8.1, None, Some("why")), (String::new(), false), "more than a tenth of 10");
        assert_eq!(reasons(7.9, Some("own"), Some("why")), ("own".to_owned(), true));
        assert_eq!(reasons(7.9, None, None), (String::new(), false));
    }
}
