//! The question as experiment files: the shipped ones of `conform/`, with the controller that is asked for.

use std::path::Path;

use experiment::backend::Backend;
use experiment::file::Experiment;
use experiment::library::Library;
use experiment::row::RowLabel;
use toml::{Table, Value};

use super::args::ConformArgs;
use crate::commands::worlds::backends;
use crate::status::Error;

/// Controllers of which there is a standard here, and where it stands.
const STANDARDS: [(&str, &str); 3] =
    [("cubic", "RFC 9438"), ("new-reno", "RFC 9002"), ("bbr3", "draft-ietf-ccwg-bbr")];

/// What is asked.
#[derive(Debug)]
pub(super) struct Question {
    /// Whose controller.
    pub(super) stack: String,
    /// The world of its rows.
    pub(super) on: Backend,
    /// What runs its rows.
    pub(super) backend: Backend,
    /// As the user wrote it, with a label if it has parameters.
    controller: Value,
    /// Its name, that of the standard.
    pub(super) name: String,
    quick: bool,
    repeat: Option<u32>,
}

impl Question {
    /// # Errors
    /// A controller of which there is no standard here, a stack that is not on this machine.
    pub(super) fn read(args: &ConformArgs) -> Result<Self, Error> {
        let found = backends(args.on, std::slice::from_ref(&args.stack));
        // There it is an option.
        let named = |error: Error| Error {
            message: error.message.strip_prefix("--stack ").unwrap_or(&error.message).to_owned(),
            ..error
        };
        let found = found.map_err(named)?;
        let backend = found.first().copied().unwrap_or(args.on);
        let controller = controller(args.controller.trim())?;
        let name = controller.get("name").unwrap_or(&controller).as_str().unwrap_or_default().to_owned();
        if STANDARDS.iter().all(|(known, _)| *known != name) {
            let known: Vec<&str> = STANDARDS.iter().map(|(known, _)| *known).collect();
            return Err(Error::bad(format!(
                "--controller {name}: it is one of {}, or a table with its name and parameters",
                known.join(", ")
            )));
        }
        let (stack, on) = (args.stack.clone(), args.on);
        Ok(Self { stack, on, backend, controller, name, quick: args.quick, repeat: args.repeat })
    }

    /// The document of the standard.
    pub(super) fn document(&self) -> &'static str {
        STANDARDS.iter().find(|(name, _)| *name == self.name).map_or("", |(_, document)| document)
    }

    /// What its controller is called in rows and sentences.
    fn label(&self) -> &str {
        self.controller.get("label").and_then(Value::as_str).unwrap_or(&self.name)
    }

    /// The row of the standard.
    pub(super) fn standard_row(&self) -> RowLabel {
        RowLabel::new(&self.name, Backend::Sim)
    }

    /// The row of the stack.
    pub(super) fn subject_row(&self) -> RowLabel {
        RowLabel::new(self.label(), self.backend)
    }

    /// The stack and its controller.
    pub(super) fn subject(&self) -> String {
        format!("{} of {}", self.label(), self.stack)
    }

    /// Whether one of ours can stand in the place of the stack's own.
    pub(super) fn takes_ours(&self) -> bool {
        matches!(self.backend, Backend::Noq | Backend::Quinn)
    }

    /// The standard in the simulator, and beside it the stack with its own controller.
    ///
    /// # Errors
    /// A parameter that the controller does not have.
    pub(super) fn grid(&self) -> Result<Experiment, Error> {
        self.beside(true, &[])
    }

    /// The same with our controller in the place of the stack's own, to tell that from the rest of the stack; on the networks of these variants.
    ///
    /// # Errors
    /// None of the shipped files.
    pub(super) fn inside(&self, variants: &[&str]) -> Result<Experiment, Error> {
        self.beside(false, variants)
    }

    fn beside(&self, own: bool, variants: &[&str]) -> Result<Experiment, Error> {
        let mut file = shipped("conform/grid")?;
        if let Some(vary) = file.get_mut("vary").and_then(Value::as_table_mut) {
            let plain = Value::from(self.name.clone());
            let mut controllers = vec![plain.clone()];
            if own && self.controller != plain {
                controllers.push(self.controller.clone());
            }
            vary.insert("flow.controller".to_owned(), controllers.into());
        }
        let flow = file.get_mut("flow").and_then(Value::as_array_mut).and_then(|flows| flows.first_mut());
        if let Some(flow) = flow.and_then(Value::as_table_mut) {
            flow.insert("own-controller".to_owned(), own.into());
        }
        let what = if own { "" } else { ", our controller inside" };
        file.insert(
            "title".to_owned(),
            format!("{} beside {}{what}", self.subject(), self.document()).into(),
        );
        let name = if own { "conform/grid" } else { "conform/inside" };
        self.parse(name, file, variants)
    }

    /// The standard in the simulator with one rule changed at a time, on the networks of these variants.
    ///
    /// # Errors
    /// None of the shipped files.
    pub(super) fn rules(&self, variants: &[&str]) -> Result<Experiment, Error> {
        let name = format!("conform/rules-{}", self.name);
        self.parse(&name, shipped(&name)?, variants)
    }

    /// `variants`: all of the file if empty.
    fn parse(&self, name: &str, mut file: Table, variants: &[&str]) -> Result<Experiment, Error> {
        if self.quick {
            file.insert("duration".to_owned(), "20 s".into());
            file.insert("repetitions".to_owned(), 2.into());
            if let Some(vary) = file.get_mut("vary").and_then(Value::as_table_mut) {
                vary.insert("link.rate".to_owned(), vec!["20 Mbit/s"].into());
                vary.insert("link.queue".to_owned(), vec!["1 BDP", "3 BDP"].into());
            }
        }
        if let Some(vary) =
            file.get_mut("vary").and_then(Value::as_table_mut).filter(|_| !variants.is_empty())
        {
            keep(vary, variants);
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

/// A name, or a table of which the row is called by what differs.
fn controller(text: &str) -> Result<Value, Error> {
    if !text.starts_with('{') {
        return Ok(text.into());
    }
    let table = format!("value = {text}").parse::<Table>();
    let mut table = table.map_err(|e| Error::bad(format!("--controller {text}: {}", e.message())))?;
    let mut value = table.remove("value").unwrap_or_else(|| text.into());
    if let Some(keys) = value.as_table_mut().filter(|keys| !keys.contains_key("label")) {
        let changed = keys.iter().filter(|(key, _)| *key != "name");
        let changed: Vec<String> = changed.map(|(key, value)| format!("{key} {value}")).collect();
        let name = keys.get("name").and_then(Value::as_str).unwrap_or_default();
        let label = format!("{name}, {}", changed.join(", "));
        keys.insert("label".to_owned(), label.into());
    }
    Ok(value)
}

/// Of the keys of the link the values that are in one of the variants: the smallest grid with all of them.
fn keep(vary: &mut Table, variants: &[&str]) {
    for key in ["rate", "delay", "queue"] {
        let values = vary.get_mut(&format!("link.{key}")).and_then(Value::as_array_mut);
        let Some(values) = values else { continue };
        let is_in = |value: &Value| {
            let part = format!("{key} = {}", value.as_str().unwrap_or_default());
            variants.iter().any(|variant| variant.split(", ").any(|own| own == part))
        };
        values.retain(is_in);
    }
}

/// A file of this program as a table.
fn shipped(name: &str) -> Result<Table, Error> {
    let source = Library.shipped().into_iter().find(|source| source.name == name);
    let text = source.map(|source| source.text).unwrap_or_default();
    text.parse().map_err(|e: toml::de::Error| Error::bad(format!("{name}: {}", e.message())))
}
