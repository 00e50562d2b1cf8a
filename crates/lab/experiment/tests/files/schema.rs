//! `ackclock schema`, and the reference page of keys that is generated from it. Acceptance and
//! refusal by the schema are tested in `readers/`, by a crate that reads schemas.

use std::path::Path;

use experiment::schema;

/// `BLESS=1` writes the page.
#[test]
fn the_page_of_keys_is_made_from_it() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/src/reference/keys.md");
    let made = schema::reference();
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &made).expect("docs/src/reference");
    }
    let page = std::fs::read_to_string(&path).unwrap_or_default();
    let line = page.lines().zip(made.lines()).position(|(has, is)| has != is);
    assert!(
        page == made,
        "docs/src/reference/keys.md: line {} differs from the structs; `BLESS=1 cargo test -p ackclock-experiment --test files schema` writes it",
        line.unwrap_or_else(|| page.lines().count().min(made.lines().count())) + 1
    );
}

/// The hand-written page has a row for every mark. The `book` test writes the page of metrics.
#[test]
fn the_page_of_experiment_files_has_every_mark() {
    let page = include_str!("../../../../../docs/src/reference/experiment-files.md");
    let wrong = "title = \"t\"\nduration = \"1 s\"\n[link]\nrate = \"1 Mbit/s\"\nrtt = \"10 ms\"\n[[flow]]\n\
                 controller = \"cubic\"\n[[chart]]\nmark = \"none\"\ntitle = \"c\"\n";
    let said = crate::common::parse(wrong).unwrap_err().to_string();
    let marks = said.split_once("known: ").and_then(|(_, rest)| rest.lines().next()).expect(&said);
    assert!(marks.starts_with("line, "), "{said}");
    let keys = include_str!("../../../../../docs/src/reference/keys.md");
    for mark in marks.split(", ") {
        assert!(page.contains(&format!("`{mark}`")), "experiment-files.md has no row for the mark {mark}");
        assert!(keys.contains(&format!("\"{mark}\"")), "{mark} is not in the documentation of `mark`");
    }
}
