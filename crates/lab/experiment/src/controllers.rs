//! Names of controllers in experiment files and commands.

use congestion::{Entry, Registry};

use crate::diagnostic::did_you_mean;

/// Names of families, with the newest member of each.
const FAMILIES: [(&str, &str); 1] = [("bbr", "bbr3")];

/// Names that may mean several controllers, with the advice to give.
const AMBIGUOUS: [(&str, &str); 1] =
    [("reno", "write `new-reno` (QUIC, RFC 9002) or `tcp-reno` (TCP, RFC 5681)")];

/// Returns the controller that a name stands for.
///
/// An exact name wins. Otherwise case and separators do not matter, nor does a `v` before BBR's
/// version: `CUBIC`, `newreno` and `BBRv3` are `cubic`, `new-reno` and `bbr3`. The name of a
/// family, `bbr`, means its newest member. Use the `name` of the result in everything that is
/// stored or compared.
pub fn find<'r>(registry: &'r Registry, name: &str) -> Option<&'r Entry> {
    if let Some(entry) = registry.get(name) {
        return Some(entry);
    }
    let folded = fold(name);
    let wanted = newest(&folded).unwrap_or(&folded);
    let mut found = registry.iter().filter(|entry| fold(entry.name) == wanted);
    let entry = found.next()?;
    // Controllers of a program may differ in case alone.
    found.next().is_none().then_some(entry)
}

fn newest(folded: &str) -> Option<&'static str> {
    FAMILIES.iter().find(|(family, _)| *family == folded).map(|(_, newest)| *newest)
}

/// Removes the differences that do not matter: case, separators, and the `v` of `BBRv3`.
fn fold(name: &str) -> String {
    let plain = name.trim().to_lowercase().replace(['-', '_', ' '], "").replace('+', "plus");
    let version = plain.strip_prefix("bbrv").filter(|version| !version.is_empty());
    version.map_or_else(|| plain.clone(), |version| format!("bbr{version}"))
}

/// Returns the message for a name that stands for no controller, with the one that was most likely
/// meant.
pub fn unknown(registry: &Registry, name: &str) -> String {
    let (wrong, right) = refusal(registry, name);
    format!("{wrong}; {right}")
}

/// Returns the problem and the advice for a name that stands for no controller.
pub(crate) fn refusal(registry: &Registry, name: &str) -> (String, String) {
    let folded = fold(name);
    if let Some((_, right)) = AMBIGUOUS.iter().find(|(known, _)| *known == folded) {
        return (format!("ambiguous algorithm `{name}`"), (*right).to_owned());
    }
    let known = registry.iter().map(|entry| entry.name);
    (format!("unknown algorithm `{name}`"), did_you_mean(name, known))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(name: &str) -> Option<&'static str> {
        find(&Registry::default(), name).map(|entry| entry.name)
    }

    #[test]
    fn usual_spellings_mean_the_canonical_name() {
        for (name, canonical) in [
            ("cubic", "cubic"),
            ("CUBIC", "cubic"),
            ("BBRv3", "bbr3"),
            ("bbrv3", "bbr3"),
            ("bbr-v2", "bbr2"),
            ("BBRv1", "bbr1"),
            ("bbr", "bbr3"),
            ("BBR", "bbr3"),
            ("newreno", "new-reno"),
            ("NewReno", "new-reno"),
            ("new_reno", "new-reno"),
            ("TCP Reno", "tcp-reno"),
            ("Westwood+", "westwood-plus"),
            ("QUIC-DC", "quic-dc"),
        ] {
            assert_eq!(found(name), Some(canonical), "{name}");
        }
        for name in ["", "-", "cubik", "cubic!", "bbr9", "bbrv", "{"] {
            assert_eq!(found(name), None, "{name}");
        }
    }

    /// No two controllers differ only in what [`fold`] removes.
    #[test]
    fn every_controller_is_found_by_its_name_in_capitals() {
        for entry in Registry::default().iter() {
            assert_eq!(found(&entry.name.to_uppercase()), Some(entry.name));
            assert_eq!(found(&entry.name.replace('-', "")), Some(entry.name));
        }
    }

    #[test]
    fn reno_is_ambiguous() {
        for name in ["reno", "Reno", "RENO"] {
            assert_eq!(found(name), None);
            let said = unknown(&Registry::default(), name);
            assert_eq!(
                said,
                format!(
                    "ambiguous algorithm `{name}`; write `new-reno` (QUIC, RFC 9002) or `tcp-reno` (TCP, RFC 5681)"
                )
            );
        }
        assert!(
            unknown(&Registry::default(), "cubik")
                .starts_with("unknown algorithm `cubik`; did you mean \"cubic\"? known: ")
        );
    }
}
