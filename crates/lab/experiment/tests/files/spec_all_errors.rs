//! All mistakes of a file are reported at once, without consequences of other mistakes.

use experiment::diagnostics::Diagnostics;

use crate::common::{GOOD, parse_all as parse};
use crate::spec_errors::BAD;

/// Reads the good file after these replacements.
fn changed(changes: &[(&str, &str)]) -> Diagnostics {
    let text = changes.iter().fold(GOOD.to_owned(), |text, (from, to)| {
        assert!(text.contains(from), "{from}");
        text.replacen(from, to, 1)
    });
    parse(&text).unwrap_err()
}

/// Returns key and problem of each mistake.
fn keys(problems: &Diagnostics) -> Vec<String> {
    problems.all().iter().map(|p| format!("{}: {}", p.key, p.wrong)).collect()
}

#[test]
fn six_mistakes_of_six_tables() {
    let six = [
        ("seed = 7", "sed = 7"),
        ("\"10 Mbit/s\"", "\"10 Mbits\""),
        ("ack-every", "ack_every"),
        ("[\"loss\", ", "[\"los\", "),
        ("is = \"at-least\"", "is = \"more\""),
        ("mark = \"line\"", "mark = \"lin\""),
    ];
    insta::assert_snapshot!("six_mistakes", changed(&six).to_string());
}

#[test]
fn several_of_one_kind() {
    // Both elements of a list, each value of a varied key, two claims.
    let both = changed(&[("[\"loss\", ", "[\"los\", \"goodputt\", ")]);
    assert_eq!(
        keys(&both),
        ["table.metrics.0: unknown metric `los`", "table.metrics.1: unknown metric `goodputt`"]
    );
    let rows = changed(&[
        ("[\"Cubic\"]", "[\"CUBIC\"]"),
        ("[\"QUIC-DC 10\", \"", "[\"QUIC-DC 20\", \""),
        ("[\"!QUIC-DC *\"]", "[\"!QUICDC *\"]"),
    ]);
    assert_eq!(
        keys(&rows),
        [
            "claim.0.left.min.0: `CUBIC` matches no row of the table",
            "claim.1.increasing.0: unknown row `QUIC-DC 20`",
            "miss.0.rows.0: `!QUICDC *` matches no row of the table"
        ]
    );
    let varied = changed(&[("[\"queue\", \"queue+delay\"]", "[\"queue\", \"both\", \"none\"]")]);
    let wrong = |word: &str| format!("link.limit-counts: unknown counting mode `{word}`");
    assert_eq!(keys(&varied), [wrong("both"), wrong("none")]);
    let typos = changed(&[("title =", "titel ="), ("queue = \"4", "quue = \"4"), ("header =", "heder =")]);
    let unknown = |key: &str| format!("{key}: unknown key");
    assert_eq!(keys(&typos), ["titel", "link.quue", "flow.0.packet.heder"].map(unknown));
    let factor = ("\"200 us\"", "\"200 us\"\npacing.factor = 0");
    let each_its_own = changed(&[factor, ("ack-every = 4", "timestamp-exponent = 21")]);
    assert_eq!(
        keys(&each_its_own),
        [
            "flow.0.recovery.pacing.factor: `factor` must be a number above 0",
            "flow.0.ack.timestamp-exponent: `timestamp-exponent` must be at most 20"
        ]
    );
    // The list of line 2 is never closed, so the other lines are not mistakes.
    let toml = parse("title = \"t\"\nmetrics = [1, 2\nduration = \"60 s\"\n[link]\n[[flow]]\na = 10 s\n")
        .unwrap_err();
    assert_eq!(toml.all().iter().map(|p| p.line).collect::<Vec<_>>(), [3, 6].map(Some), "{toml}");
    let toml = parse("title = \nduration = 7 8\n[link\n").unwrap_err();
    assert_eq!(toml.all().iter().map(|p| p.line).collect::<Vec<_>>(), [1, 2, 3].map(Some), "{toml}");
}

/// A removed value is not reported as missing. Nor are names that it defined, or keys whose meaning
/// it decided.
#[test]
fn consequences_are_not_told() {
    for (from, to) in [
        // Nothing is known about a controller with a wrong name.
        ("name = \"cubic\", beta = 0.6", "name = \"qubic\", betta = 0.6"),
        // Receive times belong to QUIC, which is the flow's default.
        ("transport = \"quic\"", "transport = \"tpc\""),
        ("transport = \"quic\"", "transprt = \"tcp\""),
        ("mark = \"line\"", "mark = \"lin\""),
        ("mark = \"line\"", "mrk = \"line\""),
        ("mark = \"line\"", "kind = \"over-time\""),
        ("rate = \"10 Mbit/s\"", "rate = 10"),
        ("rate = \"10 Mbit/s\"", "raet = \"10 Mbit/s\""),
        ("duration = \"400 s\"", "duration = 400"),
        ("duration = \"400 s\"", "druation = \"400 s\""),
        ("metric = \"loss\"", "metrik = \"loss\""),
        ("[link]", "[links]"),
        ("[[flow]]", "[[flows]]"),
        ("[vary]", "[varry]"),
    ] {
        let problems = changed(&[(from, to)]);
        assert_eq!(problems.all().len(), 1, "{to}\n{problems}");
    }
}

/// Two mistakes lead to one or two reports, and to nothing else.
#[test]
fn two_mistakes_are_no_more_than_two() {
    let (mut pairs, mut both) = (0, 0);
    let alone: Vec<Vec<String>> = BAD.iter().map(|(from, to, ..)| keys(&changed(&[(from, to)]))).collect();
    for (i, (from, to, ..)) in BAD.iter().enumerate() {
        for other in [1, 53].map(|step| (i + step) % BAD.len()) {
            let (other_from, other_to, ..) = &BAD[other];
            let text = GOOD.replacen(from, to, 1).replacen(other_from, other_to, 1);
            // Neither change is part of the other.
            if text != GOOD.replacen(other_from, other_to, 1).replacen(from, to, 1) || from == other_from {
                continue;
            }
            let Err(problems) = parse(&text) else { continue };
            let known = [&alone[i][..], &alone[other][..]].concat();
            let told = keys(&problems);
            let new: Vec<_> = told.iter().filter(|said| !known.contains(said)).collect();
            let is_one = told.iter().all(|said| said.contains("invalid TOML: duplicate key"));
            assert!(is_one || told.len() <= 2 && new.is_empty(), "{to}\n{other_to}\n{problems}\n{known:?}");
            pairs += 1;
            both += usize::from(told.len() == 2);
        }
    }
    assert!(both * 2 > pairs, "{both} of {pairs}");
}

#[test]
fn no_more_than_a_screen_of_them() {
    let lines: String = (0..60).map(|i| format!("wrong-{i} = {i}\n")).collect();
    let problems = parse(&format!("{lines}{GOOD}")).unwrap_err();
    assert_eq!(problems.all().len(), 60);
    let said = problems.to_string();
    assert!(said.contains("wrong-19: ") && !said.contains("wrong-20: "), "{said}");
    assert!(said.ends_with("\nthe first 20 of 60 errors in experiments/quic-dc/x.toml"), "{said}");
}

/// Each reading of the largest file takes about a second, so readings are limited.
#[test]
fn many_cases_are_not_read_for_each_mistake() {
    let values = |unit: &str| (1..=100).map(|i| format!("\"{i} {unit}\"")).collect::<Vec<_>>().join(", ");
    let claims = "[[claim]]\nid = \"a\"\nsays = \"b\"\nmetric = \"los\"\n".repeat(30);
    let text = format!(
        "title = \"t\"\nduration = \"60 s\"\n[link]\nrate = \"10 Mbit/s\"\ndelay = \"25 ms\"\n[[flow]]\n\
         controller = \"cubic\"\n[vary]\n\"link.rate\" = [{}]\n\"link.delay\" = [{}]\n{claims}",
        values("Mbit/s"),
        values("ms")
    );
    let problems = parse(&text).unwrap_err();
    assert!((2..=4).contains(&problems.all().len()), "{}", problems.all().len());
    let said = problems.to_string();
    assert!(said.lines().last().unwrap().starts_with("at least "), "{said}");
}

/// The displayed line matches the file: tabs, wide characters and control characters keep their
/// columns.
#[test]
fn carets_below_any_line() {
    let told = |line: &str| parse(&format!("{line}\n{GOOD}")).unwrap_err().to_string();
    for (line, drawn) in [
        ("wrong = 1", "1 | wrong = 1\n  | ^^^^^"),
        ("\twrong = 1", "1 |     wrong = 1\n  |     ^^^^^"),
        ("\"拥塞\" = 1 # \u{202e}", "1 | \"拥塞\" = 1 # \u{fffd}\n  | ^^^^^^"),
        ("wrong = 1\r", "1 | wrong = 1\n  | ^^^^^"),
        ("wrong = { é = \"\u{9b}\" }", "1 | wrong = { é = \"\u{fffd}\" }\n  |           ^"),
    ] {
        let said = told(line);
        assert!(said.contains(drawn), "{said}\n{drawn}");
        assert!(!said.contains(|c: char| c.is_control() && c != '\n'), "{said:?}");
    }
    let key = told("\"wro\\nng\" = 1");
    assert!(key.contains(":1: wro␊ng: unknown key; ") && key.contains("\n1 | \"wro\\nng\" = 1\n"), "{key}");
    let long = told(&format!(
        "seed = {{ {}wrong = \"{}\" }}",
        "a = 1, ".repeat(2000).replace('a', "b"),
        "x".repeat(9000)
    ));
    assert!(long.lines().skip(1).all(|line| line.chars().count() <= 80), "{long}");
}

/// Texts are shown in terminals, pages and file names, so control characters are refused.
#[test]
fn what_a_terminal_obeys_is_refused() {
    let problems = parse(
        "title = \"\\u001b[2Jt\"\nsource = \"\\r\"\nnote = \"a\u{202e}b\"\n\"k\\u0007\" = [\"\\u009b\"]\n\
         says = \"\"\"\r\na\tb\n\"\"\"\n",
    )
    .unwrap_err();
    let wrong = |c: &str| format!("the text contains the control character U+{c}");
    let told: Vec<_> = problems.all().iter().map(|p| (p.line, p.wrong.clone())).collect();
    let line = |n, c| (Some(n), wrong(c));
    assert_eq!(told, [line(1, "001B"), line(2, "000D"), line(3, "202E"), line(4, "0007"), line(4, "009B")]);
    assert!(!problems.to_string().contains(|c: char| c == '\u{202e}' || c.is_control() && c != '\n'));
}
