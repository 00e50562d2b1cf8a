//! Limits of a row's network: the reference lines of charts. They come from the manifest, so every
//! results folder has them.

use std::path::Path;

use experiment::file::{Experiment, links};
use experiment::row::RowLabel;
use link::{Limit, LimitCounts, LinkConfig, RateModel};
use scenario::{FlowConfig, Route, Scenario};
use units::Time;

/// A step function: seconds and the value from then on. Times rise from 0.
pub type Course = Vec<(f64, f64)>;

/// Limits of a row's network.
#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    pub variant: String,
    pub row: RowLabel,
    /// Lowest rate of the forward links, in Mbit/s on the wire. It is empty if the rate is random
    /// or recorded.
    pub capacity: Course,
    /// Round-trip times without queueing, in ms: those of all flows without repeats.
    pub base_rtt: Vec<Course>,
    /// Capacity of the queue of the only forward link, in bytes. It is empty without a limit in
    /// bytes.
    pub buffer: Course,
}

impl Network {
    /// Reads the limits from a case of a manifest. Returns `None` if another version wrote keys
    /// that this one does not know.
    pub fn from_spec(variant: &str, row: &RowLabel, spec: &toml::Table) -> Option<Self> {
        let mut spec = spec.clone();
        let flows = spec.get_mut("flow").and_then(toml::Value::as_array_mut);
        flows.into_iter().flatten().for_each(known_controller);
        links(&mut spec).for_each(without_trace);
        let text = toml::to_string(&spec).ok()?;
        let exp = Experiment::parse("", Path::new("manifest.toml"), &text).ok()?;
        let scenario = exp.scenario(exp.cases().first()?, 0);
        Some(Self::from_scenario(variant, row, &scenario))
    }

    /// Returns the limits of a run.
    pub fn from_scenario(variant: &str, row: &RowLabel, scenario: &Scenario) -> Self {
        let mut base_rtt: Vec<Course> = Vec::new();
        for flow in &scenario.flows {
            let course = base_rtt_of(scenario, flow);
            if !base_rtt.contains(&course) {
                base_rtt.push(course);
            }
        }
        let buffer = if scenario.beyond.is_empty() { buffer(&scenario.link) } else { Course::new() };
        Self { variant: variant.to_owned(), row: row.clone(), capacity: capacity(scenario), base_rtt, buffer }
    }
}

/// Replaces a controller that only the program of the runs knows. Limits do not depend on it.
fn known_controller(flow: &mut toml::Value) {
    let Some(controller) = flow.get_mut("controller") else { return };
    let name = controller.get("name").unwrap_or(controller).as_str().unwrap_or_default();
    if congestion::Registry::default().get(name).is_none() {
        *controller = "fixed-window".into();
    }
}

/// Replaces a trace, whose file may be elsewhere, by slots. No limit depends on either.
fn without_trace(link: &mut toml::Table) {
    if let Some(rate) = link.get_mut("rate").filter(|rate| rate.get("trace").is_some()) {
        *rate = toml::Table::from_iter([("median".to_owned(), "1 Mbit/s".into())]).into();
    }
}

/// Returns the lowest rate of the links over time.
fn capacity(scenario: &Scenario) -> Course {
    let links: Option<Vec<Course>> = scenario.forward().map(rate).collect();
    least(&links.unwrap_or_default())
}

fn rate(link: &LinkConfig) -> Option<Course> {
    match &link.rate {
        RateModel::Constant(rate) => Some(vec![(0.0, rate.mbit_s())]),
        RateModel::Steps(steps) => Some(course(steps.iter().map(|(at, rate)| (*at, rate.mbit_s())))),
        RateModel::Slots(_) | RateModel::Aggregates(_) | RateModel::Trace(_) => None,
    }
}

fn buffer(link: &LinkConfig) -> Course {
    let bytes = |limit: Limit| match limit {
        Limit::Bytes(bytes) => Some(bytes.0 as f64),
        Limit::Packets(_) | Limit::Unlimited => None,
    };
    // Packets in propagation are not in the queue that charts show.
    if link.limit_counts != LimitCounts::Queue {
        return Course::new();
    }
    let all = std::iter::once((Time::ZERO, link.limit)).chain(link.limit_steps.0.iter().copied());
    let known: Option<Vec<_>> = all.map(|(at, limit)| Some((at, bytes(limit)?))).collect();
    course(known.unwrap_or_default().into_iter())
}

/// Returns the flow's base RTT, including steps of the delay of its links.
fn base_rtt_of(scenario: &Scenario, flow: &FlowConfig) -> Course {
    let routes: Vec<Route> = std::iter::once(flow.route)
        .chain(flow.back.map(|back| back.route))
        .map(|r| scenario.bounded(r))
        .collect();
    let crossed = scenario.links().enumerate().filter(|(i, _)| routes.iter().any(|r| r.crosses(*i)));
    let links: Vec<&LinkConfig> = crossed.map(|(_, link)| link).collect();
    let delay = |link: &LinkConfig, at: Time| {
        let steps = link.delay_steps.0.iter().rev().find(|step| step.0 <= at);
        steps.map_or(link.delay, |step| step.1).as_millis_f64()
    };
    let mut times: Vec<Time> =
        links.iter().flat_map(|link| link.delay_steps.0.iter().map(|step| step.0)).collect();
    times.push(Time::ZERO);
    times.sort();
    let added = |at: Time| links.iter().map(|link| delay(link, at) - link.delay.as_millis_f64()).sum::<f64>();
    course(times.into_iter().map(|at| (at, flow.rtt.as_millis_f64() + added(at))))
}

/// Returns steps from time zero, without steps that change nothing.
fn course(steps: impl Iterator<Item = (Time, f64)>) -> Course {
    let mut course = Course::new();
    for (at, value) in steps {
        let at = if course.is_empty() { 0.0 } else { (at - Time::ZERO).as_secs_f64() };
        if course.last().is_none_or(|(_, last)| *last != value) {
            course.push((at, value));
        }
    }
    course
}

fn least(courses: &[Course]) -> Course {
    let mut times: Vec<f64> = courses.iter().flatten().map(|(at, _)| *at).collect();
    times.sort_by(f64::total_cmp);
    let value = |course: &Course, at: f64| course.iter().rev().find(|step| step.0 <= at).map(|step| step.1);
    let mut all = Course::new();
    for at in times {
        let least = courses.iter().filter_map(|course| value(course, at)).fold(f64::INFINITY, f64::min);
        if all.last().is_none_or(|(_, last)| *last != least) {
            all.push((at, least));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network(keys: &str) -> Network {
        let text = format!(
            "title = \"T\"\nsource = \"S\"\nduration = \"9 s\"\n{keys}\n[[flow]]\ncontroller = \"cubic\"\n"
        );
        let exp = Experiment::parse("t", Path::new("t.toml"), &text).unwrap();
        let case = exp.cases().remove(0);
        let spec = exp.resolved(&case, 1).unwrap();
        Network::from_spec("v", &"r".into(), &spec).unwrap()
    }

    #[test]
    fn a_plain_link() {
        let found = network("link = { rate = \"10 Mbit/s\", delay = \"25 ms\", queue = \"100 kB\" }");
        assert_eq!((found.variant.as_str(), found.row.as_str()), ("v", "r"));
        assert_eq!(found.capacity, [(0.0, 10.0)]);
        assert_eq!(found.base_rtt, [[(0.0, 50.0)]]);
        assert_eq!(found.buffer, [(0.0, 1e5)]);
    }

    #[test]
    fn steps_of_rate_and_delay() {
        let found = network(
            "link = { rate = [[\"0 s\", \"10 Mbit/s\"], [\"3 s\", \"2 Mbit/s\"]], delay = [[\"0 s\", \"20 ms\"], [\"5 s\", \
             \"80 ms\"]] }",
        );
        assert_eq!(found.capacity, [(0.0, 10.0), (3.0, 2.0)]);
        assert_eq!(found.base_rtt, [[(0.0, 40.0), (5.0, 160.0)]]);
        assert!(found.buffer.is_empty(), "unlimited");
    }

    /// A manifest has its limits without the file of its trace. The rate has no line.
    #[test]
    fn a_trace() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(&file, "1\n").unwrap();
        let path = file.path().display();
        let link =
            format!("link = {{ rate = {{ trace = \"{path}\" }}, delay = \"25 ms\", queue = \"2 BDP\" }}");
        let text = format!(
            "title = \"T\"\nsource = \"S\"\nduration = \"9 s\"\n{link}\n[[flow]]\ncontroller = \"cubic\"\n"
        );
        let exp = Experiment::parse("t", Path::new("t.toml"), &text).unwrap();
        let spec = exp.resolved(&exp.cases()[0], 1).unwrap();
        drop(file);
        assert_eq!(exp.resolved(&exp.cases()[0], 1).unwrap(), spec);
        let found = Network::from_spec("v", &"r".into(), &spec).unwrap();
        assert!(found.capacity.is_empty());
        assert_eq!((found.base_rtt, found.buffer), (vec![vec![(0.0, 50.0)]], vec![(0.0, 150_400.0)]));
    }

    #[test]
    fn the_least_of_several_links() {
        let found = least(&[vec![(0.0, 5.0), (4.0, 1.0), (8.0, 9.0)], vec![(0.0, 3.0)]]);
        assert_eq!(found, [(0.0, 3.0), (4.0, 1.0), (8.0, 3.0)]);
    }
}
