//! Turns the question into experiment files.

use std::path::Path as FilePath;

use congestion::Registry;
use experiment::controllers::{find, unknown};
use experiment::file::{Experiment, Words};
use experiment::library::{Library, NOT_FOUND};
use experiment::place::Place;
use experiment::row::RowLabel;
use toml::{Table, Value};
use units::{Duration, Rate, Time};

use super::backends::Backends;
use super::closed_form;
use super::network::Network;
use super::varied::Varied;
use crate::Failure;

/// Label of the controller in question where it shares the link with a competitor.
pub(super) const CANDIDATE: &str = "candidate";
/// Label of the competitor.
pub(super) const COMPETITOR: &str = "competitor";
/// Field of the link.
const LINK: &str = "link";
/// Sizes of the short transfers.
pub const TRANSFERS: [&str; 3] = ["10 kB", "100 kB", "1 MB"];

/// The three kinds of runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// One bulk flow alone, measured after its start-up.
    Long,
    /// A bulk flow that shares the link with the competitor.
    Beside,
    /// Short transfers, handshake included.
    StartUp,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Long => "compare/long-flows",
            Self::Beside => "compare/beside",
            Self::StartUp => "compare/start-up",
        }
    }

    fn title(self) -> &'static str {
        match self {
            Self::Long => "long flows alone",
            Self::Beside => "against a competitor",
            Self::StartUp => "short transfers",
        }
    }
}

/// A controller as written in the experiment file, and its label in tables.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Named {
    pub(super) label: String,
    pub(super) algorithm: String,
    value: Value,
}

/// The question as it was asked.
#[derive(Clone, Debug)]
pub struct Asked {
    /// Two or more controllers, by name or as TOML tables with parameters.
    pub controllers: Vec<String>,
    /// The bottleneck in words, like `rate=20 Mbit/s rtt=40 ms queue=1 BDP`, or an experiment.
    pub link: String,
    /// Keys of the flows in words, like `transport=tcp`.
    pub flow: Option<String>,
    /// A key of the link and its values, like `queue=0.1..8 BDP`.
    pub vary: Option<String>,
    /// The competitor; `None` for the first controller.
    pub against: Option<String>,
    /// Duration of the long flows; `None` for five cycles of CUBIC.
    pub time: Option<Duration>,
    /// Number of repetitions; `None` for as many as the spread between runs needs.
    pub repeat: Option<u32>,
    /// Stacks that run the flows in virtual time; none for the simulator.
    pub stacks: Vec<Place>,
    /// Controllers that the question may name.
    pub registry: Registry,
}

/// Question which of several controllers is best on a link.
#[derive(Debug)]
pub struct Question {
    pub(super) controllers: Vec<Named>,
    pub(super) against: Named,
    pub(super) vary: Option<Varied>,
    /// Backends that the flows run on.
    pub(super) place: Backends,
    /// The link as the user wrote it.
    pub(super) link: String,
    /// The network of the runs; in a sweep, that of the first value.
    pub(super) network: Network,
    /// Start of the measurement.
    pub(super) from: Duration,
    /// End of the runs.
    pub(super) to: Duration,
    /// Number of repetitions, if it is given.
    pub(super) repeat: Option<u32>,
    registry: Registry,
    /// Tables of the network in the experiment files.
    tables: Table,
    /// Table of a flow in the experiment files.
    flow: Table,
}

impl Question {
    /// Reads the question.
    ///
    /// # Errors
    /// A mistake in one of its fields.
    pub fn new(args: &Asked) -> Result<Self, Failure> {
        if args.controllers.len() < 2 {
            return Err(Failure::bad("one controller cannot be compared; name two or more"));
        }
        let place = Backends::new(args.stacks.clone());
        let controllers = Named::read_all(&args.registry, &args.controllers)?;
        if let Some(twice) = (1..controllers.len())
            .find(|i| controllers[..*i].iter().any(|c| c.label == controllers[*i].label))
        {
            let label = &controllers[twice].label;
            return Err(Failure::bad(format!(
                "`{label}` is given twice; label one of them: '{{ name = \"...\", label = \"...\" }}'"
            )));
        }
        let against = args
            .against
            .as_deref()
            .map(|text| Named::read(&args.registry, text))
            .transpose()
            .map_err(Failure::Bad)?;
        let (mut tables, mut flow) = tables(&args.registry, &args.link)?;
        if let Some(words) = &args.flow {
            flow.extend(table(
                &Words::split(words).map_err(|e| Failure::bad(e.to_string().replacen("link", "flow", 1)))?,
            )?);
        }
        let vary = args.vary.as_deref().map(Varied::read).transpose()?;
        let mut link = args.link.clone();
        let varies_queue = vary.as_ref().is_some_and(|vary| vary.key == "queue");
        if let Some(Value::Table(words)) =
            tables.get_mut("link").filter(|_| link.contains('=') && !varies_queue)
            && !words.contains_key("queue")
        {
            let queue = default_queue(words);
            link.push_str(&format!(" queue={queue} (default)"));
            words.insert("queue".to_owned(), queue.into());
        }
        let mut question = Self {
            against: against.unwrap_or_else(|| controllers[0].clone()),
            controllers,
            vary,
            place,
            link,
            network: Network::default(),
            from: Duration::ZERO,
            to: args.time.unwrap_or(Duration::from_secs(1)),
            repeat: args.repeat,
            registry: args.registry.clone(),
            tables,
            flow,
        };
        question.examine_link(args.time)?;
        Ok(question)
    }

    /// Names the network within a sentence.
    pub(super) fn network(&self) -> String {
        let article = if self.link.contains('=') { "a link with " } else { "" };
        format!("{article}{}", self.link)
    }

    /// Returns the row of two competitors that share the link; `None` if a different controller has
    /// the competitor's label.
    pub(super) fn own_row(&self, on: Place) -> Option<RowLabel> {
        let another = self.controllers.iter().any(|c| c.label == self.against.label && *c != self.against);
        (!another).then(|| RowLabel::new(&self.against.label, on))
    }

    /// Returns everything that is compared: every controller on every backend.
    pub(super) fn contestants(&self) -> Vec<(&Named, Place)> {
        let places = self.place.backends();
        self.controllers.iter().flat_map(|named| places.iter().map(move |on| (named, *on))).collect()
    }

    /// Returns the controllers that share the link with the competitor: all of them, and the
    /// competitor itself as the reference.
    fn candidates(&self) -> Vec<&Named> {
        let known = self.controllers.iter().any(|c| c.label == self.against.label);
        self.controllers.iter().chain((!known).then_some(&self.against)).collect()
    }

    /// Computes the numbers of the link, and how long the runs must be.
    fn examine_link(&mut self, time: Option<Duration>) -> Result<(), Failure> {
        let experiment = self.experiment(Kind::Long, 1)?;
        let cases = experiment.cases();
        let networks: Vec<Network> =
            cases.iter().map(|case| Network::new(&experiment.scenario(case, 0))).collect();
        let cycles = networks.iter().map(|network| closed_form::cubic_cycle(&network.path));
        let cycle = cycles.fold(0.0, f64::max);
        let start = (100.0 * networks[0].path.rtt).max(cycle).max(5.0).ceil();
        let long = start + (5.0 * cycle).clamp(30.0, 300.0).ceil();
        self.to = time.unwrap_or(Duration::from_secs(long as u64));
        self.from = Duration::from_secs(start as u64).min(self.to / 3);
        let window = [self.from, self.to].map(|time| Time::ZERO + time);
        self.network = networks[0].clone().measured(&experiment.scenario(&cases[0], 0), window);
        Ok(())
    }

    /// Builds and parses the file for one kind of runs. This finds every mistake in the text of the
    /// command line.
    pub(super) fn experiment(&self, kind: Kind, seeds: u32) -> Result<Experiment, Failure> {
        let text = toml::to_string(&self.document(kind, seeds)).map_err(|e| Failure::bad(e.to_string()))?;
        let read = Experiment::parse_with(&self.registry, kind.name(), FilePath::new("compare"), &text);
        read.map_err(|problems| Failure::fields(&problems, |key| self.field(key)))
    }

    /// Returns the field that a key of the file comes from, and the rest of the key.
    fn field(&self, key: &str) -> Option<(&'static str, String)> {
        let mut parts = key.split('.').filter(|part| part.parse::<usize>().is_err());
        let (table, rest) = (parts.next()?, parts.collect::<Vec<_>>().join("."));
        let varied = self.vary.as_ref().is_some_and(|varied| varied.key == rest);
        match table {
            "link" if varied => Some(("vary", rest)),
            "link" if self.link.contains('=') => Some(("link", rest)),
            "flow" if rest.starts_with("controller") => Some(("compare", rest)),
            // A flow that is wrong as a whole has no RTT, which is the link's to give.
            "flow" if rest.is_empty() && self.link.contains('=') => Some(("link", rest)),
            "flow" => Some(("flow", rest)),
            "duration" | "measure" => Some(("time", rest)),
            "repetitions" => Some(("repeat", rest)),
            _ => None,
        }
    }

    fn document(&self, kind: Kind, seeds: u32) -> Table {
        let mut file = self.tables.clone();
        let mut put = |key: &str, value: Value| file.insert(key.to_owned(), value);
        put("title", format!("{}: {}", self.title(), kind.title()).into());
        put("source", "ackclock compare".into());
        put("repetitions", i64::from(seeds).into());
        put("series", "100 ms".into());
        let mut vary = Table::new();
        if let Some(varied) = &self.vary {
            vary.insert(format!("link.{}", varied.key), varied.values.clone().into());
        }
        let (rows, controllers) = match kind {
            Kind::Beside => ("flow.0.controller", self.candidates()),
            Kind::Long | Kind::StartUp => ("flow.controller", self.controllers.iter().collect()),
        };
        let controllers = controllers.iter().map(|c| c.value.clone());
        vary.insert(rows.to_owned(), Value::Array(controllers.collect()));
        let metrics: &[&str] = match kind {
            Kind::Long => &[
                "goodput",
                "utilization @ measure",
                "rtt_mean",
                "rtt_p95",
                "loss",
                "reductions @ measure",
                "queue_wait",
            ],
            Kind::Beside => &[
                "share of candidate",
                "goodput of candidate",
                "goodput of competitor",
                "goodput",
                "rtt_mean",
                "loss",
                "utilization @ measure",
            ],
            Kind::StartUp => &["completion", "rtt_max"],
        };
        let mut table = Table::new();
        table.insert("rows".to_owned(), rows.into());
        table.insert("metrics".to_owned(), metrics.to_vec().into());
        put("table", table.into());
        if kind == Kind::StartUp {
            vary.insert("flow.transfer".to_owned(), TRANSFERS.to_vec().into());
            put("duration", "300 s".into());
        } else {
            put("duration", self.to.to_string().into());
            put("measure", Table::from_iter([("from".to_owned(), self.from.to_string().into())]).into());
        }
        put("flow", self.flows(kind).into());
        put("vary", vary.into());
        put("chart", self.charts(kind).into());
        file
    }

    fn flows(&self, kind: Kind) -> Vec<Table> {
        let mut flow = self.flow.clone();
        // Real flows never start at the same nanosecond, nor in phase with the queue.
        flow.entry("start-jitter").or_insert("100 ms".into());
        match kind {
            Kind::Long => vec![flow],
            Kind::StartUp => {
                flow.entry("handshake").or_insert(true.into());
                vec![flow]
            }
            Kind::Beside => {
                let mut rival = flow.clone();
                flow.insert("label".to_owned(), CANDIDATE.into());
                rival.insert("label".to_owned(), COMPETITOR.into());
                rival.insert("controller".to_owned(), self.against.value.clone());
                vec![flow, rival]
            }
        }
    }

    /// Returns the charts: in a sweep, lines over the varied key; otherwise the window over time,
    /// and bars.
    fn charts(&self, kind: Kind) -> Vec<Table> {
        let on = |what: &str| format!("{what} on {}", self.link);
        let against = |what: &str| format!("{what} against {}", self.against.label);
        let drawn = match kind {
            Kind::Long => [("Goodput", "goodput"), ("Mean RTT", "rtt_mean"), ("Loss", "loss")]
                .map(|(what, metric)| (on(what), metric))
                .to_vec(),
            Kind::Beside => [
                ("Share of the total goodput", "share of candidate"),
                ("Goodput of the competitor", "goodput of competitor"),
            ]
            .map(|(what, metric)| (against(what), metric))
            .to_vec(),
            Kind::StartUp => vec![("Completion of short transfers".to_owned(), "completion")],
        };
        let chart = |mark: &str, title: String, x: &str, y: Value| {
            let keys = [("mark", mark.into()), ("title", title.into()), ("x", x.into()), ("y", y)];
            keys.into_iter().map(|(key, value)| (key.to_owned(), value)).collect::<Table>()
        };
        match &self.vary {
            Some(varied) => {
                let x = format!("link.{}", varied.key);
                let line = |(title, metric): (String, &str)| chart("line", title, &x, metric.into());
                drawn.into_iter().map(line).collect()
            }
            None if kind == Kind::Long => {
                let columns = vec!["cwnd_bytes", "latest_rtt_ms", "goodput_mbit_s"];
                vec![chart("line", format!("Over time on {}", self.link), "time", columns.into())]
            }
            None => {
                let bars = |(title, metric): (String, &str)| chart("bar", title, "variant", metric.into());
                drawn.into_iter().map(bars).collect()
            }
        }
    }

    /// Returns the title, as in `cubic, bbr3 on rate=...`.
    pub(super) fn title(&self) -> String {
        let labels: Vec<&str> = self.controllers.iter().map(|c| c.label.as_str()).collect();
        format!("{} on {}", labels.join(", "), self.link)
    }
}

impl Named {
    /// Returns the algorithm whose formulas apply: `None` if a parameter differs from its default.
    pub(super) fn formula_name(&self) -> Option<&str> {
        let own = |key: &String| !matches!(key.as_str(), "name" | "label");
        let changed = self.value.as_table().is_some_and(|table| table.keys().any(own));
        (!changed).then_some(self.algorithm.as_str())
    }

    /// Parses all controllers, and collects all mistakes.
    fn read_all(registry: &Registry, texts: &[String]) -> Result<Vec<Self>, Failure> {
        let (mut all, mut wrong) = (Vec::new(), Vec::new());
        for text in texts {
            match Self::read(registry, text) {
                Ok(named) => all.push(named),
                Err(message) => wrong.push(message),
            }
        }
        if wrong.is_empty() { Ok(all) } else { Err(Failure::bad(wrong.join("\n"))) }
    }

    fn read(registry: &Registry, text: &str) -> Result<Self, String> {
        let text = text.trim();
        let mut value: Value = match text.starts_with('{') {
            true => {
                let wrong = |_| {
                    format!(
                        "`{text}` is not valid TOML; write a controller like cubic or '{{ name = \"cubic\", beta = 0.8 }}'"
                    )
                };
                format!("value = {text}")
                    .parse::<Table>()
                    .map_err(wrong)?
                    .remove("value")
                    .unwrap_or("".into())
            }
            false => text.into(),
        };
        let name = value.get("name").or(Some(&value)).and_then(Value::as_str).unwrap_or_default();
        let entry = find(registry, name).ok_or_else(|| unknown_controller(registry, name))?;
        // A short name such as `bbr` becomes the full one, so that rows and screen agree.
        match &mut value {
            Value::Table(table) => drop(table.insert("name".to_owned(), entry.name.into())),
            name => *name = entry.name.into(),
        }
        let label = value.get("label").and_then(Value::as_str).unwrap_or(entry.name).to_owned();
        Ok(Self { label, algorithm: entry.name.to_owned(), value })
    }
}

/// Returns the message for a name that stands for no controller, or for one with parameters in the
/// syntax of `--link`.
fn unknown_controller(registry: &Registry, name: &str) -> String {
    let mut words = name.splitn(2, ' ');
    match (words.next().and_then(|name| find(registry, name)), words.next().map(str::trim)) {
        (Some(entry), Some(words)) if words.contains('=') => {
            let words = words.replacen('=', " = ", 1);
            format!("`{name}`: for parameters write '{{ name = \"{}\", {words} }}'", entry.name)
        }
        _ => unknown(registry, name),
    }
}

/// Returns the queue of a link in words without one. Without a limit, a queue of minutes would
/// decide the answer. A BDP of a few packets is no queue that anybody builds.
fn default_queue(words: &Table) -> &'static str {
    const LEAST: f64 = 10.0 * 1500.0;
    let text = |key: &str| words.get(key).and_then(Value::as_str);
    let rate = text("rate").and_then(|rate| rate.parse::<Rate>().ok());
    let duration = |key| text(key).and_then(|delay| delay.parse::<Duration>().ok());
    let rtt = duration("rtt").or_else(|| Some(duration("delay")? * 2));
    let bdp = rate.zip(rtt).map(|(rate, rtt)| rate.bytes_per_sec() * rtt.as_secs_f64());
    if bdp.is_some_and(|bdp| bdp < LEAST) { "10 packets" } else { "1 BDP" }
}

/// Returns the tables of the network, and the keys of the first flow if the network is that of a
/// file.
fn tables(registry: &Registry, text: &str) -> Result<(Table, Table), Failure> {
    if text.contains('=') {
        let words = Words::split(text).map_err(|e| Failure::bad(e.to_string()))?;
        return Ok((Table::from_iter([("link".to_owned(), table(&words)?.into())]), Table::new()));
    }
    let source = Library.resolve(&[text.to_owned()]).map_err(|mut problem| match problem.wrong == NOT_FOUND {
        true => {
            let question = problem.right.split_inclusive("? ").next().filter(|part| part.ends_with("? "));
            Failure::Field(LINK, format!(
                " \"{text}\": not a link or an experiment; {}write a link like \"rate=20 Mbit/s rtt=40 ms queue=1 BDP\"",
                question.unwrap_or_default()
            ))
        }
        false => {
            problem.file = format!("{LINK} {}", problem.file);
            Failure::Fields(vec![problem])
        }
    })?;
    let source =
        source.into_iter().next().ok_or_else(|| Failure::Field(LINK, format!(" {text}: no experiment")))?;
    let experiment = Experiment::parse_with(registry, &source.name, &source.file, &source.text)?;
    let case = experiment.cases().swap_remove(0);
    let mut file = experiment.resolved(&case, 1).map_err(|e| Failure::bad(e.to_string()))?;
    let mut flow = match file.remove("flow") {
        Some(Value::Array(flows)) => flows.into_iter().next().and_then(|flow| flow.try_into::<Table>().ok()),
        _ => None,
    }
    .unwrap_or_default();
    for key in
        ["label", "controller", "count", "start", "stagger", "stop", "lasts", "transfer", "application"]
    {
        flow.remove(key);
    }
    file.retain(|key: &str, _| ["link", "reverse", "udp", "probe"].contains(&key));
    Ok((file, flow))
}

fn table(words: &Words<'_>) -> Result<Table, Failure> {
    words
        .toml()
        .parse()
        .map_err(|e: toml::de::Error| Failure::bad(format!("{}: {}", words.name(), e.message())))
}
