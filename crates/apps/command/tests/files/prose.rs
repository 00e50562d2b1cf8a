//! Numbers in the prose of shipped experiments come from the run, or from where the register says.

use std::path::Path;

use experiment::file::Experiment;
use experiment::library::Library;
use results::ledger::Column;
use results::numbers;

fn shipped() -> impl Iterator<Item = Experiment> {
    let parse = |s: experiment::library::Source| Experiment::parse(&s.name, &s.file, &s.text).unwrap();
    Library.shipped().into_iter().map(parse)
}

#[test]
fn every_number_has_an_origin() {
    let origins = numbers::register().unwrap();
    let wrong: Vec<String> = shipped().flat_map(|exp| numbers::compare(&exp, &origins)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let names: Vec<String> = shipped().map(|exp| exp.name).collect();
    for (experiment, entries) in origins.iter().filter(|(name, _)| !name.ends_with(".md")) {
        assert!(names.contains(experiment), "{experiment}");
        for (by, _) in entries {
            let run = numbers::printed_by(by);
            let known =
                ["source", "file", "arithmetic"].contains(&by.as_str()) || by.starts_with("ackclock ");
            assert!(known && run.is_none_or(|name| names.iter().any(|n| n == name)), "{experiment}: {by}");
        }
    }
}

/// A changed number in a reason has no origin.
#[test]
fn a_changed_number_is_seen() {
    let origins = numbers::register().unwrap();
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
        assert!(!numbers::compare(&exp, &origins).is_empty(), "{changed}");
        tried += 1;
    }
    assert!(tried > 3, "{tried}");
}

/// Registered figures appear in the pages, and their command prints such figures.
#[test]
fn figures_of_pages() {
    let origins = numbers::register().unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let mut pages = 0;
    for (page, by, known) in numbers::page_entries(&origins) {
        let text = std::fs::read_to_string(root.join(page)).unwrap();
        let found = numbers::in_text(&text);
        assert!(known.is_subset(&found), "{page}: {known:?}");
        assert!(by.starts_with("ackclock ledger --columns="), "{page}: {by}");
        pages += 1;
    }
    assert!(pages > 0);
    let column = |distance| Column {
        experiment: "paper/table-1".to_owned(),
        variant: String::new(),
        metric: "rtt_mean".into(),
        rows: 8,
        distance,
    };
    let known = ["0.059", "0.060"].map(str::to_owned).into();
    let by = "ackclock ledger --columns=rtt_mean";
    assert_eq!(numbers::stale_of_ledger(by, &known, [column(0.0591)].iter()), ["0.060"]);
    assert!(numbers::stale_of_ledger(by, &known, [].iter()).is_empty());
}
