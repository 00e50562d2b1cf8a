//! Compares controllers over all networks of a file.
//!
//! The file's `[vary]` makes the networks. Each controller runs once on each, and the networks are
//! the sample. `decide` makes pairs of runs on each network until its answer is known.

mod answer;
mod file;
mod judged;
mod map;
mod screen;

use std::collections::{BTreeMap, BTreeSet};

use congestion::Registry;
use experiment::file::{Case, Experiment};
use experiment::row::RowLabel;
use results::summary::{Results, Row};

pub use self::answer::SetAnswer;
pub use self::judged::{Measured, OnNetwork, Standing};
pub use self::map::{Cell, Map};

use self::file::File;
use super::backends::Backends;
use super::measured::{known, mean};
use super::pairs::Goodputs;
use super::question::{Asked, Kind, Named, Seeds, check_labels};
use super::written;
use crate::decision::{Rule, Verdict};
use crate::lab::Stored;
use crate::{Content, Cost, Failure, Lab, Page, cost};

/// Goodput in Mbit/s that stands for none: a packet in half a minute.
const LEAST: f64 = 8.0 * 1500.0 / 30.0 / 1e6;

/// Question which of several controllers is best over the networks of a file.
#[derive(Debug)]
pub struct Set {
    controllers: Vec<Named>,
    against: Option<Named>,
    place: Backends,
    /// The file, as named.
    link: String,
    file: File,
    /// When the answer on a network is looked at.
    rule: Rule,
    /// Whether each network is decided.
    decide: bool,
    /// Keys of the map, if they are chosen.
    map: Option<[String; 2]>,
    registry: Registry,
    /// Networks in file order, with the values of their keys.
    networks: Vec<(String, Vec<(String, String)>)>,
    left_out: String,
}

impl Set {
    /// Reads the question. Returns `None` if the link is a single network.
    ///
    /// # Errors
    /// A mistake in one of its fields.
    pub fn new(asked: &Asked, decide: bool, map: Option<&[String; 2]>) -> Result<Option<Self>, Failure> {
        if asked.link.contains('=') || asked.is_single() {
            return Ok(None);
        }
        let written = written::experiment(&asked.registry, &asked.link)?;
        let mut file = File::new(&written);
        if let Some(words) = &asked.flow {
            file.set_flow(written::flow(words)?);
        }
        if let Some(time) = asked.time {
            file.set_time(time);
        }
        let controllers = Named::read_all(&asked.registry, &asked.controllers)?;
        let against = asked.against.as_deref().map(|text| Named::read(&asked.registry, text));
        let against = against.transpose().map_err(Failure::Bad)?;
        check_labels(&controllers, against.as_ref())?;
        let mut set = Self {
            controllers,
            against,
            place: Backends::new(asked.stacks.clone()),
            link: asked.link.clone(),
            file,
            rule: match (asked.repeat, decide) {
                (_, true) => Rule::sequential(asked.margin),
                (None | Some(1), false) => Rule::exact(asked.margin),
                (Some(pairs), false) => Rule::once(pairs, asked.margin),
            },
            decide,
            map: map.cloned(),
            registry: asked.registry.clone(),
            networks: Vec::new(),
            left_out: String::new(),
        };
        let experiment = set.experiment(Kind::Long, Seeds::first(1))?;
        set.left_out.clone_from(&experiment.note);
        for case in experiment.cases() {
            if set.networks.iter().all(|(name, _)| *name != case.variant) {
                set.networks.push((case.variant.clone(), keys(&case)));
            }
        }
        let networks = set.networks.len();
        if asked.vary.is_some() && networks > 1 {
            let wrong =
                format!(": {} already has {networks} networks; add the key to its [vary]", asked.link);
            return Err(Failure::Field("vary", wrong));
        }
        if let (Some(keys), Some((_, first))) = (&set.map, set.networks.first()) {
            // Before anything runs.
            let varies = |(i, (_, value)): &(usize, &(String, String))| {
                set.networks.iter().any(|(_, own)| own.get(*i).is_some_and(|own| own.1 != *value))
            };
            let known: Vec<&str> =
                first.iter().enumerate().filter(varies).map(|(_, (key, _))| key.as_str()).collect();
            map::chosen(&known, keys)?;
        }
        Ok((networks > 1).then_some(set))
    }

    /// Returns the answer as Markdown.
    pub fn markdown(&self, answer: &SetAnswer) -> String {
        screen::markdown(self, answer)
    }

    /// Builds the experiment for one kind of runs.
    fn experiment(&self, kind: Kind, seeds: Seeds) -> Result<Experiment, Failure> {
        let against = self.against.as_ref().unwrap_or(&self.controllers[0]);
        let known = self.controllers.iter().any(|c| c.label == against.label);
        let candidates: Vec<Named> = self
            .controllers
            .iter()
            .chain((kind == Kind::Beside && !known).then_some(against))
            .cloned()
            .collect();
        self.file.experiment(&self.registry, &self.title(), (&candidates, against), (kind, seeds))
    }

    fn title(&self) -> String {
        let labels: Vec<&str> = self.controllers.iter().map(|c| c.label.as_str()).collect();
        format!("{} on the networks of {}", labels.join(", "), self.link)
    }

    /// Returns everything that is compared: every controller on every backend.
    fn contestants(&self) -> Vec<RowLabel> {
        let places = self.place.backends();
        let on = |named: &Named| places.iter().map(|on| RowLabel::new(&named.label, *on)).collect::<Vec<_>>();
        self.controllers.iter().flat_map(on).collect()
    }

    fn shown(&self, label: &RowLabel) -> String {
        self.place.shown(label.in_file(), label.backend())
    }

    /// Runs the flows alone on the networks that are not decided, look after look.
    fn alone(&self, run: &dyn Fn(&Experiment) -> crate::lab::Made) -> Result<Alone, Failure> {
        let mut all = Alone { batches: Vec::new(), stored: Vec::new(), pairs: BTreeMap::new() };
        let mut open: BTreeSet<&str> = self.networks.iter().map(|(name, _)| name.as_str()).collect();
        let mut skipped = 0;
        for look in self.rule.looks() {
            let mut experiment = self.experiment(Kind::Long, Seeds { skipped, count: look - skipped })?;
            experiment.keep_variants(|variant| open.contains(variant));
            let (results, stored) = run(&experiment)?;
            all.batches.push(results);
            all.stored.push(stored);
            all.pairs.extend(open.iter().map(|name| ((*name).to_owned(), look)));
            skipped = look;
            if self.decide {
                let goodputs = Goodputs::new(&all.batches, LEAST);
                open.retain(|name| !self.is_decided(&goodputs, name));
            }
            if open.is_empty() {
                break;
            }
        }
        Ok(all)
    }

    /// Reports whether each controller is decided against the first one.
    fn is_decided(&self, goodputs: &Goodputs, network: &str) -> bool {
        let contestants = self.contestants();
        let verdict =
            |row| goodputs.decide(&self.rule, network, [row, &contestants[0]]).map(|(_, verdict)| verdict);
        contestants[1..].iter().all(|row| verdict(row) != Some(Verdict::Undecided))
    }

    fn judged(&self, alone: &Alone, beside: Option<&Results>) -> Vec<OnNetwork> {
        let goodputs = Goodputs::new(&alone.batches, LEAST);
        let network = |(name, keys): &(String, Vec<(String, String)>)| {
            let rows = self.contestants();
            let measured: Vec<Measured> = rows
                .iter()
                .map(|row| {
                    let decided =
                        (*row != rows[0]).then(|| goodputs.decide(&self.rule, name, [row, &rows[0]]));
                    let (ratio, verdict) = decided.flatten().unzip();
                    Measured {
                        ratio,
                        verdict,
                        keeps: beside.and_then(|beside| self.keeps(beside, name, row)),
                        ..measured(alone, name, row, goodputs.typical(name, row))
                    }
                })
                .collect();
            let best = leader(&measured, self.rule.margin());
            OnNetwork {
                name: name.clone(),
                keys: keys.clone(),
                pairs: alone.pairs.get(name).copied().unwrap_or_default(),
                best: best.map(|i| self.shown(&rows[i])),
                controllers: measured,
            }
        };
        self.networks.iter().map(network).collect()
    }

    /// Returns the goodput of the competitor beside a controller, over its mean beside its own
    /// kind.
    fn keeps(&self, beside: &Results, network: &str, row: &RowLabel) -> Option<f64> {
        let against = RowLabel::new(&self.against.as_ref()?.label, row.backend());
        let own = mean(row_of(beside, network, &against)?, "goodput");
        let kept = known(row_of(beside, network, row)?, "goodput of competitor")?;
        (against != *row && own > 0.0).then(|| kept / own)
    }
}

/// Results of the flows alone.
struct Alone {
    /// Results of each look, with seeds of their own.
    batches: Vec<Results>,
    stored: Vec<Stored>,
    /// Pairs of runs on each network.
    pairs: BTreeMap<String, u32>,
}

/// Returns the controller whose goodput exceeds that of every other by more than the margin.
fn leader(all: &[Measured], margin: f64) -> Option<usize> {
    let leads = |i: &usize| {
        let others = all.iter().enumerate().filter(|(other, _)| other != i);
        let most = others.map(|(_, other)| other.goodput).fold(0.0, f64::max);
        all[*i].goodput > (1.0 + margin) * most
    };
    (0..all.len()).find(leads)
}

/// Returns the varied keys of a case, without that of the controllers.
fn keys(case: &Case) -> Vec<(String, String)> {
    let values = case.values.iter().filter(|(key, _)| !key.split('.').any(|part| part == "controller"));
    values.cloned().collect()
}

fn measured(alone: &Alone, network: &str, label: &RowLabel, goodput: f64) -> Measured {
    let row = row_of(&alone.batches[0], network, label);
    let value = |metric| row.and_then(|row| known(row, metric));
    Measured {
        goodput: if goodput > LEAST { goodput } else { 0.0 },
        rtt_mean: value("rtt_mean"),
        queue_wait: value("queue_wait"),
        loss: value("loss"),
        ratio: None,
        verdict: None,
        keeps: None,
    }
}

fn row_of<'a>(results: &'a Results, variant: &str, label: &RowLabel) -> Option<&'a Row> {
    let variant = results.summary.variants.iter().find(|known| known.name == variant)?;
    variant.rows.iter().find(|row| row.label == *label)
}

impl crate::Question for Set {
    type Answer = SetAnswer;

    fn check(&self, lab: &Lab<'_>) -> Result<Cost, Failure> {
        let options = self.place.options(lab.options);
        let first = self.rule.looks().next().unwrap_or(1);
        let one = self.experiment(Kind::Long, Seeds::first(1))?;
        self.place.check(&one, &options)?;
        let each = cost::cost(&one, self.place.stacks());
        let beside = match self.against {
            Some(_) => cost::cost(&self.experiment(Kind::Beside, Seeds::first(1))?, self.place.stacks()),
            None => 0.0,
        };
        let networks = self.networks.len();
        let covers = match self.rule.looks().last().filter(|last| *last > first) {
            Some(last) => format!(
                " for {first} pairs on each of {networks} networks, at most {} for {last}; without --decide {}",
                cost::time(each * f64::from(last) + beside),
                cost::time(each + beside)
            ),
            None => format!(" for {networks} networks; shorten it with --time"),
        };
        Ok(Cost { seconds: each * f64::from(first) + beside, covers, announced: self.decide })
    }

    fn answer(&self, lab: &Lab<'_>) -> Result<SetAnswer, Failure> {
        let options = self.place.options(lab.options);
        let run = |experiment: &Experiment| lab.run(experiment, &options);
        let alone = self.alone(&run)?;
        let mut stored = alone.stored.clone();
        let beside = match self.against {
            Some(_) => {
                let (results, folder) = run(&self.experiment(Kind::Beside, Seeds::first(1))?)?;
                stored.push(folder);
                Some(results)
            }
            None => None,
        };
        let networks = self.judged(&alone, beside.as_ref());
        let margin = self.rule.margin();
        let labels = self.contestants().into_iter().enumerate();
        let standing = |(i, row)| Standing::new(self.shown(&row), i, &networks, margin);
        Ok(SetAnswer {
            standings: labels.map(standing).collect(),
            map: Map::new(&networks, self.map.as_ref())?,
            networks,
            against: self.against.as_ref().map(|against| against.label.clone()),
            margin,
            decided: self.decide,
            left_out: self.left_out.clone(),
            unused: self.file.unused.clone(),
            results: stored,
            runs: alone.batches.into_iter().take(1).chain(beside).collect(),
        })
    }

    fn text(&self, answer: &SetAnswer, _: bool) -> String {
        screen::text(self, answer)
    }

    fn page<'a>(&self, answer: &'a SetAnswer) -> Option<Page<'a>> {
        let blocks = screen::blocks(self, answer);
        let content = Content::Answer { title: self.title(), blocks, results: &answer.runs };
        Some(Page { folder: vec!["compare".to_owned()], content })
    }
}
