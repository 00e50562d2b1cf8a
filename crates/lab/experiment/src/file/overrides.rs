//! `--set`: replaces values of a file.

use std::cell::Cell;

use crate::diagnostic::{Diagnostic, did_you_mean};
use crate::file::experiment::Experiment;
use crate::file::judgement::UnknownRows;
use crate::file::node::{Node, Origin, Value};
use crate::file::vary;

/// Keys that may be set but not varied. They do not change what the source's numbers are about.
const HARMLESS: [&str; 3] = ["repetitions", "seed", "series"];

/// Tables among the keys that may be set, each with an example of a change.
const TABLES: &[(&str, &str)] = &[
    ("measure", "measure.from=10s"),
    ("link", "link.rate=20Mbit/s"),
    ("reverse", "reverse.rate=1Mbit/s"),
    ("probe", "probe.interval=100ms"),
    ("udp", "udp.rate=1Mbit/s"),
    ("flow", "flow.rtt=30ms"),
];

impl Experiment {
    /// Returns the experiment with other values, as in `--set`: `("link.rate", "20 Mbit/s")`. A
    /// value is TOML, or otherwise text. Statements about the source's numbers are dropped, unless
    /// `keep_published`.
    ///
    /// # Errors Returns the mistakes of the changed file. The message names the argument.
    pub fn with_overrides(
        &self,
        sets: &[(String, String)],
        keep_published: bool,
    ) -> Result<Self, Diagnostic> {
        let mut document = (*self.document).clone();
        for (key, value) in sets {
            let at = Origin::Argument(format!("--set {key}={value}").into());
            let path = vary::path_of(key);
            let refuse = |wrong: String, right: String| at.problem(&self.file, "", wrong, right);
            let value = Node::argument(&at, value);
            if let (Some((_, like)), Value::Leaf(_)) =
                (TABLES.iter().find(|(table, _)| *table == key), &value.value)
            {
                let right = format!("write one of its keys, like {like}");
                return Err(refuse(format!("`{key}` is a table"), right));
            }
            self.check_settable(&path).map_err(|(wrong, right)| refuse(wrong, right))?;
            let set = document.set(&path, &at, &value);
            set.map_err(|wrong| refuse(wrong, String::new()))?;
        }
        let mut changed = self.read_again(document).map_err(|problem| with_cause(problem, sets))?;
        if sets.iter().any(|(key, _)| key == "repetitions") {
            changed.others = None;
        }
        Ok(changed.without_judgement(sets, keep_published))
    }

    /// Reads a changed document. With candidates, drops reasons, which describe the file's own
    /// controllers.
    fn read_again(&self, document: Node) -> Result<Self, Diagnostic> {
        let mut changed = Self::read(&self.name, self.place(), document, self.unknown, &Cell::new(0))?;
        changed.sets.clone_from(&self.sets);
        if self.unknown == UnknownRows::LeftOut {
            changed.claims.iter_mut().for_each(|claim| claim.reason = None);
            changed.misses.clear();
            changed.biases.clear();
            changed.note.clone_from(&self.note);
        }
        Ok(changed)
    }

    /// Drops the source's numbers, the claims about them and the recorded reasons, which do not
    /// apply to another network. The note says so. Changing only repetitions, seed or sampling
    /// keeps them.
    fn without_judgement(mut self, sets: &[(String, String)], keep: bool) -> Self {
        let is_harmless = |key: &str| HARMLESS.contains(&vary::path_of(key)[0].as_str());
        let sets: Vec<_> = sets.iter().filter(|(key, _)| !is_harmless(key)).collect();
        let changes: Vec<String> = sets.iter().map(|(key, value)| format!("{key} = {value}")).collect();
        if changes.is_empty() {
            return self;
        }
        for (key, value) in sets {
            self.sets.retain(|(known, _)| known != key);
            self.sets.push((key.clone(), value.trim_matches('"').to_owned()));
        }
        let remark = if keep {
            "published values, claims and reasons are those of the unchanged file"
        } else {
            self.published = None;
            self.claims.clear();
            self.misses.clear();
            self.biases.clear();
            "published values and claims describe the unchanged file and are left out"
        };
        self.note = format!("{} Changed: {}; {remark}.", self.note, changes.join(", ")).trim().to_owned();
        self
    }

    fn check_settable(&self, path: &[String]) -> Result<(), (String, String)> {
        let root = path.first().map_or("", String::as_str);
        let settable = || vary::VARIABLE.iter().copied().chain(HARMLESS);
        if !settable().any(|key| key == root) || path.iter().any(String::is_empty) {
            let right =
                format!("{}; a key in a table has a dot, like link.rate", did_you_mean(root, settable()));
            return Err((format!("`{}` cannot be set", path.join(".")), right));
        }
        let varied =
            self.cases.iter().flat_map(|case| &case.overrides).find(|o| vary::overlap(&o.path, path));
        varied.map_or(Ok(()), |o| {
            let wrong =
                format!("`{}` is varied by {}, so this would have no effect", o.path.join("."), self.file);
            let right = "copy the file and change its [vary]; the copy keeps published values and claims";
            Err((wrong, right.to_owned()))
        })
    }
}

/// Adds the arguments to a problem in the file, which may occur only because of them.
fn with_cause(mut problem: Diagnostic, sets: &[(String, String)]) -> Diagnostic {
    if problem.line.is_some() {
        let sets: Vec<String> = sets.iter().map(|(key, value)| format!("--set {key}={value}")).collect();
        problem.wrong = format!("with {}: {}", sets.join(" "), problem.wrong);
    }
    problem
}
