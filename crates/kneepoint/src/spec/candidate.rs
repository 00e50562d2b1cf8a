//! `--controller`: candidates in the place of the controllers that a file tries.

use crate::problem::Problem;
use crate::spec::node::{At, Entry, Node, Value, join};
use crate::spec::{Experiment, Unfit};

impl Experiment {
    /// The same experiment with these controllers in the list of `[vary]` that names controllers. A value is TOML, or else
    /// an algorithm's name. Claims, misses and charts that name controllers of the file are left out, and all reasons.
    ///
    /// # Errors
    /// A file that varies no controller or several, and what the changed file would give.
    pub fn with_controllers(&self, candidates: &[String]) -> Result<Self, Problem> {
        let mut document = (*self.document).clone();
        let whole = At::Set(format!("--controller {}", candidates.join(" --controller ")).into());
        let mut lists = Vec::new();
        if let Value::Table(entries) = &mut document.value {
            let vary = entries.iter_mut().filter(|e| e.key == "vary");
            vary.for_each(|e| collect(&mut e.node, "", &mut lists));
        }
        let [list] = &mut lists[..] else {
            let wrong = format!("{} varies {} lists of controllers", self.file, lists.len());
            let right = "a file for --controller has one, like \"flow.0.controller\" = [...] in [vary]";
            return Err(whole.problem(&self.file, "", wrong, right));
        };
        let argument = |text: &String| {
            let at = At::Set(format!("--controller {text}").into());
            Node::argument(&at, text)
        };
        **list = Node { at: whole, value: Value::Array(candidates.iter().map(argument).collect()) };
        without_reasons(&mut document);
        let changed = Self::read(&self.name, &self.file, document, Unfit::LeftOut)?;
        Ok(changed.trial_of(self, candidates))
    }

    /// Reasons on record are of the file's own controllers. The note says what is left out.
    fn trial_of(mut self, file: &Self, candidates: &[String]) -> Self {
        let left_out = file.claims.len() - self.claims.len();
        let without = if left_out == 0 {
            String::new()
        } else {
            format!("; {left_out} claims name others and are left out")
        };
        self.note =
            format!("{} Candidates: {}{without}.", self.note, candidates.join(", ")).trim().to_owned();
        self
    }
}

/// Reasons on record are of the file's own controllers, and name them.
fn without_reasons(document: &mut Node) {
    let Value::Table(entries) = &mut document.value else { return };
    entries.retain(|e| e.key != "miss" && e.key != "bias");
    for claims in entries.iter_mut().filter(|e| e.key == "claim") {
        let Value::Array(claims) = &mut claims.node.value else { continue };
        for claim in claims {
            if let Value::Table(keys) = &mut claim.value {
                keys.retain(|e| e.key != "reason");
            }
        }
    }
}

/// Lists of controllers below a table of `[vary]`.
fn collect<'n>(node: &'n mut Node, above: &str, lists: &mut Vec<&'n mut Node>) {
    let Value::Table(entries) = &mut node.value else { return };
    for Entry { key, node, .. } in entries {
        let key = join(above, key);
        match node.value {
            Value::Array(_) if key.ends_with(".controller") => lists.push(node),
            _ => collect(node, &key, lists),
        }
    }
}
