//! Numbers in the prose of shipped experiments come from the run, or from where the register says.

use std::path::Path;

use super::*;
use experiment::library::Library;

fn shipped() -> impl Iterator<Item = Experiment> {
    let parse = |s: experiment::library::Source| Experiment::parse(&s.name, &s.file, &s.text).unwrap();
    Library.shipped().into_iter().map(parse)
}

#[test]
fn numbers_are_told_from_names() {
    let text =
        "RFC 9002, S0-01w, BBRv2: 12.5 ms for {Cubic: rtt_mean} ms (+3 %), section 5.2.1, 10-20, 0.50.";
    let expected = ["0.50", "12.5", "3", "9002"].map(str::to_owned);
    assert_eq!(in_text(text), BTreeSet::from(expected));
}

#[test]
fn every_number_has_an_origin() {
    let register = register().unwrap();
    let wrong: Vec<String> = shipped().flat_map(|exp| compare(&exp, &register)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let names: Vec<String> = shipped().map(|exp| exp.name).collect();
    for Entry { place, by, .. } in register.iter().filter(|entry| !entry.place.ends_with(".md")) {
        assert!(names.contains(place), "{place}");
        let run = by.strip_prefix(RUN).filter(|rest| !rest.contains(' '));
        let known = ["source", "file", "arithmetic"].contains(&by.as_str()) || by.starts_with("ackclock ");
        assert!(known && run.is_none_or(|name| names.iter().any(|n| n == name)), "{place}: {by}");
    }
}

/// A changed number in a reason has no origin.
#[test]
fn a_changed_number_is_seen() {
    let register = register().unwrap();
    let mut tried = 0;
    for source in Library.shipped() {
        let Some(line) = source.text.lines().find(|l| l.starts_with("reason = ") && l.contains(" ms "))
        else {
            continue;
        };
        let words: Vec<&str> = line.split(' ').collect();
        let is_number = |at: &usize| *at > 0 && words[at - 1].parse::<f64>().is_ok();
        let Some(at) = (0..words.len()).filter(|at| words[*at] == "ms").find(is_number) else { continue };
        let changed = words[..at - 1].join(" ") + " 77.3141 " + &words[at..].join(" ");
        let text = source.text.replace(line, &changed);
        let Ok(exp) = Experiment::parse(&source.name, &source.file, &text) else { continue };
        assert!(!compare(&exp, &register).is_empty(), "{changed}");
        tried += 1;
    }
    assert!(tried > 3, "{tried}");
}

/// Registered figures appear in the pages, and their command prints such figures.
#[test]
fn figures_of_pages() {
    let register = register().unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut pages = 0;
    for Entry { place, by, numbers } in register.iter().filter(|entry| entry.place.ends_with(".md")) {
        let text = std::fs::read_to_string(root.join(place)).unwrap();
        assert!(numbers.is_subset(&in_text(&text)), "{place}: {numbers:?}");
        assert!(by.starts_with(LEDGER), "{place}: {by}");
        pages += 1;
    }
    assert!(pages > 0);
}

#[test]
fn numbers_are_compared_at_their_own_precision() {
    let known = ["0.059", "0.060", "1"].map(str::to_owned).into();
    assert_eq!(stale(&known, &[0.0591, 1.2]), ["0.060"]);
    assert!(stale(&known, &[]).is_empty(), "without results");
}

/// A statement of a source counts once: no two claims of a source that count have the same words or
/// the same id.
#[test]
fn statements_count_once() {
    let mut seen = BTreeSet::new();
    for exp in shipped() {
        let source = exp.name.split('/').next().unwrap_or_default();
        for claim in exp.claims.iter().filter(|claim| !claim.ours) {
            for name in [&claim.id, &claim.says] {
                assert!(seen.insert(format!("{source}: {name}")), "{}: {name} counts already", exp.name);
            }
        }
    }
}

/// A reason whose number breaks its bound is reported; others are not.
#[test]
fn broken_bounds_are_reported() {
    let summary = |reason: &str| -> Summary {
        let claim = serde_json::json!({
            "id": "S4-01", "says": "", "parts": [], "verdict": "missed", "reason": reason,
        });
        serde_json::from_value(serde_json::json!({
            "experiment": "a/b", "title": "", "source": "", "note": "", "metrics": [], "variants": [],
            "claims": [claim], "charts": [],
        }))
        .unwrap()
    };
    let filled = |value: f64| prose::fill("fair ({D*: jain > 0.95})", |place| Some(place.shown(value)));
    assert_eq!(
        broken_bounds(&summary(&filled(0.795))),
        ["a/b: fair (0.795 (the sentence expects more than 0.95))"]
    );
    assert!(broken_bounds(&summary(&filled(0.99))).is_empty());
}
