//! Turns the question into experiment files.

use std::path::Path as FilePath;

use congestion::{Algorithm, PathInfo, Registry};
use experiment::controllers::{find, unknown};
use experiment::file::Experiment;
use experiment::place::Place;
use experiment::row::RowLabel;
use scenario::{FlowConfig, Scenario};
use toml::{Table, Value};
use units::{Duration, Ecn, Time};

use super::backends::Backends;
use super::closed_form::{self, Path};
use super::network::Network;
use super::varied::Varied;
use super::written;
use crate::Failure;
use crate::decision::{FIRST_PAIRS, Rule};

/// Label of the controller in question where it shares the link with a competitor.
pub(super) const CANDIDATE: &str = "candidate";
/// Label of the competitor.
pub(super) const COMPETITOR: &str = "competitor";
/// Duration of the runs before it is known: long enough for whatever starts later.
const ANY_TIME: Duration = Duration::from_secs(3600);
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
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Long => "compare/long-flows",
            Self::Beside => "compare/beside",
            Self::StartUp => "compare/start-up",
        }
    }

    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Long => "long flows alone",
            Self::Beside => "against a competitor",
            Self::StartUp => "short transfers",
        }
    }
}

/// A controller as written in the experiment file, and its label in tables.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Named {
    pub(super) label: String,
    pub(super) algorithm: String,
    pub(crate) value: Value,
}

/// Seeds of a batch of runs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seeds {
    /// Number of seeds that earlier batches have.
    pub(super) skipped: u32,
    pub(super) count: u32,
}

impl Seeds {
    pub(super) fn first(count: u32) -> Self {
        Self { skipped: 0, count }
    }
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
    /// Number of pairs of long runs; `None` to make pairs until the answer is known. A sweep then
    /// makes those of the first look.
    pub repeat: Option<u32>,
    /// Share by which two goodputs may differ that count as equal.
    pub margin: f64,
    /// Stacks that run the flows in virtual time; none for the simulator.
    pub stacks: Vec<Place>,
    /// Controllers that the question may name.
    pub registry: Registry,
}

impl Asked {
    /// Reports whether there is nothing to compare.
    pub(super) fn is_single(&self) -> bool {
        self.controllers.len() * self.stacks.len().max(1) < 2
    }
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
    /// The network of the runs; in a sweep, one for each value.
    pub(super) networks: Vec<Network>,
    /// Whether the link has the default queue, which depends on rate and RTT.
    has_default_queue: bool,
    /// Start of the measurement.
    pub(super) from: Duration,
    /// End of the runs.
    pub(super) to: Duration,
    /// Number of repetitions, if it is given.
    pub(super) repeat: Option<u32>,
    /// When the answer is looked at.
    pub(super) rule: Rule,
    /// Mark of each controller's packets, unless the flow's keys choose it.
    marks: Vec<Ecn>,
    registry: Registry,
    /// Tables of the network in the experiment files.
    tables: Table,
    /// Table of a flow in the experiment files.
    flow: Table,
}

impl Question {
    /// Returns a sentence for each controller whose packets carry an ECN mark by default.
    pub(super) fn marks(&self) -> String {
        let all = self.controllers.iter().zip(&self.marks);
        let mark = |(controller, mark): (&Named, &Ecn)| {
            Some(format!(" The packets of {} carry {}.", controller.label, mark.name()?))
        };
        all.filter_map(mark).collect()
    }

    /// Reads the question.
    ///
    /// # Errors
    /// A mistake in one of its fields.
    pub fn new(args: &Asked) -> Result<Self, Failure> {
        if args.is_single() {
            return Err(Failure::bad("one controller cannot be compared; name two or more, or two stacks"));
        }
        let place = Backends::new(args.stacks.clone());
        let controllers = Named::read_all(&args.registry, &args.controllers)?;
        let against = args.against.as_deref().map(|text| Named::read(&args.registry, text));
        let against = against.transpose().map_err(Failure::Bad)?;
        check_labels(&controllers, against.as_ref())?;
        let (mut tables, mut flow) = written::tables(&args.registry, &args.link)?;
        if let Some(words) = &args.flow {
            flow.extend(written::flow(words)?);
        }
        let vary = args.vary.as_deref().map(Varied::read).transpose()?;
        vary.as_ref().map_or(Ok(()), |vary| written::check_effect(vary, &flow))?;
        let mut link = args.link.clone();
        let default = if link.contains('=') { written::add_queue(&mut tables, vary.as_ref()) } else { None };
        if let Some(shown) = &default {
            link.push_str(&format!(" queue={shown} (default)"));
        }
        let mut question = Self {
            against: against.unwrap_or_else(|| controllers[0].clone()),
            controllers,
            vary,
            place,
            link,
            networks: vec![Network::default()],
            has_default_queue: default.is_some(),
            from: Duration::ZERO,
            to: args.time.unwrap_or(ANY_TIME),
            repeat: args.repeat,
            rule: match (args.repeat, &args.vary) {
                (Some(pairs), _) => Rule::once(pairs, args.margin),
                (None, Some(_)) => Rule::once(FIRST_PAIRS, args.margin),
                (None, None) => Rule::sequential(args.margin),
            },
            marks: Vec::new(),
            registry: args.registry.clone(),
            tables,
            flow,
        };
        let draws = question.examine_link(args.time)?;
        if args.repeat.is_none() && args.vary.is_none() && !draws {
            question.rule = Rule::exact(args.margin);
        }
        Ok(question)
    }

    /// Names the network within a sentence.
    pub(super) fn network(&self) -> String {
        let article = if self.link.contains('=') { "a link with " } else { "" };
        format!("{article}{}", self.link)
    }

    /// Returns the row of two competitors that share the link.
    pub(super) fn own_row(&self, on: Place) -> RowLabel {
        RowLabel::new(&self.against.label, on)
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

    /// Computes the numbers of the link, and how long the runs must be. Reports whether anything
    /// random reaches a long flow besides the time of its start.
    fn examine_link(&mut self, time: Option<Duration>) -> Result<bool, Failure> {
        let experiment = self.experiment(Kind::Long, Seeds::first(1))?;
        let cases = experiment.cases();
        // Cases of one network differ in the controller only.
        let flows = cases.iter().flat_map(|case| experiment.scenario(case, 0).flows);
        let flows: Vec<FlowConfig> = flows.take(self.controllers.len()).collect();
        let draws = flows.iter().any(|flow| draws(&flow.algorithm));
        let is_chosen = self.flow.get("recovery").is_some_and(|table| table.get("ecn").is_some());
        self.marks = flows.iter().filter(|_| !is_chosen).map(|flow| flow.recovery.ecn).collect();
        let scenarios = cases.iter().step_by(self.controllers.len()).map(|case| experiment.scenario(case, 0));
        let scenarios: Vec<Scenario> = scenarios.collect();
        let networks: Vec<Network> = scenarios.iter().map(Network::new).collect();
        let longest = |of: fn(&Path) -> f64| networks.iter().map(|n| of(&n.path)).fold(0.0, f64::max);
        let (rtt, cycle) = (longest(|path| path.rtt), longest(closed_form::cubic_cycle));
        let start = (100.0 * rtt).max(cycle).max(5.0).ceil();
        let long = start + (5.0 * cycle).clamp(30.0, 300.0).ceil();
        let start = Duration::from_secs(start as u64);
        self.to = time.unwrap_or(Duration::from_secs(long as u64));
        self.from = time.map_or(start, |time| start.min(time / 3));
        let window = [self.from, self.to].map(|time| Time::ZERO + time);
        let networks = networks.into_iter().zip(&scenarios);
        self.networks = networks.map(|(network, scenario)| network.measured(scenario, window)).collect();
        let random = self.networks.iter().any(|network| !network.random.is_empty());
        Ok(draws || random || !self.place.named().is_empty() || self.flow.contains_key("start-jitter"))
    }

    /// Builds and parses the file for one kind of runs. This finds every mistake in the text of the
    /// command line.
    pub(super) fn experiment(&self, kind: Kind, seeds: Seeds) -> Result<Experiment, Failure> {
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

    fn document(&self, kind: Kind, seeds: Seeds) -> Table {
        let mut file = self.tables.clone();
        let mut put = |key: &str, value: Value| file.insert(key.to_owned(), value);
        put("title", format!("{}: {}", self.title(), kind.title()).into());
        put("source", "ackclock compare".into());
        put("repetitions", i64::from(seeds.count).into());
        if seeds.skipped > 0 {
            put("seed", i64::from(1 + seeds.skipped).into());
        }
        put("series", "100 ms".into());
        let mut vary = Table::new();
        if let Some(varied) = &self.vary {
            let words = self.tables.get("link").and_then(Value::as_table);
            let values = written::values(varied, words.filter(|_| self.has_default_queue));
            vary.insert(format!("link.{}", varied.key), values);
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
                "reductions",
                "goodput @ late",
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
        if kind == Kind::Long {
            let late = (self.from + (self.to - self.from) / 2).to_string();
            let late = Table::from_iter([("from".to_owned(), late.into())]);
            put("windows", Table::from_iter([("late".to_owned(), late.into())]).into());
        }
        put("flow", self.flows(kind).into());
        put("vary", vary.into());
        put("chart", self.charts(kind).into());
        file
    }

    fn flows(&self, kind: Kind) -> Vec<Table> {
        let mut flow = self.flow.clone();
        // Real flows never start at the same nanosecond, nor in phase with the queue.
        if kind != Kind::Long || !self.rule.is_exact() {
            flow.entry("start-jitter").or_insert("100 ms".into());
        }
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

/// Reports whether a controller draws random numbers: its state depends on its seed.
fn draws(algorithm: &Algorithm) -> bool {
    let state = |seed| format!("{:?}", algorithm.build(PathInfo { seed, ..PathInfo::default() }));
    state(1) != state(2)
}

/// Refuses two controllers with one label. The competitor may be one of the controllers.
pub(super) fn check_labels(controllers: &[Named], against: Option<&Named>) -> Result<(), Failure> {
    let own = "'{ name = \"...\", label = \"...\" }'";
    let same = |i: &usize| controllers[..*i].iter().any(|c| c.label == controllers[*i].label);
    if let Some(Named { label, .. }) = (1..controllers.len()).find(same).map(|i| &controllers[i]) {
        return Err(Failure::bad(format!("`{label}` is given twice; label one of them: {own}")));
    }
    let differs = |a: &&Named| controllers.iter().any(|c| c.label == a.label && c != *a);
    against.filter(differs).map_or(Ok(()), |Named { label, .. }| {
        let wrong = format!(": two controllers have the label `{label}`; label this one: {own}");
        Err(Failure::Field("against", wrong))
    })
}

impl Named {
    /// Returns the algorithm whose formulas apply: `None` if a parameter differs from its default.
    pub(super) fn formula_name(&self) -> Option<&str> {
        let own = |key: &String| !matches!(key.as_str(), "name" | "label");
        let changed = self.value.as_table().is_some_and(|table| table.keys().any(own));
        (!changed).then_some(self.algorithm.as_str())
    }

    /// Parses all controllers, and collects all mistakes.
    pub(super) fn read_all(registry: &Registry, texts: &[String]) -> Result<Vec<Self>, Failure> {
        let (mut all, mut wrong) = (Vec::new(), Vec::new());
        for text in texts {
            match Self::read(registry, text) {
                Ok(named) => all.push(named),
                Err(message) => wrong.push(message),
            }
        }
        if wrong.is_empty() { Ok(all) } else { Err(Failure::bad(wrong.join("\n"))) }
    }

    pub(crate) fn read(registry: &Registry, text: &str) -> Result<Self, String> {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn question(link: &str, vary: &str) -> Question {
        let asked = Asked {
            controllers: ["cubic", "bbr3"].map(str::to_owned).to_vec(),
            link: link.to_owned(),
            flow: None,
            vary: Some(vary.to_owned()),
            against: None,
            time: None,
            repeat: None,
            margin: 0.05,
            stacks: Vec::new(),
            registry: Registry::default(),
        };
        Question::new(&asked).unwrap()
    }

    /// The order of the values does not matter: start-up is 100 of the longest RTTs.
    #[test]
    fn the_longest_rtt_of_a_sweep() {
        let windows = ["rtt=10, 600 ms", "rtt=600, 10 ms"].map(|vary| {
            let question = question("rate=2 Mbit/s rtt=10 ms queue=1 BDP", vary);
            (question.from, question.to)
        });
        assert_eq!(windows[0], windows[1]);
        let [from, to] = [windows[0].0, windows[0].1].map(Duration::as_secs_f64);
        assert!((60.0..62.0).contains(&from) && to >= from + 30.0, "{from} {to}");
    }

    /// The default queue is 1 BDP, but at least 10 packets, at each value.
    #[test]
    fn the_default_queue_of_each_value() {
        for (link, vary, queues) in [
            ("rate=20 Mbit/s rtt=40 ms", "rate=0.1, 100 Mbit/s", [12_940.0, 500_000.0]),
            ("rate=2 Mbit/s rtt=600 ms", "rtt=1, 600 ms", [12_940.0, 150_000.0]),
            ("rate=2 Mbit/s rtt=1 ms", "loss=0, 1 %", [12_940.0, 12_940.0]),
            ("rate=20 Mbit/s rtt=40 ms queue=2 BDP", "rate=10, 100 Mbit/s", [100_000.0, 1_000_000.0]),
        ] {
            let question = question(link, vary);
            let room = |network: &Network| {
                let path = &network.path;
                let rate = path.capacity * 1294.0 / 1215.0;
                (path.queue.unwrap() * rate * path.rtt / 8.0).round()
            };
            assert_eq!(question.networks.iter().map(room).collect::<Vec<_>>(), queues, "{link}, {vary}");
        }
    }
}
