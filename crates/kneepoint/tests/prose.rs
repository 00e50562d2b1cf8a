//! Numbers in the prose of shipped experiments come from the run, or from where the register says.

use kneepoint::library::Library;
use kneepoint::numbers;
use kneepoint::spec::Experiment;

fn shipped() -> impl Iterator<Item = Experiment> {
    let parse = |s: kneepoint::library::Source| Experiment::parse(&s.name, &s.file, &s.text).unwrap();
    Library.shipped().into_iter().map(parse)
}

#[test]
fn every_number_has_an_origin() {
    let origins = numbers::register().unwrap();
    let wrong: Vec<String> = shipped().flat_map(|exp| numbers::compare(&exp, &origins)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let names: Vec<String> = shipped().map(|exp| exp.name).collect();
    for (experiment, entries) in &origins {
        assert!(names.contains(experiment), "{experiment}");
        for (by, _) in entries {
            let run = numbers::printed_by(by);
            let known =
                ["source", "file", "arithmetic"].contains(&by.as_str()) || by.starts_with("kneepoint ");
            assert!(known && run.is_none_or(|name| names.iter().any(|n| n == name)), "{experiment}: {by}");
        }
    }
}

/// A number changed in a reason has no origin.
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
