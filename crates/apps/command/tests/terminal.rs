//! Output on the terminal: its width, length and colours, and that it has the answer.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Two rows in two variants, one of them the reference, and one main claim of its source.
const STUDY: &str = r#"
title = "A study with a title that is longer than a line of a terminal of eighty columns has room for"
source = "a test"
duration = "2 s"
repetitions = 2

[link]
rate = "10 Mbit/s"
delay = "10 ms"
queue = "1 BDP"
jitter = "1 ms"

[[flow]]

[vary]
"flow.controller" = ["cubic", "bbr2"]
"link.queue" = ["1 BDP", "4 BDP"]

[table]
rows = "flow.controller"

[reference]
variants = ["queue = 1 BDP"]
why = "the source has it"

[[claim]]
id = "c-1"
main = true
says = "something arrives, and the sentence that says so goes on until it needs another line of the screen"
metric = "goodput"
left = { min = ["*"] }
is = "at-least"
right = RIGHT

[[claim]]
id = "c-2"
says = "a minor matter"
metric = "goodput"
left = { min = ["*"] }
is = "at-least"
right = 0.1
"#;

fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ackclock"));
    for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE"] {
        command.env_remove(name);
    }
    command.args(args).env("COLUMNS", "80").stdin(Stdio::null());
    command
}

fn said(args: &[&str]) -> String {
    let output = command(args).output().unwrap();
    text(&output)
}

fn text(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn run(dir: &Path, args: &[&str]) -> Command {
    let mut command = command(&[&["run", "--out", "r"], args].concat());
    command.current_dir(dir);
    command
}

/// Several files below `studies`. The last one has no main claim.
fn studies(at_least: &str) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("studies")).unwrap();
    for name in ["one", "two", "a-third-one-with-a-name-that-is-much-longer-than-any-other"] {
        fs::write(dir.path().join(format!("studies/{name}.toml")), STUDY.replace("RIGHT", at_least)).unwrap();
    }
    let minor = STUDY.replace("RIGHT", "0.1").replace("main = true\n", "");
    fs::write(dir.path().join("studies/z.toml"), minor).unwrap();
    dir
}

fn check_width(text: &str) {
    for line in text.lines() {
        assert!(line.chars().count() <= 80, "{} columns: {line}", line.chars().count());
    }
}

#[test]
fn the_first_screen_is_one() {
    let dir = studies("99");
    let screen = text(&run(dir.path(), &["studies"]).output().unwrap());
    check_width(&screen);
    assert!(screen.lines().count() <= 60, "{screen}");
    assert!(screen.contains("main claims\n  missed!  c-1: something arrives"), "{screen}");
    assert!(!screen.contains("a minor matter"), "{screen}");
    assert!(screen.contains("4 experiments") && screen.contains("2 x 2"), "{screen}");
    assert!(screen.contains("open questions: 3 claims"), "{screen}");
    assert!(screen.ends_with("results: r\nreport: r/report/studies/index.html\n"), "{screen}");
    let one = text(&run(dir.path(), &["studies/z.toml"]).output().unwrap());
    assert!(one.contains("\nclaims\n  holds    c-1:") && one.contains("a minor matter"), "{one}");
}

/// One experiment shows its numbers first, then the claims with their verdicts.
#[test]
fn numbers_come_before_claims() {
    let dir = studies("0.1");
    for name in ["one", "z"] {
        let screen = text(&run(dir.path(), &[&format!("studies/{name}.toml")]).output().unwrap());
        check_width(&screen);
        let at = |words: &str| screen.find(words).unwrap_or_else(|| panic!("{words}: {screen}"));
        assert!(
            at("goodput") < at("Mbit/s") && at("Mbit/s") < at("\ncubic ") && at("\ncubic ") < at("\nbbr2 ")
        );
        assert!(at("\nbbr2 ") < at("holds    c-1: something arrives"), "{screen}");
        assert!(
            screen.contains("queue = 1 BDP (reference)") && !screen.contains("variants  holds"),
            "{screen}"
        );
    }
}

/// Without a claim, the screen has the table.
#[test]
fn a_question_is_answered_by_its_table() {
    let dir = tempfile::tempdir().unwrap();
    let question = STUDY.split("[[claim]]").next().unwrap().replace("source = \"a test\"\n", "");
    fs::write(dir.path().join("q.toml"), question).unwrap();
    let screen = text(&run(dir.path(), &["q.toml"]).output().unwrap());
    check_width(&screen);
    assert!(screen.contains("queue = 1 BDP (reference); others:"), "{screen}");
    assert!(
        screen.contains("goodput") && screen.contains("cubic") && screen.contains("report: "),
        "{screen}"
    );
    assert!(screen.contains('±') && screen.contains("±: sample standard deviation"), "{screen}");
    let once = text(&run(dir.path(), &["q.toml", "--repeat", "1"]).output().unwrap());
    assert!(!once.contains('±'), "{once}");
    // With several experiments each is named. A sweep without a reference shows every value.
    fs::write(dir.path().join("p.toml"), question_of_a_sweep()).unwrap();
    let both = text(&run(dir.path(), &["q.toml", "p.toml", "--repeat", "1"]).output().unwrap());
    check_width(&both);
    assert!(both.contains("\nq: A study") && both.contains("\np: A study"), "{both}");
    let sweep = both.split_once("\np: A study").unwrap().1;
    assert!(sweep.contains("\n1 BDP  cubic") && sweep.contains("\n4 BDP  cubic"), "{both}");
    assert!(!sweep.contains("reference") && !sweep.contains("others"), "{both}");
}

fn question_of_a_sweep() -> String {
    let question = STUDY.split("[reference]").next().unwrap();
    question.replace("source = \"a test\"\n", "")
}

/// `-v` shows the table of the reference, the other variants as a range, and every claim. `-vv`
/// shows a table for each variant.
#[test]
fn more_on_request() {
    let dir = studies("99");
    let more = text(&run(dir.path(), &["studies/one.toml", "-v"]).output().unwrap());
    check_width(&more);
    assert!(more.contains("others") && more.contains("others: the other variant"), "{more}");
    assert!(more.contains("a minor matter"), "{more}");
    assert!(!more.contains("queue = 4 BDP"), "{more}");
    let all = text(&run(dir.path(), &["studies/one.toml", "-vv"]).output().unwrap());
    assert!(all.contains("queue = 4 BDP\n") && all.contains("reference: the source has it"), "{all}");
}

#[test]
fn colours_are_for_eyes_that_want_them() {
    let dir = studies("0.1");
    let green = "\u{1b}[32m";
    let with = |name: &str| {
        let output = run(dir.path(), &["studies/one.toml"]).env(name, "1").output().unwrap();
        text(&output).contains(green)
    };
    assert!(with("CLICOLOR_FORCE"));
    assert!(!with("NO_COLOR"));
    assert!(!with("CLICOLOR"), "there is no terminal");
}

/// Mistakes in a file are shown with the line and a caret.
#[test]
fn mistakes_in_colour() {
    let dir = studies("0.1");
    let file = dir.path().join("studies/one.toml");
    fs::write(&file, fs::read_to_string(&file).unwrap().replace("rate =", "raet =")).unwrap();
    let said = |name: &str| {
        let output = run(dir.path(), &["studies/one.toml"]).env(name, "1").output().unwrap();
        String::from_utf8(output.stderr).unwrap()
    };
    let (coloured, plain) = (said("CLICOLOR_FORCE"), said("NO_COLOR"));
    assert!(coloured.contains("\u{1b}[") && !plain.contains('\u{1b}'), "{coloured}{plain}");
    assert!(plain.contains(" | raet = ") && plain.contains("\n  | ^^^^\n"), "{plain}");
}

#[test]
fn lists_fit() {
    let list = said(&["list"]);
    check_width(&list);
    assert!(list.contains("which-reading-four-flows 282 "), "{list}");
    let line = list.lines().find(|line| line.starts_with("quic-dc/table-1 ")).unwrap();
    assert!(line.ends_with("Table 1 and Figure 4"), "{line}");
    assert!(list.lines().all(|line| line.starts_with(' ') || line.split(' ').next().unwrap().contains('/')));
    let filtered = said(&["list", "STARLINK"]);
    assert!(filtered.contains("quic-dc/table-7 ") && !filtered.contains("quic-dc/table-1 "), "{filtered}");
    let none = command(&["list", "no such thing"]).output().unwrap();
    assert_eq!(none.status.code(), Some(2));
    let index = said(&["algorithms"]);
    check_width(&index);
    assert!(
        index.lines().count() < 80 && index.contains("  2023 cubic            CUBIC: RFC 9438\n"),
        "{index}"
    );
    assert!(index.contains("Lynn and Ghosal, arXiv 2012.14996\n"), "{index}");
}

#[test]
fn shells_and_readers_of_manuals() {
    assert!(said(&["--version"]).trim().ends_with(')'), "{}", said(&["--version"]));
    assert!(said(&["completions", "bash"]).contains("_ackclock()"));
    assert!(said(&["completions", "zsh"]).contains("#compdef ackclock"));
    assert!(said(&["man"]).contains(".TH ackclock 1"));
    assert!(said(&["man", "run"]).contains("keep\\-published"));
    let unknown = command(&["man", "rnu"]).output().unwrap();
    assert!(String::from_utf8_lossy(&unknown.stderr).contains("did you mean \"run\"?"));
}

/// `run -` reads a file from standard input, and reports its mistakes like those of any file.
#[test]
fn a_file_on_standard_input() {
    let dir = tempfile::tempdir().unwrap();
    let with = |text: &str| {
        let mut command = run(dir.path(), &["-"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        child.wait_with_output().unwrap()
    };
    let study = STUDY.replace("RIGHT", "0.1");
    let done = with(&study);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    assert!(text(&done).contains("stdin: A study") && dir.path().join("r/stdin").is_dir(), "{}", text(&done));
    let wrong = with(&study.replace("duration", "duratoin"));
    assert_eq!(wrong.status.code(), Some(2));
    let said = String::from_utf8_lossy(&wrong.stderr).into_owned();
    assert!(said.contains("stdin:4: duratoin: unknown key"), "{said}");
    assert_eq!(with("").status.code(), Some(2));
}

/// The mistakes of one file do not hide those of another.
#[test]
fn mistakes_of_several_files() {
    let dir = studies("0.1");
    for (name, right, wrong) in [("one", "rate =", "raet ="), ("two", "duration =", "duratoin =")] {
        let file = dir.path().join(format!("studies/{name}.toml"));
        fs::write(&file, fs::read_to_string(&file).unwrap().replace(right, wrong)).unwrap();
    }
    let output = run(dir.path(), &["studies/one.toml", "nothing.toml", "studies/two.toml"]).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2));
    for says in ["one.toml:8: link.raet: unknown key", "two.toml:4: duratoin: unknown key", "nothing.toml: "]
    {
        assert!(said.contains(says), "{says}: {said}");
    }
    // A wrong option is reported once.
    let output =
        run(dir.path(), &["studies/z.toml", "quic-dc/table-1", "--set", "link.rate=20"]).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(said.matches("`20` has no unit").count(), 1, "{said}");
}

#[test]
fn algorithms_by_their_short_name() {
    let newest = said(&["algorithms", "bbr"]);
    assert!(newest.starts_with("`bbr` stands for bbr3\n\nbbr3\n"), "{newest}");
    let unknown = command(&["algorithms", "cubik"]).output().unwrap();
    assert!(
        String::from_utf8_lossy(&unknown.stderr)
            .contains("unknown algorithm `cubik`; did you mean \"cubic\"?")
    );
}
