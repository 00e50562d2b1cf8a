//! `--controller`: candidates in the place of the controllers that a file tries.

use std::cell::Cell;

use crate::diagnostic::Diagnostic;
use crate::file::experiment::Experiment;
use crate::file::node::{At, Entry, Node, Value, join};
use crate::file::unknown_rows::UnknownRows;

impl Experiment {
    /// The same experiment with these controllers in the list of `[vary]` that names controllers, or in the axis whose values set one.
    /// A value is TOML, or else an algorithm's name. Claims, known deviations and charts that name controllers of the file are left out, and
    /// all reasons; what else a value of the axis sets was for its own controller.
    ///
    /// # Errors
    /// A file that varies no controller or several, and what the changed file would give.
    pub fn with_controllers(&self, candidates: &[String]) -> Result<Self, Diagnostic> {
        let mut document = (*self.document).clone();
        let whole = At::Set(format!("--controller {}", candidates.join(" --controller ")).into());
        let mut lists = Vec::new();
        if let Value::Table(entries) = &mut document.value {
            let vary = entries.iter_mut().filter(|e| e.key == "vary");
            vary.for_each(|e| collect(&mut e.node, "", &mut lists));
        }
        let [list] = &mut lists[..] else {
            let wrong = format!("{} varies {} lists of controllers", self.file, lists.len());
            let right = "a file for --controller has one in [vary], like \"flow.0.controller\" = [...] or an axis that sets it";
            return Err(whole.problem(&self.file, "", wrong, right));
        };
        let candidate = |text: &String| {
            let at = At::Set(format!("--controller {text}").into());
            list.value(&at, Node::argument(&at, text), text)
        };
        *list.node = Node { at: whole, value: Value::Array(candidates.iter().map(candidate).collect()) };
        without_reasons(&mut document);
        let changed = Self::read(&self.name, &self.file, document, UnknownRows::LeftOut, &Cell::new(0))?;
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

/// A list of `[vary]` whose values are controllers, or set one.
struct List<'n> {
    node: &'n mut Node,
    /// The key that each value of an axis sets.
    axis: Option<String>,
}

impl List<'_> {
    /// A value of the list: the controller, or what sets it under its name.
    fn value(&self, at: &At, controller: Node, text: &str) -> Node {
        let Some(key) = &self.axis else { return controller };
        let name = controller.get("label").or_else(|| controller.get("name")).and_then(Node::as_str);
        let label = Node::text(at.clone(), name.unwrap_or(text));
        let table = |entries: Vec<(&str, Node)>| {
            let entry = |(key, node): (&str, Node)| Entry { key: key.to_owned(), at: at.clone(), node };
            Node { at: at.clone(), value: Value::Table(entries.into_iter().map(entry).collect()) }
        };
        let set = table(vec![(key, controller)]);
        table(vec![("label", label), ("set", set)])
    }
}

/// Lists of controllers below a table of `[vary]`.
fn collect<'n>(node: &'n mut Node, above: &str, lists: &mut Vec<List<'n>>) {
    let Value::Table(entries) = &mut node.value else { return };
    for Entry { key, node, .. } in entries {
        let key = join(above, key);
        let axis = set_by_each(node);
        match node.value {
            Value::Array(_) if axis.is_some() || key.ends_with(".controller") => {
                lists.push(List { node, axis });
            }
            _ => collect(node, &key, lists),
        }
    }
}

/// The one controller that every value of an axis sets.
fn set_by_each(node: &Node) -> Option<String> {
    let Value::Array(values) = &node.value else { return None };
    let mut keys = values.iter().map(|value| {
        let mut keys = Vec::new();
        controllers(value.get("set")?, "", &mut keys);
        Some(keys)
    });
    let first = keys.next()??;
    let same = first.len() == 1 && keys.all(|keys| keys.as_ref() == Some(&first));
    same.then(|| first.concat())
}

/// Keys of controllers, with dots or as tables.
fn controllers(node: &Node, above: &str, keys: &mut Vec<String>) {
    let Value::Table(entries) = &node.value else { return };
    for Entry { key, node, .. } in entries {
        match join(above, key) {
            key if key.ends_with(".controller") => keys.push(key),
            key => controllers(node, &key, keys),
        }
    }
}
