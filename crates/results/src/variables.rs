//! The controllers' own variables: columns of the series whose unit and meaning are their controllers', as each lists them
//! ([`congestion::Parameters::VARIABLES`]).
//!
//! Controllers share names, but not what they mean: `r` is a rate of one and a ratio of another. A column has a unit where all controllers
//! of the study that tell it agree, and none where they do not; its description then says each one's.

use std::collections::{BTreeMap, BTreeSet};

use congestion::{Algorithm, PathInfo, STATE};
use serde::{Deserialize, Serialize};

/// What a variable is; empty of one that its controller does not list.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Variable {
    /// Of its values: `bit/s`; empty of a ratio, a gain, a flag.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub unit: String,
    /// Meaning and source.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
}

/// Controller to the names of its variables to what they are. Those of the kernel on the wire are `cubic (wire)`.
pub type Variables = BTreeMap<String, BTreeMap<String, Variable>>;

/// What all controllers of a study make of one column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct About<'a> {
    /// `None` where they do not agree, or one of them does not say.
    pub unit: Option<&'a str>,
    /// What it is to which controllers.
    pub description: String,
}

/// What a controller lists, and what a fresh one tells without having it on its list.
pub(crate) fn of(algorithm: &Algorithm) -> BTreeMap<String, Variable> {
    let mut all = BTreeMap::new();
    algorithm.build(PathInfo::default()).trace(&mut |name, _| {
        if name != STATE {
            all.insert(name.to_owned(), Variable::default());
        }
    });
    all.extend(algorithm.variables().iter().map(|v| (v.name.to_owned(), variable(v.unit, v.doc))));
    all
}

/// What the kernel tells of any of its controllers.
pub(crate) fn of_the_kernel() -> BTreeMap<String, Variable> {
    BTreeMap::from([("ssthresh".to_owned(), variable("bytes", "Slow-start threshold. Linux TCP_INFO."))])
}

fn variable(unit: &str, doc: &str) -> Variable {
    Variable { unit: unit.to_owned(), description: doc.trim().to_owned() }
}

/// What a column is; `None` if no controller lists it.
pub fn column<'a>(all: &'a Variables, name: &str) -> Option<About<'a>> {
    let mut kinds: BTreeMap<&Variable, Vec<&str>> = BTreeMap::new();
    for (controller, own) in all {
        if let Some(variable) = own.get(name) {
            kinds.entry(variable).or_default().push(controller);
        }
    }
    kinds.keys().find(|kind| kind.is_listed())?;
    let units: BTreeSet<Option<&str>> = kinds.keys().map(|k| k.is_listed().then_some(&*k.unit)).collect();
    let unit = units.first().copied().flatten().filter(|_| units.len() == 1);
    Some(About { unit, description: of_each(&kinds, unit) })
}

/// Which controllers say what; each one's unit too, unless all have the same.
fn of_each(kinds: &BTreeMap<&Variable, Vec<&str>>, shared: Option<&str>) -> String {
    let mut each: Vec<_> = kinds.iter().collect();
    each.sort_by_key(|(_, controllers)| *controllers);
    let said = |(kind, controllers): &(&&Variable, &Vec<&str>)| {
        let unit = match (shared, &*kind.unit) {
            (Some(_), _) => String::new(),
            (None, _) if !kind.is_listed() => " (unit not known)".to_owned(),
            (None, "") => " (no unit)".to_owned(),
            (None, unit) => format!(" ({unit})"),
        };
        let meaning = if kind.is_listed() { kind.description.trim_end_matches('.') } else { "not said" };
        format!("; {}{unit}: {meaning}", controllers.join(", "))
    };
    "the controller's own variable".to_owned() + &each.iter().map(said).collect::<String>()
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
        let own = |name: &&str| ((*name).to_owned(), of(&registry.get(name).unwrap().algorithm()));
        controllers.iter().map(own).collect()
    }

    #[test]
    fn one_controller_has_its_unit() {
        let all = study(&["bbr3", "cubic", "fixed-window"]);
        let max_bw = column(&all, "max_bw").unwrap();
        assert_eq!(max_bw.unit, Some("bit/s"));
        assert!(
            max_bw.description.starts_with("the controller's own variable; bbr3: Largest delivery "),
            "{max_bw:?}"
        );
        assert_eq!(column(&all, "pacing_gain").unwrap().unit, Some(""), "a ratio");
        assert_eq!(column(&all, "cwnd_bytes"), None);
        assert_eq!(column(&all, STATE), None, "its names are elsewhere");
    }

    #[test]
    fn one_unit_of_several_meanings_is_the_unit() {
        let all = study(&["bbr1", "bbr3", "dstar"]);
        let About { unit, description } = column(&all, "min_rtt").unwrap();
        assert_eq!(unit, Some("s"));
        let said = [
            "; bbr1: Smallest RTT of the last 10 s, RTprop.",
            "; bbr3: Smallest RTT",
            "; dstar: Smallest RTT, RTTmin,",
        ];
        assert!(said.iter().all(|said| description.contains(said)), "{description}");
        assert!(description.starts_with("the controller's own variable; "), "{description}");
    }

    /// The gate's `r` is a ratio, GCC's and NADA's are rates.
    #[test]
    fn several_units_are_none() {
        let all = study(&["bbr1-ecn-gated", "cubic-ecn-gated", "gcc-simplified", "nada-2013"]);
        let About { unit, description } = column(&all, "r").unwrap();
        assert_eq!(unit, None);
        for said in [
            "; bbr1-ecn-gated (no unit): RTT over its minimum, R",
            "; cubic-ecn-gated (no unit): ",
            "; gcc-simplified (bit/s): Rate at the receiver",
            "; nada-2013 (bit/s): Sending rate",
        ] {
            assert!(description.contains(said), "{said}: {description}");
        }
        assert_eq!(column(&study(&["gcc-simplified", "nada-2013"]), "r").unwrap().unit, Some("bit/s"));
        let all = study(&["hstcp", "gcc-simplified"]);
        assert_eq!(column(&all, "a").unwrap().unit, None, "packets and bit/s");
    }

    /// One that tells a variable without listing it may mean anything.
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
        assert!(bw.description.ends_with("; theirs (unit not known): not said"), "{bw:?}");
        assert!(bw.description.contains("; bbr3 (bit/s): Rate that the model goes by"), "{bw:?}");
        assert_eq!(column(&all, "mine"), None);
        let ratio = all.get_mut("theirs").unwrap().insert("pacing_gain".to_owned(), Variable::default());
        assert!(ratio.is_none() && column(&all, "pacing_gain").unwrap().unit.is_none(), "no unit is one too");
    }
}
