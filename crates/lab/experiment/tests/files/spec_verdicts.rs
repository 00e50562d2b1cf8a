//! Claims that always hold, and ambiguous words, are refused when a file is read.

use crate::common::{GOOD, parse, small};

const CLAIM: &str = "increasing = [\"QUIC-DC 10\", \"QUIC-DC 80\"]";
const FILE: &str = "experiments/quic-dc/x.toml";

/// The good file with another second claim.
fn with_claim(
    metric: &str,
    check: &str,
) -> Result<experiment::file::Experiment, experiment::diagnostics::Diagnostics> {
    let claim = format!("metric = \"rtt_mean\"\n{CLAIM}");
    assert!(GOOD.contains(&claim));
    parse(&GOOD.replacen(&claim, &format!("metric = \"{metric}\"\n{check}"), 1))
}

fn line_of(text: &str, marker: &str) -> usize {
    text[..text.find(marker).unwrap()].matches('\n').count() + 1
}

/// A share is at most 100 %, an index at most 1, and nothing is below 0.
#[test]
fn bounds_that_cannot_be_missed() {
    for (metric, check, says) in [
        ("loss", "is = \"at-most\"\nright = 100", "`loss` is never above 100"),
        ("loss", "is = \"at-most\"\nright = 250", "`loss` is never above 100"),
        ("loss", "is = \"below\"\nright = 101", "`loss` is never above 100"),
        ("loss", "is = \"at-most\"\ntimes = 200\nright = 0.5", "`loss` is never above 100"),
        ("jain", "is = \"at-most\"\nright = 1", "`jain` is never above 1"),
        ("jain", "is = \"at-least\"\nright = 0", "`jain` is never below 0"),
        ("rate_ratio", "is = \"below\"\nright = 1.5", "`rate_ratio` is never above 1"),
        ("rtt_mean", "is = \"at-least\"\ntimes = 3\nright = 0", "`rtt_mean` is never below 0"),
    ] {
        let text = format!("left = {{ max = [\"*\"] }}\n{check}");
        let said = with_claim(metric, &text).unwrap_err().to_string();
        assert!(said.contains(&format!("claim.1.right: {says}, so this always holds")), "{said}");
        assert!(said.starts_with(FILE) && said.contains("; choose a bound that can fail\n"), "{said}");
    }
    let mirrored = "left = 100\nis = \"at-least\"\nright = { max = [\"*\"] }";
    assert!(with_claim("loss", mirrored).unwrap_err().to_string().contains("`loss` is never above 100"));
    for (metric, check) in [
        ("loss", "is = \"at-most\"\nright = 99"),
        ("loss", "is = \"below\"\nright = 100"),
        // A token bucket may pass more than its rate.
        ("utilization", "is = \"at-most\"\nright = 100"),
        ("jain", "is = \"below\"\nright = 1"),
        ("rtt_mean", "is = \"at-most\"\nright = 100"),
    ] {
        let text = format!("left = {{ max = [\"*\"] }}\n{check}");
        assert!(with_claim(metric, &text).is_ok(), "{metric} {check}");
    }
}

/// Equality within a factor of 1 can never exceed the spread, and a factor above 10 is not near.
#[test]
fn factors_that_say_nothing() {
    for (factor, says) in [
        ("1", "claim.1.within-factor: `within-factor` must be above 1"),
        ("1e9", "claim.1.within-factor: `within-factor` must be at most 10"),
        ("10.5", "claim.1.within-factor: `within-factor` must be at most 10"),
    ] {
        let rows = with_claim("rtt_mean", &format!("rows = [\"*\"]\nwithin-factor = {factor}"));
        assert!(rows.unwrap_err().to_string().contains(says));
        let sides =
            format!("left = {{ max = [\"*\"] }}\nis = \"near\"\nright = 50\nwithin-factor = {factor}");
        assert!(with_claim("rtt_mean", &sides).unwrap_err().to_string().contains(says));
    }
    assert!(with_claim("rtt_mean", "rows = [\"*\"]\nwithin-factor = 10").is_ok());
}

/// A sentence that refers to a number that the source does not print.
#[test]
fn published_numbers_in_sentences_are_there() {
    let reason = "reason = \"headers";
    let said = |sentence: &str| {
        let text = GOOD.replacen(reason, &format!("reason = \"{sentence} headers"), 1);
        (line_of(&text, sentence), parse(&text).map_err(|problem| problem.to_string()))
    };
    let (line, problem) = said("{Cubic: published jain}");
    let problem = problem.unwrap_err();
    assert!(
        problem.starts_with(&format!("{FILE}:{line}: miss.0.reason: no published jain for `Cubic`")),
        "{problem}"
    );
    assert!(problem.contains("published.columns"), "{problem}");
    assert!(said("{Cubic: published loss}").1.is_ok() && said("{Cubic: jain}").1.is_ok());
    let note = small("source = \"s\"", "source = \"s\"\nnote = \"{cubic: published loss}\"")
        .unwrap_err()
        .to_string();
    assert!(note.contains(":3: note: no published loss for `cubic`"), "{note}");
}

/// A number of an unknown path is not comparable, so its cause is not open.
#[test]
fn open_or_of_an_unknown_path() {
    let said = |keys: &str| {
        parse(&GOOD.replacen("reason = \"headers", &format!("{keys}\nreason = \"headers"), 1))
            .map(|exp| (exp.misses[0].open, exp.misses[0].path_unknown))
            .map_err(|problem| problem.to_string())
    };
    assert_eq!(said("path-unknown = true"), Ok((false, true)));
    assert_eq!(said("path-unknown = false\nopen = true"), Ok((true, false)));
    let both = said("path-unknown = true\nopen = true").unwrap_err();
    assert!(both.contains("miss.0.path-unknown: not allowed together with `open`"), "{both}");
}

/// The bound of a number is a number.
#[test]
fn bounds_in_sentences_are_read() {
    let said = |sentence: &str| {
        parse(&GOOD.replacen("reason = \"headers", &format!("reason = \"{sentence} headers"), 1))
            .map_err(|problem| problem.to_string())
    };
    assert!(said("{Cubic: jain > 0.95}").is_ok() && said("{Cubic: published loss < 2}").is_ok());
    let wrong = said("{Cubic: jain > fair}").unwrap_err();
    assert!(wrong.contains("invalid placeholder `{Cubic: jain > fair}`"), "{wrong}");
}

/// ` (wire)` is the suffix of rows of `run --on wire`, and ` @ run` that of metrics of a window.
#[test]
fn labels_of_the_wire() {
    for (from, to) in [
        ("controller = \"cubic\"", "label = \"a (wire)\"\ncontroller = \"cubic\""),
        ("controller = \"cubic\"", "controller = { name = \"cubic\", label = \"a (wire)\" }"),
        ("[link]", "[vary]\n\"flow.controller\" = [{ name = \"cubic\", label = \"a (wire) \" }]\n[link]"),
        ("[link]", "[vary]\nx = [{ label = \"a (wire)\", set = { \"link.rate\" = \"1 Mbit/s\" } }]\n[link]"),
    ] {
        let said = small(from, to).unwrap_err().to_string();
        assert!(said.contains("label `a (wire)` is reserved for a row of `run --on wire`"), "{said}");
        assert!(said.starts_with(&format!("{FILE}:")), "{said}");
    }
    assert!(small("controller = \"cubic\"", "label = \"a wire\"\ncontroller = \"cubic\"").is_ok());
    let label = |label: &str| {
        small("controller = \"cubic\"", &format!("label = \"{label}\"\ncontroller = \"cubic\""))
    };
    let said = label("a @ run").unwrap_err().to_string();
    assert!(said.contains("label `a @ run` has ` @ `, which precedes the window"), "{said}");
    assert!(label("a@run").is_ok());
}

/// `[[bias]]` may leave the cause open.
#[test]
fn a_bias_may_be_open() {
    let bias = |more: &str| {
        let text = format!("{GOOD}\n[[bias]]\nmetrics = [\"goodput\"]\nreason = \"headers\"\n{more}");
        parse(&text).map(|exp| exp.biases[0].open)
    };
    assert_eq!((bias(""), bias("open = true")), (Ok(false), Ok(true)));
    assert!(
        bias("opn = true")
            .unwrap_err()
            .to_string()
            .contains("bias.0.opn: unknown key; did you mean \"open\"?")
    );
}

/// A candidate replaces the controllers that an axis sets. Other keys set by the axis are dropped.
#[test]
fn candidates_in_an_axis() {
    let file = |axis: &str| {
        small(
            "[link]",
            &format!("[vary]\n\"link.burst\" = [\"5 kB\", \"9 kB\"]\n{axis}[table]\nrows = \"cca\"\n[link]"),
        )
    };
    let axis = "cca = [\n{ label = \"A\", set = { \"flow.controller\" = { name = \"cubic\" } } },\n\
                { label = \"B\", set = { \"flow.controller\" = \"new-reno\", \"flow.recovery.paced\" = \"never\" } },\n]\n";
    let wanted = ["bbr3", "{ name = \"cubic\", beta = 0.8, label = \"C\" }"].map(str::to_owned);
    let tried = file(axis).unwrap().with_controllers(&wanted).unwrap();
    let cases: Vec<_> = tried.cases().into_iter().map(|c| (c.variant, c.row, c.algorithm)).collect();
    let case =
        |burst: &str, row: &str, name: &str| (format!("burst = {burst}"), row.to_owned(), name.to_owned());
    assert_eq!(cases[..2], [case("5 kB", "bbr3", "bbr3"), case("5 kB", "C", "cubic")]);
    assert_eq!(cases[2..], [case("9 kB", "bbr3", "bbr3"), case("9 kB", "C", "cubic")]);
    let wrong = file(axis).unwrap().with_controllers(&["nadda".to_owned()]).unwrap_err().to_string();
    assert!(wrong.contains("--controller nadda") && wrong.contains("did you mean \"nada\""), "{wrong}");
    let other = axis.replacen("flow.controller", "flow.0.controller", 1);
    let mixed = file(&other).unwrap().with_controllers(&wanted).unwrap_err().to_string();
    let right =
        "does not vary its controllers; use --set with the full key, like --set flow.0.controller=bbr3";
    assert!(mixed.contains(right), "{mixed}");
}

/// Varied keys cannot be set, with or without `--keep-published`.
#[test]
fn what_varies_cannot_be_set() {
    for keep in [false, true] {
        let set = crate::common::set("link.limit-counts", "queue");
        let said = crate::common::good().with_overrides(&set, keep).unwrap_err().to_string();
        let right = "copy the file and change its [vary]; the copy keeps published values and claims";
        assert!(said.contains("is varied by") && said.contains(right), "{said}");
    }
}
