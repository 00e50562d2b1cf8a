//! The arguments of `ackclock stability`.

use std::path::PathBuf;

use clap::Args;
use congestion::algorithms::media::dccc::Params;
use units::{Duration, Rate, Time};

use experiment::controllers::find;

use crate::controllers::controllers;
use stability::Setting;
use stability::overlay::Case;
use stability::penalty::Curves;

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

/// Arguments of the analysis of a single loop. No other analysis takes them.
const ALONE: [&str; 8] = ["rtt", "base_rtt", "rate", "links", "gain", "h", "beta", "simulate"];
/// Default propagation delays of the penalty curves, in milliseconds.
const PENALTIES: [u64; 4] = [10, 25, 50, 100];

/// The arguments of `ackclock stability`. Parameters that are not given have the controller's
/// defaults.
#[derive(Debug, Args)]
pub(crate) struct StabilityArgs {
    /// Controller to analyse: `dccc`.
    algorithm: String,
    /// Set the RTT at equilibrium, including the queueing delay: `100ms`.
    ///
    /// This is the RTT in equation 46 of the DCCC paper (arXiv 1506.02799).
    #[arg(long, conflicts_with = "base_rtt")]
    rtt: Option<Duration>,
    /// Set the RTT without queueing delay.
    ///
    /// The RTT at equilibrium then follows from the threshold (equation 19).
    #[arg(long)]
    base_rtt: Option<Duration>,
    /// Set the rate of each flow at equilibrium: `1Mbit/s`.
    #[arg(long)]
    rate: Option<Rate>,
    /// Analyse several links and flows from this file instead.
    ///
    /// The file has tables `link` and `flow`; docs/src/reference/stability.md lists their keys.
    #[arg(long, value_name = "FILE", conflicts_with_all = ALONE)]
    pub(crate) network: Option<PathBuf>,
    /// Print the penalty curves of the paper's Figure 2 instead, one for each propagation delay
    /// given.
    ///
    /// Without a delay: 10, 25, 50 and 100 ms.
    #[arg(long, value_name = "TIME", num_args = 0.., conflicts_with_all = ALONE, conflicts_with = "network")]
    pub(crate) penalty: Option<Vec<Duration>>,
    /// Set M, the largest number of links on the path of a flow.
    ///
    /// Flows that share one link form one loop, so M is 1.
    #[arg(long, default_value_t = 1)]
    links: u32,
    /// Set the gain of the loop, kr times RTT.
    #[arg(long, allow_negative_numbers = true)]
    gain: Option<f64>,
    /// Set the weight of the utility function.
    #[arg(long)]
    h: Option<Rate>,
    /// Set the price of delay.
    #[arg(long, allow_negative_numbers = true)]
    beta: Option<f64>,
    /// Set the one-way delay below which the penalty is 0.
    ///
    /// It changes the equilibrium, not the loop. It requires --base-rtt or --penalty.
    #[arg(long, conflicts_with = "network")]
    threshold: Option<Duration>,
    /// Also simulate the flows for this long, as a fluid model and as packets: `60s`.
    ///
    /// The page shows both in one chart.
    #[arg(long, value_name = "TIME")]
    simulate: Option<Duration>,
    /// Set the start time of a flow in the simulation (repeatable).
    ///
    /// Each --start adds a flow. The flows share a link whose rate is --rate times the number of
    /// flows.
    #[arg(long, value_name = "TIME", requires = "simulate", default_value = "0s")]
    start: Vec<Duration>,
    /// Write the page to this folder.
    ///
    /// The default is a folder below results/stability named after the parameters.
    #[arg(long)]
    pub(crate) out: Option<PathBuf>,
    /// Print JSON instead of the table.
    ///
    /// Frequencies are in 1/RTT, times in RTT, angles in radians.
    #[arg(long)]
    pub(crate) json: bool,
}

impl StabilityArgs {
    /// Returns the setting after checking it.
    ///
    /// # Errors
    /// A value that is out of range, with the range.
    pub(crate) fn setting(&self) -> Result<Setting, String> {
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
    pub(crate) fn curves(&self) -> Result<Option<Curves>, String> {
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
    pub(crate) fn case(&self) -> Result<Option<Case>, String> {
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

    pub(super) fn check_algorithm(&self) -> Result<(), String> {
        let name = &self.algorithm;
        match find(controllers(), name).map(|entry| entry.name) {
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
