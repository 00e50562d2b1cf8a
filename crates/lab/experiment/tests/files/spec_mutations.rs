//! Reading a mutated experiment file ends with an experiment or a problem, never with a panic.

use std::path::Path;
use std::sync::LazyLock;

use experiment::file::Experiment;
use experiment::library::Library;
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Mutation {
    Delete(usize, usize),
    Insert(usize, String),
    SwapLines(usize, usize),
    RepeatLine(usize),
    /// Overwrites one word of the file by another.
    Overwrite(usize, usize),
}

impl Mutation {
    fn apply(&self, text: &str) -> String {
        let char_at = |n: usize| {
            let mut at = n % (text.len() + 1);
            while !text.is_char_boundary(at) {
                at -= 1;
            }
            at
        };
        let mut lines: Vec<&str> = text.lines().collect();
        let count = lines.len().max(1);
        match self {
            Self::Delete(from, length) => {
                let from = char_at(*from);
                let to = char_at(from.saturating_add(*length).min(text.len()));
                format!("{}{}", &text[..from], &text[to.max(from)..])
            }
            Self::Insert(at, new) => format!("{}{new}{}", &text[..char_at(*at)], &text[char_at(*at)..]),
            Self::SwapLines(a, b) if !lines.is_empty() => {
                lines.swap(a % count, b % count);
                lines.join("\n")
            }
            Self::RepeatLine(n) if !lines.is_empty() => {
                lines.insert(n % count, lines[n % count]);
                lines.join("\n")
            }
            Self::Overwrite(a, b) => overwrite(text, *a, *b),
            _ => text.to_owned(),
        }
    }
}

fn overwrite(text: &str, a: usize, b: usize) -> String {
    let words: Vec<&str> = text.split_inclusive(|c: char| " \n\"=.,[]{}".contains(c)).collect();
    let mut new = words.clone();
    if !words.is_empty() {
        new[a % words.len()] = words[b % words.len()];
    }
    new.concat()
}

fn mutation() -> impl Strategy<Value = Mutation> {
    let piece = prop_oneof![
        "[ -~]{1,3}",
        Just("\n".to_owned()),
        Just("é".to_owned()),
        Just("[[flow]]\n".to_owned()),
        Just("[reverse]\nrate = \"1 Mbit/s\"\n".to_owned()),
        Just("direction = \"backward\"\n".to_owned()),
        Just("0 s".to_owned()),
        Just("-1".to_owned()),
        Just("99999999999999999 min".to_owned()),
        Just("99999999999999999 Gbit/s".to_owned()),
        Just("1e400".to_owned()),
        Just("nan".to_owned()),
        Just("9223372036854775807".to_owned()),
    ];
    prop_oneof![
        (any::<usize>(), 1..40_usize).prop_map(|(from, length)| Mutation::Delete(from, length)),
        (any::<usize>(), piece).prop_map(|(at, piece)| Mutation::Insert(at, piece)),
        (any::<usize>(), any::<usize>()).prop_map(|(a, b)| Mutation::SwapLines(a, b)),
        any::<usize>().prop_map(Mutation::RepeatLine),
        (any::<usize>(), any::<usize>()).prop_map(|(a, b)| Mutation::Overwrite(a, b)),
    ]
}

/// Reads the text and uses the result in every way.
fn exercise(text: &str) {
    match Experiment::parse("x", Path::new("x.toml"), text) {
        Err(problems) => {
            let (said, all) = (problems.shown(80, true), problems.all());
            assert!(all.iter().all(|problem| !problem.wrong.is_empty()), "{said}");
            assert!(said.lines().count() <= 6 * all.len().min(20) + 1, "{said}");
        }
        Ok(exp) => {
            // Some files have hundreds of cases, but a few show the effect of a mutation.
            let cases = exp.cases();
            for case in cases.iter().step_by(cases.len().div_ceil(8)) {
                // Hundreds of thousands of flows test memory, not parsing.
                let flows = exp.scenario(case, 0).flows;
                assert!(!flows.is_empty());
                let text = toml::to_string(&exp.resolved(case, exp.seed).unwrap()).unwrap();
                Experiment::parse("x", Path::new("x.toml"), &text).unwrap_or_else(|p| panic!("{p}\n{text}"));
            }
        }
    }
}

static FIRST: LazyLock<Experiment> = LazyLock::new(|| {
    let source = Library.shipped().remove(0);
    Experiment::parse(&source.name, &source.file, &source.text).unwrap()
});

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_mutation_panics(file in any::<usize>(), mutations in prop::collection::vec(mutation(), 1..6)) {
        let sources = Library.shipped();
        let mut text = sources[file % sources.len()].text.clone();
        for mutation in &mutations {
            text = mutation.apply(&text);
        }
        exercise(&text);
    }

    #[test]
    fn no_override_panics(key in "(link|reverse|flow|flow\\.[0-2]|measure)?\\.?[a-z-]{0,9}(\\.[a-z]{1,4})?", value in "[ -~]{0,12}") {
        if let Err(problem) = FIRST.with_overrides(&[(key, value)], false) {
            prop_assert!(problem.to_string().contains("--set"), "{problem}");
        }
    }
}
