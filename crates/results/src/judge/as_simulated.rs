//! Numbers of other worlds that differ from the published ones as the simulator's do: what is on record for those is on record for these.
//!
//! A row of the stack or of the wire has the network, the controller and the reading of the source from its file, as the simulated row beside it has. Where
//! both say the same, so does the reason; what sets them apart needs a `[[miss]]` of its own, with `on`.

use std::collections::BTreeMap;

use experiment::backend::Backend;
use experiment::metric::Metric;

use crate::summary::{Cell, Variant};

/// Two numbers are alike if they are apart by no more than this share of the published one: what is less is no difference for which a reason is asked.
const ALIKE: f64 = 0.1;
/// What such a reason begins with.
const AS_SIMULATED: &str = "As simulated. ";

/// Gives rows of other backends the reasons of the simulator's where both are alike.
pub(super) fn hand_on(variant: &mut Variant) {
    let simulated: BTreeMap<String, BTreeMap<Metric, Cell>> = variant
        .rows
        .iter()
        .filter(|row| row.label.backend() == Backend::Sim)
        .map(|row| (row.label.in_file().to_owned(), row.cells.clone()))
        .collect();
    for row in variant.rows.iter_mut().filter(|row| row.label.backend() != Backend::Sim) {
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
                cell.open = cell_beside.open;
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

    fn row(on: Backend, goodput: f64, reason: Option<&str>) -> Row {
        let cell = Cell {
            mean: goodput,
            spread: None,
            runs: None,
            shown: None,
            published: Some(10.0),
            reason: reason.map(str::to_owned),
            open: reason.is_some(),
        };
        Row {
            label: RowLabel::new("TCP", on),
            algorithm: String::new(),
            cells: [("goodput".into(), cell)].into_iter().collect(),
            trust: None,
        }
    }

    /// By a tenth of the printed number and no more; a reason of its own stays.
    #[test]
    fn what_is_alike_has_one_reason() {
        let reasons = |stack: f64, of_stack: Option<&str>, of_sim: Option<&str>| {
            let rows = vec![row(Backend::Sim, 7.0, of_sim), row(Backend::Stack, stack, of_stack)];
            let mut variant = Variant { name: String::new(), reference: true, rows, biases: Vec::new() };
            hand_on(&mut variant);
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
