//! Keys in which the runs of two results differ, beside those of controllers.

use std::collections::BTreeSet;

use results::store::Manifest;
use toml::Value;

use crate::text::join;

/// Largest number of keys that are named.
const NAMED: usize = 3;
/// Keys that only name a run, belong to its controllers, or are told elsewhere.
const OTHER: [&str; 8] = [
    "title",
    "source",
    "note",
    "seed",
    "repetitions",
    "flow.label",
    "flow.controller",
    "flow.own-controller",
];

/// Returns the keys, in order. Cases that only one side has are not compared.
pub(super) fn differing([before, after]: [&Manifest; 2]) -> BTreeSet<String> {
    let mut keys = BTreeSet::new();
    for case in &before.case {
        let same = after.case.iter().find(|other| (&other.variant, &other.row) == (&case.variant, &case.row));
        for key in same.iter().flat_map(|other| case.spec.keys().chain(other.spec.keys())) {
            let sides = [case, same.unwrap_or(case)].map(|case| case.spec.get(key));
            compare(key, sides, &mut keys);
        }
    }
    keys
}

fn compare(path: &str, sides: [Option<&Value>; 2], keys: &mut BTreeSet<String>) {
    if sides[0] == sides[1] || OTHER.contains(&path) {
        return;
    }
    match sides {
        [Some(Value::Table(one)), Some(Value::Table(other))] => {
            for key in one.keys().chain(other.keys()) {
                compare(&format!("{path}.{key}"), [one.get(key), other.get(key)], keys);
            }
        }
        [Some(Value::Array(one)), Some(Value::Array(other))] if one.len() == other.len() => {
            one.iter().zip(other).for_each(|(one, other)| compare(path, [Some(one), Some(other)], keys));
        }
        _ => {
            keys.insert(path.escape_debug().to_string());
        }
    }
}

/// Names the first keys, and says how many more there are.
pub(super) fn sentence(keys: &BTreeSet<String>) -> Option<String> {
    let more = keys.len().saturating_sub(NAMED);
    let more = (more > 0).then(|| format!("{more} more"));
    let named: Vec<&str> = keys.iter().take(NAMED).map(String::as_str).chain(more.as_deref()).collect();
    (!named.is_empty()).then(|| format!("the runs differ in more than their controllers: {}", join(&named)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_differ() {
        let spec = |text: &str| Value::Table(text.parse().unwrap());
        let before = "duration = '1 s'\n[link]\nrate = '1 Mbit/s'\n[[flow]]\nlabel = 'a'\nrtt = '1 ms'\n\
                      controller = { name = 'cubic' }\n[[flow]]\nrtt = '2 ms'";
        let after = "title = 't'\n[link]\nrate = '1 Mbit/s'\n[link.aqm]\nname = 'codel'\n[[flow]]\nlabel = 'b'\n\
                     rtt = '1 ms'\ncontroller = { name = 'bbr2' }\n[[flow]]\nrtt = '3 ms'\nroute = ['a', 'b']";
        let mut keys = BTreeSet::new();
        let (before, after) = (spec(before), spec(after));
        for key in ["title", "duration", "link", "flow"] {
            compare(key, [before.get(key), after.get(key)], &mut keys);
        }
        let words = keys.iter().map(String::as_str).collect::<Vec<_>>();
        assert_eq!(words, ["duration", "flow.route", "flow.rtt", "link.aqm"]);
        let said = sentence(&keys).unwrap();
        assert!(said.ends_with(": duration, flow.route, flow.rtt and 1 more"), "{said}");
        assert_eq!(sentence(&BTreeSet::new()), None);
    }
}
