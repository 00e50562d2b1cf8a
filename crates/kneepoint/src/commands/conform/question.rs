//! The question as experiment files: the shipped ones of `conform/`, with the controller that is asked for.

use std::path::Path;

use experiment::backend::Backend;
use experiment::file::Experiment;
use experiment::library::Library;
use stack::Stack;
use toml::{Table, Value};

use super::args::ConformArgs;
use crate::run;
use crate::status::Error;

/// The row of the standard among those of the rules.
pub(super) const STANDARD: &str = "as the standard";

/// What is asked.
pub(super) struct Question {
    pub(super) stack: Stack,
    /// As the user wrote it.
    controller: Value,
    /// Its name, that of the standard.
    pub(super) name: String,
    quick: bool,
    repeat: Option<u32>,
}

impl Question {
    /// # Errors
    /// A controller of which there is no standard here.
    pub(super) fn read(args: &ConformArgs) -> Result<Self, Error> {
        let text = args.controller.trim();
        let value: Value = match text.starts_with('{') {
            true => {
                let table = format!("value = {text}").parse::<Table>();
                let table = table.map_err(|e| Error::bad(format!("--controller {text}: {}", e.message())))?;
                table.get("value").cloned().unwrap_or_else(|| text.into())
            }
            false => text.into(),
        };
        let name = value.get("name").or(Some(&value)).and_then(Value::as_str).unwrap_or_default().to_owned();
        let known = ["cubic", "new-reno", "bbr3"];
        if !known.contains(&name.as_str()) {
            let why = format!("--controller {name}: conformance is known of {}", known.join(", "));
            return Err(Error::bad(why));
        }
        Ok(Self { stack: args.stack, controller: value, name, quick: args.quick, repeat: args.repeat })
    }

    /// What runs the stack's rows.
    pub(super) fn backend(&self) -> Backend {
        run::of_stack(self.stack)
    }

    /// What its flows go through: the stack's own controller, or, to tell it from the rest of the stack, ours inside of it.
    ///
    /// # Errors
    /// A parameter that the controller does not have.
    pub(super) fn grid(&self, own: bool) -> Result<Experiment, Error> {
        let mut file = shipped("conform/grid")?;
        if let Some(vary) = file.get_mut("vary").and_then(Value::as_table_mut) {
            let controller = if own { self.controller.clone() } else { self.name.clone().into() };
            vary.insert("flow.controller".to_owned(), vec![controller].into());
        }
        let flow = file.get_mut("flow").and_then(Value::as_array_mut).and_then(|flows| flows.first_mut());
        if let Some(flow) = flow.and_then(Value::as_table_mut) {
            flow.insert("own-controller".to_owned(), own.into());
        }
        let name = if own { "conform/grid" } else { "conform/inside" };
        self.parse(name, file)
    }

    /// The standard in the simulator, and it with one rule changed.
    ///
    /// # Errors
    /// None of the shipped files.
    pub(super) fn rules(&self) -> Result<Experiment, Error> {
        let name = format!("conform/rules-{}", self.name);
        let mut file = shipped(&name)?;
        let rules = file.get_mut("vary").and_then(|vary| vary.get_mut("rule")).and_then(Value::as_array_mut);
        if let Some(rules) = rules {
            let set = Table::from_iter([("flow.controller".to_owned(), self.name.clone().into())]);
            let standard = [("label".to_owned(), STANDARD.into()), ("set".to_owned(), set.into())];
            rules.insert(0, Table::from_iter(standard).into());
        }
        self.parse(&name, file)
    }

    fn parse(&self, name: &str, mut file: Table) -> Result<Experiment, Error> {
        if self.quick {
            file.insert("duration".to_owned(), "20 s".into());
            file.insert("repetitions".to_owned(), 2.into());
            if let Some(vary) = file.get_mut("vary").and_then(Value::as_table_mut) {
                vary.insert("link.rate".to_owned(), vec!["20 Mbit/s"].into());
                vary.insert("link.queue".to_owned(), vec!["1 BDP", "3 BDP"].into());
            }
        }
        if let Some(repeat) = self.repeat {
            file.insert("repetitions".to_owned(), i64::from(repeat).into());
        }
        let text = toml::to_string(&file).map_err(Error::bad)?;
        let read = Experiment::parse(name, Path::new("conform"), &text);
        // The lines are ours, the user wrote none.
        read.map_err(|problems| problems.without_lines().into())
    }
}

/// A file of this program as a table.
fn shipped(name: &str) -> Result<Table, Error> {
    let source = Library.shipped().into_iter().find(|source| source.name == name);
    let text = source.map(|source| source.text).unwrap_or_default();
    text.parse().map_err(|e: toml::de::Error| Error::bad(format!("{name}: {}", e.message())))
}
