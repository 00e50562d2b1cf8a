//! Variables of controllers: columns of the series whose unit and meaning the controllers list
//! ([`congestion::Parameters::VARIABLES`]).
//!
//! Controllers share names, but not their meaning: `r` is a rate in one and a ratio in another. A
//! column has a unit if all controllers of the study agree on it. Otherwise its description lists
//! each one's.

use std::collections::{BTreeMap, BTreeSet};

use congestion::{Algorithm, PathInfo, STATE};
use serde::{Deserialize, Serialize};

/// Unit and meaning of a variable; empty if its controller does not list it.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Variable {
    /// Unit of its values, like `bit/s`; empty for a ratio, a gain or a flag.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub unit: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
}

/// Controller to name to variable. The kernel's controllers on the wire are named `cubic (wire)`.
pub type Variables = BTreeMap<String, BTreeMap<String, Variable>>;

/// Unit and description of a column, from all controllers of a study.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnInfo<'a> {
    /// Common unit; `None` if controllers disagree or one of them lists none.
    pub unit: Option<&'a str>,
    /// Meaning for each controller.
    pub description: String,
}

/// Returns the variables that a controller lists, and those that a new one traces without listing
/// them.
pub(crate) fn for_algorithm(algorithm: &Algorithm) -> BTreeMap<String, Variable> {
    let mut all = BTreeMap::new();
    algorithm.build(PathInfo::default()).trace(&mut |name, _| {
        if name != STATE {
            all.insert(name.to_owned(), Variable::default());
        }
    });
    all.extend(algorithm.variables().iter().map(|v| (v.name.to_owned(), variable(v.unit, v.doc))));
    all
}

/// Returns the variables that the kernel reports for all its controllers.
pub(crate) fn for_kernel() -> BTreeMap<String, Variable> {
    BTreeMap::from([("ssthresh".to_owned(), variable("bytes", "Slow-start threshold. Linux TCP_INFO."))])
}

fn variable(unit: &str, doc: &str) -> Variable {
    Variable { unit: unit.to_owned(), description: doc.trim().to_owned() }
}

/// Describes a column. Returns `None` if no controller lists it.
pub fn column<'a>(all: &'a Variables, name: &str) -> Option<ColumnInfo<'a>> {
    let mut kinds: BTreeMap<&Variable, Vec<&str>> = BTreeMap::new();
    for (controller, own) in all {
        if let Some(variable) = own.get(name) {
            kinds.entry(variable).or_default().push(controller);
        }
    }
    kinds.keys().find(|kind| kind.is_listed())?;
    let units: BTreeSet<Option<&str>> = kinds.keys().map(|k| k.is_listed().then_some(&*k.unit)).collect();
    let unit = units.first().copied().flatten().filter(|_| units.len() == 1);
    Some(ColumnInfo { unit, description: of_each(&kinds, unit) })
}

/// Returns the meaning for each controller, with its unit unless all have the same.
fn of_each(kinds: &BTreeMap<&Variable, Vec<&str>>, shared: Option<&str>) -> String {
    let mut each: Vec<_> = kinds.iter().collect();
    each.sort_by_key(|(_, controllers)| *controllers);
    let describe = |(kind, controllers): &(&&Variable, &Vec<&str>)| {
        let unit = match (shared, &*kind.unit) {
            (Some(_), _) => String::new(),
            (None, _) if !kind.is_listed() => " (unit unknown)".to_owned(),
            (None, "") => " (no unit)".to_owned(),
            (None, unit) => format!(" ({unit})"),
        };
        let meaning = if kind.is_listed() { kind.description.trim_end_matches('.') } else { "not described" };
        format!("; {}{unit}: {meaning}", controllers.join(", "))
    };
    "the controller's own variable".to_owned() + &each.iter().map(describe).collect::<String>()
}

impl Variable {
    fn is_listed(&self) -> bool {
        !self.description.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use congestion::Registry;

    use super::*;

    fn study(controllers: &[&str]) -> Variables {
        let registry = Registry::default();
        let own = |name: &&str| ((*name).to_owned(), for_algorithm(&registry.get(name).unwrap().algorithm()));
        controllers.iter().map(own).collect()
    }

    #[test]
    fn one_controller_has_its_unit() {
        let all = study(&["bbr3", "cubic", "fixed-window"]);
        let max_bw = column(&all, "max_bw").unwrap();
        assert_eq!(max_bw.unit, Some("bit/s"));
        assert!(max_bw.description.starts_with("the controller's own variable; bbr3: "), "{max_bw:?}");
        assert_eq!(column(&all, "pacing_gain").unwrap().unit, Some(""), "a ratio");
        assert_eq!(column(&all, "cwnd_bytes"), None);
        assert_eq!(column(&all, STATE), None, "its names are elsewhere");
    }

    #[test]
    fn one_unit_of_several_meanings_is_the_unit() {
        let all = study(&["bbr1", "bbr3", "dstar"]);
        let ColumnInfo { unit, description } = column(&all, "min_rtt").unwrap();
        assert_eq!(unit, Some("s"));
        let said = ["; bbr1: ", "; bbr3: ", "; dstar: "];
        assert!(said.iter().all(|said| description.contains(said)), "{description}");
        assert!(description.starts_with("the controller's own variable; "), "{description}");
    }

    /// `r` is a ratio in the gate and a rate in GCC and NADA.
    #[test]
    fn several_units_are_none() {
        let all = study(&["bbr1-ecn-gated", "cubic-ecn-gated", "gcc-simplified", "nada-2013"]);
        let ColumnInfo { unit, description } = column(&all, "r").unwrap();
        assert_eq!(unit, None);
        for said in [
            "; bbr1-ecn-gated (no unit): ",
            "; cubic-ecn-gated (no unit): ",
            "; gcc-simplified (bit/s): ",
            "; nada-2013 (bit/s): ",
        ] {
            assert!(description.contains(said), "{said}: {description}");
        }
        assert_eq!(column(&study(&["gcc-simplified", "nada-2013"]), "r").unwrap().unit, Some("bit/s"));
        let all = study(&["hstcp", "gcc-simplified"]);
        assert_eq!(column(&all, "a").unwrap().unit, None, "packets and bit/s");
    }

    /// A controller may trace a variable without listing it.
    #[test]
    fn what_is_not_listed_has_no_unit() {
        let mut all = study(&["bbr3"]);
        let unlisted = BTreeMap::from([
            ("bw".to_owned(), Variable::default()),
            ("mine".to_owned(), Variable::default()),
        ]);
        all.insert("theirs".to_owned(), unlisted);
        let bw = column(&all, "bw").unwrap();
        assert_eq!(bw.unit, None);
        assert!(bw.description.ends_with("; theirs (unit unknown): not described"), "{bw:?}");
        assert!(bw.description.contains("; bbr3 (bit/s): "), "{bw:?}");
        assert_eq!(column(&all, "mine"), None);
        let ratio = all.get_mut("theirs").unwrap().insert("pacing_gain".to_owned(), Variable::default());
        assert!(ratio.is_none() && column(&all, "pacing_gain").unwrap().unit.is_none(), "no unit is one too");
    }
}
