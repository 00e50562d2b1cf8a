//! The question as experiment files.

use std::path::Path as FilePath;

use experiment::backend::Backend;
use experiment::controllers::{find, unknown};
use experiment::file::{Experiment, Words};
use experiment::library::Library;
use experiment::row::RowLabel;
use toml::{Table, Value};
use units::Duration;

use super::args::CompareArgs;
use super::closed_form;
use super::network::Network;
use super::place::Place;
use super::varied::Varied;
use crate::status::Error;

/// The label of the flow in question beside a competitor, and of the competitor.
pub(super) const CANDIDATE: &str = "candidate";
pub(super) const COMPETITOR: &str = "competitor";
/// What the short transfers carry.
pub(super) const TRANSFERS: [&str; 3] = ["10 kB", "100 kB", "1 MB"];

/// What runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// One flow without end, its start-up not counted.
    Long,
    /// The same beside the competitor.
    Beside,
    /// Short transfers, their handshake with them.
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
            Self::Beside => "beside a competitor",
            Self::StartUp => "short transfers",
        }
    }
}

/// A controller as the file has it, and what tables call it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Named {
    pub(super) label: String,
    pub(super) algorithm: String,
    value: Value,
}

/// The question, read.
#[derive(Debug)]
pub(super) struct Question {
    pub(super) controllers: Vec<Named>,
    pub(super) against: Named,
    pub(super) vary: Option<Varied>,
    /// Where its flows run.
    pub(super) place: Place,
    /// The link as the user has written it.
    pub(super) link: String,
    /// What the runs' network is; where something varies, that of its first value.
    pub(super) network: Network,
    /// Until when nothing counts, and the end.
    pub(super) from: Duration,
    pub(super) to: Duration,
    /// The tables of the network and of a flow, as the files of the runs have them.
    tables: Table,
    flow: Table,
}

impl Question {
    pub(super) fn read(args: &CompareArgs) -> Result<Self, Error> {
        if args.controllers.len() < 2 {
            return Err(Error::bad("one controller alone cannot be compared; name two or more"));
        }
        let place = Place::read(args)?;
        let controllers = Named::read_all(&args.controllers)?;
        if let Some(twice) = (1..controllers.len())
            .find(|i| controllers[..*i].iter().any(|c| c.label == controllers[*i].label))
        {
            let label = &controllers[twice].label;
            return Err(Error::bad(format!(
                "`{label}` twice; give one a label: '{{ name = \"...\", label = \"...\" }}'"
            )));
        }
        let against = args.against.as_deref().map(Named::read).transpose()?;
        let (tables, mut flow) = tables(&args.link)?;
        if let Some(words) = &args.flow {
            flow.extend(table(
                &Words::split(words).map_err(|e| Error::bad(e.to_string().replacen("link", "flow", 1)))?,
            )?);
        }
        let vary = args.vary.as_deref().map(Varied::read).transpose()?;
        let mut question = Self {
            against: against.unwrap_or_else(|| controllers[0].clone()),
            controllers,
            vary,
            place,
            link: args.link.clone(),
            network: Network::default(),
            from: Duration::ZERO,
            to: args.time.unwrap_or(Duration::from_secs(1)),
            tables,
            flow,
        };
        question.look_at_the_link(args.time)?;
        Ok(question)
    }

    /// The row of the competitor beside its own kind there; none where another of the controllers has its label.
    pub(super) fn own_row(&self, on: Backend) -> Option<RowLabel> {
        let another = self.controllers.iter().any(|c| c.label == self.against.label && *c != self.against);
        (!another).then(|| RowLabel::new(&self.against.label, on))
    }

    /// What is compared: every controller in every place.
    pub(super) fn contestants(&self) -> Vec<(&Named, Backend)> {
        let places = self.place.backends();
        self.controllers.iter().flat_map(|named| places.iter().map(move |on| (named, *on))).collect()
    }

    /// What runs beside the competitor: every controller, and the competitor itself, which says what it has beside its own kind.
    fn candidates(&self) -> Vec<&Named> {
        let known = self.controllers.iter().any(|c| c.label == self.against.label);
        self.controllers.iter().chain((!known).then_some(&self.against)).collect()
    }

    /// What the link is in numbers, and how long a run must be on it.
    fn look_at_the_link(&mut self, time: Option<Duration>) -> Result<(), Error> {
        let experiment = self.experiment(Kind::Long, 1)?;
        let cases = experiment.cases();
        let networks: Vec<Network> =
            cases.iter().map(|case| Network::of(&experiment.scenario(case, 0))).collect();
        self.network = networks[0].clone();
        let cycles = networks.iter().map(|network| closed_form::cubic_cycle(&network.path));
        let cycle = cycles.fold(0.0, f64::max);
        let start = (100.0 * self.network.path.rtt).max(cycle).max(5.0).ceil();
        let long = start + (5.0 * cycle).clamp(30.0, 300.0).ceil();
        self.to = time.unwrap_or(Duration::from_secs(long as u64));
        self.from = Duration::from_secs(start as u64).min(self.to / 3);
        Ok(())
    }

    /// The file of one kind of runs, read; every mistake in the words of the command line is found here.
    pub(super) fn experiment(&self, kind: Kind, seeds: u32) -> Result<Experiment, Error> {
        let text = toml::to_string(&self.document(kind, seeds)).map_err(Error::bad)?;
        let read = Experiment::parse(kind.name(), FilePath::new("compare"), &text);
        // The lines are ours, the user wrote none.
        read.map_err(|problems| problems.without_lines().into())
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
        // Two flows never start at the same nanosecond, and a queue's rhythm begins anywhere.
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

    /// Over the varied key a line for each controller; else the window over time, and bars.
    fn charts(&self, kind: Kind) -> Vec<Table> {
        let on = |what: &str| format!("{what} on {}", self.link);
        let beside = |what: &str| format!("{what}, beside {}", self.against.label);
        let drawn = match kind {
            Kind::Long => [("Goodput", "goodput"), ("Mean RTT", "rtt_mean"), ("Loss", "loss")]
                .map(|(what, metric)| (on(what), metric))
                .to_vec(),
            Kind::Beside => [
                ("Share of what both carry", "share of candidate"),
                ("Goodput that the competitor keeps", "goodput of competitor"),
            ]
            .map(|(what, metric)| (beside(what), metric))
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

    /// `cubic, bbr3 on rate=...`.
    pub(super) fn title(&self) -> String {
        let labels: Vec<&str> = self.controllers.iter().map(|c| c.label.as_str()).collect();
        format!("{} on {}", labels.join(", "), self.link)
    }
}

impl Named {
    /// The algorithm whose formulas hold for it: they are of the parameters that it has by default.
    pub(super) fn of_formulas(&self) -> Option<&str> {
        let own = |key: &String| !matches!(key.as_str(), "name" | "label");
        let changed = self.value.as_table().is_some_and(|table| table.keys().any(own));
        (!changed).then_some(self.algorithm.as_str())
    }

    /// All of them, or all their mistakes.
    fn read_all(texts: &[String]) -> Result<Vec<Self>, Error> {
        let (mut all, mut wrong) = (Vec::new(), Vec::new());
        for text in texts {
            match Self::read(text) {
                Ok(named) => all.push(named),
                Err(error) => wrong.push(error.message),
            }
        }
        if wrong.is_empty() { Ok(all) } else { Err(Error::bad(wrong.join("\n"))) }
    }

    fn read(text: &str) -> Result<Self, Error> {
        let text = text.trim();
        let mut value: Value = match text.starts_with('{') {
            true => {
                let wrong = |_| {
                    Error::bad(format!(
                        "`{text}` is not TOML; a controller is cubic or '{{ name = \"cubic\", beta = 0.8 }}'"
                    ))
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
        let entry = find(name).ok_or_else(|| Error::bad(unknown(name)))?;
        // `bbr` is another: rows are called what the screen calls them.
        match &mut value {
            Value::Table(table) => drop(table.insert("name".to_owned(), entry.name.into())),
            name => *name = entry.name.into(),
        }
        let label = value.get("label").and_then(Value::as_str).unwrap_or(entry.name).to_owned();
        Ok(Self { label, algorithm: entry.name.to_owned(), value })
    }
}

/// The tables `link` and, if there is one, `reverse`, and what the first flow of a file has.
fn tables(text: &str) -> Result<(Table, Table), Error> {
    if text.contains('=') {
        let words = Words::split(text).map_err(Error::bad)?;
        return Ok((Table::from_iter([("link".to_owned(), table(&words)?.into())]), Table::new()));
    }
    let source = Library.resolve(&[text.to_owned()])?.remove(0);
    let experiment = Experiment::parse(&source.name, &source.file, &source.text)?;
    let case = experiment.cases().swap_remove(0);
    let mut file = experiment.resolved(&case, 1).map_err(Error::bad)?;
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

fn table(words: &Words<'_>) -> Result<Table, Error> {
    words
        .toml()
        .parse()
        .map_err(|e: toml::de::Error| Error::bad(format!("{}: {}", words.name(), e.message())))
}
