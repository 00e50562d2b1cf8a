//! Turns the question into experiment files: the shipped ones of `conform/`, with the requested
//! controller.

use std::path::Path;

use congestion::Registry;
use experiment::file::Experiment;
use experiment::library::Library;
use experiment::place::Place;
use experiment::row::RowLabel;
use toml::{Table, Value};

use super::baseline::Baseline;
use super::log::Log;
use crate::Failure;

/// Controllers with a reference implementation here, and their specifications.
const STANDARDS: [(&str, &str); 3] =
    [("cubic", "RFC 9438"), ("new-reno", "RFC 9002"), ("bbr3", "draft-ietf-ccwg-bbr")];

/// Name of RFC 9002's controller, its name over TCP, and its specification there.
const OVER_TCP: (&str, &str, &str) = ("new-reno", "tcp-reno", "RFC 5681");
/// Payload of a segment of the kernel's TCP, and size of its headers with timestamps.
const SEGMENT: (&str, &str) = ("1448 bytes", "52 bytes");

/// Name of the kernel's TCP among the stacks.
pub const KERNEL: &str = "linux-tcp";

/// Field of the controller.
const CONTROLLER: &str = "controller";

/// The question as it was asked.
#[derive(Clone, Debug)]
pub struct Asked {
    /// Name of the stack.
    pub stack: String,
    /// Place that runs the stack.
    pub place: Place,
    /// Controller by name, or as a TOML table with parameters.
    pub controller: String,
    /// Whether the stack is also compared with the kernel's TCP.
    pub kernel: bool,
    /// Whether the grid is small.
    pub quick: bool,
    /// Number of repetitions; `None` for the grid's own.
    pub repeat: Option<u32>,
    /// Controllers that the question may name.
    pub registry: Registry,
}

/// Question whether a stack's own congestion control follows its specification.
#[derive(Debug)]
pub struct Question {
    /// Name of the stack.
    pub(super) stack: String,
    /// World that the stack runs in.
    pub(super) on: Place,
    /// Place of the stack's rows.
    pub(super) backend: Place,
    /// Controller as the user wrote it, with a label if it has parameters.
    controller: Value,
    /// Name of the controller, without parameters.
    pub(super) name: String,
    /// Whether the stack is also compared with the kernel's TCP.
    pub(super) kernel: bool,
    /// Verdicts of an earlier answer to compare with.
    pub baseline: Option<Baseline>,
    quick: bool,
    repeat: Option<u32>,
    registry: Registry,
    /// Log that is judged instead of a stack's runs.
    pub(super) log: Option<Log>,
}

impl Question {
    /// Reads the question.
    ///
    /// # Errors
    /// A controller without a reference here, or one that the stack cannot run.
    pub fn new(asked: &Asked) -> Result<Self, Failure> {
        let controller = controller(asked.controller.trim())?;
        let name = controller.get("name").unwrap_or(&controller).as_str().unwrap_or_default().to_owned();
        let Asked { stack, place: backend, kernel, quick, repeat, registry, .. } = asked.clone();
        refuse(asked, &controller, &name).map_or(Ok(()), Err)?;
        let on = backend.world();
        let baseline = None;
        Ok(Self {
            stack,
            on,
            backend,
            controller,
            name,
            kernel,
            baseline,
            quick,
            repeat,
            registry,
            log: None,
        })
    }

    /// Asks about the stack that wrote a log. `asked` has the controller, and no stack.
    ///
    /// # Errors
    /// A controller without a reference here.
    pub fn of_log(asked: &Asked, log: Log) -> Result<Self, Failure> {
        let named =
            log.controller.as_deref().and_then(|name| STANDARDS.iter().find(|(known, _)| *known == name));
        if let Some((name, _)) = named.filter(|(name, _)| !asked.controller.contains(name)) {
            let why = format!(" {}: the log names {name}; write --controller {name}", asked.controller);
            return Err(Failure::Field(CONTROLLER, why));
        }
        let asked = Asked { stack: log.stack.clone(), place: Place::LOG, ..asked.clone() };
        Ok(Self { log: Some(log), ..Self::new(&asked)? })
    }

    /// Returns the names of the folders of its page, one below the other.
    pub fn folder(&self) -> Vec<String> {
        let on = if self.on == Place::STACK { String::new() } else { format!("-on-{}", self.on.word()) };
        vec!["conform".to_owned(), format!("{}-{}{on}", self.stack, self.name)]
    }

    /// Reports whether the stack speaks TCP.
    fn is_tcp(&self) -> bool {
        self.stack == KERNEL || self.log.as_ref().is_some_and(|log| log.is_tcp)
    }

    /// Returns the name of the reference controller in experiment files.
    fn standard_name(&self) -> &str {
        let (quic, tcp, _) = OVER_TCP;
        if self.is_tcp() && self.name == quic { tcp } else { &self.name }
    }

    /// Returns the name of the specification.
    pub(super) fn document(&self) -> &'static str {
        let (quic, _, document) = OVER_TCP;
        if self.is_tcp() && self.name == quic {
            return document;
        }
        STANDARDS.iter().find(|(name, _)| *name == self.name).map_or("", |(_, document)| document)
    }

    /// Returns the label of the stack's controller.
    fn label(&self) -> &str {
        self.controller.get("label").and_then(Value::as_str).unwrap_or_else(|| self.standard_name())
    }

    /// Returns the row of the reference.
    pub(super) fn standard_row(&self) -> RowLabel {
        RowLabel::new(self.standard_name(), Place::SIM)
    }

    /// Returns the row of the kernel in [`kernel`](Self::kernel).
    pub(super) fn kernel_row(&self) -> RowLabel {
        let (quic, tcp, _) = OVER_TCP;
        RowLabel::new(if self.name == quic { tcp } else { &self.name }, Place::WIRE)
    }

    /// Returns the row of the stack.
    pub(super) fn subject_row(&self) -> RowLabel {
        RowLabel::new(self.label(), self.backend)
    }

    /// Names the controller and the stack, as in `cubic in quinn`.
    pub(super) fn subject(&self) -> String {
        format!("{} in {}", self.label(), self.stack)
    }

    /// Reports whether our controller can replace the stack's own.
    pub(super) fn takes_ours(&self) -> bool {
        matches!(self.backend, Place::NOQ | Place::QUINN)
    }

    /// Returns the grid: the reference in the simulator, and the stack with its own controller.
    ///
    /// # Errors
    /// A parameter that the controller does not have.
    pub(super) fn grid(&self) -> Result<Experiment, Failure> {
        self.on_grid(true, &[])
    }

    /// Returns the kernel's TCP on the same networks, and the reference over TCP.
    ///
    /// # Errors
    /// A mistake in a shipped file.
    pub(super) fn kernel(&self) -> Result<Experiment, Failure> {
        let mut file = shipped("conform/grid")?;
        vary_controllers(&mut file, vec![self.name.clone().into()]);
        over_tcp(&mut file);
        file.insert("title".to_owned(), format!("{} in {KERNEL}", self.kernel_row().in_file()).into());
        self.parse("conform/kernel", file, &[])
    }

    /// Returns the grid with our controller inside the stack, on the networks of these variants. It
    /// separates the effect of the controller from that of the rest of the stack.
    ///
    /// # Errors
    /// A mistake in a shipped file.
    pub(super) fn inside(&self, variants: &[&str]) -> Result<Experiment, Failure> {
        self.on_grid(false, variants)
    }

    fn on_grid(&self, own: bool, variants: &[&str]) -> Result<Experiment, Failure> {
        let mut file = shipped("conform/grid")?;
        let plain = Value::from(self.name.clone());
        let mut controllers = vec![plain.clone()];
        if own && self.controller != plain {
            controllers.push(self.controller.clone());
        }
        vary_controllers(&mut file, controllers);
        if let Some(flow) = flow(&mut file) {
            flow.insert("own-controller".to_owned(), own.into());
        }
        if self.is_tcp() {
            over_tcp(&mut file);
        }
        let subject = if own { self.subject() } else { format!("our {} inside {}", self.name, self.stack) };
        let title = format!("{subject} compared with {}", self.document());
        file.insert("title".to_owned(), title.into());
        let name = if own { "conform/grid" } else { "conform/inside" };
        self.parse(name, file, variants)
    }

    /// Returns the reference in the simulator with one rule changed at a time, on the networks of
    /// these variants.
    ///
    /// # Errors
    /// A mistake in a shipped file.
    pub(super) fn rules(&self, variants: &[&str]) -> Result<Experiment, Failure> {
        let name = format!("conform/rules-{}", self.name);
        let mut file = shipped(&name)?;
        if self.is_tcp() {
            over_tcp(&mut file);
        }
        self.parse(&name, file, variants)
    }

    /// Parses a file, with the networks of `variants` only, or with all of them if it is empty.
    fn parse(&self, name: &str, mut file: Table, variants: &[&str]) -> Result<Experiment, Failure> {
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
        if let Some(log) = &self.log {
            log.adapt(&mut file);
        }
        if let Some(repeat) = self.repeat {
            file.insert("repetitions".to_owned(), i64::from(repeat).into());
        }
        let text = toml::to_string(&file).map_err(|e| Failure::bad(e.to_string()))?;
        let read = Experiment::parse_with(&self.registry, name, Path::new("conform"), &text);
        let field = |key: &str| match key.strip_prefix("flow.0.controller") {
            Some(rest) => Some((CONTROLLER, rest.trim_start_matches('.').to_owned())),
            None => (key == "repetitions").then(|| ("repeat", String::new())),
        };
        read.map_err(|problems| Failure::fields(&problems, field))
    }
}

/// Returns the first contradiction in a question about the controller of this name.
fn refuse(asked: &Asked, controller: &Value, name: &str) -> Option<Failure> {
    let wrong = |why: String| Some(Failure::Field(CONTROLLER, why));
    if STANDARDS.iter().all(|(known, _)| *known != name) {
        let known: Vec<&str> = STANDARDS.iter().map(|(known, _)| *known).collect();
        let known = known.join(", ");
        return wrong(format!(
            " {name}: must be one of {known}, or a TOML table with one of these names and parameters"
        ));
    }
    let is_kernel = asked.stack == KERNEL;
    if is_kernel && asked.kernel {
        let why = ": linux-tcp already is the kernel's TCP; remove --kernel";
        return Some(Failure::Field("kernel", why.to_owned()));
    }
    if (is_kernel || asked.kernel) && name == "bbr3" {
        return wrong(
            " bbr3: the kernel has no BBRv3, and there is no reference for its BBR; use cubic or new-reno"
                .to_owned(),
        );
    }
    if is_kernel && controller.is_table() {
        return wrong(
            ": the kernel's controllers take no parameters; write only a name, like --controller cubic"
                .to_owned(),
        );
    }
    if asked.place.is_external() && controller.is_table() {
        let stack = &asked.stack;
        return wrong(format!(": {stack}'s own {name} takes no parameters; write --controller {name}"));
    }
    None
}

/// Parses a name, or a table with parameters. The label of a table lists its parameters.
fn controller(text: &str) -> Result<Value, Failure> {
    if !text.starts_with('{') {
        return Ok(text.into());
    }
    let table = format!("value = {text}").parse::<Table>();
    let mut table = table.map_err(|e| Failure::Field(CONTROLLER, format!(" {text}: {}", e.message())))?;
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

/// Replaces the controllers of the file.
fn vary_controllers(file: &mut Table, controllers: Vec<Value>) {
    if let Some(vary) = file.get_mut("vary").and_then(Value::as_table_mut) {
        vary.insert("flow.controller".to_owned(), controllers.into());
    }
}

/// Returns the only flow of the file.
fn flow(file: &mut Table) -> Option<&mut Table> {
    file.get_mut("flow")?.as_array_mut()?.first_mut()?.as_table_mut()
}

/// Changes the flow to TCP: its packets, and its names of controllers. The connection exists when a
/// run begins.
fn over_tcp(file: &mut Table) {
    let (mss, overhead) = SEGMENT;
    let packet: Table = [("mss", mss), ("overhead", overhead)]
        .map(|(key, size)| (key.to_owned(), size.into()))
        .into_iter()
        .collect();
    if let Some(flow) = flow(file) {
        flow.remove("own-controller");
        flow.remove("handshake");
        flow.insert("transport".to_owned(), "tcp".into());
        // The kernel's handshake is over when the run begins.
        flow.insert("handshake".to_owned(), false.into());
        flow.insert("packet".to_owned(), packet.into());
    }
    file.iter_mut().for_each(|(_, value)| rename(value));
}

/// Replaces the controller of RFC 9002 by that of TCP, everywhere in a value.
fn rename(value: &mut Value) {
    let (quic, tcp, _) = OVER_TCP;
    match value {
        Value::String(name) if name == quic => tcp.clone_into(name),
        Value::Array(all) => all.iter_mut().for_each(rename),
        Value::Table(table) => table.iter_mut().for_each(|(_, value)| rename(value)),
        _ => {}
    }
}

/// Keeps the values of the link's keys that occur in one of the variants: the smallest grid with
/// all of them.
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

/// Returns a shipped file as a table.
fn shipped(name: &str) -> Result<Table, Failure> {
    let source = Library.shipped().into_iter().find(|source| source.name == name);
    let text = source.map(|source| source.text).unwrap_or_default();
    text.parse().map_err(|e: toml::de::Error| Failure::bad(format!("{name}: {}", e.message())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn well<T>(result: Result<T, Failure>) -> T {
        result.map_err(|why| why.to_string()).unwrap()
    }

    fn question(stack: &str, place: Place, controller: &str, kernel: bool) -> Question {
        let (stack, controller) = (stack.to_owned(), controller.to_owned());
        well(Question::new(&Asked {
            stack,
            place,
            controller,
            kernel,
            quick: true,
            repeat: None,
            registry: Registry::default(),
        }))
    }

    /// With the kernel as the subject, grid and rules use TCP and the kernel's names.
    #[test]
    fn of_the_kernel() {
        for (controller, row, document) in
            [("cubic", "cubic", "RFC 9438"), ("new-reno", "tcp-reno", "RFC 5681")]
        {
            let question = question(KERNEL, Place::WIRE, controller, false);
            assert_eq!((question.standard_row().in_file(), question.document()), (row, document));
            assert_eq!(question.subject_row(), RowLabel::new(row, Place::WIRE));
            for file in [well(question.grid()), well(question.rules(&[]))] {
                for case in file.cases() {
                    let scenario = file.scenario(&case, 0);
                    let transport = &scenario.flows[0].transport;
                    assert_eq!(
                        (transport.payload(), transport.wire_bytes(1448)),
                        (1448, 1500),
                        "{}",
                        case.variant
                    );
                }
            }
        }
    }

    /// The kernel and a QUIC stack have the same networks under the same names.
    #[test]
    fn beside_a_stack() {
        let question = question("ackclock", Place::STACK, "new-reno", true);
        let (grid, kernel) = (well(question.grid()), well(question.kernel()));
        let names = |file: &Experiment| file.cases().into_iter().map(|case| case.variant).collect::<Vec<_>>();
        assert_eq!(names(&grid), names(&kernel));
        assert_eq!(question.kernel_row(), RowLabel::new("tcp-reno", Place::WIRE));
        assert_eq!(question.standard_row().in_file(), "new-reno");
    }
}
