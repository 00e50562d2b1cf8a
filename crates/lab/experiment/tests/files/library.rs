//! Resolution of command-line words to experiments, on disk and embedded.

use std::fs;
use std::path::Path;

use experiment::file::{Check, Experiment, Relation};
use experiment::library::Library;
use tempfile::TempDir;

const SMALL: &str = "title = \"t\"\nsource = \"s\"\nduration = \"9 s\"\nlink = { rate = \"1 Mbit/s\", delay = \"9 ms\" }\n\
                     [[flow]]\ncontroller = \"cubic\"\n";

/// Creates a folder with these files.
fn folder(files: &[(&str, &str)]) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    dir
}

fn names(word: &str) -> Vec<String> {
    Library.resolve(&[word.to_owned()]).unwrap().into_iter().map(|s| s.name).collect()
}

fn refused(path: &Path) -> String {
    Library.resolve(&[path.display().to_string()]).unwrap_err().to_string()
}

#[test]
fn shipped_experiments_are_right() {
    let all = Library.shipped();
    assert!(all.iter().any(|s| s.name == "quic-dc/table-1"));
    assert!(all.is_sorted_by(|a, b| a.name < b.name));
    for source in all {
        Experiment::parse(&source.name, &source.file, &source.text)
            .unwrap_or_else(|problem| panic!("{problem}"));
    }
}

/// Words of a two-sided statement: not much less and not much more.
const TWO_SIDED: &[&str] = &[
    "within ",
    "about ",
    "alike",
    "approximately",
    "close to",
    "equal to",
    "no difference",
    "no effect",
    "not large",
    "not much",
    "roughly",
    "slight",
];

/// Reports whether a check bounds its left side from below and from above.
fn sides(check: &Check) -> (bool, bool) {
    match check {
        Check::Near { .. } | Check::Compare { is: Relation::Near(_), .. } => (true, true),
        Check::Increasing(_) | Check::Compare { is: Relation::Above | Relation::AtLeast, .. } => {
            (true, false)
        }
        Check::Compare { is: Relation::Below | Relation::AtMost, .. } => (false, true),
    }
}

/// A two-sided statement is checked on both sides.
#[test]
fn no_sentence_is_judged_by_half() {
    let mut seen = 0;
    for source in Library.shipped() {
        let exp = Experiment::parse(&source.name, &source.file, &source.text).unwrap();
        for claim in &exp.claims {
            let parts = || claim.parts.iter();
            let texts = || parts().filter_map(|part| part.says.as_ref()).chain([&claim.says]);
            let has_two = |text: &String| TWO_SIDED.iter().any(|word| text.to_lowercase().contains(word));
            let (lower, upper): (Vec<_>, Vec<_>) = parts().map(|part| sides(&part.check)).unzip();
            let whole = lower.contains(&true) && upper.contains(&true);
            assert!(whole || !texts().any(has_two), "{} {}: {}", exp.name, claim.id, claim.says);
            seen += usize::from(texts().any(has_two));
        }
    }
    assert!(seen > 50, "{seen}");
}

/// `ackclock run rfc8867 --controller X`: each experiment accepts any controller and judges it by
/// all rules.
#[test]
fn the_media_suite_takes_any_controller() {
    let suite = Library.resolve(&["rfc8867".to_owned()]).unwrap();
    assert!(suite.len() >= 10);
    for source in suite {
        let exp = Experiment::parse(&source.name, &source.file, &source.text).unwrap();
        let candidates = ["cubic", "{ name = \"dccc\", owd = \"anchored\" }"].map(str::to_owned);
        let tried = exp.with_controllers(&candidates).unwrap_or_else(|problem| panic!("{problem}"));
        assert!(!exp.claims.is_empty() && tried.claims.len() == exp.claims.len(), "{}", source.name);
        assert!(exp.claims.iter().all(|claim| claim.everywhere), "{}", source.name);
    }
}

#[test]
fn names_and_prefixes() {
    assert_eq!(names("quic-dc/table-1"), ["quic-dc/table-1"]);
    assert!(names("quic-dc").len() >= 8 && names("quic-dc/") == names("quic-dc"));
    let twice = Library.resolve(&["quic-dc".to_owned(), "quic-dc/table-1".to_owned()]).unwrap();
    assert_eq!(twice.len(), names("quic-dc").len());
}

/// The start of a name up to a number is enough. A name with control characters is refused.
#[test]
fn names_of_files() {
    let found = Library.resolve(&["rfc8867/5-1".to_owned()]).unwrap();
    assert_eq!(found.len(), 1);
    assert!(found[0].name.starts_with("rfc8867/5-1-"), "{}", found[0].name);
    let dir = tempfile::tempdir().unwrap();
    for (name, wrong) in [
        ("a\u{1b}[31m.toml", "a control character"),
        ("a\nb.toml", "a control character"),
        ("..toml", "file name is empty"),
        (".runs-x.toml", "begins like that of an unfinished folder"),
        ("experiments/.partial-x/y.toml", "begins like that of an unfinished folder"),
    ] {
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "title = 'x'").unwrap();
        let said = Library.resolve(&[path.display().to_string()]).unwrap_err().to_string();
        assert!(said.contains(wrong), "{said}");
    }
}

/// `run .` writes results into the folder that it searches.
#[test]
fn results_below_a_folder_are_no_experiments() {
    let manifest = "experiment = \"x\"\ncase = \"y\"";
    let dir = folder(&[
        ("x.toml", SMALL),
        ("results/x/0123/manifest.toml", manifest),
        ("results/x/0123/runs.csv", ""),
        ("results/x/.partial-1/manifest.toml", manifest),
    ]);
    let found = Library.resolve(&[dir.path().display().to_string()]).unwrap();
    assert_eq!(found.iter().map(|source| source.name.as_str()).collect::<Vec<_>>(), ["x"]);
}

/// The results of two experiments with one name would replace each other.
#[test]
fn two_files_of_one_name_are_refused() {
    let files = ["one/x.toml", "two/x.toml", "experiments/quic-dc/table-1.toml"];
    let dir = folder(&files.map(|name| (name, SMALL)));
    let [one, two, shipped] = files.map(|name| dir.path().join(name).display().to_string());
    let found =
        |words: &[&str]| Library.resolve(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
    let said = found(&[&one, &two]).unwrap_err().to_string();
    assert!(said.contains(&format!("{two}: this experiment and {one} are both called `x`")), "{said}");
    assert!(said.contains("rename one, or run each with its own --out"), "{said}");
    assert!(found(&["quic-dc/table-1", &shipped]).is_err());
    let again = one.replace("one/", "two/../one/./");
    assert_eq!(found(&[&one, &again]).unwrap().len(), 1, "the same file");
}

#[test]
fn numbers_in_names() {
    assert_eq!(names("thesis/table-8"), ["thesis/table-8"]);
    for number in [9, 10] {
        assert_eq!(names(&format!("thesis/table-{number}")), ["thesis/table-9-10"]);
    }
    assert_eq!(names("thesis/table-12"), ["thesis/table-11-12-13"]);
    assert_eq!(names("thesis/figure-23/"), ["thesis/figure-22-23-24-25"]);
    assert_eq!(names("dccc/figure-19"), ["dccc/figure-12-18-19"]);
    assert_eq!(names("dstar/figure-3"), ["dstar/figure-3-table-1"]);
    assert_eq!(names("dstar/figure-2"), ["dstar/figure-2"]);
    assert_eq!(names("dstar/table-1"), ["dstar/figure-3-table-1", "dstar/table-1-10gbit"]);
    assert_eq!(names("dccc/table-2"), ["dccc/table-2-sensitivity", "dccc/table-2-stability"]);
    // An exact name wins: `thesis/table-1` is not in `thesis/table-11-12-13`, nor `dccc/figure-13`
    // in its ablations.
    assert_eq!(names("thesis/table-1"), ["thesis/table-1"]);
    assert_eq!(names("dccc/figure-13"), ["dccc/figure-13"]);
    // A number must match completely, with its word and folder.
    for word in [
        "thesis/table-99",
        "thesis/table-09",
        "thesis/table-16",
        "thesis/table-22",
        "thesis/figure-9",
        "thesis/figure-3",
        "dstar/table-3",
        "dstar/table-10",
        "quic-dc/table-9",
        "thesis/table-9-11",
        "thesis/table",
        "thesis/table-",
        "rfc8867/-5",
        "thesis/9",
        "table-9",
        "quic-dc/figure-",
    ] {
        assert!(Library.resolve(&[word.to_owned()]).is_err(), "{word}");
    }
    let thesis = Library.resolve(&["thesis".to_owned(), "thesis/table-9".to_owned()]).unwrap();
    assert_eq!(thesis.len(), names("thesis").len(), "none twice");
}

#[test]
fn files_and_folders() {
    let dir = folder(&[
        ("experiments/b/two.toml", SMALL),
        ("experiments/a.toml", SMALL),
        ("experiments/b/one.toml", SMALL),
        ("experiments/readme.md", "no experiment"),
    ]);
    assert_eq!(names(dir.path().to_str().unwrap()), ["a", "b/one", "b/two"]);
    assert_eq!(names(dir.path().join("experiments/b/two.toml").to_str().unwrap()), ["b/two"]);
}

#[test]
fn what_is_not_there() {
    let unknown = |word: &str| Library.resolve(&[word.to_owned()]).unwrap_err().to_string();
    let said = unknown("quic-dc/tabel-1");
    assert!(said.starts_with("quic-dc/tabel-1: no such file, folder or shipped experiment; "), "{said}");
    assert!(
        said.contains("did you mean \"quic-dc/table-1\"?")
            && said.contains("`ackclock list` shows the shipped experiments"),
        "{said}"
    );
    // A prefix ends at a slash.
    assert!(unknown("quic").contains("did you mean \"quic-dc\"?"), "{}", unknown("quic"));
    assert!(unknown("ltee").contains("did you mean \"lte\"?"), "{}", unknown("ltee"));
    assert!(unknown("").starts_with("\"\": no such file"));
    assert!(unknown("nowhere.toml").starts_with("nowhere.toml: no such file"));

    let dir = folder(&[("empty.toml", " \n"), ("notes/readme.md", "text"), ("binary.toml", "x")]);
    fs::write(dir.path().join("binary.toml"), [0xff, 0xfe]).unwrap();
    assert!(
        refused(&dir.path().join("notes"))
            .contains("notes: folder contains no experiments; no .toml file in it")
    );
    assert!(
        refused(&dir.path().join("empty.toml"))
            .contains("empty.toml:1: the file is empty; an experiment needs title")
    );
    assert!(refused(&dir.path().join("binary.toml")).contains("binary.toml:1: not UTF-8: byte 0x"));
}

/// The table next to the file, or next to a folder above it, takes precedence over the shipped one.
#[test]
fn published_tables_beside_the_file() {
    let published = "[published]\ntable = \"quic-dc-table1.csv\"\nrows = [\"cca\"]\n\
         columns = { loss = { column = \"lost\", unit = \"%\" } }\n";
    let text = format!("{SMALL}{published}");
    let table = |loss: &str| format!("cca,lost\ncubic,{loss}\n");
    let dir =
        folder(&[("x/a.toml", &text), ("published/quic-dc-table1.csv", &table("3")), ("y/a.toml", &text)]);
    let read = |file: &str| {
        let source = Library.resolve(&[dir.path().join(file).display().to_string()]).unwrap().remove(0);
        Experiment::parse(&source.name, &source.file, &source.text)
    };
    assert_eq!(read("x/a.toml").unwrap().published("", &"cubic".into(), &"loss".into()), Some(3.0));
    fs::create_dir(dir.path().join("y/published")).unwrap();
    fs::write(dir.path().join("y/published/quic-dc-table1.csv"), table("4")).unwrap();
    assert_eq!(read("y/a.toml").unwrap().published("", &"cubic".into(), &"loss".into()), Some(4.0));
    fs::write(dir.path().join("y/published/quic-dc-table1.csv"), table("many")).unwrap();
    let said = read("y/a.toml").unwrap_err().to_string();
    assert!(said.ends_with("y/published/quic-dc-table1.csv:2: lost: `many` is not a number; write a number, or leave the cell empty if the paper has none"), "{said}");
}
