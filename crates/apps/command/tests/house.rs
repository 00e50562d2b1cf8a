//! The structure that ARCHITECTURE.md promises: no circle between files, no arrow between crates
//! but downwards, no file too long.
//!
//! Imports are read as text: `use` lists and paths that begin with `crate`, `super` or `self`,
//! outside of tests. A name that a module passes on (`pub use`) leads to where it comes from.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// Folders below `crates`, from the lowest. A crate uses crates of its own and of lower folders.
const FLOORS: [&str; 4] = ["core", "worlds", "lab", "apps"];
/// Package of the repository's own tasks. It lies beside `crates` and may use all of them.
const TASKS: &str = "xtask";
/// Layers from the lowest. A crate uses crates of lower layers only.
const LAYERS: [&[&str]; 11] = [
    &["units"],
    &["congestion", "link"],
    &["recovery"],
    &["scenario", "quic", "adapters"],
    &["sim", "experiment", "kernel", "transfer"],
    &["results", "stability", "stack", "wire", "logs"],
    &["report", "study"],
    &["questions"],
    &["ackclock"],
    &["python"],
    &[TASKS],
];
/// Smallest number of crates, so that no test looks at none of them.
const LEAST_CRATES: usize = 12;
/// Largest number of lines of a file without its tests.
const MOST_LINES: usize = 600;
/// Largest number of lines of a controller's file before its tests. It was 250 with comments of 140
/// columns; they have 100 now.
const MOST_OF_A_CONTROLLER: usize = 260;

/// Largest number of lines of code of each crate, without tests, comments and blank lines. A number
/// only grows with a new part of the product, and then with the reason in the commit.
const CODE_BUDGET: [(&str, usize); 22] = [
    ("units", 585),
    ("congestion", 14_379),
    ("link", 3_413),
    ("recovery", 5_388),
    ("quic", 10_160),
    ("adapters", 542),
    ("scenario", 2_710),
    ("sim", 3_004),
    ("stack", 3_258),
    ("kernel", 1_900),
    ("wire", 8_003),
    ("experiment", 8_436),
    ("results", 5_598),
    ("logs", 7_725),
    ("study", 1_179),
    ("questions", 7_070),
    ("stability", 1_529),
    ("report", 7_458),
    ("transfer", 2_699),
    ("ackclock", 5_800),
    ("python", 2_573),
    (TASKS, 463),
];

/// One crate of the workspace.
struct Package {
    /// Name without `ackclock-`.
    name: String,
    /// Folder of its manifest.
    root: PathBuf,
    /// Crates that its library or program uses, also those that are no crates of the workspace.
    used: Vec<String>,
}

impl Package {
    fn floor(&self) -> usize {
        if self.name == TASKS {
            return FLOORS.len();
        }
        let mut folders = self.root.iter().rev().skip(1);
        let folder = folders.next().and_then(|name| name.to_str()).unwrap_or_default();
        FLOORS
            .iter()
            .position(|floor| *floor == folder)
            .unwrap_or_else(|| panic!("{} is on no floor", self.name))
    }
}

/// Returns the crates of the workspace, as cargo knows them.
fn packages() -> &'static [Package] {
    static ALL: OnceLock<Vec<Package>> = OnceLock::new();
    ALL.get_or_init(|| {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["metadata", "--no-deps", "--offline", "--format-version", "1"]);
        let told = cargo.current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap();
        let told: serde_json::Value = serde_json::from_slice(&told.stdout).unwrap();
        let short =
            |name: &serde_json::Value| name.as_str().unwrap().trim_start_matches("ackclock-").to_owned();
        let all = told["packages"].as_array().unwrap().iter().map(|package| {
            let dependencies = package["dependencies"].as_array().unwrap().iter();
            let used = dependencies.filter(|d| d["kind"].is_null()).map(|d| short(&d["name"]));
            let manifest = Path::new(package["manifest_path"].as_str().unwrap());
            Package {
                name: short(&package["name"]),
                root: manifest.parent().unwrap().to_owned(),
                used: used.collect(),
            }
        });
        let all: Vec<Package> = all.collect();
        assert!(all.len() >= LEAST_CRATES, "{} crates", all.len());
        all
    })
}

fn package(name: &str) -> &'static Package {
    packages().iter().find(|package| package.name == name).unwrap()
}

/// The Rust files below a folder, without those of tests.
fn files(dir: &Path, all: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let stem = path.file_stem().unwrap().to_str().unwrap().to_owned();
        if path.is_dir() {
            if stem != "tests" {
                files(&path, all);
            }
        } else if path.extension().is_some_and(|e| e == "rs") && !stem.ends_with("tests") {
            all.push(path);
        }
    }
}

/// Without comments and without tests.
fn code(text: &str) -> String {
    let mut lines = Vec::new();
    let mut rest = text.lines().peekable();
    while let Some(line) = rest.next() {
        if line == "#[cfg(test)]" && rest.peek().is_some_and(|next| next.contains("mod ")) {
            match rest.next() {
                Some(next) if next.ends_with(';') => continue,
                _ => break,
            }
        }
        if !line.trim_start().starts_with("//") {
            lines.push(line);
        }
    }
    lines.join("\n")
}

type Module = Vec<String>;

/// One crate: its modules with their code.
struct Source {
    modules: BTreeMap<Module, (PathBuf, String)>,
}

impl Source {
    fn read(package: &Package) -> Self {
        let root = package.root.join("src");
        let mut all = Vec::new();
        files(&root, &mut all);
        let modules = all.into_iter().map(|path| {
            let within = path.strip_prefix(&root).unwrap().with_extension("");
            let mut module: Module = within.iter().map(|part| part.to_str().unwrap().to_owned()).collect();
            if ["mod", "lib"].contains(&module.last().unwrap().as_str()) {
                module.pop();
            }
            let text = code(&fs::read_to_string(&path).unwrap());
            (module, (path, text))
        });
        Self { modules: modules.collect() }
    }

    /// The module in which the thing at this path is written.
    fn home(&self, path: &[String], depth: usize) -> Option<Module> {
        let known = (0..=path.len()).rev().find(|&n| self.modules.contains_key(&path[..n]))?;
        let (module, rest) = path.split_at(known);
        let Some(name) = rest.first() else { return Some(module.to_vec()) };
        let text = &self.modules[module].1;
        for target in statements(text).filter(|s| passes_on(s)).flat_map(|s| names(&s, module)) {
            if target.last() == Some(name) && target != path && depth < 8 {
                return self.home(&target, depth + 1);
            }
        }
        Some(module.to_vec())
    }

    /// Returns the modules that each module uses.
    fn arrows(&self) -> BTreeMap<Module, BTreeSet<Module>> {
        let targets = |module: &Module, text: &str| -> BTreeSet<Module> {
            let used = statements(text).filter(|s| !passes_on(s));
            let all = used.flat_map(|s| paths(&s, module)).filter_map(|p| self.home(&p, 0));
            all.filter(|target| target != module).collect()
        };
        self.modules.iter().map(|(module, (_, text))| (module.clone(), targets(module, text))).collect()
    }
}

/// Reports whether a statement only re-exports.
fn passes_on(statement: &str) -> bool {
    let statement = statement.trim_start();
    statement.starts_with("pub") && statement.split(' ').any(|word| word == "use")
}

/// Returns the paths of a `pub use`, including those below its own module.
fn names(statement: &str, module: &[String]) -> Vec<Module> {
    let list = statement.split_once("use ").map_or("", |(_, list)| list).trim_end_matches(';');
    match ["crate::", "super::", "self::"].iter().any(|root| list.starts_with(root)) {
        true => paths(list, module),
        false => {
            let mut all = Vec::new();
            tree(list, module.to_vec(), &mut all);
            all
        }
    }
}

/// `use` lists as one piece each, everything else by lines.
fn statements(text: &str) -> impl Iterator<Item = String> {
    let mut all = Vec::new();
    let mut open: Option<String> = None;
    for line in text.lines() {
        let begins = line.trim_start().split(' ').any(|word| word == "use");
        match &mut open {
            Some(list) => list.push_str(line),
            None if begins => open = Some(line.to_owned()),
            None => all.push(line.to_owned()),
        }
        if let Some(list) = open.take_if(|list| list.contains(';')) {
            all.push(list);
        }
    }
    all.into_iter()
}

/// Every path in a statement that begins in this crate, lists taken apart.
fn paths(statement: &str, module: &[String]) -> Vec<Module> {
    let mut all = Vec::new();
    for root in ["crate::", "super::", "self::"] {
        for (at, _) in statement.match_indices(root) {
            let before = statement[..at].chars().next_back();
            if before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':' || c == '$') {
                continue;
            }
            let mut base = if root == "crate::" { Vec::new() } else { module.to_vec() };
            let mut rest = &statement[at + root.len()..];
            if root == "super::" {
                base.pop();
                while let Some(further) = rest.strip_prefix("super::") {
                    base.pop();
                    rest = further;
                }
            }
            tree(rest, base, &mut all);
        }
    }
    all
}

/// `a::{b, c::d}` to `a::b` and `a::c::d`.
fn tree(text: &str, mut base: Module, all: &mut Vec<Module>) {
    let mut rest = text.trim_start();
    loop {
        let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        if !word.is_empty() && word != "self" {
            base.push(word.to_owned());
        }
        match after.strip_prefix("::") {
            Some(list) if list.starts_with('{') => {
                return items(list).iter().for_each(|item| tree(item, base.clone(), all));
            }
            Some(more) if word.is_empty() || more.is_empty() => break,
            Some(more) => rest = more,
            None if rest.starts_with('{') => {
                return items(rest).iter().for_each(|item| tree(item, base.clone(), all));
            }
            None => break,
        }
    }
    all.push(base);
}

/// The items of a list in braces.
fn items(list: &str) -> Vec<String> {
    let (mut depth, mut item, mut all) = (0, String::new(), Vec::new());
    for c in list.chars() {
        depth += i32::from(c == '{') - i32::from(c == '}');
        match c {
            '{' if depth == 1 => {}
            ',' if depth == 1 => all.push(std::mem::take(&mut item)),
            _ if depth == 0 => break,
            _ => item.push(c),
        }
    }
    all.push(item);
    all.retain(|item| !item.trim().is_empty());
    all
}

/// Modules that can be reached from this one.
fn reached<'a>(arrows: &'a BTreeMap<Module, BTreeSet<Module>>, from: &'a Module) -> BTreeSet<&'a Module> {
    let (mut seen, mut next) = (BTreeSet::new(), vec![from]);
    while let Some(module) = next.pop() {
        for target in arrows.get(module).into_iter().flatten() {
            if seen.insert(target) {
                next.push(target);
            }
        }
    }
    seen
}

#[test]
fn no_circle_between_files() {
    let mut circles = Vec::new();
    for package in packages() {
        let arrows = Source::read(package).arrows();
        for (module, targets) in &arrows {
            for target in targets.iter().filter(|target| reached(&arrows, target).contains(module)) {
                circles.push(format!("{}: {} -> {}", package.name, module.join("::"), target.join("::")));
            }
        }
    }
    assert!(circles.is_empty(), "arrows of circles:\n{}", circles.join("\n"));
}

#[test]
fn crates_use_lower_layers_only() {
    let layer = |name: &str| LAYERS.iter().position(|layer| layer.contains(&name));
    for own in packages() {
        let own_layer = layer(&own.name).unwrap_or_else(|| panic!("{} is in no layer", own.name));
        for other in packages().iter().filter(|other| own.used.contains(&other.name)) {
            let is_lower = layer(&other.name).is_some_and(|other| other < own_layer);
            let is_below = is_lower && other.floor() <= own.floor();
            assert!(is_below, "{} uses {}, which is not below it", own.name, other.name);
        }
    }
}

#[test]
fn no_file_is_too_long() {
    let mut long = Vec::new();
    for package in packages() {
        for (path, text) in Source::read(package).modules.into_values() {
            let lines = text.lines().count();
            if lines > MOST_LINES {
                long.push(format!("{} has {lines} lines", path.display()));
            }
        }
    }
    assert!(long.is_empty(), "more than {MOST_LINES} lines:\n{}", long.join("\n"));
}

#[test]
fn no_controller_is_too_long() {
    let mut all = Vec::new();
    files(&package("congestion").root.join("src/algorithms"), &mut all);
    assert!(all.len() > 20, "{all:?}");
    for path in all {
        let text = fs::read_to_string(&path).unwrap();
        let lines = text.lines().take_while(|line| *line != "#[cfg(test)]").count();
        assert!(lines <= MOST_OF_A_CONTROLLER, "{} has {lines} lines before its tests", path.display());
    }
}

/// Names that results depend on: random streams, traces and the name in the stack's handshake. The
/// project's name is in none of them, so that a rename moves no number.
#[test]
fn results_do_not_depend_on_the_projects_name() {
    for package in packages() {
        for (path, text) in Source::read(package).modules.into_values() {
            for line in text.lines().filter(|line| line.contains("Rng::stream(")) {
                assert!(!line.contains(env!("CARGO_PKG_NAME")), "{}: {line}", path.display());
            }
        }
    }
    let settings = fs::read_to_string(package("stack").root.join("src/settings.rs")).unwrap();
    assert!(settings.contains("const SERVER_NAME: &str = \"server\";"));
    for entry in congestion::Algorithm::all() {
        let names =
            entry.variables().iter().map(|variable| variable.name).chain(entry.states().iter().copied());
        assert!(names.chain([entry.name()]).all(|name: &str| !name.contains("ackclock")));
    }
}

#[test]
fn the_code_keeps_its_budget() {
    let mut wrong = Vec::new();
    for package in packages() {
        let modules = Source::read(package).modules.into_values();
        let lines = |text: &str| code(text).lines().filter(|line| !line.trim().is_empty()).count();
        let lines: usize = modules.map(|(_, text)| lines(&text)).sum();
        let budget = CODE_BUDGET.iter().find(|(name, _)| *name == package.name);
        let budget = budget.unwrap_or_else(|| panic!("{} has no budget", package.name)).1;
        if lines > budget {
            wrong.push(format!("{}: {lines} lines of code; the budget is {budget}", package.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
