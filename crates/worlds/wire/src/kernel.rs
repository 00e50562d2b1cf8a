//! The kernel's TCP with chosen controllers, as a world. Everything else is that of [`Endpoints`]:
//! connections through the emulator, records from its packet log.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use congestion::{Algorithm, PathInfo};
use kernel::constants::constants;
use kernel::{Agent, Error, Native, Report};
use scenario::{FlowConfig, Ran, Recorder, Scenario, Transport, Watch, World};
use units::Duration;

use crate::emu::{privilege, tcp};
use crate::endpoints::{self, Feasibility};
use crate::world::Endpoints;

/// Priority of an agent, in steps below the emulator's.
const BELOW: u8 = 1;
/// Longest time to an answer of all but 1 % of the records.
const ANSWER_P99: Duration = Duration::from_millis(1);

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
        let name = algorithm.name();
        match self {
            Self::Agents if algorithm.build(PathInfo::default()).needs().every_receive_time => {
                Err(format!("{name} needs the arrival time of every packet, and TCP has one for each ACK"))
            }
            Self::Native => constants(algorithm).map(drop),
            _ => Ok(()),
        }
    }

    fn note(self) -> &'static str {
        match self {
            Self::Agents => {
                "Rows on the kernel are Linux TCP with these controllers: its loss recovery, pacing and \
                 acknowledgements. A controller in this process answers each record of the kernel, about \
                 0.15 ms after its ACK."
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
        let fit = match self.controllers {
            Controllers::Own => own(Feasibility::check(scenario)?)?,
            _ => Feasibility::check_with(scenario, &|algorithm| {
                let number = all.iter().position(|known| known == algorithm);
                Ok(name(prefix, number.unwrap_or_default()))
            })?,
        };
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
        let running = Running::start(self.controllers, algorithms, &prefix)?;
        let mut ran = self.endpoints.run_as(scenario, &fit, pcap, watch)?;
        let reasons = running.finish();
        if let Some(ran) = &mut ran {
            ran.invalid_reasons.extend(reasons);
        }
        Ok(ran)
    }

    fn untold(&self, scenario: &Scenario) -> &'static [&'static str] {
        endpoints::unknown(scenario)
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
    agents: Vec<(&'static str, JoinHandle<Result<Report, Error>>)>,
    /// Registered as long as the run takes.
    natives: Vec<Native>,
}

impl Running {
    /// Registers the algorithms.
    fn start(controllers: Controllers, algorithms: Vec<Algorithm>, prefix: &str) -> Result<Self, String> {
        let mut running = Self::default();
        for (number, algorithm) in algorithms.into_iter().enumerate() {
            let registered = match controllers {
                Controllers::Agents => running.answer(algorithm, &name(prefix, number)),
                Controllers::Native => Native::register(&algorithm, &name(prefix, number))
                    .map(|native| running.natives.push(native)),
                Controllers::Own => Ok(()),
            };
            registered.map_err(|why| why.to_string())?;
        }
        Ok(running)
    }

    fn answer(&mut self, algorithm: Algorithm, name: &str) -> Result<(), Error> {
        let label = algorithm.name();
        let agent = Agent::register(algorithm, name)?;
        let stop = Arc::clone(&self.stop);
        let run = move || {
            privilege::real_time(BELOW);
            agent.run(&stop)
        };
        self.agents.push((label, std::thread::spawn(run)));
        Ok(())
    }

    /// Ends the controllers. Returns the reasons why they make the run invalid.
    fn finish(mut self) -> Vec<String> {
        self.stop.store(true, Ordering::Relaxed);
        let ended = self.agents.drain(..).map(|(name, thread)| (name, thread.join()));
        let reasons = ended.flat_map(|(name, report)| match report {
            Ok(Ok(report)) => reasons(name, &report),
            Ok(Err(why)) => vec![format!("{name}: {why}")],
            Err(_) => vec![format!("the thread of {name} panicked")],
        });
        reasons.collect()
    }
}

/// Agents end also if the run does not begin.
impl Drop for Running {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
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
    use super::*;

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
            window: None,
        };
        assert!(own(fit("reno")).is_ok(), "every kernel has it");
        assert_eq!(own(fit("none")), Err("this kernel has not loaded none".to_owned()));
    }

    #[test]
    fn controllers_that_fit() {
        let of =
            |name: &str| Algorithm::all().into_iter().find(|algorithm| algorithm.name() == name).unwrap();
        assert_eq!(Controllers::Agents.check(&of("bbr3")), Ok(()));
        let why = Controllers::Native.check(&of("bbr3")).unwrap_err();
        assert!(why.contains("an agent runs every controller"), "{why}");
        for algorithm in Algorithm::all() {
            let needs = algorithm.build(PathInfo::default()).needs();
            assert_eq!(Controllers::Agents.check(&algorithm).is_err(), needs.every_receive_time);
        }
    }
}
