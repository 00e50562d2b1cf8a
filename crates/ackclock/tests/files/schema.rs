//! `ackclock schema` and docs/keys.md, which is made from it. What the schema takes and refuses is tested in `readers/`, by a crate that reads
//! schemas.

use std::path::Path;

use experiment::quantity::QUANTITIES;
use experiment::schema;

/// `BLESS=1` writes it.
#[test]
fn the_page_of_keys_is_made_from_it() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/keys.md");
    let made = schema::reference();
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &made).expect("docs/keys.md");
    }
    let page = std::fs::read_to_string(&path).unwrap_or_default();
    let line = page.lines().zip(made.lines()).position(|(has, is)| has != is);
    assert!(
        page == made,
        "docs/keys.md: line {} is not what the structs say; BLESS=1 cargo test -p ackclock --test files schema writes it",
        line.unwrap_or_else(|| page.lines().count().min(made.lines().count())) + 1
    );
}

/// What is written by hand about metrics and marks leaves none of them out.
#[test]
fn the_page_of_experiments_has_every_metric_and_mark() {
    let page = include_str!("../../../../docs/experiments.md");
    let stem = |name: &str| name.split_once('_').map(|(stem, _)| format!("`{stem}_*`"));
    let known = |name: &str| {
        page.contains(&format!("`{name}`")) || stem(name).is_some_and(|stem| page.contains(&stem))
    };
    let missing: Vec<_> =
        QUANTITIES.iter().map(|quantity| quantity.name).filter(|name| !known(name)).collect();
    assert!(missing.is_empty(), "docs/experiments.md has no word of {missing:?}");

    let wrong = "title = \"t\"\nduration = \"1 s\"\n[link]\nrate = \"1 Mbit/s\"\nrtt = \"10 ms\"\n[[flow]]\n\
                 controller = \"cubic\"\n[[chart]]\nmark = \"none\"\ntitle = \"c\"\n";
    let said = crate::common::parse(wrong).unwrap_err().to_string();
    let marks = said.split_once("known: ").and_then(|(_, rest)| rest.lines().next()).expect(&said);
    assert!(marks.starts_with("line, "), "{said}");
    let keys = include_str!("../../../../docs/keys.md");
    for mark in marks.split(", ") {
        assert!(page.contains(&format!("`{mark}`")), "docs/experiments.md has no row for the mark {mark}");
        assert!(keys.contains(&format!("\"{mark}\"")), "{mark} is not in the documentation of `mark`");
    }
}
