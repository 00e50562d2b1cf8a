//! Results folders: which of several results readers take, and what stays in a folder.

use std::fs;
use std::path::Path;

use crate::{ackclock, text, tree};

/// Writes an experiment of one row to a file below `dir`.
fn study(dir: &Path, name: &str, title: &str) -> String {
    let file = dir.join(name);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    let text = format!(
        "title = \"{title}\"\nduration = \"1 s\"\nlink = {{ rate = \"10 Mbit/s\", delay = \"9 ms\" }}\n\
         [[flow]]\ncontroller = \"cubic\"\n[table]\nmetrics = [\"goodput\"]\n"
    );
    fs::write(&file, text).unwrap();
    file.to_str().unwrap().to_owned()
}

fn run(file: &str, out: &Path, more: &[&str]) {
    let done = ackclock(&[&["run", file, "--out", out.to_str().unwrap()], more].concat());
    assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
}

/// Returns the exit status and the output of a comparison.
fn diff(before: &Path, after: &Path) -> (Option<i32>, String) {
    let [before, after] = [before, after].map(|path| path.to_str().unwrap());
    let done = ackclock(&["diff", before, after, "--fail-if", "goodput -3 %"]);
    (done.status.code(), text(&done.stdout) + &text(&done.stderr))
}

/// A run that finds its results makes them the newest, as if it had made them again.
#[test]
fn results_that_are_used_again_are_the_newest() {
    let dir = tempfile::tempdir().unwrap();
    let file = study(dir.path(), "x.toml", "t");
    let [before, after] = ["before", "after"].map(|name| dir.path().join(name));
    let slower = ["--set", "link.rate=5 Mbit/s"];
    run(&file, &before, &[]);
    for more in [&slower[..], &[], &slower] {
        run(&file, &after, more);
    }
    let (status, said) = diff(&before, &after);
    assert_eq!(status, Some(1), "{said}");
    let list = ackclock(&["list", "--results", after.to_str().unwrap(), "--json"]);
    let list: serde_json::Value = serde_json::from_slice(&list.stdout).unwrap();
    let slow = fs::read_to_string(Path::new(list[1]["path"].as_str().unwrap()).join("manifest.toml"));
    assert!(slow.unwrap().contains("rate = \"5 Mbit/s\""), "the list has the newest last: {list}");
}

/// A name with a leading dot is a name. Only unfinished folders are passed over.
#[test]
fn results_of_hidden_files_are_seen() {
    let dir = tempfile::tempdir().unwrap();
    let file = study(dir.path(), "experiments/.ci/.gate.toml", "t");
    let [before, after] = ["before", "after"].map(|name| dir.path().join(name));
    run(&file, &before, &[]);
    run(&file, &after, &["--set", "link.rate=5 Mbit/s"]);
    let (status, said) = diff(&before, &after);
    assert!(status == Some(1) && said.contains(".ci/.gate, cubic"), "{said}");
    fs::rename(after.join(".ci/.gate"), after.join(".ci/.partial-x")).unwrap();
    assert!(diff(&before, &after).1.contains("no results found"));
}

/// Two files of one name are refused in one command. In one folder, the reader says which it leaves
/// out, but not if a file with the same title ran again.
#[test]
fn two_experiments_of_one_name() {
    let dir = tempfile::tempdir().unwrap();
    let [one, two] = ["one", "two"].map(|name| study(dir.path(), &format!("{name}/x.toml"), name));
    let out = dir.path().join("out");
    let done = ackclock(&["run", &one, &two, "--out", out.to_str().unwrap()]);
    assert_eq!(done.status.code(), Some(2));
    assert!(text(&done.stderr).contains("are both called `x`"), "{}", text(&done.stderr));
    for (file, more) in [(&one, &[][..]), (&one, &["--seed", "2"]), (&two, &["--seed", "3"])] {
        run(file, &out, more);
    }
    let (_, said) = diff(&out, &out);
    assert_eq!(said.matches(": left out; ").count(), 2, "once for each side: {said}");
    assert!(said.contains(" (\"two\") is newer and has the same name\n"), "{said}");
    let again = dir.path().join("again");
    [&[][..], &["--seed", "2"]].iter().for_each(|more| run(&one, &again, more));
    assert!(!diff(&again, &again).1.contains("left out"), "a seed changed");
}

/// New results take the place of the old ones, but not of files that the user put there. Notes may
/// change afterwards.
#[test]
fn the_users_files_stay() {
    let dir = tempfile::tempdir().unwrap();
    let file = study(dir.path(), "x.toml", "t");
    let out = dir.path().join("out");
    run(&file, &out, &[]);
    let folder = fs::read_dir(out.join("x")).unwrap().next().unwrap().unwrap().path();
    fs::create_dir(folder.join("own")).unwrap();
    for name in ["notes.txt", "own.csv", "own/more.json"] {
        fs::write(folder.join(name), "mine").unwrap();
    }
    let kept = tree(&folder);
    run(&file, &out, &["--fresh"]);
    assert_eq!(tree(&folder), kept);
    study(dir.path(), "x.toml", "another title");
    run(&file, &out, &[]);
    fs::write(folder.join("notes.txt"), "more").unwrap();
    let (status, said) = diff(&out, &out);
    assert_eq!(status, Some(0), "{said}");
    assert_eq!(fs::read_to_string(folder.join("own/more.json")).unwrap(), "mine");
}

/// JSON is a list, also before the last part is there.
#[test]
fn a_part_prints_an_empty_list() {
    let dir = tempfile::tempdir().unwrap();
    let file = study(dir.path(), "x.toml", "t");
    let out = dir.path().join("out");
    let part = ["run", &file, "--repeat", "2", "--shard", "1/2", "--json", "--out", out.to_str().unwrap()];
    assert_eq!(text(&ackclock(&part).stdout), "[]\n");
}
