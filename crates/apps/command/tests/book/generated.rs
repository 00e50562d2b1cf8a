//! Reference pages made from the program. `BLESS=1 cargo test -p ackclock --test book` writes them.

use std::env;
use std::fmt::Write;
use std::fs;
use std::process::Command;

use experiment::quantity::{QUANTITIES, Subject};

use crate::page::{book, root};

fn check(name: &str, text: &str) {
    let path = book().join("reference").join(name);
    if env::var_os("BLESS").is_some() {
        fs::write(&path, text).unwrap();
    }
    let written = fs::read_to_string(&path).unwrap_or_default();
    assert!(written == text, "{} is out of date: BLESS=1 cargo test -p ackclock --test book", path.display());
}

fn printed(args: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_ackclock"))
        .args(args)
        .env("COLUMNS", "100")
        .env("NO_COLOR", "1")
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && !text.is_empty(), "{args:?}");
    text.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
}

/// Returns the first words of the lines of a list below a heading.
#[cfg(all(wire, transfer, feature = "full"))]
fn names(help: &str, heading: &str) -> Vec<String> {
    let lines = help.lines().skip_while(|line| !line.starts_with(heading)).skip(1);
    let lines = lines.take_while(|line| !line.is_empty()).filter(|line| line.starts_with("  "));
    let starts = lines.filter(|line| !line.starts_with("   "));
    starts.filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}

#[cfg(all(wire, transfer, feature = "full"))]
#[test]
fn commands() {
    let help = printed(&["help"]);
    let mut out = format!("# Commands\n\nGenerated from `ackclock help`.\n\n```text\n{help}```\n");
    let all = names(&help, "Commands:");
    assert!(all.len() > 15, "{help}");
    for name in all.iter().filter(|name| *name != "help") {
        let _ = write!(out, "\n## {name}\n\n```text\n{}```\n", printed(&["help", name]));
    }
    check("commands.md", &out);
}

/// Algorithms of the sources that are not in the registry, with the reason.
const LEFT_OUT: &str = "\n### Left out\n
* **Santa Cruz** (Parsa and Garcia-Luna-Aceves, 1999) needs the relative delay of every packet,
  from receive times that TCP does not carry.
* **Verus** (Zaki et al., SIGCOMM 2015) learns the delay profile of a cellular link from its own
  packets. Recorded links, which it is made for, came after this catalogue.
* **Cx-TCP** (Budzisz et al., IEEE/ACM ToN 2011) is a delay-based back-off probability like PERT's
  that falls to zero at large delays.
* **DFLOW** (O'Hanlon and Carlberg, ICNP 2013) joins TFRC's rate with a delay term like LEDBAT's;
  both are here alone.
";

#[test]
fn algorithms() {
    let mut out = String::from(
        "# Algorithms\n\nGenerated from `ackclock algorithms` and `ackclock algorithms NAME`: equations, parameters\n\
         with defaults, ranges and sources, and the variables that a controller traces. The pictures are\n\
         from `ackclock run catalogue/pictures`: one flow on the same five networks.\n\n## The family tree\n",
    );
    let _ = write!(out, "\n```text\n{}```\n", printed(&["algorithms"]));
    out += LEFT_OUT;
    for entry in congestion::Registry::default().iter() {
        let name = entry.name;
        let _ = write!(out, "\n## {name}\n");
        if book().join(format!("images/algorithms/{name}.svg")).is_file() {
            let _ = write!(out, "\n![Window and queue of {name}](../images/algorithms/{name}.svg)\n");
        }
        let _ = write!(out, "\n```text\n{}```\n", printed(&["algorithms", name]));
    }
    check("algorithms.md", &out);
}

#[test]
fn metrics() {
    let mut out = String::from(
        "# Metrics\n\nGenerated from the program's table. A metric may name a group of flows, `goodput of bulk`, and a\n\
         window, `goodput @ late`.\n\n| metric | unit | of | description |\n|---|---|---|---|\n",
    );
    for quantity in QUANTITIES {
        let subject = match quantity.subject {
            Subject::Flows => "flows",
            Subject::SomeFlows => "a group of flows",
            Subject::Links => "links",
            Subject::Udp => "UDP sources",
            Subject::Run => "the run",
        };
        let window = if quantity.has_windows { "" } else { "; whole run" };
        let _ = writeln!(
            out,
            "| `{}` | {} | {subject} | {}{window} |",
            quantity.name,
            quantity.unit,
            quantity.doc.replace('|', "\\|")
        );
    }
    check("metrics.md", &out);
}

/// The first example of the README is the beginning of what its command prints.
#[test]
fn the_readme_shows_what_the_program_prints() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let mut lines = readme.lines().skip_while(|line| !line.starts_with("    $ "));
    let command = lines.next().unwrap().strip_prefix("    $ ackclock ").unwrap();
    let shown: Vec<&str> = lines.take_while(|line| !line.starts_with('#')).map(str::trim).collect();
    let (words, quoted) = command.trim_end_matches('"').split_once('"').unwrap();
    let dir = tempfile::tempdir().unwrap();
    let mut program = Command::new(env!("CARGO_BIN_EXE_ackclock"));
    let program = program.args(words.split_whitespace()).arg(quoted).current_dir(dir.path());
    let output = program.env_remove("COLUMNS").env("NO_COLOR", "1").output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    let words = |lines: &[&str]| lines.join(" ").split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let (shown, printed) = (words(&shown), words(&printed.lines().collect::<Vec<_>>()));
    assert!(shown.len() > 40 && printed.starts_with(&shown), "{printed:?}");
}
