//! Comparison with the verdicts of an earlier answer.

use std::collections::{BTreeMap, BTreeSet};

use experiment::place::Place;
use serde::{Deserialize, Serialize};

/// Verdicts of an earlier answer, as its JSON has them.
#[derive(Clone, Debug, Deserialize)]
pub struct Baseline {
    stack: String,
    on: Place,
    controller: String,
    left_out: usize,
    cells: Vec<Verdict>,
}

/// Verdict on one network.
#[derive(Clone, Debug, Deserialize)]
struct Verdict {
    variant: String,
    deviates_in: Vec<String>,
}

/// A deviation: the name of the network's variant, and the measure.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Deviation {
    pub variant: String,
    pub measure: String,
}

/// What changed since an earlier answer.
#[derive(Clone, Debug, Serialize)]
pub struct Since {
    /// Deviations that the baseline does not have.
    pub new: Vec<Deviation>,
    /// Deviations that the baseline has too.
    pub known: Vec<Deviation>,
    /// Deviations of the baseline that are gone.
    pub gone: Vec<Deviation>,
}

impl Baseline {
    /// Returns the reason why the baseline does not answer a question about this controller in this
    /// stack and world, on these networks.
    pub(super) fn mismatch(
        &self,
        (controller, stack, on): (&str, &str, Place),
        variants: &BTreeSet<String>,
    ) -> Option<String> {
        let is_known = |cell: &Verdict| variants.contains(&cell.variant);
        let is_whole = variants.len().checked_sub(self.cells.len()) == Some(self.left_out);
        let subject = |controller, stack, on: Place| format!("{controller} in {stack} (--on {})", on.word());
        let then = subject(&*self.controller, &*self.stack, self.on);
        let now = subject(controller, stack, on);
        if then != now {
            return Some(format!(": it is about {then}, and this question about {now}"));
        }
        let why = ": it has other networks; ask both questions with --quick, or both without";
        (!is_whole || !self.cells.iter().all(is_known)).then(|| why.to_owned())
    }
}

impl Since {
    /// Compares the measures in which each variant deviates now with a baseline. Deviations on
    /// networks that have no valid run now are neither known nor gone.
    pub(super) fn new(baseline: &Baseline, now: &BTreeMap<&str, &[&str]>) -> Self {
        let then = baseline.cells.iter().filter(|cell| now.contains_key(&*cell.variant));
        let then: BTreeSet<Deviation> = then.flat_map(|cell| all(&cell.variant, &cell.deviates_in)).collect();
        let now: BTreeSet<Deviation> =
            now.iter().flat_map(|(variant, measures)| all(variant, measures)).collect();
        Self {
            new: now.difference(&then).cloned().collect(),
            known: now.intersection(&then).cloned().collect(),
            gone: then.difference(&now).cloned().collect(),
        }
    }
}

fn all<M: AsRef<str>>(variant: &str, measures: &[M]) -> impl Iterator<Item = Deviation> {
    measures
        .iter()
        .map(move |measure| Deviation { variant: variant.to_owned(), measure: measure.as_ref().to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn baseline() -> Baseline {
        let cell = |variant: &str, measures: &[&str]| Verdict {
            variant: variant.to_owned(),
            deviates_in: measures.iter().map(|measure| (*measure).to_owned()).collect(),
        };
        let cells = vec![cell("a", &["reductions"]), cell("b", &["window"]), cell("c", &["window"])];
        Baseline {
            stack: "ackclock".to_owned(),
            on: Place::STACK,
            controller: "cubic".to_owned(),
            left_out: 1,
            cells,
        }
    }

    #[test]
    fn new_known_and_gone() {
        let now = [("a", &["window", "reductions"][..]), ("b", &[]), ("d", &["envelope"])];
        let since = Since::new(&baseline(), &now.into());
        let words = |all: &[Deviation]| {
            all.iter().map(|one| format!("{} {}", one.variant, one.measure)).collect::<Vec<_>>()
        };
        assert_eq!(words(&since.new), ["a window", "d envelope"]);
        assert_eq!(words(&since.known), ["a reductions"]);
        assert_eq!(words(&since.gone), ["b window"], "c was not measured");
    }

    #[test]
    fn of_the_same_stack_place_and_controller() {
        let networks = ["a", "b", "c", "d"].map(str::to_owned).into();
        let why = |asked| baseline().mismatch(asked, &networks);
        assert_eq!(why(("cubic", "ackclock", Place::STACK)), None);
        for (other, named) in [
            (("cubic", "quinn", Place::STACK), "cubic in quinn (--on stack)"),
            (("cubic", "ackclock", Place::WIRE), "cubic in ackclock (--on wire)"),
            (("new-reno", "ackclock", Place::STACK), "new-reno in ackclock (--on stack)"),
        ] {
            let right =
                format!(": it is about cubic in ackclock (--on stack), and this question about {named}");
            assert_eq!(why(other), Some(right));
        }
    }

    #[test]
    fn of_the_same_networks() {
        let asked = ("cubic", "ackclock", Place::STACK);
        let covers = |names: &[&str]| {
            baseline().mismatch(asked, &names.iter().map(|name| (*name).to_owned()).collect()).is_none()
        };
        assert!(covers(&["a", "b", "c", "d"]), "one was left out");
        assert!(
            !covers(&["a", "b", "c"])
                && !covers(&["a", "b", "d", "e"])
                && !covers(&["a", "b", "c", "d", "e"])
        );
    }
}
