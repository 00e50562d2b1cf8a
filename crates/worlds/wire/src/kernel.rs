//! The kernel's TCP with controllers of this program, as a world. Everything else is that of
//! [`Endpoints`](crate::Endpoints): connections through the emulator, records from its packet log.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use congestion::{Algorithm, PathInfo};
use kernel::{Agent, Error, Report};
use scenario::{FlowConfig, Ran, Recorder, Scenario, Transport, Watch, World};
use units::Duration;

use crate::emu::privilege;
use crate::endpoints::{self, Feasibility};
use crate::world::Endpoints;

/// Priority of an agent, in steps below the emulator's.
const BELOW: u8 = 1;
/// Longest time to an answer of all but 1 % of the records.
const ANSWER_P99: Duration = Duration::from_millis(1);
/// Note about the rows.
const NOTE: &str = "Rows on the kernel are Linux TCP with these controllers: its loss recovery, pacing and \
                    acknowledgements. A controller in this process answers each record of the kernel, some \
                    0.1 ms after its ACK.";

/// The kernel's TCP, with controllers that answer in this process. QUIC flows run as on the wire.
#[derive(Clone, Copy, Debug)]
pub struct Kernel(pub Endpoints);

/// The agents of a run: one for each algorithm with its parameters.
struct Agents {
    stop: Arc<AtomicBool>,
    running: Vec<(&'static str, JoinHandle<Result<Report, Error>>)>,
}

impl Kernel {
    /// Returns the kernel's settings, and the algorithms of the TCP flows, each once.
    fn fit(&self, scenario: &Scenario, prefix: &str) -> Result<(Feasibility, Vec<Algorithm>), String> {
        let is_tcp = |flow: &&FlowConfig| matches!(flow.transport, Transport::Tcp { .. });
        let mut all: Vec<Algorithm> = Vec::new();
        for flow in scenario.flows.iter().filter(is_tcp) {
            check(&flow.algorithm)?;
            if !all.contains(&flow.algorithm) {
                all.push(flow.algorithm.clone());
            }
        }
        let name = |algorithm: &Algorithm| {
            let number = all.iter().position(|known| known == algorithm);
            Ok(name(prefix, number.unwrap_or_default()))
        };
        let fit = Feasibility::check_with(scenario, &name)?;
        if all.is_empty() {
            return Err("it has no TCP flow; use --on wire for QUIC".to_owned());
        }
        if fit.flows.iter().any(Option::is_none) {
            (self.0.check)(scenario)?;
        }
        Ok((fit, all))
    }
}

/// Checks that records of the kernel have the signals that a controller needs.
fn check(algorithm: &Algorithm) -> Result<(), String> {
    if algorithm.build(PathInfo::default()).needs().every_receive_time {
        return Err(format!(
            "{} needs the arrival time of every packet, and TCP has one for each ACK",
            algorithm.name()
        ));
    }
    Ok(())
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
        let agents = Agents::start(algorithms, &prefix)?;
        let mut ran = self.0.run_as(scenario, &fit, pcap, watch)?;
        let reasons = agents.finish();
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
        vec![NOTE]
    }
}

impl Agents {
    /// Registers the algorithms in the kernel, and answers its records.
    fn start(algorithms: Vec<Algorithm>, prefix: &str) -> Result<Self, String> {
        let mut agents = Self { stop: Arc::default(), running: Vec::new() };
        for (number, algorithm) in algorithms.into_iter().enumerate() {
            let label = algorithm.name();
            let agent = Agent::register(algorithm, &name(prefix, number)).map_err(|why| why.to_string())?;
            let stop = Arc::clone(&agents.stop);
            let run = move || {
                privilege::real_time(BELOW);
                agent.run(&stop)
            };
            agents.running.push((label, std::thread::spawn(run)));
        }
        Ok(agents)
    }

    /// Ends them. Returns the reasons why they make the run invalid.
    fn finish(mut self) -> Vec<String> {
        self.stop.store(true, Ordering::Relaxed);
        let ended = self.running.drain(..).map(|(name, thread)| (name, thread.join()));
        ended
            .flat_map(|(name, report)| match report {
                Ok(Ok(report)) => reasons(name, &report),
                Ok(Err(why)) => vec![format!("{name}: {why}")],
                Err(_) => vec![format!("{name} panicked")],
            })
            .collect()
    }
}

/// Agents end also if the run does not begin.
impl Drop for Agents {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// Returns the reasons why an agent makes a run invalid.
fn reasons(name: &str, report: &Report) -> Vec<String> {
    let [_, p99, _] = report.answer_time;
    let rules = [
        (report.lost_records > 0, format!("{name} missed {} records of the kernel", report.lost_records)),
        (
            report.fallbacks > 0,
            format!("{name} did not answer, and the kernel fell back to Reno {} times", report.fallbacks),
        ),
        (report.refused_flows > 0, format!("{name} had no room for {} connections", report.refused_flows)),
        (p99 > ANSWER_P99, format!("1 % of the answers of {name} took more than {p99} (limit {ANSWER_P99})")),
    ];
    rules.into_iter().filter(|(broken, _)| *broken).map(|(_, why)| why).collect()
}
