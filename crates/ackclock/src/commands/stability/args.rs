//! The arguments of `ackclock stability`.

use std::path::PathBuf;

use clap::Args;
use congestion::algorithms::media::dccc::Params;
use units::{Duration, Rate, Time};

use experiment::controllers::controllers;
use experiment::input;
use stability::Setting;
use stability::network::{self, text::NetworkAnalysis};
use stability::overlay::Case;
use stability::penalty::Curves;

/// The only controller with a published analysis of its loop.
const KNOWN: &str = "dccc";
/// Of the paper, bytes.
const PACKET: u32 = 1094;
/// Round trips of a simulation at least.
const LEAST_TRIPS: u64 = 20;
/// Flows, packets and steps of the fluid (of all flows together) at most: seconds of work.
const MAX_FLOWS: usize = 16;
const MAX_PACKETS: u128 = 20_000_000;
const MAX_STEPS: u64 = 1_000_000;

/// What a single flow's loop needs, and no other analysis takes.
const ALONE: [&str; 8] = ["rtt", "base_rtt", "rate", "links", "gain", "h", "beta", "simulate"];
/// Propagation delays of the penalty curves, if none are given.
const PENALTIES: [u64; 4] = [10, 25, 50, 100];

/// What to analyse. What is not given is the controller's default.
#[derive(Debug, Args)]
pub(crate) struct StabilityArgs {
    /// The controller: `dccc`.
    algorithm: String,
    /// RTT at rest, queue included, as in the paper's equation 46: `100ms`.
    #[arg(long, required_unless_present_any = ["base_rtt", "network", "penalty"], conflicts_with = "base_rtt")]
    rtt: Option<Duration>,
    /// RTT without queue; that at rest follows from the threshold (equation 19).
    #[arg(long)]
    base_rtt: Option<Duration>,
    /// Rate of each flow at rest: `1Mbit/s`.
    #[arg(long, required_unless_present_any = ["network", "penalty"])]
    rate: Option<Rate>,
    /// Instead: several links and flows, from a file with tables `link` and `flow`; docs/stability.md has its keys.
    #[arg(long, value_name = "FILE", conflicts_with_all = ALONE)]
    pub(crate) network: Option<PathBuf>,
    /// Instead: the penalty curves of the paper's Figure 2, one for each propagation delay given here.
    #[arg(long, value_name = "TIME", num_args = 0.., conflicts_with_all = ALONE, conflicts_with = "network")]
    pub(crate) penalty: Option<Vec<Duration>>,
    /// M, links on the path of a flow at most. Flows that share one link are one loop: M is 1.
    #[arg(long, default_value_t = 1)]
    links: u32,
    /// kr RTT.
    #[arg(long)]
    gain: Option<f64>,
    /// Weight of the utility.
    #[arg(long)]
    h: Option<Rate>,
    /// Price of delay.
    #[arg(long)]
    beta: Option<f64>,
    /// One-way delay that is free. It moves the rest, not the loop: it goes with --base-rtt, or --penalty.
    #[arg(long, conflicts_with_all = ["rtt", "network"])]
    threshold: Option<Duration>,
    /// Also run so long as fluid and as packets, laid over each other on the page: `60s`.
    #[arg(long, value_name = "TIME", requires = "base_rtt", conflicts_with = "rtt")]
    simulate: Option<Duration>,
    /// First packet of a flow of that simulation; again for each flow. They share `rate` times their number.
    #[arg(long, value_name = "TIME", requires = "simulate", default_value = "0s")]
    start: Vec<Duration>,
    /// Where the page goes [default: results/stability/ and the setting].
    #[arg(long)]
    pub(crate) out: Option<PathBuf>,
    /// Print JSON instead of the table: frequencies in 1/RTT, times in RTT, angles in radians.
    #[arg(long)]
    pub(crate) json: bool,
}

impl StabilityArgs {
    /// The setting, checked.
    ///
    /// # Errors
    /// A sentence that says what is wrong and what is right.
    pub(crate) fn setting(&self) -> Result<Setting, String> {
        self.check_algorithm()?;
        let params = self.params();
        let Params { gain, h, beta, .. } = params;
        let rtt = self.rtt.or(self.base_rtt).unwrap_or_default();
        let rate = self.rate.unwrap_or_default();
        let setting = Setting { rtt, one_way_delay: None, rate, links: self.links, gain, h, beta };
        setting.check()?;
        let Some(base) = self.base_rtt else { return Ok(setting) };
        let (delay, rtt) = Setting::rest(base, rate, &params)?;
        Ok(Setting { rtt, one_way_delay: Some(delay), ..setting })
    }

    /// The curves of Figure 2, if they are asked for.
    ///
    /// # Errors
    /// That the algorithm has no such penalty.
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

    /// The network of a file, if one is given.
    ///
    /// # Errors
    /// What is wrong with it, or where it has no rest.
    pub(crate) fn network(&self) -> Result<Option<NetworkAnalysis>, String> {
        self.check_algorithm()?;
        let Some(file) = &self.network else { return Ok(None) };
        let name = file.display();
        let text = input::read(file).map_err(|problem| problem.to_string())?;
        let net = network::read(&text).map_err(|wrong| format!("{name}: {wrong}"))?;
        NetworkAnalysis::of(net).map(Some).map_err(|wrong| format!("{name}: {wrong}"))
    }

    /// What to simulate, if anything.
    ///
    /// # Errors
    /// A sentence that says what is out of range.
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
            return Err(format!("--start: {} flows; give {MAX_FLOWS} at most", self.start.len()));
        }
        if self.links > 1 {
            return Err(format!(
                "--links {}: the simulation has one link; leave out --links or --simulate",
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
                "--start {late}: results are of the last quarter of {duration}; give a start before {last_quarter}"
            ));
        }
        let packets =
            u128::from(capacity.0) * u128::from(duration.0) / 1_000_000_000 / u128::from(8 * PACKET);
        let steps = (duration.0 / case.step().0.max(1)).saturating_mul(self.start.len() as u64);
        if packets > MAX_PACKETS || steps > MAX_STEPS {
            return Err(format!(
                "--simulate {duration}: {packets} packets and {steps} steps of the fluid are more than {MAX_PACKETS} and \
                 {MAX_STEPS}; give a shorter time"
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
        if name == KNOWN {
            return Ok(());
        }
        if controllers().get(name).is_some() {
            return Err(format!("`{name}` has no published analysis of its loop; known: {KNOWN}"));
        }
        let known = experiment::diagnostic::did_you_mean(name, [KNOWN]);
        Err(format!("`{name}` is not an algorithm; {known}"))
    }
}
