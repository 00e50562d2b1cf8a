//! Computes the margins of a controller's loop, alone or in a network.

use std::path::PathBuf;

use congestion::Registry;
use congestion::algorithms::media::dccc::Params;
use experiment::controllers::find;
use serde::Serialize;
#[cfg(feature = "networks")]
use stability::network::text::NetworkAnalysis;
use stability::overlay::Case;
use stability::penalty::Curves;
use stability::{Analysis, Setting};
use units::{Duration, Rate, Time};

use crate::page::{Content, Page};
use crate::{Cost, Failure, Lab};

/// The only controller with a published analysis of its loop.
const KNOWN: &str = "dccc";
/// Packet size of the paper, in bytes.
const PACKET: u32 = 1094;
/// Shortest simulation, in round trips.
const LEAST_TRIPS: u64 = 20;
/// Largest number of flows in a simulation.
const MAX_FLOWS: usize = 16;
/// Largest number of packets in a simulation: some seconds of work.
const MAX_PACKETS: u128 = 20_000_000;
/// Largest number of steps of the fluid model, summed over the flows.
const MAX_STEPS: u64 = 1_000_000;

/// Default propagation delays of the penalty curves, in milliseconds.
const PENALTIES: [u64; 4] = [10, 25, 50, 100];

/// The question as it was asked. Parameters that are not given have the controller's defaults.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    /// Name of the controller: `dccc`.
    pub algorithm: String,
    /// RTT at equilibrium, including the queueing delay.
    pub rtt: Option<Duration>,
    /// RTT without queueing delay, instead of `rtt`.
    pub base_rtt: Option<Duration>,
    /// Rate of each flow at equilibrium.
    pub rate: Option<Rate>,
    /// A file with several links and flows, which is analysed instead.
    pub network: Option<PathBuf>,
    /// Propagation delays of penalty curves, which are computed instead. An empty list means the
    /// paper's.
    pub penalty: Option<Vec<Duration>>,
    /// Largest number of links on the path of a flow.
    pub links: u32,
    /// Gain of the loop, kr times RTT.
    pub gain: Option<f64>,
    /// Weight of the utility function.
    pub h: Option<Rate>,
    /// Price of delay.
    pub beta: Option<f64>,
    /// One-way delay below which the penalty is 0.
    pub threshold: Option<Duration>,
    /// Length of a simulation beside the analysis.
    pub simulate: Option<Duration>,
    /// Start time of each flow of the simulation.
    pub start: Vec<Duration>,
}

/// Question whether a controller's loop is stable.
#[derive(Clone, Debug)]
pub enum Question {
    /// A single loop, and its simulation.
    Loop(Setting, Option<Box<Case>>),
    /// Penalty curves.
    Penalty(Curves),
    /// Several links and flows.
    #[cfg(feature = "networks")]
    Network(PathBuf),
}

/// Margins, curves, or a network with its margins.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum Answer {
    Loop(Box<Analysis>),
    Penalty(Curves),
    #[cfg(feature = "networks")]
    Network(Box<NetworkAnalysis>),
}

impl Question {
    /// Reads the question.
    ///
    /// # Errors
    /// A value that is out of range, with the range.
    pub fn new(asked: &Asked) -> Result<Self, Failure> {
        if let Some(curves) = asked.curves().map_err(Failure::Bad)? {
            return Ok(Self::Penalty(curves));
        }
        #[cfg(feature = "networks")]
        if let Some(file) = &asked.network {
            return Ok(Self::Network(file.clone()));
        }
        let setting = asked.setting().map_err(Failure::Bad)?;
        Ok(Self::Loop(setting, asked.case().map_err(Failure::Bad)?.map(Box::new)))
    }
}

impl crate::Question for Question {
    type Answer = Answer;

    fn check(&self, _: &Lab<'_>) -> Result<Cost, Failure> {
        Ok(Cost::default())
    }

    fn answer(&self, lab: &Lab<'_>) -> Result<Answer, Failure> {
        Ok(match self {
            Self::Loop(setting, case) => {
                let simulation = case.as_ref().and_then(|case| case.run(lab.watch));
                Answer::Loop(Box::new(Analysis { simulation, ..setting.clone().analyse() }))
            }
            Self::Penalty(curves) => Answer::Penalty(curves.clone()),
            #[cfg(feature = "networks")]
            Self::Network(file) => Answer::Network(Box::new(read(file).map_err(Failure::Bad)?)),
        })
    }

    fn text(&self, answer: &Answer, _: bool) -> String {
        match answer {
            Answer::Loop(analysis) => stability::text::table(analysis),
            Answer::Penalty(curves) => curves.table(),
            #[cfg(feature = "networks")]
            Answer::Network(network) => network.text(),
        }
    }

    fn page<'a>(&self, answer: &'a Answer) -> Option<Page<'a>> {
        let (folder, content) = match answer {
            Answer::Loop(analysis) => {
                let case = match self {
                    Self::Loop(_, case) => case.as_ref().map(|case| case.name()),
                    _ => None,
                };
                (std::iter::once(analysis.name()).chain(case).collect(), Content::Stability(analysis))
            }
            Answer::Penalty(curves) => {
                (vec!["dccc penalty".to_owned()], Content::Numbers(vec![("penalty.csv", curves.csv())]))
            }
            #[cfg(feature = "networks")]
            Answer::Network(network) => {
                let stem = match self {
                    Self::Network(file) => file.file_stem().unwrap_or_default().to_string_lossy(),
                    _ => "".into(),
                };
                let mut files = vec![("eigenvalues.csv", network.eigenvalues())];
                files.extend(network.moments().map(|moments| ("passivity.csv", moments)));
                (vec![format!("dccc network {stem}")], Content::Numbers(files))
            }
        };
        Some(Page { folder, content })
    }
}

#[cfg(feature = "networks")]
fn read(file: &std::path::Path) -> Result<NetworkAnalysis, String> {
    use stability::network;

    let name = file.display();
    let text = experiment::input::read(file).map_err(|problem| problem.to_string())?;
    let net = network::read(&text).map_err(|wrong| match wrong.line {
        Some(line) => format!("{name}:{line}: {}", wrong.what),
        None => format!("{name}: {}", wrong.what),
    })?;
    NetworkAnalysis::new(net).map_err(|wrong| format!("{name}: {wrong}"))
}

impl Asked {
    /// Returns the setting after checking it.
    ///
    /// # Errors
    /// A value that is out of range, with the range.
    fn setting(&self) -> Result<Setting, String> {
        self.check_algorithm()?;
        self.check_together()?;
        let params = self.params();
        let Params { gain, h, beta, .. } = params;
        let rtt = self.rtt.or(self.base_rtt).unwrap_or_default();
        let rate = self.rate.unwrap_or_default();
        let setting = Setting { rtt, one_way_delay: None, rate, links: self.links, gain, h, beta };
        setting.check()?;
        let Some(base) = self.base_rtt else { return Ok(setting) };
        let (delay, rtt) = Setting::equilibrium(base, rate, &params)?;
        Ok(Setting { rtt, one_way_delay: Some(delay), ..setting })
    }

    /// Checks which flags are given together.
    fn check_together(&self) -> Result<(), String> {
        if self.base_rtt.is_none() {
            let needing =
                [("--simulate", self.simulate.is_some()), ("--threshold", self.threshold.is_some())];
            if let Some((flag, _)) = needing.iter().find(|(_, given)| *given) {
                let instead = if self.rtt.is_some() { " instead of --rtt" } else { "" };
                return Err(format!("{flag} needs --base-rtt{instead}"));
            }
        }
        if self.rate.is_none() || self.rtt.or(self.base_rtt).is_none() {
            return Err("give --rate with --rtt or --base-rtt, or use --network or --penalty".to_owned());
        }
        Ok(())
    }

    /// Returns the curves of Figure 2, if they are requested.
    ///
    /// # Errors
    /// A controller without this penalty, or a threshold of 0.
    fn curves(&self) -> Result<Option<Curves>, String> {
        self.check_algorithm()?;
        let Some(given) = &self.penalty else { return Ok(None) };
        let mut propagation = given.clone();
        if propagation.is_empty() {
            propagation = PENALTIES.map(Duration::from_millis).to_vec();
        }
        let threshold = self.params().threshold;
        if threshold == Duration::ZERO {
            return Err("--threshold 0: give a delay above zero, like --threshold 100ms".into());
        }
        Ok(Some(Curves { threshold, propagation }))
    }

    /// Returns the simulation, if one is requested.
    ///
    /// # Errors
    /// A value that is out of range, with the range.
    fn case(&self) -> Result<Option<Case>, String> {
        let (Some(duration), Some(base_rtt)) = (self.simulate, self.base_rtt) else { return Ok(None) };
        let capacity = Rate(self.rate.unwrap_or_default().0.saturating_mul(self.start.len() as u64));
        let starts = self.start.iter().map(|start| Time::ZERO + *start).collect();
        let case = Case { params: self.params(), base_rtt, capacity, packet: PACKET, starts, duration };
        self.check_case(&case)?;
        Ok(Some(case))
    }

    fn check_case(&self, case: &Case) -> Result<(), String> {
        let Case { duration, capacity, .. } = *case;
        if self.start.len() > MAX_FLOWS {
            return Err(format!("--start: {} flows; give at most {MAX_FLOWS}", self.start.len()));
        }
        if self.links > 1 {
            return Err(format!(
                "--links {}: the simulation has one link; omit --links or --simulate",
                self.links
            ));
        }
        let least = (case.base_rtt * LEAST_TRIPS).max(Duration::from_secs(1));
        if duration < least {
            return Err(format!("--simulate {duration}: too short to settle; give at least {least}"));
        }
        let last_quarter = duration / 4 * 3;
        if let Some(late) = self.start.iter().find(|start| **start > last_quarter) {
            return Err(format!(
                "--start {late}: results cover only the last quarter of {duration}; give a start before {last_quarter}"
            ));
        }
        let packets =
            u128::from(capacity.0) * u128::from(duration.0) / 1_000_000_000 / u128::from(8 * PACKET);
        let steps = (duration.0 / case.step().0.max(1)).saturating_mul(self.start.len() as u64);
        if packets > MAX_PACKETS || steps > MAX_STEPS {
            return Err(format!(
                "--simulate {duration}: {packets} packets and {steps} steps of the fluid model exceed the limits of \
                 {MAX_PACKETS} and {MAX_STEPS}; give a shorter time"
            ));
        }
        Ok(())
    }

    fn params(&self) -> Params {
        let default = Params::default();
        Params {
            gain: self.gain.unwrap_or(default.gain),
            h: self.h.unwrap_or(default.h),
            beta: self.beta.unwrap_or(default.beta),
            threshold: self.threshold.unwrap_or(default.threshold),
            ..default
        }
    }

    fn check_algorithm(&self) -> Result<(), String> {
        let name = &self.algorithm;
        match find(&Registry::default(), name).map(|entry| entry.name) {
            Some(KNOWN) => return Ok(()),
            Some(name) => {
                return Err(format!("no stability analysis for `{name}`; known: {KNOWN}"));
            }
            None => {}
        }
        let known = experiment::diagnostic::did_you_mean(name, [KNOWN]);
        Err(format!("unknown algorithm `{name}`; {known}"))
    }
}
