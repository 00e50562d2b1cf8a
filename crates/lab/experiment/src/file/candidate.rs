//! `--controller`: replaces the controllers that a file compares by candidates.

use std::cell::Cell;

use congestion::Registry;

use crate::diagnostic::Diagnostic;
use crate::file::experiment::Experiment;
use crate::file::judgement::UnknownRows;
use crate::file::node::{Entry, Node, Origin, Value, join};
use crate::file::vary::controller_label;

impl Experiment {
    /// Returns the experiment with these controllers in the list of `[vary]` that names
    /// controllers, or in the axis whose values set one.
    ///
    /// A candidate is TOML, or otherwise the name of an algorithm. Claims, known deviations and
    /// charts that name controllers of the file are dropped, and so are all reasons. Other keys set
    /// by a value of the axis are dropped too, because they were chosen for the original
    /// controller.
    ///
    /// # Errors Fails for a file that varies no list of controllers or several, and for mistakes in
    /// the changed file.
    pub fn with_controllers(&self, candidates: &[String]) -> Result<Self, Diagnostic> {
        let mut document = (*self.document).clone();
        let whole = Origin::Argument(format!("--controller {}", candidates.join(" --controller ")).into());
        let mut lists = Vec::new();
        if let Value::Table(entries) = &mut document.value {
            let vary = entries.iter_mut().filter(|e| e.key == "vary");
            vary.for_each(|e| collect(&mut e.node, "", &mut lists));
        }
        let [list] = &mut lists[..] else {
            let (name, only) = (&self.name, "use --set with the full key, like --set flow.0.controller=bbr3");
            let (wrong, right) = match (lists.len(), candidates) {
                (0, [one]) => {
                    let wrong = format!("{name} does not vary its controllers");
                    (wrong, format!("use --set flow.controller={one}"))
                }
                (0, _) => (format!("{name} does not vary its controllers"), only.to_owned()),
                (n, _) => (format!("{name} has {n} lists of controllers in [vary]"), only.to_owned()),
            };
            return Err(whole.problem(&self.file, "", wrong, right));
        };
        if let Some(broken) = candidates.iter().find(|text| is_broken_table(text)) {
            let at = Origin::Argument(format!("--controller {broken}").into());
            let right = "write it like '{ name = \"cubic\", beta = 0.8 }'";
            return Err(at.problem(&self.file, "", "invalid TOML table", right));
        }
        let twice = |&(i, text): &(usize, &String)| candidates[..i].contains(text);
        if let Some((_, twice)) = candidates.iter().enumerate().find(twice) {
            let at = Origin::Argument(format!("--controller {twice}").into());
            let right = "remove one, or label it like '{ name = \"cubic\", label = \"CUBIC 2\" }'";
            return Err(at.problem(&self.file, "", format!("`{twice}` is given twice"), right));
        }
        let (_, controllers) = self.place();
        let candidate = |text: &String| {
            let at = Origin::Argument(format!("--controller {text}").into());
            list.value(&at, Node::argument(&at, text), controllers)
        };
        *list.node = Node { at: whole, value: Value::Array(candidates.iter().map(candidate).collect()) };
        without_reasons(&mut document);
        let changed = Self::read(&self.name, self.place(), document, UnknownRows::LeftOut, &Cell::new(0))?;
        Ok(changed.trial_of(self, candidates))
    }

    /// Drops reasons, which describe the file's own controllers. The note lists what is dropped.
    fn trial_of(mut self, file: &Self, candidates: &[String]) -> Self {
        let left_out = file.claims.len() - self.claims.len();
        let without = match left_out {
            0 => String::new(),
            1 => "; 1 claim that names other controllers is left out".to_owned(),
            _ => format!("; {left_out} claims that name other controllers are left out"),
        };
        self.note =
            format!("{} Candidates: {}{without}.", self.note, candidates.join(", ")).trim().to_owned();
        self
    }
}

/// Reports whether a text begins like a table but is not one.
fn is_broken_table(text: &str) -> bool {
    text.trim_start().starts_with('{') && format!("value = {text}").parse::<toml::Table>().is_err()
}

/// Removes all reasons, which describe the file's own controllers.
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

/// A list of `[vary]` whose values are controllers, or that set one.
struct List<'n> {
    node: &'n mut Node,
    /// The key that each value of an axis sets; `None` for a list of controllers.
    axis: Option<String>,
}

impl List<'_> {
    /// Creates a value of the list: the controller, or a labelled value that sets it.
    fn value(&self, at: &Origin, controller: Node, controllers: &Registry) -> Node {
        let Some(key) = &self.axis else { return controller };
        let label = Node::text(at.clone(), &controller_label(controllers, &controller));
        let table = |entries: Vec<(&str, Node)>| {
            let entry = |(key, node): (&str, Node)| Entry { key: key.to_owned(), at: at.clone(), node };
            Node { at: at.clone(), value: Value::Table(entries.into_iter().map(entry).collect()) }
        };
        let set = table(vec![(key, controller)]);
        table(vec![("label", label), ("set", set)])
    }
}

/// Collects the lists of controllers below a table of `[vary]`.
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

/// Returns the key of the one controller that every value of an axis sets.
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

/// Collects keys of controllers, written with dots or as tables.
fn controllers(node: &Node, above: &str, keys: &mut Vec<String>) {
    let Value::Table(entries) = &node.value else { return };
    for Entry { key, node, .. } in entries {
        match join(above, key) {
            key if key.ends_with(".controller") => keys.push(key),
            key => controllers(node, &key, keys),
        }
    }
}
