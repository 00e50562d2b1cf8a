//! The kernel's TCP with chosen controllers, as a world. Everything else is that of [`Endpoints`]:
//! connections through the emulator, records from its packet log.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{JoinHandle, spawn};
use std::time::Instant;

use congestion::Algorithm;
use kernel::constants::constants;
use kernel::{Agent, Error, Grid, Inner, Native, Report, on_clock};
use scenario::{
    FlowConfig, FlowSeries, Ran, Recorder, RunLength, Scenario, Transport, Variables, Watch, World,
};
use units::Duration;

use crate::emu::{privilege, tcp};
use crate::endpoints::{self, Feasibility};
use crate::world::Endpoints;

/// Priority of an agent, in steps below the emulator's.
const BELOW: u8 = 1;
/// Longest time to an answer of all but 1 % of the records.
const ANSWER_P99: Duration = Duration::from_millis(1);

/// Work of a thread until the flag is set.
type Work = Box<dyn FnOnce(&AtomicBool, &mut Inner) -> Result<Report, Error> + Send>;

/// The kernel's TCP, with these controllers. QUIC flows run as on the wire.
#[derive(Clone, Copy, Debug)]
pub struct Kernel {
    /// Controllers of the TCP flows.
    pub controllers: Controllers,
    /// Endpoints of the QUIC flows.
    pub endpoints: Endpoints,
}

/// Controllers of the kernel's TCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Controllers {
    /// Every controller, answering in this process.
    Agents,
    /// D* and Reno as programs in the kernel.
    Native,
    /// The kernel's own.
    Own,
}

impl Controllers {
    /// Checks that a controller can run here.
    fn check(self, algorithm: &Algorithm) -> Result<(), String> {
        match self {
            Self::Agents => Agent::check(algorithm).map_err(|why| why.to_string()),
            Self::Native => constants(algorithm).map(drop),
            Self::Own => Ok(()),
        }
    }

    /// Registers a controller under this name. Returns the work for it during the run: answers and
    /// samples. `mss` has the segment size of each connection.
    fn register(self, algorithm: Algorithm, name: &str, mss: Vec<u32>) -> Result<Option<Work>, Error> {
        Ok(match self {
            Self::Agents => {
                let agent = Agent::register(algorithm, name)?;
                Some(Box::new(move |stop, inner| {
                    privilege::real_time(BELOW);
                    agent.run_sampled(stop, inner)
                }))
            }
            Self::Native => {
                let native = Native::register(&algorithm, name)?;
                Some(Box::new(move |stop, inner| native.run_sampled(stop, &mss, inner)))
            }
            Self::Own => None,
        })
    }

    fn note(self) -> &'static str {
        match self {
            Self::Agents => {
                "Rows on the kernel are Linux TCP with these controllers: its loss recovery, pacing and \
                 acknowledgements. A controller in this process answers each record of the kernel, about \
                 0.15 ms after its ACK. Receive times are timestamps of TCP, in microseconds."
            }
            Self::Native => {
                "Rows of native programs are Linux TCP with eBPF programs that decide in the kernel."
            }
            Self::Own => "Rows of Linux are the kernel's TCP with its own controllers and their parameters.",
        }
    }
}

impl Kernel {
    /// Returns the kernel's settings, and the algorithms of the TCP flows, each once.
    fn fit(&self, scenario: &Scenario, prefix: &str) -> Result<(Feasibility, Vec<Algorithm>), String> {
        let is_tcp = |flow: &&FlowConfig| matches!(flow.transport, Transport::Tcp { .. });
        let mut all: Vec<Algorithm> = Vec::new();
        for flow in scenario.flows.iter().filter(is_tcp) {
            self.controllers.check(&flow.algorithm)?;
            if !all.contains(&flow.algorithm) {
                all.push(flow.algorithm.clone());
            }
        }
        if all.is_empty() {
            return Err("it has no TCP flow".to_owned());
        }
        let mut fit = match self.controllers {
            Controllers::Own => own(Feasibility::check(scenario)?)?,
            _ => Feasibility::check_with(scenario, &|algorithm| {
                let number = all.iter().position(|known| known == algorithm);
                Ok(name(prefix, number.unwrap_or_default()))
            })?,
        };
        fit.usec_timestamps = self.controllers == Controllers::Agents;
        if fit.flows.iter().any(Option::is_none) {
            (self.endpoints.check)(scenario)?;
        }
        Ok((fit, all))
    }
}

/// Checks that this kernel has its controllers.
fn own(fit: Feasibility) -> Result<Feasibility, String> {
    let loaded = tcp::controllers();
    let lacks = |options: &&tcp::Options| !loaded.contains(&options.controller);
    match fit.flows.iter().flatten().find(lacks) {
        Some(options) => Err(format!("this kernel has not loaded {}", options.controller)),
        None => Ok(fit),
    }
}

/// Returns the name of an algorithm in the kernel, which all network namespaces share.
fn name(prefix: &str, number: usize) -> String {
    format!("{prefix}_{number}")
}

impl World for Kernel {
    fn check(&self, scenario: &Scenario) -> Result<(), String> {
        self.fit(scenario, "").map(drop)
    }

    fn find(&self) -> Result<(), String> {
        kernel::check().map_err(|why| why.to_string())
    }

    fn run(
        &self,
        scenario: &Scenario,
        pcap: Option<&Path>,
        watch: &Watch,
        _: Option<&mut dyn Recorder>,
    ) -> Result<Option<Ran>, String> {
        let prefix = format!("ack{}", std::process::id());
        let (fit, algorithms) = self.fit(scenario, &prefix)?;
        let running =
            Running::start(self.controllers, algorithms, &prefix, &fit).map_err(|why| why.to_string())?;
        let begins = |origin: Instant| {
            if let Some(interval) = scenario.series {
                running.grid.get_or_init(|| (on_clock(origin), interval));
            }
        };
        let mut ran = self.endpoints.run_as(scenario, &fit, pcap, watch, &begins)?;
        if let Some(ran) = &mut ran {
            ran.invalid_reasons.extend(running.finish(&mut ran.outcome.series.flows));
        }
        Ok(ran)
    }

    fn untold(&self, scenario: &Scenario) -> Vec<&'static str> {
        endpoints::unknown(scenario).to_vec()
    }

    fn settings(&self) -> Option<String> {
        Some(tcp::settings())
    }

    fn is_real_time(&self) -> bool {
        true
    }

    fn notes(&self, _: &Scenario) -> Vec<&'static str> {
        vec![self.controllers.note()]
    }
}

/// Controllers of a run in the kernel: one for each algorithm with its parameters.
#[derive(Default)]
struct Running {
    stop: Arc<AtomicBool>,
    grid: Grid,
    programs: Vec<Attended>,
}

/// A controller in the kernel, registered as long as the thread that attends to it runs.
struct Attended {
    name: &'static str,
    /// Numbers of its flows, in the order of their connections.
    flows: Vec<usize>,
    thread: JoinHandle<Result<(Report, Inner), Error>>,
}

impl Running {
    /// Registers the algorithms.
    fn start(
        controllers: Controllers,
        algorithms: Vec<Algorithm>,
        prefix: &str,
        fit: &Feasibility,
    ) -> Result<Self, Error> {
        let mut running = Self::default();
        for (number, algorithm) in algorithms.into_iter().enumerate() {
            let (name, in_kernel) = (algorithm.name(), name(prefix, number));
            let own = |(flow, options): (usize, &Option<tcp::Options>)| {
                options.as_ref().filter(|options| options.controller == in_kernel).map(|own| (flow, own.mss))
            };
            let (flows, mss) = fit.flows.iter().enumerate().filter_map(own).unzip();
            let Some(work) = controllers.register(algorithm, &in_kernel, mss)? else { continue };
            let (stop, mut inner) = (Arc::clone(&running.stop), Inner::new(&running.grid));
            let thread = spawn(move || work(&stop, &mut inner).map(|report| (report, inner)));
            running.programs.push(Attended { name, flows, thread });
        }
        Ok(running)
    }

    /// Ends the controllers, and adds their variables to the series of their flows. Returns the
    /// reasons why they make the run invalid.
    fn finish(mut self, series: &mut [FlowSeries]) -> Vec<String> {
        self.stop.store(true, Ordering::Relaxed);
        let ended =
            self.programs.drain(..).map(|program| (program.name, program.flows, program.thread.join()));
        let reasons = ended.flat_map(|(name, flows, ended)| match ended {
            Ok(Ok((report, inner))) => {
                for (number, variables) in inner.take() {
                    if let Some(flow) = flows.get(number as usize).and_then(|flow| series.get_mut(*flow)) {
                        replace(flow, variables);
                    }
                }
                reasons(name, &report)
            }
            Ok(Err(why)) => vec![format!("{name}: {why}")],
            Err(_) => vec![format!("the thread of {name} panicked")],
        });
        reasons.collect()
    }
}

/// Controllers end also if the run does not.
impl Drop for Running {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.programs.drain(..).for_each(|program| drop(program.thread.join()));
    }
}

/// Replaces a flow's variables with those of its controller, where the flow runs.
fn replace(flow: &mut FlowSeries, variables: Variables) {
    let column = |column: &RunLength| {
        let newest = column.values().last().copied().unwrap_or(f64::NAN);
        let values = column.iter().chain(std::iter::repeat(newest));
        // Every sample of a flow that runs has a goodput.
        let runs = flow.goodput_mbit_s.iter().map(|goodput| !goodput.is_nan());
        runs.zip(values).map(|(runs, value)| if runs { value } else { f64::NAN }).collect()
    };
    flow.inner = variables.into_iter().map(|(name, values)| (name, column(&values))).collect();
}

/// Returns the reasons why an agent makes a run invalid.
fn reasons(name: &str, report: &Report) -> Vec<String> {
    let [_, p99, _] = report.answer_time;
    let Report { lost_records, fallbacks, refused_flows, .. } = report;
    let rules = [
        (*lost_records > 0, format!("{name} missed {lost_records} records of the kernel")),
        (*fallbacks > 0, format!("{name} was silent, and the kernel went on as Reno {fallbacks} times")),
        (*refused_flows > 0, format!("{name} had no room for {refused_flows} connections")),
        (p99 > ANSWER_P99, format!("1 % of the answers of {name} took more than {p99} (limit {ANSWER_P99})")),
    ];
    rules.into_iter().filter(|(is_broken, _)| *is_broken).map(|(_, why)| why).collect()
}

#[cfg(test)]
mod tests {
    use congestion::PathInfo;
    use link::{Limit, LinkConfig};
    use units::{Bytes, Rate, Time};

    use super::*;
    use crate::emu::testing::{skipped, timing_of_unaudited, turn};

    fn algorithm(name: &str) -> Algorithm {
        Algorithm::all().into_iter().find(|algorithm| algorithm.name() == name).unwrap()
    }

    /// The variables of a program's second connection are those of its second flow, which runs
    /// from the second to the fourth sample.
    #[test]
    fn variables_of_a_flow_that_runs() {
        let mut running = Running::default();
        running.grid.set((Time::ZERO, Duration::from_millis(10))).unwrap();
        let mut inner = Inner::new(&running.grid);
        for (ms, value) in [(0, 1.0), (20, 2.0)] {
            inner.sample(1, Time::from_millis(ms), |put| put("bdp", value));
        }
        inner.sample(7, Time::from_millis(90), |put| put("of no flow", 0.0));
        let thread = spawn(|| Ok((Report { lost_records: 1, ..Report::default() }, inner)));
        running.programs.push(Attended { name: "dstar", flows: vec![0, 2], thread });
        let ssthresh = || [("ssthresh", RunLength::constant(5.0, 5))].into_iter().collect();
        let flow = || FlowSeries {
            goodput_mbit_s: RunLength::from_values(&[f64::NAN, 0.0, 3.0, 0.0, f64::NAN]),
            inner: ssthresh(),
            ..FlowSeries::default()
        };
        let mut series = [flow(), flow(), flow()];
        assert_eq!(running.finish(&mut series), ["dstar missed 1 records of the kernel"]);
        assert_eq!([&series[0].inner, &series[1].inner], [&ssthresh(), &ssthresh()]);
        let column = |name| format!("{:?}", series[2].inner[name].to_vec());
        assert_eq!((column("bdp"), column("ssthresh")), ("[NaN, 1.0, 2.0, 2.0, NaN]".into(), "[]".into()));
    }

    /// Runs one flow of 10 Mbit/s and 40 ms, with a queue of 1 BDP. Returns the largest value of a
    /// variable.
    fn largest(controllers: Controllers, controller: &str, variable: &str) -> (Vec<String>, f64) {
        let endpoints = Endpoints { check: |_| Ok(()), guests: |_| Err(String::new()) };
        let (rtt, transport) = (Duration::from_millis(40), Transport::Tcp { mss: 1448, overhead: 52 });
        let limit = Limit::Bytes(Bytes(50_000));
        let link = LinkConfig { limit, delay: rtt / 2, ..LinkConfig::plain(Rate(10_000_000)) };
        let flow = FlowConfig::new("flow", algorithm(controller), transport, rtt);
        let mut scenario = Scenario::new(link, [flow], Duration::from_secs(2));
        scenario.series = Some(Duration::from_millis(20));
        let kernel = Kernel { controllers, endpoints };
        let ran = kernel.run(&scenario, None, &Watch::default(), None).unwrap().unwrap();
        let flow = &ran.outcome.series.flows[0];
        let names: Vec<&str> = flow.inner.clone().into_iter().map(|(name, _)| name).collect();
        let mut expected = Vec::new();
        algorithm(controller).build(PathInfo::default()).trace(&mut |name, _| expected.push(name));
        // Variables that come later than the first sample follow.
        assert!(names.starts_with(&expected), "{controller}: {names:?}");
        assert!(flow.inner.clone().into_iter().all(|(_, column)| column.len() == 100));
        let known = flow.inner[variable].iter().filter(|value| value.is_finite());
        (ran.invalid_reasons, known.fold(f64::NAN, f64::max))
    }

    /// A run in the kernel has the variables of its controllers: those of the link.
    #[test]
    fn variables_of_a_run() {
        let test = "variables_of_a_run";
        if let Err(why) = kernel::check() {
            return skipped(test, &why.to_string());
        }
        let Some(_turn) = turn(test) else { return };
        let rtt = 0.0402..0.1;
        // Payload is 97 % of the link's rate. A wait of the host can join packets, whose rate is
        // larger.
        let rate = 9e6..11e6;
        // The estimate of D* in slow start includes a part of the queue.
        let bdp = 40_000.0..100_000.0;
        for (controllers, controller, variable, plausible) in [
            (Controllers::Agents, "bbr1", "bw", rate),
            (Controllers::Agents, "dstar", "min_rtt", rtt),
            // The queue is 40 ms. Timestamps in another unit than the one assumed would be far off.
            (Controllers::Agents, "quic-dc", "owqd", 0.002..0.045),
            (Controllers::Native, "dstar", "bdp", bdp),
        ] {
            timing_of_unaudited(&format!("{test}, {controllers:?}, {controller}"), || {
                let (reasons, most) = largest(controllers, controller, variable);
                (reasons, plausible.contains(&most).then_some(()).ok_or(format!("{variable} is {most}")))
            });
        }
    }

    #[test]
    fn what_makes_a_run_invalid() {
        let good = Report { answer_time: [Duration::from_micros(100); 3], ..Report::default() };
        assert!(reasons("cubic", &good).is_empty());
        let slow = Report { answer_time: [Duration::from_millis(2); 3], ..good.clone() };
        assert_eq!(reasons("cubic", &slow), ["1 % of the answers of cubic took more than 2 ms (limit 1 ms)"]);
        let all = Report { lost_records: 1, fallbacks: 2, refused_flows: 3, ..slow };
        assert_eq!(reasons("cubic", &all).len(), 4);
    }

    #[test]
    fn a_controller_that_is_not_loaded() {
        let options = |name: &str| tcp::Options { controller: name.to_owned(), mss: 1448, port: 7000 };
        let fit = |name: &str| Feasibility {
            flows: vec![Some(options(name))],
            overhead: 0,
            ecn: false,
            usec_timestamps: false,
            window: None,
        };
        assert!(own(fit("reno")).is_ok(), "every kernel has it");
        assert_eq!(own(fit("none")), Err("this kernel has not loaded none".to_owned()));
    }

    #[test]
    fn controllers_that_fit() {
        assert_eq!(Controllers::Agents.check(&algorithm("bbr3")), Ok(()));
        let why = Controllers::Native.check(&algorithm("bbr3")).unwrap_err();
        assert!(why.contains("an agent runs others"), "{why}");
        for algorithm in Algorithm::all() {
            let needs = algorithm.build(PathInfo::default()).needs();
            let lacks = needs.every_receive_time || needs.mark_counts;
            assert_eq!(Controllers::Agents.check(&algorithm).is_err(), lacks, "{}", algorithm.name());
        }
    }
}
