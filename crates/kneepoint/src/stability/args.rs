//! The arguments of `kneepoint stability`.

use std::path::PathBuf;

use clap::Args;
use congestion::dccc::Params;
use congestion::{Algorithm, Duration, Rate};

use super::Setting;

/// The only controller with a published analysis of its loop.
const KNOWN: &str = "dccc";

/// What to analyse. What is not given is the controller's default.
#[derive(Debug, Args)]
pub struct StabilityArgs {
    /// The controller: `dccc`.
    algorithm: String,
    /// RTT at rest, queue included, as in the paper's equation 46: `100ms`.
    #[arg(long, required_unless_present = "base_rtt", conflicts_with = "base_rtt")]
    rtt: Option<Duration>,
    /// RTT without queue; that at rest follows from the threshold (equation 19).
    #[arg(long)]
    base_rtt: Option<Duration>,
    /// Rate of each flow at rest: `1Mbit/s`.
    #[arg(long)]
    rate: Rate,
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
    /// One-way delay that is free. It moves the rest, not the loop: it goes with --base-rtt.
    #[arg(long, requires = "base_rtt", conflicts_with = "rtt")]
    threshold: Option<Duration>,
    /// Where the page goes [default: results/stability/ and the setting].
    #[arg(long)]
    pub out: Option<PathBuf>,
    /// Print JSON instead of the table: frequencies in 1/RTT, times in RTT, angles in radians.
    #[arg(long)]
    pub json: bool,
}

impl StabilityArgs {
    /// The setting, checked.
    ///
    /// # Errors
    /// A sentence that says what is wrong and what is right.
    pub fn setting(&self) -> Result<Setting, String> {
        self.check_algorithm()?;
        let default = Params::default();
        let params = Params {
            gain: self.gain.unwrap_or(default.gain),
            h: self.h.unwrap_or(default.h),
            beta: self.beta.unwrap_or(default.beta),
            threshold: self.threshold.unwrap_or(default.threshold),
            ..default
        };
        let Params { gain, h, beta, .. } = params;
        let rtt = self.rtt.or(self.base_rtt).unwrap_or_default();
        let setting = Setting { rtt, one_way_delay: None, rate: self.rate, links: self.links, gain, h, beta };
        setting.check()?;
        let Some(base) = self.base_rtt else { return Ok(setting) };
        let (delay, rtt) = Setting::rest(base, self.rate, &params)?;
        Ok(Setting { rtt, one_way_delay: Some(delay), ..setting })
    }

    fn check_algorithm(&self) -> Result<(), String> {
        let name = &self.algorithm;
        if name == KNOWN {
            return Ok(());
        }
        let all = Algorithm::all();
        if all.iter().any(|a| a.name() == name) {
            return Err(format!("`{name}` has no published analysis of its loop; known: {KNOWN}"));
        }
        let known = crate::problem::did_you_mean(name, [KNOWN]);
        Err(format!("`{name}` is not an algorithm; {known}"))
    }
}
